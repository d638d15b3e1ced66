//! Values where the promise is hardest to keep: borders of parts, units, lanes, chunks and arrays, special values at every kind of place,
//! multiples around the limits, values half way between multiples, reference values. On the CPU and on devices.

use super::*;
use crate::common::agreement::{agrees, holds};
use crate::common::rare::{Rare, around, field};
use crate::common::rng::Rng;
use crate::common::run::{both_containers, every_way, options};
use crate::common::samples::{FLOATS, elements, walk};

const MODES: [&str; 3] = ["abs", "noa", "prel"];

/// Whole chunks, units that are cut off, lanes of one value, and more chunks than a group has. Thin ones have 256 chunks, which
/// other functions of a device encode than 257, and more than there are slots.
const MANY_CHUNKS: [&[u64]; 24] = [
    &[1],
    &[31],
    &[1024],
    &[8192],
    &[100_003],
    &[32, 256],
    &[33, 300],
    &[1, 700],
    &[132, 31],
    &[32, 32, 8],
    &[64, 32, 17],
    &[36, 40, 9],
    &[33, 35, 3],
    &[130, 3, 10],
    &[1, 1, 100],
    &[256, 128, 72],
    &[8192, 2],
    &[8193, 3],
    &[8190, 2, 2],
    &[8193, 2, 2],
    &[8196, 2, 3],
    &[66_000, 2],
    &[140_000, 2],
    &[2_097_153],
];

const SHIFTS: [[usize; 2]; 5] = [[0, 0], [4, 0], [0, 4], [8, 8], [3, 1]];

/// A stream is hardly longer than its values.
fn is_short(container: &[u8], sample: &Sample) {
    let long: Vec<u64> = sample.array.dims().iter().copied().filter(|d| *d > 1).collect();
    let chunk = match long[..] {
        [] | [_] => [8192, 1, 1],
        [_, _] => [32, 256, 1],
        _ => [32, 32, 8],
    };
    let chunks: u64 = long.iter().zip(chunk).map(|(d, c)| d.div_ceil(c)).product();
    let stream = info(container).unwrap().segments[0].bytes;
    assert!(stream <= sample.array.bytes() + 8 * chunks, "{}: {stream} bytes", sample.name);
}

fn keeps(mode: &str, eb: f64, threshold: f64, sample: &Sample) -> Vec<u8> {
    let (container, _) = holds(&pipeline(mode, eb, threshold), sample, &always());
    is_short(&container, sample);
    container
}

/// A case that is there for devices.
fn both(p: &Pipeline, sample: &Sample, container: Container, shifts: [usize; 2]) {
    is_short(&agrees(p, sample, &bare(container), shifts).0, sample);
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
                let sample = Sample::of(dtype, dims, x);
                for mode in MODES {
                    keeps(mode, *rng.pick(&[0.25, 1e-2, 1e-4, 1e-7]), f64::INFINITY, &sample);
                }
            }
        }
    }
}

#[test]
fn special_values_harm_no_neighbor() {
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
                let mut sample = Sample::of(dtype, dims, x.iter().copied());
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
            keeps("noa", *rng.pick(&[1e-2, 1e-5]), 1e20, &Sample::of(dtype, &dims, values));
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
                x.push(around(dtype, half, &mut rng));
            }
            keeps("abs", eb, f64::INFINITY, &Sample::of(dtype, &[20_000], x));
        }
    }
}

/// Bounds at the limits of the types, and multiples around the largest that have codes.
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
                keeps("abs", eb, f64::INFINITY, &Sample::of(dtype, dims, x.clone()));
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
                let near = spread == 2.0 && x[0] > 0.0 && x[0] < 2e15;
                let sample = Sample::of(DType::F64, dims, x);
                let made = keeps("abs", 0.5, f64::INFINITY, &sample);
                // Near values of a far chunk are short.
                assert!(!near || made.len() < sample.bytes.len() / 8, "{} {offset}", sample.name);
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
            let sample = Sample::of(dtype, dims, x);
            for container in both_containers() {
                let p = pipeline("noa", 1e-4, f64::INFINITY);
                every_way(&p, &sample, &options(container, true)).unwrap();
            }
        }
    }
}

