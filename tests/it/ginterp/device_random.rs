//! Random parameters, shapes and contents: the device writes and restores the bytes of the CPU, and judges damaged containers as the
//! CPU does.
// The asynchronous calls take addresses.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use crate::common::agreement::{agrees, bare, stage, verdict};
use crate::common::gpu::{Block, TestStream, device};
use crate::common::rng::Rng;
use crate::common::samples::{FLOATS, Sample, elements, walk};
use fzgm::{Container, DType, Encoder, Options, Pipeline};

const SHAPES: [&[u64]; 22] = [
    &[700],
    &[3],
    &[1],
    &[1, 1, 200],
    &[7, 3, 2],
    &[33, 17, 16],
    &[131, 97, 6],
    &[1, 9, 7],
    &[1, 40, 33],
    &[16, 16, 16],
    &[17, 17, 17],
    &[40, 5, 3],
    &[2, 2],
    &[64, 64],
    &[65, 129],
    &[131, 97],
    &[300, 3],
    &[3, 300],
    &[18, 33, 49],
    &[2, 3, 150],
    &[32, 32, 16],
    &[47, 1, 31],
];

fn sample(rng: &mut Rng) -> Sample {
    let dtype = *rng.pick(&FLOATS);
    let dims = *rng.pick(&SHAPES);
    let n = elements(dims);
    let kind = rng.below(8);
    let noise = walk(n, 0.3, rng);
    let shape: [usize; 3] = std::array::from_fn(|d| dims.get(d).map_or(1, |&n| n as usize));
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e-40, 3e38, -3e38, 1e12];
    let values: Vec<f64> = (0..n)
        .map(|i| {
            let [x, y, z] = [i % shape[0], i / shape[0] % shape[1], i / (shape[0] * shape[1])];
            let smooth =
                50.0 * (0.11 * x as f64).sin() * (0.13 * y as f64).cos() * (0.07 * z as f64 + 1.0).sin();
            match kind {
                0 => smooth,
                1 => smooth + noise[i],
                2 if rng.below(30) == 0 => special[rng.below(8)],
                3 if rng.below(30) == 0 => smooth * 1e5,
                4 => ((smooth + noise[i]) * 8.0).round() / 8.0,
                5 => [0.0, -0.0][rng.below(2)],
                6 => 7.25,
                7 if rng.below(4) == 0 => 1e20,
                _ => smooth,
            }
        })
        .collect();
    let sample = Sample::of(dtype, dims, values);
    Sample { name: format!("{} {kind}", sample.name), ..sample }
}

fn parameters(rng: &mut Rng, sample: &Sample, strict: bool) -> Vec<(&'static str, String)> {
    let mode = *rng.pick(&["abs", "noa", "prel"]);
    let eb = *rng.pick(&[0.5, 0.125, 1e-2, 1e-3, 1e-4, 1e-6, 1e-30]);
    let mut sets = vec![("mode", mode.into()), ("error_bound", format!("{eb:?}"))];
    let code = *rng.pick(&["u8", "u16", "u32"]);
    sets.push(("code_type", code.into()));
    sets.push(("outlier_capacity", rng.pick(&["1", "1", "0.1", "0"]).to_string()));
    // Half of the volumes have default flags, which have device functions of their own.
    let plain = rng.below(2) == 0;
    let tuning = if plain { 0 } else { rng.below(6) };
    sets.push(("auto_tuning", tuning.to_string()));
    if rng.below(3) == 0 {
        let most = if !strict {
            1 << 31
        } else {
            match code {
                "u8" => 128,
                "u16" => 32768,
                _ if sample.array.dtype() == DType::F32 => 1 << 22,
                _ => 1 << 30,
            }
        };
        let radius = *rng.pick(&[1u64, 5, 100, 128, 20000, 1 << 22, 1 << 31]);
        sets.push(("quant_radius", radius.min(most).to_string()));
    }
    if rng.below(3) == 0 {
        sets.push(("outlier_threshold", rng.pick(&["1e20", "40", "8", "1e-3"]).to_string()));
    }
    if mode != "abs" && rng.below(3) == 0 {
        sets.push(("value_base", rng.pick(&["12.5", "1e3"]).to_string()));
    }
    if tuning == 5 && rng.below(2) == 0 {
        sets.push(("manual_alpha", rng.pick(&["1", "1.1", "1.75", "3"]).to_string()));
        sets.push(("manual_beta", rng.pick(&["1", "1.3", "4", "100"]).to_string()));
    }
    for name in ["md_levels", "natural_levels", "reverse_levels"] {
        if !plain && matches!(tuning, 0 | 5) && rng.below(2) == 0 {
            sets.push((name, rng.below(64).to_string()));
        }
    }
    sets
}

