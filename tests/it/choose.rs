//! Pipelines that are chosen for an array: promises, lattices, targets, and rejected requests.

use crate::common::gpu::{self, Block};
use crate::common::oracle::{Bound, judge};
use crate::common::rng::Rng;
use crate::common::samples::{self, Content, Sample, beside};
use fzgm::{
    Aim, Array, Choice, DType, Error, Goal, Options, Wish, choose, choose_at, compress, decompress, metrics,
    preset_within,
};

fn wish(goal: Goal, aim: Aim<'_>) -> Wish<'_> {
    Wish { goal, aim, outlier_threshold: f64::INFINITY }
}

fn chosen(sample: &Sample, goal: Goal, aim: Aim<'_>) -> Choice {
    choose(&sample.array, &sample.bytes, &wish(goal, aim)).unwrap_or_else(|e| panic!("{}: {e}", sample.name))
}

/// The container of a sample, and its restored bytes.
fn through(choice: &Choice, sample: &Sample) -> (Vec<u8>, Vec<u8>) {
    let container = compress(&choice.pipeline, &sample.array, &Options::default(), &sample.bytes).unwrap();
    let (array, restored) = decompress(&container, &Options::default()).unwrap();
    assert_eq!(array, sample.array);
    (container, restored)
}

/// A smooth field of three dimensions, as values of `f` of a number from -1 to 1.
fn field(dtype: DType, f: impl Fn(f64) -> f64) -> Sample {
    let dims = [60, 50, 40];
    let value = |i: usize| {
        let [x, y, z] = [i % 60, i / 60 % 50, i / 3000].map(|n| n as f64);
        f((0.11 * x).sin() * (0.07 * y + 0.3 * z).cos())
    };
    Sample::of(dtype, &dims, (0..samples::elements(&dims)).map(value))
}

#[test]
fn every_choice_keeps_its_promise_and_states_it() {
    for dtype in samples::FLOATS {
        for sample in samples::few(dtype) {
            for (goal, _) in Goal::ALL {
                for (mode, bound) in [("abs", 1e-2), ("noa", 1e-3), ("prel", 1e-4), ("rel", 1e-2)] {
                    let choice = chosen(&sample, goal, Aim::Bound(mode, bound));
                    let (container, restored) = through(&choice, &sample);
                    judge(dtype, &sample.bytes, &restored, Bound::of(mode, bound), f64::INFINITY)
                        .unwrap_or_else(|e| panic!("{goal:?} {mode} {}: {e}", sample.name));
                    let info = fzgm::info(&container).unwrap();
                    let stored = info.stages[0].name == "stored";
                    assert!(
                        stored || info.mode == choice.mode,
                        "{}: {} {}",
                        sample.name,
                        info.mode,
                        choice.mode
                    );
                    assert!(choice.mode == mode || choice.mode == "lossless");
                }
                let choice = chosen(&sample, goal, Aim::Lossless);
                assert!(through(&choice, &sample).1 == sample.bytes, "{goal:?} {}", sample.name);
            }
        }
    }
}

#[test]
fn integers_of_every_width_are_lossless() {
    for dtype in [DType::U8, DType::I16, DType::U32, DType::I64] {
        let sample = samples::make(dtype, &[300, 200], Content::Walk, 3);
        for (goal, _) in Goal::ALL {
            assert!(through(&chosen(&sample, goal, Aim::Lossless), &sample).1 == sample.bytes);
            let refused = choose(&sample.array, &sample.bytes, &wish(goal, Aim::Bound("abs", 1.0)));
            assert!(matches!(refused, Err(Error::Unsupported { .. })), "{dtype}: {refused:?}");
        }
    }
}

/// Values on a lattice, with the share of bits that a container may take.
fn lattices() -> Vec<(Sample, f64)> {
    let level = |n: f64| (n * 3000.0).round();
    let mut all = vec![
        (field(DType::F32, |n| level(n) * 0.01 + 273.15), 0.3),
        (field(DType::F64, |n| level(n) * 0.01 - 1e5), 0.2),
        (field(DType::F64, |n| f64::from(level(n) as f32 * 0.0123 + 5.5)), 0.3),
        (field(DType::F32, |n| level(n) / 100.0), 0.3),
        (field(DType::F32, |n| level(n) * 1e-30), 0.3),
        (field(DType::F32, |n| level(n) * 1e30), 0.3),
        (field(DType::F64, |n| level(n) * 1e-200), 0.3),
        (field(DType::F32, |n| 2f64.powi(25) + 2.0 * level(n)), 0.3),
        (field(DType::F64, |n| 2f64.powi(30) + 0.3 * level(n)), 0.2),
    ];
    for (sample, _) in &mut all {
        // One value beside the lattice, -0, NaN with a payload, and infinity.
        let width = sample.array.dtype().bytes() as usize;
        let mut put = |at: usize, x: f64| {
            let bytes = samples::bytes(sample.array.dtype(), [x]);
            sample.bytes[at * width..][..width].copy_from_slice(&bytes);
        };
        put(77_777, -0.0);
        put(55_555, f64::from_bits(0x7ff8_0000_dead_0000));
        put(33_333, f64::NEG_INFINITY);
        put(11_111, beside(sample.array.dtype(), 1.0, 1));
    }
    all
}

#[test]
fn values_on_a_lattice_are_stored_as_whole_numbers() {
    for (i, (sample, share)) in lattices().into_iter().enumerate() {
        for goal in [Goal::Balanced, Goal::Ratio] {
            let choice = chosen(&sample, goal, Aim::Lossless);
            let (container, restored) = through(&choice, &sample);
            assert!(restored == sample.bytes, "{}", sample.name);
            let (lattice, all) = (&choice.lattice, sample.bytes.len());
            let what = format!("{i} {goal:?} {lattice:?}: {} of {all}", container.len());
            assert!(choice.lattice.is_some(), "no lattice, {what}");
            assert!((container.len() as f64) < share * sample.bytes.len() as f64, "{what}");
            assert_eq!(fzgm::info(&container).unwrap().mode, "lossless");
            // A bound far below the step of the lattice costs more than no loss.
            let within = chosen(&sample, goal, Aim::Bound("abs", f64::MIN_POSITIVE));
            assert_eq!(within.mode, "lossless", "{what}");
        }
    }
}

#[test]
fn a_lattice_in_part_of_an_array_and_other_values_are_lossless() {
    let mut rng = Rng(5);
    let noise: Vec<f64> = (0..120_000).map(|_| rng.unit()).collect();
    let half = Sample::of(
        DType::F32,
        &[400, 300],
        noise.iter().enumerate().map(|(i, x)| if i < 60_000 { (x * 100.0).round() * 0.1 } else { *x }),
    );
    for sample in
        [half, samples::make(DType::F32, &[400, 300], Content::Specials, 1), field(DType::F64, f64::exp)]
    {
        for (goal, _) in Goal::ALL {
            assert!(through(&chosen(&sample, goal, Aim::Lossless), &sample).1 == sample.bytes);
        }
    }
    // Smooth values have no lattice.
    assert_eq!(chosen(&field(DType::F32, f64::exp), Goal::Ratio, Aim::Bound("noa", 1e-6)).lattice, None);
}

#[test]
fn choices_come_near_the_best_preset() {
    let mut rng = Rng(9);
    let noise = samples::walk(200_000, 1.0, &mut rng);
    let all = [
        field(DType::F32, |n| n),
        field(DType::F64, |n| (8.0 * n).exp()),
        field(DType::F32, |n| n.max(0.4)),
        Sample::of(DType::F32, &[200_000], noise.iter().copied()),
        Sample::of(DType::F32, &[500, 400], noise.iter().copied()),
    ];
    for sample in &all {
        let bytes = |p: &fzgm::Pipeline| {
            compress(p, &sample.array, &Options::default(), &sample.bytes).unwrap().len()
        };
        let of = |name, mode, bound| bytes(&preset_within(name, sample.array.dtype(), mode, bound).unwrap());
        let exact = of("exact", "lossless", 0.0);
        for bound in [1e-2, 1e-3, 1e-5] {
            let balanced = ["fast", "fz", "cusz"].map(|name| of(name, "noa", bound)).into_iter().min();
            let balanced = exact.min(balanced.unwrap());
            let highest = balanced.min(of("high", "noa", bound));
            for (goal, best) in [(Goal::Balanced, balanced), (Goal::Ratio, highest)] {
                let choice = chosen(sample, goal, Aim::Bound("noa", bound));
                let own = bytes(&choice.pipeline);
                assert!(
                    own as f64 <= 1.04 * best as f64 + 256.0,
                    "{goal:?} {bound} {}: {own}, best {best}",
                    choice.preset
                );
            }
        }
    }
}

#[test]
fn lossless_choices_come_near_the_best_preset() {
    let mut rng = Rng(11);
    let codes = samples::walk(200_000, 1.0, &mut rng);
    let codes = codes.iter().flat_map(|x| ((100.0 * x) as i32).to_le_bytes()).collect();
    let noise = (0..200_000u32).flat_map(|_| (rng.word() as u32).to_le_bytes()).collect();
    let all = [
        (field(DType::F32, |n| n), "exact"),
        (field(DType::F64, |n| (8.0 * n).exp()), "exact"),
        (Sample::new(DType::I32, &[500, 400], codes), "exact"),
        // Nothing shortens noise, and the fastest one is kept.
        (Sample::new(DType::U32, &[200_000], noise), "bits"),
    ];
    for (sample, preset) in &all {
        let bytes = |p: &fzgm::Pipeline| {
            compress(p, &sample.array, &Options::default(), &sample.bytes).unwrap().len()
        };
        let of = |name| bytes(&preset_within(name, sample.array.dtype(), "lossless", 0.0).unwrap());
        for goal in [Goal::Balanced, Goal::Ratio] {
            let choice = chosen(sample, goal, Aim::Lossless);
            assert_eq!((choice.preset, choice.lattice.as_deref()), (*preset, None), "{}", sample.name);
            let (own, best) = (bytes(&choice.pipeline), of("bits").min(of("exact")));
            assert!(own as f64 <= 1.03 * best as f64, "{}: {own}, best {best}", sample.name);
            // A bound that is far below the spacing of the values saves nothing.
            if sample.array.dtype().is_float() {
                let within = chosen(sample, goal, Aim::Bound("noa", 1e-30));
                assert_eq!((within.preset, within.mode), ("exact", "lossless"), "{}", sample.name);
                assert!(through(&within, sample).1 == sample.bytes);
            }
        }
        assert_eq!(chosen(sample, Goal::Speed, Aim::Lossless).preset, "bits");
    }
}

/// Distances of few kinds, far from each other: a table of the distances is shorter than the distances.
#[test]
fn integers_with_few_differences_are_coded_by_a_table_of_them() {
    let mut rng = Rng(13);
    let all = [(DType::I64, 300, 7_919_000), (DType::U32, 200, 104_729), (DType::I16, 40, 613)];
    for (dtype, kinds, apart) in all {
        let width = dtype.bytes() as usize;
        let mut at = 0i64;
        let bytes = (0..150_000).flat_map(|_| {
            let kind = rng.below(kinds) as i64;
            at = at.wrapping_add(apart * kind * kind % 32_749);
            at.to_le_bytes()[..width].to_vec()
        });
        let sample = Sample::new(dtype, &[500, 300], bytes.collect());
        let exact = preset_within("exact", dtype, "lossless", 0.0).unwrap();
        let exact = compress(&exact, &sample.array, &Options::default(), &sample.bytes).unwrap().len();
        for goal in [Goal::Balanced, Goal::Ratio] {
            let choice = chosen(&sample, goal, Aim::Lossless);
            let (container, restored) = through(&choice, &sample);
            assert!(restored == sample.bytes, "{dtype}");
            assert_eq!((choice.preset, choice.mode), ("exact", "lossless"), "{dtype}");
            assert!(20 * container.len() < 19 * exact, "{dtype}: {} and {exact}", container.len());
            // Other arrays keep every bit, too.
            let other = samples::make(dtype, &[300, 200], Content::Random, 3);
            assert!(through(&choice, &other).1 == other.bytes, "{dtype}");
        }
    }
}

#[test]
fn targets_are_met() {
    let sample = field(DType::F32, |n| n + 0.01 * (900.0 * n).sin());
    for goal in [Goal::Balanced, Goal::Ratio] {
        for target in [4.0, 8.0, 16.0] {
            let choice = chosen(&sample, goal, Aim::Ratio(target));
            let ratio = sample.bytes.len() as f64 / through(&choice, &sample).0.len() as f64;
            // Files have a header of 2 KiB, which the target does not count.
            assert!((ratio / target - 1.0).abs() < 0.12, "{goal:?} {target}: {ratio}");
            assert!(choice.mode == "noa" && choice.bound > 0.0);
        }
        for target in [40.0, 70.0, 100.0] {
            let choice = chosen(&sample, goal, Aim::Psnr(target));
            let restored = through(&choice, &sample).1;
            let found = metrics::compare(DType::F32, &sample.bytes, &restored, None, f64::INFINITY).unwrap();
            assert!((found.psnr - target).abs() < 1.0, "{goal:?} {target}: {}", found.psnr);
        }
    }
}

#[test]
fn empty_and_tiny_arrays_and_those_of_many_dimensions_have_a_choice() {
    for dims in [&[0][..], &[1], &[3, 0, 2], &[7, 1, 1, 1, 5], &[40, 30, 5, 4, 3, 2]] {
        for dtype in samples::FLOATS {
            let sample =
                Sample::of(dtype, dims, (0..samples::elements(dims)).map(|i| (i as f64 * 0.1).sin()));
            for (goal, _) in Goal::ALL {
                for aim in [Aim::Lossless, Aim::Bound("noa", 1e-2), Aim::Ratio(4.0), Aim::Psnr(60.0)] {
                    let choice = chosen(&sample, goal, aim);
                    let restored = through(&choice, &sample).1;
                    assert!(aim != Aim::Lossless || restored == sample.bytes);
                }
            }
        }
    }
}

#[test]
fn impossible_requests_are_rejected() {
    let array = Array::new(DType::F32, &[10]).unwrap();
    let src = [0; 40];
    let reject = |src: &[u8], wish: &Wish<'_>| choose(&array, src, wish).expect_err("rejected").to_string();
    let bound = wish(Goal::Balanced, Aim::Bound("noa", 1e-3));
    assert!(reject(&src[..36], &bound).contains("src_bytes"));
    for aim in [Aim::Ratio(0.5), Aim::Ratio(f64::NAN), Aim::Psnr(-1.0), Aim::Psnr(f64::INFINITY)] {
        assert!(reject(&src, &wish(Goal::Ratio, aim)).contains("target_"), "{aim:?}");
    }
    for (mode, bound) in [("noa", f64::NAN), ("noa", 0.0), ("abs", -1.0), ("psnr", 1.0), ("lossless", 0.0)] {
        for (goal, _) in Goal::ALL {
            choose(&array, &src, &wish(goal, Aim::Bound(mode, bound))).expect_err("rejected");
        }
    }
    for threshold in [0.0, -1.0, f64::NAN] {
        assert!(reject(&src, &Wish { outlier_threshold: threshold, ..bound }).contains("outlier_threshold"));
    }
    assert!(Goal::from_name("size").unwrap_err().to_string().contains("speed, balanced, ratio"));
}

#[test]
fn fill_values_and_unaligned_arrays_change_no_choice() {
    let filled = field(DType::F32, |n| if n > 0.5 { 1e20 } else { (n * 1000.0).round() * 0.1 });
    let mut shifted = vec![0; filled.bytes.len() + 1];
    shifted[1..].copy_from_slice(&filled.bytes);
    for goal in [Goal::Balanced, Goal::Ratio] {
        for aim in [Aim::Lossless, Aim::Bound("noa", 1e-6)] {
            let wish = Wish { outlier_threshold: 1e19, ..wish(goal, aim) };
            let choice = choose(&filled.array, &filled.bytes, &wish).unwrap();
            let other = choose(&filled.array, &shifted[1..], &wish).unwrap();
            assert_eq!(choice.pipeline, other.pipeline);
            let (container, restored) = through(&choice, &filled);
            assert!(choice.lattice.is_some() && restored == filled.bytes, "{aim:?} {:?}", choice.preset);
            assert!(container.len() * 3 < filled.bytes.len(), "{goal:?} {aim:?} {}", container.len());
        }
    }
}

#[test]
fn device_memory_has_the_same_choice() {
    if gpu::device().is_none() {
        eprintln!("SKIPPED: FZGM_REQUIRE_GPU is not set");
        return;
    }
    for sample in [field(DType::F32, |n| n), field(DType::F64, |n| (n * 500.0).round() * 0.01)] {
        let memory = Block::of(&sample.bytes);
        for (goal, _) in Goal::ALL {
            for aim in [Aim::Lossless, Aim::Bound("noa", 1e-3), Aim::Ratio(8.0), Aim::Psnr(60.0)] {
                let here = chosen(&sample, goal, aim);
                let slice = memory.slice(0, sample.bytes.len());
                // SAFETY: the block lives until the end of the loop.
                #[allow(unsafe_code)]
                let there = unsafe { choose_at(&sample.array, slice, &wish(goal, aim)) }.unwrap();
                assert_eq!((here.pipeline, here.bound), (there.pipeline, there.bound), "{goal:?} {aim:?}");
            }
        }
    }
}
