//! The step of f32 data, which a sample chooses: on a device many blocks count what each candidate misses, and the last one
//! of them chooses. Bounds near the spacing of floats, where the choice matters.

use crate::common::fixture::{Fixture, options};
use crate::common::rng::Rng;
use crate::cuda::need_gpu;
use fzgm::{Array, DType, preset};
use std::collections::BTreeSet;

/// More than a batch for each warp of a block, and more than one block.
const VALUES: u64 = 150_000;

/// Compresses `n` values up to `top` on the device and on the CPU, and says which bound was taken. One value of `rare` is
/// large, and the others are a hundredth of it.
fn taken(n: u64, top: f64, bound: f64, base: Option<f64>, rare: u64, rng: &mut Rng) -> String {
    let mut p = preset("pfpl", DType::F32).unwrap();
    let mode = if base.is_some() { "noa" } else { "abs" };
    p.set_everywhere("mode", |args| args.set_text("mode", mode)).unwrap();
    let asked = base.map_or(bound, |b| bound / b);
    p.set_everywhere("error_bound", |args| args.set_real("error_bound", asked)).unwrap();
    if let Some(base) = base {
        p.set_everywhere("value_base", |args| args.set_real("value_base", base)).unwrap();
    }
    let mut fixture = Fixture::new(&p, &Array::new(DType::F32, &[n]).unwrap(), &options());
    let values = (0..n).map(|i| match i % 1000 {
        0 => f32::NAN,
        1 => f32::INFINITY,
        _ => {
            let smooth = (0.75 + 0.25 * (i as f64 * 1e-3).sin()) * top;
            let share = if i % rare == 0 { 1.0 } else { 0.01 };
            (smooth * share + rng.unit() * 20.0 * bound) as f32
        }
    });
    let src: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
    fixture.src.put(0, &src);
    fixture.both();
    fixture.check(&src);
    let info = fzgm::info(&fixture.expected(&src).0).unwrap();
    info.stages[0].params.iter().find(|p| p.0 == "resolved_bound").map_or(String::new(), |p| p.1.clone())
}

#[test]
fn steps_are_those_of_the_cpu() {
    need_gpu!();
    let mut rng = Rng(0x9b05_688c);
    let mut chosen = BTreeSet::new();
    for (top, bound) in [(250.0, 1e-4), (250.0, 3e-5), (60.0, 1e-5), (1e3, 1e-3), (1e4, 0.3), (70.0, 0.01)] {
        for (n, base) in [(VALUES, None), (VALUES, Some(top)), (VALUES / 40, Some(top)), (1000, None)] {
            for rare in [1, 50, 700] {
                chosen.insert(taken(n, top, bound, base, rare, &mut rng));
            }
        }
    }
    // Whole bounds and steps of different candidates.
    assert!(chosen.len() >= 12, "{chosen:?}");
    for _ in 0..60 {
        let top = (rng.unit() * 20.0 - 5.0).exp();
        taken(4000, top, top / (rng.unit() * 9.0 + 8.0).exp(), None, 1 + rng.below(400) as u64, &mut rng);
    }
}
