//! How the kernels run on a GPU.

use super::params::{BLOCK, BLOCK_WORDS, DECODER_TABLE_BYTES, ENCODER_TABLE_BYTES};
use crate::ir::device::{DeviceLaunch, LaunchShape};
use crate::stages::params::{CODER_THREADS, CODER_TILE};

/// Blocks that count, each in a table of its own, and bytes that one counts at the least.
const COUNTERS: u64 = 528;
const COUNTED: u64 = 1 << 15;

pub(super) fn encode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let blocks = shape.input(0).div_ceil(BLOCK.into());
    let device_launch = DeviceLaunch::one("ans_count", shape.input(0).div_ceil(COUNTED).min(COUNTERS), 512)
        .then("ans_weights", 1, 256)
        .then("ans_code", blocks.div_ceil(CODER_TILE.into()), CODER_THREADS)
        .then("ans_gather", blocks.div_ceil(CODER_THREADS.into()), CODER_THREADS);
    // Counts, and the fields of `AnsScratch` in kernels/ans/encode.cu.
    let scratch = ENCODER_TABLE_BYTES
        + 4 * (blocks.div_ceil(CODER_TILE.into()) + blocks + 8)
        + 2 * u64::from(BLOCK_WORDS) * blocks;
    Some(device_launch.with(4 * 256, scratch))
}

pub(super) fn decode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let blocks = shape.output(0).div_ceil(BLOCK.into());
    let device_launch = DeviceLaunch::one("ans_open", blocks.div_ceil(1024), 1024);
    // The size of `AnsOpened` in kernels/ans/decode.cu.
    Some(
        device_launch
            .then("ans_decode", blocks.div_ceil(CODER_TILE.into()), CODER_THREADS)
            .with(0, DECODER_TABLE_BYTES),
    )
}
