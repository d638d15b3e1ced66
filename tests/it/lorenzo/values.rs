//! Values where the promise is hardest to keep: special values at every kind of place in a tile, multiples
//! around the guard, spikes, steps, borders between multiples, with every kind of value at every edge of a
//! lane, a warp, or a tile of a device.

use super::*;
use crate::common::agreement::{agrees, bare};
use crate::common::oracle::{Bound, judge};
use crate::common::rare::{Rare, around, field, guard_of};
use crate::common::rng::Rng;
use crate::common::run::both_containers;
use crate::common::samples::{self, FLOATS, beside, bytes, elements, walk};
use fzgm::Array;

const MODES: [&str; 3] = ["abs", "noa", "prel"];
/// Whole tiles and ragged ones, in every number of dimensions.
const SHAPES: [&[u64]; 9] =
    [&[1024], &[2500], &[64, 64], &[33, 70], &[1, 40], &[1100, 2], &[16, 8, 8], &[19, 11, 9], &[130, 3, 2]];

const MORE_SHAPES: &[&[u64]] = &[
    &[1],
    &[3],
    &[1023],
    &[1025],
    &[5000],
    &[1, 70],
    &[2, 3],
    &[31, 33],
    &[33, 31],
    &[64, 60],
    &[5, 300],
    &[300, 5],
    &[1, 1, 5],
    &[8, 8, 8],
    &[33, 17, 9],
    &[9, 10, 11],
    &[40, 3, 20],
    &[130, 5, 3],
];

fn keeps(setup: &Setup, sample: &Sample) {
    both_containers().into_iter().for_each(|c| drop(setup.restores(sample, c)));
}

/// Values that a failing sensor, a mask, or an overflow leaves behind.
const SPECIALS: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e20, -1e20, 3e38];

#[test]
fn walks_steps_and_spikes_of_every_size() {
    let mut rng = Rng(40);
    for dtype in FLOATS {
        for dims in SHAPES {
            let n = elements(dims);
            for (kind, size) in [
                ("walk", 1.0),
                ("walk", 1e-3),
                ("step", 1e4),
                ("spike", 1e4),
                ("spike", 1e12),
                ("spike", 1e38),
            ] {
                let mut values = walk(n, 1.0, &mut rng);
                match kind {
                    "walk" => values.iter_mut().for_each(|v| *v *= size),
                    "step" => values.iter_mut().skip(n / 3).for_each(|v| *v += size),
                    _ => (0..1 + n / 200).for_each(|_| values[rng.below(n)] = size * (rng.unit() - 0.5)),
                }
                let sample = Sample::of(dtype, dims, values);
                for mode in MODES {
                    for eb in [0.1, 1e-3, 1e-5, 1e-7] {
                        keeps(&Setup::new(mode, eb), &sample);
                    }
                }
            }
        }
    }
}

#[test]
fn every_type_of_code_and_radius() {
    let mut rng = Rng(41);
    for dtype in FLOATS {
        for dims in SHAPES {
            let mut values = walk(elements(dims), 3.0, &mut rng);
            (0..40).for_each(|i| {
                let at = rng.below(values.len());
                values[at] = SPECIALS[i % 6];
            });
            let sample = Sample::of(dtype, dims, values);
            for (code, radius) in
                [("u8", 0), ("u8", 1), ("u16", 0), ("u16", 7), ("u32", 0), ("u32", 100_000), ("u32", 1 << 31)]
            {
                if (dtype, code) == (DType::F64, "u8") {
                    continue; // refused, by name
                }
                for mode in MODES {
                    for eb in [1e-2, 1e-6] {
                        keeps(&Setup { code, radius, threshold: 1e20, ..Setup::new(mode, eb) }, &sample);
                    }
                }
            }
        }
    }
}

