//! The stage on an edge: its parameters, checked against the type and the length of the array.

use super::SPEC;
use super::device::Most;
use super::params::MultilevelParams;
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::Result;
use crate::base::param::Args;
use crate::stages::inputs::{floats, known_elements};
use crate::stages::{quantizer, shape};
use bytemuck::Zeroable;

/// The largest number of elements of an array.
pub(super) const MOST_ELEMENTS: i64 = 1 << 40;

/// The stage on an edge.
pub(super) struct BoundMultilevel {
    pub(super) value: DType,
    pub(super) mode: u32,
    pub(super) error_bound: f64,
    pub(super) threshold: f64,
    value_base: f64,
    pub(super) dims: [u64; 3],
    /// Elements on the edge.
    pub(super) n: u64,
}

impl BoundMultilevel {
    pub(super) fn new(args: &Args, edge: EdgeType) -> Result<BoundMultilevel> {
        let value = floats(SPEC.name, args, edge)?;
        let n = known_elements(SPEC.name, edge, MOST_ELEMENTS as u64)?;
        Ok(BoundMultilevel {
            value,
            mode: quantizer::mode_of_array(SPEC.name, args, "a tree of predictions")?,
            error_bound: args.real("error_bound")?,
            threshold: args.real("outlier_threshold")?,
            value_base: args.real("value_base")?,
            dims: shape::of(SPEC.name, args, n)?,
            n,
        })
    }

    /// True if the run measures the smallest and the largest value.
    fn is_measured(&self) -> bool {
        self.mode != quantizer::ABS && self.value_base == 0.0
    }

    pub(super) fn bound_launch(&self) -> quantizer::QuantizerParams {
        let mut launch = quantizer::QuantizerParams::zeroed();
        launch.error_bound = self.error_bound;
        launch.threshold = self.threshold;
        launch.value_base = self.value_base;
        launch.mode = self.mode;
        // The stage has no bins. Kernel `BOUND` reports a radius of 0 if no step fits, and this one otherwise.
        launch.radius = 1;
        launch.switches = quantizer::STRICT | if self.is_measured() { quantizer::RANGE } else { 0 };
        launch.value = self.value.bytes() as u32;
        launch.code = 4;
        launch
    }

    /// Parameters of the kernels. If `decodes` is true, there is room for the runs of any stream, otherwise for those of the encoder.
    pub(super) fn launch(&self, decodes: bool) -> MultilevelParams {
        let mut launch = MultilevelParams::zeroed();
        launch.threshold = self.threshold;
        launch.dims = shape::ones_last(self.dims).map(|d| self.dims[d]);
        launch.value = self.value.bytes() as u32;
        launch.measured = self.is_measured().into();
        launch.relative = (self.mode == quantizer::NOA).into();
        let most = Most::new(launch.dims, self.value.bytes(), decodes);
        (launch.sections, launch.batches, launch.runs) = (most.sections, most.batches, most.runs);
        launch
    }
}
