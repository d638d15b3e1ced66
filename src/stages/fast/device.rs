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
/// Up to so many chunks the groups in which they are copied are small.
const SMALL_GROUPS: u64 = 2048;
/// Values of a chunk.
const CHUNK: u64 = 8192;

/// The device functions of one kind, for values of one width and a number of dimensions.
macro_rules! functions {
    ($kind:literal) => {
        [
            [concat!($kind, "_f32_1d"), concat!($kind, "_f32_2d"), concat!($kind, "_f32_3d")],
            [concat!($kind, "_f64_1d"), concat!($kind, "_f64_2d"), concat!($kind, "_f64_3d")],
        ]
    };
}

/// That of them which a launch takes.
fn function(p: &Launch, functions: [[&'static str; 3]; 2]) -> &'static str {
    let [one, two, three] = functions[usize::from(p.value != 4)];
    match p.ndim {
        1 => one,
        2 => two,
        _ => three,
    }
}

pub(super) fn encode(shape: &Shape<'_>) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let chunks = chunks(&p)?;
    if chunks <= FEW {
        let name = function(&p, functions!("fast_encode_few"));
        return Some(Recipe::one(name, chunks, 256).with(4 * chunks, 0));
    }
    // A block for each chunk, and one for each group of them, which copies them to their place.
    let group = if chunks <= SMALL_GROUPS { 8 } else { 32 };
    let groups = chunks.div_ceil(group);
    let fills = p.threshold.is_finite();
    let name = match (p.value, p.ndim) {
        // Before small codes: those of units that are nothing but fills are 0, which may be far from others.
        (4, 3) if fills => "fast_encode_fills_f32_3d",
        (4, 2) if fills => "fast_encode_fills_f32_2d",
        (4, 3) if p.near != 0 => "fast_encode_near_f32_3d",
        _ => function(&p, functions!("fast_encode")),
    };
    let recipe = Recipe::one(name, groups * (group + 1) + groups.min(LAG / group), 256);
    // A word for each chunk, and sums over 64, 64^2 and 64^3 of them.
    let sums: u64 = [6, 12, 18].iter().map(|bits| chunks.div_ceil(1 << bits)).sum();
    Some(recipe.with(8 * sums + 4 * chunks, chunks.min(RING) * CHUNK * u64::from(p.value)))
}

pub(super) fn decode(shape: &Shape<'_>) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let chunks = chunks(&p)?;
    if chunks <= FEW {
        return Some(Recipe::one(function(&p, functions!("fast_decode_few")), chunks, 256));
    }
    // A warp restores a chunk; places of larger blocks would stay empty until the last of their warps has ended.
    Some(Recipe::one(function(&p, functions!("fast_decode")), chunks.div_ceil(2), 64))
}

/// None where numbers of chunks, or lengths of more than one dimension, take more than 32 bits.
fn chunks(p: &Launch) -> Option<u64> {
    let long = p.ndim > 1 && p.dims.iter().any(|&d| d >= 1 << 31);
    let chunks = u64::from(p.chunks);
    (!long && chunks < 1 << 27).then_some(chunks)
}