/// Multiples right at, below, and above the largest, of both signs in neighbors, so that differences and sums
/// reach the exact limit of the type.
#[test]
fn multiples_around_the_guard() {
    let mut rng = Rng(42);
    for dtype in FLOATS {
        for dims in SHAPES {
            let ndim = dims.iter().filter(|&&d| d > 1).count() as i32;
            let bits = if dtype == DType::F32 { 24 } else { 53 };
            for shift in -2..3 {
                let guard = 2f64.powi(bits - ndim + shift);
                for eb in [0.5, 0.125, 1e-3, 0.3] {
                    let one = |_| {
                        let k = guard + rng.below(5) as f64 - 2.0 + [0.0, 0.5, 0.25][rng.below(3)];
                        let k = if rng.below(4) == 0 { rng.below(1000) as f64 } else { k };
                        2.0 * eb * if rng.below(2) == 0 { k } else { -k }
                    };
                    let values: Vec<f64> = (0..elements(dims)).map(one).collect();
                    let sample = Sample::of(dtype, dims, values);
                    keeps(&Setup::new("abs", eb), &sample);
                    keeps(&Setup { code: "u32", ..Setup::new("abs", eb) }, &sample);
                }
            }
        }
    }
}

/// Values a few units in the last place around every border between multiples, where the check of the encoder
/// must be right to the last bit.
#[test]
fn values_on_the_border_of_a_multiple() {
    let mut rng = Rng(43);
    for dtype in FLOATS {
        for eb in
            [0.1, 1e-3, 0.125, 1.0, 3.0, 1.0 / 3.0, 2f64.powi(-20), 7.7e-5, 1e10, 1.1e-30, 2f64.powi(-126)]
        {
            let one = |_| {
                let k = match rng.below(3) {
                    0 => rng.below(4) as f64,
                    1 => rng.below(5000) as f64,
                    _ => rng.below(1 << 22) as f64,
                };
                let border = (2.0 * k + if rng.below(4) == 0 { 0.0 } else { 1.0 }) * eb;
                let ulps = rng.below(7) as i64 - 3;
                let near = beside(dtype, border, ulps);
                if rng.below(2) == 0 { near } else { -near }
            };
            let values: Vec<f64> = (0..3000).map(one).collect();
            for dims in [&[3000][..], &[100, 30], &[20, 15, 10]] {
                let sample = Sample::of(dtype, dims, values.iter().copied());
                keeps(&Setup { code: "u32", ..Setup::new("abs", eb) }, &sample);
                keeps(&Setup::new("noa", eb / 1e8), &sample);
            }
        }
    }
}

/// Half of a step goes away from zero, and not a unit in the last place less than that.
#[test]
fn halves_go_away_from_zero() {
    for dtype in FLOATS {
        let below = beside(dtype, 1.0, -1);
        let sample = Sample::of(dtype, &[4], [below, -below, 1.0, 3.0]);
        let restored = Setup::new("abs", 1.0).restores(&sample, Container::Compact);
        assert_eq!(restored, bytes(dtype, [0.0, 0.0, 2.0, 4.0]), "{dtype}");
    }
}

/// Places of a tile that differ: its corners, edges and inside, next to another tile and at the end of the array, and
/// whole rows, planes and tiles.
fn places(dims: &[u64]) -> Vec<Vec<usize>> {
    let [nx, ny] = [dims[0] as usize, dims.get(1).map_or(1, |&d| d as usize)];
    let n = elements(dims);
    let mut all: Vec<Vec<usize>> = vec![vec![0], vec![n - 1], vec![0, 1, 2], (0..n).collect()];
    let at = |x: usize, y: usize, z: usize| (z * ny + y) * nx + x;
    for x in [0, 1, 7, 8, 9, 31, 32, 33, 1023, 1024, nx - 1] {
        for y in [0, 1, 7, 8, 31, 32, ny - 1] {
            for z in [0, 1, 7, 8] {
                if x < nx && y < ny && at(x, y, z) < n {
                    all.push(vec![at(x, y, z)]);
                }
            }
        }
    }
    for y in [0, 1, 7, 8, ny - 1] {
        let row = at(0, y.min(ny - 1), 0);
        all.push((row..(row + nx).min(n)).collect());
        all.push((row..(row + nx).min(n)).step_by(2).collect());
    }
    all.push((0..(nx * ny).min(n)).collect());
    all.push((0..n).step_by(nx).collect());
    all
}

