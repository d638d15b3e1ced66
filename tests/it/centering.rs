//! LorenzoQuant with tiles around their means: the values that a mean is taken of, the bound at every kind of
//! place, and means of other writers.

use crate::common::agreement::{bare, stage};
use crate::common::gpu;
use crate::common::oracle::{Bound, judge};
use crate::common::rng::Rng;
use crate::common::run::{both_containers, every_way, options};
use crate::common::samples::{Sample, bytes};
use fzgm::{
    Array, Container, DType, Device, Encoder, Error, Generation, Options, Pipeline, Status, compress,
    decompress, info,
};

const TILE: usize = 1024;

fn centered(sets: &[(&str, &str)]) -> Pipeline {
    let always = [("centering", "true"), ("outlier_capacity", "1")];
    stage("lorenzo_quant", &[&always[..], sets].concat())
}

fn floats(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    match dtype {
        DType::F32 => {
            bytes.chunks_exact(4).map(|w| f32::from_le_bytes(w.try_into().unwrap()).into()).collect()
        }
        _ => bytes.chunks_exact(8).map(|w| f64::from_le_bytes(w.try_into().unwrap())).collect(),
    }
}

fn one_dim(dtype: DType, values: &[f64]) -> Sample {
    Sample::of(dtype, &[values.len() as u64], values.iter().copied())
}

/// The places of the segments of a frame without a checksum: consecutive, at its end.
fn segments(frame: &[u8]) -> Vec<std::ops::Range<usize>> {
    let lengths: Vec<usize> = info(frame).unwrap().segments.iter().map(|s| s.bytes as usize).collect();
    let mut at = frame.len() - lengths.iter().sum::<usize>();
    let range = |n: &usize| {
        at += n;
        at - n..at
    };
    lengths.iter().map(range).collect()
}

fn means(dtype: DType, frame: &[u8]) -> Vec<f64> {
    floats(dtype, &frame[segments(frame)[3].clone()])
}

/// Whole numbers under a step of 1: the mean of a tile is that of its bounded values, for any other values.
#[test]
fn means_are_those_of_bounded_values() {
    let mut rng = Rng(50);
    for dtype in [DType::F32, DType::F64] {
        for n in [1, 5, 255, 257, TILE, TILE + 1, 5 * TILE + 300] {
            for part in [0, 3, 50, 100] {
                let level = [0, 300, -70_000][rng.below(3)];
                let other = [f64::NAN, f64::INFINITY, -1e20, 1e30];
                let value = |_| match rng.below(100) < part {
                    true => other[rng.below(4)],
                    false => f64::from(level + rng.below(40) as i32 - 20),
                };
                let values: Vec<f64> = (0..n).map(value).collect();
                let sample = one_dim(dtype, &values);
                let p = centered(&[("error_bound", "0.5"), ("outlier_threshold", "1e20")]);
                let (frame, restored) = every_way(&p, &sample, &bare(Container::Compact)).unwrap();
                assert!(restored == sample.bytes, "{}: {part} of 100 are not bounded", sample.name);
                let mean = |tile: &[f64]| {
                    let bounded: Vec<f64> = tile.iter().copied().filter(|x| x.abs() < 1e20).collect();
                    (bounded.iter().sum::<f64>() / bounded.len().max(1) as f64).round()
                };
                let want: Vec<f64> = values.chunks(TILE).map(mean).collect();
                assert_eq!(means(dtype, &frame), want, "{}: {part} of 100 are not bounded", sample.name);
                // Exact values have the difference 0, first ones too.
                let codes = &frame[segments(&frame)[0].clone()];
                let mut pairs = values.iter().zip(codes.chunks_exact(2));
                assert!(pairs.all(|(x, code)| x.abs() < 1e20 || code == [0, 0]), "{}", sample.name);
            }
        }
    }
}

/// Multiples up to the guard, whose sums leave the integers of the type: the mean is within the guard, and the bound holds.
#[test]
fn the_bound_holds_up_to_the_guard() {
    let mut rng = Rng(51);
    for (dtype, guard) in [(DType::F32, 23), (DType::F64, 52)] {
        let most = 2f64.powi(guard);
        for round in 0..12 {
            let value = |_| match round % 4 {
                0 => most,
                1 => -most,
                2 => most * if rng.below(2) == 0 { 1.0 } else { -1.0 },
                _ => (most + 1.0 - rng.below(5) as f64) * [1.0, 1.0, 1.0, 2.0][rng.below(4)],
            };
            let values: Vec<f64> = (0..[TILE, 3000, 700][round % 3]).map(value).collect();
            let sample = one_dim(dtype, &values);
            let p = centered(&[("error_bound", "0.5"), ("code_type", "u32")]);
            let (frame, restored) = every_way(&p, &sample, &bare(Container::Compact)).unwrap();
            judge(dtype, &sample.bytes, &restored, Bound::of("abs", 0.5), f64::INFINITY).unwrap();
            let means = means(dtype, &frame);
            assert!(means.iter().all(|m| m.abs() <= most && m.fract() == 0.0), "round {round}: {means:?}");
        }
    }
}

