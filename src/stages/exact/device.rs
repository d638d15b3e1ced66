//! Launches of the kernels on a GPU.

use super::params::{BLOCKS, ExactParams, SAMPLE, STATE_BYTES, TABLE, ZEROED_BYTES};
use crate::ir::device::{DeviceLaunch, LaunchShape};
use crate::ir::kernel::read_params;
use crate::stages::multilevel::classed::{
    DECODER_SET_BYTES, ENCODER_SET_BYTES, MASK_RUN, POINTS, RUN_ROOM, RUN_WARPS,
};

/// Threads of a block.
const THREADS: u32 = 256;
/// Threads of a block whose warps code runs.
const RUN_THREADS: u32 = 32 * RUN_WARPS;
/// Batches of a section start at a multiple of this number.
const UNIT: u64 = 256;
/// Steps of the shortest run.
const SHORTEST: u64 = 8;
/// Blocks that search for values: three on each of 132 multiprocessors, as many as are executed at a time.
const SEARCH_BLOCKS: u64 = 3 * 132;
/// Blocks of launches that mostly have no work: more take longer to end.
const FEW_BLOCKS: u64 = 2 * 132;
/// Integers of a step.
const STEP: u64 = 32;
/// The sections of the table and of the array.
const PARTS: u64 = 2;
/// Orders of differences and orders with holes that an encoder compares, each in a block.
const ORDERS: u64 = 16 + 2;

fn up(bytes: u64) -> u64 {
    bytes.next_multiple_of(16)
}

fn elements(p: &ExactParams) -> u64 {
    p.dims.iter().product()
}

/// The most values of a table in a stream.
fn most_values(n: u64) -> u64 {
    n.min(TABLE.into())
}

fn mask_runs(integers: u64) -> u64 {
    integers.div_ceil(POINTS as u64).div_ceil(MASK_RUN.into())
}

/// The largest numbers of runs and mask runs in a stream: of the table and of the whole; 0 for arrays that are too long for a device.
/// An encoder makes at most one run for 9,600 bytes of its estimate at ratios up to 50, and fewer runs of the same integers at higher
/// ratios.
pub(super) fn most_runs(dims: [u64; 3], width: u64, decodes: bool) -> [u32; 2] {
    let n = dims.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).filter(|&n| n < 1 << 31);
    let Some(n) = n else { return [0; 2] };
    let values = most_values(n);
    let runs = |integers: u64| integers.div_ceil(STEP).div_ceil(SHORTEST);
    let table = if decodes { mask_runs(values) + runs(values) } else { mask_runs(values) };
    let array = mask_runs(n) + if decodes { runs(n) } else { (n + values) * width / 1000 + 64 };
    [table, table + array + 1].map(|runs| u32::try_from(runs).unwrap_or(0))
}

/// The most values of a table that an encoder makes, and the slots of its search.
fn table_room(n: u64) -> (u64, u64) {
    let room = (n / 4).min(TABLE.into());
    (room, (2 * room).next_power_of_two().max(64))
}

/// The room of the batches of a section.
fn batch_room(integers: u64) -> u64 {
    integers.div_ceil(POINTS as u64 * UNIT) * UNIT
}

/// The room of integers of which whole batches are stored.
fn whole_batches(integers: u64) -> u64 {
    integers.next_multiple_of(POINTS as u64)
}

/// Bytes of `Memory` in kernels/exact/memory.cuh, which encoders and decoders have.
fn common_bytes(p: &ExactParams, n: u64) -> u64 {
    let runs = u64::from(p.runs);
    up(STATE_BYTES)
        + up(batch_room(most_values(n)) + batch_room(n))
        + 2 * up(4 * runs)
        + up(8 * runs)
        + PARTS * up(8 * u64::from(BLOCKS))
}

/// Numbers the launches in their tags.
fn ordered(mut made: DeviceLaunch) -> DeviceLaunch {
    for (order, launch) in made.launches.iter_mut().enumerate() {
        launch.tag |= (order as u32) << 8;
    }
    made
}

/// Blocks for `n` integers.
fn wide(n: u64) -> u64 {
    n.div_ceil(2048).clamp(1, BLOCKS.into())
}

/// Blocks that find the starts of runs in each section.
fn start_blocks(n: u64) -> u64 {
    n.div_ceil(POINTS as u64 * 16384).clamp(1, 128)
}

/// Blocks that code at most `runs` runs. Those that have none end at once.
fn run_blocks(runs: u32) -> u64 {
    u64::from(runs).div_ceil(u64::from(RUN_WARPS)).min(4 * u64::from(BLOCKS))
}

/// The launches that list the distinct values of `n` integers, and choose among tables by the ranks of the sample.
fn table(mut made: DeviceLaunch, n: u64) -> DeviceLaunch {
    let (room, slots) = table_room(n);
    if room == 0 {
        return made;
    }
    let sorted = room.div_ceil(2048);
    // Behind an odd number of merges the values are in the second list, as the last launch expects.
    let merges = sorted.next_power_of_two().trailing_zeros().div_ceil(3) | 1;
    made = made
        .then("exact_insert", wide(n).min(SEARCH_BLOCKS), THREADS)
        .then("exact_list_values", wide(slots).min(FEW_BLOCKS), THREADS)
        .then("exact_sort_values", sorted, 1024);
    for turn in 0..merges {
        made = made.then_tagged("exact_merge_values", wide(room), THREADS, turn);
    }
    made.then_tagged("exact_number_values", wide(room), THREADS, merges)
        .then("exact_rank_sample", n.min(SAMPLE.into()).div_ceil(8), THREADS)
        .then_tagged("exact_choose", ORDERS + 1, 1024, 1)
}

