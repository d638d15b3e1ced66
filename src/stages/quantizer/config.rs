//! The config of the stage in a header, in its widest form of 72 bytes.

use super::bind::BoundQuantizer;
use super::{ABS, BoundMetadata, PREL, Quantizer, REL, SPEC, rel};
use crate::base::dtype::DType;
use crate::base::error::{Error, Result};
use crate::base::param::Args;
use crate::base::wire::{Reader, Writer};
use crate::ir::stage::{Config, Generation, Length, Parsed, Patch, Ports, RuntimeField};
use crate::ir::versions::{COUNT_PORT, Versions, no_such_config};
use std::mem::offset_of;

/// Nearest f32 that is neither zero nor infinite, so that it can be read back as a bound.
pub(in crate::stages) fn finite_f32(x: f64) -> f32 {
    (x as f32).clamp(f32::from_bits(1), f32::MAX)
}

/// True for an absolute bound on f64 data that the f32 field of the short config cannot hold.
pub(super) fn needs_f64(p: &BoundQuantizer) -> bool {
    p.value == DType::F64 && p.mode == ABS && p.error_bound < f64::from(f32::MIN_POSITIVE)
}

pub(super) fn write(p: &BoundQuantizer, io: Ports<'_>) -> Result<Config> {
    let rules = p.rules;
    if needs_f64(p) && rules.generation == Generation::G2026_05 {
        let what = format!(
            "a bound of {:?} does not fit the files of 2026-05; use generation 2026-08",
            p.error_bound
        );
        return Err(Error::Unsupported { stage: SPEC.name, what });
    }
    if p.mode == PREL && rules.generation == Generation::G2026_05 {
        let what = "the files of 2026-05 have no mode prel; use generation 2026-08, or mode noa".into();
        return Err(Error::Unsupported { stage: SPEC.name, what });
    }
    let mut w = Writer::default();
    w.f32(0.0);
    // Decoders of rel derive everything from this number, so a plan uses it as a reader of its files does.
    w.f32(if p.mode == REL {
        rel::wire_bound(p.error_bound, rules.strict)
    } else {
        finite_f32(p.error_bound)
    });
    w.f32(0.0);
    w.u32(0);
    w.u32(p.n as u32);
    w.u32(0);
    w.bytes(&[p.value as u8, p.code as u8, p.mode as u8, p.zigzag.into()]);
    // Never read as "no threshold at all"; the decoder has no use for it.
    w.f32((p.threshold as f32).max(f32::from_bits(1)));
    w.u8(p.in_place.into());
    w.pad_to(48);
    w.f32(1.0);
    w.pad_to(72);
    let runtime_field = |at: usize| RuntimeField::Stored { of: io.metadata, at: at as u64 };
    let bound = |at: usize| RuntimeField::Bound { of: io.metadata, at: at as u64 };
    let mut patches = vec![
        Patch {
            at: if p.mode == REL { 4 } else { 0 },
            width: 4,
            runtime_field: bound(offset_of!(BoundMetadata, bound_f32)),
        },
        Patch { at: 8, width: 4, runtime_field: runtime_field(offset_of!(BoundMetadata, base)) },
        Patch { at: 12, width: 4, runtime_field: runtime_field(offset_of!(BoundMetadata, radius)) }, // seed: patch-offset
    ];
    if let Some(&values) = io.outputs.get(1) {
        let unit = p.value.bytes();
        patches.push(Patch { at: 20, width: 4, runtime_field: RuntimeField::Count { of: values, unit } });
    }
    if needs_f64(p) {
        patches.push(Patch { at: 56, width: 8, runtime_field: bound(offset_of!(BoundMetadata, bound)) });
        // The run stores this number, so a plan uses the parameters as a reader of its files does.
        let bound = if rules.strict { p.error_bound } else { f64::from(p.error_bound as f32) };
        if !rules.strict || bound >= f64::MIN_POSITIVE {
            w.0[56..64].copy_from_slice(&bound.to_le_bytes());
        }
    }
    Ok(Config { bytes: w.0, patches })
}

