//! ADM: distances to the mean of each group, as bytes and strings of bits.
#![doc = include_str!("adm.md")]

mod device;
mod group;
mod stream;

use super::words::{IN, only};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::extent::Flow;
use crate::kernel::{Kernel, alone};
use crate::launch::{Emit, Val};
use crate::param::{Args, Kind, Param, Setting};
use crate::stage::{Config, Fact, Length, Parsed, Patch, Ports, Rules, Spec, Stage};
use crate::wire::{Reader, Writer};
use bytemuck::{Pod, Zeroable};

/// See the module.
pub struct Adm;

pub(super) const SPEC: Spec = Spec {
    id: 19,
    name: "adm",
    about: "writes the distance of each element to the mean of its group as a byte and a few bits",
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

/// Argument block of both kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Launch {
    /// Bytes of an element.
    width: u32,
    pad: u32,
}

/// The elements on the edge, which are whole ones.
fn element(args: &Args, flow: Flow) -> Result<DType> {
    let element = match (args.choice("dtype")?, flow.dtype.bytes()) {
        ("auto", 2) | ("u16", 2 | 4 | 8) => Some(DType::U16),
        ("auto", 4) | ("u32", 4 | 8) => Some(DType::U32),
        _ => None,
    };
    let accepts = "elements of 2 or 4 bytes, or what its dtype divides";
    element.ok_or(Error::TypeMismatch { stage: SPEC.name, port: IN[0], got: flow.dtype, accepts })
}

/// Most bytes of a stream: starts, centres and flags of the groups, a byte an element, and 512 times its width of bits a group.
fn stream_bound(elements: u64, width: u64) -> Option<u64> {
    let groups = elements.div_ceil(group::GROUP as u64);
    groups.checked_mul(4 + width + 512 * width)?.checked_add(groups.div_ceil(8) + elements)
}

impl Stage for Adm {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn infer(&self, args: &Args, inputs: &[Flow], _: Rules) -> Result<Vec<Flow>> {
        let flow = only(inputs)?;
        let width = element(args, flow)?.bytes();
        let elements = flow.max_bytes() / width;
        // Starts are numbers of 31 bits, of as many bytes in each of 32 lanes.
        let limit = (1 << 31) / (16 * width) * group::GROUP as u64 * width;
        match stream_bound(elements, width) {
            Some(bound) if flow.max_bytes() <= limit => Ok(vec![Flow::upto(DType::U8, bound)]),
            _ => Err(Error::TooLarge { stage: SPEC.name, needed: flow.max_bytes(), limit }),
        }
    }

    fn encode(&self, args: &Args, io: Ports<'_>, _: Rules, em: &mut Emit<'_>) -> Result<()> {
        let width = element(args, em.flow(io.inputs[0]))?.bytes() as u32;
        em.launch(&ENCODE, &Launch { width, pad: 0 }, io.inputs, io.outputs)
    }

    fn decode(&self, args: &Args, io: Ports<'_>, em: &mut Emit<'_>) -> Result<()> {
        let width = element(args, em.flow(io.inputs[0]))?.bytes() as u32;
        em.launch(&DECODE, &Launch { width, pad: 0 }, io.outputs, io.inputs)
    }

    fn config(&self, args: &Args, io: Ports<'_>, _: Rules, flow: &dyn Fn(Val) -> Flow) -> Result<Config> {
        let element = element(args, flow(io.inputs[0]))?;
        let mut w = Writer::default();
        w.u32(u32::from(element == DType::U32));
        w.u64(0);
        let fact = Fact::Count { of: io.inputs[0], unit: element.bytes() };
        Ok(Config { bytes: w.0, patches: vec![Patch { at: 4, width: 8, fact }] })
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
        Ok(Parsed { args, input: Some(element), length: Length::Bytes(bytes), facts: vec![] })
    }
}