/// Lengths of 1 are no dimensions at any place.
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
                let sample = Sample::of(dtype, dims, x.clone());
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

#[test]
fn fields_of_many_chunks() {
    let mut rng = Rng(0x6a09_e667);
    for dims in MANY_CHUNKS {
        let small = elements(dims) < 40_000;
        for dtype in FLOATS {
            // Of large fields one kind each.
            let one = rng.below(3);
            for (k, which) in [Rare::No, Rare::Edges, Rare::Many, Rare::All].into_iter().enumerate() {
                if !small && k != one {
                    continue;
                }
                let (bound, threshold) =
                    (*rng.pick(&["0.5", "0.3", "1e-3", "1e-9"]), *rng.pick(&["inf", "1e19", "30"]));
                let sets = [
                    ("mode", *rng.pick(&["abs", "abs", "noa", "prel"])),
                    ("error_bound", bound),
                    ("outlier_threshold", threshold),
                    ("fixed_step", *rng.pick(&["false", "true"])),
                ];
                let b: f64 = bound.parse().unwrap();
                let step = *rng.pick(&[1.0, 1e-3, 700.0])
                    * if dtype == DType::F32 { (2.0 * b as f32).into() } else { 2.0 * b };
                let sample = field(dtype, dims, (step, 1e4), which, rng.word());
                let container = *rng.pick(&both_containers());
                both(&stage("fast", &sets), &sample, container, *rng.pick(&SHIFTS));
            }
        }
    }
}

/// Units that are one value, fills of one value among others, far from zero and close to it, and constants between them.
#[test]
fn units_of_one_kind() {
    let mut rng = Rng(0xbb67_ae85);
    for dims in [&[20_000][..], &[64, 512], &[64, 64, 16], &[40, 44, 17]] {
        for dtype in FLOATS {
            for far in [0.0, 3e6, -4.5e9, 1e18] {
                let n = elements(dims);
                let kinds: Vec<_> = (0..n.div_ceil(512)).map(|_| rng.below(7)).collect();
                let value = |i: usize| match kinds[i / 512] {
                    0 => far,
                    1 => 1e30,
                    2 if i % 3 == 0 => 1e30,
                    2 => far + (i % 50) as f64,
                    3 if rng.below(40) == 0 => f64::NAN,
                    3 => far,
                    4 => far + rng.unit() * 1e5,
                    // Quiet where a line begins and ends.
                    5 => far + if (130..380).contains(&(i % 512)) { 5.0 } else { 0.0 },
                    _ => far + (i as f64 * 0.01).sin() * 300.0,
                };
                let sample = Sample::of(dtype, dims, (0..n).map(value));
                both(&with_fills(), &sample, Container::Fzm, *rng.pick(&SHIFTS));
            }
        }
    }
}

/// Chunks of one value, close to zero and so far from it that its code counts from a reference value, before others.
#[test]
fn chunks_of_one_value() {
    for dims in [&[20_000][..], &[64, 512], &[64, 64, 16]] {
        for far in [0.0, 7.0, -4.5e9, 3e13] {
            let (n, last) = (elements(dims), if far == 0.0 { 5.0 } else { far + 100.0 });
            let values = (0..n).map(|i| if i < n - 9 { far } else { last });
            both(
                &pipeline("abs", 0.25, f64::INFINITY),
                &Sample::of(DType::F64, dims, values),
                Container::Fzm,
                [0, 0],
            );
        }
    }
}

/// Chunks in which most values are exact, and which are hardly shorter than these: shared memory does not have room for all words of one.
#[test]
fn chunks_as_long_as_their_values() {
    let mut rng = Rng(0x3c6e_f372);
    for dims in [&[20_000][..], &[64, 512], &[64, 64, 16], &[36, 40, 9]] {
        for (dtype, exact) in [(DType::F32, 5), (DType::F64, 6), (DType::F64, 7)] {
            let value = |i| match rng.below(10) < exact {
                true => 1e30 * (1.0 + rng.unit()),
                false => ((i / 64) as f64 * 0.1).sin() * 900.0 + rng.unit() * 6.0,
            };
            let sample = Sample::of(dtype, dims, (0..elements(dims)).map(value));
            for container in both_containers() {
                both(&with_fills(), &sample, container, *rng.pick(&SHIFTS));
            }
        }
    }
}