/// The launches that code batches. The second one codes arrays whose rows consist of whole batches, if they have differences along y.
fn code(made: DeviceLaunch, p: &ExactParams, blocks: u64) -> DeviceLaunch {
    // Blocks that 132 multiprocessors execute at a time.
    let (single, rows, most) = if p.width <= 4 {
        ("exact_code", "exact_code_rows", 5 * 132)
    } else {
        ("exact_code_wide", "exact_code_rows_wide", 4 * 132)
    };
    let (made, has_rows) = (made.then(single, blocks.min(most), THREADS), p.dims[0] % POINTS as u64 == 0);
    if has_rows && p.dims[1] > 1 { made.then(rows, blocks.min(most), THREADS) } else { made }
}

/// The launches that move frequent values to the front of the table, and replace integers by ranks.
fn rank(made: DeviceLaunch, n: u64) -> DeviceLaunch {
    let (room, slots) = table_room(n);
    if room == 0 {
        return made;
    }
    made.then("exact_order_values", wide(slots).min(FEW_BLOCKS), THREADS).then(
        "exact_rank",
        wide(n).min(4 * 132),
        THREADS,
    )
}

pub(super) fn encode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<ExactParams>(shape.params);
    if p.runs == 0 {
        return None;
    }
    let (n, width) = (elements(&p), u64::from(p.width));
    let blocks = wide(n);
    let made = DeviceLaunch::one("exact_sample", 2, 1024)
        .then("exact_places", blocks, THREADS)
        .then("exact_integers", blocks, THREADS)
        .then_tagged("exact_choose", ORDERS, 1024, 0);
    let made = rank(table(made, n).then("exact_decide", 1, 32), n)
        .then("exact_fills", blocks, THREADS)
        .then("exact_fills_before", 1, 1024)
        .then("exact_scale", PARTS, 1024);
    let made = code(made, &p, blocks)
        .then("exact_count_classes", blocks, THREADS)
        .then("exact_tables", 2 * PARTS, 512)
        .then("exact_runs", 1, 32)
        .then("exact_starts", PARTS * start_blocks(n), 1024)
        .then("exact_encode_runs", run_blocks(p.runs), RUN_THREADS)
        .then("exact_place", PARTS, 1024)
        .then_tagged("exact_stream", 1, 1024, blocks as u32)
        .then("exact_gather", blocks, THREADS)
        .then("exact_encode_again", run_blocks(p.runs).min(FEW_BLOCKS), RUN_THREADS)
        .then("exact_put_low", blocks, THREADS);
    let (room, slots) = table_room(n);
    let (all, values) = (whole_batches(n), whole_batches(room));
    // `EncoderMemory` in kernels/exact/encoder.cuh.
    let tokens = up(4 * (all + values)) + up(2 * (batch_room(most_values(n)) + batch_room(n)));
    let search = up(8 * slots + 8) + up(4 * slots + 4);
    let beside = if width < 4 { up(u64::from(RUN_ROOM) * u64::from(p.runs)) } else { 0 };
    let scratch = common_bytes(&p, n)
        + up(2 * PARTS * ENCODER_SET_BYTES)
        + tokens.max(search)
        + 2 * up(width * all)
        + beside
        + 2 * up(width * values)
        + up(4 * n.div_ceil(2048))
        + up(8 * u64::from(SAMPLE) / 2);
    Some(made.with(ZEROED_BYTES, scratch))
}

pub(super) fn decode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<ExactParams>(shape.params);
    if p.runs == 0 {
        return None;
    }
    let (n, values) = (elements(&p), most_values(elements(&p)));
    let blocks = wide(n);
    let masks = (mask_runs(values) + mask_runs(n)).div_ceil(u64::from(THREADS / 32));
    let mut made = DeviceLaunch::one("exact_open", PARTS, 1024)
        .then("exact_decode_classes", masks, THREADS)
        .then("exact_decode_starts", PARTS * start_blocks(n), 1024)
        .then("exact_decode_codes", run_blocks(p.runs), RUN_THREADS)
        .then("exact_count_low", blocks, THREADS)
        .then("exact_unpack", blocks, THREADS);
    // The launch before the first sums has added up the differences of its blocks. Sums of sums require a second launch.
    for turn in 0..2 {
        made = made.then_tagged("exact_sum_x", blocks, THREADS, turn);
    }
    for axis in (1..3).filter(|&axis| p.dims[axis] > 1) {
        made = made.then_tagged("exact_sum_lines", blocks, THREADS, axis as u32);
    }
    let made = ordered(made.then("exact_elements", blocks, THREADS));
    let integers = |n: u64| up(8 * u64::from(BLOCKS)) + up(2 * whole_batches(n)) + up(u64::from(p.width) * n);
    let words = up(2 * (batch_room(values) + batch_room(n))) + up(8 * n.div_ceil(POINTS as u64));
    let scratch =
        common_bytes(&p, n) + up(2 * PARTS * DECODER_SET_BYTES) + words + integers(values) + integers(n);
    Some(made.with(16, scratch))
}
