//! Zigzag: signed to unsigned, small magnitudes to small codes.
#![doc = include_str!("zigzag.md")]

use super::words::{self, IN, INPUT_TYPE, Word, element, map, only, over_tiles, tile};
use crate::dtype::{DType, by_width};
use crate::error::{Error, Fault, Result};
use crate::extent::Flow;
use crate::kernel::{HostCall, Kernel};
use crate::launch::{Emit, Val};
use crate::param::{Args, Kind, Param, Setting};
use crate::stage::{Config, Length, Parsed, Ports, Rules, Spec, Stage};

/// See the module.
pub struct Zigzag;

pub(super) const SPEC: Spec = Spec {
    id: 15,
    name: "zigzag",
    about: "maps signed integers to unsigned ones, small magnitudes to small codes",
    inputs: IN,
    params: &[
        INPUT_TYPE,
        Param {
            name: "byte_transparent",
            kind: Kind::Flag,
            default: Setting::Flag(false),
            unit: "",
            doc: "Take bytes of any type and length as words of input_type; bytes after the last word are copied.",
        },
    ],
};

static ENCODE: Kernel =
    Kernel { name: "zigzag_encode", host: encode, role: tile, device: |s| over_tiles("zigzag_encode", s) };
static DECODE: Kernel =
    Kernel { name: "zigzag_decode", host: decode, role: tile, device: |s| over_tiles("zigzag_decode", s) };

fn signed(args: &Args, flow: Flow) -> Result<DType> {
    if args.flag("byte_transparent")? {
        return Ok(element(args, flow)?.signed());
    }
    let accepts = "integers of the width of its input_type; any bytes with byte_transparent";
    words::signed(SPEC.name, args, flow, accepts)
}

impl Stage for Zigzag {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn infer(&self, args: &Args, inputs: &[Flow], _: Rules) -> Result<Vec<Flow>> {
        let flow = only(inputs)?;
        let element = signed(args, flow)?;
        let dtype = if args.flag("byte_transparent")? { flow.dtype } else { element.unsigned() };
        Ok(vec![Flow { dtype, ..flow }])
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
        let transparent = u8::from(args.flag("byte_transparent")?);
        Ok(Config { bytes: vec![element as u8, element.unsigned() as u8, transparent], patches: vec![] })
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let &[input, output, transparent] = config else {
            return Err(Error::corrupt(SPEC.name, "its config has another length"));
        };
        let element = pair(SPEC.name, input, output)?;
        let mut args = Args::new(SPEC.name, SPEC.params);
        args.set_text("input_type", element.name())?;
        match transparent {
            0 | 1 => args.set_int("byte_transparent", i64::from(transparent))?,
            other => {
                return Err(Error::corrupt(
                    SPEC.name,
                    format!("byte_transparent is {other}, neither 0 nor 1"),
                ));
            }
        }
        let input = (transparent == 0).then_some(element);
        Ok(Parsed { args, input, length: Length::OfOutput, facts: vec![] })
    }
}

/// The signed type of a (signed, unsigned) pair of type numbers of one width.
pub(super) fn pair(stage: &'static str, input: u8, output: u8) -> Result<DType> {
    match (DType::from_number(input.into()), DType::from_number(output.into())) {
        (Ok(i), Ok(o)) if i == o.signed() && o == i.unsigned() => Ok(i),
        _ => {
            Err(Error::corrupt(stage, format!("types {input} and {output} are no signed and unsigned pair")))
        }
    }
}

fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    by_width!(call.params::<u64>(), T => map::<T>(call, T::zigzag), else Err(Fault::BadLaunch))
}

fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    by_width!(call.params::<u64>(), T => map::<T>(call, T::unzigzag), else Err(Fault::BadLaunch))
}
