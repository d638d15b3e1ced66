//! Stage fast where its promise is hardest to keep: borders of parts, units and chunks, special values at every kind of place, multiples
//! around its limits, values half way between multiples, anchors; and its streams, damaged. The oracle judges.

use crate::common::oracle::{Bound, judge};
use crate::common::rng::Rng;
use crate::common::run::{both_containers, every_way, options};
use crate::common::samples::Sample;
use fzgm::{
    Array, Container, DType, Options, Pipeline, Status, compress, decompress, decompress_region, info, preset,
};

const FLOATS: [DType; 2] = [DType::F32, DType::F64];
const MODES: [&str; 3] = ["abs", "noa", "prel"];
/// Whole units and chunks and ragged ones, in every number of dimensions, and arrays of a single row of them.
const SHAPES: [&[u64]; 15] = [
    &[1],
    &[1023],
    &[1025],
    &[8192],
    &[20_000],
    &[32, 32],
    &[33, 300],
    &[70, 5],
    &[1, 300],
    &[32, 32, 8],
    &[33, 31, 9],
    &[5, 70, 17],
    &[64, 1, 3],
    &[1, 1, 20],
    &[40, 2, 8],
];

fn pipeline(mode: &str, eb: f64, threshold: f64) -> Pipeline {
    let mut p = Pipeline::new();
    let node = p.add("fast").unwrap();
    let args = p.args_mut(node).unwrap();
    args.set_text("mode", mode).unwrap();
    args.set_real("error_bound", eb).unwrap();
    args.set_real("outlier_threshold", threshold).unwrap();
    p
}

fn bytes(dtype: DType, values: &[f64]) -> Vec<u8> {
    match dtype {
        DType::F32 => values.iter().flat_map(|&v| (v as f32).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    }
}

fn sample(dtype: DType, dims: &[u64], values: &[f64]) -> Sample {
    Sample {
        name: format!("{dtype} {dims:?}"),
        array: Array::new(dtype, dims).unwrap(),
        bytes: bytes(dtype, values),
    }
}

/// Never stored as it is, so that the stage itself is seen.
fn always() -> Options {
    Options { store_incompressible: false, ..options(Container::Compact, true) }
}

/// One call each way, and the judge.
fn keeps(mode: &str, eb: f64, threshold: f64, sample: &Sample) {
    let what = || format!("{} {mode} {eb:?} threshold {threshold:?}", sample.name);
    let made = compress(&pipeline(mode, eb, threshold), &sample.array, &always(), &sample.bytes);
    let made = made.unwrap_or_else(|e| panic!("{}: {e}", what()));
    let (_, restored) = decompress(&made, &always()).unwrap_or_else(|e| panic!("{}: {e}", what()));
    judge(sample.array.dtype(), &sample.bytes, &restored, Bound::of(mode, eb), threshold)
        .unwrap_or_else(|e| panic!("{}: {e}", what()));
    let stream = info(&made).unwrap().segments[0].bytes;
    let long: Vec<u64> = sample.array.dims().iter().copied().filter(|d| *d > 1).collect();
    let chunk = match long[..] {
        [] | [_] => [8192, 1, 1],
        [_, _] => [32, 256, 1],
        _ => [32, 32, 8],
    };
    let chunks: u64 = long.iter().zip(chunk).map(|(d, c)| d.div_ceil(c)).product();
    assert!(stream <= sample.array.bytes() + 8 * chunks, "{}: {stream} bytes", what());
}

fn elements(dims: &[u64]) -> usize {
    dims.iter().product::<u64>() as usize
}

fn walk(n: usize, step: f64, rng: &mut Rng) -> Vec<f64> {
    let mut x = 0.0;
    let mut one = || {
        x += (rng.unit() - 0.5) * step;
        x
    };
    (0..n).map(|_| one()).collect()
}

#[test]
fn walks_spikes_steps_and_noise_of_every_size() {
    let mut rng = Rng(70);
    for dtype in FLOATS {
        for dims in SHAPES {
            let n = elements(dims);
            for size in [1e-3, 1.0, 1e4, 1e12] {
                let mut x = walk(n, 1.0, &mut rng);
                match rng.below(4) {
                    0 => x.iter_mut().for_each(|x| *x *= size),
                    1 => (0..1 + n / 100).for_each(|_| x[rng.below(n)] += size),
                    2 => x[n / 2..].iter_mut().for_each(|x| *x += size),
                    _ => x.iter_mut().for_each(|x| *x = (rng.unit() - 0.5) * size),
                }
                let sample = sample(dtype, dims, &x);
                for mode in MODES {
                    keeps(mode, *rng.pick(&[0.25, 1e-2, 1e-4, 1e-7]), f64::INFINITY, &sample);
                }
            }
        }
    }
}

#[test]
fn special_values_harm_no_neighbour() {
    const SPECIALS: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e20, -1e20, -0.0];
    let mut rng = Rng(71);
    for dtype in FLOATS {
        for dims in SHAPES {
            let n = elements(dims);
            for share in [1, 3, 50, 1000] {
                let mut x = walk(n, 1.0, &mut rng);
                let one = rng.below(2) == 0;
                let fill = *rng.pick(&SPECIALS);
                for x in &mut x {
                    if rng.below(share) == 0 {
                        *x = if one { fill } else { *rng.pick(&SPECIALS) };
                    }
                }
                let mut sample = sample(dtype, dims, &x);
                // Payloads of their own.
                let w = dtype.bytes() as usize;
                for (i, value) in sample.bytes.chunks_mut(w).enumerate() {
                    if i % 3 == 0 && x[i].is_nan() {
                        value[0] = i as u8;
                        value[1] = 1;
                    }
                }
                keeps("abs", 1e-3, 1e20, &sample);
                keeps("noa", 1e-3, *rng.pick(&[1e20, 3.0]), &sample);
            }
        }
    }
}

