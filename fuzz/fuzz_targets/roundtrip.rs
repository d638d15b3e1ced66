//! Any bytes as an array through any chain of stages: every array that the encoder accepts is restored,
//! without loss if every stage is lossless, and twice with equal bytes in any case.
#![no_main]

use fzgm::{Array, Container, DType, Encoder, Options, Pipeline, compress, decompress};
use libfuzzer_sys::fuzz_target;

fn pipeline(mut recipe: &[u8]) -> fzgm::Result<Pipeline> {
    let mut p = Pipeline::new();
    while let [stage, rest @ ..] = recipe {
        recipe = rest;
        let spec = fzgm::stages::STAGES[usize::from(*stage) % fzgm::stages::STAGES.len()].spec();
        let node = p.add(spec.name)?;
        for param in spec.params {
            let [choice, rest @ ..] = recipe else { break };
            recipe = rest;
            let args = p.args_mut(node)?;
            // Most parameters keep their defaults; values that a stage rejects are rejected when the plan is
            // made.
            match (choice % 4, param.kind) {
                (0, fzgm::Kind::Choice(words)) => {
                    args.set_text(param.name, words[usize::from(*choice / 4) % words.len()])?
                }
                (0, fzgm::Kind::IntOf(list)) => {
                    args.set_int(param.name, list[usize::from(*choice / 4) % list.len()])?
                }
                (0, fzgm::Kind::Flag) => args.set_int(param.name, i64::from(choice / 4 % 2))?,
                (0, fzgm::Kind::Int { low, high }) => {
                    args.set_int(param.name, (1i64 << (choice / 4 % 17)).clamp(low, high))?;
                }
                (0, fzgm::Kind::Real { .. }) => {
                    args.set_real(param.name, 2f64.powi(-i32::from(choice / 4)))?
                }
                _ => {}
            }
        }
        if node > 0 {
            let ports = p.nodes()[node - 1].stage();
            let port = if ports == "quantizer" { "codes" } else { "output" };
            p.connect(node - 1, port, node)?;
        }
    }
    Ok(p)
}

fuzz_target!(|data: &[u8]| {
    let [dtype, form, length, rest @ ..] = data else { return };
    let (recipe, bytes) = rest.split_at(usize::from(*length).min(rest.len()).min(48));
    let dtype = DType::ALL[usize::from(*dtype) % 10];
    let elements = bytes.len() as u64 / dtype.bytes();
    let bytes = &bytes[..(elements * dtype.bytes()) as usize];
    let Ok(pipeline) = pipeline(recipe) else { return };
    let array = Array::new(dtype, &[elements]).expect("one dimension");
    let options = Options {
        container: if form & 1 == 0 { Container::Fzm } else { Container::Compact },
        strict: form & 2 == 0,
        store_incompressible: form & 4 == 0,
        fuse: form & 8 == 0,
        ..Options::default()
    };
    // A long chain of stages may need gigabytes in the worst case, which an encoder reserves without touching them.
    let Ok(encoder) = Encoder::new(&pipeline, &array, &options) else { return };
    if encoder.workspace_bytes() > 1 << 30 {
        return;
    }
    let Ok(container) = compress(&pipeline, &array, &options, bytes) else { return };
    let (shape, restored) = decompress(&container, &options).expect("what was written can be read");
    let lossless = fzgm::info(&container).expect("a container").mode == "lossless";
    assert!(shape == array && (!lossless || restored == bytes));
    let other = Options { fuse: !options.fuse, ..options };
    assert_eq!(decompress(&container, &other).expect("again").1, restored);
    assert!(compress(&pipeline, &array, &other, bytes).expect("again") == container);
});
