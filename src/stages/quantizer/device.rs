//! How the kernels run on a GPU.

use super::params::{
    ABS, BOUND_COUNTS_BYTES, IN_PLACE, PREVIOUS, QuantizerParams, QuantizerRelParams, RANGE, RANGE_BYTES,
    STRICT,
};
use super::step;
use crate::ir::device::{DeviceLaunch, LaunchShape, TILE, tiles};
use crate::ir::kernel::read_params;
use crate::stages::params::{TILE_COUNTS_BYTES, UNIT_THREADS as THREADS};

/// Blocks of functions that go over all of the array several tiles at a time.
const BLOCKS: u64 = 1024;
/// Blocks that look at a sample.
const SAMPLERS: u64 = 256;
/// Groups of it that are worth a block, two to a warp: as many as are on their way before the first is looked at cost more
/// time than further blocks do.
const GROUPS: u64 = 16;

/// Bytes of the largest array for which one block does all work: alone, where it saves a launch, and in a batch.
const ALONE: u64 = 1 << 16;
const BATCHED: u64 = 1 << 20;

/// The last block of the range scan resolves the bound; the last one of the sample chooses the step. A base that is given
/// is resolved where the step is chosen.
pub(super) fn bound(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<QuantizerParams>(shape.params);
    let bytes = shape.input(0);
    let whole = p.switches & (RANGE | PREVIOUS) == 0;
    // Smaller blocks: a multiprocessor processes more arrays of a batch at a time.
    let (threads, in_batch) = if bytes <= u64::from(TILE) { (256, 64) } else { (512, 512) };
    if whole && bytes <= ALONE {
        let alone = DeviceLaunch::one("quantizer_bound_whole", 1, threads);
        return Some(alone.batched("quantizer_bound_whole", 1, in_batch));
    }
    let measured = p.mode != ABS && p.value_base == 0.0 || p.switches & RANGE != 0;
    let blocks = if measured { tiles(bytes).clamp(1, BLOCKS) } else { 1 };
    // Where exact values cost nothing, the step is the whole bound (parameter fixed_step).
    let steps = p.switches & STRICT != 0 && p.value == 4 && p.exact_bits != 0;
    let scan = if measured || !steps {
        DeviceLaunch::one("quantizer_bound", blocks, THREADS)
    } else {
        DeviceLaunch::default()
    };
    let previous = p.switches & PREVIOUS != 0;
    let samplers = (step::sample(bytes as usize / 4).0 as u64).div_ceil(GROUPS).clamp(1, SAMPLERS);
    let step = DeviceLaunch::one("quantizer_bound_step", samplers, THREADS);
    let again = if steps { step } else { DeviceLaunch::one("quantizer_bound", 1, THREADS) };
    let all = if steps { scan.then("quantizer_bound_step", samplers, THREADS) } else { scan };
    let all = all.with(BOUND_COUNTS_BYTES, RANGE_BYTES * blocks);
    // A batch has a block for each of its arrays, which then waits for no other block.
    let batched = whole && bytes <= BATCHED;
    let all = if measured { all } else { all.sampled() };
    let all = if previous { all.clone().with_tries(all, again) } else { all };
    Some(if batched { all.batched("quantizer_bound_whole", 1, in_batch) } else { all })
}

pub(super) fn encode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<QuantizerParams>(shape.params);
    let tiles = value_tiles(p.value, p.code, shape.output(0));
    if p.switches & IN_PLACE != 0 {
        return Some(DeviceLaunch::one("quantizer_encode", tiles, THREADS));
    }
    Some(listed(["quantizer_encode", "quantizer_encode_places", "quantizer_encode_lists"], tiles))
}

/// Codes of tiles, the places of their outliers, and the lists.
fn listed(entries: [&'static str; 3], tiles: u64) -> DeviceLaunch {
    let [codes, places, lists] = entries;
    let device_launch = DeviceLaunch::one(codes, tiles, THREADS).then(places, 1, 1024);
    // The number of outliers, and the counts of each tile.
    device_launch.then(lists, tiles.min(BLOCKS), THREADS).with(8, TILE_COUNTS_BYTES * tiles)
}

pub(super) fn decode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<QuantizerParams>(shape.params);
    let device_launch =
        DeviceLaunch::one("quantizer_decode", value_tiles(p.value, p.code, shape.input(0)), THREADS);
    Some(if p.switches & IN_PLACE != 0 {
        device_launch
    } else {
        unlisted(device_launch, "quantizer_decode_lists", shape)
    })
}

/// The same and the lists of input 2.
fn unlisted(device_launch: DeviceLaunch, entry: &'static str, shape: &LaunchShape<'_>) -> DeviceLaunch {
    let blocks = (shape.input(2) / 4).div_ceil(THREADS.into()).min(BLOCKS);
    // The check that indices ascend.
    device_launch.then(entry, blocks, THREADS).with(4, 0)
}

/// Nothing of it depends on the values.
#[expect(clippy::unnecessary_wraps, reason = "the type of all recipes")]
pub(super) fn rel_bound(_: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    Some(DeviceLaunch::one("quantizer_rel_bound", 1, 32))
}

pub(super) fn rel_encode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let tiles = rel_tiles(shape, shape.output(0));
    let entries = ["quantizer_rel_encode", "quantizer_rel_encode_places", "quantizer_rel_encode_lists"];
    Some(listed(entries, tiles))
}

pub(super) fn rel_decode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let device_launch = DeviceLaunch::one("quantizer_rel_decode", rel_tiles(shape, shape.input(0)), THREADS);
    Some(unlisted(device_launch, "quantizer_rel_decode_lists", shape))
}

fn rel_tiles(shape: &LaunchShape<'_>, codes: u64) -> u64 {
    let (value, code) = read_params::<QuantizerRelParams>(shape.params).widths();
    value_tiles(value, code, codes)
}

/// Tiles of the values of `value` bytes that `codes` bytes of codes represent.
fn value_tiles(value: u32, code: u32, codes: u64) -> u64 {
    tiles(codes / u64::from(code.max(1)) * u64::from(value))
}
