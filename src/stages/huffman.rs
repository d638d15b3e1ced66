//! Huffman: codes of whole bits, the shorter the more often a symbol occurs.
#![doc = include_str!("huffman.md")]

mod blob;
mod book;
mod decode;
mod device;
mod encode;

pub(crate) use device::near_symbols;

use super::words::{IN, only};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::extent::Flow;
use crate::kernel::{Kernel, Role, alone};
use crate::launch::{Emit, Val};
use crate::param::{Args, Kind, Param, Setting};
use crate::stage::{Config, Fact, Generation, Length, Parsed, Patch, Ports, Rules, Spec, Stage};
use crate::wire::{Reader, Writer};
use bytemuck::{Pod, Zeroable};

/// See the module.
pub struct Huffman;

pub(super) const SPEC: Spec = Spec {
    id: 6,
    name: "huffman",
    about: "writes each symbol in as few bits as its frequency allows",
    inputs: IN,
    params: &[
        Param {
            name: "input_type",
            kind: Kind::Choice(&["auto", "u8", "u16", "u32"]),
            default: Setting::Choice("auto"),
            unit: "",
            doc: "Type of the symbols; auto: integers of 1, 2 and 4 bytes as they are, everything else byte by byte.",
        },
        Param {
            name: "bklen",
            kind: Kind::Int { low: 0, high: MOST_SYMBOLS },
            default: Setting::Int(0),
            unit: "symbols",
            doc: "Length of the codebook, all symbols must be below it; 0: 256 for symbols of one byte, 1024 for others.",
        },
        Param {
            name: "encode_mode",
            kind: Kind::Choice(&["auto", "coarse", "fine", "2048", "4096"]),
            default: Setting::Choice("auto"),
            unit: "",
            doc: "Symbols that are coded on their own: 768 (coarse), 1024 (fine), so many, or by the length of the array (auto; coarse in files of 2026-05).",
        },
    ],
};

/// Where the counts of all symbols start, behind the largest symbol that is none of the codebook, or 0.
const COUNTS_AT: u64 = 16;
/// Symbols have 16 bits at most.
const MOST_SYMBOLS: i64 = 65536;

static COUNT: Kernel =
    Kernel { name: "huffman_count", host: encode::count, role: |_| Role::Sums, device: device::count };
static ENCODE: Kernel =
    Kernel { name: "huffman_encode", host: encode::encode, role: alone, device: device::encode };
static DECODE: Kernel =
    Kernel { name: "huffman_decode", host: decode::decode, role: alone, device: device::decode };

/// Argument block of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Launch {
    /// Length of the codebook.
    bklen: u32,
    /// Bytes of a symbol.
    width: u32,
    /// Symbols of a partition; 0: by their number.
    partition: u32,
    /// 1: the bytes of the reference.
    exact: u32,
}

/// The symbols on the edge, which are whole ones.
fn symbols(args: &Args, flow: Flow) -> Result<DType> {
    let symbol = match (args.choice("input_type")?, flow.dtype) {
        ("auto", d) if d.bytes() < 8 && !d.is_float() => d.unsigned(),
        ("auto", _) => DType::U8,
        (name, _) => DType::from_name(name)?,
    };
    if flow.dtype.bytes() % symbol.bytes() == 0 {
        return Ok(symbol);
    }
    let accepts = "elements that are whole symbols of its input_type";
    Err(Error::TypeMismatch { stage: SPEC.name, port: IN[0], got: flow.dtype, accepts })
}

fn launch(args: &Args, flow: Flow, exact: bool, partition: u32) -> Result<Launch> {
    let symbol = symbols(args, flow)?;
    let bklen = match (args.int("bklen")?, symbol) {
        (0, DType::U8) => 256,
        (0, _) => 1024,
        (given, _) => given as u32,
    };
    Ok(Launch { bklen, width: symbol.bytes() as u32, partition, exact: exact.into() })
}

