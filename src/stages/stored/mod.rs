//! Stored: the bytes without coding.
#![doc = include_str!("spec.md")]

use super::inputs::{IN, only};
use crate::base::byte_source::Segment;
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::Args;
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{BoundStage, Config, Length, Parsed, Ports, Region, RegionReader, Rules, Spec, Stage};
use std::sync::Arc;

/// See the module.
pub struct Stored;

pub(super) const SPEC: Spec = Spec {
    id: 0x8001,
    name: "stored",
    about: "copies the bytes; arrays that do not compress are stored this way",
    accepts: &DType::ALL,
    inputs: IN,
    params: &[],
};

impl Stage for Stored {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn is_identity(&self) -> bool {
        true
    }

    fn bind(&self, _: &Args, inputs: &[EdgeType], _: Rules) -> Result<Arc<dyn BoundStage>> {
        Ok(Arc::new(BoundStored(only(inputs)?)))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        if !config.is_empty() {
            return Err(Error::corrupt(SPEC.name, "its config has another length"));
        }
        let args = Args::new(SPEC.name, SPEC.params);
        Ok(Parsed { args, input: None, length: Length::OfOutput, metadata: vec![] })
    }

    fn region_reader(&self) -> Option<&dyn RegionReader> {
        Some(self)
    }
}

/// The stage on an edge of this type and length.
struct BoundStored(EdgeType);

impl BoundStage for BoundStored {
    fn outputs(&self) -> Vec<EdgeType> {
        vec![self.0]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.alias(io.outputs[0], io.inputs[0]);
        Ok(())
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.alias(io.outputs[0], io.inputs[0]);
        Ok(())
    }

    fn config(&self, _: Ports<'_>) -> Result<Config> {
        Ok(Config::default())
    }
}

impl RegionReader for Stored {
    fn read_region(
        &self,
        _: &Args,
        _: &[u8],
        segment: &Segment<'_>,
        region: &Region,
        dst: &mut [u8],
    ) -> Result<()> {
        let Region { dtype, shape, first, count } = *region;
        let width = dtype.bytes();
        // Whole rows follow each other, and so do whole planes.
        let whole = (0..2).take_while(|&d| count[d] as u64 == shape[d]).count(); // seed: box-rows
        let together: usize = count[1..=whole].iter().product();
        for (k, rows) in dst.chunks_exact_mut(together * count[0] * width as usize).enumerate() {
            let row = k * together;
            let [x, y, z] =
                [first[0], first[1] + row % count[1], first[2] + row / count[1]].map(|i| i as u64);
            segment.fill(((z * shape[1] + y) * shape[0] + x) * width, rows)?;
        }
        Ok(())
    }
}
