//! Parameters of stage `lorenzo` on the CPU and the GPU; `kernels/lorenzo/params.h` is generated
//! from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Parameters of the kernels of two and three dimensions.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct LorenzoParams {
    pub dims: [u32; 3],
    /// Bytes of an element.
    pub width: u32,
}
const _: () = assert!(size_of::<LorenzoParams>() == 16);

/// Parameters of the kernels that subtract and add the means of blocks.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct LorenzoMeanParams {
    /// Elements of a block.
    pub block: u32,
    /// Bytes of an element.
    pub width: u32,
}
const _: () = assert!(size_of::<LorenzoMeanParams>() == 8);