/// Most bytes of a stream of so many symbols: head and book, two numbers for each of the shortest partitions, and codes of 28
/// bits, of which full partitions are whole cells.
fn stream_bound(n: u64, p: &Launch) -> Option<u64> {
    if n == 0 {
        return Some(0);
    }
    let fixed = 384 + u64::from(p.bklen) * u64::from(p.width) + 8 * n.div_ceil(768);
    n.checked_mul(7)?.div_ceil(8).checked_mul(4)?.checked_add(fixed)
}

impl Stage for Huffman {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn infer(&self, args: &Args, inputs: &[Flow], _: Rules) -> Result<Vec<Flow>> {
        let flow = only(inputs)?;
        let p = launch(args, flow, false, 0)?;
        let bound = stream_bound(flow.max_bytes().div_ceil(p.width.into()), &p);
        let limit = u64::from(u32::MAX);
        match bound {
            Some(bound) if bound <= limit => Ok(vec![Flow::upto(DType::U8, bound)]),
            _ => Err(Error::TooLarge { stage: SPEC.name, needed: bound.unwrap_or(u64::MAX), limit }),
        }
    }

    fn encode(&self, args: &Args, io: Ports<'_>, rules: Rules, em: &mut Emit<'_>) -> Result<()> {
        let old = rules.generation == Generation::G2026_05;
        let partition = match args.choice("encode_mode")? {
            "fine" => 1024,
            "2048" => 2048,
            "4096" => 4096,
            "auto" if !old => 0,
            _ => 768,
        };
        let p = launch(args, em.flow(io.inputs[0]), old && !rules.strict, partition)?;
        if (p.width * p.bklen) % 4 != 0 {
            let expected =
                format!("a multiple of {}, so that what follows the codebook is aligned", 4 / p.width);
            return Err(Error::argument("huffman.bklen", p.bklen, expected));
        }
        let counts = em.temporary(Flow::fixed(DType::U8, COUNTS_AT + 4 * u64::from(p.bklen)));
        em.launch(&COUNT, &p, io.inputs, &[counts])?;
        em.launch(&ENCODE, &p, &[io.inputs, &[counts]].concat(), io.outputs)
    }

    fn decode(&self, args: &Args, io: Ports<'_>, em: &mut Emit<'_>) -> Result<()> {
        let p = launch(args, em.flow(io.inputs[0]), false, 0)?;
        em.launch(&DECODE, &p, io.outputs, io.inputs)
    }

    fn config(&self, args: &Args, io: Ports<'_>, _: Rules, flow: &dyn Fn(Val) -> Flow) -> Result<Config> {
        let input = flow(io.inputs[0]);
        let p = launch(args, input, false, 0)?;
        let mut w = Writer::default();
        w.u8(symbols(args, input)? as u8);
        w.u16(p.bklen as u16);
        w.u64(0);
        let fact = Fact::Count { of: io.inputs[0], unit: p.width.into() };
        Ok(Config { bytes: w.0, patches: vec![Patch { at: 3, width: 8, fact }] })
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let mut r = Reader::new(SPEC.name, config);
        let (number, bklen, n) = (r.u8()?, r.u16()?, r.u64()?);
        let symbol = [DType::U8, DType::U16, DType::U32].into_iter().find(|d| *d as u8 == number);
        let Some(symbol) = symbol.filter(|_| r.rest().is_empty()) else {
            return Err(Error::corrupt(SPEC.name, format!("there are no symbols of element type {number}")));
        };
        let bytes = n.checked_mul(symbol.bytes());
        let bytes = bytes.ok_or_else(|| Error::corrupt(SPEC.name, format!("{n} symbols are too many")))?;
        let mut args = Args::new(SPEC.name, SPEC.params);
        args.set_text("input_type", symbol.name())?;
        // 65536 does not fit the field.
        args.set_int("bklen", if bklen == 0 { MOST_SYMBOLS } else { bklen.into() })?;
        Ok(Parsed { args, input: Some(symbol), length: Length::Bytes(bytes), facts: vec![] })
    }
}
