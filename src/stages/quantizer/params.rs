//! Parameters and constants of stage `quantizer` on the CPU and the GPU;
//! `kernels/quantizer/params.h` is generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Modes, as the config has them.
pub const ABS: u32 = 0;
pub const REL: u32 = 1;
pub const NOA: u32 = 2;
pub const PREL: u32 = 3;

/// Switches of [`QuantizerParams`] and [`QuantizerRelParams`].
pub const ZIGZAG: u32 = 1;
pub const IN_PLACE: u32 = 2;
pub const STRICT: u32 = 4;
/// Zeros pad the array and belong to the value range (not strict only).
pub const PADDED: u32 = 8;
/// The smallest and the largest value are measured in any mode, and follow the metadata as two f64 in place
/// of the constants for tiles. Other stages use it.
pub const RANGE: u32 = 16;
/// The base of the previous call is used if it suits the array: it is at most the base of the array,
/// which is at most `MOST_OF_PREVIOUS` times as large.
pub const PREVIOUS: u32 = 32;
pub const MOST_OF_PREVIOUS: f64 = 1.25;
/// The share of the base of an array that is kept for the next call, below 1, so that a range that
/// shrinks a little still suits.
pub const SHARE_KEPT: f64 = 0.984375;

/// The sample that decides on the step of f32 data: neighboring values that are sampled together,
/// values to sample at least, and the largest distance between two groups, in groups.
pub const SAMPLE_GROUP: u32 = 32;
pub const SAMPLE_VALUES: u32 = 1 << 16;
pub const SAMPLE_STRIDE: u32 = 512;
/// Bits that a code grows by when the step shrinks by its own length: 1 / ln 2, to a few digits.
/// All backends need the same number.
pub const SHRINK_BITS: f64 = 1.44;
/// Candidates for the step besides the whole bound. A warp tests each.
pub const CANDIDATES: u32 = 8;
/// Counters of the kernels that resolve the bound: blocks that have ended, and misses of the whole
/// bound and of each candidate.
pub const BOUND_COUNTS_BYTES: u64 = 80;
const _: () = assert!(BOUND_COUNTS_BYTES == 8 * (2 + CANDIDATES as u64));
/// The range that a block has found, as two f64.
pub const RANGE_BYTES: u64 = 16;

/// Parameters of the kernels of all modes but rel. `quantizer_bound` also serves other stages.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct QuantizerParams {
    pub error_bound: f64,
    pub threshold: f64,
    pub value_base: f64,
    pub mode: u32,
    pub radius: u32,
    pub switches: u32,
    /// Bytes of a value and of a code.
    pub value: u32,
    pub code: u32,
    /// Approximate cost of an exact value, in bits. 0: the step is always the whole bound.
    pub exact_bits: u32,
}
const _: () = assert!(size_of::<QuantizerParams>() == 48);

/// Parameters of the kernels of mode rel.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct QuantizerRelParams {
    /// Strict: the share of the value that errors are compared with, slightly below the bound.
    pub promise: f64,
    pub threshold: f64,
    /// Width of a bin in log2, and 1 / `step`.
    pub step: f32,
    pub inverse: f32,
    /// 1 / (1 + b) and 1 + b, for the check of the reference.
    pub low: f32,
    pub high: f32,
    /// The bound of the config, from which the fields above follow.
    pub bound: f32,
    pub radius: u32,
    pub switches: u32,
    /// Bytes of a value and of a code.
    pub value: u32,
    pub code: u32,
    /// Elements on the edge, padding included.
    pub elements: u32,
}
const _: () = assert!(size_of::<QuantizerRelParams>() == 56);

/// Results of the run, as kernels write them and as the config stores them.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct BoundMetadata {
    /// The bound exactly as the decoder uses it: resolved and absolute; for rel that of the config.
    pub bound: f64,
    /// `bound` in the field of the header.
    pub bound_f32: f32,
    /// The value range; 0 if it was not measured.
    pub base: f32,
    /// Bins on each side of zero; 0: every value is exact.
    pub radius: u32,
    /// Entries of the outlier lists. Only decoders read it.
    pub outliers: u32,
    /// The bound that every error is compared with: the promised one, rounded down to the type of the values.
    /// Decoders do not use it.
    pub promise: f64,
}
const _: () = assert!(size_of::<BoundMetadata>() == 32);
/// Bytes of the constants for tiles of f32 that device functions derive from the metadata, and store
/// behind them.
pub const TILE_FACTS_BYTES: u64 = 32;
/// Bytes of the metadata and the derived constants.
pub const METADATA_BYTES: u64 = 64;
const _: () = assert!(METADATA_BYTES == size_of::<BoundMetadata>() as u64 + TILE_FACTS_BYTES);
