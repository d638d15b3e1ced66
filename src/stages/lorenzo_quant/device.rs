//! How the kernels run on a GPU.

use super::params::{
    BLOCK, EDGE, LorenzoQuantParams, SLOTS_EACH, SLOTS_OF_BLOCK, STRIP, TOTALS_BYTES, ZIGZAG,
};
use crate::base::tile::TILE;
use crate::ir::device::{DeviceLaunch, LaunchShape, tiles};
use crate::ir::kernel::{PARAM_BYTES, read_params};
use crate::stages::params::TILE_COUNTS_BYTES;

/// Blocks of functions that go over all of the array several tiles at a time.
const BLOCKS: u64 = 1024;
/// Blocks that occupy all multiprocessors, of functions that have no work if there are no outliers: more of them take longer to end.
const RESIDENT_BLOCKS: u64 = 528;
/// Up to this number of bricks, encoders have blocks of FEW_THREADS threads, which spread the bricks over all multiprocessors.
const FEW_BRICKS: u64 = 2048;
const FEW_THREADS: u32 = 64;
/// Up to this number of bricks, a warp of an encoder has a plane instead of a brick.
const PLANE_BRICKS: u64 = 1024;
/// Blocks of such an encoder that occupy every multiprocessor; with more warps, the blocks are larger.
const PLANE_BLOCKS: u64 = 128;
/// Up to this number of groups of four tiles, a block of a decoder has a group.
const FEW_GROUPS: u64 = 512;

pub(super) fn encode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<LorenzoQuantParams>(shape.params);
    if p.ndim == 3 {
        return Some(encode_volume(&p));
    }
    let (encode, lists) = match p.ndim {
        2 => ("lorenzo_quant_encode_2d", "lorenzo_quant_lists_2d"),
        _ => ("lorenzo_quant_encode_1d", "lorenzo_quant_lists_1d"),
    };
    let values = (shape.output(0) / u64::from(p.code.max(1))).max(p.count.into());
    let tiles = tiles(values * u64::from(p.value));
    let device_launch = DeviceLaunch::one(encode, tiles, BLOCK).then("lorenzo_quant_places", 1, 1024).then(
        lists,
        tiles.min(BLOCKS),
        BLOCK,
    );
    // The numbers of outliers and of exact values, of all tiles and of each.
    let device_launch = device_launch.with(TOTALS_BYTES + 2 * TILE_COUNTS_BYTES * tiles.max(1), 0);
    // The last launch computes the entries of both lists from the array.
    Some(device_launch.with_late(LATE, EARLY))
}

/// The lists, which the last launch of an encoder computes from the array, and the other outputs.
const LATE: &[usize] = &[2, 3];
const EARLY: &[usize] = &[0, 1, 4];

/// Three dimensions: entries are counted by slots, which are parts of bricks.
fn encode_volume(p: &LorenzoQuantParams) -> DeviceLaunch {
    let encode = match (p.value, by_planes(p)) {
        (4, true) => "lorenzo_quant_encode_3d_f32_few",
        (4, false) => "lorenzo_quant_encode_3d_f32",
        (_, true) => "lorenzo_quant_encode_3d_f64_few",
        (_, false) => "lorenzo_quant_encode_3d_f64",
    };
    let lists = if p.value == 4 { "lorenzo_quant_lists_3d_f32" } else { "lorenzo_quant_lists_3d_f64" };
    let ((blocks, threads), slots) = (encoder_blocks(p), slots(p));
    let adders = slots.div_ceil(SLOTS_OF_BLOCK.into());
    let device_launch = DeviceLaunch::one(encode, blocks, threads)
        .then("lorenzo_quant_places_3d", adders, BLOCK)
        .then(lists, if by_planes(p) { blocks } else { blocks.min(RESIDENT_BLOCKS) }, threads);
    // The numbers of entries of both kinds: of all slots, of blocks of slots, and of each slot; and those before each slot.
    device_launch.with(TOTALS_BYTES + 16 * adders + 4 * slots, 8 * slots).with_late(LATE, EARLY)
}

/// One dimension, with tiles around their means.
pub(super) fn encode_centered(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let mut device_launch = encode(shape)?;
    let names = ["lorenzo_quant_encode_centered", "lorenzo_quant_places", "lorenzo_quant_lists_centered"];
    device_launch.launches.iter_mut().zip(names).for_each(|(pass, name)| pass.entry = name);
    Some(DeviceLaunch { late: &[], early: &[], ..device_launch })
}

