//! RZE: repeated zero elimination, chunk by chunk.
#![doc = include_str!("rze.md")]

mod chunk;
mod repeats;
pub(super) mod stream;

use super::words::{IN, only};
use crate::device::{PARAM_BYTES, Recipe, Shape};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::extent::Flow;
use crate::kernel::{Kernel, Role, read_params};
use crate::launch::{Emit, Val};
use crate::param::{Args, Kind, Param, Setting};
use crate::stage::{Config, Fact, Generation, Length, Parsed, Patch, Ports, Rules, Spec, Stage};
use crate::wire::{Reader, Writer};
use bytemuck::{Pod, Zeroable};
pub use chunk::{CHUNK_MAX, Geometry, Scratch, decode_chunk, encode_chunk};

/// See the module.
pub struct Rze;

/// `chunk_size`, also of the stage that codes repetitions in the same way.
pub(super) const CHUNK_SIZE: Param = Param {
    name: "chunk_size",
    kind: Kind::IntOf(&[4096, 8192, 16384]),
    default: Setting::Int(16384),
    unit: "bytes",
    doc: "Bytes coded on their own.",
};

pub(super) const SPEC: Spec = Spec {
    id: 18,
    name: "rze",
    about: "drops zero words and keeps a compressed bitmap of where they were",
    inputs: IN,
    params: &[
        CHUNK_SIZE,
        Param {
            name: "word_size",
            kind: Kind::IntOf(&[1, 2, 4, 8]),
            default: Setting::Int(1),
            unit: "bytes",
            doc: "Bytes of the words that are dropped when zero.",
        },
        Param {
            name: "layout",
            kind: Kind::Choice(&["auto", "2026-05", "2026-08"]),
            default: Setting::Choice("auto"),
            unit: "",
            doc: "Form of short and nearly full chunks, that of the plan's generation; auto also reads what a file shows.",
        },
    ],
};

static ENCODE: Kernel = Kernel {
    name: "rze_encode",
    host: stream::encode,
    role: |_| Role::Gather,
    device: |s| Some(encoder(s, None)),
};
static DECODE: Kernel = Kernel {
    name: "rze_decode",
    host: stream::decode,
    role: |_| Role::Scatter,
    device: |s| Some(decoder(s, None)),
};

/// Which of the two layouts a chunk has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Layout {
    /// May 2026, `levels` = 4: short chunks have shrunk bitmaps.
    G2026_05 = 0,
    /// August 2026, with a word size.
    G2026_08 = 1,
    /// Decoding only: byte 4 of the config is 4, which may mean either; the first coded chunk tells.
    Ambiguous = 2,
}

/// Argument block of both kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Launch {
    chunk: u32,
    word: u32,
    layout: u32,
    /// 1: not zeros are dropped but words that equal the one before, which is stage rre.
    repeats: u32,
}

impl Launch {
    pub(super) fn of_repeats(chunk: u32, word: u32) -> Launch {
        Launch { chunk, word, layout: Layout::G2026_08 as u32, repeats: 1 }
    }
}

/// Threads of a block of the device functions, each of which has one chunk.
const THREADS: u32 = 128;

/// Whether chunks are tiles of words of one byte, which chains are made for.
pub(crate) fn is_tile_wise(params: &[u8; PARAM_BYTES]) -> bool {
    let p = read_params::<Launch>(params);
    p.chunk == 16384 && p.repeats == 0 && (p.word == 1 || p.layout == Layout::G2026_05 as u32)
}

/// Up to so many chunks have functions of their own, since all blocks of them run at once on the devices of today.
const FEW: u64 = 512;

/// The encoder on a device, alone or at the end of a chain. Of what passes in a chain only the bound of the stream is known here.
pub(crate) fn encoder(shape: &Shape<'_>, chain: Option<&'static str>) -> Recipe {
    let p = read_params::<Launch>(shape.params);
    let chunks = shape.output(0).saturating_sub(8 + SLACK).div_ceil(u64::from(p.chunk) + 4);
    let alone = if is_tile_wise(shape.params) { "rze_encode" } else { "rze_encode_words" };
    // A word of the look-back for each chunk.
    Recipe::one(chain.unwrap_or(alone), chunks, THREADS).with(8 * chunks, 0)
}