#[test]
fn every_type_of_code_mode_and_container() {
    let mut rng = Rng(52);
    for dtype in [DType::F32, DType::F64] {
        for n in [0, 1, 1023, 2500] {
            let mut x = 1e3;
            let mut values: Vec<f64> = (0..n)
                .map(|_| {
                    x += rng.unit() - 0.5;
                    x
                })
                .collect();
            for special in [f64::NAN, f64::NEG_INFINITY, 1e20, -0.0, 1e-30].repeat(4) {
                (n > 0).then(|| values[rng.below(n)] = special);
            }
            let sample = one_dim(dtype, &values);
            for (code, radius) in
                [("u8", "0"), ("u8", "1"), ("u16", "0"), ("u16", "7"), ("u32", "2147483648")]
            {
                for (mode, eb) in [("abs", 1e-2), ("noa", 1e-6), ("prel", 1e-4)] {
                    if (dtype, code) == (DType::F64, "u8") {
                        continue; // refused, by name
                    }
                    let p = centered(&[
                        ("code_type", code),
                        ("quant_radius", radius),
                        ("zigzag_codes", if radius == "7" { "false" } else { "true" }),
                        ("mode", mode),
                        ("error_bound", &eb.to_string()),
                        ("outlier_threshold", "1e20"),
                    ]);
                    for container in both_containers() {
                        for strict in [true, false] {
                            let options = options(container, strict);
                            let (_, restored) = every_way(&p, &sample, &options).unwrap();
                            if strict {
                                judge(dtype, &sample.bytes, &restored, Bound::of(mode, eb), 1e20).unwrap();
                            }
                        }
                    }
                }
            }
        }
    }
}

/// After a stage with whole blocks files are padded: elements after the array do not count in a mean.
#[test]
fn padding_does_not_count() {
    for dtype in [DType::F32, DType::F64] {
        for n in [1, 1000, 2500, 9000] {
            let values: Vec<f64> = (0..n).map(|i| 1e4 + f64::from(i % 50)).collect();
            let sample = one_dim(dtype, &values);
            let alone = centered(&[("error_bound", "0.5")]);
            let want = means(
                dtype,
                &compress(&alone, &sample.array, &bare(Container::Compact), &sample.bytes).unwrap(),
            );
            let mut p = alone.clone();
            for (port, next) in [("codes", "bitshuffle"), ("means", "rze")] {
                let node = p.add(next).unwrap();
                p.connect(0, port, node).unwrap();
            }
            for container in both_containers() {
                let (bytes, restored) = every_way(&p, &sample, &options(container, true)).unwrap();
                assert!(restored == sample.bytes, "{} {container:?}", sample.name);
                assert!(info(&bytes).unwrap().segments.len() == 4 && want.iter().all(|&m| m >= 1e4));
            }
            // Where nothing reads the means they are a segment, and those of the padding are zeros.
            let mut p = alone.clone();
            let node = p.add("bitshuffle").unwrap();
            p.connect(0, "codes", node).unwrap();
            let file = compress(&p, &sample.array, &options(Container::Fzm, true), &sample.bytes).unwrap();
            let made: Vec<u8> = bytes(dtype, want);
            assert!(file.windows(made.len()).any(|w| w == made), "{}: other means in a file", sample.name);
        }
    }
}

#[test]
fn other_dimensions_and_the_files_of_2026_05_are_refused() {
    let p = centered(&[]);
    for dims in [&[20u64, 10][..], &[10, 5, 4]] {
        let array = Array::new(DType::F32, dims).unwrap();
        let error = compress(&p, &array, &bare(Container::Compact), &[0; 800]).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.status(), Status::InvalidArgument, "{text}");
        assert!(
            text.contains("lorenzo_quant.centering") && text.contains(&format!("{} dim", dims.len())),
            "{text}"
        );
    }
    let array = Array::new(DType::F32, &[200]).unwrap();
    for strict in [true, false] {
        let old = Options { generation: Generation::G2026_05, ..options(Container::Fzm, strict) };
        let error = compress(&p, &array, &old, &[0; 800]).unwrap_err();
        assert_eq!(error.status(), Status::Unsupported, "{error}");
        assert!(error.to_string().contains("means") && error.to_string().contains("2026-08"), "{error}");
    }
}

