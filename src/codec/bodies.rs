//! Wide registers against the instructions of every machine: the same containers and the same arrays.
#![allow(clippy::unwrap_used)]

use super::{Options, compress, decompress};
use crate::stages::portable;
use crate::{Array, DType, PRESETS, preset};

/// NaN of several kinds, infinities, zeros, subnormals, and the largest values.
const SPECIAL: [u32; 12] = [
    0x7fc0_0000,
    0xffc0_0001,
    0x7f80_0001,
    0x7f80_0000,
    0xff80_0000,
    0,
    0x8000_0000,
    1,
    0x8000_0001,
    0x007f_ffff,
    0x7f7f_ffff,
    0xff7f_ffff,
];

/// Halves of bins, so that many values lie between two of them; smooth values; those with special ones among them; any bits.
fn samples(n: usize) -> [Vec<f32>; 4] {
    let mut x = 1u64;
    let mut random = move || {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (x >> 32) as u32
    };
    let ties = (0..n).map(|i| (i % 301) as f32 * 0.25 - 30.0).collect();
    let smooth: Vec<f32> =
        (0..n).map(|i| (i as f32 * 0.01).sin() * 90.0 + (random() % 1000) as f32 * 0.004).collect();
    let mut mixed = smooth.clone();
    mixed
        .iter_mut()
        .step_by(37)
        .for_each(|x| *x = f32::from_bits(SPECIAL[random() as usize % SPECIAL.len()]));
    let any = (0..n).map(|_| f32::from_bits(random())).collect();
    [ties, smooth, mixed, any]
}

fn agree(name: &str, dtype: DType, dims: &[u64], mode: Option<(&str, f64)>, src: &[u8]) {
    let mut pipeline = preset(name, dtype).unwrap();
    if let Some((mode, bound)) = mode {
        pipeline.set_everywhere("error_bound", |args| args.set_real("error_bound", bound)).unwrap();
        pipeline.set_everywhere("mode", |args| args.set_text("mode", mode)).unwrap();
    }
    let (array, options) = (Array::new(dtype, dims).unwrap(), Options { threads: 1, ..Options::default() });
    let encode = || compress(&pipeline, &array, &options, src);
    let (plain, wide) = (portable(encode), encode());
    assert!(plain == wide, "{name} {dtype} {dims:?} {mode:?}");
    let Ok(container) = plain else { return };
    let decode = || decompress(&container, &options).map(|(_, restored)| restored);
    let (plain, wide) = (portable(decode), decode());
    assert!(plain.is_ok() && plain == wide, "{name} {dtype} {dims:?} {mode:?}: restored");
}

#[test]
fn every_preset_has_one_result_on_all_machines() {
    let shapes: [&[u64]; 7] = [&[1], &[13], &[9001], &[300, 70], &[33, 65], &[37, 19, 11], &[64, 40, 9]];
    let presets = PRESETS.iter().filter(|p| !p.research);
    for (preset, dims) in presets.flat_map(|p| shapes.iter().map(move |&dims| (p, dims))) {
        for values in samples(dims.iter().product::<u64>() as usize) {
            let wider: Vec<f64> = values.iter().map(|&x| x.into()).collect();
            let fields: [(DType, &[u8]); 2] =
                [(DType::F32, bytemuck::cast_slice(&values)), (DType::F64, bytemuck::cast_slice(&wider))];
            for (dtype, src) in fields {
                let modes: &[_] =
                    if preset.lossless { &[None] } else { &[Some(("abs", 0.25)), Some(("noa", 1e-3))] };
                modes.iter().for_each(|&mode| agree(preset.name, dtype, dims, mode, src));
            }
        }
    }
}
