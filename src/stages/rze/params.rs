//! Parameters and constants of stages `rze` and `rre` on the CPU and the GPU;
//! `kernels/rze/params.h` is generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Layouts of a chunk.
pub const LAYOUT_2026_05: u32 = 0;
pub const LAYOUT_2026_08: u32 = 1;
pub const LAYOUT_AMBIGUOUS: u32 = 2;

/// Bytes of a stream in front of its table.
pub const STREAM_HEADER_BYTES: u32 = 8;
/// Marks the entry of a raw chunk.
pub const RAW: u32 = 0x8000_0000;

/// Up to this many chunks all blocks run at the same time, and each finds its own chunk.
pub const SMALL_CHUNKS: u32 = 512;
/// Bytes of the look-back state of a chunk.
pub const STATE_BYTES: u64 = 8;
/// Chunks whose starts one block of a decoder finds, and bytes of the index for each.
pub const INDEX_BLOCK: u32 = 1024;
pub const INDEX_BYTES: u64 = 8;

/// Parameters of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct RzeParams {
    /// Bytes of a chunk and of a word.
    pub chunk: u32,
    pub word: u32,
    /// One of the `LAYOUT_` numbers.
    pub layout: u32,
    /// 1: words that equal the one before are dropped instead of zeros, which is stage `rre`.
    pub repeats: u32,
}
const _: () = assert!(size_of::<RzeParams>() == 16);
