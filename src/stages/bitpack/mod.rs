//! Bitpack: the low bits of each integer, side by side.
#![doc = include_str!("spec.md")]

mod pack;
mod params;

use super::inputs::{IN, element, only, same_width};
use super::parameters::INPUT_TYPE;
use crate::base::dtype::DType;
use crate::base::edge_type::{ByteLength, EdgeType};
use crate::base::error::{Error, Fault, Result};
use crate::base::param::{Args, Kind, Param, Setting};
use crate::base::wire::{Reader, Writer};
use crate::ir::device::{DeviceLaunch, LaunchShape, tiles};
use crate::ir::kernel::{Kernel, alone, read_params};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{
    BoundStage, Config, Generation, Length, Parsed, Patch, Ports, Rules, RuntimeField, Spec, Stage, explain,
};
use crate::ir::versions::{UNKNOWN_TYPE, Versions, no_such_config};
use params::BitpackParams;
use std::sync::Arc;

/// See the module.
pub struct Bitpack;

pub(super) const SPEC: Spec = Spec {
    id: 7,
    name: "bitpack",
    about: "keeps the low bits of each integer, side by side",
    accepts: &[DType::U8, DType::U16, DType::U32, DType::I8, DType::I16, DType::I32],
    inputs: IN,
    params: &[
        INPUT_TYPE,
        Param {
            name: "nbits",
            kind: Kind::IntOf(&[0, 1, 2, 4, 8, 16, 32]),
            default: Setting::Int(0),
            unit: "bits",
            doc: "Bits kept of each element, at most its width; 0: its width. An array with an element that needs more is rejected.",
        },
        Param {
            name: "auto_detect",
            kind: Kind::Flag,
            default: Setting::Flag(false),
            unit: "",
            doc: "The number of bits that the largest element needs; nbits has no effect.",
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
            doc: "Low bits dropped after subtracting base; an array with an element that has such a bit is rejected.",
        },
    ],
};

static ENCODE: Kernel =
    Kernel { name: "bitpack_encode", host: pack::encode, role: alone, device: encode_on_device };
static DECODE: Kernel =
    Kernel { name: "bitpack_decode", host: pack::decode, role: alone, device: decode_on_device };

/// Bytes of the metadata, the first of which is the number of bits; containers carry no more of them.
const METADATA_BYTES: u64 = 8;

/// Threads of a block of the device functions, which have a tile.
const THREADS: u32 = 256;

/// The largest element that counts, its number of bits, and the packed bits.
fn encode_on_device(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<BitpackParams>(shape.params);
    let pack = |r: DeviceLaunch| r.then("bitpack_encode", tiles(shape.output(0)), THREADS).with(8, 0);
    let scan = || DeviceLaunch::one("bitpack_scan", tiles(shape.input(0)).min(1 << 16), THREADS);
    // As many bits as are needed are enough, unless a shift drops some.
    Some(pack(if p.bits == 0 && p.shift == 0 { scan() } else { scan().then("bitpack_judge", 1, 32) }))
}

fn decode_on_device(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    Some(DeviceLaunch::one("bitpack_decode", tiles(shape.output(0)), THREADS))
}

/// The stage on an edge.
struct BoundBitpack {
    input: EdgeType,
    element: DType,
    /// 0: found by the run.
    bits: u64,
    base: u32,
    shift: u32,
}

