//! How the kernels run on a GPU.

use super::grid::TileGrid;
use super::params::{GinterpParams, PAIRS, SAMPLE_STRIDE, SAMPLE_STRIDE_2D, STRICT, TUNE_BYTES, UNSET};
use crate::ir::device::{DeviceLaunch, LaunchShape};
use crate::ir::kernel::read_params;

/// Blocks of functions that go over all of the array, or over a sample.
const BLOCKS: u64 = 4096;
const THREADS: u32 = 256;

/// The device functions of one kind, for values of one width and a number of dimensions.
macro_rules! functions {
    ($kind:literal) => {
        [
            [concat!($kind, "_f32_2d"), concat!($kind, "_f32_3d")],
            [concat!($kind, "_f64_2d"), concat!($kind, "_f64_3d")],
        ]
    };
}

/// Those for whole volumes with default flags, by widths of values and codes.
macro_rules! volume_functions {
    ($kind:literal) => {
        [
            [concat!($kind, "_f32_u8"), concat!($kind, "_f32_u16"), concat!($kind, "_f32_u32")],
            [concat!($kind, "_f64_u8"), concat!($kind, "_f64_u16"), concat!($kind, "_f64_u32")],
        ]
    };
}

fn function(p: &GinterpParams, functions: [[&'static str; 2]; 2]) -> &'static str {
    functions[usize::from(p.value != 4)][usize::from(p.dims[2] > 1)]
}

fn volume_function(p: &GinterpParams, functions: [[&'static str; 3]; 2]) -> &'static str {
    functions[usize::from(p.value != 4)][usize::from(p.code / 2)]
}

fn is_strict(p: &GinterpParams) -> bool {
    p.switches & STRICT != 0
}

/// Blocks for `n` elements, or bytes of them.
fn blocks(n: u64) -> u64 {
    n.div_ceil(THREADS.into()).min(BLOCKS)
}

/// Sample tiles, as [`super::tune`] places them.
fn windows(grid: &TileGrid) -> u64 {
    let stride = (if grid.body[2] > 1 { SAMPLE_STRIDE } else { SAMPLE_STRIDE_2D }) as usize;
    let along = |d: usize| {
        let (middle, half) = (grid.dims[d] / 2, grid.body[d] / 2);
        let behind = grid.dims[d].saturating_sub(half + 1 + middle) / stride;
        if grid.body[d] == 1 { 1 } else { (middle.saturating_sub(half) / stride + behind + 1) as u64 }
    };
    (0..3).map(along).product()
}

pub(super) fn resolve(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<GinterpParams>(shape.params);
    let grid = TileGrid::new(&p);
    // The reference does not tune these arrays.
    let untuned = !is_strict(&p) && (p.value == 8 || grid.body[2] == 1 && p.tuning == 1);
    let mode = if untuned { 0 } else { p.tuning };
    let (sums, pairs) = if is_strict(&p) {
        (function(&p, functions!("ginterp_tune")), function(&p, functions!("ginterp_tune_pairs")))
    } else {
        let flat = grid.body[2] == 1;
        let sums = if flat { "ginterp_tune_literal_f32_2d" } else { "ginterp_tune_literal_f32_3d" };
        let pairs =
            if flat { "ginterp_tune_pairs_literal_f32_2d" } else { "ginterp_tune_pairs_literal_f32_3d" };
        (sums, pairs)
    };
    let levels = grid.levels as u64;
    let mut made = DeviceLaunch::default();
    if matches!(mode, 1 | 2) {
        made = made.then(sums, 1, THREADS);
    }
    if matches!(mode, 3 | 4) {
        made = made.then(sums, (windows(&grid) * levels).min(BLOCKS), THREADS);
    }
    if mode == 4 {
        made = made.then(pairs, (windows(&grid) * u64::from(PAIRS)).min(BLOCKS), THREADS);
    }
    Some(made.then("ginterp_resolve", 1, 32).with(if matches!(mode, 1..=4) { TUNE_BYTES } else { 0 }, 0))
}

/// Tiles whose lists a block writes, and its threads, as in kernels/ginterp/list.cu.
const LISTED_TILES: u64 = 32;
const LIST_THREADS: u32 = 128;

/// A block encodes a tile. Then the lists are written.
pub(super) fn encode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<GinterpParams>(shape.params);
    let grid = TileGrid::new(&p);
    let tiles = grid.anchors() as u64;
    let default_flags = [p.md, p.natural, p.reverse] == [UNSET; 3] && matches!(p.tuning, 0 | 5);
    let wide = p.value != 4;
    let strict = is_strict(&p);
    let (name, threads) = if !strict {
        (function(&p, functions!("ginterp_encode_literal")), THREADS)
    } else if p.dims[2] > 1 && default_flags {
        (volume_function(&p, volume_functions!("ginterp_encode_volume")), VOLUME_THREADS)
    } else {
        (function(&p, functions!("ginterp_encode")), THREADS)
    };
    // `BlockSums` in kernels/common/sums.cuh; the number of each point that is not strict.
    let sums: u64 = [6, 12, 18].iter().map(|bits| tiles.div_ceil(1 << bits)).sum();
    let numbers = if strict { 0 } else { grid.elements() as u64 * u64::from(p.value) };
    let list = match (strict, wide) {
        (true, false) => "ginterp_list_f32",
        (true, true) => "ginterp_list_f64",
        (false, false) => "ginterp_list_literal_f32",
        (false, true) => "ginterp_list_literal_f64",
    };
    let made = DeviceLaunch::one(name, tiles, threads).then(list, tiles.div_ceil(LISTED_TILES), LIST_THREADS);
    let made = made.with(8 * sums + 4 * tiles, numbers);
    // The last launch finds the entries of both lists by the codes.
    Some(if strict { made.with_late(&[1, 3, 4], &[2]) } else { made })
}

/// Threads of a block of the functions for volumes with default flags.
const VOLUME_THREADS: u32 = 128;

/// The flags are in the header: of two functions for volumes one returns at once.
pub(super) fn decode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<GinterpParams>(shape.params);
    let grid = TileGrid::new(&p);
    let (tiles, elements) = (grid.anchors() as u64, grid.elements() as u64);
    let entries = shape.input(3) / 4;
    if !is_strict(&p) {
        // The results of the run, and for each element the number of its entry.
        let opened = DeviceLaunch::one("ginterp_open_literal", blocks(elements), THREADS)
            .then("ginterp_place_outliers", blocks(entries), THREADS)
            .then(function(&p, functions!("ginterp_decode_literal")), tiles, THREADS);
        return Some(opened.with(0, 256 + 4 * elements));
    }
    let mut made = DeviceLaunch::one("ginterp_open", blocks(entries), THREADS);
    if p.dims[2] > 1 {
        let volume = volume_function(&p, volume_functions!("ginterp_decode_volume"));
        made = made.then(volume, tiles, VOLUME_THREADS);
    }
    // The number of exact values, and of the tiles that were counted.
    Some(made.then(function(&p, functions!("ginterp_decode")), tiles.min(BLOCKS), THREADS).with(8, 0))
}

pub(super) fn to_levels(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    permute("ginterp_level_order", shape)
}

pub(super) fn to_tiles(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    permute("ginterp_tile_order", shape)
}

/// A thread moves several codes.
#[expect(clippy::unnecessary_wraps, reason = "the type of all recipes")]
fn permute(entry: &'static str, shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<GinterpParams>(shape.params);
    Some(DeviceLaunch::one(entry, blocks(TileGrid::new(&p).elements() as u64), THREADS))
}
