//! How the kernels run on a GPU.

use super::Launch;
use crate::device::{Recipe, Shape};
use crate::kernel::{PARAM_BYTES, read_params};

/// Codebooks up to this length fit into the memory of a block.
const NEAR: u32 = 1024;
/// Blocks that count, each in a table of its own.
const COUNTERS: u64 = 528;
/// Bytes that a block counts at the least.
const COUNTED: u64 = 1 << 15;
/// Partitions of a block: one for each warp, or one for each thread.
const TILE: u64 = 8;
const THREADS: u64 = 256;
/// The shortest partition.
const SHORTEST: u64 = 768;
/// The longest partition.
const LONGEST: u64 = 4096;

/// Length of the codebook, where symbols have so many bytes and a block has memory for a count of each.
pub(crate) fn near_symbols(params: &[u8; PARAM_BYTES], width: u32) -> Option<u32> {
    let p = read_params::<Launch>(params);
    (p.width == width && p.bklen <= NEAR).then_some(p.bklen)
}

pub(super) fn count(shape: &Shape<'_>) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let entry = if p.bklen <= NEAR { "huffman_count" } else { "huffman_count_far" };
    let blocks = shape.input(0).div_ceil(COUNTED).min(COUNTERS);
    Some(Recipe::one(entry, blocks, 512).with(shape.output(0), 0))
}

pub(super) fn encode(shape: &Shape<'_>) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let near = p.bklen <= NEAR;
    let book = if near { "huffman_book" } else { "huffman_book_far" };
    let code = match p.width {
        _ if !near => "huffman_code_far",
        1 => "huffman_code_u8",
        2 => "huffman_code_u16",
        _ => "huffman_code_u32",
    };
    let symbols = shape.input(0) / u64::from(p.width.max(1));
    let partitions = symbols.div_ceil(if p.partition == 0 { SHORTEST } else { p.partition.into() });
    let recipe = Recipe::one(book, 1, 1024).then(code, code_blocks(partitions), 256).then(
        "huffman_gather",
        partitions.div_ceil(THREADS),
        256,
    );
    // What `HuffmanScratch` in kernels/huffman.cuh lays out. The nodes of a book take 47 bytes a symbol, of a codebook of 2^k
    // symbols.
    let bklen = u64::from(p.bklen).next_multiple_of(4);
    let book = if p.bklen <= NEAR { 0 } else { 47 * u64::from(p.bklen).next_power_of_two() };
    let slots = 4 * (partitions.div_ceil(TILE) + partitions + 8) + (symbols + LONGEST).div_ceil(8) * 28;
    Some(recipe.with(0, 64 + 8 * bklen + slots.max(book)))
}

/// Blocks that code: several tiles each, where there are enough of them for every multiprocessor.
fn code_blocks(partitions: u64) -> u64 {
    /// So many blocks keep any device busy; beyond, each has so many tiles.
    const BUSY: u64 = 4096;
    const EACH: u64 = 4;
    let tiles = partitions.div_ceil(TILE);
    tiles.min(BUSY.max(tiles / EACH))
}

pub(super) fn decode(shape: &Shape<'_>) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let symbols = shape.output(0) / u64::from(p.width.max(1));
    let entry = match p.width {
        1 => "huffman_decode_u8",
        2 => "huffman_decode_u16",
        _ => "huffman_decode_u32",
    };
    let blocks = symbols.div_ceil(SHORTEST * THREADS);
    // `HuffmanOpened` in kernels/huffman_decode.cu.
    Some(Recipe::one("huffman_open", 1, 1024).then(entry, blocks, THREADS as u32).with(0, 17408))
}
