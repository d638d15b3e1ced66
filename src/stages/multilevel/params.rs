//! Parameters and constants of stage `multilevel` on the CPU and the GPU; `kernels/multilevel/params.h` is
//! generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Points of a step, steps of a batch, and batches of a mask run.
pub const STEP: u32 = 32;
pub const BATCH: u32 = 8;
pub const MASK_RUN: u32 = 2048;
/// Roots and grids of at most this number of points belong to the base section.
pub const BASE_POINTS: u32 = 4096;
/// Contexts: 12 buckets of the activity, and two for points beside values that are not bounded. Classes
/// use all 16.
pub const CONTEXTS: u32 = 16;
pub const FILL1: u32 = 12;
pub const FILL2: u32 = 13;
/// Tokens of patterns and of other exact values, and the number of patterns. Tokens below are those of codes.
pub const PATTERN: u32 = 58;
pub const EXACT: u32 = 62;
pub const PATTERNS: u32 = 4;
/// Magnitudes of quotients are below these: of predicted values, of roots, and of an array by differences.
pub const MOST_QUOTIENT: u32 = 1 << 20;
pub const MOST_ROOT: u32 = 1 << 19;
pub const MOST_DIFFERENCE: u32 = 1 << 17;
/// Bits of a frequency, and the largest number of tables of a set.
pub const FREQUENCY_BITS: u32 = 14;
pub const TABLES: u32 = 8;
/// Elements of the samples for the choices of a call, of axes, and of stencils.
pub const SAMPLE: u32 = 4096;
pub const AXIS_SAMPLE: u32 = 1024;
/// The flag of an array whose values are on a lattice.
pub const LATTICE: u8 = 1;
/// Bytes of a run in addition to its codes, an estimate of the encoder.
pub const RUN_BYTES: u32 = 48;
/// The number of runs of a section is a multiple of this number if it is above it.
pub const WAVE: u32 = 4096;
/// Warps of a block that encodes runs.
pub const RUN_WARPS: u32 = 4;
/// Bytes of values that the threads of a block of a pass process at once: wide values require more shared memory.
pub const PASS_BYTES: u32 = 1024;
/// The same for an encoder, whose threads require more registers.
pub const ENCODER_PASS_BYTES: u32 = 512;

/// Sections of an array with at most this number of batches have few mask runs, which one block decodes.
pub const FEW_BATCHES: u32 = 1 << 14;
/// Threads of a block that opens a section of an array with few batches, and decodes its masks.
pub const FEW_THREADS: u32 = 512;

/// Bytes of structures in the memory of a device.
pub const PLAN_BYTES: u64 = 1 << 13;
pub const STATE_BYTES: u64 = 1 << 14;
pub const CHOICE_BYTES: u64 = 1 << 10;
pub const COUNTS_BYTES: u64 = 5200;
pub const ENCODER_SET_BYTES: u64 = 10088;
pub const DECODER_SET_BYTES: u64 = 10288;
/// The largest number of words of 32 bits of a set of tables.
pub const SET_WORDS: u32 = 470;
const _: () = assert!(32 * SET_WORDS >= CONTEXTS - 1 + TABLES * (12 + 63 * 29));
/// Bytes of the slot of a run in addition to its share of the estimate of its section.
pub const RUN_ROOM: u32 = 128;
/// The slots of all runs have the bytes of the values, less these bytes divided by this number, and `RUN_ROOM` for each run.
pub const POOL_LESS: u64 = 8;

/// Parameters of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct MultilevelParams {
    pub threshold: f64,
    /// Lengths of the array; lengths of 1 are last.
    pub dims: [u64; 3],
    /// Bytes of a value.
    pub value: u32,
    /// 1: the range was measured, and follows the metadata of the bound.
    pub measured: u32,
    /// 1: the bound is a fraction of the range.
    pub relative: u32,
    /// The largest numbers of sections, of batches of all sections, and of runs on a device. 0: the array is too long for a device.
    pub sections: u32,
    pub batches: u32,
    pub runs: u32,
}
const _: () = assert!(size_of::<MultilevelParams>() == 56);

/// The numbers of a call, which kernels write.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct MultilevelMetadata {
    pub step: f64,
    /// The prediction of roots and of points without bounded neighbors; differences are relative to it.
    pub center: f64,
    pub low: f64,
    pub high: f64,
    /// The bound that errors are compared with, for the encoder only.
    pub bound: f64,
    pub base: f32,
    /// Interpolated axes as bits; 0 if the array is coded by differences.
    pub axes: u8,
    /// The number of axes of differences; 0 if the array is interpolated.
    pub differences: u8,
    pub flags: u8,
    /// Patterns of exact values, for the encoder only.
    pub patterns: u8,
    pub pattern: [u64; 4],
    /// Stencil / 2 - 1 of level k in bits 2k - 2 and 2k - 1.
    pub stencils: [u8; 16],
}
const _: () = assert!(size_of::<MultilevelMetadata>() == 96);
