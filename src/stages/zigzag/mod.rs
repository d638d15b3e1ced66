//! Zigzag: signed to unsigned, small magnitudes to small codes.
#![doc = include_str!("spec.md")]

use super::inputs::{IN, element, only, signed};
use super::parameters::INPUT_TYPE;
use super::words::{Word, map, over_tiles, tile};
use crate::base::dtype::{DType, by_width};
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Fault, Result};
use crate::base::param::{Args, Kind, Param, Setting};
use crate::ir::device::DeviceLaunch;
use crate::ir::kernel::{HostCall, Kernel};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{BoundStage, Config, Generation, Length, Parsed, Ports, Rules, Spec, Stage};
use crate::ir::versions::{Versions, no_such_config};
use std::sync::Arc;

/// See the module.
pub struct Zigzag;

pub(super) const SPEC: Spec = Spec {
    id: 15,
    name: "zigzag",
    about: "maps signed integers to unsigned ones, small magnitudes to small codes",
    accepts: &DType::ALL,
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

static ENCODE: Kernel = Kernel {
    name: "zigzag_encode",
    host: encode,
    role: tile,
    device: |s| over_tiles("zigzag_encode", s).map(DeviceLaunch::in_place),
};
static DECODE: Kernel = Kernel {
    name: "zigzag_decode",
    host: decode,
    role: tile,
    device: |s| over_tiles("zigzag_decode", s).map(DeviceLaunch::in_place),
};

impl Stage for Zigzag {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], _: Rules) -> Result<Arc<dyn BoundStage>> {
        let (input, transparent) = (only(inputs)?, args.flag("byte_transparent")?);
        let element = if transparent {
            element(args, input)?.signed()
        } else {
            signed(SPEC.name, args, input, "; any bytes with byte_transparent")?
        };
        Ok(Arc::new(BoundZigzag { input, element, transparent }))
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
        Ok(Parsed { args, input, length: Length::OfOutput, metadata: vec![] })
    }

    fn versions(&self) -> &dyn Versions {
        self
    }
}

/// The stage on an edge.
struct BoundZigzag {
    input: EdgeType,
    /// The signed integers that are coded.
    element: DType,
    /// True if the edge keeps its type.
    transparent: bool,
}

impl BoundStage for BoundZigzag {
    fn outputs(&self) -> Vec<EdgeType> {
        let dtype = if self.transparent { self.input.dtype } else { self.element.unsigned() };
        vec![EdgeType { dtype, ..self.input }]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&ENCODE, &self.element.bytes(), io.inputs, io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&DECODE, &self.element.bytes(), io.outputs, io.inputs)
    }

    fn config(&self, _: Ports<'_>) -> Result<Config> {
        let bytes = vec![self.element as u8, self.element.unsigned() as u8, self.transparent.into()];
        Ok(Config { bytes, patches: vec![] })
    }
}

/// | 2026-05 | 2026-08 |
/// |---|---|
/// | 0, 1 or 2 bytes | 2, or 3 if byte-transparent |
impl Versions for Zigzag {
    fn upgrade(&self, config: &[u8]) -> Result<Vec<u8>> {
        match *config {
            [] | [_] => Ok(vec![DType::I32 as u8, DType::U32 as u8, 0]),
            [input, output] => Ok(vec![input, output, 0]),
            [_, _, _] => Ok(config.to_vec()),
            _ => Err(no_such_config(SPEC.id, config.len())),
        }
    }

    fn downgrade(&self, generation: Generation, mut config: Config) -> Result<Config> {
        match config.bytes.get(2) {
            Some(0) => config.bytes.truncate(2),
            Some(1) if generation == Generation::G2026_05 => {
                let what = "this code does not exist in files of 2026-05; use generation 2026-08".into();
                return Err(Error::Unsupported { stage: SPEC.name, what });
            }
            _ => {}
        }
        Ok(config)
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
