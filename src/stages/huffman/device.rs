//! How the kernels run on a GPU.

use super::COUNT;
use super::params::{
    BOOK_NODE_BYTES, HuffmanParams, MAX_CODE_BITS, MAX_PARTITION, MIN_PARTITION, OPENED_BYTES,
    SCRATCH_HEADER_BYTES, SHARED_SYMBOLS,
};
use crate::ir::device::{DeviceLaunch, LaunchShape};
use crate::ir::fusion::{Fusion, Part, any};
use crate::ir::kernel::{PARAM_BYTES, read_params};
use crate::stages::lorenzo_quant;
use crate::stages::params::{CODER_THREADS, CODER_TILE};

/// Blocks that count, each in a table of its own.
const COUNTERS: u64 = 528;
/// Bytes that a block counts at the least.
const COUNTED: u64 = 1 << 15;
/// Threads of a block that decodes a partition in each.
const DECODE_THREADS: u32 = 256;
/// Up to this number of partitions, a warp decodes each of them, and a block has this number of warps: `decode_few.cu`. All blocks of the
/// encoder then run at the same time: `encode_few.cu`.
const FEW: u64 = 2048;
const FEW_WARPS: u32 = 4;
/// Up to this number of groups of partitions, SHARES blocks move the cells of a group together.
const FEW_GROUPS: u64 = 64;
const SHARES: u32 = 8;

/// Length of the codebook, if symbols have `width` bytes and a block has memory for a count of each symbol.
fn near_symbols(params: &[u8; PARAM_BYTES], width: u32) -> Option<u32> {
    let p = read_params::<HuffmanParams>(params);
    (p.width == width && p.bklen <= SHARED_SYMBOLS).then_some(p.bklen)
}

/// The encoder of stage lorenzo_quant, which counts its codes on the way.
pub(super) static FUSIONS: &[&[Fusion]] = &[&[Fusion {
    entries: &["lorenzo_quant_encode_3d_f32_counts", "lorenzo_quant_encode_3d_f32_counts_few"],
    kernel: Part { kernel: &lorenzo_quant::ENCODE, fits: any },
    fused: &[Part { kernel: &COUNT, fits: |params| near_symbols(params, 2).is_some() }],
    device: |shape, fused| {
        let (_, params) = fused.last()?;
        lorenzo_quant::counting(shape, near_symbols(params, 2)?)
    },
}]];

pub(super) fn count(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<HuffmanParams>(shape.params);
    let entry = if p.bklen <= SHARED_SYMBOLS { "huffman_count" } else { "huffman_count_large" };
    let blocks = shape.input(0).div_ceil(COUNTED).min(COUNTERS);
    Some(DeviceLaunch::one(entry, blocks, 512).with(shape.output(0), 0))
}

pub(super) fn encode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<HuffmanParams>(shape.params);
    let short = p.bklen <= SHARED_SYMBOLS;
    let book = if short { "huffman_book" } else { "huffman_book_large" };
    let code = match p.width {
        _ if !short => "huffman_code_large",
        1 => "huffman_code_u8",
        2 => "huffman_code_u16",
        _ => "huffman_code_u32",
    };
    let symbols = shape.input(0) / u64::from(p.width.max(1));
    let partitions = symbols.div_ceil(if p.partition == 0 { MIN_PARTITION } else { p.partition }.into());
    if short && [0, MIN_PARTITION].contains(&p.partition) && partitions <= FEW {
        return Some(encode_few(partitions, &p));
    }
    let groups = partitions.div_ceil(CODER_THREADS.into());
    let shares = if groups <= FEW_GROUPS { SHARES } else { 1 };
    let device_launch = DeviceLaunch::one(book, 1, 1024)
        .then(code, code_blocks(partitions), CODER_THREADS)
        .then_tagged("huffman_gather", groups * u64::from(shares), CODER_THREADS, shares);
    // `HuffmanScratch` in kernels/huffman/stream.cuh. The nodes of a long book have room for 2^k symbols.
    let bklen = u64::from(p.bklen).next_multiple_of(4);
    let book = if short { 0 } else { BOOK_NODE_BYTES * u64::from(p.bklen).next_power_of_two() };
    let counts = 4 * (partitions.div_ceil(CODER_TILE.into()) + partitions + 8);
    let slots = counts + (symbols + u64::from(MAX_PARTITION)).div_ceil(8) * u64::from(MAX_CODE_BITS);
    Some(device_launch.with(0, SCRATCH_HEADER_BYTES + 8 * bklen + slots.max(book)))
}

/// The encoder of few partitions, of MIN_PARTITION symbols, all of which are coded at the same time.
fn encode_few(partitions: u64, p: &HuffmanParams) -> DeviceLaunch {
    /// Bytes of the state of a block, for look-back.
    const STATE: u64 = 8;
    let code = match p.width {
        1 => "huffman_code_few_u8",
        2 => "huffman_code_few_u16",
        _ => "huffman_code_few_u32",
    };
    let blocks = partitions.div_ceil(CODER_TILE.into()).max(1);
    let scratch = SCRATCH_HEADER_BYTES + 8 * u64::from(p.bklen).next_multiple_of(4);
    DeviceLaunch::one("huffman_book", 1, 1024).then(code, blocks, CODER_THREADS).with(STATE * blocks, scratch)
}

/// Blocks that code: several tiles each, if there are enough tiles for every multiprocessor.
fn code_blocks(partitions: u64) -> u64 {
    /// This number of blocks keeps any device busy; above it, each block has several tiles.
    const BUSY: u64 = 4096;
    const EACH: u64 = 4;
    let tiles = partitions.div_ceil(CODER_TILE.into());
    tiles.min(BUSY.max(tiles / EACH))
}

pub(super) fn decode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<HuffmanParams>(shape.params);
    let symbols = shape.output(0) / u64::from(p.width.max(1));
    let partitions = symbols.div_ceil(MIN_PARTITION.into());
    let open = DeviceLaunch::one("huffman_open", 1, 1024);
    let device_launch = if partitions <= FEW {
        let entry = match p.width {
            1 => "huffman_decode_few_u8",
            2 => "huffman_decode_few_u16",
            _ => "huffman_decode_few_u32",
        };
        open.then(entry, partitions.div_ceil(FEW_WARPS.into()), 32 * FEW_WARPS)
    } else {
        let entry = match p.width {
            1 => "huffman_decode_u8",
            2 => "huffman_decode_u16",
            _ => "huffman_decode_u32",
        };
        open.then(entry, partitions.div_ceil(DECODE_THREADS.into()), DECODE_THREADS)
    };
    Some(device_launch.with(0, OPENED_BYTES))
}