#[test]
fn special_values_change_no_other_value() {
    for dtype in FLOATS {
        for dims in [&[2100][..], &[40, 35], &[19, 11, 9]] {
            let n = elements(dims);
            let calm: Vec<f64> = (0..n).map(|i| (i as f64 * 0.05).sin() * 20.0 + 3.0).collect();
            for (k, at) in places(dims).into_iter().enumerate() {
                let special = SPECIALS[k % 6];
                let mode = ["abs", "prel", "noa"][k % 3];
                let base = if mode == "abs" { 0.0 } else { 40.0 };
                let mut setup = Setup::new(mode, 0.01);
                setup.threshold = if k % 2 == 0 { f64::INFINITY } else { 1e20 };
                let mut p = setup.pipeline();
                p.args_mut(0).unwrap().set_real("value_base", base).unwrap();
                let mut values = calm.clone();
                at.iter().for_each(|&i| values[i] = special);
                let harmed = Sample::of(dtype, dims, values);
                let there = |sample: &Sample| holds(&p, sample, &options(Container::Compact, true)).1;
                let want = there(&Sample::of(dtype, dims, calm.iter().copied()));
                let got = there(&harmed);
                let width = dtype.bytes() as usize;
                for (i, (g, w)) in got.chunks(width).zip(want.chunks(width)).enumerate() {
                    if at.contains(&i) {
                        let src = &harmed.bytes[i * width..(i + 1) * width];
                        let exact = !special.is_finite() || special.abs() >= setup.threshold;
                        assert!(!exact || g == src, "{dtype} {dims:?} {special} at {i}: its bits");
                    } else {
                        assert!(
                            g == w,
                            "{dtype} {dims:?} {mode} {special} at {:?}: value {i} changes",
                            at[0]
                        );
                    }
                }
            }
        }
    }
}

/// Payloads and signs of NaN, infinities, negative zeros, subnormals, at random places and rates.
#[test]
fn special_values_keep_their_bits() {
    let mut rng = Rng(44);
    for dtype in FLOATS {
        for dims in SHAPES {
            for rate in [2, 10, 300] {
                let mut sample = Sample::of(dtype, dims, walk(elements(dims), 5.0, &mut rng));
                for (i, word) in sample.bytes.chunks_mut(dtype.bytes() as usize).enumerate() {
                    if rng.below(rate) > 0 {
                        continue;
                    }
                    let random = rng.word() | 1;
                    let exponent = |bits: u64, top: u64, low: u32| (bits & !(top << low)) | top << low;
                    let bits = match (i % 5, dtype) {
                        (0, DType::F32) => exponent(random, 0xff, 23),
                        (0, _) => exponent(random, 0x7ff, 52),
                        (1, DType::F32) => 0x7f80_0000,
                        (1, _) => 0xfff << 52,
                        (2, DType::F32) => 1 << 31,
                        (2, _) => 1 << 63,
                        (3, _) => 1,
                        _ => continue,
                    };
                    let width = word.len();
                    word.copy_from_slice(&bits.to_le_bytes()[..width]);
                }
                for mode in MODES {
                    let setup = Setup { threshold: 4.0, ..Setup::new(mode, 1e-4) };
                    keeps(&setup, &sample);
                    keeps(&Setup::new(mode, 1e-3), &sample);
                }
                let pipeline = Setup::new("noa", 1e-3).pipeline();
                both_containers().into_iter().for_each(|c| {
                    every_way(&pipeline, &sample, &options(c, true)).unwrap();
                });
            }
        }
    }
}

