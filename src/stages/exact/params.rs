//! Parameters and constants of stage `exact`.

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

/// Parameters of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ExactParams {
    /// Lengths of the array, those of 1 last.
    pub dims: [u64; 3],
    /// Bytes of an element.
    pub width: u32,
    pub kind: u32,
}
const _: () = assert!(size_of::<ExactParams>() == 32);
