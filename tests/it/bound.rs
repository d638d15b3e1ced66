//! The bound where it is hardest to keep: values on the border of a bin, ranges that overflow, constants,
//! bounds and thresholds at the limits of floats. The oracle judges.

use crate::common::oracle::{Bound, judge};
use crate::common::rng::Rng;
use crate::common::run::{both_containers, every_way, options};
use crate::common::samples::{Sample, beside};
use fzgm::{Array, DType, Options, Pipeline, preset};
use proptest::prelude::*;

/// A quantizer of its own, with outliers in place or in lists.
fn quantizer(dtype: DType, mode: &str, eb: f64, threshold: f64, in_place: bool) -> Pipeline {
    let mut p = Pipeline::new();
    let q = p.add("quantizer").unwrap();
    let args = p.args_mut(q).unwrap();
    args.set_text("mode", mode).unwrap();
    args.set_real("error_bound", eb).unwrap();
    args.set_real("outlier_threshold", threshold).unwrap();
    let f64_in_place = in_place && dtype == DType::F64;
    args.set_text("code_type", if f64_in_place { "u64" } else { "u32" }).unwrap();
    args.set_int("inplace_outliers", i64::from(in_place)).unwrap();
    args.set_int("quant_radius", if in_place && !f64_in_place { 1 << 22 } else { 1 << 31 }).unwrap();
    p
}

fn one_dim(dtype: DType, values: &[f64]) -> Sample {
    Sample::of(dtype, &[values.len() as u64], values.iter().copied())
}

/// Keeps the bound in both forms and both containers.
fn keeps(dtype: DType, values: &[f64], mode: &str, eb: f64, threshold: f64) {
    let sample = one_dim(dtype, values);
    let bound = Bound::of(mode, eb);
    for in_place in [true, false] {
        if in_place && mode != "rel" && threshold < 1.2e-38 {
            continue; // refused, by name: parameters.rs
        }
        let p = quantizer(dtype, mode, eb, threshold, in_place);
        for container in both_containers() {
            let what = || {
                format!("{dtype} {mode} {eb:?} threshold {threshold:?} in place: {in_place}, {container:?}")
            };
            let (_, restored) = every_way(&p, &sample, &options(container, true))
                .unwrap_or_else(|e| panic!("{}: {e}", what()));
            judge(dtype, &sample.bytes, &restored, bound, threshold)
                .unwrap_or_else(|e| panic!("{}: {e}", what()));
        }
    }
}

/// Values a few units in the last place around every border between bins.
fn borders(dtype: DType, eb: f64, rng: &mut Rng) -> Vec<f64> {
    let mut values = vec![];
    for _ in 0..1500 {
        let k = match rng.below(3) {
            0 => rng.below(8) as f64,
            1 => rng.below(5000) as f64,
            _ => rng.below(1 << 23) as f64,
        };
        let border = (2.0 * k + if rng.below(4) == 0 { 0.0 } else { 1.0 }) * eb;
        let near = beside(dtype, border, rng.below(7) as i64 - 3);
        values.push(if rng.below(2) == 0 { near } else { -near });
    }
    values
}

#[test]
fn values_on_the_border_of_a_bin() {
    let mut rng = Rng(20);
    for dtype in [DType::F32, DType::F64] {
        for eb in [0.1, 1e-3, 0.125, 3.0, 1.0 / 3.0, 2f64.powi(-20), 7.7e-5, 1e10, 1.1e-30] {
            keeps(dtype, &borders(dtype, eb, &mut rng), "abs", eb, f64::INFINITY);
        }
    }
}

#[test]
fn values_on_the_border_of_a_bin_of_a_range() {
    let mut rng = Rng(21);
    for dtype in [DType::F32, DType::F64] {
        for (eb, low, high) in [(0.1, 0.0, 3.0), (1e-3, -1.0, 1.7), (1e-4, -7e-8, 1e-7), (0.3, -1e30, 2e30)] {
            let mut values = borders(dtype, eb * (high - low), &mut rng);
            values.iter_mut().for_each(|v| *v = v.clamp(low, high));
            values.extend([low, high]);
            keeps(dtype, &values, "noa", eb, f64::INFINITY);
        }
    }
}