/// Ranges that are nothing, that overflow and that leave no step.
#[test]
fn constants_and_ranges_at_the_ends_of_floats() {
    let mut rng = Rng(45);
    for dtype in FLOATS {
        let most = if dtype == DType::F32 { f64::from(f32::MAX) } else { f64::MAX };
        for c in [0.0, -0.0, 1.0, 0.1, -3.7, 1e20, 3e-38, 1e-45, most, -1.5e38, 2.6e38] {
            let mut values = vec![c; 700];
            for mode in MODES {
                keeps(&Setup::new(mode, 0.01), &Sample::of(dtype, &[35, 20], values.iter().copied()));
            }
            values[300] = f64::NAN;
            keeps(&Setup::new("noa", 0.01), &Sample::of(dtype, &[10, 10, 7], values));
        }
        let wide: Vec<f64> = (0..898).map(|_| (2.0 * rng.unit() - 1.0) * most).chain([most, -most]).collect();
        let tiny: Vec<f64> = (0..900).map(|_| (rng.unit() - 0.5) * 1e-37).collect();
        let none = vec![f64::NAN; 900];
        for values in [wide, tiny, none] {
            for dims in [&[900][..], &[30, 30], &[10, 10, 9]] {
                let sample = Sample::of(dtype, dims, values.iter().copied());
                for mode in MODES {
                    for eb in [1e-3, 0.5, 1.0, 1e-7, 1e-37, 1e37, 1e300] {
                        keeps(&Setup::new(mode, eb), &sample);
                    }
                }
            }
        }
    }
}

/// Without strict the arithmetic of the reference is used, which loses bounds and harms neighbors of special values.
/// If it did not, the tests above would prove nothing about strict.
#[test]
fn strict_keeps_values_that_the_reference_loses() {
    let mut values: Vec<f64> = (0..2000).map(|i| f64::from(i) * 0.37).collect();
    values[5] = f64::NAN;
    let sample = Sample::of(DType::F32, &[2000], values);
    let setup = Setup::new("abs", 1e-3);
    let options = Options { strict: false, ..options(Container::Fzm, false) };
    let file = compress(&setup.pipeline(), &sample.array, &options, &sample.bytes).unwrap();
    let (_, restored) = decompress(&file, &options).unwrap();
    assert!(f32::from_le_bytes(restored[400..404].try_into().unwrap()).is_nan());
    assert!(judge(DType::F32, &sample.bytes, &restored, Bound::Abs(1e-3), setup.threshold).is_err());
}

#[test]
fn shapes_that_contradict_the_array_are_refused_by_name() {
    let array = Array::new(DType::F32, &[30, 20]).unwrap();
    let refusal = |sets: &[(&str, &str)]| {
        let mut p = Setup::new("abs", 0.1).pipeline();
        sets.iter().for_each(|(name, value)| p.args_mut(0).unwrap().set_text(name, value).unwrap());
        fzgm::Encoder::new(&p, &array, &Options::default()).err().map(|e| e.to_string())
    };
    assert_eq!(refusal(&[("dim_x", "600")]), None);
    assert_eq!(refusal(&[("dim_y", "40")]), None);
    assert_eq!(refusal(&[("dim_x", "10"), ("dim_y", "6"), ("dim_z", "10")]), None);
    for (sets, name) in [
        (&[("dim_x", "599")][..], "dim_x"),
        (&[("dim_y", "7")], "dim_y"),
        (&[("dim_x", "10"), ("dim_y", "6"), ("dim_z", "11")], "dim_x · dim_y · dim_z is 10 · 6 · 11 = 660"),
    ] {
        let text = refusal(sets).unwrap();
        assert!(text.contains(&format!("lorenzo_quant.{name}")) && text.contains("600"), "{text}");
    }
    // Modes that a predictor cannot guarantee, and their replacements.
    let text = refusal(&[("mode", "rel")]).unwrap();
    assert!(text.contains("prel") && text.contains("quantizer"), "{text}");
}

