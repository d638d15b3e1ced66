//! How the kernels run on a GPU.

use super::{ABS, IN_PLACE, Launch, STRICT};
use crate::device::{Recipe, Shape, tiles};
use crate::kernel::read_params;

const THREADS: u32 = 256;
/// Blocks of functions that go over all of the array several tiles at a time.
const BLOCKS: u64 = 1024;
/// What `quantizer_bound` counts in zeroed memory, and what it keeps besides two f64 of each block.
const COUNTS: u64 = 80;
const CANDIDATES: u64 = 48;

/// The last block of the range scan resolves the bound; the last one of the sample chooses the step.
pub(super) fn bound(shape: &Shape<'_>) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let bytes = shape.input(0);
    let measured = p.mode != ABS && p.value_base == 0.0;
    let blocks = if measured { tiles(bytes).clamp(1, BLOCKS) } else { 1 };
    let recipe = Recipe::one("quantizer_bound", blocks, THREADS).with(COUNTS, CANDIDATES + 16 * blocks);
    if p.switches & STRICT == 0 || p.value != 4 {
        return Some(recipe);
    }
    Some(recipe.then("quantizer_bound_step", tiles(bytes).min(BLOCKS), THREADS))
}

pub(super) fn encode(shape: &Shape<'_>) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let tiles = value_tiles(&p, shape.output(0));
    let recipe = Recipe::one("quantizer_encode", tiles, THREADS);
    if p.switches & IN_PLACE != 0 {
        return Some(recipe);
    }
    let recipe = recipe.then("quantizer_encode_places", 1, 1024).then(
        "quantizer_encode_lists",
        tiles.min(BLOCKS),
        THREADS,
    );
    // The number of outliers; and of each tile its own and those before it, in 32 bits.
    Some(recipe.with(8, 8 * tiles))
}

pub(super) fn decode(shape: &Shape<'_>) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let recipe = Recipe::one("quantizer_decode", value_tiles(&p, shape.input(0)), THREADS);
    if p.switches & IN_PLACE != 0 {
        return Some(recipe);
    }
    let blocks = (shape.input(2) / 4).div_ceil(THREADS.into()).min(BLOCKS);
    // Whether indices ascend.
    Some(recipe.then("quantizer_decode_lists", blocks, THREADS).with(4, 0))
}

/// Tiles of the values that so many bytes of codes stand for.
fn value_tiles(p: &Launch, codes: u64) -> u64 {
    tiles(codes / u64::from(p.code.max(1)) * u64::from(p.value))
}
