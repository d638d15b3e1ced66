//! Launches of the kernels on a GPU.

use super::grid::{Levels, layout};
use super::params::{
    BASE_POINTS, CHOICE_BYTES, COUNTS_BYTES, DECODER_SET_BYTES, ENCODER_PASS_BYTES, ENCODER_SET_BYTES,
    FEW_BATCHES, FEW_THREADS, MASK_RUN, MultilevelParams, PASS_BYTES, PLAN_BYTES, POOL_LESS, RUN_ROOM,
    RUN_WARPS, SAMPLE, STATE_BYTES,
};
use super::steps::Layout;
use crate::ir::device::{DeviceLaunch, LaunchShape};
use crate::ir::kernel::read_params;

/// Blocks of functions that process the whole array, and threads of a block.
const BLOCKS: u64 = 1056;
const THREADS: u32 = 256;
const WARPS: u64 = THREADS as u64 / 32;
/// The batches of a section start at a multiple of this number.
const BATCH_UNIT: usize = 256;
/// Bytes of the sums of the costs of stencils.
const STENCIL_BYTES: u64 = 32 * 32;
/// Bytes of `Ended` in kernels/multilevel/ended.cuh.
const ENDED_BYTES: u64 = 8;

/// Sets of axes that may be interpolated.
fn sets(dims: [usize; 3]) -> impl Iterator<Item = Levels> {
    let long = (0..3).filter(|&d| dims[d] > 1).fold(1u8, |all, d| all | 1 << d);
    [7u8, 3, 5, 1].into_iter().filter(move |axes| axes & !long == 0).map(move |axes| Levels::new(dims, axes))
}

/// Maxima over all choices of interpolated axes.
#[derive(Default)]
pub(super) struct Most {
    pub(super) sections: u32,
    pub(super) batches: u32,
    pub(super) runs: u32,
}

impl Most {
    /// Returns zeros for arrays that are too long for a device.
    pub(super) fn new(dims: [u64; 3], value: u64, decodes: bool) -> Most {
        let n = dims.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).filter(|&n| n < 1 << 31);
        let Some(n) = n else { return Most::default() };
        let dims = dims.map(|d| d as usize);
        if n == 0 {
            return Most { sections: 1, batches: 0, runs: 1 };
        }
        let mut most = [0u64; 3];
        let mut note = |layouts: &[Layout]| {
            let mask_runs = |l: &Layout| l.batches.div_ceil(MASK_RUN as usize) as u64;
            let batches = layouts.iter().map(|l| l.batches.next_multiple_of(BATCH_UNIT) as u64).sum();
            let steps = layouts.iter().map(|l| mask_runs(l) + l.steps.div_ceil(8) as u64).sum::<u64>();
            let masks = layouts.iter().map(mask_runs).sum::<u64>();
            let sections = layouts.len() as u64;
            // The encoder makes at most one run for 2,400 bytes of its estimate at ratios up to 50, and fewer runs of the same values at
            // higher ratios. The estimate is at most 1.6 times the bytes of the values.
            let runs = if decodes { steps } else { masks + n * value / 1200 + sections };
            for (most, own) in most.iter_mut().zip([sections, batches, runs + 1]) {
                *most = (*most).max(own);
            }
        };
        note(&[Layout::rows(n as usize, 1)]);
        for set in sets(dims) {
            let passes = (1..=set.base_ends()).flat_map(|level| set.passes(level));
            let layouts: Vec<_> = [set.base_layout()].into_iter().chain(passes.map(|p| layout(&p))).collect();
            note(&layouts);
        }
        let [sections, batches, runs] = most.map(|m| u32::try_from(m).unwrap_or(0));
        Most { sections, batches, runs }
    }
}

fn elements(p: &MultilevelParams) -> u64 {
    p.dims.iter().product()
}

fn up(bytes: u64) -> u64 {
    bytes.next_multiple_of(16)
}

