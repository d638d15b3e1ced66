//! Values at the edges of what the quantizer has bins for, in tiles where all other values are common: chains look for such
//! values by sums that are taken together, whose limits follow from radius and threshold.

use crate::common::fixture::{Fixture, options};
use crate::common::rng::Rng;
use crate::cuda::need_gpu;
use fzgm::{Array, DType, preset};

/// Whole tiles and a short one.
const VALUES: u64 = 3 * 4096 + 1001;

fn check(radius: i64, threshold: f64, strict: bool, rng: &mut Rng) {
    let bound = 0.25;
    let mut p = preset("pfpl", DType::F32).unwrap();
    p.set_everywhere("mode", |args| args.set_text("mode", "abs")).unwrap();
    p.set_everywhere("error_bound", |args| args.set_real("error_bound", bound)).unwrap();
    p.set_everywhere("quant_radius", |args| args.set_int("quant_radius", radius)).unwrap();
    p.set_everywhere("outlier_threshold", |args| args.set_real("outlier_threshold", threshold)).unwrap();
    let mut fixture =
        Fixture::new(&p, &Array::new(DType::F32, &[VALUES]).unwrap(), &fzgm::Options { strict, ..options() });
    let step = 2.0 * bound;
    let edge = |rng: &mut Rng| -> f32 {
        let near = match rng.below(4) {
            0 if threshold.is_finite() => threshold,
            1 => (radius - 1) as f64 * step,
            2 => (radius as f64 - 0.5) * step,
            _ => radius as f64 * step,
        };
        let x = f32::from_bits(((near as f32).to_bits() as i32 + rng.below(5) as i32 - 2).max(0) as u32);
        if rng.below(2) == 0 { x } else { -x }
    };
    // One edge value in a warp, in each place of a slice; many; none.
    for every in [1024 + 37, 3, u64::MAX] {
        let common = (radius as f64 / 2.0 * step).min(threshold / 2.0).min(1e6);
        let values = (0..VALUES).map(|i| {
            if every < u64::MAX && i % every == 0 { edge(rng) } else { ((rng.unit() - 0.5) * common) as f32 }
        });
        let src: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
        fixture.src.put(0, &src);
        fixture.both();
        fixture.check(&src);
    }
}

#[test]
fn values_at_the_edges_of_bins() {
    need_gpu!();
    let mut rng = Rng(0x510e_527f);
    for radius in
        [1, 2, 3, 4, 5, 1000, 1024, 1025, 32767, 32768, (1 << 21) - 1, 1 << 21, (1 << 21) + 1, 1 << 22]
    {
        for threshold in [f64::INFINITY, 0.3, 0.5, 99.75, 511.9, 512.0, 1e9] {
            check(radius, threshold, rng.below(4) > 0, &mut rng);
        }
    }
}
