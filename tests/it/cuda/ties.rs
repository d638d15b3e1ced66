//! Values half way between two multiples, where only the rounding of a product tells whether the nearer one keeps the bound, in fields
//! in which nothing else is rare: what looks at many values at once has to see that one.

use crate::common::rng::Rng;
use crate::cuda::lorenzo_3d::{agrees, stage};
use crate::cuda::need_gpu;
use fzgm::{Array, DType, Options};

/// Multiples of `step` and noise around the `level`th one; every so many values, one between two.
fn field(n: u64, step: f32, level: u32, every: u64, rng: &mut Rng) -> Vec<u8> {
    let values = (0..n).map(|i| {
        let multiple = f64::from(level + rng.below(3) as u32);
        if i % every == every / 2 {
            let half = ((multiple + 0.5) * f64::from(step)) as f32;
            return f32::from_bits((half.to_bits() as i32 + rng.below(5) as i32 - 2) as u32);
        }
        ((multiple + rng.unit() * 0.4 - 0.2) * f64::from(step)) as f32
    });
    values.flat_map(f32::to_le_bytes).collect()
}

#[test]
fn one_value_between_two_multiples() {
    need_gpu!();
    let mut rng = Rng(0xbb67_ae85);
    for round in 0..24 {
        let bound = *rng.pick(&["0.3", "1e-3", "0.7", "0.11"]);
        let step = 2.0 * bound.parse::<f32>().unwrap();
        let (level, every) = (400 + rng.below(6000) as u32, [61, 509, 4099][round % 3]);
        for dims in [&[64, 16, 8][..], &[130, 17, 9], &[300, 31], &[9000]] {
            let array = Array::new(DType::F32, dims).unwrap();
            let src = field(dims.iter().product(), step, level, every, &mut rng);
            let p = stage(
                "lorenzo_quant",
                &[("mode", "abs"), ("error_bound", bound), ("code_type", "u16"), ("outlier_capacity", "1")],
            );
            let form = Options { store_incompressible: false, ..Options::default() };
            agrees(&p, &array, &src, &form, [0, 0], &format!("{dims:?} {bound} level {level} every {every}"));
        }
    }
}