/// Volumes of whole chunks in which a unit is the one before plus a constant, except for one that starts
/// again; without exact values, and with one or several exact values.
#[test]
fn units_that_add_to_those_before() {
    let mut rng = Rng(0x510e_527f);
    for (dtype, exact) in FLOATS.into_iter().flat_map(|d| [0, 1, 2].map(|exact| (d, exact))) {
        let planes: Vec<f64> = (0..2 * 4096).map(|_| rng.unit() * 3e4).collect();
        let value = |i: usize| match (exact, rng.below(300)) {
            (1, 0) => 1e30,
            (2, 0) => 1e30 * (1.0 + rng.unit()),
            _ => planes[i % 4096 + if i / 4096 % 8 < 5 { 0 } else { 4096 }] + (i / 4096) as f64 * 7.0,
        };
        let sample = Sample::of(dtype, &[64, 64, 16], (0..64 * 64 * 16).map(value));
        for shifts in [[0, 0], [3, 1]] {
            both(&with_fills(), &sample, Container::Fzm, shifts);
        }
    }
}

/// Planes and volumes of f32 with declared fill values, with chunks of every kind, one kind for each column
/// of units: values without a code are stored in the place of codes.
fn masked(dims: &[u64], change: impl Fn(f32) -> f32) -> Sample {
    let [nx, ny] = [dims[0] as usize, dims[1] as usize];
    let mut rng = Rng(dims[0]);
    let mut value = |i: usize| {
        let (x, y, z) = (i % nx, i / nx % ny, i / nx / ny);
        let smooth = (x / 3 + y / 5 + z) as f32 - 40.0;
        let nan = |bits: u32| f32::from_bits(0x7fc0_0000 | bits);
        match x / 32 % 14 {
            0 => smooth,
            // A fill among others: at the start of units, of lanes, of rows, by chance, and everywhere but in one place.
            1 if (x + y) % 64 < 20 => 1e20,
            2 if x % 4 == 0 => 1e20,
            3 if y % 8 != 3 => 1e20,
            4 if rng.below(40) == 0 => 1e20,
            5 if x % 32 != 17 || y % 32 != 9 => 1e20,
            // Nothing but one fill, and nothing but two.
            6 => 1e20,
            7 => [1e20, -1e20][y / 7 % 2],
            // Exact values that are not one; some lanes have the same, and others nothing.
            8 if rng.below(30) == 0 => nan(rng.below(3) as u32),
            9 if x % 32 < 8 => nan((x % 32 / 4) as u32),
            // Below the threshold, at it and above; the largest code and those behind it.
            10 => f32::from_bits(1e6f32.to_bits() - 2 + rng.below(4) as u32),
            // One code, and fills around it.
            11 if (x + y) % 3 == 0 => f32::INFINITY,
            11 => 7.0,
            12 => [0.0, -0.0, f32::NEG_INFINITY, 1e-40][rng.below(4)],
            _ => smooth,
        }
    };
    Sample::new(DType::F32, dims, (0..elements(dims)).flat_map(|i| change(value(i)).to_le_bytes()).collect())
}

/// Also with a threshold that no code reaches, and values that lie beyond all codes and are below it.
#[test]
fn fills_of_every_kind() {
    // Wide arrays, with so numerous chunks that blocks copy for each other; units are whole, or none is.
    for dims in [&[8224, 32][..], &[8228, 300], &[8224, 64, 2], &[4128, 35, 9], &[8230, 33]] {
        let beyond = |x: f32| if x.abs() == 1e20 { x * 1e-13 } else { x };
        for (threshold, sample) in [("1e6", masked(dims, |x| x)), ("1e30", masked(dims, beyond))] {
            // Bins of 1.
            let sets = [
                ("mode", "abs"),
                ("error_bound", "0.5"),
                ("outlier_threshold", threshold),
                ("fixed_step", "true"),
            ];
            for shift in [0, 4] {
                both(&stage("fast", &sets), &sample, Container::Fzm, [shift, 0]);
            }
        }
    }
}