/// Runs of fills that begin and end at every kind of place.
#[test]
fn masks_with_straight_and_ragged_edges() {
    let mut rng = Rng(72);
    for (dtype, dims) in [(DType::F32, [96, 70, 20]), (DType::F64, [40, 33, 9]), (DType::F32, [64, 64, 16])] {
        let [nx, ny, nz] = dims.map(|d: u64| d as usize);
        for cut in [31, 32, 33, 5] {
            let smooth = |x: usize, y: usize, z: usize| ((x + 2 * y) as f64 * 0.1).sin() + z as f64;
            let masked = |x: usize, y: usize, z: usize| x + y / 3 + z < cut || (x / 8 + y / 8 + z) % 7 == 0;
            let mut values = vec![];
            for i in 0..nx * ny * nz {
                let (x, y, z) = (i % nx, i / nx % ny, i / nx / ny);
                values.push(if masked(x, y, z) { 1e20 } else { smooth(x, y, z) });
            }
            keeps("noa", *rng.pick(&[1e-2, 1e-5]), 1e20, &sample(dtype, &dims, &values));
        }
    }
}

#[test]
fn values_half_way_between_multiples() {
    let mut rng = Rng(73);
    for dtype in FLOATS {
        for eb in [1e-3, 0.1, 0.007_812_5, 3.0e-5] {
            let b = if dtype == DType::F32 { f64::from(eb as f32) } else { eb };
            let mut x = vec![];
            for _ in 0..20_000 {
                let bits = rng.below(23);
                let odd = 2.0 * (rng.below(1 << bits) as f64) + 1.0;
                let half = odd * b * if rng.below(2) == 0 { 1.0 } else { -1.0 };
                let near = match dtype {
                    DType::F32 => f64::from(f32::from_bits(
                        (half as f32).to_bits().wrapping_add(rng.below(5) as u32).wrapping_sub(2),
                    )),
                    _ => f64::from_bits(half.to_bits().wrapping_add(rng.below(5) as u64).wrapping_sub(2)),
                };
                x.push(near);
            }
            keeps("abs", eb, f64::INFINITY, &sample(dtype, &[20_000], &x));
        }
    }
}

