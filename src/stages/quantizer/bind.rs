//! The parameters of the stage, checked against the type of the values.

use super::params::{ABS, IN_PLACE, NOA, PADDED, PREL, PREVIOUS, QuantizerParams, REL, STRICT, ZIGZAG};
use super::{SPEC, step};
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::Args;
use crate::ir::stage::Rules;
use crate::stages::inputs::{floats, known_elements};
use crate::stages::parameters::list_capacity;

/// The stage on an edge.
pub(super) struct BoundQuantizer {
    pub(super) rules: Rules,
    /// Values on the edge.
    pub(super) n: u64,
    pub(super) value: DType,
    pub(super) code: DType,
    /// Never under rel: its codes leave no room for raw values.
    pub(super) in_place: bool,
    pub(super) zigzag: bool,
    /// The number of the mode in the config.
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

/// True if outliers are stored among the codes.
pub(super) fn in_place(args: &Args) -> Result<bool> {
    Ok(args.flag("inplace_outliers")? && args.choice("mode")? != "rel")
}

impl BoundQuantizer {
    pub(super) fn new(args: &Args, edge: EdgeType, rules: Rules) -> Result<BoundQuantizer> {
        let value = floats(SPEC.name, args, edge)?;
        let mode = match args.choice("mode")? {
            "rel" => REL,
            "noa" => NOA,
            "prel" => PREL,
            _ => ABS,
        };
        let mut p = BoundQuantizer {
            rules,
            n: edge.max_bytes() / value.bytes(),
            value,
            code: DType::from_name(args.choice("code_type")?)?,
            in_place: in_place(args)?,
            zigzag: args.flag("zigzag_codes")?,
            mode,
            error_bound: args.real("error_bound")?,
            radius: u32::try_from(args.int("quant_radius")?).unwrap_or(u32::MAX),
            capacity: list_capacity(args, rules.strict, edge.max_bytes() / value.bytes())?,
            threshold: args.real("outlier_threshold")?,
            value_base: args.real("value_base")?,
            fixed_step: args.flag("fixed_step")?,
        };
        p.check()?;
        known_elements(SPEC.name, edge, u32::MAX.into())?;
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

    /// True if the bound is a fraction of a number that the run measures.
    fn is_measured(&self) -> bool {
        [NOA, PREL].contains(&self.mode) && self.value_base == 0.0
    }

    /// Rejects forms that can be read but not written.
    pub(super) fn check_written(&self) -> Result<()> {
        const LEAST: f64 = 1.0 / 1_048_576.0;
        // seed: bound-of-f64
        if self.rules.strict && self.mode == REL && self.value == DType::F64 && self.error_bound < LEAST {
            let expected = "at least 2^-20 = 9.54e-7 for f64 under mode rel, whose codes give f32 back; mode abs or noa, or preset bits, go further";
            return Err(refuse("error_bound", format!("{:?}", self.error_bound), expected));
        }
        Ok(())
    }

    pub(super) fn launch(&self, strict: bool, padded: bool) -> QuantizerParams {
        let switch = |on: bool, bit: u32| if on { bit } else { 0 };
        QuantizerParams {
            error_bound: self.error_bound,
            threshold: self.threshold,
            value_base: self.value_base,
            mode: self.mode,
            radius: self.radius,
            switches: switch(self.zigzag, ZIGZAG)
                | switch(self.in_place, IN_PLACE)
                | switch(strict, STRICT)
                | switch(strict && self.rules.previous_base && self.is_measured(), PREVIOUS)
                | switch(!strict && padded, PADDED),
            value: self.value.bytes() as u32,
            code: self.code.bytes() as u32,
            exact_bits: if self.fixed_step { 0 } else { step::EXACT_BITS }, // seed: fixed-step
        }
    }

    /// Room of the outlier lists in elements, evaluated in f32 as the format defines it.
    pub(super) fn outliers(&self) -> u64 {
        let n = self.n;
        // Beyond 2^24 elements an f32 would round the whole of them down.
        if self.capacity >= 1.0 { n } else { ((n as f32 * self.capacity as f32).ceil() as u64).min(n) }
    }
}
