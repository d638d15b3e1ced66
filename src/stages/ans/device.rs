//! How the kernels run on a GPU.

use super::{BLOCK, MOST_WORDS};
use crate::device::{Recipe, Shape};

/// Blocks of 4096 bytes in a block of threads, one for each warp.
const TILE: u64 = 8;
const THREADS: u32 = 256;
/// Blocks that count, each in a table of its own, and bytes that one counts at the least.
const COUNTERS: u64 = 528;
const COUNTED: u64 = 1 << 15;

pub(super) fn encode(shape: &Shape<'_>) -> Option<Recipe> {
    let blocks = shape.input(0).div_ceil(BLOCK as u64);
    let recipe = Recipe::one("ans_count", shape.input(0).div_ceil(COUNTED).min(COUNTERS), 512)
        .then("ans_weights", 1, 256)
        .then("ans_code", blocks.div_ceil(TILE), THREADS)
        .then("ans_gather", blocks.div_ceil(THREADS.into()), THREADS);
    // Counts; and what `AnsScratch` in kernels/ans.cu lays out.
    let scratch = 4096 + 4 * (blocks.div_ceil(TILE) + blocks + 8) + 2 * MOST_WORDS as u64 * blocks;
    Some(recipe.with(4 * 256, scratch))
}

pub(super) fn decode(shape: &Shape<'_>) -> Option<Recipe> {
    let blocks = shape.output(0).div_ceil(BLOCK as u64);
    let recipe = Recipe::one("ans_open", blocks.div_ceil(1024), 1024);
    // What `AnsOpened` in kernels/ans_decode.cu has.
    Some(recipe.then("ans_decode", blocks.div_ceil(TILE), THREADS).with(0, 8192))
}
