//! The parameters, checked against the types and lengths on the edges.

use super::SPEC;
use super::params::{CENTERED, LorenzoQuantParams, STRICT, ZIGZAG};
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::Args;
use crate::ir::stage::Rules;
use crate::stages::inputs::{floats, known_elements};
use crate::stages::parameters::list_capacity;
use crate::stages::{quantizer, shape};
use bytemuck::Zeroable;

/// The cost of an exact value of f32 data in bits: it is stored in two lists and costs no code.
const EXACT_BITS: u32 = 64;

/// Largest multiple of the step, as a power of two: sums of as many of them as a tile has corners are exact
/// in the type of the values, in any order.
pub(super) fn guard_bits(value: DType, ndim: u32) -> u32 {
    (if value == DType::F32 { 24 } else { 53 }) - ndim // seed: lorenzo-guard
}

/// The stage on an edge.
pub(super) struct BoundLorenzoQuant {
    pub(super) rules: Rules,
    pub(super) value: DType,
    pub(super) code: DType,
    pub(super) mode: u32,
    pub(super) zigzag: bool,
    pub(super) error_bound: f64,
    pub(super) radius: u32,
    capacity: f64,
    threshold: f64,
    value_base: f64,
    fixed_step: bool,
    pub(super) centered: bool,
    pub(super) dims: [u32; 3],
    /// Elements on the edge.
    pub(super) n: u64,
}

pub(super) fn refuse(name: &str, got: impl ToString, expected: impl Into<String>) -> Error {
    Error::argument(format!("{}.{name}", SPEC.name), got, expected)
}

impl BoundLorenzoQuant {
    pub(super) fn new(args: &Args, edge: EdgeType, rules: Rules) -> Result<BoundLorenzoQuant> {
        let value = floats(SPEC.name, args, edge)?;
        let n = known_elements(SPEC.name, edge, u32::MAX.into())?;
        let mode = quantizer::mode_of_array(SPEC.name, args, "a sum of differences")?;
        let code = DType::from_name(args.choice("code_type")?)?;
        if value == DType::F64 && code == DType::U8 {
            return Err(refuse("code_type", "u8", "u16 or u32 for f64"));
        }
        let most = 1u64 << (8 * code.bytes() - 1);
        let radius = args.int("quant_radius")? as u64;
        if radius > most {
            return Err(refuse("quant_radius", radius, format!("at most {most} for {code} codes")));
        }
        let dims = shape::of(SPEC.name, args, n)?;
        let centered = args.flag("centering")?;
        if centered && shape::rank(dims) > 1 {
            let expected = format!("false in {} dimensions: tiles have means in one", shape::rank(dims));
            return Err(refuse("centering", centered, expected));
        }
        let error_bound = args.real("error_bound")?;
        if rules.strict && mode == quantizer::ABS && error_bound < f64::from(f32::MIN_POSITIVE) {
            let expected = "at least 2^-126, the smallest step of the config; use stage quantizer on f64";
            return Err(refuse("error_bound", format!("{error_bound:?}"), expected));
        }
        Ok(BoundLorenzoQuant {
            rules,
            value,
            code,
            mode,
            zigzag: args.flag("zigzag_codes")?,
            error_bound,
            radius: (if radius == 0 { most } else { radius }) as u32,
            capacity: list_capacity(args, rules.strict, n)?,
            threshold: args.real("outlier_threshold")?,
            value_base: args.real("value_base")?,
            fixed_step: args.flag("fixed_step")?,
            centered,
            dims: dims.map(|d| d as u32),
            n,
        })
    }

    pub(super) fn ndim(&self) -> u32 {
        shape::rank(self.dims)
    }

    /// Room of the outlier lists in elements, evaluated in f32 as the format defines it.
    pub(super) fn outliers(&self) -> u64 {
        // Beyond 2^24 elements an f32 would round the whole of them down.
        if self.capacity < 1.0 {
            return ((self.n as f32 * self.capacity as f32).ceil() as u64).min(self.n);
        }
        // With neighbors above or behind it, the stand-in of an exact value can be an outlier itself.
        if self.rules.strict && self.ndim() > 1 { 2 * self.n } else { self.n } // seed: lorenzo-room
    }

    pub(super) fn bound_launch(&self, padded: bool) -> quantizer::QuantizerParams {
        let guard = 1u64 << guard_bits(self.value, self.ndim());
        let mut launch = quantizer::QuantizerParams::zeroed();
        launch.error_bound = self.error_bound;
        launch.threshold = self.threshold;
        launch.value_base = self.value_base;
        launch.mode = self.mode;
        launch.radius = u32::try_from(guard).unwrap_or(u32::MAX);
        launch.switches = match (self.rules.strict, padded) {
            (true, _) => quantizer::STRICT,
            (false, true) => quantizer::PADDED,
            (false, false) => 0,
        };
        launch.value = self.value.bytes() as u32;
        launch.code = self.code.bytes() as u32;
        launch.exact_bits = if self.fixed_step { 0 } else { EXACT_BITS };
        launch
    }

    pub(super) fn launch(&self, strict: bool) -> LorenzoQuantParams {
        let flat = self.ndim() == 1 && !strict;
        LorenzoQuantParams {
            threshold: self.threshold,
            // In one dimension the reference also codes the padding.
            count: if flat { self.n as u32 } else { self.dims.iter().product() },
            dims: self.dims,
            ndim: self.ndim(),
            radius: self.radius,
            switches: [(self.zigzag, ZIGZAG), (strict, STRICT), (self.centered, CENTERED)]
                .iter()
                .filter(|(set, _)| *set)
                .fold(0, |all, (_, switch)| all | switch),
            value: self.value.bytes() as u32,
            code: self.code.bytes() as u32,
            pad: 0,
        }
    }
}