/// Bounds at the ends of what the types hold, and multiples around the largest that have codes.
#[test]
fn bounds_down_to_the_limits_of_the_types() {
    let mut rng = Rng(74);
    let least = f64::from(f32::MIN_POSITIVE);
    for (dtype, eb) in [
        (DType::F32, least),
        (DType::F32, least * 0.99),
        (DType::F32, 1e-45),
        (DType::F32, 1e38),
        (DType::F64, f64::MIN_POSITIVE),
        (DType::F64, 1e-310),
        (DType::F64, least * 0.5),
        (DType::F64, 1e300),
        (DType::F32, 1e-7),
        (DType::F64, 1e-15),
    ] {
        for scale in [1.0, 1e3, 2_097_151.0, 2_097_152.5, 4.4e6, 2.25e15, 4.5e15] {
            let x: Vec<f64> = (0..2100).map(|_| (rng.unit() - 0.5) * 4.0 * scale * eb).collect();
            for dims in [&[2100][..], &[42, 50], &[10, 14, 15]] {
                keeps("abs", eb, f64::INFINITY, &sample(dtype, dims, &x));
            }
        }
    }
}

#[test]
fn f64_far_from_zero_has_codes_around_an_anchor() {
    let mut rng = Rng(75);
    for dims in [&[9000][..], &[50, 180], &[30, 30, 10]] {
        let n = elements(dims);
        for offset in [1.34e8, 2.7e8, 1e9, -1e12, 1e15, 2.2e15, 2.26e15] {
            // In steps of 1.
            for spread in [2.0, 1e6, 3e8, 2e9] {
                let mut x: Vec<f64> = walk(n, 2.0, &mut rng);
                x.iter_mut().for_each(|x| *x = offset + (*x / n as f64).fract() * spread + rng.unit());
                if rng.below(3) == 0 {
                    x[0] = *rng.pick(&[f64::NAN, 0.0, 1e300]);
                }
                let sample = sample(DType::F64, dims, &x);
                keeps("abs", 0.5, f64::INFINITY, &sample);
                // Near values of a far chunk are short.
                if spread == 2.0 && x[0] > 0.0 && x[0] < 2e15 {
                    let made = compress(
                        &pipeline("abs", 0.5, f64::INFINITY),
                        &sample.array,
                        &always(),
                        &sample.bytes,
                    );
                    assert!(made.unwrap().len() < sample.bytes.len() / 8, "{} {offset}", sample.name);
                }
            }
        }
    }
}

#[test]
fn threads_and_containers_do_not_show() {
    let mut rng = Rng(76);
    for dtype in FLOATS {
        for dims in [&[150_000][..], &[300, 700], &[70, 65, 40], &[2100, 3, 9]] {
            let n = elements(dims);
            let mut x = walk(n, 1.0, &mut rng);
            (0..n / 500).for_each(|_| x[rng.below(n)] = f64::NAN);
            x[n / 3..n / 2].fill(7.0);
            let sample = sample(dtype, dims, &x);
            for container in both_containers() {
                let p = pipeline("noa", 1e-4, f64::INFINITY);
                every_way(&p, &sample, &options(container, true)).unwrap();
            }
        }
    }
}

/// Lengths of 1 are no dimensions, wherever they stand.
#[test]
fn lengths_of_one_change_no_stream() {
    let mut rng = Rng(77);
    for dtype in FLOATS {
        for (long, with_ones) in [
            (&[9000][..], &[&[1, 9000][..], &[9000, 1], &[1, 1, 9000], &[1, 9000, 1], &[9000, 1, 1]][..]),
            (&[70, 300], &[&[1, 70, 300], &[70, 1, 300], &[70, 300, 1]]),
            (&[1], &[&[1, 1], &[1, 1, 1]]),
        ] {
            let x = walk(elements(long), 1.0, &mut rng);
            let stream = |dims: &[u64]| {
                let sample = sample(dtype, dims, &x);
                keeps("abs", 1e-2, f64::INFINITY, &sample);
                let (made, at) = frame(&sample, 1e-2);
                made[at..].to_vec()
            };
            let expected = stream(long);
            for dims in with_ones {
                assert!(stream(dims) == expected, "{dtype} {dims:?}");
            }
        }
    }
}

/// A frame whose only segment, the stream, is at its end, and where that begins.
fn frame(sample: &Sample, eb: f64) -> (Vec<u8>, usize) {
    let options = Options { checksum: false, ..always() };
    let made = compress(&pipeline("abs", eb, f64::INFINITY), &sample.array, &options, &sample.bytes).unwrap();
    let stream = info(&made).unwrap().segments[0].bytes as usize;
    let at = made.len() - stream;
    (made, at)
}