/// The encoder that also counts its codes, for a codebook of `symbols` symbols: for zigzag codes of u16 from
/// f32 in three dimensions, if all codes are symbols.
pub(crate) fn counting(shape: &LaunchShape<'_>, symbols: u32) -> Option<DeviceLaunch> {
    let p = read_params::<LorenzoQuantParams>(shape.params);
    let known = p.switches & ZIGZAG != 0 && u64::from(p.radius) * 2 <= symbols.into();
    if p.ndim != 3 || p.value != 4 || p.code != 2 || !known {
        return None;
    }
    let mut device_launch = encode(shape)?;
    device_launch.launches.first_mut()?.entry = if by_planes(&p) {
        "lorenzo_quant_encode_3d_f32_counts_few"
    } else {
        "lorenzo_quant_encode_3d_f32_counts"
    };
    device_launch.zeroed += shape.output(4);
    Some(device_launch)
}

/// Bricks in each dimension: 8 planes of 8 rows, of as many columns as a warp has at 16 bytes a lane.
fn grid(p: &LorenzoQuantParams) -> [u64; 3] {
    let [nx, ny, nz] = p.dims.map(u64::from);
    let width = 32 * 16 / u64::from(p.value.max(1));
    [nx.div_ceil(width), ny.div_ceil(EDGE.into()), nz.div_ceil(EDGE.into())]
}

fn bricks(p: &LorenzoQuantParams) -> u64 {
    grid(p).iter().product()
}

/// Slots as in `kernels/lorenzo_quant/slots.cuh`: the parts of bricks whose elements are contiguous in the array.
fn slots(p: &LorenzoQuantParams) -> u64 {
    let ([across, down, deep], [_, ny, nz]) = (grid(p), p.dims.map(u64::from));
    let slots = match (across, down) {
        (0 | 1, 0 | 1) => across * down * deep,
        (0 | 1, _) => across * down * nz,
        _ => across * ny * nz,
    };
    slots.next_multiple_of(SLOTS_EACH.into())
}

fn by_planes(p: &LorenzoQuantParams) -> bool {
    bricks(p) <= PLANE_BRICKS
}

/// Blocks of an encoder in three dimensions, and their threads.
fn encoder_blocks(p: &LorenzoQuantParams) -> (u64, u32) {
    let few = bricks(p);
    if by_planes(p) {
        let warps = few * u64::from(EDGE);
        let each = (warps / PLANE_BLOCKS).clamp(1, u64::from(BLOCK) / 32);
        return (warps.div_ceil(each), 32 * each as u32);
    }
    let threads = if few <= FEW_BRICKS { FEW_THREADS } else { BLOCK };
    (brick_blocks(p, threads), threads)
}

/// Blocks of `threads` threads whose warps have a brick each.
fn brick_blocks(p: &LorenzoQuantParams, threads: u32) -> u64 {
    /// The limit of a grid; beyond it, a warp has several bricks.
    const MOST: u64 = (1 << 31) - 1;
    bricks(p).div_ceil(u64::from(threads) / 32).min(MOST)
}

pub(super) fn decode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<LorenzoQuantParams>(shape.params);
    let [nx, ny, nz] = p.dims.map(u64::from);
    let groups = nx.div_ceil(32) * ny.div_ceil(EDGE.into()) * nz.div_ceil(EDGE.into());
    if p.ndim == 3 && groups <= FEW_GROUPS {
        return Some(decode_few(&p, groups, shape));
    }
    let marked = (p.ndim, p.value) == (3, 4);
    let (decode, blocks) = match (p.ndim, p.value) {
        (1, _) => ("lorenzo_quant_decode_1d", u64::from(p.count).div_ceil(STRIP.into())),
        // A warp has a tile.
        (2, _) => ("lorenzo_quant_decode_2d", (nx.div_ceil(32) * ny.div_ceil(32)).div_ceil(8)),
        (_, 4) => ("lorenzo_quant_decode_3d_f32", brick_blocks(&p, BLOCK)),
        _ => ("lorenzo_quant_decode_3d_f64", brick_blocks(&p, BLOCK)),
    };
    if marked {
        return Some(decode_marked(&p, shape, blocks));
    }
    let made = DeviceLaunch::one("lorenzo_quant_decode_open", tiles(shape.output(0)).min(BLOCKS), BLOCK);
    Some(finish(made, shape, (decode, blocks)))
}

/// A small volume, in one launch. The first blocks check the lists.
fn decode_few(p: &LorenzoQuantParams, groups: u64, shape: &LaunchShape<'_>) -> DeviceLaunch {
    /// The most blocks that check. With them, all blocks still run at the same time.
    const CHECKERS: u64 = 16;
    let checkers = (shape.input(2) / 4).div_ceil(BLOCK.into()).min(CHECKERS);
    let blocks = checkers + groups.max(1);
    let entry = match p.value {
        4 => "lorenzo_quant_decode_3d_f32_few",
        _ => "lorenzo_quant_decode_3d_f64_few",
    };
    DeviceLaunch::default().then_tagged(entry, blocks, BLOCK, checkers as u32).with(8, 0)
}

