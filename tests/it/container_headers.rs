//! The contents of headers: from beginnings of containers, and as pipelines to be used again.

use crate::common::corpus::{Case, build, outlier_lists};
use crate::common::samples::{self, Content};
use fzgm::{
    Array, Container, DType, Error, Generation, Options, Pipeline, compress, info, info_partial, pipeline_of,
};

/// The results for all beginnings of a container: the bytes for the next attempt, or `None` if the header is
/// complete.
fn answers(name: &str, bytes: &[u8]) -> Vec<Option<usize>> {
    let whole = info(bytes).unwrap();
    let header = whole.header_bytes as usize;
    let answer = |n: usize| match info_partial(&bytes[..n]) {
        Ok(i) => {
            assert!(n >= header, "{name}: {n} of {header} bytes of the header are enough");
            assert_eq!(format!("{i:?}"), format!("{whole:?}"), "{name}: {n} bytes");
            None
        }
        Err(Error::Truncated { needed }) => {
            assert!(n < header, "{name}: {n} bytes hold the header of {header}, {needed} are asked for");
            // A stream that has sent all would be waited for in vain.
            assert!(
                needed > n as u64 && needed <= header as u64,
                "{name}: {n} bytes ask for {needed} of {header}"
            );
            Some(needed as usize)
        }
        Err(e) => panic!("{name}: {n} of {header} bytes: {e}"),
    };
    (0..=bytes.len().min(header + 40)).map(answer).collect()
}

fn cases() -> Vec<Case> {
    build(999, Content::Specials).into_iter().chain(build(0, Content::Walk)).collect()
}

#[test]
fn every_beginning_returns_the_bytes_that_it_needs() {
    let mut most = [0; 2];
    for case in cases() {
        let answers = answers(&case.name, &case.bytes);
        for start in 0..answers.len() {
            let (mut at, mut steps) = (start, 0);
            while let Some(needed) = answers[at] {
                (at, steps) = (needed, steps + 1);
            }
            let most = &mut most[usize::from(case.compact)];
            *most = (*most).max(steps);
        }
    }
    // FZM has three parts: the kind, the core header, the records. In a frame most fields determine the end
    // of the next one.
    let [fzm, compact] = most;
    assert!((2..=3).contains(&fzm) && (4..=40).contains(&compact), "{fzm} and {compact} steps");
}

/// The frames that people have.
#[test]
fn a_frame_of_a_preset_takes_few_steps() {
    for (name, dtype) in [("pfpl", DType::F32), ("fz", DType::F64), ("bits", DType::I32)] {
        let sample = samples::make(dtype, &[40, 30, 20], Content::Walk, 3);
        let options = Options { container: Container::Compact, ..Options::default() };
        let bytes =
            compress(&fzgm::preset(name, dtype).unwrap(), &sample.array, &options, &sample.bytes).unwrap();
        let answers = answers(name, &bytes);
        let mut asked = vec![0];
        while let Some(needed) = answers[asked[asked.len() - 1]] {
            asked.push(needed);
        }
        assert!(asked.len() <= 16, "{name}: {asked:?}");
    }
}

/// Damage may be anything but a question that never ends.
#[test]
fn damaged_beginnings_end() {
    let cases = cases();
    for case in cases.iter().step_by(cases.len() / 12) {
        let header = info(&case.bytes).unwrap().header_bytes as usize;
        for at in 0..header {
            for bit in [0, 3, 7] {
                let mut bytes = case.bytes.clone();
                bytes[at] ^= 1 << bit;
                assert_eq!(
                    info(&bytes).is_ok(),
                    pipeline_of(&bytes).is_ok(),
                    "{}, bit {bit} of byte {at}",
                    case.name
                );
                for n in [at + 1, header, bytes.len()] {
                    match info_partial(&bytes[..n]) {
                        Err(Error::Truncated { needed }) => assert!(needed > n as u64, "{}", case.name),
                        Err(e) => assert!(info(&bytes).is_err(), "{}: {e}", case.name),
                        Ok(part) if part.container_bytes == bytes.len() as u64 => {
                            assert!(info(&bytes).is_ok(), "{}, bit {bit} of byte {at}", case.name);
                        }
                        Ok(_) => assert!(info(&bytes).is_err(), "{}: a wrong length is taken", case.name),
                    }
                }
            }
        }
    }
    for bytes in [&b"x"[..], b"FZC2", b"2ZMX", b"FZD", b"2ZMF\x00\x02", b"2ZMF\x02\x00 and more"] {
        assert!(matches!(info_partial(bytes), Err(Error::NotAContainer(_))), "{bytes:?}");
    }
}