/// Values a few units in the last place around every border between bins of the logarithm, of every magnitude.
fn logarithmic_borders(dtype: DType, eb: f64, rng: &mut Rng) -> Vec<f64> {
    let width = 2.0 * (1.0 + eb).log2();
    let values = (0..4000).map(|i| {
        let most = if i % 2 == 0 { 40.0 } else { 126.0 };
        let k = ((rng.unit() * 2.0 - 1.0) * most / width).round();
        // On the border, or at either end of the values of a bin.
        let nudge = [0.5, -0.5, 0.5 + eb / 2.0][rng.below(3)];
        let border = ((k + nudge) * width).exp2();
        let near = beside(dtype, border, rng.below(7) as i64 - 3);
        if rng.below(2) == 0 { near } else { -near }
    });
    values.collect()
}

#[test]
fn values_on_the_border_of_a_bin_of_the_logarithm() {
    let mut rng = Rng(23);
    for dtype in [DType::F32, DType::F64] {
        for eb in [0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1.7e-6, 2f64.powi(-20), 0.25, 0.999, 1.0, 1.5, 3.0, 1e4] {
            keeps(dtype, &logarithmic_borders(dtype, eb, &mut rng), "rel", eb, f64::INFINITY);
        }
    }
}

/// Every kind of value under a point-wise bound: values without a bin are restored bit for bit, for any
/// bound.
#[test]
fn point_wise_bounds_of_values_without_a_bin() {
    let mut rng = Rng(24);
    for dtype in [DType::F32, DType::F64] {
        let word = |rng: &mut Rng| match dtype {
            DType::F32 => f64::from(f32::from_bits(rng.word() as u32)),
            _ => f64::from_bits(rng.word()),
        };
        let mut values: Vec<f64> = (0..3000).map(|_| word(&mut rng)).collect();
        // The ends of the normal f32, where bins restore to something else.
        let ends = [f32::MIN_POSITIVE, f32::MIN_POSITIVE.next_up(), f32::MIN_POSITIVE.next_down(), f32::MAX];
        values.extend(ends.iter().flat_map(|&x| [f64::from(x), -f64::from(x), f64::from(x) * 0.999999999]));
        values.extend([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-45, -1e-45, 4e38, 1e300]);
        values.extend((0..200).map(|_| (rng.unit() - 0.5) * 1e-37));
        for eb in [1e-1, 1e-3, 2f64.powi(-20), 0.5, 2.0, 1e10, 1e38, 1e300, f64::MAX] {
            keeps(dtype, &values, "rel", eb, f64::INFINITY);
            keeps(dtype, &values, "rel", eb, 1e20);
        }
    }
    // Below the spacing of floats next to 1 no bin is left and everything is exact.
    let values: Vec<f64> = (0..3000).map(|_| (rng.unit() - 0.5) * 1e3).collect();
    for eb in [2f64.powi(-20), 1e-6, 3e-7, 1.2e-7, 2f64.powi(-23), 1e-7, 1e-30, 5e-324] {
        keeps(DType::F32, &values, "rel", eb, f64::INFINITY);
    }
}

/// Zeros have codes and -0 its place in the lists: all of them keep their sign.
#[test]
fn zeros_keep_their_sign_under_a_point_wise_bound() {
    for dtype in [DType::F32, DType::F64] {
        let mut values = vec![0.0; 5000];
        values[17] = -0.0;
        values[4999] = -0.0;
        let sample = one_dim(dtype, &values);
        let p = quantizer(dtype, "rel", 1e-3, f64::INFINITY, false);
        let (frame, restored) = every_way(&p, &sample, &options(fzgm::Container::Compact, true)).unwrap();
        assert!(restored == sample.bytes);
        let info = fzgm::info(&frame).unwrap();
        let indices = info.segments.iter().find(|s| s.port == "outlier_idxs").unwrap();
        assert_eq!(indices.bytes, 8, "zeros cost no place in the lists");
    }
}