/// Selects the function for the element type.
fn of_type(p: &MultilevelParams, functions: [&'static str; 2]) -> &'static str {
    functions[usize::from(p.value != 4)]
}

macro_rules! functions {
    ($kind:literal) => {
        [concat!("multilevel_", $kind, "_f32"), concat!("multilevel_", $kind, "_f64")]
    };
}

/// Bytes of `Memory` in kernels/multilevel/memory.cuh, which encoders and decoders have.
fn common_bytes(p: &MultilevelParams) -> u64 {
    let runs = u64::from(p.runs);
    up(PLAN_BYTES) + up(STATE_BYTES) + up(p.batches.into()) + 2 * up(4 * runs) + up(8 * runs)
}

/// Bytes of the known points of all levels, `Buffers` in the same file. Even levels have at most half as many points.
fn known_bytes(p: &MultilevelParams) -> u64 {
    let rows = p.dims[1] * p.dims[2] * u64::from(p.value);
    up(rows * p.dims[0].div_ceil(2)) + up(rows * p.dims[0].div_ceil(4))
}

/// The levels that are sections, from the coarsest on, with the axes over which any set of axes has a pass. The pass over x is
/// the last one of a level and always exists.
fn passes(p: &MultilevelParams) -> Vec<(u32, Vec<u32>)> {
    let dims = p.dims.map(|d| d as usize);
    let most = sets(dims).map(|set| set.base_ends()).max().unwrap_or(0);
    let axes = |level: u32| {
        let has = |axis: u32| {
            let own = |set: Levels| {
                set.base_ends() >= level && set.passes(level).iter().any(|pass| pass.axis == axis as usize)
            };
            axis == 0 || sets(dims).any(own)
        };
        [2, 1, 0].into_iter().filter(|&axis| has(axis)).collect()
    };
    (1..=most).rev().map(|level| (level, axes(level))).collect()
}

/// The largest number of blocks of a pass, for f32 and for f64: those that 132 multiprocessors execute at a time. Warps have equal
/// shares of a pass, so a second wave would leave most of the device idle. A pass over x may code that over y too, which requires
/// more registers.
const ENCODER_LINES_BLOCKS: [u64; 2] = [5 * 132, 8 * 132];
const ENCODER_ROWS_BLOCKS: [u64; 2] = [4 * 132, 8 * 132];
const DECODER_BLOCKS: [u64; 2] = [4 * 132, 5 * 132];

/// Blocks of a pass of a level, and threads of a block, which are fewer for wide values.
fn pass_launch(p: &MultilevelParams, level: u32, most: [u64; 2], bytes: u32) -> (u64, u32) {
    let threads = bytes / p.value;
    // At most half of the points of a level are those of one pass. A level has at most half of the points of the next finer one,
    // which is the case if x alone is interpolated.
    let warps = (elements(p) >> level).div_ceil(256);
    let blocks = warps.div_ceil(u64::from(threads / 32));
    (blocks.clamp(64, most[usize::from(p.value == 8)]), threads)
}

/// Blocks for roots; there may be many roots if x alone is interpolated.
fn root_blocks(p: &MultilevelParams) -> u64 {
    let roots = p.dims[1] * p.dims[2];
    if roots > BASE_POINTS.into() { roots.div_ceil(4096).min(BLOCKS / 4) } else { 1 }
}

pub(super) fn resolve(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<MultilevelParams>(shape.params);
    if p.sections == 0 {
        return None;
    }
    let levels = p.dims.iter().max().map_or(0, |&d| d.max(1).next_power_of_two().trailing_zeros());
    let made = DeviceLaunch::one(of_type(&p, functions!("sample")), 1, 1024)
        .then(of_type(&p, functions!("choose")), 3 * u64::from(levels) + u64::from(SAMPLE) / 1024, 1024)
        .then("multilevel_decide", 1, 32);
    Some(made.with(0, CHOICE_BYTES))
}

pub(super) fn encode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<MultilevelParams>(shape.params);
    if p.sections == 0 {
        return None;
    }
    let (n, sections, runs) = (elements(&p), u64::from(p.sections), u64::from(p.runs));
    let bytes = n * u64::from(p.value);
    let mut made = DeviceLaunch::one(of_type(&p, functions!("base_encode")), root_blocks(&p) + 1, 1024);
    let wide = n.div_ceil(2048).min(BLOCKS);
    made = made.then(of_type(&p, functions!("quotients")), wide, THREADS);
    made = made.then("multilevel_differences", wide, THREADS);
    for (level, axes) in passes(&p) {
        made = made.then_tagged(of_type(&p, functions!("stencil")), 3 * 16, THREADS, 4 * level);
        for axis in axes {
            let (name, most) = if axis > 0 {
                (functions!("encode_lines"), ENCODER_LINES_BLOCKS)
            } else {
                (functions!("encode_rows"), ENCODER_ROWS_BLOCKS)
            };
            let (blocks, threads) = pass_launch(&p, level, most, ENCODER_PASS_BYTES);
            made = made.then_tagged(of_type(&p, name), blocks, threads, 4 * level + axis);
        }
    }
    // Runs have different lengths, so more blocks than run at the same time distribute them better. A section has at most two groups of
    // runs that leave warps of a block without one.
    let run_blocks = (runs.div_ceil(RUN_WARPS.into()) + 2 * sections).min(8 * BLOCKS);
    let run_threads = 32 * RUN_WARPS;
    made = if p.batches <= FEW_BATCHES {
        made.then("multilevel_tables_few", 3 * sections, 512)
    } else {
        made.then("multilevel_count_masks", u64::from(p.batches).div_ceil(1024), THREADS).then(
            "multilevel_tables",
            3 * sections,
            512,
        )
    };
    made = made
        .then("multilevel_runs", 1, 128)
        .then("multilevel_starts", sections, 1024)
        .then(of_type(&p, functions!("encode_runs")), run_blocks, run_threads)
        .then("multilevel_place", sections, 1024)
        .then("multilevel_gather", (runs + sections).div_ceil(WARPS).min(BLOCKS), THREADS)
        .then(of_type(&p, functions!("encode_again")), run_blocks.min(BLOCKS / 4), run_threads)
        .then(of_type(&p, functions!("list")), wide, THREADS);
    let pool = (bytes - bytes / POOL_LESS + u64::from(RUN_ROOM) * runs).max(known_bytes(&p)).max(4 * n);
    let scratch =
        common_bytes(&p) + up(3 * sections * ENCODER_SET_BYTES) + 2 * up(2 * n) + up(n / 512 + 4) + pool;
    Some(made.with(sections * COUNTS_BYTES + STENCIL_BYTES + ENDED_BYTES, scratch))
}

/// Numbers the launches in their tags, which also contain level and axis.
fn ordered(mut made: DeviceLaunch) -> DeviceLaunch {
    for (order, launch) in made.launches.iter_mut().enumerate() {
        launch.tag |= (order as u32) << 8;
    }
    made
}

pub(super) fn decode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<MultilevelParams>(shape.params);
    if p.sections == 0 {
        return None;
    }
    let (n, sections) = (elements(&p), u64::from(p.sections));
    let mask_runs = u64::from(p.batches).div_ceil(MASK_RUN.into()) + sections;
    let wide = n.div_ceil(2048).min(BLOCKS);
    let opened = if p.batches <= FEW_BATCHES {
        DeviceLaunch::one(of_type(&p, functions!("open_few")), sections, FEW_THREADS)
    } else {
        DeviceLaunch::one("multilevel_open", sections, THREADS)
            .then(of_type(&p, functions!("decode_masks")), 1 + mask_runs.div_ceil(WARPS).min(BLOCKS), THREADS)
            .then("multilevel_decode_starts", sections, 1024)
    };
    let mut made = opened
        .then(of_type(&p, functions!("decode_roots")), root_blocks(&p), THREADS)
        .then("multilevel_decode_differences", wide, THREADS)
        .then_tagged("multilevel_sum_rows", wide, THREADS, 0)
        .then_tagged("multilevel_sum_rows", wide, THREADS, 1);
    for axis in (1..3u32).filter(|&axis| p.dims[axis as usize] > 1) {
        made = made.then_tagged("multilevel_sum_lines", wide, THREADS, axis);
    }
    made = made.then(of_type(&p, functions!("restore")), wide, THREADS).then(
        of_type(&p, functions!("put_exact")),
        wide,
        THREADS,
    );
    for (level, axes) in passes(&p) {
        let (blocks, threads) = pass_launch(&p, level, DECODER_BLOCKS, PASS_BYTES);
        for axis in axes {
            let name = if axis > 0 { functions!("decode_lines") } else { functions!("decode_rows") };
            made = made.then_tagged(of_type(&p, name), blocks, threads, 4 * level + axis);
        }
    }
    let made = ordered(made.then("multilevel_finish", wide, THREADS));
    let values = known_bytes(&p).max(up(4 * n) + up(n / 256 + 8));
    Some(made.with(8 + ENDED_BYTES, common_bytes(&p) + up(2 * sections * DECODER_SET_BYTES) + values))
}