/// The options that do not follow from the header: the form of the container, except for strict and
/// generation.
fn plain(options: &Options) -> Options {
    Options { strict: true, generation: Generation::G2026_08, ..options.clone() }
}

#[test]
fn the_pipeline_of_a_container_makes_it_again() {
    let (mut chains, mut unsaid, cases) = (0, 0, cases());
    let all = cases.len();
    for case in cases {
        let (source, options) = case.made_of.as_ref().unwrap();
        let pipeline = pipeline_of(&case.bytes).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let toml = pipeline.to_toml().unwrap();
        let read = Pipeline::from_toml(&toml).unwrap_or_else(|e| panic!("{}: {e}\n{toml}", case.name));
        assert_eq!(read, pipeline, "{}\n{toml}", case.name);
        if let Ok(chain) = pipeline.to_text() {
            assert_eq!(Pipeline::from_text(&chain).unwrap(), pipeline, "{}: {chain}", case.name);
            chains += 1;
        }
        // The exact form of the reference does not contain type and shape of the array, unless its first
        // stage does.
        if pipeline.strict() && info(&case.bytes).unwrap().strict.is_none() {
            unsaid += 1;
            continue;
        }
        // A frame has no place for the threshold of lorenzo_quant.
        if case.compact && case.name.starts_with("exact pairs") {
            continue;
        }
        // The partitions are stored in the stream, not in the header.
        if case.name.starts_with("huffman encode_mode") {
            continue;
        }
        let again = compress(&read, &source.array, &plain(options), &source.bytes);
        let again = again.unwrap_or_else(|e| panic!("{}: {e}\n{toml}", case.name));
        assert!(again == case.bytes, "{}: another container\n{toml}", case.name);
    }
    assert!(chains > 100, "{chains} chains");
    assert!(unsaid < all / 8, "{unsaid} of {all} containers do not say what wrote them");
}

#[test]
fn a_pipeline_has_the_requested_parameters() {
    let sample = samples::make(DType::F32, &[300, 200], Content::Walk, 5);
    let text = "lorenzo_quant(eb=0.0003,mode=noa,radius=100,code_type=u16) > bitshuffle(width=2) > rze";
    let pipeline = Pipeline::from_text(text).unwrap();
    for container in [Container::Fzm, Container::Compact] {
        let options = Options { container, ..Options::default() };
        let bytes = compress(&pipeline, &sample.array, &options, &sample.bytes).unwrap();
        let again = pipeline_of(&bytes).unwrap();
        assert_eq!(again.to_text().unwrap(), pipeline.to_text().unwrap());
        // Lengths that came from the array are left to the next one.
        let other = samples::make(DType::F32, &[70, 11, 13], Content::Walk, 5);
        compress(&again, &other.array, &options, &other.bytes).unwrap();
    }
    // A bound that is no float, and one that is a float and no short number.
    for bound in [1.0 / 3.0, f64::from(1e-3f32)] {
        let mut lists = outlier_lists();
        lists.set_everywhere("error_bound", |args| args.set_real("error_bound", bound)).unwrap();
        let bytes = compress(&lists, &sample.array, &Options::default(), &sample.bytes).unwrap();
        assert!(pipeline_of(&bytes).unwrap().to_toml().unwrap().contains(&format!("{bound:?}")));
    }
    let noise = samples::make(DType::F32, &[4000], Content::Random, 5);
    let bytes = compress(
        &fzgm::preset("bits", DType::F32).unwrap(),
        &Array::new(DType::F32, &[4000]).unwrap(),
        &Options::default(),
        &noise.bytes,
    );
    assert_eq!(pipeline_of(&bytes.unwrap()).unwrap().to_text().unwrap(), "stored");
    assert!(matches!(pipeline_of(b"none"), Err(Error::NotAContainer(_))));
}
