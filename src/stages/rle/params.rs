//! Parameters and constants of stage `rle` on the CPU and the GPU; `kernels/rle/params.h` is
//! generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Runs of a tile of a decoder.
pub const TILE_RUNS: u32 = 4096;
/// Scratch of an encoder: the number of runs, and an entry for each tile.
pub const RUNS_BYTES: u64 = 8;
pub const TILE_ENTRY_BYTES: u64 = 16;

/// Parameters of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct RleParams {
    /// Elements of a chunk; 0: no chunks.
    pub chunk: u64,
    /// Bytes of an element.
    pub width: u64,
}
const _: () = assert!(size_of::<RleParams>() == 16);
