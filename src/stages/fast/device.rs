//! How the kernels run on a GPU.

use super::division;
use super::params::{
    CHUNK, FastParams, LAG, LARGE_GROUP, RING, SMALL_CHUNKS, SMALL_GROUP, SMALL_GROUPS, STATE_BYTES,
    SUM_BYTES,
};
use crate::ir::device::{DeviceLaunch, LaunchShape};
use crate::ir::kernel::read_params;

/// The device functions of one kind, for values of one width and a number of dimensions.
macro_rules! functions {
    ($kind:literal) => {
        [
            [concat!($kind, "_f32_1d"), concat!($kind, "_f32_2d"), concat!($kind, "_f32_3d")],
            [concat!($kind, "_f64_1d"), concat!($kind, "_f64_2d"), concat!($kind, "_f64_3d")],
        ]
    };
}

/// Selects the function for the element type and the number of dimensions.
fn function(p: &FastParams, functions: [[&'static str; 3]; 2]) -> &'static str {
    let [one, two, three] = functions[usize::from(p.value != 4)];
    match p.ndim {
        1 => one,
        2 => two,
        _ => three,
    }
}

pub(super) fn encode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<FastParams>(shape.params);
    let (chunks, masked) = (chunks(&p)?, p.threshold.is_finite());
    if chunks <= SMALL_CHUNKS.into() {
        let name = function(&p, functions!("fast_encode_small"));
        let one = DeviceLaunch::one(name, chunks, 256).with(STATE_BYTES * chunks, 0);
        // A single array does not fill the device, so that fewer operations save no time.
        return Some(match (p.value, p.ndim) {
            (4, 3) if p.half2 != 0 && !masked && patch(&p) => one.batched("fast_encode_patch_f32_3d", 1, 256),
            (4, 3) if p.half2 != 0 && !masked => one.batched("fast_encode_small_half2_f32_3d", chunks, 256),
            _ => one,
        });
    }
    // A block for each chunk, and one for each group of chunks, which copies them to their place.
    let group = group(chunks);
    let groups = chunks.div_ceil(group);
    let [name, measuring] = match (p.value, p.ndim) {
        // Takes precedence over half2: units of fill values alone have codes of 0, which may be out of the reach of others.
        (4, 3) if masked => ["fast_encode_masked_f32_3d", "fast_encode_measuring_masked_f32_3d"],
        (4, 2) if masked => ["fast_encode_masked_f32_2d", "fast_encode_measuring_masked_f32_2d"],
        (4, 3) if p.half2 != 0 => ["fast_encode_half2_f32_3d", "fast_encode_measuring_half2_f32_3d"],
        _ => [functions!("fast_encode"), functions!("fast_encode_measuring")].map(|all| function(&p, all)),
    };
    let blocks = groups * (group + 1) + groups.min(u64::from(LAG) / group);
    let [device_launch, first, second] =
        [name, measuring, measuring].map(|name| DeviceLaunch::one(name, blocks, 256));
    // `LookbackState` in kernels/fast/lookback.cuh.
    let sums: u64 = [6, 12, 18].iter().map(|bits| chunks.div_ceil(1 << bits)).sum();
    let slots = chunks.min(RING.into()) * u64::from(CHUNK) * u64::from(p.value);
    let device_launch = device_launch.with(SUM_BYTES * sums + STATE_BYTES * chunks, slots);
    Some(device_launch.with_tries(first, second).divided(&division::ENCODER))
}

pub(super) fn decode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<FastParams>(shape.params);
    let chunks = chunks(&p)?;
    // A block restores a chunk, a warp a unit. Of more chunks the units are too many for the device.
    if chunks <= SMALL_CHUNKS.into() {
        let one = DeviceLaunch::one(function(&p, functions!("fast_decode_small")), chunks, 256);
        let one = one.single(function(&p, functions!("fast_decode_single")));
        return Some(if patch(&p) { one.batched("fast_decode_patch_f32_3d", 1, 256) } else { one });
    }
    // A warp restores a chunk; places of larger blocks would stay empty until the last of their warps has ended.
    let blocks = chunks.div_ceil(division::DECODER_CHUNKS);
    Some(DeviceLaunch::one(function(&p, functions!("fast_decode")), blocks, 64).divided(&division::DECODER))
}

/// Chunks of a group, which one block copies to their places.
pub(super) fn group(chunks: u64) -> u64 {
    u64::from(if chunks <= SMALL_GROUPS.into() { SMALL_GROUP } else { LARGE_GROUP })
}

/// True for arrays that kernels/fast/patch.cuh describes: a block codes both chunks.
fn patch(p: &FastParams) -> bool {
    const SIDE: u64 = 16;
    (p.value, p.ndim) == (4, 3) && p.dims.iter().all(|&d| d <= SIDE) && p.dims[0] % 4 == 0
}

/// None where numbers of chunks, or lengths of more than one dimension, take more than 32 bits.
fn chunks(p: &FastParams) -> Option<u64> {
    let long = p.ndim > 1 && p.dims.iter().any(|&d| d >= 1 << 31);
    let chunks = u64::from(p.chunks);
    (!long && chunks < 1 << 27).then_some(chunks)
}
