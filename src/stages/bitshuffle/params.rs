//! Parameters of stage `bitshuffle` on the CPU and the GPU; `kernels/bitshuffle/params.h` is
//! generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Parameters of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct BitshuffleParams {
    /// Bytes of a block.
    pub block: u64,
    /// Bytes of an element.
    pub width: u64,
}
const _: () = assert!(size_of::<BitshuffleParams>() == 16);
