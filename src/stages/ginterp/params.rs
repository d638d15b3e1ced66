//! Parameters and constants of stage `ginterp` on the CPU and the GPU; `kernels/ginterp/params.h` is
//! generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Switches of [`GinterpParams`].
pub const STRICT: u32 = 1;
/// The bound is absolute.
pub const ABSOLUTE: u32 = 2;
/// The range of the array follows the metadata of the bound.
pub const MEASURED: u32 = 4;
/// Mode prel: the base of the bound is the largest magnitude.
pub const OF_MAGNITUDE: u32 = 8;

/// Edge of a tile, except for strict planes, whose tiles have edge `WIDE`.
pub const BODY: u32 = 16;
pub const WIDE: u32 = 64;
/// Levels of a tile: `BODY` and `WIDE` are 2^levels.
pub const LEVELS: u32 = 4;
pub const WIDE_LEVELS: u32 = 6;
/// A mask of levels that a parameter leaves to the mode of tuning.
pub const UNSET: u8 = 0x80;

/// Bits of a level in [`GinterpMetadata`].
pub const MD: u8 = 1;
pub const NATURAL: u8 = 2;
pub const REVERSE: u8 = 4;

/// Distances between sample tiles in volumes and in planes, in elements.
pub const SAMPLE_STRIDE: u32 = 128;
pub const SAMPLE_STRIDE_2D: u32 = 320;
/// Candidates of a level in modes 3 and 4: {not-a-knot, natural} x {normal, reverse, md}.
pub const CANDIDATES: u32 = 6;
/// Pairs of alpha and beta in mode 4.
pub const PAIRS: u32 = 11;
/// Sums of errors, of all levels or of mode 2, whichever are more; then counts of the pairs.
pub const SUMS: u32 = CANDIDATES * WIDE_LEVELS;
pub const TUNE_BYTES: u64 = 8 * (SUMS + PAIRS) as u64;
/// An error is summed as a multiple of the bound's power of two times 2^-`FRACTION`, at most
/// 2^`SATURATION` of them.
pub const FRACTION: u32 = 20;
pub const SATURATION: u32 = 36;

/// Parameters of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct GinterpParams {
    /// Strict: values of this magnitude and above are exact. Otherwise: the base of the bound that the
    /// caller gives, or 0.
    pub threshold_or_base: f64,
    pub error_bound: f64,
    pub manual_alpha: f64,
    pub manual_beta: f64,
    /// Lengths of the array; strict: those of 1 last.
    pub dims: [u32; 3],
    /// 0: resolved by the run.
    pub radius: u32,
    pub switches: u32,
    /// Masks of levels, bit 0 for the finest, or [`UNSET`].
    pub md: u8,
    pub natural: u8,
    pub reverse: u8,
    /// Mode of tuning, 0 to 5.
    pub tuning: u8,
    /// Bytes of a value and of a code.
    pub value: u8,
    pub code: u8,
    pub pad: [u8; 6],
}
const _: () = assert!(size_of::<GinterpParams>() == 64);

/// Results of the run, as kernels write them. A container carries all fields but `rcp` and `limit`
/// (strict), or those from `alpha` to `reference_flags` without `exact` (reference).
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct GinterpMetadata {
    /// Quantization step of each level, the finest first; 0 for levels that the array does not have.
    pub step: [f64; 6],
    /// Bounds of predictions; infinite if the range was not measured.
    pub low: f64,
    pub high: f64,
    pub alpha: f64,
    pub beta: f64,
    /// The bound that errors are compared with.
    pub bound: f64,
    /// Strict: exact values.
    pub exact: u64,
    /// [`MD`], [`NATURAL`] and [`REVERSE`] of each level.
    pub flags: [u8; 8],
    /// `bound` as the reference stores it, and the value range or largest magnitude.
    pub bound_f32: f32,
    pub base: f32,
    /// The code of a prediction without error.
    pub radius: u32,
    /// Entries of the outlier lists of the reference.
    pub outliers: u32,
    /// `flags` as the reference stores them: six bytes of each kind.
    pub reference_flags: [u8; 18],
    pub pad: [u8; 2],
    /// Residuals of this many steps and more have no code; 0: every value is exact. Encoder only.
    pub limit: u32,
    /// 1 / half of the step of each level. Encoder only.
    pub rcp: [f64; 6],
}
const _: () = assert!(size_of::<GinterpMetadata>() == 192);