/// Codes of f64 are restored as f32, which has no room for bounds below 2^-20: rejected, with a remedy.
#[test]
fn point_wise_bounds_that_f32_cannot_keep_are_refused_for_f64() {
    let array = Array::new(DType::F64, &[100]).unwrap();
    for (eb, ok) in [(2f64.powi(-20), true), (2f64.powi(-20).next_down(), false), (1e-9, false)] {
        let p = quantizer(DType::F64, "rel", eb, f64::INFINITY, false);
        let strict = fzgm::Encoder::new(&p, &array, &Options::default());
        match strict {
            Ok(_) => assert!(ok, "{eb:?}"),
            Err(e) => {
                let text = e.to_string();
                assert!(!ok && e.status() == fzgm::Status::InvalidArgument, "{text}");
                assert!(text.contains("quantizer.error_bound") && text.contains("2^-20"), "{text}");
                assert!(text.contains("mode abs"), "{text}");
            }
        }
        // The reference accepts any bound, and its files are read.
        let loose = Options { strict: false, ..Options::default() };
        assert!(fzgm::Encoder::new(&p, &array, &loose).is_ok());
    }
}

#[test]
fn bounds_relative_to_the_largest_magnitude() {
    let mut rng = Rng(25);
    for dtype in [DType::F32, DType::F64] {
        for (eb, low, high) in [(0.1, 0.0, 3.0), (1e-3, -5.0, 1.7), (1e-4, -7e-8, -1e-9), (0.3, -1e30, 2e30)]
        {
            let peak = f64::max(-low, high);
            let mut values = borders(dtype, eb * peak, &mut rng);
            values.iter_mut().for_each(|v| *v = v.clamp(low, high));
            values.extend([low, high]);
            keeps(dtype, &values, "prel", eb, f64::INFINITY);
        }
        // Unlike under noa, a constant may be off by its own share; zeros and nothing at all are no case apart.
        for values in [vec![3.7; 700], vec![-0.0, 0.0], vec![f64::NAN, 1e20, f64::INFINITY], vec![]] {
            keeps(dtype, &values, "prel", 0.01, 1e20);
        }
        keeps(dtype, &[1e300f64.min(f32::MAX.into()), -1.0, 1e20], "prel", 0.5, f64::INFINITY);
    }
}

/// The range of a constant is zero, so every value must be restored bit for bit.
#[test]
fn constants_are_exact() {
    let f32s = [
        0.0,
        -0.0,
        1.0,
        0.1f32,
        -3.7,
        1e20,
        f32::MIN_POSITIVE,
        3e-38,
        1e-45,
        f32::MAX,
        1.3e38,
        -1.5e38,
        2.6e38,
    ];
    for c in f32s {
        keeps(DType::F32, &[f64::from(c); 700], "noa", 0.01, f64::INFINITY);
    }
    for c in [0.1, -1e300, f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e-40, 3.0, 2e38, 4e38, 7e38] {
        keeps(DType::F64, &[c; 700], "noa", 0.01, f64::INFINITY);
    }
    // Constant except for fill values, zeros of both signs, and no bounded value at all.
    let mut fills = vec![2.6e38; 100];
    fills.extend([f64::NAN, f64::INFINITY, 3e38]);
    keeps(DType::F32, &fills, "noa", 0.5, 3e38);
    keeps(DType::F32, &[0.0, -0.0, 0.0], "noa", 0.5, f64::INFINITY);
    keeps(DType::F64, &[f64::NAN, f64::INFINITY, 1e20], "noa", 0.5, 1e20);
}