/// Three units of a plane, in each of which a spike makes one part wide.
fn planes(dtype: DType) -> Sample {
    let smooth = |i: usize| ((i % 40) as f64 * 0.3).sin() + if i % 1319 == 0 { 1e3 } else { 0.0 };
    let mut values: Vec<f64> = (0..40 * 33 * 3).map(smooth).collect();
    values[77] = f64::NAN;
    sample(dtype, &[40, 33, 3], &values)
}

#[test]
fn what_no_encoder_writes_is_corrupt() {
    for dtype in FLOATS {
        let sample = planes(dtype);
        let (good, at) = frame(&sample, 1e-3);
        let chunks = 4;
        let status = |edit: &dyn Fn(&mut [u8])| {
            let mut bad = good.clone();
            edit(&mut bad[at..]);
            decompress(&bad, &always()).map_or_else(|e| e.status(), |_| Status::Ok)
        };
        assert_eq!(status(&|_| ()), Status::Ok);
        let entry = |s: &[u8]| u64::from_le_bytes(s[..8].try_into().unwrap());
        let with = |f: &dyn Fn(u64) -> u64| {
            status(&|s| {
                let e = f(entry(s));
                s[..8].copy_from_slice(&e.to_le_bytes());
            })
        };
        let corrupt = |what: &str, got: Status| assert_eq!(got, Status::Corrupt, "{dtype} {what}");
        corrupt("bit 61", with(&|e| e | 1 << 61));
        corrupt("raw and constant", with(&|e| e | 3 << 62));
        corrupt("raw with a reference value", with(&|e| e | 5 << 60));
        corrupt("raw of another length", with(&|e| e | 1 << 62));
        corrupt("a reference value that is not there", with(&|e| e | 1 << 60));
        corrupt("a word less", with(&|e| e - (1 << 44)));
        corrupt("a word more", with(&|e| e + (1 << 44)));
        corrupt("outside", with(&|e| e | ((1 << 44) - 1)));
        assert_eq!(with(&|_| 1 << 63 | 5), Status::Ok, "a constant is as good");
        let descriptor = |u: usize, f: &dyn Fn(u16) -> u16| {
            status(&|s| {
                let d = 8 * chunks + 2 * u;
                let new = f(u16::from_le_bytes([s[d], s[d + 1]]));
                s[d..d + 2].copy_from_slice(&new.to_le_bytes());
            })
        };
        corrupt("mode 1", descriptor(0, &|d| d & !3 | 1));
        corrupt("mode 3 in unit 0", descriptor(0, &|d| d | 3));
        corrupt("bit 14", descriptor(1, &|d| d | 1 << 14));
        corrupt("bit 15", descriptor(1, &|d| d | 1 << 15));
        corrupt("a width of 33 and more", descriptor(0, &|d| d & !(63 << 2) | 33 << 2));
        corrupt("more planes of widths", descriptor(0, &|d| d | 7 << 8));
    }
}

/// In the terms of the container, and with the number that stands there.
#[test]
fn errors_name_what_a_container_says() {
    let sample = planes(DType::F32);
    let (good, _) = frame(&sample, 1e-3);
    let config = good.windows(8).position(|w| w == [1, 8, 3, 0, 0, 0, 0, 0]).unwrap();
    let mut bad = good.clone();
    bad[config + 48..config + 56].fill(255);
    let refused = decompress(&bad, &always()).unwrap_err();
    assert_eq!(refused.status(), Status::Corrupt);
    assert!(refused.to_string().contains("dim_y is 18446744073709551615"), "{refused}");
    let refused = decompress_region(&good, &[0], &[1], &mut [0; 4]).unwrap_err();
    assert!(refused.to_string().ends_with("origin is 1; expected 3, as many as the array has"), "{refused}");
}

#[test]
fn streams_beyond_table_and_values_are_corrupt() {
    let (mut made, at) = frame(&sample(DType::F32, &[16], &[0.0; 16]), 1e-3);
    assert_eq!(made.len() - at, 8, "one constant chunk");
    for (length, status) in [(8, Status::Ok), (72, Status::Ok), (76, Status::Corrupt)] {
        // The last number of the header.
        made[at - 1] = length;
        made.resize(at + usize::from(length), 0);
        let got = decompress(&made, &always()).map_or_else(|e| e.status(), |_| Status::Ok);
        assert_eq!(got, status, "{length}");
    }
}