/// A value at the threshold is exact, the one below it is not.
#[test]
fn the_threshold_itself_is_exact() {
    for dtype in FLOATS {
        let values: Vec<f64> = (0..200).map(|i| f64::from(i % 3) * 50.0).collect();
        let sample = Sample::of(dtype, &[20, 10], values);
        let setup = Setup { threshold: 100.0, ..Setup::new("abs", 0.3) };
        keeps(&setup, &sample);
        let restored = Setup { threshold: 100.5, ..setup }.restores(&sample, Container::Compact);
        assert_ne!(restored, sample.bytes, "{dtype}: 50 and 100 are no multiples of 0.6");
    }
}

#[test]
fn every_shape_and_type_of_code() {
    let mut rng = Rng(0x1f83_d9ab);
    let mut pick = |n: usize| rng.below(n);
    for &dims in MORE_SHAPES {
        for (dtype, code) in [
            (DType::F32, "u8"),
            (DType::F32, "u16"),
            (DType::F32, "u32"),
            (DType::F64, "u16"),
            (DType::F64, "u32"),
        ] {
            let sample = samples::make(dtype, dims, CONTENTS[pick(CONTENTS.len())], pick(1000) as u64);
            let p = quantizer(&[
                ("mode", ["abs", "noa", "prel"][pick(3)]),
                ("code_type", code),
                ("error_bound", ["1e-1", "1e-3", "1e-6"][pick(3)]),
                ("quant_radius", ["0", "2", "100"][pick(3)]),
                ("zigzag_codes", ["true", "false"][pick(2)]),
                ("outlier_threshold", ["1e19", "inf"][pick(2)]),
                ("outlier_capacity", ["1", "0.3"][pick(2)]),
            ]);
            let forms = forms();
            let form = &forms[pick(forms.len())];
            all_ways(&p, &sample, form);
            if dims.len() == 1 {
                let mut centered = p.clone();
                centered.set_everywhere("centering", |args| args.set_text("centering", "true")).unwrap();
                forms_with_means().for_each(|form| all_ways(&centered, &sample, &form));
            }
        }
    }
}

/// Codes of every type, two's complement and zigzag, strict and not, in every shape.
#[test]
fn codes_of_every_type_at_every_edge() {
    let mut rng = Rng(0x428a_2f98);
    let codes = [
        (DType::F32, "u8", 128.0),
        (DType::F32, "u16", 32768.0),
        (DType::F32, "u32", 2147483648.0),
        (DType::F64, "u16", 32768.0),
        (DType::F64, "u32", 2147483648.0),
    ];
    for dims in BANDED.iter().chain(&RAGGED) {
        let small = elements(dims) < 12_000;
        for (dtype, code, most) in codes {
            for which in [Rare::No, Rare::Edges, Rare::Many, Rare::All] {
                // Of large fields one kind each.
                if !small && rng.below(4) != 0 {
                    continue;
                }
                let (zigzag, bound) = (*rng.pick(&["true", "false"]), *rng.pick(&["0.5", "0.3", "1e-3"]));
                let radius = *rng.pick(&["0", "100"]);
                let threshold = *rng.pick(&["inf", "1e19"]);
                let sets = [
                    ("mode", "abs"),
                    ("error_bound", bound),
                    ("code_type", code),
                    ("quant_radius", radius),
                    ("zigzag_codes", zigzag),
                    ("outlier_threshold", threshold),
                    ("outlier_capacity", "1"),
                ];
                let step = step_of(dtype, bound.parse().unwrap());
                let reach = if radius == "0" { most } else { 100.0 };
                let sample = field(dtype, dims, (step, reach), which, rng.word());
                let strict = rng.below(2) == 0;
                let form = Options { strict, ..bare(*rng.pick(&both_containers())) };
                agrees(&quantizer(&sets), &sample, &form, *rng.pick(&SHIFTS));
            }
        }
    }
}

