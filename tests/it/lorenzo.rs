//! LorenzoQuant where its promise is hardest to keep: special values at every kind of place in a tile, multiples
//! around the guard, spikes, steps, borders between multiples. The oracle judges.

use crate::common::oracle::{Bound, judge};
use crate::common::rng::Rng;
use crate::common::run::{both_containers, every_way, options};
use crate::common::samples::Sample;
use fzgm::{Array, Container, DType, Options, Pipeline, compress, decompress, info};

const FLOATS: [DType; 2] = [DType::F32, DType::F64];
const MODES: [&str; 3] = ["abs", "noa", "prel"];
/// Whole tiles and ragged ones, in every number of dimensions.
const SHAPES: [&[u64]; 9] =
    [&[1024], &[2500], &[64, 64], &[33, 70], &[1, 40], &[1100, 2], &[16, 8, 8], &[19, 11, 9], &[130, 3, 2]];

#[derive(Clone, Copy)]
struct Setup {
    mode: &'static str,
    eb: f64,
    threshold: f64,
    code: &'static str,
    radius: i64,
}

impl Setup {
    fn new(mode: &'static str, eb: f64) -> Setup {
        Setup { mode, eb, threshold: f64::INFINITY, code: "u16", radius: 0 }
    }

    fn pipeline(&self) -> Pipeline {
        let mut p = Pipeline::new();
        let q = p.add("lorenzo_quant").unwrap();
        let args = p.args_mut(q).unwrap();
        args.set_text("mode", self.mode).unwrap();
        args.set_real("error_bound", self.eb).unwrap();
        args.set_real("outlier_threshold", self.threshold).unwrap();
        args.set_text("code_type", self.code).unwrap();
        args.set_int("quant_radius", self.radius).unwrap();
        args.set_int("zigzag_codes", i64::from(self.radius == 0)).unwrap();
        p
    }

    fn bound(&self) -> Bound {
        Bound::of(self.mode, self.eb)
    }
}

fn bytes(dtype: DType, values: &[f64]) -> Vec<u8> {
    match dtype {
        DType::F32 => values.iter().flat_map(|&v| (v as f32).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    }
}

fn sample(dtype: DType, dims: &[u64], values: &[f64]) -> Sample {
    let array = Array::new(dtype, dims).unwrap();
    Sample { name: format!("{dtype} {dims:?}"), array, bytes: bytes(dtype, values) }
}

/// One call each way, and the judge.
fn holds(setup: &Setup, sample: &Sample, container: Container) -> Vec<u8> {
    let options = options(container, true);
    let what = || {
        let Setup { mode, eb, threshold, code, radius } = setup;
        format!("{} {mode} {eb:?} threshold {threshold:?} {code} radius {radius} {container:?}", sample.name)
    };
    let bytes = compress(&setup.pipeline(), &sample.array, &options, &sample.bytes)
        .unwrap_or_else(|e| panic!("{}: {e}", what()));
    let (_, restored) = decompress(&bytes, &options).unwrap_or_else(|e| panic!("{}: {e}", what()));
    judge(sample.array.dtype(), &sample.bytes, &restored, setup.bound(), setup.threshold)
        .unwrap_or_else(|e| panic!("{}: {e}", what()));
    restored
}

fn keeps(setup: &Setup, sample: &Sample) {
    both_containers().into_iter().for_each(|c| drop(holds(setup, sample, c)));
}

fn elements(dims: &[u64]) -> usize {
    dims.iter().product::<u64>() as usize
}

fn walk(n: usize, step: f64, rng: &mut Rng) -> Vec<f64> {
    let mut x = 0.0;
    let one = |_| {
        x += (rng.unit() - 0.5) * step;
        x
    };
    (0..n).map(one).collect()
}

/// What a sensor that fails, a mask or an overflow leaves behind.
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
                let sample = sample(dtype, dims, &values);
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
            let sample = sample(dtype, dims, &values);
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

/// Multiples right at, below and above the largest, of both signs in neighbours, so that differences and sums reach
/// what the type holds exactly.
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
                    let sample = sample(dtype, dims, &values);
                    keeps(&Setup::new("abs", eb), &sample);
                    keeps(&Setup { code: "u32", ..Setup::new("abs", eb) }, &sample);
                }
            }
        }
    }
}

