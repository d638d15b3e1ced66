//! Bitpack: the low bits of each integer, side by side.
#![doc = include_str!("bitpack.md")]

mod pack;

use super::words::{IN, INPUT_TYPE, element, only, same_width};
use crate::device::{Recipe, Shape, tiles};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::extent::{Extent, Flow};
use crate::kernel::{Kernel, alone, read_params};
use crate::launch::{Emit, Val};
use crate::param::{Args, Kind, Param, Setting};
use crate::stage::{Config, Fact, Length, Parsed, Patch, Ports, Rules, Spec, Stage};
use crate::wire::{Reader, Writer};
use bytemuck::{Pod, Zeroable};

/// See the module.
pub struct Bitpack;

pub(super) const SPEC: Spec = Spec {
    id: 7,
    name: "bitpack",
    about: "keeps the low bits of each integer, side by side",
    inputs: IN,
    params: &[
        INPUT_TYPE,
        Param {
            name: "nbits",
            kind: Kind::IntOf(&[0, 1, 2, 4, 8, 16, 32]),
            default: Setting::Int(0),
            unit: "bits",
            doc: "Bits kept of each element, at most its width, which 0 stands for; an array with an element that needs more is refused.",
        },
        Param {
            name: "auto_detect",
            kind: Kind::Flag,
            default: Setting::Flag(false),
            unit: "",
            doc: "As many bits as the largest element needs, whatever nbits says.",
        },
        Param {
            name: "base",
            kind: Kind::Int { low: 0, high: u32::MAX as i64 },
            default: Setting::Int(0),
            unit: "",
            doc: "Taken from each element before its bits are kept, modulo the width of the type.",
        },
        Param {
            name: "shift",
            kind: Kind::Int { low: 0, high: 31 },
            default: Setting::Int(0),
            unit: "bits",
            doc: "Low bits dropped from what base leaves; an array with an element that has one there is refused.",
        },
    ],
};

static ENCODE: Kernel =
    Kernel { name: "bitpack_encode", host: pack::encode, role: alone, device: encode_on_device };
static DECODE: Kernel =
    Kernel { name: "bitpack_decode", host: pack::decode, role: alone, device: decode_on_device };

/// Argument block of both kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Launch {
    /// Bytes of an element.
    width: u32,
    /// Bits that an encoder keeps; 0: as many as it finds it needs. Decoders take those of the facts.
    bits: u32,
    /// Taken from each element.
    base: u32,
    /// Zeros at the end of what is left.
    shift: u32,
}

/// Bytes of the facts, the first of which is the number of bits; containers carry no more of them.
const FACT_BYTES: u64 = 8;

/// Threads of a block of the device functions, which have a tile.
const THREADS: u32 = 256;

/// The largest element that matters, what follows from it, and the bits.
fn encode_on_device(shape: &Shape<'_>) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let pack = |r: Recipe| r.then("bitpack_encode", tiles(shape.output(0)), THREADS).with(8, 0);
    let scan = || Recipe::one("bitpack_scan", tiles(shape.input(0)).min(1 << 16), THREADS);
    // As many bits as are needed are enough, unless a shift drops some.
    Some(pack(if p.bits == 0 && p.shift == 0 { scan() } else { scan().then("bitpack_judge", 1, 32) }))
}

fn decode_on_device(shape: &Shape<'_>) -> Option<Recipe> {
    Some(Recipe::one("bitpack_decode", tiles(shape.output(0)), THREADS))
}

/// The parameters, checked against the edge.
struct Form {
    element: DType,
    /// 0: found by the run.
    bits: u64,
    base: u32,
    shift: u32,
}

impl Form {
    fn new(args: &Args, flow: Flow) -> Result<Form> {
        let chosen = element(args, flow)?;
        same_width(SPEC.name, chosen, flow)?;
        let whole = flow.extent.is_dynamic() || flow.max_bytes() % chosen.bytes() == 0;
        if chosen.is_float() || flow.dtype.is_float() || chosen.bytes() == 8 || !whole {
            let accepts = "whole integers of 1, 2 and 4 bytes, of the width of its input_type";
            return Err(Error::TypeMismatch { stage: SPEC.name, port: IN[0], got: flow.dtype, accepts });
        }
        let (bits, most) = (args.int("nbits")? as u64, 8 * chosen.bytes());
        if bits > most {
            return Err(Error::argument(
                "bitpack.nbits",
                bits,
                format!("at most {most}, the bits of {chosen}"),
            ));
        }
        let (base, shift) = (args.int("base")? as u64, args.int("shift")? as u64);
        if base >> most > 0 {
            return Err(Error::argument(
                "bitpack.base",
                base,
                format!("less than 2^{most}, as {chosen} has"),
            ));
        }
        if shift >= most {
            return Err(Error::argument(
                "bitpack.shift",
                shift,
                format!("less than {most}, the bits of {chosen}"),
            ));
        }
        let bits = if bits == 0 { most } else { bits };
        let bits = if args.flag("auto_detect")? { 0 } else { bits };
        Ok(Form { element: chosen.unsigned(), bits, base: base as u32, shift: shift as u32 })
    }

