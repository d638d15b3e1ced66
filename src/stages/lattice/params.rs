//! Parameters of stage `lattice` on the CPU and the GPU; `kernels/lattice/params.h` is generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Numbers of the formulas.
pub const FORMULA_F64: u32 = 0;
pub const FORMULA_F32: u32 = 1;
pub const FORMULA_DIVIDE: u32 = 2;

/// Parameters of both kernels.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct LatticeParams {
    pub scale: f64,
    pub offset: f64,
    /// The factor from the distance of a value from the offset to its level.
    pub rate: f64,
    /// Levels are below it in magnitude.
    pub limit: f64,
    pub formula: u32,
    /// Bytes of a value.
    pub value: u32,
}
const _: () = assert!(size_of::<LatticeParams>() == 40);
