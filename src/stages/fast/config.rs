//! The config of the stage in a header: 64 bytes.

use super::SPEC;
use super::bind::BoundFast;
use crate::base::dtype::DType;
use crate::base::error::{Error, Result};
use crate::base::wire::{Reader, Writer};
use crate::ir::stage::{Config, Length, Parsed, Patch, RuntimeField};
use crate::ir::value::Val;
use crate::stages::parameters::recorded;
use crate::stages::quantizer::BoundMetadata;
use crate::stages::shape;
use bytemuck::Zeroable;
use std::mem::offset_of;

/// ChunkForm of config and stream.
const VERSION: u8 = 1;

pub(super) fn write(p: &BoundFast, of: Val) -> Config {
    let mut w = Writer::default();
    w.bytes(&[VERSION, p.value as u8, dimensions(p.dims) as u8, p.mode as u8]);
    w.f32(0.0);
    w.f64(0.0);
    w.f64(p.error_bound);
    w.f64(p.threshold);
    w.u64(p.n);
    p.dims.iter().for_each(|&d| w.u64(d));
    let base = RuntimeField::Stored { of, at: offset_of!(BoundMetadata, base) as u64 };
    let bound = RuntimeField::Bound { of, at: offset_of!(BoundMetadata, bound) as u64 };
    let patches =
        vec![Patch { at: 4, width: 4, runtime_field: base }, Patch { at: 8, width: 8, runtime_field: bound }];
    Config { bytes: w.0, patches }
}

/// Dimensions of the grid.
fn dimensions(dims: [u64; 3]) -> u32 {
    shape::rank(shape::ones_last(dims).map(|d| dims[d]))
}

pub(super) fn read(config: &[u8]) -> Result<Parsed> {
    let mut r = Reader::new(SPEC.name, config);
    let [version, value, ndim, mode] = r.array()?;
    if version != VERSION {
        let what = format!("form {version} is not read by this version, which reads form {VERSION}");
        return Err(Error::Unsupported { stage: SPEC.name, what });
    }
    let (base, bound) = (r.f32()?, r.f64()?);
    let (user, threshold, n) = (r.f64()?, r.f64()?, r.u64()?);
    let dims = [r.u64()?, r.u64()?, r.u64()?];
    let refuse = |what: String| Err(Error::corrupt(SPEC.name, what));
    if !r.rest().is_empty() {
        return refuse("its config has another length".into());
    }
    let Some(value) = DType::from_number(value.into()).ok().filter(|d| d.is_float()) else {
        return refuse(format!("{value} is neither f32 nor f64"));
    };
    if u32::from(ndim) != dimensions(dims) {
        return refuse(format!("a shape of {dims:?} does not have {ndim} dimensions"));
    }
    // NaN fails the comparison.
    if !(bound >= 0.0 && bound.is_finite()) {
        return refuse(format!("its bound is {bound}"));
    }
    let args = recorded(&SPEC, mode, user, threshold, dims)?;
    let mut metadata = BoundMetadata::zeroed();
    (metadata.bound, metadata.bound_f32, metadata.base) = (bound, bound as f32, base);
    let bytes = n.checked_mul(value.bytes());
    let bytes = bytes.ok_or_else(|| Error::corrupt(SPEC.name, format!("{n} values are too many")))?;
    let length = Length::Bytes(bytes);
    Ok(Parsed { args, input: Some(value), length, metadata: bytemuck::bytes_of(&metadata).to_vec() })
}