impl BoundBitpack {
    fn new(args: &Args, edge: EdgeType) -> Result<BoundBitpack> {
        let chosen = element(args, edge)?;
        same_width(SPEC.name, chosen, edge)?;
        let whole = edge.length.is_dynamic() || edge.max_bytes() % chosen.bytes() == 0;
        if chosen.is_float() || edge.dtype.is_float() || chosen.bytes() == 8 || !whole {
            let accepts = "whole integers of 1, 2 and 4 bytes, of the width of its input_type";
            return Err(Error::type_mismatch(SPEC.name, IN[0], edge.dtype, accepts));
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
        let (base, shift) = (base as u32, shift as u32);
        Ok(BoundBitpack { input: edge, element: chosen.unsigned(), bits, base, shift })
    }

    /// The packed length of `bytes` bytes of elements.
    fn packed(&self, bytes: u64) -> u64 {
        let n = bytes / self.element.bytes();
        match self.bits {
            0 => bytes,
            bits => n / 8 * bits + (n % 8 * bits).div_ceil(8),
        }
    }

    fn launch(&self) -> BitpackParams {
        BitpackParams {
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

    fn metadata_bytes(&self) -> u64 {
        METADATA_BYTES
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], _: Rules) -> Result<Arc<dyn BoundStage>> {
        Ok(Arc::new(BoundBitpack::new(args, only(inputs)?)?))
    }

    fn describe(&self, args: &Args, metadata: &[u8]) -> Vec<(&'static str, String)> {
        let bits = metadata.first().map(|bits| ("nbits", bits.to_string()));
        let element = args.choice("input_type").ok().map(|e| ("input_type", e.to_string()));
        element.into_iter().chain(bits).collect()
    }

    fn reencode_params(&self, args: &mut Args, metadata: &[u8]) -> Result<()> {
        // The same number of bits, given or measured, makes the same container; an array that needs more bits
        // is rejected.
        match metadata.first() {
            Some(&bits) if bits > 0 && args.set_int("nbits", bits.into()).is_ok() => {
                args.set_int("auto_detect", 0)
            }
            _ => Ok(()),
        }
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let mut r = Reader::new(SPEC.name, config);
        let ([element, bits], n) = (r.array()?, r.u64()?);
        // Where the bits were found is no matter of the reader: all decoders take them from the metadata, and check them.
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
        let metadata = u64::from(bits).to_le_bytes().to_vec();
        Ok(Parsed { args, input: Some(element), length: Length::Bytes(length), metadata })
    }

    fn explain(&self, fault: Fault, _: &Args, _: &[(&'static str, &Args)]) -> Error {
        match fault {
            Fault::OutOfRange(element) => {
                let expected = "one that its nbits, base and shift keep whole; auto_detect finds how many bits that takes";
                Error::out_of_range(SPEC.name, element, expected)
            }
            other => explain(SPEC.name, other),
        }
    }

    fn versions(&self) -> &dyn Versions {
        self
    }
}

impl BoundStage for BoundBitpack {
    fn outputs(&self) -> Vec<EdgeType> {
        // Fewer bits than an element has make no more bytes than it has.
        let most = self.packed(self.input.max_bytes());
        let known = self.bits > 0 && matches!(self.input.length, ByteLength::Static(_));
        vec![if known { EdgeType::fixed(DType::U8, most) } else { EdgeType::upto(DType::U8, most) }]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&ENCODE, &self.launch(), io.inputs, &[io.outputs[0], io.metadata])
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        let launch = BitpackParams { bits: 0, ..self.launch() };
        ctx.launch(&DECODE, &launch, &[io.outputs[0], io.metadata], io.inputs)
    }

    fn config(&self, io: Ports<'_>) -> Result<Config> {
        let mut w = Writer::default();
        w.bytes(&[self.element as u8, 0]);
        w.pad_to(10);
        w.u8(self.shift as u8);
        w.u32(self.base);
        let bits = RuntimeField::Stored { of: io.metadata, at: 0 };
        let count = RuntimeField::Count { of: io.inputs[0], unit: self.element.bytes() };
        let patches = vec![
            Patch { at: 1, width: 1, runtime_field: bits },
            Patch { at: 2, width: 8, runtime_field: count },
        ];
        Ok(Config { bytes: w.0, patches })
    }
}

/// | 2026-05 | 2026-08 |
/// |---|---|
/// | 10 bytes | 10, or 15 with a base and a shift |
impl Versions for Bitpack {
    fn upgrade(&self, config: &[u8]) -> Result<Vec<u8>> {
        match config.len() {
            10 => Ok([config, &[0; 5]].concat()),
            15 => Ok(config.to_vec()),
            n => Err(no_such_config(SPEC.id, n)),
        }
    }

    fn downgrade(&self, generation: Generation, mut config: Config) -> Result<Config> {
        if config.bytes[10..] == [0; 5] {
            config.bytes.truncate(10);
        } else if generation == Generation::G2026_05 {
            let what = "a base and a shift do not exist in files of 2026-05; use generation 2026-08".into();
            return Err(Error::Unsupported { stage: SPEC.name, what });
        }
        Ok(config)
    }

    fn recorded_type(&self, _: Rules, _: DType, _: &Config) -> u8 {
        UNKNOWN_TYPE
    }
}
