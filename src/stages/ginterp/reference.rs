//! The config of the reference in a header: 104 bytes.

use super::bind::BoundGinterp;
use super::params::{GinterpMetadata, GinterpParams};
use super::steps::{ALPHA, BETA, HalfStep, most_radius, set_steps};
use super::{SPEC, grid::TileGrid};
use crate::base::dtype::DType;
use crate::base::error::{Error, Result};
use crate::base::param::{Args, OUTLIER_CAPACITY};
use crate::base::wire::{Reader, Writer};
use crate::ir::stage::{Config, Length, Parsed, Patch, RuntimeField};
use crate::ir::value::Val;
use crate::stages::quantizer::{ABS, NOA, finite_f32};
use bytemuck::Zeroable;
use std::mem::offset_of;

/// Mode numbers on the wire; prel is called REL there.
const WIRE_ABS: u8 = 0;
const WIRE_PREL: u8 = 1;
const WIRE_NOA: u8 = 2;
/// Flags of levels, then md, natural, and reverse.
const FLAGS: usize = 18;
/// Where f64 data has the bound in all its digits, in bytes that the reference reserves.
const WIDE_BOUND: usize = 91;

pub(super) fn write(p: &BoundGinterp, of: Val) -> Config {
    let mut w = Writer::default();
    w.f32(0.0);
    w.u32(0);
    w.u32(p.n as u32);
    w.u32(0);
    let mode = match p.mode {
        ABS => WIRE_ABS,
        NOA => WIRE_NOA,
        _ => WIRE_PREL,
    };
    let grid = TileGrid::new(&p.launch());
    w.bytes(&[p.value as u8, p.code as u8, if p.dims[2] > 1 { 3 } else { 2 }, mode]);
    p.dims.iter().for_each(|&d| w.u32(d));
    grid.tiles.iter().for_each(|&d| w.u32(d as u32));
    w.f32(finite_f32(p.error_bound));
    w.pad_to(90);
    w.bytes(&[p.tuning]);
    w.pad_to(104);
    // The run stores this number, so a plan uses the parameters as a reader of its files does.
    w.0[4..8].copy_from_slice(&most_radius(1).to_le_bytes());
    w.0[56..64].copy_from_slice(&ALPHA.to_le_bytes());
    w.0[64..72].copy_from_slice(&BETA.to_le_bytes());
    let stored = |at: usize, width: usize, field: usize| Patch {
        at,
        width,
        runtime_field: RuntimeField::Stored { of, at: field as u64 },
    };
    let bound = RuntimeField::Bound { of, at: offset_of!(GinterpMetadata, bound_f32) as u64 };
    let flags = offset_of!(GinterpMetadata, reference_flags);
    let mut patches = vec![
        Patch { at: 0, width: 4, runtime_field: bound },
        stored(4, 4, offset_of!(GinterpMetadata, radius)),
        stored(12, 4, offset_of!(GinterpMetadata, outliers)),
        stored(48, 4, offset_of!(GinterpMetadata, base)),
        stored(56, 8, offset_of!(GinterpMetadata, alpha)),
        stored(64, 8, offset_of!(GinterpMetadata, beta)),
        stored(72, 8, flags),
        stored(80, 8, flags + 8),
        stored(88, 2, flags + 16),
    ];
    if p.value == DType::F64 {
        patches.push(stored(WIDE_BOUND, 8, offset_of!(GinterpMetadata, bound)));
    }
    Config { bytes: w.0, patches }
}