/// A volume whose range has few bins, with chunks of every kind, one kind for each column of chunks: codes
/// that are near each other, two to a register of a device, and chunks whose codes turn out not to be.
fn near(dims: &[u64]) -> Sample {
    let [nx, ny] = [dims[0] as usize, dims[1] as usize];
    let mut rng = Rng(dims[0]);
    let noise: Vec<f64> = (0..nx * ny).map(|_| rng.below(1001) as f64 - 500.0).collect();
    let value = |i: usize| {
        let (x, y, z) = (i % nx, i / nx % ny, i / nx / ny);
        let odd = |n: usize| if n % 2 == 0 { 1.0 } else { -1.0 };
        match x / 32 % 14 {
            // One code, far away.
            0 => 3e5,
            // Codes are smaller than differences, and the other way round.
            1 => rng.below(3) as f64,
            2 => (7 * x + 3 * y) as f64 - 100.0 + z as f64,
            // As far apart as they may be, and one farther.
            3 => f64::from(rng.below(2) as u32) * 511.0,
            4 if rng.below(2000) == 0 => 512.0,
            4 => 0.0,
            // More than eight bits, of codes and of differences.
            5 => rng.below(400) as f64,
            6 => 300.0 * odd(x + y) + rng.below(2) as f64,
            // The plane before, except for a patch whose differences are odd numbers of 13 bits. Codes count
            // from the first one.
            7 if x % 32 / 2 == 5 && y % 32 / 2 == 5 => {
                500.0 * odd(x + y + z) + if x % 2 == 1 && y % 2 == 1 && z % 2 == 1 { 1.0 } else { 0.0 }
            }
            7 if x % 32 == 0 && y % 32 == 0 => 0.0,
            7 => noise[y * nx + x],
            // Exceptions: in most chunks the first value is one.
            8 if rng.below(50) == 0 => f64::NAN,
            8 => 1e4 + (x + y) as f64,
            9 if (x + y + z) % 64 < 40 => 1e30,
            9 => 2e4 + (x * y % 50) as f64,
            10 => 1e30,
            // Near each other, and some of them beyond the largest code, or all but the first.
            11 => 2_097_000.0 + rng.below(300) as f64,
            12 => 2_097_151.0 + ((x + y) % 32) as f64,
            // Never near.
            _ => rng.unit() * 1e5,
        }
    };
    Sample::of(DType::F32, dims, (0..elements(dims)).map(value))
}

#[test]
fn chunks_are_near_or_not() {
    // Bins of 1: of the range that is given there are 500.
    let sets = [("mode", "noa"), ("error_bound", "1e-3"), ("value_base", "500"), ("fixed_step", "true")];
    for dims in [&[8224, 32, 2], &[4128, 35, 9], &[4200, 64, 5]] {
        for shift in [0, 4] {
            both(&stage("fast", &sets), &near(dims), Container::Fzm, [shift, 0]);
        }
    }
}

/// NaN of both kinds do not count in the range, at any place in a tile that is read as a whole.
#[test]
fn nan_leave_the_range_alone() {
    for nan in [0x7f80_0001u32, 0xff80_0001, 0x7fc0_0001] {
        let mut values: Vec<u32> = (0..8192).map(|i| ((i % 97) as f32 * 0.25).to_bits()).collect();
        (values[0], values[1], values[4096]) = ((-100f32).to_bits(), nan, nan);
        let sample =
            Sample::new(DType::F32, &[8192], values.into_iter().flat_map(u32::to_le_bytes).collect());
        both(&pipeline("noa", 1e-3, f64::INFINITY), &sample, Container::Fzm, [0, 0]);
    }
}
