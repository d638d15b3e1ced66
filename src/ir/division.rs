//! Launches that may run in parts.

use crate::ir::device::PARAM_BYTES;
use std::ops::Range;

/// How a launch over the whole array is divided into launches of consecutive blocks, so that copies of the array and
/// of the container overlap with them. Blocks depend only on blocks with lower numbers. The functions must accept any
/// bytes in place of a container.
#[derive(Debug)]
pub(crate) struct Division {
    /// Blocks of all parts, which can be fewer than those of the whole launch.
    pub grid: fn(params: &[u8; PARAM_BYTES]) -> u64,
    /// Encoders: the number of blocks, from the first one on, that read nothing behind the first `bytes` bytes of the array. When these
    /// blocks have ended, the length of the stream is that of the finished part of it.
    /// Decoders: the number of blocks after which the first `bytes` bytes of the array are complete.
    pub blocks: fn(params: &[u8; PARAM_BYTES], bytes: u64) -> u64,
    /// Bytes at the start of the stream that all blocks write or read.
    pub table: fn(params: &[u8; PARAM_BYTES]) -> u64,
    /// Decoders: the end of the bytes of the stream that these blocks read.
    pub reads: fn(params: &[u8; PARAM_BYTES], stream: &[u8], blocks: Range<u64>) -> u64,
}
