//! Parameters and constants of stage `fast` on the CPU and the GPU; `kernels/fast/params.h` is
//! generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Values of a unit, and units of a chunk.
pub const UNIT: u32 = 1024;
pub const CHUNK_UNITS: u32 = 8;
/// Values of a chunk.
pub const CHUNK: u32 = UNIT * CHUNK_UNITS;

/// Modes of a unit, as descriptors have them: codes less the least one; differences within the
/// unit; those less the differences of the unit before.
pub const OFFSETS: u32 = 0;
pub const INTRA: u32 = 2;
pub const INTER: u32 = 3;

/// Up to this many chunks all blocks run at the same time, and each writes its words to their
/// place.
pub const SMALL_CHUNKS: u32 = 256;
/// Larger arrays: slots for the words of chunks on their way, and chunks between the block that
/// codes a chunk and the one that copies it.
pub const RING: u32 = 2048;
pub const LAG: u32 = 768;
/// Up to `SMALL_GROUPS` chunks a block copies a small group of chunks, otherwise a large one.
pub const SMALL_GROUPS: u32 = 2048;
pub const SMALL_GROUP: u32 = 8;
pub const LARGE_GROUP: u32 = 32;
/// Look-back: bytes of the state of a chunk, and of each of the sums over 64, 64^2, and 64^3
/// chunks.
pub const STATE_BYTES: u64 = 4;
pub const SUM_BYTES: u64 = 8;
/// Codes that differ by at most this much from the first one are coded two to a register, as f16.
pub const HALF2_REACH: f32 = 511.0;

/// Parameters of both kernels. BoundMetadata are those of the quantizer, whose kernel makes them.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct FastParams {
    pub threshold: f64,
    /// Lengths of the array, those of 1 last. Two and three are below 2^31.
    pub dims: [u64; 3],
    pub ndim: u32,
    /// Bytes of a value.
    pub value: u32,
    /// Chunks along x and y. Valid, as are the fields below, for up to 2^27 chunks.
    pub chunks_x: u32,
    pub chunks_y: u32,
    /// Division by `chunks_x` and `chunks_y`: multipliers, and below shifts; see `Divisor`.
    pub inverse_x: u32,
    pub inverse_y: u32,
    /// Chunks of the array.
    pub chunks: u32,
    pub shift_x: u8,
    pub shift_y: u8,
    /// 1: the range of the array has so few bins that `HALF2_REACH` is expected to hold. 0 if the
    /// number of bins is unknown before the call.
    pub half2: u16,
}
const _: () = assert!(size_of::<FastParams>() == 64);
