//! Huffman: codes of whole bits, the shorter the more often a symbol occurs.
#![doc = include_str!("spec.md")]

mod blob;
mod book;
mod decode;
mod device;
mod encode;
mod params;

use super::inputs::{IN, only};
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Fault, Result};
use crate::base::param::{Args, Kind, MODE, POINTWISE, Param, Setting};
use crate::base::wire::{Reader, Writer};
use crate::ir::fusion::Fusion;
use crate::ir::kernel::{Kernel, Role, alone};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{
    BoundStage, Config, Generation, Length, Parsed, Patch, Ports, Rules, RuntimeField, Spec, Stage, explain,
};
use crate::ir::versions::{UNKNOWN_TYPE, Versions, has_extension};
use params::{COUNTS_AT, HuffmanParams, MIN_PARTITION, SYMBOLS_AT};
use std::sync::Arc;

/// See the module.
pub struct Huffman;

pub(super) const SPEC: Spec = Spec {
    id: 6,
    name: "huffman",
    about: "writes each symbol in as few bits as its frequency allows",
    accepts: &DType::ALL,
    inputs: IN,
    params: &[
        Param {
            name: "input_type",
            kind: Kind::Choice(&["auto", "u8", "u16", "u32"]),
            default: Setting::Choice("auto"),
            unit: "",
            doc: "Type of the symbols; auto: integers of 1, 2, and 4 bytes; all other types byte by byte.",
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
            doc: "Symbols of a partition: 768 (coarse), 1024 (fine), the number itself, or by the length of the array (auto; coarse in files of 2026-05).",
        },
    ],
};

/// The parameter of quantizers that maps signed codes to small unsigned ones.
const SIGN: &str = "zigzag_codes";
/// Length of the codebook unless `bklen` or symbols of one byte require another.
const DEFAULT_SYMBOLS: u32 = 1024;
/// Symbols have 16 bits at most.
const MOST_SYMBOLS: i64 = 65536;

static COUNT: Kernel =
    Kernel { name: "huffman_count", host: encode::count, role: |_| Role::Reduction, device: device::count };
static ENCODE: Kernel =
    Kernel { name: "huffman_encode", host: encode::encode, role: alone, device: device::encode };
static DECODE: Kernel =
    Kernel { name: "huffman_decode", host: decode::decode, role: alone, device: device::decode };

/// The symbols on the edge, which are whole ones.
fn symbols(args: &Args, edge: EdgeType) -> Result<DType> {
    let symbol = match (args.choice("input_type")?, edge.dtype) {
        ("auto", d) if d.bytes() < 8 && !d.is_float() => d.unsigned(),
        ("auto", _) => DType::U8,
        (name, _) => DType::from_name(name)?,
    };
    if edge.dtype.bytes() % symbol.bytes() == 0 {
        return Ok(symbol);
    }
    let accepts = "elements that are whole symbols of its input_type";
    Err(Error::type_mismatch(SPEC.name, IN[0], edge.dtype, accepts))
}

