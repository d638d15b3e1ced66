//! Negabinary: signed integers as digits of base -2.
#![doc = include_str!("spec.md")]

use super::inputs::{IN, only, signed};
use super::parameters::INPUT_TYPE;
use super::words::{Word, map, over_tiles, tile};
use super::zigzag::pair;
use crate::base::dtype::{DType, by_width};
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Fault, Result};
use crate::base::param::Args;
use crate::ir::device::DeviceLaunch;
use crate::ir::kernel::{HostCall, Kernel};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{BoundStage, Config, Length, Parsed, Ports, Rules, Spec, Stage};
use crate::ir::versions::{Versions, no_such_config};
use std::sync::Arc;

/// See the module.
pub struct Negabinary;

pub(super) const SPEC: Spec = Spec {
    id: 16,
    name: "negabinary",
    about: "writes signed integers in base -2, so that small magnitudes of both signs have high zero bits",
    accepts: DType::INTEGERS,
    inputs: IN,
    params: &[INPUT_TYPE],
};

static ENCODE: Kernel = Kernel {
    name: "negabinary_encode",
    host: encode,
    role: tile,
    device: |s| over_tiles("negabinary_encode", s).map(DeviceLaunch::in_place),
};
static DECODE: Kernel = Kernel {
    name: "negabinary_decode",
    host: decode,
    role: tile,
    device: |s| over_tiles("negabinary_decode", s).map(DeviceLaunch::in_place),
};

impl Stage for Negabinary {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], _: Rules) -> Result<Arc<dyn BoundStage>> {
        let input = only(inputs)?;
        let element = signed(SPEC.name, args, input, "")?;
        Ok(Arc::new(BoundNegabinary { input, element }))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let &[input, output] = config else {
            return Err(Error::corrupt(SPEC.name, "its config has another length"));
        };
        let element = pair(SPEC.name, input, output)?;
        let mut args = Args::new(SPEC.name, SPEC.params);
        args.set_text("input_type", element.name())?;
        Ok(Parsed { args, input: Some(element), length: Length::OfOutput, metadata: vec![] })
    }

    fn versions(&self) -> &dyn Versions {
        self
    }
}

/// The stage on an edge.
struct BoundNegabinary {
    input: EdgeType,
    /// The signed integers that are coded.
    element: DType,
}

impl BoundStage for BoundNegabinary {
    fn outputs(&self) -> Vec<EdgeType> {
        vec![EdgeType { dtype: self.element.unsigned(), ..self.input }]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&ENCODE, &self.element.bytes(), io.inputs, io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&DECODE, &self.element.bytes(), io.outputs, io.inputs)
    }

    fn config(&self, _: Ports<'_>) -> Result<Config> {
        Ok(Config { bytes: vec![self.element as u8, self.element.unsigned() as u8], patches: vec![] })
    }
}

/// Files of 2026-05 have 0, 1 or 2 bytes, later ones 2.
impl Versions for Negabinary {
    fn upgrade(&self, config: &[u8]) -> Result<Vec<u8>> {
        match config.len() {
            0 | 1 => Ok(vec![DType::I32 as u8, DType::U32 as u8]),
            2 => Ok(config.to_vec()),
            n => Err(no_such_config(SPEC.id, n)),
        }
    }
}

fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    by_width!(call.params::<u64>(), T => map::<T>(call, T::negabinary), else Err(Fault::BadLaunch))
}

fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    by_width!(call.params::<u64>(), T => map::<T>(call, T::unnegabinary), else Err(Fault::BadLaunch))
}