/// Values a few units in the last place around every border between multiples: what the check of the encoder has to get
/// right to the last bit.
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
                let near = match dtype {
                    DType::F32 => {
                        f32::from_bits((border as f32).to_bits().wrapping_add_signed(ulps as i32)).into()
                    }
                    _ => f64::from_bits(border.to_bits().wrapping_add_signed(ulps)),
                };
                if rng.below(2) == 0 { near } else { -near }
            };
            let values: Vec<f64> = (0..3000).map(one).collect();
            for dims in [&[3000][..], &[100, 30], &[20, 15, 10]] {
                keeps(&Setup { code: "u32", ..Setup::new("abs", eb) }, &sample(dtype, dims, &values));
                keeps(&Setup::new("noa", eb / 1e8), &sample(dtype, dims, &values));
            }
        }
    }
}

/// Half of a step goes away from zero, and not a unit in the last place less than that.
#[test]
fn halves_go_away_from_zero() {
    for (dtype, below) in [(DType::F32, f64::from(1f32.next_down())), (DType::F64, 1f64.next_down())] {
        let sample = sample(dtype, &[4], &[below, -below, 1.0, 3.0]);
        let restored = holds(&Setup::new("abs", 1.0), &sample, Container::Compact);
        let want = bytes(dtype, &[0.0, 0.0, 2.0, 4.0]);
        assert_eq!(restored, want, "{dtype}");
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
                let (calm, harmed) = (bytes(dtype, &calm), bytes(dtype, &values));
                let array = Array::new(dtype, dims).unwrap();
                let options = options(Container::Compact, true);
                let there = |src: &[u8]| {
                    decompress(&compress(&p, &array, &options, src).unwrap(), &options).unwrap().1
                };
                let (want, got) = (there(&calm), there(&harmed));
                let width = dtype.bytes() as usize;
                for (i, (g, w)) in got.chunks(width).zip(want.chunks(width)).enumerate() {
                    if at.contains(&i) {
                        let src = &harmed[i * width..(i + 1) * width];
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
                let mut sample = sample(dtype, dims, &walk(elements(dims), 5.0, &mut rng));
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
                keeps(&Setup::new(mode, 0.01), &sample(dtype, &[35, 20], &values));
            }
            values[300] = f64::NAN;
            keeps(&Setup::new("noa", 0.01), &sample(dtype, &[10, 10, 7], &values));
        }
        let wide: Vec<f64> = (0..898).map(|_| (2.0 * rng.unit() - 1.0) * most).chain([most, -most]).collect();
        let tiny: Vec<f64> = (0..900).map(|_| (rng.unit() - 0.5) * 1e-37).collect();
        let none = vec![f64::NAN; 900];
        for values in [wide, tiny, none] {
            for dims in [&[900][..], &[30, 30], &[10, 10, 9]] {
                let sample = sample(dtype, dims, &values);
                for mode in MODES {
                    for eb in [1e-3, 0.5, 1.0, 1e-7, 1e-37, 1e37, 1e300] {
                        keeps(&Setup::new(mode, eb), &sample);
                    }
                }
            }
        }
    }
}

/// Without strict the arithmetic of the reference is used, which loses bounds and harms neighbours of special values.
/// If it did not, the tests above would prove nothing about strict.
#[test]
fn the_reference_loses_what_strict_keeps() {
    let mut values: Vec<f64> = (0..2000).map(|i| f64::from(i) * 0.37).collect();
    values[5] = f64::NAN;
    let sample = sample(DType::F32, &[2000], &values);
    let setup = Setup::new("abs", 1e-3);
    let options = Options { strict: false, ..options(Container::Fzm, false) };
    let file = compress(&setup.pipeline(), &sample.array, &options, &sample.bytes).unwrap();
    let (_, restored) = decompress(&file, &options).unwrap();
    assert!(f32::from_le_bytes(restored[400..404].try_into().unwrap()).is_nan());
    assert!(judge(DType::F32, &sample.bytes, &restored, setup.bound(), setup.threshold).is_err());
}

fn described(container: &[u8], what: &str) -> String {
    let info = info(container).unwrap();
    info.stages[0].params.iter().find(|(name, _)| *name == what).unwrap().1.clone()
}

