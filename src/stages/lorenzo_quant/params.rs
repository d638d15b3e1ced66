//! Parameters and constants of stage `lorenzo_quant` on the CPU and the GPU;
//! `kernels/lorenzo_quant/params.h` is generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Switches of [`LorenzoQuantParams`].
pub const ZIGZAG: u32 = 1;
pub const STRICT: u32 = 2;
/// The port feeds another stage, which receives the whole list in files of May 2026.
pub const WHOLE_ERRORS: u32 = 4;
pub const WHOLE_INDICES: u32 = 8;
/// Tiles of one dimension are coded around their means, which are an operand more.
pub const CENTERED: u32 = 16;

/// Length of a tile of one dimension, and edge of a tile of three.
pub const STRIP: u32 = 1024;
pub const EDGE: u32 = 8;
/// Slots of bricks are a multiple of this, and slots that a block of `lorenzo_quant_places_3d` adds up.
pub const SLOTS_EACH: u32 = 4;
pub const SLOTS_OF_BLOCK: u32 = 2048;
/// Threads of a block of all kernels but `lorenzo_quant_places`. The mean of a tile is summed in as
/// many lanes.
pub const BLOCK: u32 = 256;
/// Bytes of the numbers of outliers and exact values.
pub const TOTALS_BYTES: u64 = 16;

/// Parameters of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct LorenzoQuantParams {
    pub threshold: f64,
    /// Elements that are predicted.
    pub count: u32,
    pub dims: [u32; 3],
    pub ndim: u32,
    pub radius: u32,
    pub switches: u32,
    /// Bytes of a value and of a code.
    pub value: u32,
    pub code: u32,
    pub pad: u32,
}
const _: () = assert!(size_of::<LorenzoQuantParams>() == 48);

/// Results of the run that a container carries, as kernels write them.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct LorenzoQuantMetadata {
    /// Half of the decoder's step; 0: `bound_f32` contains it.
    pub bound: f64,
    /// Entries behind the outliers that are values bit for bit.
    pub exact: u64,
    /// The bound in the field of the header.
    pub bound_f32: f32,
    /// The value range or the largest magnitude; 0 if it was not measured.
    pub base: f32,
    /// Entries of the lists that are differences.
    pub outliers: u32,
    pub pad: u32,
}
const _: () = assert!(size_of::<LorenzoQuantMetadata>() == 32);
