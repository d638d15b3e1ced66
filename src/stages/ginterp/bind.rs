//! The parameters, checked against the types and lengths on the edges.

use super::SPEC;
use super::grid::TileGrid;
use super::params::{ABSOLUTE, GinterpParams, MEASURED, OF_MAGNITUDE, STRICT, UNSET};
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::Args;
use crate::ir::stage::Generation;
use crate::stages::inputs::{floats, known_elements};
use crate::stages::parameters::list_capacity;
use crate::stages::{quantizer, shape};
use bytemuck::Zeroable;

/// The stage on an edge.
pub(super) struct BoundGinterp {
    pub(super) strict: bool,
    pub(super) generation: Generation,
    pub(super) value: DType,
    pub(super) code: DType,
    pub(super) mode: u32,
    pub(super) error_bound: f64,
    pub(super) threshold: f64,
    value_base: f64,
    capacity: f64,
    pub(super) tuning: u8,
    manual: [f64; 2],
    radius: u32,
    /// Masks of levels: md, natural, reverse.
    levels: [u8; 3],
    /// As in the parameters, and as tiles are laid out.
    pub(super) shape: [u32; 3],
    pub(super) dims: [u32; 3],
    /// Elements on the edge.
    pub(super) n: u64,
}

pub(super) fn refuse(name: &str, got: impl ToString, expected: impl Into<String>) -> Error {
    Error::argument(format!("{}.{name}", SPEC.name), got, expected)
}

impl BoundGinterp {
    pub(super) fn new(args: &Args, edge: EdgeType, strict: bool, generation: Generation) -> Result<Self> {
        let value = floats(SPEC.name, args, edge)?;
        let n = known_elements(SPEC.name, edge, u32::MAX.into())?;
        let code = DType::from_name(args.choice("code_type")?)?;
        let manual = [args.real("manual_alpha")?, args.real("manual_beta")?];
        let bound = BoundGinterp {
            strict,
            generation,
            value,
            code,
            mode: quantizer::mode_of_array(SPEC.name, args, "a tree of predictions")?,
            error_bound: args.real("error_bound")?,
            threshold: args.real("outlier_threshold")?,
            value_base: args.real("value_base")?,
            capacity: list_capacity(args, strict, n)?,
            tuning: args.int("auto_tuning")? as u8,
            manual,
            radius: args.int("quant_radius")? as u32,
            levels: [
                levels(args, "md_levels")?,
                levels(args, "natural_levels")?,
                levels(args, "reverse_levels")?,
            ],
            shape: shape::of(SPEC.name, args, n)?.map(|d| d as u32),
            dims: [0; 3],
            n,
        };
        only_in_their_modes(args)?;
        bound.with_dims()?.checked()
    }

    /// Dimensions of length 1 come last; in those of the reference they stay where they are.
    fn with_dims(mut self) -> Result<Self> {
        let shape = self.shape.map(u64::from);
        let order = if self.strict { shape::ones_last(shape) } else { [0, 1, 2] };
        self.dims = order.map(|d| self.shape[d]);
        if !self.strict && self.n > 0 && self.dims[1] < 2 {
            let expected = "2 or more, for any dim_z, because strict is off; give the array two or three dimensions (--dims), or turn strict on";
            return Err(refuse("dim_y", self.shape[1], expected));
        }
        Ok(self)
    }

    fn checked(self) -> Result<Self> {
        if !self.strict {
            return Ok(self);
        }
        let most = most_radius(self.value, self.code);
        if u64::from(self.radius) > most {
            let expected = format!("at most {most} for {} values with codes of {}", self.value, self.code);
            return Err(refuse("quant_radius", self.radius, expected));
        }
        for (name, value) in ["manual_alpha", "manual_beta"].into_iter().zip(self.manual) {
            if value != 0.0 && value < 1.0 {
                let expected = "0, or at least 1: coarse levels would have steps beyond the bound";
                return Err(refuse(name, format!("{value:?}"), expected));
            }
        }
        if self.mode == quantizer::ABS && self.error_bound < self.least_bound() {
            let expected = format!(
                "at least {:?}, the smallest normal number of {}; or use preset bits, which loses nothing",
                self.least_bound(),
                self.value
            );
            return Err(refuse("error_bound", format!("{:?}", self.error_bound), expected));
        }
        Ok(self)
    }