fn case(rng: &mut Rng) -> (Pipeline, Sample, Options) {
    let strict = rng.below(5) > 1;
    let sample = sample(rng);
    let sets = parameters(rng, &sample, strict);
    let sets: Vec<(&str, &str)> = sets.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let container = if rng.below(2) == 0 { Container::Fzm } else { Container::Compact };
    (stage("ginterp", &sets), sample, Options { strict, ..bare(container) })
}

fn seeds() -> std::ops::Range<u64> {
    let given = std::env::var("GINTERP_SEEDS").unwrap_or("0-30".into());
    let (a, b) = given.split_once('-').unwrap();
    a.parse().unwrap()..b.parse().unwrap()
}

#[test]
fn the_device_writes_the_bytes_of_the_cpu() {
    for seed in seeds() {
        let mut rng = Rng(seed << 20);
        let (p, sample, options) = case(&mut rng);
        // Cases that the CPU does not bind or restore are not the subject of this test.
        let cpu = Options { device: fzgm::Device::Cpu, ..options.clone() };
        let Ok(made) = fzgm::compress(&p, &sample.array, &cpu, &sample.bytes) else { continue };
        if fzgm::decompress(&made, &cpu).is_err() {
            println!("{seed}: not restored: {} {}", sample.name, p.to_text().unwrap());
            continue;
        }
        let shifts = if rng.below(3) == 0 { [rng.below(16), rng.below(16)] } else { [0, 0] };
        println!("{seed}: {} {} {options:?}", sample.name, p.to_text().unwrap());
        agrees(&p, &sample, &options, shifts);
    }
}

#[test]
fn the_device_judges_damage_as_the_cpu() {
    for seed in seeds() {
        let mut rng = Rng(seed << 20);
        let (p, sample, options) = case(&mut rng);
        let cpu = Options { device: fzgm::Device::Cpu, ..options.clone() };
        let Ok(made) = fzgm::compress(&p, &sample.array, &cpu, &sample.bytes) else { continue };
        for _ in 0..6 {
            let mut bytes = made.clone();
            for _ in 0..1 + rng.below(3) {
                let header = fzgm::info(&made).unwrap().header_bytes as usize;
                let lists = bytes.len() - (bytes.len() - header) / 4;
                let at = match rng.below(4) {
                    0 => rng.below(bytes.len()),
                    1 => rng.below(header),
                    2 => lists + rng.below(bytes.len() - lists),
                    _ => header + rng.below(bytes.len() - header),
                };
                if rng.below(2) == 0 {
                    bytes[at] ^= 1 << rng.below(8);
                } else {
                    bytes[at] = 0;
                }
            }
            let said =
                verdict(&bytes, &options, true, &format!("{seed}: {} {}", sample.name, p.to_text().unwrap()));
            println!("{seed}: {:?}", said.map(|b| b.len()));
        }
    }
}

#[test]
fn the_device_reports_the_missing_bytes_of_a_short_destination() {
    let Some(device) = device() else { return };
    for seed in seeds() {
        let mut rng = Rng(seed << 20);
        let (p, sample, options) = case(&mut rng);
        let cpu = Options { device: fzgm::Device::Cpu, ..options.clone() };
        let Ok(made) = fzgm::compress(&p, &sample.array, &cpu, &sample.bytes) else { continue };
        let header = fzgm::info(&made).unwrap().header_bytes as usize;
        let room = header + rng.below(made.len() - header);
        let encoder = Encoder::new(&p, &sample.array, &Options { device, ..options.clone() }).unwrap();
        let mut ws = encoder.workspace().unwrap();
        let (src, dst, result, stream) =
            (Block::of(&sample.bytes), Block::new(room + 8), Block::new(24), TestStream::new());
        unsafe {
            let (src, dst) = (src.slice(0, sample.bytes.len()), dst.slice(0, room));
            encoder.compress_async(&mut ws, src, dst, result.slice(0, 24).address, stream.raw()).unwrap();
        }
        stream.wait();
        let report = result.result();
        let what = format!("{seed}: {} {}: {report:?}", sample.name, p.to_text().unwrap());
        if report.status != fzgm::Status::OutlierCapacity as i32 {
            let short = fzgm::Status::DstTooSmall as i32;
            assert_eq!((report.status, report.needed as usize), (short, made.len()), "{what}");
        }
        assert!(dst.get()[room..] == [0xee; 8], "{what}");
    }
}