/// Bricks with only one defect, which the quick checks must detect alone. Differences of whole multiples have
/// codes of 32 bits.
#[test]
fn bricks_of_one_kind_of_value() {
    let mut rng = Rng(0x59f1_11f1);
    for (dtype, dims) in [(DType::F32, [128, 8, 9]), (DType::F32, [136, 9, 8]), (DType::F64, [64, 8, 9])] {
        for (kind, b) in (0..8).flat_map(|k| [(k, 0.5), (k, 0.3), (k, 1e-3)]) {
            let step = step_of(dtype, b);
            let (guard, threshold) = (guard_of(dtype), 97.0 * step);
            let value = |i: u64| {
                let (x, y, z) = (i % dims[0], i / dims[0] % dims[1], i / dims[0] / dims[1]);
                match kind {
                    0 => around(dtype, 0.5 * step, &mut rng),
                    1 => {
                        let half = (rng.below(100) as f64 + 0.5) * step;
                        around(dtype, half, &mut rng)
                    }
                    // Within the guard and on it; then one by one beyond, which is a brick of its own in some planes.
                    2 => (guard - rng.below(3) as f64) * step,
                    3 => (guard + f64::from(u8::from(i % 4000 == 5))) * step,
                    4 => around(dtype, (guard + 0.5) * step, &mut rng),
                    5 if i % 1500 == 7 => around(dtype, threshold, &mut rng),
                    5 => 96.0 * step,
                    6 => [-0.0, 0.0, 1e-40, -1e-40][rng.below(4)],
                    // One jump along x in each tile, below the radius, of it, and beyond, in tiles beside each other.
                    _ => f64::from(u8::from(x % 8 > 2)) * (99 + (x / 8 + y / 8 + z / 8) % 3) as f64 * step,
                }
            };
            let sample = Sample::of(dtype, &dims, (0..dims.iter().product()).map(value));
            for (strict, zigzag) in [(true, "true"), (true, "false"), (false, "true")] {
                let (bound, limit) = (b.to_string(), threshold.to_string());
                let sets = [
                    ("mode", "abs"),
                    ("error_bound", &bound[..]),
                    ("code_type", if kind > 5 { "u16" } else { "u32" }),
                    ("quant_radius", if kind > 5 { "100" } else { "0" }),
                    ("zigzag_codes", zigzag),
                    ("outlier_threshold", if kind == 5 { &limit } else { "inf" }),
                    ("outlier_capacity", "1"),
                ];
                agrees(&quantizer(&sets), &sample, &Options { strict, ..bare(Container::Fzm) }, [0, 0]);
            }
        }
    }
}

/// Multiples of `step` and noise around the `level`th one. One value in `every` is halfway between two
/// multiples, where only the rounding of a product decides if the nearer one keeps the bound. Code that
/// checks several values at once must detect it.
fn tie(i: usize, step: f32, level: u32, every: usize, rng: &mut Rng) -> f64 {
    let multiple = f64::from(level + rng.below(3) as u32);
    if i % every == every / 2 {
        return around(DType::F32, (multiple + 0.5) * f64::from(step), rng);
    }
    (multiple + rng.unit() * 0.4 - 0.2) * f64::from(step)
}

#[test]
fn one_value_between_two_multiples() {
    let mut rng = Rng(0xbb67_ae85);
    for round in 0..24 {
        let bound = *rng.pick(&["0.3", "1e-3", "0.7", "0.11"]);
        let step = 2.0 * bound.parse::<f32>().unwrap();
        let (level, every) = (400 + rng.below(6000) as u32, [61, 509, 4099][round % 3]);
        for dims in [&[64, 16, 8][..], &[130, 17, 9], &[300, 31], &[9000]] {
            let values = (0..elements(dims)).map(|i| tie(i, step, level, every, &mut rng));
            let sample = Sample::of(DType::F32, dims, values);
            let sets =
                [("mode", "abs"), ("error_bound", bound), ("code_type", "u16"), ("outlier_capacity", "1")];
            agrees(&quantizer(&sets), &sample, &bare(Container::Fzm), [0, 0]);
        }
    }
}