/// The encoder on a device at the end of a chain, for few chunks.
pub(crate) fn encoder_of_few(shape: &Shape<'_>, chain: &'static str) -> Option<Recipe> {
    Some(encoder(shape, Some(chain))).filter(|recipe| recipe.passes.iter().all(|pass| pass.grid <= FEW))
}

/// What every decoder starts with on a device: it finds the chunks. Those behind the end of the array are not looked at.
pub(crate) fn starts(shape: &Shape<'_>) -> Recipe {
    /// Chunks whose starts one block finds.
    const STARTS: u64 = 1024;
    let p = read_params::<Launch>(shape.params);
    let blocks = shape.output(0).div_ceil(p.chunk.into()).div_ceil(STARTS).max(1);
    let recipe = Recipe::one("rze_decode_starts", blocks, STARTS as u32).with(0, 8 * (1 + STARTS * blocks));
    let ambiguous = p.layout == Layout::Ambiguous as u32;
    if ambiguous { recipe.then("rze_decode_layout", 1, THREADS) } else { recipe }
}

/// The decoder on a device for few chunks, of which each block finds its own one, so that small arrays take a launch less.
pub(crate) fn decoder_of_few(shape: &Shape<'_>, chain: &'static str) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let chunks = shape.output(0).div_ceil(p.chunk.into());
    let told = p.layout != Layout::Ambiguous as u32;
    (told && (1..=FEW).contains(&chunks)).then(|| Recipe::one(chain, chunks, THREADS))
}

/// The decoder on a device, alone or at the start of a chain.
pub(crate) fn decoder(shape: &Shape<'_>, chain: Option<&'static str>) -> Recipe {
    let p = read_params::<Launch>(shape.params);
    let chunks = shape.output(0).div_ceil(p.chunk.into());
    let (old, ambiguous) = (p.layout == Layout::G2026_05 as u32, p.layout == Layout::Ambiguous as u32);
    // Of the last two each knows when it is the other's turn.
    let tiles = is_tile_wise(shape.params);
    let starts = starts(shape);
    match chain {
        Some(entry) => starts.then(entry, chunks, THREADS),
        None if tiles || old => starts.then("rze_decode", chunks, THREADS),
        None if ambiguous => {
            starts.then("rze_decode", chunks, THREADS).then("rze_decode_words", chunks, THREADS)
        }
        None => starts.then("rze_decode_words", chunks, THREADS),
    }
}

/// Bytes that the stream can be longer than its input, beyond its table: the pad to a multiple of four and,
/// in the layout of May 2026, the bitmaps of a short chunk that grows.
const SLACK: u64 = 4 + 2060;

pub(super) fn stream_bound(input: u64, chunk: u64) -> Option<u64> {
    if input == 0 {
        return Some(0);
    }
    let table = input.div_ceil(chunk).checked_mul(4)?.checked_add(8)?;
    input.checked_add(table)?.checked_add(SLACK)
}

fn launch(args: &Args, layout: Layout) -> Result<Launch> {
    let (chunk, word) = (args.int("chunk_size")? as u32, args.int("word_size")? as u32);
    Ok(Launch { chunk, word, layout: layout as u32, repeats: 0 })
}

/// Refuses the three pairs of sizes that readers of others cannot decode.
pub(super) fn has_levels(stage: &'static str, chunk: i64, word: i64) -> Result<()> {
    if Geometry::new(chunk as usize, word as usize).is_some() {
        return Ok(());
    }
    let what =
        format!("chunk_size {chunk} with word_size {word} has no last bitmap level; use chunk_size 16384");
    Err(Error::Unsupported { stage, what })
}

