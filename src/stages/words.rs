//! What the integer stages share: element types as parameters, and word-wise kernels.

use super::params::UNIT_THREADS;
use super::shape;
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Fault, Result};
use crate::base::param::{Args, Kind, Param, Setting};
use crate::base::tile::{TILE, loaded, store};
use crate::ir::device::{DeviceLaunch, LaunchShape, tiles};
use crate::ir::kernel::{HostCall, PARAM_BYTES, Role};
pub(super) use crate::ir::stage::OUT;
use bytemuck::Pod;

/// The only input of stages that have one.
pub(super) const IN: &[&str] = &["input"];

/// `input_type`: the element type that the stage works on.
pub(super) const INPUT_TYPE: Param = Param {
    name: "input_type",
    kind: Kind::Choice(&["auto", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64"]),
    default: Setting::Choice("auto"),
    unit: "",
    doc: "Element type that the stage works on; auto: the type on the edge. It must have the same width.",
};

/// `input_type` of the stages that take floats as values.
pub(super) const FLOAT_TYPE: Param = Param {
    name: "input_type",
    kind: Kind::Choice(&["auto", "f32", "f64"]),
    default: Setting::Choice("auto"),
    unit: "",
    doc: "Element type that the pipeline is made for, any other is refused; auto: the type on the edge.",
};

/// The floats on the edge of a stage with [`FLOAT_TYPE`].
pub(super) fn floats(stage: &'static str, args: &Args, edge: EdgeType) -> Result<DType> {
    let refused = |accepts| Error::TypeMismatch { stage, port: IN[0], got: edge.dtype, accepts };
    if !edge.dtype.is_float() {
        return Err(refused("f32 and f64"));
    }
    match args.choice("input_type")? {
        "f32" if edge.dtype != DType::F32 => Err(refused("f32, its input_type")), // seed: input-type
        "f64" if edge.dtype != DType::F64 => Err(refused("f64, its input_type")),
        _ => Ok(edge.dtype),
    }
}

/// The shape that a stage with indices of 32 bits works in.
pub(super) const DIM_X: Param = shape::dim_x(u32::MAX as i64);
pub(super) const DIM_Y: Param = shape::dim_y(u32::MAX as i64);
pub(super) const DIM_Z: Param = shape::dim_z(u32::MAX as i64);

/// `outlier_threshold` of the stages that lose something.
pub(super) const OUTLIER_THRESHOLD: Param = Param {
    name: "outlier_threshold",
    kind: Kind::Real { low: 0.0, open: true, high: f64::INFINITY },
    default: Setting::Real(f64::INFINITY),
    unit: "data units",
    doc: "Values of this magnitude and above (fill values) are exact and outside of the value range.",
};

/// `error_bound` of the stages whose bins have one width.
pub(super) const ERROR_BOUND: Param = Param {
    name: "error_bound",
    kind: Kind::Real { low: 0.0, open: true, high: f64::MAX },
    default: Setting::Real(1e-3),
    unit: "data units (abs), fraction of the value range (noa) or of the largest magnitude (prel)",
    doc: "Largest error of a carried value.",
};

/// `mode` of the same; they refuse `rel` with a reason, see [`super::quantizer::mode_of_array`].
pub(super) const MODE: Param = Param {
    name: "mode",
    kind: Kind::Choice(&["abs", "noa", "rel", "prel"]),
    default: Setting::Choice("abs"),
    unit: "",
    doc: "abs: the bound itself; noa: times (max - min); prel: times max |x|, of the carried values.",
};

/// `value_base` of the same.
pub(super) const VALUE_BASE: Param = Param {
    name: "value_base",
    kind: Kind::Real { low: 0.0, open: false, high: f64::MAX },
    default: Setting::Real(0.0),
    unit: "data units",
    doc: "noa: the value range, prel: the largest magnitude, when the caller knows it; 0: measured.",
};

/// What a container says of the number that its bound is a fraction of, by name.
pub(super) fn base_said(args: &Args, base: f32) -> Option<(&'static str, String)> {
    let name = match args.choice("mode") {
        Ok("noa") => "value_range",
        Ok("prel") => "largest_magnitude",
        _ => return None,
    };
    Some((name, format!("{base:?}")))
}

/// `fixed_step` of the stages that lose something.
pub(super) const FIXED_STEP: Param = Param {
    name: "fixed_step",
    kind: Kind::Flag,
    default: Setting::Flag(false),
    unit: "",
    doc: "The step follows from the bound alone and not from a sample of f32 values, so what was restored is coded as it is.",
};

/// The element type that a stage works on: that of the parameter, else that on the edge.
pub(super) fn element(args: &Args, edge: EdgeType) -> Result<DType> {
    match args.choice("input_type")? {
        "auto" => Ok(edge.dtype),
        name => DType::from_name(name),
    }
}

/// Refuses a type of another width than that on the edge.
pub(super) fn same_width(stage: &'static str, element: DType, edge: EdgeType) -> Result<()> {
    if element.bytes() == edge.dtype.bytes() {
        return Ok(());
    }
    Err(Error::TypeMismatch {
        stage,
        port: IN[0],
        got: edge.dtype,
        accepts: "elements of the width of its input_type",
    })
}

/// The signed integer of the width on the edge, for stages that take integers only.
pub(super) fn signed(
    stage: &'static str,
    args: &Args,
    edge: EdgeType,
    accepts: &'static str,
) -> Result<DType> {
    let element = element(args, edge)?;
    same_width(stage, element, edge)?;
    if element.is_float() || edge.dtype.is_float() {
        return Err(Error::TypeMismatch { stage, port: IN[0], got: edge.dtype, accepts });
    }
    Ok(element.signed())
}

/// The single edge into a stage of one input.
pub(super) fn only(inputs: &[EdgeType]) -> Result<EdgeType> {
    match inputs {
        [edge] => Ok(*edge),
        _ => Err(Error::Internal("a stage of one input got another number")),
    }
}

/// Runs `f` over all words of input 0 into output 0. Bytes after the last whole word are copied.
pub(super) fn map<T: Pod + Send + Sync>(
    call: &mut HostCall<'_>,
    f: impl Fn(T) -> T + Sync,
) -> Result<(), Fault> {
    let (src, dst) = call.byte_for_byte()?;
    call.threads.tiles(dst, TILE, |k, out| {
        let bytes = src.get(k * TILE..k * TILE + out.len()).ok_or(Fault::BadLaunch)?;
        loaded::<T, _>(bytes, |words| {
            store::<T>(out, |out| out.iter_mut().zip(words).for_each(|(o, &w)| *o = f(w)));
        });
        copy_tail(bytes, out, size_of::<T>());
        Ok(())
    })
}

/// The role of word-wise kernels.
pub(super) fn tile(_: &[u8; PARAM_BYTES]) -> Role {
    Role::Tile
}

/// A function over the tiles of output 0.
pub(super) fn over_tiles(entry: &'static str, shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    Some(DeviceLaunch::one(entry, tiles(shape.output(0)), UNIT_THREADS))
}

/// Copies what follows the last whole word of `width` bytes.
pub(super) fn copy_tail(src: &[u8], dst: &mut [u8], width: usize) {
    let at = src.len() - src.len() % width;
    dst[at..].copy_from_slice(&src[at..]); // seed: ragged-end
}

/// Unsigned words of two's complement, with the codes that turn small magnitudes into small numbers.
pub(super) trait Word: Pod + Send + Sync {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    /// 0, -1, 1, -2, … → 0, 1, 2, 3, …
    fn zigzag(self) -> Self;
    fn unzigzag(self) -> Self;
    /// Digits of base -2.
    fn negabinary(self) -> Self;
    fn unnegabinary(self) -> Self;
}

macro_rules! word {
    ($($U:ty, $I:ty);*) => {$(
        impl Word for $U {
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn zigzag(self) -> Self {
                (self << 1) ^ ((self as $I) >> (<$U>::BITS - 1)) as $U // seed: zigzag-sign
            }
            fn unzigzag(self) -> Self {
                (self >> 1) ^ (0 as $U).wrapping_sub(self & 1)
            }
            fn negabinary(self) -> Self {
                const MASK: $U = <$U>::MAX / 3 * 2;
                self.wrapping_add(MASK) ^ MASK
            }
            fn unnegabinary(self) -> Self {
                const MASK: $U = <$U>::MAX / 3 * 2;
                (self ^ MASK).wrapping_sub(MASK)
            }
        }
    )*};
}
word!(u8, i8; u16, i16; u32, i32; u64, i64);