/// Exact values are what the header says they are, and beyond the lists they are damage.
#[test]
fn numbers_of_exact_values_are_checked() {
    let mut values: Vec<f64> = (0..1000).map(f64::from).collect();
    values[10] = f64::NAN;
    values[500] = f64::INFINITY;
    let sample = sample(DType::F32, &[1000], &values);
    let p = Setup::new("abs", 0.1).pipeline();
    let options = Options { checksum: false, ..options(Container::Fzm, true) };
    let file = compress(&p, &sample.array, &options, &sample.bytes).unwrap();
    assert_eq!((described(&file, "exact_values"), described(&file, "outliers")), ("2".into(), "0".into()));
    for (pairs, ok) in [(2u64, true), (1, true), (3, false), (1 << 40, false), (u64::MAX, false)] {
        let mut other = file.clone();
        other[80 + 232..80 + 240].copy_from_slice(&pairs.to_le_bytes());
        assert_eq!(decompress(&other, &options).is_ok(), ok, "{pairs} pairs");
    }
    // The last index of the file.
    let at = file.len() - 4;
    for (index, ok) in [(999u32, true), (1000, false), (u32::MAX, false)] {
        let mut other = file.clone();
        other[at..].copy_from_slice(&index.to_le_bytes());
        assert_eq!(decompress(&other, &options).is_ok(), ok, "index {index}");
    }
    // A stage that has none cannot have any.
    let mut p = Pipeline::new();
    p.add("stored").unwrap();
    let mut stored = compress(&p, &sample.array, &options, &sample.bytes).unwrap();
    stored[80 + 232] = 1;
    let refusal = decompress(&stored, &options).unwrap_err().to_string();
    assert!(refusal.contains("stored") && refusal.contains("exact values"), "{refusal}");
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
        (&[("dim_x", "10"), ("dim_y", "6"), ("dim_z", "11")], "dim_z"),
    ] {
        let text = refusal(sets).unwrap();
        assert!(text.contains(&format!("lorenzo_quant.{name}")) && text.contains("600"), "{text}");
    }
    // What a predictor cannot promise, and what can be used in its place.
    let text = refusal(&[("mode", "rel")]).unwrap();
    assert!(text.contains("prel") && text.contains("quantizer"), "{text}");
}

/// A value at the threshold is exact, the one below it is not.
#[test]
fn the_threshold_itself_is_exact() {
    for dtype in FLOATS {
        let values: Vec<f64> = (0..200).map(|i| f64::from(i % 3) * 50.0).collect();
        let sample = sample(dtype, &[20, 10], &values);
        let setup = Setup { threshold: 100.0, ..Setup::new("abs", 0.3) };
        keeps(&setup, &sample);
        let restored = holds(&Setup { threshold: 100.5, ..setup }, &sample, Container::Compact);
        assert_ne!(restored, sample.bytes, "{dtype}: 50 and 100 are no multiples of 0.6");
    }
}

/// Readers may take any order, writers promise one: each of the two runs ascends, also where units of work cross each other.
#[test]
fn both_runs_of_the_lists_ascend() {
    for (dtype, dims) in
        FLOATS.iter().flat_map(|&d| [&[9000][..], &[90, 130], &[40, 70, 17], &[1100, 9, 9]].map(|s| (d, s)))
    {
        let n = dims.iter().product::<u64>() as usize;
        let mut rng = Rng(0x243f_6a88);
        let mut values: Vec<f64> = (0..n).map(|_| rng.unit() * 100.0).collect();
        let descents = |values: &[f64]| {
            let p = Setup { code: "u16", radius: 2, ..Setup::new("abs", 0.5) }.pipeline();
            let sample = sample(dtype, dims, values);
            let one = compress(&p, &sample.array, &options(Container::Compact, true), &sample.bytes).unwrap();
            let list = info(&one).unwrap().segments.last().map(|s| (s.port, s.bytes as usize)).unwrap();
            assert_eq!(list.0, "outlier_indices");
            let index = |b: &[u8]| u32::from_le_bytes(b.try_into().unwrap());
            let indices: Vec<u32> = one[one.len() - list.1..].chunks(4).map(index).collect();
            assert!(indices.len() > n / 2, "{dtype} {dims:?}: {} outliers", indices.len());
            indices.windows(2).filter(|pair| pair[0] >= pair[1]).count()
        };
        assert_eq!(descents(&values), 0, "{dtype} {dims:?}");
        for (i, v) in values.iter_mut().enumerate() {
            *v = if i % 37 == 0 { f64::NAN } else { *v };
        }
        assert_eq!(descents(&values), 1, "{dtype} {dims:?}");
    }
}
