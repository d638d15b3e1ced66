//! Parameters and constants of stage `multilevel` on the CPU and the GPU; `kernels/multilevel/params.h` is
//! generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Points of a step, steps of a batch, and batches of a mask run.
pub const STEP: u32 = 32;
pub const BATCH: u32 = 8;
pub const MASK_RUN: u32 = 2048;
/// Roots and grids of so many points belong to the base section.
pub const BASE_POINTS: u32 = 4096;
/// Contexts: 12 buckets of the activity, and two of places beside values that are not bounded; classes
/// are 16.
pub const CONTEXTS: u32 = 16;
pub const FILL1: u32 = 12;
pub const FILL2: u32 = 13;
/// Tokens: codes, patterns, and exact values.
pub const PATTERN: u32 = 58;
pub const EXACT: u32 = 62;
pub const PATTERNS: u32 = 4;
/// Quotients of predicted values, of roots, and of the differences are below these in magnitude.
pub const MOST_QUOTIENT: u32 = 1 << 20;
pub const MOST_ROOT: u32 = 1 << 19;
pub const MOST_DIFFERENCE: u32 = 1 << 17;
/// Bits of a frequency, and tables of a set.
pub const FREQUENCY_BITS: u32 = 14;
pub const TABLES: u32 = 8;
/// Elements of the samples for the choices of a call, of axes, and of stencils.
pub const SAMPLE: u32 = 4096;
pub const AXIS_SAMPLE: u32 = 1024;
/// The flag of an array whose values are multiples of the step.
pub const LATTICE: u8 = 1;
/// Bytes of a run beside its codes, as the encoder estimates them.
pub const RUN_BYTES: u32 = 48;
/// A section that has more runs has a multiple of this number.
pub const WAVE: u32 = 4096;
/// Bytes of values that the threads of a block of a pass work on at once: wide values take more shared memory.
pub const PASS_BYTES: u32 = 1024;

/// Bytes of structures in the memory of a device.
pub const PLAN_BYTES: u64 = 1 << 13;
pub const STATE_BYTES: u64 = 1 << 14;
pub const CHOICE_BYTES: u64 = 1 << 10;
pub const COUNTS_BYTES: u64 = 5200;
pub const ENCODER_SET_BYTES: u64 = 10088;
pub const DECODER_SET_BYTES: u64 = 10288;
/// Words of 32 bits that a set of tables takes at most.
pub const SET_WORDS: u32 = 470;
const _: () = assert!(32 * SET_WORDS >= CONTEXTS - 1 + TABLES * (12 + 63 * 29));
/// Bytes of the slot of a run beside what its section is estimated to need.
pub const RUN_ROOM: u32 = 128;
/// The slots of all runs have the bytes of the values less one part in so many, and `RUN_ROOM` for each.
pub const POOL_LESS: u64 = 8;

/// Parameters of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct MultilevelParams {
    pub threshold: f64,
    /// Lengths of the array, those of 1 last.
    pub dims: [u64; 3],
    /// Bytes of a value.
    pub value: u32,
    /// 1: the range was measured, and stands behind the metadata of the bound.
    pub measured: u32,
    /// 1: the bound is a fraction of the range.
    pub relative: u32,
    /// Sections, batches of all of them, and runs that there may be on a device; 0: too many.
    pub sections: u32,
    pub batches: u32,
    pub runs: u32,
}
const _: () = assert!(size_of::<MultilevelParams>() == 56);

/// Results of the run, as kernels write them.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct MultilevelMetadata {
    pub step: f64,
    /// The prediction of roots and of points without bounded neighbors; differences are relative to it.
    pub center: f64,
    pub low: f64,
    pub high: f64,
    /// The bound that errors are compared with. Encoder only.
    pub bound: f64,
    pub base: f32,
    /// Axes of the interpolation as bits, or the number of axes of differences.
    pub axes: u8,
    pub differences: u8,
    pub flags: u8,
    /// Patterns of exact values. Encoder only.
    pub patterns: u8,
    pub pattern: [u64; 4],
    /// Stencil / 2 - 1 of level k in bits 2k - 2 and 2k - 1.
    pub stencils: [u8; 16],
}
const _: () = assert!(size_of::<MultilevelMetadata>() == 96);
