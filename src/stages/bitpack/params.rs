//! Parameters of stage `bitpack` on the CPU and the GPU; `kernels/bitpack/params.h` is generated
//! from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Parameters of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct BitpackParams {
    /// Bytes of an element.
    pub width: u32,
    /// Bits that an encoder keeps; 0: as many as the largest code needs. Decoders read the number
    /// from the metadata.
    pub bits: u32,
    /// Subtracted from each element.
    pub base: u32,
    /// Zero bits at the end of each difference, which are dropped.
    pub shift: u32,
}
const _: () = assert!(size_of::<BitpackParams>() == 16);
