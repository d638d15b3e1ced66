//! Parameters and constants of stage `exact` on the CPU and the GPU; `kernels/exact/params.h` is generated from
//! this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Elements of the sample.
pub const SAMPLE: u32 = 4096;
/// Most values of a table.
pub const TABLE: u32 = 1 << 20;
/// Largest order of differences along x.
pub const MOST_ORDER: u32 = 3;
/// How words are read as integers.
pub const UNSIGNED: u32 = 0;
pub const SIGNED: u32 = 1;
pub const FLOAT: u32 = 2;
/// Bits of the numbers of a batch on average that its codes keep.
pub const KEPT: u32 = 5;
/// Classes of batches that are not quiet.
pub const CLASSES: u32 = 15;
/// Steps of a scale are shifts, at most this.
pub const MOST_STEP: u32 = 3;
/// Bytes of the first word.
pub const HEAD_BYTES: u32 = 2;
/// Blocks of functions that process the whole array, at most.
pub const BLOCKS: u32 = 1056;
/// Bytes of structures in the memory of a device.
pub const STATE_BYTES: u64 = 1 << 12;
pub const ZEROED_BYTES: u64 = 10448;

/// Parameters of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ExactParams {
    /// Lengths of the array, those of 1 last.
    pub dims: [u64; 3],
    /// Bytes of an element.
    pub width: u32,
    pub kind: u32,
    /// The largest numbers of runs and mask runs on a device: of the table, and of the whole stream. 0: the array is too long for a
    /// device.
    pub table_runs: u32,
    pub runs: u32,
}
const _: () = assert!(size_of::<ExactParams>() == 40);