/// Half of the damage goes to the table and the descriptors, where it does most.
#[test]
fn damaged_streams_are_data_or_a_status() {
    let long = std::env::var_os("FZGM_LONG").is_some();
    let mut rng = Rng(77);
    let mut cases = vec![];
    for dtype in FLOATS {
        for dims in [&[20_000][..], &[70, 300], &[33, 40, 17]] {
            let n = elements(dims);
            let mut x = walk(n, 1.0, &mut rng);
            x[n / 4..n / 3].fill(1e300);
            x.iter_mut().step_by(97).for_each(|x| *x = f64::NAN);
            if dtype == DType::F64 {
                x.iter_mut().for_each(|x| *x += 1e7);
            }
            cases.push((frame(&sample(dtype, dims, &x), 1e-2), n * dtype.bytes() as usize));
        }
    }
    let (mut fine, mut corrupt) = (0, 0);
    for _ in 0..if long { 20_000 } else { 600 } {
        let ((good, at), restored) = rng.pick(&cases);
        let mut bad = good.clone();
        let stream = &mut bad[*at..];
        for _ in 0..1 + rng.below(3) {
            let i = if rng.below(2) == 0 { rng.below(stream.len().min(80)) } else { rng.below(stream.len()) };
            match rng.below(4) {
                0 => stream[i] ^= 1 << rng.below(8),
                1 => stream[i] = rng.word() as u8,
                2 => stream[i] = 255,
                _ => {
                    let from = rng.below(stream.len());
                    let len = rng.below(40).min(stream.len() - i.max(from));
                    stream.copy_within(from..from + len, i);
                }
            }
        }
        let array = info(&bad).unwrap().array;
        let middle: Vec<u64> = array.dims().iter().map(|d| d / 2).collect();
        let mut some = vec![0; *restored];
        if let Err(e) = decompress_region(&bad, &middle, &middle, &mut some) {
            assert_eq!(e.status(), Status::Corrupt, "{e}");
        }
        let threads = 1 + rng.below(2) as u32;
        match decompress(&bad, &Options { threads, ..always() }) {
            Ok((_, back)) => {
                assert_eq!(back.len(), *restored);
                fine += 1;
            }
            Err(e) => {
                assert_eq!(e.status(), Status::Corrupt, "{e}");
                corrupt += 1;
            }
        }
    }
    assert!(fine > 50 && corrupt > 50, "{fine} {corrupt}");
}

/// The box of a whole array.
fn cut(whole: &[u8], w: usize, dims: &[u64], origin: &[u64], extent: &[u64]) -> Vec<u8> {
    let at = |d: &[u64], i: usize| d.get(i).copied().unwrap_or(0) as usize;
    let (nx, ny) = (at(dims, 0), dims.get(1).map_or(1, |n| *n as usize));
    let count = |i: usize| extent.get(i).map_or(1, |n| *n as usize);
    let mut part = vec![];
    for z in 0..count(2) {
        for y in 0..count(1) {
            let first = ((at(origin, 2) + z) * ny + at(origin, 1) + y) * nx + at(origin, 0);
            part.extend_from_slice(&whole[first * w..(first + count(0)) * w]);
        }
    }
    part
}

