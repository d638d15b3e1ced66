//! The parameters of the stage, checked against the type of the values.

use super::{ABS, IN_PLACE, Launch, NOA, PADDED, PREL, REL, SPEC, STRICT, ZIGZAG, step};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::extent::Flow;
use crate::param::Args;
use crate::stage::Rules;
use crate::stages::words::floats;

pub(super) struct Params {
    pub(super) value: DType,
    pub(super) code: DType,
    /// Never under rel: its codes leave no room for raw values.
    pub(super) in_place: bool,
    pub(super) zigzag: bool,
    /// As the config has it.
    pub(super) mode: u32,
    pub(super) error_bound: f64,
    pub(super) radius: u32,
    pub(super) capacity: f64,
    pub(super) threshold: f64,
    pub(super) value_base: f64,
    fixed_step: bool,
}

fn refuse(name: &str, got: impl ToString, expected: impl Into<String>) -> Error {
    Error::argument(format!("quantizer.{name}"), got, expected)
}

/// Whether outliers stand among the codes.
pub(super) fn in_place(args: &Args) -> Result<bool> {
    Ok(args.flag("inplace_outliers")? && args.choice("mode")? != "rel")
}

impl Params {
    pub(super) fn new(args: &Args, flow: Flow) -> Result<Params> {
        let value = floats(SPEC.name, args, flow)?;
        let mode = match args.choice("mode")? {
            "rel" => REL,
            "noa" => NOA,
            "prel" => PREL,
            _ => ABS,
        };
        let mut p = Params {
            value,
            code: DType::from_name(args.choice("code_type")?)?,
            in_place: in_place(args)?,
            zigzag: args.flag("zigzag_codes")?,
            mode,
            error_bound: args.real("error_bound")?,
            radius: u32::try_from(args.int("quant_radius")?).unwrap_or(u32::MAX),
            capacity: args.real("outlier_capacity")?,
            threshold: args.real("outlier_threshold")?,
            value_base: args.real("value_base")?,
            fixed_step: args.flag("fixed_step")?,
        };
        p.check()?;
        Ok(p)
    }

    fn check(&mut self) -> Result<()> {
        let bits = 8 * self.code.bytes();
        if self.in_place && (!self.zigzag || self.code.bytes() != self.value.bytes()) {
            let got =
                format!("true with {} codes{}", self.code, if self.zigzag { "" } else { " without zigzag" });
            return Err(refuse(
                "inplace_outliers",
                got,
                format!("zigzag_codes and codes as wide as {}", self.value),
            ));
        }
        if !self.in_place && self.code == DType::U64 && !(self.mode == REL && self.value == DType::F64) {
            let expected = "u16 or u32, or u64 for f64 with inplace_outliers or mode rel";
            return Err(refuse("code_type", "u64", expected));
        }
        let most: u32 =
            if self.in_place && self.value == DType::F32 { 1 << 22 } else { 1 << (bits - 1).min(31) };
        if self.radius > most {
            return Err(refuse(
                "quant_radius",
                self.radius,
                format!("at most {most} for {} codes", self.code),
            ));
        }
        if self.radius == 0 {
            self.radius = most;
        }
        // In place, the raw bits of a value below this would read as a code.
        let least = if self.value == DType::F32 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
        if self.in_place && self.threshold < least {
            return Err(refuse(
                "outlier_threshold",
                format!("{:?}", self.threshold),
                format!("at least {least:?} with inplace_outliers"),
            ));
        }
        Ok(())
    }

    /// What can be read but is not written.
    pub(super) fn check_written(&self, rules: Rules) -> Result<()> {
        const LEAST: f64 = 1.0 / 1_048_576.0;
        if rules.strict && self.mode == REL && self.value == DType::F64 && self.error_bound < LEAST {
            let expected = "at least 2^-20 = 9.54e-7 for f64 under mode rel, whose codes give f32 back; mode abs or noa, or preset bits, go further";
            return Err(refuse("error_bound", format!("{:?}", self.error_bound), expected));
        }
        Ok(())
    }

    pub(super) fn launch(&self, rules: Rules, padded: bool) -> Launch {
        let switch = |on: bool, bit: u32| if on { bit } else { 0 };
        Launch {
            error_bound: self.error_bound,
            threshold: self.threshold,
            value_base: self.value_base,
            mode: self.mode,
            radius: self.radius,
            switches: switch(self.zigzag, ZIGZAG)
                | switch(self.in_place, IN_PLACE)
                | switch(rules.strict, STRICT)
                | switch(!rules.strict && padded, PADDED),
            value: self.value.bytes() as u32,
            code: self.code.bytes() as u32,
            exact_bits: if self.fixed_step { 0 } else { step::EXACT_BITS },
        }
    }

    /// Room of the outlier lists in elements, evaluated in f32 as the format has it.
    pub(super) fn outliers(&self, n: u64) -> u64 {
        // Beyond 2^24 elements an f32 would round the whole of them down.
        if self.capacity >= 1.0 { n } else { ((n as f32 * self.capacity as f32).ceil() as u64).min(n) }
    }
}
