//! Negabinary: signed integers as digits of base -2.
#![doc = include_str!("negabinary.md")]

use super::words::{self, IN, INPUT_TYPE, Word, map, only, over_tiles, tile};
use super::zigzag::pair;
use crate::dtype::{DType, by_width};
use crate::error::{Error, Fault, Result};
use crate::extent::Flow;
use crate::kernel::{HostCall, Kernel};
use crate::launch::{Emit, Val};
use crate::param::Args;
use crate::stage::{Config, Length, Parsed, Ports, Rules, Spec, Stage};

/// See the module.
pub struct Negabinary;

pub(super) const SPEC: Spec = Spec {
    id: 16,
    name: "negabinary",
    about: "writes signed integers in base -2, so that small magnitudes of both signs have high zero bits",
    inputs: IN,
    params: &[INPUT_TYPE],
};

static ENCODE: Kernel = Kernel {
    name: "negabinary_encode",
    host: encode,
    role: tile,
    device: |s| over_tiles("negabinary_encode", s),
};
static DECODE: Kernel = Kernel {
    name: "negabinary_decode",
    host: decode,
    role: tile,
    device: |s| over_tiles("negabinary_decode", s),
};

fn signed(args: &Args, flow: Flow) -> Result<DType> {
    words::signed(SPEC.name, args, flow, "integers of the width of its input_type")
}

impl Stage for Negabinary {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn infer(&self, args: &Args, inputs: &[Flow], _: Rules) -> Result<Vec<Flow>> {
        let flow = only(inputs)?;
        Ok(vec![Flow { dtype: signed(args, flow)?.unsigned(), ..flow }])
    }

    fn encode(&self, args: &Args, io: Ports<'_>, _: Rules, em: &mut Emit<'_>) -> Result<()> {
        let width = signed(args, em.flow(io.inputs[0]))?.bytes();
        em.launch(&ENCODE, &width, io.inputs, io.outputs)
    }

    fn decode(&self, args: &Args, io: Ports<'_>, em: &mut Emit<'_>) -> Result<()> {
        let width = signed(args, em.flow(io.inputs[0]))?.bytes();
        em.launch(&DECODE, &width, io.outputs, io.inputs)
    }

    fn config(&self, args: &Args, io: Ports<'_>, _: Rules, flow: &dyn Fn(Val) -> Flow) -> Result<Config> {
        let element = signed(args, flow(io.inputs[0]))?;
        Ok(Config { bytes: vec![element as u8, element.unsigned() as u8], patches: vec![] })
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let &[input, output] = config else {
            return Err(Error::corrupt(SPEC.name, "its config has another length"));
        };
        let element = pair(SPEC.name, input, output)?;
        let mut args = Args::new(SPEC.name, SPEC.params);
        args.set_text("input_type", element.name())?;
        Ok(Parsed { args, input: Some(element), length: Length::OfOutput, facts: vec![] })
    }
}

fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    by_width!(call.params::<u64>(), T => map::<T>(call, T::negabinary), else Err(Fault::BadLaunch))
}

fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    by_width!(call.params::<u64>(), T => map::<T>(call, T::unnegabinary), else Err(Fault::BadLaunch))
}