#[test]
fn boxes_are_the_slices_of_the_whole() {
    let mut rng = Rng(78);
    for dtype in FLOATS {
        for dims in SHAPES {
            let n = elements(dims);
            let mut x = walk(n, 1.0, &mut rng);
            (0..n / 50).for_each(|_| x[rng.below(n)] = f64::NAN);
            let sample = sample(dtype, dims, &x);
            for options in [always(), options(Container::Fzm, true)] {
                let made =
                    compress(&pipeline("noa", 1e-3, f64::INFINITY), &sample.array, &options, &sample.bytes)
                        .unwrap();
                let (_, whole) = decompress(&made, &options).unwrap();
                let w = dtype.bytes() as usize;
                for _ in 0..12 {
                    let origin: Vec<u64> = dims.iter().map(|&d| rng.below(d as usize) as u64).collect();
                    let extent: Vec<u64> = dims
                        .iter()
                        .zip(&origin)
                        .map(|(d, o)| 1 + rng.below((d - o) as usize) as u64)
                        .collect();
                    let want = cut(&whole, w, dims, &origin, &extent);
                    let mut dst = vec![0xc3; want.len() + 8];
                    let bytes = decompress_region(&made, &origin, &extent, &mut dst).unwrap();
                    assert_eq!(bytes, want.len());
                    assert!(dst[..bytes] == want, "{} {origin:?} {extent:?}", sample.name);
                    assert!(dst[bytes..].iter().all(|b| *b == 0xc3));
                    let few = decompress_region(&made, &origin, &extent, &mut dst[..bytes - 1]).unwrap_err();
                    assert_eq!(few.status(), Status::DstTooSmall);
                }
            }
        }
    }
}

#[test]
fn boxes_touch_no_other_chunk() {
    let sample = planes(DType::F32);
    let (mut made, at) = frame(&sample, 1e-3);
    // Of four chunks, 32 x 32 and what is left of 40 x 33, the first one is spoilt.
    made[at + 7] |= 0x20;
    let mut dst = vec![0; 4096];
    let restore =
        |origin: [u64; 3], extent: [u64; 3], dst: &mut [u8]| decompress_region(&made, &origin, &extent, dst);
    assert_eq!(restore([31, 0, 0], [2, 2, 2], &mut dst).unwrap_err().status(), Status::Corrupt);
    assert_eq!(restore([32, 0, 0], [8, 33, 3], &mut dst).unwrap(), 4 * 8 * 33 * 3);
    assert_eq!(restore([0, 32, 0], [40, 1, 3], &mut dst).unwrap(), 4 * 40 * 3);
}

#[test]
fn boxes_that_are_refused() {
    let sample = planes(DType::F64);
    let (made, _) = frame(&sample, 1e-3);
    let mut dst = vec![0; 100_000];
    let mut status = |origin: &[u64], extent: &[u64]| {
        decompress_region(&made, origin, extent, &mut dst).map_or_else(|e| e.status(), |_| Status::Ok)
    };
    assert_eq!(status(&[0, 0, 0], &[40, 33, 3]), Status::Ok);
    assert_eq!(status(&[40, 33, 3], &[0, 0, 0]), Status::Ok);
    assert_eq!(status(&[0, 0, 0], &[41, 1, 1]), Status::InvalidArgument);
    assert_eq!(status(&[0, 33, 0], &[1, 1, 1]), Status::InvalidArgument);
    assert_eq!(status(&[0, 0, u64::MAX], &[1, 1, 2]), Status::InvalidArgument);
    assert_eq!(status(&[0, 0], &[1, 1]), Status::InvalidArgument);
    assert_eq!(status(&[0, 0, 0], &[1, 1]), Status::InvalidArgument);
    let fz = preset("fz", DType::F64).unwrap();
    let other = compress(&fz, &sample.array, &Options::default(), &sample.bytes).unwrap();
    let refused = decompress_region(&other, &[0, 0, 0], &[1, 1, 1], &mut dst).unwrap_err();
    assert_eq!(refused.status(), Status::Unsupported);
    assert!(refused.to_string().contains("lorenzo_quant > bitshuffle > rze"), "{refused}");
    // What did not compress is stored, and has its boxes all the same.
    let noise = sample_of_noise();
    let stored =
        compress(&pipeline("abs", 1e-9, f64::INFINITY), &noise.array, &Options::default(), &noise.bytes)
            .unwrap();
    assert_eq!(info(&stored).unwrap().stages[0].name, "stored");
    let bytes = decompress_region(&stored, &[3, 2, 1], &[5, 4, 1], &mut dst).unwrap();
    assert!(dst[..bytes] == cut(&noise.bytes, 4, &[9, 8, 2], &[3, 2, 1], &[5, 4, 1]));
}

fn sample_of_noise() -> Sample {
    let mut rng = Rng(79);
    let noise: Vec<f64> = (0..9 * 8 * 2).map(|_| rng.unit() * 1e6).collect();
    sample(DType::F32, &[9, 8, 2], &noise)
}
