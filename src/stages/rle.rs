//! RLE: runs of equal integers as value and length.
#![doc = include_str!("rle.md")]

mod runs;

use super::words::{IN, INPUT_TYPE, element, only, same_width};
use crate::device::{Recipe, Shape, tiles};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::extent::Flow;
use crate::kernel::{Kernel, alone, read_params};
use crate::launch::{Emit, Val};
use crate::param::{Args, Kind, Param, Setting};
use crate::stage::{Config, Fact, Length, Parsed, Patch, Ports, Rules, Spec, Stage};
use crate::wire::{Reader, Writer};
use bytemuck::{Pod, Zeroable};

/// See the module.
pub struct Rle;

pub(super) const SPEC: Spec = Spec {
    id: 5,
    name: "rle",
    about: "keeps each run of equal integers as its value and its length",
    inputs: IN,
    params: &[
        INPUT_TYPE,
        Param {
            name: "chunk_size",
            kind: Kind::Int { low: 0, high: u32::MAX as i64 },
            default: Setting::Int(0),
            unit: "bytes",
            doc: "Runs end where a chunk of so many bytes begins; 0: nowhere but at other values.",
        },
    ],
};

static ENCODE: Kernel =
    Kernel { name: "rle_encode", host: runs::encode, role: alone, device: encode_on_device };
static DECODE: Kernel =
    Kernel { name: "rle_decode", host: runs::decode, role: alone, device: decode_on_device };

/// Argument block of both kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Launch {
    /// Elements of a chunk; 0: no chunks.
    chunk: u64,
    /// Bytes of an element.
    width: u64,
}

/// Threads of a block of the device functions, which has a tile of elements or of runs.
const THREADS: u32 = 256;
/// Runs of a tile.
const TILE_RUNS: u64 = 4096;

/// How many runs begin in each tile, where they go, and the runs themselves.
fn encode_on_device(shape: &Shape<'_>) -> Option<Recipe> {
    let tiles = tiles(shape.input(0)).max(1);
    let recipe = Recipe::one("rle_encode_count", tiles, THREADS).then("rle_encode_place", 1, 1024);
    // Runs and the last beginning, of a tile and of those before it.
    Some(recipe.then("rle_encode_write", tiles, THREADS).with(0, 8 + 16 * tiles))
}

/// How many elements the runs of each tile have, where those go, where each run ends, and the elements.
fn decode_on_device(shape: &Shape<'_>) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let most = shape.output(0) / p.width;
    let tiles_of_runs = most.div_ceil(TILE_RUNS).max(1);
    let recipe = Recipe::one("rle_decode_sums", tiles_of_runs, THREADS)
        .then("rle_decode_place", 1, 1024)
        .then("rle_decode_ends", tiles_of_runs, THREADS)
        .then("rle_decode_fill", tiles(shape.output(0)), THREADS);
    // How many runs are to be believed, elements before each tile, and the end of each run.
    Some(recipe.with(0, 8 + 8 * tiles_of_runs + 4 * TILE_RUNS * tiles_of_runs))
}

fn integers(args: &Args, flow: Flow) -> Result<DType> {
    let chosen = element(args, flow)?;
    same_width(SPEC.name, chosen, flow)?;
    let whole = flow.extent.is_dynamic() || flow.max_bytes() % chosen.bytes() == 0;
    if chosen.is_float() || flow.dtype.is_float() || !whole {
        let accepts = "whole integers of the width of its input_type";
        return Err(Error::TypeMismatch { stage: SPEC.name, port: IN[0], got: flow.dtype, accepts });
    }
    Ok(chosen)
}

fn launch(args: &Args, flow: Flow) -> Result<Launch> {
    let width = integers(args, flow)?.bytes();
    let bytes = args.int("chunk_size")? as u64;
    if bytes > 0 && bytes < width {
        let expected = format!("0, or at least the {width} bytes of an element");
        return Err(Error::argument("rle.chunk_size", bytes, expected));
    }
    Ok(Launch { chunk: bytes / width, width })
}

/// Bytes before the values: the number of runs, or that of the chunks and where the runs of each begin.
fn head_bytes(p: &Launch, n: u64) -> u64 {
    let head = if p.chunk == 0 { 4 } else { 8 + 4 * n.div_ceil(p.chunk) };
    if p.width == 8 { head.next_multiple_of(8) } else { head }
}

impl Stage for Rle {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn alignment(&self, args: &Args) -> Result<u64> {
        Ok((args.int("chunk_size")? as u64).max(1))
    }

    fn infer(&self, args: &Args, inputs: &[Flow], _: Rules) -> Result<Vec<Flow>> {
        let flow = only(inputs)?;
        let p = launch(args, flow)?;
        let n = flow.max_bytes() / p.width;
        if n > u64::from(u32::MAX) {
            let limit = u64::from(u32::MAX) * p.width;
            return Err(Error::TooLarge { stage: SPEC.name, needed: flow.max_bytes(), limit });
        }
        // No run is empty: there are at most as many as elements.
        let most = head_bytes(&p, n) + (n * p.width).next_multiple_of(4) + 4 * n;
        Ok(vec![Flow::upto(DType::U8, most)])
    }

    fn encode(&self, args: &Args, io: Ports<'_>, _: Rules, em: &mut Emit<'_>) -> Result<()> {
        em.launch(&ENCODE, &launch(args, em.flow(io.inputs[0]))?, io.inputs, io.outputs)
    }

    fn decode(&self, args: &Args, io: Ports<'_>, em: &mut Emit<'_>) -> Result<()> {
        em.launch(&DECODE, &launch(args, em.flow(io.inputs[0]))?, io.outputs, io.inputs)
    }

    fn config(&self, args: &Args, io: Ports<'_>, _: Rules, flow: &dyn Fn(Val) -> Flow) -> Result<Config> {
        let element = integers(args, flow(io.inputs[0]))?;
        let mut w = Writer::default();
        w.u8(element as u8);
        w.u32(0);
        w.u32(args.int("chunk_size")? as u32);
        let fact = Fact::Count { of: io.inputs[0], unit: element.bytes() };
        Ok(Config { bytes: w.0, patches: vec![Patch { at: 1, width: 4, fact }] })
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let mut r = Reader::new(SPEC.name, config);
        let (element, n, chunk) = (r.u8()?, r.u32()?, r.u32()?);
        let element = match DType::from_number(element.into()) {
            Ok(e) if !e.is_float() && r.rest().is_empty() => e,
            _ => return Err(Error::corrupt(SPEC.name, format!("element type {element} is no integer"))),
        };
        let mut args = Args::new(SPEC.name, SPEC.params);
        args.set_text("input_type", element.name())?;
        args.set_int("chunk_size", chunk.into())?;
        let length = Length::Bytes(u64::from(n) * element.bytes());
        Ok(Parsed { args, input: Some(element), length, facts: vec![] })
    }
}