/// Means that a hostile or careless writer may store, and their results on either backend.
#[test]
fn any_mean_decodes_to_something() {
    for dtype in [DType::F32, DType::F64] {
        let values: Vec<f64> = (0..2500).map(|i| f64::from(i % 90)).collect();
        let sample = one_dim(dtype, &values);
        let p = centered(&[("error_bound", "0.25"), ("code_type", "u32")]);
        let frame = compress(&p, &sample.array, &bare(Container::Compact), &sample.bytes).unwrap();
        let (at, width) = (segments(&frame)[3].clone(), dtype.bytes() as usize);
        assert_eq!(at.len(), 3 * width);
        let good = means(dtype, &frame)[1];
        let tests = [0.0, -0.0, 0.5, -1e9, 1e300, 1e30, 1e-320, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        for mean in tests {
            let mut other = frame.clone();
            other[at.start + width..at.start + 2 * width].copy_from_slice(&bytes(dtype, [mean]));
            let (_, restored) = decompress(&other, &bare(Container::Compact)).unwrap();
            let value = |i: usize| {
                // 2 b is 1/2.
                let sum = values[i] * 2.0 - good;
                let x = match dtype {
                    DType::F32 => f64::from((sum as f32 + mean as f32) * 0.5),
                    _ => (sum + mean) * 0.5,
                };
                if (TILE..2 * TILE).contains(&i) { x } else { values[i] }
            };
            let nan = if dtype == DType::F32 {
                &[0xff, 0xff, 0xff, 0x7f][..]
            } else {
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]
            };
            for (i, got) in restored.chunks_exact(width).enumerate() {
                let want = value(i);
                let want = if want.is_nan() { nan.to_vec() } else { bytes(dtype, [want]) };
                // A sum of 0 has either sign.
                let same = got == want || floats(dtype, got) == floats(dtype, &want);
                assert!(same, "{dtype} element {i} of mean {mean:?}: {got:02x?} for {want:02x?}");
            }
            if let Some(device) = gpu::device() {
                let on_device = Options { device, ..bare(Container::Compact) };
                assert!(
                    decompress(&other, &on_device).unwrap().1 == restored,
                    "{dtype} mean {mean:?} on the device"
                );
            }
        }
    }
}

/// Lists that turn out too short are enlarged, and the required room is reported, also if there is room for
/// more means than outliers.
#[test]
fn room_is_that_of_the_lists() {
    for dtype in [DType::F32, DType::F64] {
        let mut values: Vec<f64> = (0..3384).map(|i| i as f64 / 1024.0).collect();
        // A difference to each of them and one back.
        for i in [100, 1500] {
            values[i] = 1e3;
        }
        let sample = one_dim(dtype, &values);
        let p = centered(&[("error_bound", "0.001"), ("outlier_capacity", "1e-6")]);
        for container in both_containers() {
            let bound = Bound::Abs(0.001);
            let (_, restored) = every_way(&p, &sample, &options(container, true)).unwrap();
            judge(dtype, &sample.bytes, &restored, bound, f64::INFINITY).unwrap();
            let devices = [Some(Device::Cpu), gpu::device()];
            for device in devices.into_iter().flatten() {
                let encoder =
                    Encoder::new(&p, &sample.array, &Options { device, ..options(container, true) }).unwrap();
                let mut dst = vec![0; encoder.max_compressed_bytes() as usize];
                let called = match device {
                    Device::Cpu => {
                        let memory = vec![0u8; encoder.workspace_bytes() as usize].leak();
                        encoder.compress(&mut encoder.workspace_in(memory).unwrap(), &sample.bytes, &mut dst)
                    }
                    _ => encoder.compress(&mut encoder.workspace().unwrap(), &sample.bytes, &mut dst),
                };
                match (device, called) {
                    (Device::Cpu, Err(Error::OutlierCapacity { needed: 4, capacity: 1, .. })) => {}
                    (Device::Cuda(_), Ok(_)) => {}
                    (_, other) => panic!("{dtype} {container:?} on {device}: {other:?}"),
                }
            }
        }
    }
}

/// Fewer and more means than tiles.
#[test]
fn numbers_of_means_are_checked() {
    let sample = one_dim(DType::F32, &vec![7.0; 2500]);
    let p = centered(&[("error_bound", "0.5")]);
    let frame = compress(&p, &sample.array, &bare(Container::Compact), &sample.bytes).unwrap();
    let at = segments(&frame)[3].clone();
    assert_eq!((at.len(), at.end), (12, frame.len()));
    // The last length of the header is theirs.
    let header = segments(&frame)[0].start;
    assert_eq!(frame[header - 1], 12);
    for bytes in [0, 8, 11, 13, 16] {
        let mut other = frame.clone();
        other[header - 1] = bytes;
        other.resize(at.start + usize::from(bytes), 0);
        let error = decompress(&other, &bare(Container::Compact)).unwrap_err();
        assert_eq!(error.status(), Status::Corrupt, "{bytes} bytes of means: {error}");
        if let Some(device) = gpu::device() {
            let error = decompress(&other, &Options { device, ..bare(Container::Compact) }).unwrap_err();
            assert_eq!(error.status(), Status::Corrupt, "{bytes} bytes of means on the device: {error}");
        }
    }
}