pub(super) fn read(config: &[u8]) -> Result<Parsed> {
    let mut r = Reader::new(SPEC.name, config);
    let bound_f32 = r.f32()?;
    let (radius, n, outliers) = (r.u32()?, r.u32()?, r.u32()?);
    let [value, code, ndim, mode] = r.array()?;
    let dims = [r.u32()?, r.u32()?, r.u32()?];
    let anchors = [r.u32()?, r.u32()?, r.u32()?];
    let (user, base) = (r.f32()?, r.f32()?);
    r.bytes(4)?;
    let (alpha, beta) = (r.f64()?, r.f64()?);
    let reference_flags: [u8; FLAGS] = r.array()?;
    let tuning = r.u8()?;
    let wide = r.f64()?;
    let refuse = |what: String| Err(Error::corrupt(SPEC.name, what));
    if r.rest().len() != 104 - WIDE_BOUND - 8 {
        return refuse("its config has another length".into());
    }
    let (Ok(value), Ok(code)) = (DType::from_number(value.into()), DType::from_number(code.into())) else {
        return refuse(format!("there are no element types {value} and {code}"));
    };
    if !value.is_float() || ![DType::U8, DType::U16, DType::U32].contains(&code) {
        return refuse(format!("values of {value} with codes of {code} are not possible"));
    }
    let empty = n == 0 && dims[0] == 0;
    if !empty && (ndim != (if dims[2] > 1 { 3 } else { 2 }) || dims[0] == 0 || dims[1] < 2 || dims[2] == 0) {
        return refuse(format!("a shape of {dims:?} does not have {ndim} dimensions"));
    }
    let bound =
        if value == DType::F64 && wide as f32 == bound_f32 && wide > 0.0 { wide } else { bound_f32.into() };
    // Files of others have infinite bounds where the data has infinities.
    if bound.is_nan() || bound < 0.0 || !(alpha > 0.0 && beta > 0.0) {
        return refuse(format!("its bound is {bound}, its alpha {alpha}, its beta {beta}"));
    }
    if radius == 0 || radius > 1 << 31 {
        return refuse(format!("its radius is {radius}"));
    }
    let user = if user == 0.0 { bound.min(f64::MAX) } else { user.into() };
    let args = arguments([mode, tuning], user, code, dims)?;
    let mut launch = GinterpParams::zeroed();
    launch.dims = dims;
    let grid = TileGrid::new(&launch);
    if grid.tiles.map(|d| d as u32) != anchors {
        return refuse(format!("{anchors:?} anchors do not go with a shape of {dims:?}"));
    }
    let mut metadata = GinterpMetadata {
        alpha,
        beta,
        bound,
        bound_f32,
        base,
        radius,
        outliers,
        reference_flags,
        ..GinterpMetadata::zeroed()
    };
    complete(&mut metadata, value, grid.levels);
    let length = Length::Bytes(u64::from(n) * value.bytes());
    Ok(Parsed { args, input: Some(value), length, metadata: bytemuck::bytes_of(&metadata).to_vec() })
}

/// The parameters that a config tells.
fn arguments([mode, tuning]: [u8; 2], user: f64, code: DType, dims: [u32; 3]) -> Result<Args> {
    let mut args = Args::new(SPEC.name, SPEC.params);
    args.set_text(
        "mode",
        match mode {
            WIRE_ABS => "abs",
            WIRE_NOA => "noa",
            WIRE_PREL => "prel",
            other => return Err(Error::corrupt(SPEC.name, format!("there is no mode {other}"))),
        },
    )?;
    let put =
        |name: &str, set: Result<()>| set.map_err(|e| Error::corrupt(SPEC.name, format!("{name}: {e}")));
    put("bound", args.set_real("error_bound", user))?;
    put("tuning", args.set_int("auto_tuning", tuning.into()))?;
    put("code type", args.set_text("code_type", code.name()))?;
    args.set_real(OUTLIER_CAPACITY, 1.0)?;
    for (name, d) in ["dim_x", "dim_y", "dim_z"].into_iter().zip(dims) {
        put(name, args.set_int(name, d.into()))?;
    }
    Ok(args)
}

/// The numbers that decoders compute from the fields of the config.
fn complete(metadata: &mut GinterpMetadata, value: DType, levels: usize) {
    let bound = metadata.bound;
    match value {
        DType::F32 => set_steps(metadata, HalfStep::new(bound as f32), levels),
        _ => set_steps(metadata, HalfStep::new(bound), levels),
    }
    for level in 0..levels {
        let bit = |kind: usize| u8::from(metadata.reference_flags[6 * kind + level] != 0) << kind;
        metadata.flags[level] = bit(0) | bit(1) | bit(2);
    }
}
