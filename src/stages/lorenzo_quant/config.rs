//! The config of the stage in a header, in its widest form of 64 bytes.

use super::bind::BoundLorenzoQuant;
use super::params::LorenzoQuantMetadata;
use super::{LorenzoQuant, SPEC};
use crate::base::dtype::DType;
use crate::base::error::{Error, Result};
use crate::base::param::Args;
use crate::base::wire::{Reader, Writer};
use crate::ir::stage::{Config, Generation, Length, Parsed, Patch, Ports, RuntimeField};
use crate::ir::value::Val;
use crate::ir::versions::{COUNT_PORT, Versions, no_such_config};
use crate::stages::quantizer::{ABS, NOA, finite_f32};
use std::mem::offset_of;

/// Mode numbers on the wire; prel was called REL when it got its own.
const WIRE_ABS: u8 = 0;
const WIRE_PREL: u8 = 1;
const WIRE_NOA: u8 = 2;
const WIRE_PREL_LATER: u8 = 3;

pub(super) fn write(p: &BoundLorenzoQuant, of: Val) -> Config {
    let mut w = Writer::default();
    w.f32(0.0);
    w.u32(p.radius);
    w.u32(p.n as u32);
    w.u32(0);
    let mode = match p.mode {
        ABS => WIRE_ABS,
        NOA => WIRE_NOA,
        _ => WIRE_PREL,
    };
    w.bytes(&[p.value as u8, p.code as u8, p.ndim() as u8, mode]);
    p.dims.iter().for_each(|&d| w.u32(d));
    w.f32(finite_f32(p.error_bound));
    w.f32(0.0);
    w.bytes(&[p.zigzag.into(), p.centered.into()]);
    w.pad_to(64);
    let stored = |field: usize| RuntimeField::Stored { of, at: field as u64 };
    let bound = RuntimeField::Bound { of, at: offset_of!(LorenzoQuantMetadata, bound_f32) as u64 };
    let mut patches = vec![
        Patch { at: 0, width: 4, runtime_field: bound },
        Patch { at: 12, width: 4, runtime_field: stored(offset_of!(LorenzoQuantMetadata, outliers)) },
        Patch { at: 36, width: 4, runtime_field: stored(offset_of!(LorenzoQuantMetadata, base)) },
    ];
    if p.centered {
        // Only configs of centered tiles have this field. It may be infinite where the other one is, so that
        // the kernel checks it.
        patches.push(Patch {
            at: 48,
            width: 8,
            runtime_field: stored(offset_of!(LorenzoQuantMetadata, bound)),
        });
    }
    Config { bytes: w.0, patches }
}