/// The layout to write: refuses what the generation cannot express.
fn layout_to_write(args: &Args, rules: Rules) -> Result<Layout> {
    let (chunk, word) = (args.int("chunk_size")?, args.int("word_size")?);
    let (layout, generation) = (args.choice("layout")?, rules.generation);
    if layout != "auto" && layout != generation.name() {
        let what =
            format!("layout {layout} is not that of generation {}; use layout auto", generation.name());
        return Err(Error::Unsupported { stage: SPEC.name, what });
    }
    let old = generation == Generation::G2026_05;
    if old && (chunk, word) != (16384, 1) {
        let what = format!(
            "chunk_size {chunk} with word_size {word} does not exist in files of 2026-05; use 16384 and 1, or generation 2026-08"
        );
        return Err(Error::Unsupported { stage: SPEC.name, what });
    }
    has_levels(SPEC.name, chunk, word)?;
    Ok(if old { Layout::G2026_05 } else { Layout::G2026_08 })
}

impl Stage for Rze {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn alignment(&self, args: &Args) -> Result<u64> {
        Ok(args.int("chunk_size")? as u64)
    }

    fn asked(&self, args: &mut Args, _: &[u8]) -> Result<()> {
        // Which one it is follows from the generation.
        args.reset("layout")
    }

    fn infer(&self, args: &Args, inputs: &[Flow], _: Rules) -> Result<Vec<Flow>> {
        let flow = only(inputs)?;
        let bound = stream_bound(flow.max_bytes(), args.int("chunk_size")? as u64);
        let limit = u64::from(u32::MAX);
        match bound {
            Some(bound) if bound <= limit => Ok(vec![Flow::upto(DType::U8, bound)]),
            _ => Err(Error::TooLarge { stage: SPEC.name, needed: bound.unwrap_or(u64::MAX), limit }),
        }
    }

    fn encode(&self, args: &Args, io: Ports<'_>, rules: Rules, em: &mut Emit<'_>) -> Result<()> {
        em.launch(&ENCODE, &launch(args, layout_to_write(args, rules)?)?, io.inputs, io.outputs)
    }

    fn decode(&self, args: &Args, io: Ports<'_>, em: &mut Emit<'_>) -> Result<()> {
        let layout = match args.choice("layout")? {
            "auto" => Layout::Ambiguous,
            "2026-05" => Layout::G2026_05,
            _ => Layout::G2026_08,
        };
        em.launch(&DECODE, &launch(args, layout)?, io.outputs, io.inputs)
    }

    fn config(&self, args: &Args, io: Ports<'_>, rules: Rules, _: &dyn Fn(Val) -> Flow) -> Result<Config> {
        let layout = layout_to_write(args, rules)?;
        let mut w = Writer::default();
        w.u32(args.int("chunk_size")? as u32);
        w.u8(args.int("word_size")? as u8);
        w.u32(0);
        w.u8(layout as u8);
        let fact = Fact::Count { of: io.inputs[0], unit: 1 };
        Ok(Config { bytes: w.0, patches: vec![Patch { at: 5, width: 4, fact }] })
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let mut r = Reader::new(SPEC.name, config);
        let (chunk, word, original, layout) = (r.u32()?, r.u8()?, r.u32()?, r.u8()?);
        let refuse = |what: String| Err(Error::corrupt(SPEC.name, what));
        if ![4096, 8192, 16384].contains(&chunk) || ![1, 2, 4, 8].contains(&word) || !r.rest().is_empty() {
            return refuse(format!("chunk size {chunk} and word size {word} are not of this stage"));
        }
        let layout = match layout {
            0 => "2026-05",
            1 => "2026-08",
            _ => "auto",
        };
        let mut args = Args::new(SPEC.name, SPEC.params);
        args.set_int("chunk_size", chunk.into())?;
        args.set_int("word_size", word.into())?;
        args.set_text("layout", layout)?;
        Ok(Parsed { args, input: None, length: Length::Bytes(original.into()), facts: vec![] })
    }
}

/// The bound as a theorem: no stream is longer than `infer` says.
const _: () = assert!(SLACK >= 4 + 2048 + 12, "a short chunk of the old layout grows by its bitmaps");