    /// Bytes that so many bytes of elements become.
    fn packed(&self, bytes: u64) -> u64 {
        let n = bytes / self.element.bytes();
        match self.bits {
            0 => bytes,
            bits => n / 8 * bits + (n % 8 * bits).div_ceil(8),
        }
    }

    fn launch(&self) -> Launch {
        Launch {
            width: self.element.bytes() as u32,
            bits: self.bits as u32,
            base: self.base,
            shift: self.shift,
        }
    }
}

impl Stage for Bitpack {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn fact_bytes(&self) -> u64 {
        FACT_BYTES
    }

    fn describe(&self, args: &Args, facts: &[u8]) -> Vec<(&'static str, String)> {
        let bits = facts.first().map(|bits| ("nbits", bits.to_string()));
        let element = args.choice("input_type").ok().map(|e| ("input_type", e.to_string()));
        element.into_iter().chain(bits).collect()
    }

    fn asked(&self, args: &mut Args, facts: &[u8]) -> Result<()> {
        // Whether they were asked for or found, so many bits make the same container; another array that needs more is refused.
        match facts.first() {
            Some(&bits) if bits > 0 && args.set_int("nbits", bits.into()).is_ok() => {
                args.set_int("auto_detect", 0)
            }
            _ => Ok(()),
        }
    }

    fn infer(&self, args: &Args, inputs: &[Flow], _: Rules) -> Result<Vec<Flow>> {
        let flow = only(inputs)?;
        let form = Form::new(args, flow)?;
        // Fewer bits than an element has make no more bytes than it has.
        let most = form.packed(flow.max_bytes());
        let known = form.bits > 0 && matches!(flow.extent, Extent::Static(_));
        Ok(vec![if known { Flow::fixed(DType::U8, most) } else { Flow::upto(DType::U8, most) }])
    }

    fn encode(&self, args: &Args, io: Ports<'_>, _: Rules, em: &mut Emit<'_>) -> Result<()> {
        let launch = Form::new(args, em.flow(io.inputs[0]))?.launch();
        em.launch(&ENCODE, &launch, io.inputs, &[io.outputs[0], io.facts])
    }

    fn decode(&self, args: &Args, io: Ports<'_>, em: &mut Emit<'_>) -> Result<()> {
        let launch = Launch { bits: 0, ..Form::new(args, em.flow(io.inputs[0]))?.launch() };
        em.launch(&DECODE, &launch, &[io.outputs[0], io.facts], io.inputs)
    }

    fn config(&self, args: &Args, io: Ports<'_>, _: Rules, flow: &dyn Fn(Val) -> Flow) -> Result<Config> {
        let form = Form::new(args, flow(io.inputs[0]))?;
        let mut w = Writer::default();
        w.bytes(&[form.element as u8, 0]);
        w.pad_to(10);
        w.u8(form.shift as u8);
        w.u32(form.base);
        let bits = Fact::Stored { of: io.facts, at: 0 };
        let count = Fact::Count { of: io.inputs[0], unit: form.element.bytes() };
        let patches = vec![Patch { at: 1, width: 1, fact: bits }, Patch { at: 2, width: 8, fact: count }];
        Ok(Config { bytes: w.0, patches })
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let mut r = Reader::new(SPEC.name, config);
        let ([element, bits], n) = (r.array()?, r.u64()?);
        // Where the bits were found is no matter of the reader: all decoders take them from the facts, and check them.
        let (shift, base) = (r.u8()?, r.u32()?);
        let refuse = |what: String| Err(Error::corrupt(SPEC.name, what));
        let element = match DType::from_number(element.into()) {
            Ok(e) if e == e.unsigned() && e.bytes() < 8 && r.rest().is_empty() => e,
            _ => return refuse(format!("element type {element} is none of u8, u16 and u32")),
        };
        let most = 8 * element.bytes();
        if u64::from(shift) >= most || u64::from(base) >> most > 0 {
            return refuse(format!("base {base} and shift {shift} do not fit {element}"));
        }
        let Some(length) = n.checked_mul(element.bytes()) else {
            return refuse(format!("{n} elements are absurd"));
        };
        let mut args = Args::new(SPEC.name, SPEC.params);
        args.set_text("input_type", element.name())?;
        args.set_int("auto_detect", 1)?;
        args.set_int("base", base.into())?;
        args.set_int("shift", shift.into())?;
        let facts = u64::from(bits).to_le_bytes().to_vec();
        Ok(Parsed { args, input: Some(element), length: Length::Bytes(length), facts })
    }
}
