//! Parameters and constants of stage `adm` on the CPU and the GPU; `kernels/adm/params.h` is
//! generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Elements of a lane, and of a group of 32 lanes.
pub const LANE: u32 = 16;
pub const GROUP: u32 = 512;
/// Distances that a byte distinguishes.
pub const STEP: u32 = 126;
/// Streams of more groups end in another way, as those of the reference do.
pub const MANY: u32 = 1024;

/// Parameters of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct AdmParams {
    /// Bytes of an element.
    pub width: u32,
    pub pad: u32,
}
const _: () = assert!(size_of::<AdmParams>() == 8);
