//! ADM: distances to the mean of each group, as bytes and strings of bits.
#![doc = include_str!("spec.md")]

mod device;
mod group;
mod params;
mod stream;

use super::inputs::{IN, only};
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::{Args, Kind, Param, Setting};
use crate::base::wire::{Reader, Writer};
use crate::ir::kernel::{Kernel, alone};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{BoundStage, Config, Length, Parsed, Patch, Ports, Rules, RuntimeField, Spec, Stage};
use params::AdmParams;
use std::sync::Arc;

/// See the module.
pub struct Adm;

pub(super) const SPEC: Spec = Spec {
    id: 19,
    name: "adm",
    about: "writes the distance of each element to the mean of its group as a byte and a few bits",
    accepts: &[
        DType::U16,
        DType::U32,
        DType::U64,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F32,
        DType::F64,
    ],
    inputs: IN,
    params: &[Param {
        name: "dtype",
        kind: Kind::Choice(&["auto", "u16", "u32"]),
        default: Setting::Choice("auto"),
        unit: "",
        doc: "Type of the elements; auto: by the width on the edge.",
    }],
};

static ENCODE: Kernel =
    Kernel { name: "adm_encode", host: stream::encode, role: alone, device: device::encode };
static DECODE: Kernel =
    Kernel { name: "adm_decode", host: stream::decode, role: alone, device: device::decode };

/// The elements on the edge, which are whole ones.
fn element(args: &Args, edge: EdgeType) -> Result<DType> {
    let element = match (args.choice("dtype")?, edge.dtype.bytes()) {
        ("auto", 2) | ("u16", 2 | 4 | 8) => Some(DType::U16),
        ("auto", 4) | ("u32", 4 | 8) => Some(DType::U32),
        _ => None,
    };
    let accepts = "elements of 2 or 4 bytes, or of a multiple of its dtype";
    element.ok_or(Error::type_mismatch(SPEC.name, IN[0], edge.dtype, accepts))
}

/// Most bytes of a stream: starts, centers and flags of the groups, a byte an element, and 512 times its width of bits a group.
fn stream_bound(elements: u64, width: u64) -> Option<u64> {
    let groups = elements.div_ceil(group::GROUP as u64);
    groups.checked_mul(4 + width + 512 * width)?.checked_add(groups.div_ceil(8) + elements)
}

impl Stage for Adm {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], _: Rules) -> Result<Arc<dyn BoundStage>> {
        let input = only(inputs)?;
        let element = element(args, input)?;
        let width = element.bytes();
        // Starts are numbers of 31 bits, of as many bytes in each of 32 lanes.
        let limit = (1 << 31) / (16 * width) * group::GROUP as u64 * width;
        match stream_bound(input.max_bytes() / width, width) {
            Some(bytes) if input.max_bytes() <= limit => Ok(Arc::new(BoundAdm { bytes, element })),
            _ => Err(Error::TooLarge { stage: SPEC.name, needed: input.max_bytes(), limit }),
        }
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let mut r = Reader::new(SPEC.name, config);
        let (number, n) = (r.u32()?, r.u64()?);
        if number > 1 || !r.rest().is_empty() {
            return Err(Error::corrupt(SPEC.name, format!("there are no elements of type {number}")));
        }
        let element = if number == 0 { DType::U16 } else { DType::U32 };
        let bytes = n.checked_mul(element.bytes());
        let bytes = bytes.ok_or_else(|| Error::corrupt(SPEC.name, format!("{n} elements are too many")))?;
        let mut args = Args::new(SPEC.name, SPEC.params);
        args.set_text("dtype", element.name())?;
        Ok(Parsed { args, input: Some(element), length: Length::Bytes(bytes), metadata: vec![] })
    }
}

/// The stage on an edge.
struct BoundAdm {
    /// Most bytes of the stream.
    bytes: u64,
    element: DType,
}

impl BoundAdm {
    fn launch(&self) -> AdmParams {
        AdmParams { width: self.element.bytes() as u32, pad: 0 }
    }
}

impl BoundStage for BoundAdm {
    fn outputs(&self) -> Vec<EdgeType> {
        vec![EdgeType::upto(DType::U8, self.bytes)]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&ENCODE, &self.launch(), io.inputs, io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&DECODE, &self.launch(), io.outputs, io.inputs)
    }

    fn config(&self, io: Ports<'_>) -> Result<Config> {
        let mut w = Writer::default();
        w.u32(u32::from(self.element == DType::U32));
        w.u64(0);
        let runtime_field = RuntimeField::Count { of: io.inputs[0], unit: self.element.bytes() };
        Ok(Config { bytes: w.0, patches: vec![Patch { at: 4, width: 8, runtime_field }] })
    }
}
