//! The config of the stage in a header: 112 bytes.

use super::SPEC;
use super::bind::BoundMultilevel;
use super::params::{LATTICE, MultilevelMetadata};
use crate::base::dtype::DType;
use crate::base::error::{Error, Result};
use crate::base::wire::{Reader, Writer};
use crate::ir::stage::{Config, Length, Parsed, Patch, RuntimeField};
use crate::ir::value::Val;
use crate::stages::parameters::recorded;
use crate::stages::shape;
use bytemuck::Zeroable;
use std::mem::offset_of;

/// The form of config and stream.
const VERSION: u8 = 1;

/// The number of dimensions whose length is not 1, at least one.
fn dimensions(dims: [u64; 3]) -> u32 {
    shape::rank(shape::ones_last(dims).map(|d| dims[d]))
}

pub(super) fn write(p: &BoundMultilevel, of: Val) -> Config {
    let mut w = Writer::default();
    w.bytes(&[VERSION, p.value as u8, dimensions(p.dims) as u8, p.mode as u8]);
    // The choices of a run replace these fields; until then they are valid: interpolation over x, stencils of 2.
    w.u32(1);
    w.pad_to(24);
    w.f64(0.0);
    w.f64(p.error_bound);
    w.f64(p.threshold);
    w.u64(0);
    [0.0, f64::NEG_INFINITY, f64::INFINITY].into_iter().for_each(|x| w.f64(x));
    w.u64(p.n);
    p.dims.iter().for_each(|&d| w.u64(d));
    let stored = |at: usize, width: usize, field: usize| Patch {
        at,
        width,
        runtime_field: RuntimeField::Stored { of, at: field as u64 },
    };
    let step = RuntimeField::Bound { of, at: offset_of!(MultilevelMetadata, step) as u64 };
    let patches = vec![
        stored(4, 3, offset_of!(MultilevelMetadata, axes)),
        stored(8, 8, offset_of!(MultilevelMetadata, stencils)),
        stored(16, 8, offset_of!(MultilevelMetadata, stencils) + 8),
        Patch { at: 24, width: 8, runtime_field: step },
        stored(48, 4, offset_of!(MultilevelMetadata, base)),
        stored(56, 8, offset_of!(MultilevelMetadata, center)),
        stored(64, 8, offset_of!(MultilevelMetadata, low)),
        stored(72, 8, offset_of!(MultilevelMetadata, high)),
    ];
    Config { bytes: w.0, patches }
}

pub(super) fn read(config: &[u8]) -> Result<Parsed> {
    let mut r = Reader::new(SPEC.name, config);
    let [version, value, ndim, mode] = r.array()?;
    if version != VERSION {
        let what = format!("form {version} is not read by this version, which reads form {VERSION}");
        return Err(Error::Unsupported { stage: SPEC.name, what });
    }
    let [axes, differences, flags, zero] = r.array()?;
    let stencils: [u8; 16] = r.array()?;
    let (step, user, threshold) = (r.f64()?, r.f64()?, r.f64()?);
    let (base, unused) = (r.f32()?, r.u32()?);
    let (center, low, high, n) = (r.f64()?, r.f64()?, r.f64()?, r.u64()?);
    let dims = [r.u64()?, r.u64()?, r.u64()?];
    let refuse = |what: String| Err(Error::corrupt(SPEC.name, what));
    if !r.rest().is_empty() {
        return refuse("its config has another length".into());
    }
    let Some(value) = DType::from_number(value.into()).ok().filter(|d| d.is_float()) else {
        return refuse(format!("{value} is neither f32 nor f64"));
    };
    let dimension_count = dimensions(dims);
    if u32::from(ndim) != dimension_count {
        return refuse(format!("a shape of {dims:?} does not have {ndim} dimensions"));
    }
    let known = (1u8 << dimension_count) - 1;
    let interpolated = axes & 1 == 1 && axes & !known == 0 && differences == 0;
    let differs = axes == 0 && (1..=dimension_count).contains(&differences.into());
    if !interpolated && !differs {
        return refuse(format!("axes {axes} and {differences} differences do not go with {ndim} dimensions"));
    }
    if flags & !LATTICE != 0 || zero != 0 || unused != 0 {
        return refuse(format!("there are no flags {flags}, or a byte that is 0 is not"));
    }
    // The comparisons are false for NaN.
    if !(step >= 0.0 && step.is_finite()) {
        return refuse(format!("its step is {step}"));
    }
    if !center.is_finite() || !are_limits(low, high) {
        return refuse(format!("predictions cannot be within {low:?} and {high:?}, or be {center:?}"));
    }
    let args = recorded(&SPEC, mode, user, threshold, dims)?;
    let bytes = n.checked_mul(value.bytes());
    let bytes = bytes.ok_or_else(|| Error::corrupt(SPEC.name, format!("{n} values are too many")))?;
    let m = MultilevelMetadata {
        step,
        center,
        low,
        high,
        base,
        axes,
        differences,
        flags,
        stencils,
        ..MultilevelMetadata::zeroed()
    };
    Ok(Parsed {
        args,
        input: Some(value),
        length: Length::Bytes(bytes),
        metadata: bytemuck::bytes_of(&m).to_vec(),
    })
}

/// True if these can be limits of predictions: numbers in order, where a lower limit of zero is +0 and an upper one is -0.
fn are_limits(low: f64, high: f64) -> bool {
    let zeros = low.to_bits() != (-0.0f64).to_bits() && high.to_bits() != 0;
    low <= high && zeros && low < f64::INFINITY && high > f64::NEG_INFINITY
}