/// Large volumes of f32: outliers are marked.
fn decode_marked(p: &LorenzoQuantParams, shape: &LaunchShape<'_>, blocks: u64) -> DeviceLaunch {
    let listed = listed_blocks(shape);
    DeviceLaunch::one("lorenzo_quant_decode_open_marks", tiles(shape.output(0)).min(RESIDENT_BLOCKS), BLOCK)
        .then("lorenzo_quant_decode_lists_marks", listed, BLOCK)
        .then("lorenzo_quant_decode_3d_f32", blocks, BLOCK)
        .then("lorenzo_quant_decode_marked", blocks.min(RESIDENT_BLOCKS / 2), BLOCK)
        .then("lorenzo_quant_decode_exact", listed, BLOCK)
        .with(MIXED_BYTES, marks(p))
}

/// The check that indices of outliers and of exact values ascend.
const MIXED_BYTES: u64 = 8;

/// Blocks that go over the entries of the lists.
fn listed_blocks(shape: &LaunchShape<'_>) -> u64 {
    (shape.input(2) / 4).div_ceil(BLOCK.into()).min(BLOCKS)
}

/// Bytes of the marks of outliers, as in `kernels/lorenzo_quant/marks.cuh`.
fn marks(p: &LorenzoQuantParams) -> u64 {
    let ([across, down, deep], [nx, _, nz]) = (grid(p), p.dims.map(u64::from));
    ((nx * down * nz).next_multiple_of(4) + across * down * deep).next_multiple_of(16)
}

/// One dimension, with tiles around their means: the header is checked first.
pub(super) fn decode_centered(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<LorenzoQuantParams>(shape.params);
    let made = DeviceLaunch::one("lorenzo_quant_check_centered", 1, 32);
    let made = made.then("lorenzo_quant_decode_open", tiles(shape.output(0)).min(BLOCKS), BLOCK);
    let blocks = u64::from(p.count).div_ceil(STRIP.into());
    Some(finish(made, shape, ("lorenzo_quant_decode_centered", blocks)))
}

/// The steps after the check of the lists: the outliers, sums, and the exact values.
fn finish(
    device_launch: DeviceLaunch,
    shape: &LaunchShape<'_>,
    (decode, blocks): (&'static str, u64),
) -> DeviceLaunch {
    let listed = listed_blocks(shape);
    let device_launch = device_launch
        .then("lorenzo_quant_decode_lists", listed, BLOCK)
        .then(decode, blocks, BLOCK)
        .then("lorenzo_quant_decode_exact", listed, BLOCK);
    device_launch.with(MIXED_BYTES, 0)
}

/// True if `fused_fz_decode` accepts fields of these parameters: zigzag codes of u16 from f32 whose tiles are
/// whole bands of eight rows of one plane, twice.
pub(crate) fn is_banded(params: &[u8; PARAM_BYTES]) -> bool {
    let p = read_params::<LorenzoQuantParams>(params);
    let [nx, ny, nz] = p.dims.map(u64::from);
    let whole = nx * ny * nz == u64::from(p.count) && nx * ny % BAND == 0;
    let zigzag = p.switches & ZIGZAG != 0;
    zigzag && p.ndim == 3 && p.value == 4 && p.code == 2 && whole && nx >= 8 && BAND / 2 % (8 * nx) == 0
}

/// Codes of a tile.
const BAND: u64 = TILE as u64 / 2;

/// The decoder at the end of a chain, behind the launches that find the chunks of the stream; `None` for arrays with few
/// blocks: each one restores up to eight tiles one after the other, while separate kernels restore all tiles at once.
pub(crate) fn fused(
    starts: DeviceLaunch,
    shape: &LaunchShape<'_>,
    params: &[u8; PARAM_BYTES],
) -> Option<DeviceLaunch> {
    /// Tiles of a block, and blocks.
    const FEW: [u64; 2] = [2, 32];
    let p = read_params::<LorenzoQuantParams>(params);
    let [nx, ny, nz] = p.dims.map(u64::from);
    let fused_blocks = nx * ny / BAND * nz.div_ceil(EDGE.into());
    if nz > FEW[0] && fused_blocks <= FEW[1] {
        return None;
    }
    let scratch = starts.scratch;
    let device_launch = starts
        .then("lorenzo_quant_decode_open", tiles(shape.input(2)).clamp(1, BLOCKS), BLOCK)
        .then("fused_fz_decode", fused_blocks, 128);
    let device_launch =
        finish(device_launch, shape, ("lorenzo_quant_decode_3d_f32", brick_blocks(&p, BLOCK)));
    Some(DeviceLaunch { scratch, ..device_launch })
}
