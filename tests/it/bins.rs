//! Bins of preset pfpl, on the CPU and on devices: values at the limits of the bins, in tiles where all other
//! values are common, and steps that a sample chooses. Fused kernels detect rare values by sums over several
//! values, whose limits follow from radius and threshold.

use crate::common::agreement::{agrees, stage};
use crate::common::gpu;
use crate::common::rare::around;
use crate::common::rng::Rng;
use crate::common::samples::Sample;
use fzgm::{DType, Options, info};
use std::collections::BTreeSet;

fn case(sets: &[(&str, &str)], strict: bool, values: impl Iterator<Item = f64>, n: u64) -> Vec<u8> {
    let sample = Sample::of(DType::F32, &[n], values);
    let options = Options { strict, checksum: false, ..Options::default() };
    agrees(&stage("pfpl", sets), &sample, &options, [0, 0]).0
}

/// Whole tiles and a short one. The emulator is slow: one whole tile.
fn values() -> u64 {
    let tiles = if gpu::is_emulated() { 1 } else { 3 };
    tiles * 4096 + 1001
}

#[test]
fn values_at_the_edges_of_bins() {
    let (mut rng, step) = (Rng(0x510e_527f), 0.5);
    for radius in
        [1, 2, 3, 4, 5, 1000, 1024, 1025, 32767, 32768, (1 << 21) - 1, 1 << 21, (1 << 21) + 1, 1 << 22]
    {
        for threshold in [f64::INFINITY, 0.3, 0.5, 99.75, 511.9, 512.0, 1e9] {
            let strict = rng.below(4) > 0;
            let common = (f64::from(radius) / 2.0 * step).min(threshold / 2.0).min(1e6);
            // One edge value in a warp, in each place of a slice; many; none.
            for every in [1024 + 37, 3, u64::MAX] {
                let value = |i| {
                    if every == u64::MAX || i % every != 0 {
                        return (rng.unit() - 0.5) * common;
                    }
                    let edge = match rng.below(4) {
                        0 if threshold.is_finite() => threshold,
                        1 => f64::from(radius - 1) * step,
                        2 => (f64::from(radius) - 0.5) * step,
                        _ => f64::from(radius) * step,
                    };
                    let near = if edge == 0.0 { 0.0 } else { around(DType::F32, edge, &mut rng) };
                    if rng.below(2) == 0 { near } else { -near }
                };
                let sets = [
                    ("mode", "abs"),
                    ("error_bound", "0.25"),
                    ("quant_radius", &radius.to_string()),
                    ("outlier_threshold", &format!("{threshold:?}")),
                ];
                case(&sets, strict, (0..values()).map(value), values());
            }
        }
    }
}

/// Values around the last one that has a bin, and around the threshold.
#[test]
fn tiles_of_one_kind_of_value() {
    let mut rng = Rng(0x923f_82a4);
    for (k, b) in (0..3).flat_map(|k| [(k, 0.5), (k, 0.3), (k, 1e-3)]) {
        let step = f64::from(2.0 * b as f32);
        let middle = [100_000.0, 99_999.0, 97.0][k] * step;
        let value = |i| if i % 7 < 5 { around(DType::F32, middle, &mut rng) } else { 90.0 * step };
        let sets = [
            ("mode", "abs"),
            ("error_bound", &b.to_string()[..]),
            ("quant_radius", "100000"),
            ("outlier_threshold", &if k == 2 { middle.to_string() } else { "inf".into() }),
        ];
        case(&sets, true, (0..9000).map(value), 9000);
    }
}

/// More than a batch for each warp of a block, and more than one block.
const SAMPLED: u64 = 150_000;

/// Compresses `n` values up to `top`, and returns the bound that was chosen. One value of `rare` is large,
/// and the others are a hundredth of it.
fn taken(n: u64, top: f64, bound: f64, base: Option<f64>, rare: u64, rng: &mut Rng) -> String {
    let value = |i| match i % 1000 {
        0 => f64::NAN,
        1 => f64::INFINITY,
        _ => {
            let smooth = (0.75 + 0.25 * (i as f64 * 1e-3).sin()) * top;
            let share = if i % rare == 0 { 1.0 } else { 0.01 };
            smooth * share + rng.unit() * 20.0 * bound
        }
    };
    let (given, of) = (base.map_or(bound, |b| bound / b), format!("{:?}", base.unwrap_or(0.0)));
    let mode = if base.is_some() { "noa" } else { "abs" };
    let sets = [("mode", mode), ("error_bound", &format!("{given:?}")[..]), ("value_base", &of)];
    let made = case(&sets, true, (0..n).map(value), n);
    let params = info(&made).unwrap().stages[0].params.clone();
    params.into_iter().find(|p| p.0 == "resolved_bound").map_or(String::new(), |p| p.1)
}

/// The step of f32 data: on a device many blocks count the misses of each candidate, and the last block
/// chooses. Bounds near the spacing of floats, where the choice matters.
#[test]
fn steps_that_a_sample_chooses() {
    let mut rng = Rng(0x9b05_688c);
    let mut chosen = BTreeSet::new();
    for (top, bound) in [(250.0, 1e-4), (250.0, 3e-5), (60.0, 1e-5), (1e3, 1e-3), (1e4, 0.3), (70.0, 0.01)] {
        for (n, base) in [(SAMPLED, None), (SAMPLED, Some(top)), (SAMPLED / 40, Some(top)), (1000, None)] {
            // The emulator is slow: one large array of each kind.
            let rare = if n == SAMPLED && gpu::is_emulated() { &[50][..] } else { &[1, 50, 700] };
            for &rare in rare {
                chosen.insert(taken(n, top, bound, base, rare, &mut rng));
            }
        }
    }
    // Whole bounds and steps of different candidates.
    assert!(chosen.len() >= 12 || gpu::is_emulated(), "{chosen:?}");
    for _ in 0..60 {
        let top = (rng.unit() * 20.0 - 5.0).exp();
        taken(4000, top, top / (rng.unit() * 9.0 + 8.0).exp(), None, 1 + rng.below(400) as u64, &mut rng);
    }
}
