//! The config of the stage's own form in a header: 128 bytes.

use super::SPEC;
use super::bind::{BoundGinterp, most_radius};
use super::params::{GinterpMetadata, MD, NATURAL, REVERSE};
use super::steps::{self, ALPHA, BETA};
use crate::base::dtype::DType;
use crate::base::error::{Error, Result};
use crate::base::param::{Args, OUTLIER_CAPACITY};
use crate::base::wire::{Reader, Writer};
use crate::ir::stage::{Config, Length, Parsed, Patch, RuntimeField};
use crate::ir::value::Val;
use bytemuck::Zeroable;
use std::mem::offset_of;

/// Form of config and codes.
const VERSION: u8 = 1;
/// Levels that a config has room for.
const LEVELS: usize = 6;

pub(super) fn write(p: &BoundGinterp, of: Val) -> Config {
    let mut w = Writer::default();
    w.bytes(&[VERSION, p.value as u8, p.code as u8, p.mode as u8 | p.tuning << 4]);
    w.u64(0);
    w.u32(0);
    w.u32(p.n as u32);
    p.shape.iter().for_each(|&d| w.u32(d));
    w.f64(p.error_bound);
    w.f64(p.threshold);
    // The run stores this number, so a plan uses the parameters as a reader of its containers does.
    w.0[12..16].copy_from_slice(&steps::most_radius(1).to_le_bytes());
    [ALPHA, BETA, f64::NEG_INFINITY, f64::INFINITY].into_iter().for_each(|x| w.f64(x));
    w.pad_to(128);
    let stored = |at: usize, width: usize, field: usize| Patch {
        at,
        width,
        runtime_field: RuntimeField::Stored { of, at: field as u64 },
    };
    let mut patches = vec![
        stored(4, 8, offset_of!(GinterpMetadata, flags)),
        stored(12, 4, offset_of!(GinterpMetadata, radius)),
        stored(48, 8, offset_of!(GinterpMetadata, alpha)),
        stored(56, 8, offset_of!(GinterpMetadata, beta)),
        stored(64, 8, offset_of!(GinterpMetadata, low)),
        stored(72, 8, offset_of!(GinterpMetadata, high)),
    ];
    patches.extend((0..LEVELS).map(|level| Patch {
        at: 80 + 8 * level,
        width: 8,
        runtime_field: RuntimeField::Bound { of, at: (offset_of!(GinterpMetadata, step) + 8 * level) as u64 },
    }));
    Config { bytes: w.0, patches }
}

pub(super) fn read(config: &[u8]) -> Result<Parsed> {
    let mut r = Reader::new(SPEC.name, config);
    let [version, value, code, modes] = r.array()?;
    if version != VERSION {
        let what = format!("form {version} is not read by this version, which reads form {VERSION}");
        return Err(Error::Unsupported { stage: SPEC.name, what });
    }
    let flags: [u8; 8] = r.array()?;
    let (radius, n) = (r.u32()?, r.u32()?);
    let dims = [r.u32()?, r.u32()?, r.u32()?];
    let (user, threshold) = (r.f64()?, r.f64()?);
    let (alpha, beta, low, high) = (r.f64()?, r.f64()?, r.f64()?, r.f64()?);
    let mut step = [0.0; LEVELS];
    for step in &mut step {
        *step = r.f64()?;
    }
    let refuse = |what: String| Err(Error::corrupt(SPEC.name, what));
    if !r.rest().is_empty() {
        return refuse("its config has another length".into());
    }
    let (Ok(value), Ok(code)) = (DType::from_number(value.into()), DType::from_number(code.into())) else {
        return refuse(format!("there are no element types {value} and {code}"));
    };
    if !value.is_float() || ![DType::U8, DType::U16, DType::U32].contains(&code) {
        return refuse(format!("values of {value} with codes of {code} are not possible"));
    }
    if flags[..LEVELS].iter().any(|f| f & !(MD | NATURAL | REVERSE) != 0) || flags[LEVELS..] != [0, 0] {
        return refuse(format!("flags {flags:?} are not those of levels"));
    }
    if radius == 0 || u64::from(radius) > most_radius(value, code) {
        return refuse(format!("a radius of {radius} does not go with codes of {code}"));
    }
    if let Some(wrong) = step.iter().find(|s| !(**s >= 0.0 && s.is_finite())) {
        return refuse(format!("a step is {wrong}"));
    }
    if !are_limits(low, high) {
        return refuse(format!("predictions cannot be within {low:?} and {high:?}"));
    }
    let mut args = Args::new(SPEC.name, SPEC.params);
    args.set_text(
        "mode",
        match modes & 0xf {
            0 => "abs",
            2 => "noa",
            3 => "prel",
            other => return refuse(format!("there is no mode {other}")),
        },
    )?;
    let put =
        |name: &str, set: Result<()>| set.map_err(|e| Error::corrupt(SPEC.name, format!("{name}: {e}")));
    put("tuning", args.set_int("auto_tuning", (modes >> 4).into()))?;
    put("bound", args.set_real("error_bound", user))?;
    put("threshold", args.set_real("outlier_threshold", threshold))?;
    put("code type", args.set_text("code_type", code.name()))?;
    args.set_real(OUTLIER_CAPACITY, 1.0)?;
    for (name, d) in ["dim_x", "dim_y", "dim_z"].into_iter().zip(dims) {
        put(name, args.set_int(name, d.into()))?;
    }
    let metadata =
        GinterpMetadata { step, low, high, alpha, beta, flags, radius, ..GinterpMetadata::zeroed() };
    let length = Length::Bytes(u64::from(n) * value.bytes());
    Ok(Parsed { args, input: Some(value), length, metadata: bytemuck::bytes_of(&metadata).to_vec() })
}

/// Limits of predictions: numbers in order, where a lower limit of zero is +0 and an upper one is -0.
fn are_limits(low: f64, high: f64) -> bool {
    let zeros = low.to_bits() != (-0.0f64).to_bits() && high.to_bits() != 0;
    low <= high && zeros && low < f64::INFINITY && high > f64::NEG_INFINITY // seed: ginterp-limits
}
