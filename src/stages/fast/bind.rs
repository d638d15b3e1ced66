//! The parameters, checked against the types and lengths on the edges.

use super::SPEC;
use super::params::{FastParams, HALF2_REACH};
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::Result;
use crate::base::param::Args;
use crate::ir::stage::Rules;
use crate::stages::inputs::{floats, known_elements};
use crate::stages::{quantizer, shape};
use bytemuck::Zeroable;

/// The largest number of values: with two words each they stay within the 44 bits of a table entry.
pub(super) const MOST_ELEMENTS: i64 = 1 << 40;

/// The approximate cost of an exact value in bits: the value and its share of the masks, no code.
const EXACT_BITS: u32 = 64;

/// The stage on an edge.
pub(super) struct BoundFast {
    pub(super) value: DType,
    pub(super) mode: u32,
    pub(super) error_bound: f64,
    pub(super) threshold: f64,
    value_base: f64,
    fixed_step: bool,
    previous_base: bool,
    pub(super) dims: [u64; 3],
    /// Elements on the edge.
    pub(super) n: u64,
}

impl BoundFast {
    pub(super) fn new(args: &Args, edge: EdgeType, rules: Rules) -> Result<BoundFast> {
        let value = floats(SPEC.name, args, edge)?;
        let n = known_elements(SPEC.name, edge, MOST_ELEMENTS as u64)?;
        let mode = quantizer::mode_of_array(SPEC.name, args, "bins of one width")?;
        Ok(BoundFast {
            value,
            mode,
            error_bound: args.real("error_bound")?,
            threshold: args.real("outlier_threshold")?,
            value_base: args.real("value_base")?,
            fixed_step: args.flag("fixed_step")?,
            previous_base: rules.previous_base,
            dims: shape::of(SPEC.name, args, n)?,
            n,
        })
    }

    /// Always strict: there is no reference whose losses could be asked for.
    pub(super) fn bound_launch(&self) -> quantizer::QuantizerParams {
        let mut launch = quantizer::QuantizerParams::zeroed();
        launch.error_bound = self.error_bound;
        launch.threshold = self.threshold;
        launch.value_base = self.value_base;
        launch.mode = self.mode;
        launch.radius = if self.value == DType::F32 { 1 << 21 } else { u32::MAX };
        let previous = self.previous_base && self.mode != quantizer::ABS && self.value_base == 0.0;
        launch.switches = quantizer::STRICT | if previous { quantizer::PREVIOUS } else { 0 };
        launch.value = self.value.bytes() as u32;
        launch.code = 4;
        launch.exact_bits = if self.fixed_step { 0 } else { EXACT_BITS };
        launch
    }

    pub(super) fn launch(&self) -> FastParams {
        let mut launch = FastParams::new(self.threshold, self.dims, self.value);
        // Bins of twice the bound, which may have shrunk by a little; see kernels/fast/encode_half2.cuh.
        let bins = 1.01 / (2.0 * self.error_bound);
        launch.half2 = u16::from(self.mode != quantizer::ABS && bins <= f64::from(HALF2_REACH));
        launch
    }
}
