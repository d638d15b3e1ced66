//! Fast: bins, differences, and bit planes of small units, in independent chunks.
#![doc = include_str!("spec.md")]

mod bind;
mod chunk;
#[cfg(test)]
mod compare;
mod config;
mod decode;
mod device;
mod division;
mod encode;
mod entry;
mod exact;
mod grid;
mod params;
mod part;
mod plain;
mod unit;
mod value;
#[cfg(target_arch = "x86_64")]
mod wide;
#[cfg(not(target_arch = "x86_64"))]
mod wide {
    pub(super) use super::plain::Plain as Wide;
}
#[cfg(target_arch = "x86_64")]
mod wide_decode;
#[cfg(target_arch = "x86_64")]
mod wide_measure;
#[cfg(target_arch = "x86_64")]
mod wide_planes;

use super::inputs::{IN, only};
use super::parameters::{
    ERROR_BOUND, FIXED_STEP, FLOAT_TYPE, MODE, OUTLIER_THRESHOLD, VALUE_BASE, base_said,
};
use super::{quantizer, shape};
use crate::base::array::Array;
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::Args;
use crate::base::tile::at;
use crate::ir::kernel::{Kernel, alone};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{BoundStage, Config, Parsed, Ports, RegionReader, Rules, Spec, Stage};
use bind::{BoundFast, MOST_ELEMENTS};
use bytemuck::Zeroable;
use grid::ChunkGrid;
use params::FastParams;
use std::sync::Arc;

/// See the module.
pub struct Fast;

pub(super) const SPEC: Spec = Spec {
    id: 0x8020,
    name: "fast",
    about: "rounds floats to bins of twice the error bound and packs differences of neighbors, chunk by chunk; a whole pipeline",
    accepts: DType::FLOATS,
    inputs: IN,
    params: &[
        FLOAT_TYPE,
        ERROR_BOUND,
        MODE,
        OUTLIER_THRESHOLD,
        VALUE_BASE,
        FIXED_STEP,
        shape::dim_x(MOST_ELEMENTS),
        shape::dim_y(MOST_ELEMENTS),
        shape::dim_z(MOST_ELEMENTS),
    ],
};

static ENCODE: Kernel =
    Kernel { name: "fast_encode", host: encode::encode, role: alone, device: device::encode };
static DECODE: Kernel =
    Kernel { name: "fast_decode", host: decode::decode, role: alone, device: device::decode };

/// Division of numbers below 2^27 by one of them: the upper half of twice the number times `inverse`, shifted to the right.
struct Divisor {
    inverse: u32,
    shift: u8,
}

impl Divisor {
    /// With s = ceil(log2 d) the inverse is 2^(31 + s) / d, rounded up by e/d < 1. Twice n times it, over 2^(32 + s), is n/d and
    /// n e / (d 2^(31 + s)) more, which is below 1/d, since n e < 2^27 d <= 2^(27 + s).
    fn new(d: u32) -> Divisor {
        let d = u64::from(d.max(1));
        let shift = d.next_power_of_two().trailing_zeros();
        Divisor { inverse: (1u64 << (31 + shift)).div_ceil(d) as u32, shift: shift as u8 }
    }
}

impl FastParams {
    fn new(threshold: f64, dims: [u64; 3], dtype: DType) -> FastParams {
        let mut launch = FastParams::zeroed();
        launch.threshold = threshold;
        launch.dims = shape::ones_last(dims).map(|d| dims[d]);
        launch.ndim = shape::rank(launch.dims);
        launch.value = dtype.bytes() as u32;
        let grid = ChunkGrid::new(&launch);
        launch.chunks = u32::try_from(grid.chunks()).unwrap_or(u32::MAX);
        (launch.chunks_x, launch.chunks_y) = (grid.counts[0] as u32, grid.counts[1] as u32);
        let (x, y) = (Divisor::new(launch.chunks_x), Divisor::new(launch.chunks_y));
        (launch.inverse_x, launch.shift_x) = (x.inverse, x.shift);
        (launch.inverse_y, launch.shift_y) = (y.inverse, y.shift);
        launch
    }
}

const PORTS: &[&str] = &["stream"];

impl Stage for Fast {
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
        quantizer::METADATA_BYTES
    }

    fn mode(&self, args: &Args) -> Option<&'static str> {
        args.choice("mode").ok()
    }

    fn fit_shape(&self, args: &mut Args, array: &Array) -> Result<()> {
        shape::fit(SPEC.name, args, array, MOST_ELEMENTS as u64)
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], rules: Rules) -> Result<Arc<dyn BoundStage>> {
        Ok(Arc::new(BoundFast::new(args, only(inputs)?, rules)?))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        config::read(config)
    }

    fn describe(&self, args: &Args, metadata: &[u8]) -> Vec<(&'static str, String)> {
        // A container records the values that the run resolved for these, or nothing.
        let unsaid = ["input_type", "value_base", "fixed_step"];
        let said = args.iter().filter(|(p, _)| !unsaid.contains(&p.name));
        let mut all: Vec<_> = said.map(|(p, v)| (p.name, v.to_string())).collect();
        if let Some(metadata) = at::<quantizer::BoundMetadata>(metadata, 0) {
            all.push(("resolved_bound", format!("{:?}", metadata.bound)));
            all.extend(base_said(args, metadata.base));
        }
        all
    }

    fn region_reader(&self) -> Option<&dyn RegionReader> {
        Some(self)
    }
}

impl BoundStage for BoundFast {
    /// A chunk has an entry in the table, and its words are never longer than its values: the encoder keeps it raw where packing would
    /// make it so.
    fn outputs(&self) -> Vec<EdgeType> {
        let table = ChunkGrid::new(&self.launch()).chunks() as u64 * entry::BYTES as u64;
        let values = self.dims.iter().product::<u64>() * self.value.bytes();
        vec![EdgeType::between(DType::U8, table, table + values)] // seed: fast-minimum
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        let input = io.inputs.first().ok_or(Error::Internal("fast has one input"))?;
        ctx.launch(&quantizer::BOUND, &self.bound_launch(), io.inputs, &[io.metadata])?;
        ctx.launch(&ENCODE, &self.launch(), &[*input, io.metadata], io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&DECODE, &self.launch(), &[io.outputs, &[io.metadata]].concat(), io.inputs)
    }

    fn config(&self, io: Ports<'_>) -> Result<Config> {
        Ok(config::write(self, io.metadata))
    }
}

#[cfg(test)]
mod tests {
    use super::Divisor;
    use proptest::prelude::*;

    /// As `divide` of kernels/fast/blocks.cuh.
    fn divide(n: u32, d: &Divisor) -> u32 {
        ((u64::from(2 * n) * u64::from(d.inverse)) >> 32) as u32 >> d.shift
    }

    proptest! {
        #[test]
        fn divisors_are_exact(d in 1u32..1 << 27, small in 1u32..5000, q in 0u32..1 << 27, r in 0u32..2) {
            let power = d.next_power_of_two();
            for d in [d, small, power / 2 + 1, power - 1, power].map(|d| d.max(1)) {
                let own = Divisor::new(d);
                // Multiples, and values just below them, where rounding would be seen.
                let multiple = q / d * d;
                for n in [q, multiple, multiple.saturating_sub(r), (1 << 27) - 1] {
                    prop_assert_eq!(divide(n, &own), n / d, "{} / {}", n, d);
                }
            }
        }
    }
}
