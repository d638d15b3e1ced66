//! Strict volumes with the default flags, which have device functions of their own: whole tiles and ragged ones, tiles beside ragged
//! ones, every type of code, codes and arrays at any address, and damaged containers.

use crate::common::agreement::{agrees, bare, stage, verdict};
use crate::common::gpu;
use crate::common::rng::Rng;
use crate::common::run::both_containers;
use crate::common::samples::{FLOATS, Sample, elements};
use fzgm::{DType, Device, Options, Pipeline};

const SHAPES: [[u64; 3]; 16] = [
    [16, 16, 16],
    [17, 17, 17],
    [7, 3, 2],
    [33, 17, 16],
    [33, 33, 33],
    [64, 48, 32],
    [48, 49, 33],
    [40, 32, 35],
    [35, 40, 32],
    [32, 35, 40],
    [100, 51, 37],
    [131, 49, 33],
    [3, 40, 34],
    [2, 2, 50],
    [52, 36, 68],
    [32, 32, 32],
];

#[derive(Clone, Copy, Debug)]
enum With {
    Smooth,
    Noise,
    Spikes,
    Specials,
    Fills,
    Ties,
    Signs,
    Huge,
    Tiny,
}

const ALL: [With; 9] = [
    With::Smooth,
    With::Noise,
    With::Spikes,
    With::Specials,
    With::Fills,
    With::Ties,
    With::Signs,
    With::Huge,
    With::Tiny,
];

fn field(dtype: DType, dims: [u64; 3], with: With, rng: &mut Rng) -> Sample {
    let [nx, ny, _] = dims.map(|d| d as usize);
    let huge = if dtype == DType::F32 { 3e38 } else { 1.5e308 };
    let tiny = if dtype == DType::F32 { 1e-44 } else { 1e-323 };
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, tiny, huge, -huge];
    let values = (0..elements(&dims)).map(|i| {
        let [x, y, z] = [i % nx, i / nx % ny, i / (nx * ny)].map(|x| x as f64);
        let smooth = 50.0 * (0.11 * x).sin() * (0.13 * y).cos() * (0.07 * z + 1.0).sin();
        match with {
            With::Noise => smooth + rng.unit(),
            With::Spikes if rng.below(40) == 0 => smooth * 1e6,
            With::Specials if rng.below(12) == 0 => special[rng.below(7)],
            With::Fills if smooth > 5.0 => 1e20,
            With::Ties => (smooth * 8.0).round() / 8.0,
            With::Signs => [0.0, -0.0][rng.below(2)],
            With::Huge => huge * (rng.unit() - 0.5),
            With::Tiny => tiny * rng.below(40) as f64 - tiny * 20.0,
            _ => smooth,
        }
    });
    let sample = Sample::of(dtype, &dims, values.collect::<Vec<_>>());
    Sample { name: format!("{} {with:?}", sample.name), ..sample }
}

/// The codes are a segment of the container, or an input of another stage.
fn pipeline(sets: &[(&str, &str)], chained: bool) -> Pipeline {
    let mut p = stage("ginterp", &[&[("outlier_capacity", "1")], sets].concat());
    if chained {
        let next = p.add("bitshuffle").unwrap();
        p.args_mut(next).unwrap().set_text("element_width", "1").unwrap();
        p.connect(0, "codes", next).unwrap();
    }
    p
}

/// On the emulator one case in four, of each shape; with `FZGM_LONG` and elsewhere all of them.
fn cases(mut f: impl FnMut(&Pipeline, &Sample, &Options, usize)) {
    let few = gpu::is_emulated() && std::env::var_os("FZGM_LONG").is_none();
    let mut rng = Rng(81);
    let mut k = 0;
    for dtype in FLOATS {
        for dims in SHAPES {
            for with in ALL {
                let sample = field(dtype, dims, with, &mut rng);
                for code in ["u8", "u16", "u32"] {
                    k += 1;
                    if few && (k + k / 12) % 4 != 0 {
                        continue;
                    }
                    let tiny = matches!(with, With::Tiny | With::Signs);
                    let (mode, eb) =
                        [("noa", "1e-3"), ("abs", if tiny { "1e-30" } else { "0.125" }), ("prel", "1e-5")]
                            [k % 3];
                    let radius = ["0", "5", "0", "127", "0"][k % 5];
                    let threshold =
                        if matches!(with, With::Fills) { "1e20" } else { ["inf", "40", "inf"][k / 3 % 3] };
                    let sets = [
                        ("mode", mode),
                        ("error_bound", eb),
                        ("code_type", code),
                        ("quant_radius", radius),
                        ("outlier_threshold", threshold),
                    ];
                    let options = bare(both_containers()[k % 2]);
                    f(&pipeline(&sets, k % 4 != 0), &sample, &options, k);
                }
            }
        }
    }
}

#[test]
fn volumes_have_the_bytes_of_the_cpu() {
    cases(|p, sample, options, k| {
        let width = sample.array.dtype().bytes() as usize;
        let shifts = [[0, 0], [0, 0], [1, 3], [width, 0], [0, width], [width / 2, 8]][k / 2 % 6];
        agrees(p, sample, options, shifts);
    });
}

#[test]
fn damaged_volumes_are_judged_as_on_the_cpu() {
    let mut rng = Rng(82);
    cases(|p, sample, options, k| {
        if k % 5 != 0 {
            return;
        }
        let cpu = Options { device: Device::Cpu, ..options.clone() };
        let Ok(made) = fzgm::compress(p, &sample.array, &cpu, &sample.bytes) else { return };
        let header = fzgm::info(&made).unwrap().header_bytes as usize;
        for n in 0..4 {
            let mut bytes = made.clone();
            for _ in 0..1 + rng.below(4) {
                let at = if n == 0 { rng.below(header) } else { header + rng.below(bytes.len() - header) };
                bytes[at] ^= 1 << rng.below(8);
            }
            let _ = verdict(
                &bytes,
                options,
                gpu::device().is_some(),
                &format!("{} {k} {n}: {}", sample.name, p.to_text().unwrap()),
            );
        }
    });
}
