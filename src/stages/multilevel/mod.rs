//! Multilevel: interpolation from a coarse grid, with code tables that depend on the restored values.
#![doc = include_str!("spec.md")]

mod bind;
mod bits;
mod choose;
pub(super) mod classed;
mod classed_encode;
mod code;
mod config;
mod costs;
mod decode;
mod device;
mod differences;
mod encode;
mod front;
mod grid;
mod known;
mod log2;
mod masks;
mod open;
mod params;
mod pass_coder;
mod passes;
mod predict;
mod rans;
mod resolve;
mod roots;
mod section;
mod stencil;
mod steps;
mod stream;
mod tables;
mod token;
mod value;
#[cfg(target_arch = "x86_64")]
mod wide_decode;
#[cfg(target_arch = "x86_64")]
mod wide_encode;

use super::inputs::{IN, only};
use super::parameters::{ERROR_BOUND, FLOAT_TYPE, MODE, OUTLIER_THRESHOLD, VALUE_BASE, base_said};
use super::{quantizer, shape};
use crate::base::array::Array;
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::Args;
use crate::base::tile::at;
use crate::ir::kernel::{Kernel, alone};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{BoundStage, Config, Parsed, Ports, PreviewReader, RegionReader, Rules, Spec, Stage};
use bind::{BoundMultilevel, MOST_ELEMENTS};
use params::{LATTICE, MultilevelMetadata};
use std::sync::Arc;

/// See the module.
pub struct Multilevel;

pub(super) const SPEC: Spec = Spec {
    id: 0x8021,
    name: "multilevel",
    about: "predicts values from a coarse grid on, level by level, and codes residuals by how rough the restored values are; a whole pipeline",
    accepts: DType::FLOATS,
    inputs: IN,
    params: &[
        FLOAT_TYPE,
        ERROR_BOUND,
        MODE,
        OUTLIER_THRESHOLD,
        VALUE_BASE,
        shape::dim_x(MOST_ELEMENTS),
        shape::dim_y(MOST_ELEMENTS),
        shape::dim_z(MOST_ELEMENTS),
    ],
};

static RESOLVE: Kernel =
    Kernel { name: "multilevel_resolve", host: resolve::resolve, role: alone, device: device::resolve };
static ENCODE: Kernel =
    Kernel { name: "multilevel_encode", host: encode::encode, role: alone, device: device::encode };
static DECODE: Kernel =
    Kernel { name: "multilevel_decode", host: decode::decode, role: alone, device: device::decode };

const PORTS: &[&str] = &["stream"];

impl Stage for Multilevel {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn outputs(&self, _: &Args) -> Result<&'static [&'static str]> {
        Ok(PORTS)
    }

    fn accepts_short_array(&self) -> bool {
        true
    }

    fn metadata_bytes(&self) -> u64 {
        size_of::<MultilevelMetadata>() as u64
    }

    fn mode(&self, args: &Args) -> Option<&'static str> {
        args.choice("mode").ok()
    }

    fn fit_shape(&self, args: &mut Args, array: &Array) -> Result<()> {
        shape::fit(SPEC.name, args, array, MOST_ELEMENTS as u64)
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], _: Rules) -> Result<Arc<dyn BoundStage>> {
        Ok(Arc::new(BoundMultilevel::new(args, only(inputs)?)?))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        config::read(config)
    }

    fn describe(&self, args: &Args, metadata: &[u8]) -> Vec<(&'static str, String)> {
        // A container has the type of its values, and the result of the run in place of `value_base`.
        let unsaid = ["input_type", "value_base"];
        let said = args.iter().filter(|(p, _)| !unsaid.contains(&p.name));
        let mut all: Vec<_> = said.map(|(p, v)| (p.name, v.to_string())).collect();
        let Some(m) = at::<MultilevelMetadata>(metadata, 0) else { return all };
        all.push(("step", format!("{:?}", m.step)));
        all.extend(base_said(args, m.base));
        if m.low.is_finite() && m.high.is_finite() {
            all.push(("smallest_value", format!("{:?}", m.low)));
            all.push(("largest_value", format!("{:?}", m.high)));
        }
        let axes = ["x", "y", "z"].iter().enumerate().filter(|(d, _)| m.axes >> d & 1 == 1).map(|(_, a)| *a);
        match m.differences {
            0 => all.push(("interpolated_axes", axes.collect())),
            n => all.push(("axes_of_differences", n.to_string())),
        }
        all.push(("lattice", (m.flags & LATTICE != 0).to_string()));
        all
    }

    fn region_reader(&self) -> Option<&dyn RegionReader> {
        Some(self)
    }

    fn preview_reader(&self) -> Option<&dyn PreviewReader> {
        Some(self)
    }
}

impl BoundStage for BoundMultilevel {
    /// A stream is at most as long as its header and the values, which the encoder stores if their codes would be longer. The stream
    /// of an empty array is empty.
    fn outputs(&self) -> Vec<EdgeType> {
        let values = self.dims.iter().product::<u64>() * self.value.bytes();
        vec![EdgeType::upto(DType::U8, if values == 0 { 0 } else { stream::HEAD as u64 + values })]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        let (&[input], &[stream]) = (io.inputs, io.outputs) else {
            return Err(Error::Internal("multilevel has one input and one output"));
        };
        let bound = ctx.temporary(EdgeType::fixed(DType::U8, quantizer::METADATA_BYTES));
        ctx.launch(&quantizer::BOUND, &self.bound_launch(), &[input], &[bound])?;
        let resolved = ctx.temporary(EdgeType::fixed(DType::U8, size_of::<MultilevelMetadata>() as u64));
        ctx.launch(&RESOLVE, &self.launch(false), &[input, bound], &[resolved])?;
        ctx.launch(&ENCODE, &self.launch(false), &[input, resolved], &[io.metadata, stream])
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&DECODE, &self.launch(true), &[io.outputs, &[io.metadata]].concat(), io.inputs)
    }

    fn config(&self, io: Ports<'_>) -> Result<Config> {
        Ok(config::write(self, io.metadata))
    }

    /// For each value a copy, a code of 4 bytes, and 4 bytes for a coarser point or a difference. For each exact value an entry of 16
    /// bytes: it has at least 4 bytes in the stream of an encoder.
    fn decoder_memory(&self, outputs: &[u64]) -> u64 {
        let values = self.dims.iter().product::<u64>();
        let stream = outputs.iter().sum::<u64>();
        values
            .saturating_mul(self.value.bytes() + 8)
            .saturating_add(stream.saturating_mul(4))
            .saturating_add(FIXED_MEMORY)
    }
}

/// Bytes of the tables of sections and the buffers of threads.
const FIXED_MEMORY: u64 = 1 << 20;