    fn least_bound(&self) -> f64 {
        if self.value == DType::F32 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE }
    }

    /// Room of the outlier lists in elements.
    pub(super) fn outliers(&self) -> u64 {
        let elements = self.elements();
        ((elements as f64 * self.capacity).ceil() as u64).min(elements)
    }

    /// Elements that have codes.
    pub(super) fn elements(&self) -> u64 {
        self.dims.iter().map(|&d| u64::from(d)).product()
    }

    /// Codes: files of the reference have them of padding too.
    pub(super) fn codes(&self) -> u64 {
        if self.strict { self.elements() } else { self.n }
    }

    pub(super) fn anchors(&self) -> u64 {
        TileGrid::new(&self.launch()).anchors() as u64
    }

    /// True if the run measures the smallest and the largest value.
    fn is_measured(&self) -> bool {
        if self.mode != quantizer::ABS {
            return self.value_base == 0.0;
        }
        let scheduled = matches!(self.tuning, 1..=4) || self.tuning == 5 && self.manual[0] == 0.0;
        scheduled || !self.strict && self.radius == 0
    }

    pub(super) fn bound_launch(&self, padded: bool) -> quantizer::QuantizerParams {
        let mut launch = quantizer::QuantizerParams::zeroed();
        launch.error_bound = self.error_bound;
        launch.threshold = self.threshold;
        launch.value_base = self.value_base;
        launch.mode = self.mode;
        // A radius for no bins: 0 means that no step exists, which is only found at run time.
        launch.radius = 1;
        launch.switches = match (self.strict, padded) {
            (true, _) => quantizer::STRICT,
            (false, true) => quantizer::PADDED,
            (false, false) => 0,
        };
        launch.switches |= if self.is_measured() { quantizer::RANGE } else { 0 };
        launch.value = self.value.bytes() as u32;
        launch.code = self.code.bytes() as u32;
        launch
    }

    pub(super) fn launch(&self) -> GinterpParams {
        let mut launch = GinterpParams::zeroed();
        launch.threshold_or_base = if self.strict { self.threshold } else { self.value_base };
        launch.error_bound = self.error_bound;
        [launch.manual_alpha, launch.manual_beta] = self.manual;
        launch.dims = self.dims;
        launch.radius = self.radius;
        launch.switches = [
            (self.strict, STRICT),
            (self.mode == quantizer::ABS, ABSOLUTE),
            (self.is_measured(), MEASURED),
            (self.mode == quantizer::PREL, OF_MAGNITUDE),
        ]
        .iter()
        .filter(|(set, _)| *set)
        .fold(0, |all, (_, switch)| all | switch);
        [launch.md, launch.natural, launch.reverse] = self.levels;
        launch.tuning = self.tuning;
        launch.value = self.value.bytes() as u8;
        launch.code = self.code.bytes() as u8;
        launch
    }
}

/// Refuses parameters that the mode or the tuning would not read.
fn only_in_their_modes(args: &Args) -> Result<()> {
    let tuning = args.int("auto_tuning")?;
    for name in ["manual_alpha", "manual_beta"] {
        let value = args.real(name)?;
        if value != 0.0 && tuning != 5 {
            let expected = format!("0, because auto_tuning is {tuning}; it needs auto_tuning=5");
            return Err(refuse(name, format!("{value:?}"), expected));
        }
    }
    for name in ["md_levels", "natural_levels", "reverse_levels"] {
        let bits = args.int(name)?;
        if bits >= 0 && !matches!(tuning, 0 | 5) {
            let expected =
                format!("-1, because auto_tuning is {tuning} and chooses them; it needs auto_tuning=0 or 5");
            return Err(refuse(name, bits, expected));
        }
    }
    let base = args.real("value_base")?;
    if base != 0.0 && args.choice("mode")? == "abs" {
        let expected =
            "0, because nothing is measured under mode abs; leave it out, or set mode to noa or prel";
        return Err(refuse("value_base", format!("{base:?}"), expected));
    }
    Ok(())
}

fn levels(args: &Args, name: &'static str) -> Result<u8> {
    Ok(u8::try_from(args.int(name)?).unwrap_or(UNSET))
}

/// Codes are differences of integers that the values hold, and that the codes hold.
pub(super) fn most_radius(value: DType, code: DType) -> u64 {
    let of_values = if value == DType::F32 { 1 << 22 } else { 1 << 30 };
    of_values.min(1 << (8 * code.bytes() - 1))
}
