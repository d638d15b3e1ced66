//! Launches of RZE on a device.

use super::params::{INDEX_BLOCK, INDEX_BYTES, RzeParams, SMALL_CHUNKS, STATE_BYTES, STREAM_HEADER_BYTES};
use super::{Layout, SLACK, is_tile_wise};
use crate::ir::device::{DeviceLaunch, LaunchShape};
use crate::ir::kernel::read_params;
use crate::stages::params::TILE_THREADS as THREADS;

/// The encoder on a device, alone or as the last kernel of a fused one, which then has the name `fused`. The
/// bound of the stream gives the number of chunks.
pub(crate) fn encoder(shape: &LaunchShape<'_>, fused: Option<&'static str>) -> DeviceLaunch {
    let p = read_params::<RzeParams>(shape.params);
    let chunks = shape
        .output(0)
        .saturating_sub(u64::from(STREAM_HEADER_BYTES) + SLACK)
        .div_ceil(u64::from(p.chunk) + 4);
    let alone = if is_tile_wise(shape.params) { "rze_encode" } else { "rze_encode_words" };
    DeviceLaunch::one(fused.unwrap_or(alone), chunks, THREADS).with(STATE_BYTES * chunks, 0)
}

/// A fused encoder for few chunks.
pub(crate) fn encoder_small(shape: &LaunchShape<'_>, fused: &'static str) -> Option<DeviceLaunch> {
    Some(encoder(shape, Some(fused))).filter(|device_launch| {
        device_launch.launches.iter().all(|launch| launch.grid <= SMALL_CHUNKS.into())
    })
}

/// The first launch of every decoder: finds the chunks, without those behind the end of the array.
pub(crate) fn starts(shape: &LaunchShape<'_>) -> DeviceLaunch {
    let p = read_params::<RzeParams>(shape.params);
    let blocks = shape.output(0).div_ceil(p.chunk.into()).div_ceil(INDEX_BLOCK.into()).max(1);
    let device_launch = DeviceLaunch::one("rze_decode_starts", blocks, INDEX_BLOCK)
        .with(0, INDEX_BYTES * (1 + u64::from(INDEX_BLOCK) * blocks));
    let ambiguous = p.layout == Layout::Ambiguous as u32;
    if ambiguous { device_launch.then("rze_decode_layout", 1, THREADS) } else { device_launch }
}

/// A fused decoder for few chunks. Each block finds its own chunk, which saves a launch.
pub(crate) fn decoder_small(shape: &LaunchShape<'_>, fused: &'static str) -> Option<DeviceLaunch> {
    let p = read_params::<RzeParams>(shape.params);
    let chunks = shape.output(0).div_ceil(p.chunk.into());
    let told = p.layout != Layout::Ambiguous as u32;
    (told && (1..=SMALL_CHUNKS.into()).contains(&chunks)).then(|| DeviceLaunch::one(fused, chunks, THREADS))
}

/// The decoder on a device, alone or as the first kernel of a fused one, which then has the name `fused`.
pub(crate) fn decoder(shape: &LaunchShape<'_>, fused: Option<&'static str>) -> DeviceLaunch {
    let p = read_params::<RzeParams>(shape.params);
    let chunks = shape.output(0).div_ceil(p.chunk.into());
    let (old, ambiguous) = (p.layout == Layout::G2026_05 as u32, p.layout == Layout::Ambiguous as u32);
    // Each of the last two kernels detects whether the other one applies.
    let tiles = is_tile_wise(shape.params);
    let starts = starts(shape);
    match fused {
        Some(entry) => starts.then(entry, chunks, THREADS),
        None if tiles || old => starts.then("rze_decode", chunks, THREADS),
        None if ambiguous => {
            starts.then("rze_decode", chunks, THREADS).then("rze_decode_words", chunks, THREADS)
        }
        None => starts.then("rze_decode_words", chunks, THREADS),
    }
}