/// The parameters of the quantizer before this stage, maybe with stage zigzag in between, that make its codes smaller than `bklen`.
fn smaller_codes(before: &[(&'static str, &Args)], bklen: i64) -> Option<String> {
    let (mapped, stage, args) = match *before {
        [("zigzag", _), (stage, args), ..] if args.has(SIGN) => (true, stage, args),
        [(stage, args), ..] => (false, stage, args),
        [] => return None,
    };
    let radius = args.int("quant_radius").ok()?;
    let mut sets = vec![];
    // Exactly one of the parameter and stage zigzag has to map the signs. Codes of mode rel have no signs to map.
    let signed = args.choice(MODE).is_ok_and(|mode| mode != POINTWISE);
    if signed && args.flag(SIGN).is_ok_and(|zigzag| zigzag == mapped) {
        sets.push(format!("{stage}.{SIGN} to {}", !mapped));
    }
    if radius == 0 || radius > bklen / 2 {
        sets.push(format!("{stage}.quant_radius to at most {}", bklen / 2));
    }
    (!sets.is_empty()).then(|| sets.join(" and "))
}

/// The longest stream of `n` symbols: header and book, two numbers for each of the shortest partitions, and
/// codes of 28 bits, of which full partitions are whole cells.
///
/// Streams of this library's encoders have codes of the shortest total. That is at most the total of codes of equal length, so each
/// symbol counts as many bits as a number below the length of the book. Each partition may end in a cell that is not full. Counts that
/// are evened out do not change this: the symbols whose counts are raised then have the smallest count and the longest codes, or codes
/// one bit shorter.
fn stream_bound(n: u64, p: &HuffmanParams, own: bool) -> Option<u64> {
    if n == 0 {
        return Some(0);
    }
    let parts = n.div_ceil(MIN_PARTITION.into());
    let fixed = u64::from(SYMBOLS_AT) + u64::from(p.bklen) * u64::from(p.width) + 8 * parts;
    let any = n.checked_mul(7)?.div_ceil(8).checked_mul(4)?.checked_add(fixed)?;
    let bits = u64::from(p.bklen.next_power_of_two().trailing_zeros()).max(1);
    let shortest =
        n.checked_mul(bits)?.div_ceil(32).checked_add(parts)?.checked_mul(4)?.checked_add(fixed)?;
    Some(if own { any.min(shortest) } else { any })
}

impl Stage for Huffman {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], rules: Rules) -> Result<Arc<dyn BoundStage>> {
        let input = only(inputs)?;
        let symbol = symbols(args, input)?;
        let bklen = match (args.int("bklen")?, symbol) {
            (0, DType::U8) => 256,
            (0, _) => DEFAULT_SYMBOLS,
            (given, _) => given as u32,
        };
        let old = rules.generation == Generation::G2026_05;
        let partition = match args.choice("encode_mode")? {
            "fine" => 1024,
            "2048" => 2048,
            "4096" => 4096,
            "auto" if !old => 0,
            _ => 768,
        };
        let width = symbol.bytes() as u32;
        let encode = HuffmanParams { bklen, width, partition, exact: (old && !rules.strict).into() };
        let bytes = stream_bound(input.max_bytes().div_ceil(width.into()), &encode, rules.own_streams);
        let limit = u64::from(u32::MAX);
        match bytes {
            Some(bytes) if bytes <= limit => Ok(Arc::new(BoundHuffman { bytes, symbol, encode })),
            _ => Err(Error::TooLarge { stage: SPEC.name, needed: bytes.unwrap_or(u64::MAX), limit }),
        }
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
        Ok(Parsed { args, input: Some(symbol), length: Length::Bytes(bytes), metadata: vec![] })
    }

    fn explain(&self, fault: Fault, args: &Args, before: &[(&'static str, &Args)]) -> Error {
        let Fault::OutOfRange(symbol) = fault else { return explain(SPEC.name, fault) };
        let bklen = match args.int("bklen") {
            // Symbols of one byte are all below their default.
            Ok(0) | Err(_) => DEFAULT_SYMBOLS.into(),
            Ok(given) => given,
        };
        let mut remedies = Vec::from_iter(smaller_codes(before, bklen));
        if symbol < MOST_SYMBOLS as u64 {
            remedies.push(format!("huffman.bklen to {MOST_SYMBOLS}"));
        }
        let set = if remedies.is_empty() { "" } else { "; set " };
        let expected = format!("one below huffman.bklen, which is {bklen}{set}{}", remedies.join(", or "));
        Error::out_of_range(SPEC.name, symbol, &expected)
    }

    fn check_feed(&self, args: &Args, from: &str, edge: EdgeType) -> Result<()> {
        let told = args.choice("input_type")?;
        let symbol = symbols(args, edge)?;
        // Symbols may be bytes: elements that are wider than a symbol may be consist of bytes.
        if symbol == DType::U8 || edge.dtype.is_float() || symbol.bytes() == edge.dtype.bytes() {
            return Ok(());
        }
        if edge.dtype.bytes() > DType::U32.bytes() {
            return Ok(());
        }
        let expected = format!("auto, because {from} has {}: each would be two symbols", edge.dtype);
        Err(Error::argument("huffman.input_type", told, expected))
    }

    fn fusions(&self) -> &'static [&'static [Fusion]] {
        device::FUSIONS
    }

    fn versions(&self) -> &dyn Versions {
        self
    }
}

/// The stage on an edge.
struct BoundHuffman {
    /// Most bytes of the stream.
    bytes: u64,
    symbol: DType,
    encode: HuffmanParams,
}

impl BoundStage for BoundHuffman {
    fn outputs(&self) -> Vec<EdgeType> {
        vec![EdgeType::upto(DType::U8, self.bytes)]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        let p = &self.encode;
        if (p.width * p.bklen) % 4 != 0 {
            let expected =
                format!("a multiple of {}, so that the data after the codebook is aligned", 4 / p.width);
            return Err(Error::argument("huffman.bklen", p.bklen, expected));
        }
        let counts = ctx.temporary(EdgeType::fixed(DType::U8, COUNTS_AT + 4 * u64::from(p.bklen)));
        ctx.launch(&COUNT, p, io.inputs, &[counts])?;
        ctx.launch(&ENCODE, p, &[io.inputs, &[counts]].concat(), io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&DECODE, &HuffmanParams { partition: 0, exact: 0, ..self.encode }, io.outputs, io.inputs)
    }

    fn config(&self, io: Ports<'_>) -> Result<Config> {
        let mut w = Writer::default();
        w.u8(self.symbol as u8);
        w.u16(self.encode.bklen as u16);
        w.u64(0);
        let runtime_field = RuntimeField::Count { of: io.inputs[0], unit: self.symbol.bytes() };
        Ok(Config { bytes: w.0, patches: vec![Patch { at: 3, width: 8, runtime_field }] })
    }
}

impl Versions for Huffman {
    fn recorded_type(&self, rules: Rules, dtype: DType, _: &Config) -> u8 {
        if has_extension(rules) { dtype as u8 } else { UNKNOWN_TYPE }
    }
}