pub(super) fn read(config: &[u8]) -> Result<Parsed> {
    let mut r = Reader::new(SPEC.name, config);
    let (bound_f32, user, base) = (r.f32()?, r.f32()?, r.f32()?);
    let (radius, n, outliers) = (r.u32()?, r.u32()?, r.u32()?);
    let [value, code, mode, zigzag] = r.array()?;
    let threshold = r.f32()?;
    let [in_place, linear, dither, precise, power, ..] = r.array::<8>()?;
    r.bytes(16)?;
    let (bound_f64, _base_f64) = (r.f64()?, r.f64()?);
    if !r.rest().is_empty() {
        return Err(Error::corrupt(SPEC.name, "its config has another length"));
    }
    if linear | dither | precise | power != 0 {
        let what =
            "linear, dithered, high-precision and power-of-two codes are not read by this version".into();
        return Err(Error::Unsupported { stage: SPEC.name, what });
    }
    let refuse = |what: String| Err(Error::corrupt(SPEC.name, what));
    let (Ok(value), Ok(code)) = (DType::from_number(value.into()), DType::from_number(code.into())) else {
        return refuse(format!("there are no element types {value} and {code}"));
    };
    let mut args = Args::new(SPEC.name, SPEC.params);
    match mode {
        0 => args.set_text("mode", "abs")?,
        1 => args.set_text("mode", "rel")?,
        2 => args.set_text("mode", "noa")?,
        3 => args.set_text("mode", "prel")?,
        other => return refuse(format!("there is no mode {other}")),
    }
    if zigzag > 1 || in_place > 1 {
        return refuse("a flag is neither 0 nor 1".into());
    }
    let put =
        |name: &str, set: Result<()>| set.map_err(|e| Error::corrupt(SPEC.name, format!("{name}: {e}")));
    let user = if mode == 0 && bound_f64 != 0.0 { bound_f64 } else { f64::from(user) };
    put("bound", args.set_real("error_bound", user))?;
    put("threshold", args.set_real("outlier_threshold", threshold.into()))?;
    put("code type", args.set_text("code_type", code.name()))?;
    args.set_int("zigzag_codes", zigzag.into())?;
    // Writers may set the switch under rel, where it means nothing.
    args.set_int("inplace_outliers", i64::from(in_place == 1 && mode != 1))?;
    args.set_real("outlier_capacity", 1.0)?;
    let bound_f32 = if mode == 1 { user as f32 } else { bound_f32 };
    let bound = match mode {
        1 => user,
        _ if bound_f64 != 0.0 => bound_f64,
        _ => bound_f32.into(),
    };
    // Files of other writers have infinite bounds if the data has infinities. The f32 bound is checked even
    // if the f64 one overrules it.
    // seed: bound-of-head
    if let Some(wrong) = [bound, bound_f32.into()].into_iter().find(|b| b.is_nan() || *b < 0.0) {
        return refuse(format!("its bound is {wrong}"));
    }
    let metadata = BoundMetadata { bound, bound_f32, base, radius, outliers, promise: 0.0 };
    let length = Length::Bytes(u64::from(n) * value.bytes());
    Ok(Parsed { args, input: Some(value), length, metadata: bytemuck::bytes_of(&metadata).to_vec() })
}

/// | 2026-05 | 2026-08 and June |
/// |---|---|
/// | ports codes, vals, idxs, count; or codes | without count |
/// | config of 28 or 36 bytes | 36, 48, 56 or 72 |
impl Versions for Quantizer {
    fn upgrade(&self, config: &[u8]) -> Result<Vec<u8>> {
        let mut c = config.to_vec();
        if ![28, 36, 48, 56, 72].contains(&c.len()) {
            return Err(no_such_config(SPEC.id, c.len()));
        }
        if c.len() == 28 {
            c.extend(f32::INFINITY.to_le_bytes());
        }
        c.resize(c.len().max(48), 0);
        if c.len() == 48 {
            c.extend(1f32.to_le_bytes());
        }
        c.resize(72, 0);
        Ok(c)
    }

    fn downgrade(&self, _: Generation, mut config: Config) -> Result<Config> {
        if config.patches.iter().all(|p| p.at < 36) {
            config.bytes.truncate(36);
        }
        Ok(config)
    }

    fn extra_port(
        &self,
        generation: Generation,
        io: Ports<'_>,
        value_bytes: u64,
    ) -> Option<(&'static str, RuntimeField)> {
        match (generation, io.outputs) {
            (Generation::G2026_05, [_, values, _]) => {
                Some((COUNT_PORT, RuntimeField::Count { of: *values, unit: value_bytes }))
            }
            _ => None,
        }
    }

    fn former_ports(&self) -> Option<usize> {
        Some(4)
    }

    fn records_capacity(&self) -> bool {
        true
    }
}
