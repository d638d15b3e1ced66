//! How the kernels run on a GPU.

use super::Launch;
use crate::device::{Recipe, Shape};
use crate::kernel::read_params;

/// As in kernels/fast_board.cuh: slots of chunks on their way; so many chunks lie between the making of one and its copying;
/// and up to so many all are made at the same time, and brought to their place by those who make them. As many are restored by a
/// block each, a warp a unit: beyond that warps are too many for the device.
const RING: u64 = 2048;
const LAG: u64 = 768;
const FEW: u64 = 256;
/// Values of a chunk.
const CHUNK: u64 = 8192;

pub(super) fn encode(shape: &Shape<'_>) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let chunks = chunks(&p)?;
    if chunks <= FEW {
        let name = match (p.ndim, p.value) {
            (1, 4) => "fast_encode_few_f32_1d",
            (2, 4) => "fast_encode_few_f32_2d",
            (_, 4) => "fast_encode_few_f32_3d",
            (1, _) => "fast_encode_few_f64_1d",
            (2, _) => "fast_encode_few_f64_2d",
            _ => "fast_encode_few_f64_3d",
        };
        return Some(Recipe::one(name, chunks, 256).with(4 * chunks, 0));
    }
    let name = match (p.ndim, p.value) {
        (1, 4) => "fast_encode_f32_1d",
        (2, 4) => "fast_encode_f32_2d",
        (_, 4) => "fast_encode_f32_3d",
        (1, _) => "fast_encode_f64_1d",
        (2, _) => "fast_encode_f64_2d",
        _ => "fast_encode_f64_3d",
    };
    // A block for each chunk, and one for each group of them, which copies them to their place.
    let group = if chunks <= 2048 { 8 } else { 32 };
    let groups = chunks.div_ceil(group);
    let recipe = Recipe::one(name, groups * (group + 1) + groups.min(LAG / group), 256);
    // A word for each chunk, and sums over 64, 64^2 and 64^3 of them.
    let sums: u64 = [6, 12, 18].iter().map(|bits| chunks.div_ceil(1 << bits)).sum();
    Some(recipe.with(8 * sums + 4 * chunks, chunks.min(RING) * CHUNK * u64::from(p.value)))
}

pub(super) fn decode(shape: &Shape<'_>) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let chunks = chunks(&p)?;
    if chunks <= FEW {
        let name = match (p.ndim, p.value) {
            (1, 4) => "fast_decode_few_f32_1d",
            (2, 4) => "fast_decode_few_f32_2d",
            (_, 4) => "fast_decode_few_f32_3d",
            (1, _) => "fast_decode_few_f64_1d",
            (2, _) => "fast_decode_few_f64_2d",
            _ => "fast_decode_few_f64_3d",
        };
        return Some(Recipe::one(name, chunks, 256));
    }
    let name = match (p.ndim, p.value) {
        (1, 4) => "fast_decode_f32_1d",
        (2, 4) => "fast_decode_f32_2d",
        (_, 4) => "fast_decode_f32_3d",
        (1, _) => "fast_decode_f64_1d",
        (2, _) => "fast_decode_f64_2d",
        _ => "fast_decode_f64_3d",
    };
    // A warp restores a chunk; places of larger blocks would stay empty until the last of their warps has ended.
    Some(Recipe::one(name, chunks.div_ceil(2), 64))
}

/// None where numbers of chunks, or lengths of more than one dimension, take more than 32 bits.
fn chunks(p: &Launch) -> Option<u64> {
    let long = p.ndim > 1 && p.dims.iter().any(|&d| d >= 1 << 31);
    let chunks = u64::from(p.chunks);
    (!long && chunks < 1 << 27).then_some(chunks)
}