pub(super) fn read(config: &[u8]) -> Result<Parsed> {
    let mut r = Reader::new(SPEC.name, config);
    let bound_f32 = r.f32()?;
    let (radius, n, outliers) = (r.u32()?, r.u32()?, r.u32()?);
    let [value, code, ndim, mode] = r.array()?;
    let dims = [r.u32()?, r.u32()?, r.u32()?];
    let (user, base) = (r.f32()?, r.f32()?);
    let [zigzag, centering, ..] = r.array::<8>()?;
    let (bound_f64, _base_f64) = (r.f64()?, r.f64()?);
    let refuse = |what: String| Err(Error::corrupt(SPEC.name, what));
    if !r.rest().is_empty() {
        return refuse("its config has another length".into());
    }
    let (Ok(value), Ok(code)) = (DType::from_number(value.into()), DType::from_number(code.into())) else {
        return refuse(format!("there are no element types {value} and {code}"));
    };
    if zigzag > 1 || centering > 1 || ndim > 3 || (centering == 1 && ndim > 1) {
        return refuse(format!("{ndim} dimensions with flags of {zigzag} and {centering} are not possible"));
    }
    let bound = if bound_f64 != 0.0 { bound_f64 } else { bound_f32.into() };
    // Files of others have infinite bounds where the data has infinities. An f32 that the other one overrules is a bound too.
    if let Some(wrong) = [bound, bound_f32.into()].into_iter().find(|b| b.is_nan() || *b < 0.0) {
        return refuse(format!("its bound is {wrong}"));
    }
    let mut args = Args::new(SPEC.name, SPEC.params);
    args.set_text(
        "mode",
        match mode {
            WIRE_ABS => "abs",
            WIRE_NOA => "noa",
            WIRE_PREL | WIRE_PREL_LATER => "prel",
            other => return refuse(format!("there is no mode {other}")),
        },
    )?;
    let put =
        |name: &str, set: Result<()>| set.map_err(|e| Error::corrupt(SPEC.name, format!("{name}: {e}")));
    // The shortest configs do not contain the bound of the user.
    let user = if user == 0.0 && bound > 0.0 { bound.min(f64::MAX) } else { user.into() };
    put("bound", args.set_real("error_bound", user))?;
    put("code type", args.set_text("code_type", code.name()))?;
    args.set_int("zigzag_codes", zigzag.into())?;
    args.set_int("centering", centering.into())?;
    args.set_real("outlier_capacity", 1.0)?;
    // Nothing is decoded from the radius, and some writers state one that the codes cannot hold.
    let most = 1u64 << (8 * code.bytes() - 1).min(31);
    args.set_int("quant_radius", if u64::from(radius) > most { 0 } else { radius.into() })?;
    let unused = |d: u32, from: u8| if ndim >= from { d.max(1) } else { 1 };
    let (y, z) = (unused(dims[1], 2), unused(dims[2], 3));
    let across = u64::from(y) * u64::from(z);
    let x = if dims[0] == 0 { u64::from(n) / across } else { dims[0].into() };
    for (name, d) in [("dim_x", x), ("dim_y", y.into()), ("dim_z", z.into())] {
        args.set_int(name, d as i64)?;
    }
    // Both are used as stored, if both are written.
    let metadata = LorenzoQuantMetadata {
        bound: if centering == 1 { bound_f64 } else { bound },
        exact: 0,
        bound_f32,
        base,
        outliers,
        pad: 0,
    };
    let length = Length::Bytes(u64::from(n) * value.bytes());
    Ok(Parsed { args, input: Some(value), length, metadata: bytemuck::bytes_of(&metadata).to_vec() })
}

/// | 2026-05 | 2026-08 and June |
/// |---|---|
/// | ports codes, errors, indices, count | without count, with means behind the indices |
/// | config of 32, 40 or 44 bytes | 44, or 64 with means (byte 41) |
impl Versions for LorenzoQuant {
    fn upgrade(&self, config: &[u8]) -> Result<Vec<u8>> {
        let mut c = config.to_vec();
        if ![32, 40, 44, 64].contains(&c.len()) {
            return Err(no_such_config(SPEC.id, c.len()));
        }
        if c.len() == 32 {
            c[19] = 0;
        }
        c.resize(64, 0);
        // Some writers leave anything in this gap.
        c[44..48].fill(0);
        Ok(c)
    }

    fn downgrade(&self, generation: Generation, mut config: Config) -> Result<Config> {
        if config.bytes[41] == 0 {
            config.bytes.truncate(44);
        } else if generation == Generation::G2026_05 {
            let what =
                "tiles around their means do not exist in files of 2026-05; use generation 2026-08".into();
            return Err(Error::Unsupported { stage: SPEC.name, what });
        }
        Ok(config)
    }

    fn extra_port(
        &self,
        generation: Generation,
        io: Ports<'_>,
        _: u64,
    ) -> Option<(&'static str, RuntimeField)> {
        let at = offset_of!(LorenzoQuantMetadata, outliers) as u64;
        (generation == Generation::G2026_05)
            .then_some((COUNT_PORT, RuntimeField::Stored { of: io.metadata, at }))
    }

    fn former_ports(&self) -> Option<usize> {
        Some(4)
    }

    fn records_capacity(&self) -> bool {
        true
    }
}
