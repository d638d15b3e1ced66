//! Preset cusz in three dimensions: the encoder of lorenzo_quant counts its codes for huffman while it makes them, where it can.

use crate::common::fixture::options;
use crate::common::rng::Rng;
use crate::cuda::lorenzo_3d::{BANDED, Rare, agrees, field, stage};
use crate::cuda::need_gpu;
use fzgm::{Array, DType, Encoder, Generation, Options};

const STEP: f64 = 0.6000000238418579;

#[test]
fn codes_are_counted_as_they_are_made() {
    need_gpu!();
    let mut rng = Rng(0x510e_527f);
    // Rows that are no whole pieces, a brick that is nearly empty, and more than one brick for a warp.
    let ragged = [[7, 5, 3], [33, 9, 10], [130, 17, 9], [132, 8, 20], [1, 1, 100]];
    for dims in BANDED.iter().chain(&ragged) {
        for which in [Rare::No, Rare::Edges, Rare::Many] {
            if dims.iter().product::<u64>() > 60_000 && rng.below(2) == 0 {
                continue;
            }
            let radius = *rng.pick(&["512", "100"]);
            let sets = [
                ("mode", "abs"),
                ("error_bound", "0.3"),
                ("quant_radius", radius),
                ("outlier_capacity", "1"),
            ];
            let src = field(DType::F32, *dims, (STEP, radius.parse().unwrap()), which, rng.word());
            let form = Options {
                strict: rng.below(3) != 0,
                generation: *rng.pick(&[Generation::G2026_05, Generation::G2026_08]),
                store_incompressible: false,
                ..Options::default()
            };
            let what = format!("{dims:?} {which:?} radius {radius} {form:?}");
            agrees(&stage("cusz", &sets), &Array::new(DType::F32, dims).unwrap(), &src, &form, [0, 0], &what);
        }
    }
}

/// What turns out not to be plain after some planes of a brick, which are counted by then.
#[test]
fn bricks_that_end_in_something_rare_are_counted_once() {
    need_gpu!();
    let dims = [256, 16, 8];
    let array = Array::new(DType::F32, &dims).unwrap();
    let sets = [("mode", "abs"), ("error_bound", "0.3"), ("outlier_capacity", "1")];
    for plane in 0..8 {
        for rare in [f32::NAN, 1e4] {
            let mut values = vec![0f32; 256 * 16 * 8];
            values.iter_mut().enumerate().for_each(|(i, v)| *v = ((i * i) % 61) as f32);
            values[plane * 256 * 16 + 3 * 256 + 70] = rare;
            let src: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
            let form = Options { store_incompressible: false, ..Options::default() };
            agrees(&stage("cusz", &sets), &array, &src, &form, [0, 0], &format!("plane {plane}, {rare}"));
        }
    }
}

#[test]
fn plans_say_what_is_counted_on_the_way() {
    need_gpu!();
    let plan = |sets: &[(&str, &str)], dtype, dims: &[u64], fuse| {
        let mut p = stage("cusz", sets);
        if dtype == DType::F64 {
            p = fzgm::preset("cusz", DType::F64).unwrap();
        }
        let form = Options { fuse, ..options() };
        let encoder = Encoder::new(&p, &Array::new(dtype, dims).unwrap(), &form).unwrap();
        encoder.device_plan().unwrap().0.to_string()
    };
    let along = "lorenzo_quant_encode + huffman_count";
    let cube: &[u64] = &[64, 64, 64];
    let made = plan(&[], DType::F32, cube, true);
    assert!(made.contains(along), "{made}");
    // Off; codes that are no symbols; two dimensions; other values.
    assert!(!plan(&[], DType::F32, cube, false).contains(along));
    assert!(!plan(&[("quant_radius", "513")], DType::F32, cube, true).contains(along));
    assert!(!plan(&[("zigzag_codes", "false")], DType::F32, cube, true).contains(along));
    assert!(!plan(&[], DType::F32, &[512, 512], true).contains(along));
    assert!(!plan(&[], DType::F64, cube, true).contains(along));
}