#[test]
fn ranges_and_bounds_at_the_ends_of_floats() {
    let mut rng = Rng(22);
    for dtype in [DType::F32, DType::F64] {
        let most = if dtype == DType::F32 { f64::from(f32::MAX) } else { f64::MAX };
        let wide: Vec<f64> = (0..900).map(|_| (2.0 * rng.unit() - 1.0) * most).chain([most, -most]).collect();
        let tiny: Vec<f64> = (0..900).map(|_| (rng.unit() - 0.5) * 1e-37).collect();
        let tiniest: Vec<f64> = (0..900).map(|_| (rng.unit() - 0.5) * 1e-306).collect();
        for eb in [1e-3, 0.5, 1.0, 1e-7, 1e-300, 5e-324] {
            for values in [&wide, &tiny, &tiniest] {
                keeps(dtype, values, "noa", eb, f64::INFINITY);
            }
        }
        for eb in [1e-3, 1e37, 3e38, 1e300, f64::MAX, 1e-39, 1e-42, 1e-45, 1e-60, 1e-300, 1e-308, 5e-324] {
            for values in [&wide, &tiny, &tiniest] {
                keeps(dtype, values, "abs", eb, f64::INFINITY);
            }
        }
    }
}

/// docs/bounds.md, corner cases: f32 under a bound whose double is no float.
#[test]
fn bounds_above_2_to_125_have_the_step_of_2_to_125() {
    let (step, most) = (2f64.powi(126), f64::from(f32::MAX));
    let mut rng = Rng(23);
    let mut values: Vec<f64> = (0..3000).map(|_| (2.0 * rng.unit() - 1.0) * most).collect();
    for border in [0.5, 1.5, 2.5, 3.5, 3.6, 3.75, 4.0].map(|q| q * step) {
        values.extend([-2.0, -1.0, 0.0, 1.0, 2.0].map(|u| border + u * 2f64.powi(104)));
    }
    values.iter_mut().for_each(|v| *v = f64::from(v.clamp(-most, most) as f32));
    let sample = one_dim(DType::F32, &values);
    // An array that is stored as it is would show nothing.
    let coded = Options { store_incompressible: false, ..Options::default() };
    let quantizers = [true, false].map(|in_place| ("quantizer".to_string(), in_place));
    let presets = ["fz", "cusz", "cusz_ans", "lc_tp", "fast"].map(|name| (name.to_string(), false));
    for eb in [1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 7.9].map(|b| b * step / 2.0) {
        for (name, in_place) in quantizers.iter().chain(&presets) {
            let pipeline = if name == "quantizer" {
                quantizer(DType::F32, "abs", eb, f64::INFINITY, *in_place)
            } else {
                let mut p = preset(name, DType::F32).unwrap();
                p.set_everywhere("mode", |args| args.set_text("mode", "abs")).unwrap();
                p.set_everywhere("error_bound", |args| args.set_real("error_bound", eb)).unwrap();
                p
            };
            let (_, restored) =
                every_way(&pipeline, &sample, &coded).unwrap_or_else(|e| panic!("{name} {eb:e}: {e}"));
            judge(DType::F32, &sample.bytes, &restored, Bound::of("abs", eb), f64::INFINITY)
                .unwrap_or_else(|e| panic!("{name} {eb:e}: {e}"));
            for (x, back) in values.iter().zip(restored.chunks_exact(4)) {
                let back = f64::from(f32::from_le_bytes(back.try_into().unwrap()));
                // Its nearest multiple is 2^128, which is no float.
                let beyond = x.abs() >= 3.5 * step;
                let below = (3.0 * step).copysign(*x);
                let right = match beyond {
                    false => (x - back).abs() <= step / 2.0 && (back / step).fract() == 0.0,
                    true if name == "fast" || (x - below).abs() > eb => back == *x,
                    true => back == below,
                };
                assert!(right, "{name} {eb:e}: {x:e} comes back as {back:e}");
            }
        }
    }
}

