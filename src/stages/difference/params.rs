//! Parameters of stage `difference` on the CPU and the GPU; `kernels/difference/params.h` is
//! generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Codes of differences.
pub const PLAIN: u32 = 0;
pub const NEGABINARY: u32 = 1;
pub const ZIGZAG: u32 = 2;

/// Parameters of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct DifferenceParams {
    /// Elements of a chunk; 0: no chunks.
    pub chunk: u64,
    /// Bytes of an element.
    pub width: u32,
    /// 1: the elements are floats, and so are their differences.
    pub floats: u32,
    /// `PLAIN`, `NEGABINARY`, or `ZIGZAG`.
    pub code: u32,
    pub pad: u32,
}
const _: () = assert!(size_of::<DifferenceParams>() == 24);
/// Bytes of the sum of a tile, for the tiles behind it.
pub const TAIL_BYTES: u64 = 16;
