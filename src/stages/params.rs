//! Constants that the device functions of several stages share; `kernels/common/params.h` is
//! generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

/// Threads of a block that holds a tile in registers: 32 words in each.
pub const TILE_THREADS: u32 = 128;
/// Threads of a block that holds a tile in units of 16 bytes: four in each.
pub const UNIT_THREADS: u32 = 256;

/// Parts (groups, blocks, or partitions) that one block of an entropy coder codes: one for each
/// warp.
pub const CODER_TILE: u32 = 8;
/// Threads of a block of an entropy coder, and parts that a block of its second pass moves
/// together.
pub const CODER_THREADS: u32 = 256;
/// Bytes of the counts of a tile, while the outlier lists are made.
pub const TILE_COUNTS_BYTES: u64 = 8;