/// The range 1 - 2^-60 rounds to 1, and an error of 1 is beyond it.
#[test]
fn ranges_are_never_rounded_up() {
    for dtype in [DType::F32, DType::F64] {
        for (high, low) in [(1.0, 2f64.powi(-60)), (-(2f64.powi(-70)), -4.0), (1.5, -(2f64.powi(-60)))] {
            keeps(dtype, &[high, low, high / 2.0, low / 2.0 + high / 2.0], "noa", 1.0, f64::INFINITY);
            keeps(dtype, &[high, low], "noa", 0.5, f64::INFINITY);
        }
    }
}

#[test]
fn thresholds() {
    let values: Vec<f64> =
        (0..2000).map(|i| (f64::from(i) - 1000.0) * 0.37).chain([1e20, -1e20, f64::NAN]).collect();
    for dtype in [DType::F32, DType::F64] {
        // On a value, next to one, on none of the type, below all and tiny.
        for t in [
            0.37,
            0.37f64.next_up(),
            0.37f64.next_down(),
            f64::from(0.37f32),
            1e20,
            37.0,
            1e-30,
            1e-50,
            5e-324,
            f64::MAX,
        ] {
            for mode in ["abs", "noa", "rel", "prel"] {
                keeps(dtype, &values, mode, 1e-3, t);
            }
        }
    }
}

/// Half goes to even, by either way of rounding: the radius chooses between them. In f32 and f64 all of these
/// products are exact, so both neighbors keep the bound and only the rule decides.
#[test]
fn ties_go_to_even() {
    let ties: Vec<f64> = (-9..10).map(|i| f64::from(i) + 0.5).collect();
    let want: Vec<f64> = ties.iter().map(|x| x.round_ties_even()).collect();
    assert!(want[9] == 0.0 && want[10] == 2.0 && want[11] == 2.0);
    for dtype in [DType::F32, DType::F64] {
        for radius in [100, 1 << 31] {
            let mut p = quantizer(dtype, "abs", 0.5, f64::INFINITY, false);
            p.args_mut(0).unwrap().set_int("quant_radius", radius).unwrap();
            let (given, want) = (one_dim(dtype, &ties), one_dim(dtype, &want));
            let (_, restored) = every_way(&p, &given, &options(fzgm::Container::Compact, true)).unwrap();
            let plus_zero = |b: &[u8]| -> Vec<f64> {
                match dtype {
                    DType::F32 => {
                        b.chunks(4).map(|w| f32::from_le_bytes(w.try_into().unwrap()).into()).collect()
                    }
                    _ => b.chunks(8).map(|w| f64::from_le_bytes(w.try_into().unwrap())).collect(),
                }
            };
            assert_eq!(plus_zero(&restored), plus_zero(&want.bytes), "{dtype} radius {radius}");
        }
    }
}

/// A field of fills at the threshold, one of them just below: the range is that of the rest.
#[test]
fn fills_do_not_widen_the_range() {
    let mut values = vec![1e20; 50];
    values.extend((0..5000).map(|i| (f64::from(i) * 0.01).sin()));
    for dtype in [DType::F32, DType::F64] {
        keeps(dtype, &values, "noa", 1e-4, 1e20);
    }
}

/// Without strict the arithmetic of the reference is used, which loses some bounds. If it did not, the tests
/// above would prove nothing about strict.
#[test]
fn the_same_values_break_the_bound_without_strict() {
    let mut rng = Rng(20);
    let values = borders(DType::F32, 0.1, &mut rng);
    let sample = one_dim(DType::F32, &values);
    let p = quantizer(DType::F32, "abs", 0.1, f64::INFINITY, true);
    let loose = Options { strict: false, ..options(fzgm::Container::Fzm, false) };
    let (_, restored) = every_way(&p, &sample, &loose).unwrap();
    assert!(judge(DType::F32, &sample.bytes, &restored, Bound::Abs(0.1), f64::INFINITY).is_err());
}

/// 1 + 1.17e-6 is 9.8 floats above 1 and becomes 10 where it is rounded to nearest.
#[test]
fn point_wise_bounds_are_lost_without_strict() {
    let mut rng = Rng(23);
    for dtype in [DType::F32, DType::F64] {
        let sample = one_dim(dtype, &(0..20_000).map(|_| 1.0 + rng.unit()).collect::<Vec<_>>());
        let p = quantizer(dtype, "rel", 1.17e-6, f64::INFINITY, false);
        let mut found = [0, 0];
        for strict in [false, true] {
            let (_, restored) = every_way(&p, &sample, &options(fzgm::Container::Fzm, strict)).unwrap();
            let kept = judge(dtype, &sample.bytes, &restored, Bound::Rel(1.17e-6), f64::INFINITY);
            found[usize::from(strict)] = usize::from(kept.is_ok());
        }
        assert_eq!(found, [0, 1], "{dtype}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("FZGM_LONG").is_some() { 2000 } else { 200 }))]

    /// Any mode, type, bound, width of codes, radius and threshold over values of every kind.
    #[test]
    fn any_quantizer_keeps_its_bound(
        seed in any::<u64>(),
        mode in proptest::sample::select(vec!["abs", "noa", "rel", "rel", "rel", "prel"]),
        wide in any::<bool>(),
        code in proptest::sample::select(vec!["u16", "u32", "u64"]),
        in_place in any::<bool>(),
        zigzag in any::<bool>(),
        (low, high, near) in (-30i32..8, -160i32..160, any::<bool>()),
        radius in proptest::sample::select(vec![0i64, 1, 2, 100, 16384, 32768, 1 << 22]),
        n in 0usize..3000,
    ) {
        let mut rng = Rng(seed);
        let dtype = if wide { DType::F64 } else { DType::F32 };
        let eb = (1.0 + rng.unit()) * f64::from(low).exp2();
        let spread = f64::from(rng.below(60) as u32) * if near { 0.1 } else { 3.0 };
        let values: Vec<f64> = (0..n).map(|_| match rng.below(40) {
            0 => f64::from_bits(rng.word()),
            1 => f64::from(f32::from_bits(rng.word() as u32)),
            2 => *rng.pick(&[0.0, -0.0, f64::NAN, f64::INFINITY, 1e20, 1e-45, -1e-40]),
            _ => (rng.unit() - 0.5) * (f64::from(high % 20) + rng.unit() * spread).exp2(),
        }).collect();
        let threshold = *rng.pick(&[f64::INFINITY, 1e20, 1.0]);
        let mut p = Pipeline::new();
        let q = p.add("quantizer").unwrap();
        let args = p.args_mut(q).unwrap();
        args.set_text("mode", mode).unwrap();
        args.set_real("error_bound", eb).unwrap();
        args.set_real("outlier_threshold", threshold).unwrap();
        args.set_text("code_type", code).unwrap();
        args.set_int("inplace_outliers", in_place.into()).unwrap();
        args.set_int("zigzag_codes", zigzag.into()).unwrap();
        args.set_int("quant_radius", radius).unwrap();
        let sample = one_dim(dtype, &values);
        let container = *rng.pick(&both_containers());
        match every_way(&p, &sample, &options(container, true)) {
            Ok((_, restored)) => {
                let kept = judge(dtype, &sample.bytes, &restored, Bound::of(mode, eb), threshold);
                prop_assert!(kept.is_ok(), "{mode} {eb:?} {code}: {kept:?}");
            }
            // Combinations that do not exist, and bounds that f32 cannot keep for f64.
            Err(e) => prop_assert_eq!(e.status(), fzgm::Status::InvalidArgument, "{}", e),
        }
    }
}
