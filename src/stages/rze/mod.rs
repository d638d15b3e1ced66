//! RZE: repeated zero elimination, chunk by chunk.
#![doc = include_str!("spec.md")]

mod chunk;
mod device;
mod eights;
mod fused;
mod params;
mod repeats;
pub(super) mod stream;
#[cfg(target_arch = "x86_64")]
mod wide;
#[cfg(not(target_arch = "x86_64"))]
mod wide {
    pub(super) use super::eights::Plain as Wide;
}

use super::inputs::{IN, only};
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::{Args, Kind, Param, Setting};
use crate::base::wire::{Reader, Writer};
use crate::ir::device::PARAM_BYTES;
use crate::ir::fusion::Fusion;
use crate::ir::kernel::{Kernel, Role, read_params};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{
    BoundStage, Config, Generation, Length, Parsed, Patch, Ports, Rules, RuntimeField, Spec, Stage,
};
use crate::ir::versions::{Versions, no_such_config};
pub use chunk::{CHUNK_MAX, Geometry, Scratch, decode_chunk, encode_chunk};
pub(super) use device::{decoder, encoder};
pub(super) use params::RzeParams;
use params::{LAYOUT_2026_05, LAYOUT_2026_08, LAYOUT_AMBIGUOUS};
use std::sync::Arc;

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
    accepts: &DType::ALL,
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
            doc: "Form of short and nearly full chunks, that of the plan's generation; auto also reads the form that a file shows.",
        },
    ],
};

static ENCODE: Kernel = Kernel {
    name: "rze_encode",
    host: stream::encode,
    role: |_| Role::TileConsumer,
    device: |s| Some(encoder(s, None)),
};
static DECODE: Kernel = Kernel {
    name: "rze_decode",
    host: stream::decode,
    role: |_| Role::TileProducer,
    device: |s| Some(decoder(s, None)),
};

/// Which of the two layouts a chunk has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Layout {
    /// May 2026, `levels` = 4: short chunks have shrunk bitmaps.
    G2026_05 = LAYOUT_2026_05,
    /// August 2026, with a word size.
    G2026_08 = LAYOUT_2026_08,
    /// Decoding only: byte 4 of the config is 4, which may mean either; the first coded chunk tells.
    Ambiguous = LAYOUT_AMBIGUOUS,
}

impl RzeParams {
    pub(super) fn of_repeats(chunk: u32, word: u32) -> RzeParams {
        RzeParams { chunk, word, layout: Layout::G2026_08 as u32, repeats: 1 }
    }
}

/// True if chunks are tiles of words of one byte, for which fused kernels exist.
pub(crate) fn is_tile_wise(params: &[u8; PARAM_BYTES]) -> bool {
    let p = read_params::<RzeParams>(params);
    p.chunk == 16384 && p.repeats == 0 && (p.word == 1 || p.layout == Layout::G2026_05 as u32)
}

/// Bytes that the stream can be longer than its input, beyond its table: the pad to a multiple of four and,
/// in the layout of May 2026, the bitmaps of a short chunk that grows.
const SLACK: u64 = 4 + 2060;

/// Most bytes of the stream of `input` in chunks of `chunk` bytes.
pub(super) fn stream_bytes(stage: &'static str, input: EdgeType, chunk: u32) -> Result<u64> {
    let (needed, limit) = (stream_bound(input.max_bytes(), chunk.into()), u64::from(u32::MAX));
    needed.filter(|n| *n <= limit).ok_or(Error::TooLarge { stage, needed: needed.unwrap_or(u64::MAX), limit })
}

fn stream_bound(input: u64, chunk: u64) -> Option<u64> {
    if input == 0 {
        return Some(0);
    }
    let table = input.div_ceil(chunk).checked_mul(4)?.checked_add(8)?;
    input.checked_add(table)?.checked_add(SLACK)
}

/// Refuses the three pairs of sizes that readers of others cannot decode.
pub(super) fn has_levels(stage: &'static str, chunk: u32, word: u32) -> Result<()> {
    if Geometry::new(chunk as usize, word as usize).is_some() {
        return Ok(());
    }
    let what =
        format!("chunk_size {chunk} with word_size {word} has no last bitmap level; use chunk_size 16384");
    Err(Error::Unsupported { stage, what })
}

impl Stage for Rze {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn alignment(&self, args: &Args) -> Result<u64> {
        Ok(args.int("chunk_size")? as u64)
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], rules: Rules) -> Result<Arc<dyn BoundStage>> {
        let chunk = args.int("chunk_size")? as u32;
        let bytes = stream_bytes(SPEC.name, only(inputs)?, chunk)?;
        let layout = args.choice("layout")?;
        Ok(Arc::new(BoundRze { bytes, chunk, word: args.int("word_size")? as u32, layout, rules }))
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
        Ok(Parsed { args, input: None, length: Length::Bytes(original.into()), metadata: vec![] })
    }

    fn reencode_params(&self, args: &mut Args, _: &[u8]) -> Result<()> {
        // The layout follows from the generation.
        args.reset("layout")
    }

    fn fusions(&self) -> &'static [&'static [Fusion]] {
        fused::FUSIONS
    }

    fn versions(&self) -> &dyn Versions {
        self
    }
}

/// The stage on an edge.
struct BoundRze {
    /// Most bytes of the stream.
    bytes: u64,
    chunk: u32,
    word: u32,
    /// The value of the parameter.
    layout: &'static str,
    rules: Rules,
}

impl BoundRze {
    /// The layout to write. Rejects a layout that the generation cannot express.
    fn layout_to_write(&self) -> Result<Layout> {
        let BoundRze { chunk, word, layout, rules: Rules { generation, .. }, .. } = *self;
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

    fn launch(&self, layout: Layout) -> RzeParams {
        RzeParams { chunk: self.chunk, word: self.word, layout: layout as u32, repeats: 0 }
    }
}

impl BoundStage for BoundRze {
    fn outputs(&self) -> Vec<EdgeType> {
        vec![EdgeType::upto(DType::U8, self.bytes)]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&ENCODE, &self.launch(self.layout_to_write()?), io.inputs, io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        let layout = match self.layout {
            "auto" => Layout::Ambiguous,
            "2026-05" => Layout::G2026_05,
            _ => Layout::G2026_08,
        };
        ctx.launch(&DECODE, &self.launch(layout), io.outputs, io.inputs)
    }

    fn config(&self, io: Ports<'_>) -> Result<Config> {
        let layout = self.layout_to_write()?;
        let mut w = Writer::default();
        w.u32(self.chunk);
        w.u8(self.word as u8);
        w.u32(0);
        w.u8(layout as u8);
        let runtime_field = RuntimeField::Count { of: io.inputs[0], unit: 1 };
        Ok(Config { bytes: w.0, patches: vec![Patch { at: 5, width: 4, runtime_field }] })
    }
}

/// Byte 4 is the number of levels in files of 2026-05, always 4, and later the word size: 1, 2, 4 or 8. So 4 is ambiguous
/// in a file without a mark: the first coded chunk tells.
impl Versions for Rze {
    fn upgrade(&self, config: &[u8]) -> Result<Vec<u8>> {
        match config.len() {
            9 => {
                Ok([config, &[if config[4] == 4 { Layout::Ambiguous } else { Layout::G2026_08 } as u8]]
                    .concat())
            }
            n => Err(no_such_config(SPEC.id, n)),
        }
    }

    fn downgrade(&self, _: Generation, mut config: Config) -> Result<Config> {
        if config.bytes.pop() == Some(Layout::G2026_05 as u8) {
            config.bytes[4] = 4;
        }
        Ok(config)
    }

    fn resolve(&self, config: &mut [u8], generation: Generation) -> Result<()> {
        let [_, _, _, _, word, .., layout] = config else { return Ok(()) };
        match generation {
            Generation::G2026_08 => *layout = Layout::G2026_08 as u8,
            Generation::G2026_05 if *word == 4 => (*word, *layout) = (1, Layout::G2026_05 as u8),
            Generation::G2026_05 => {
                let what = format!("{word} levels in a file of 2026-05; it has 4");
                return Err(Error::corrupt(SPEC.name, what));
            }
        }
        Ok(())
    }

    fn resolve_args(&self, args: &mut Args, generation: Generation) -> Result<()> {
        if generation == Generation::G2026_05 && args.choice("layout")? == "auto" {
            args.set_int("word_size", 1)?;
            args.set_text("layout", generation.name())?;
        }
        Ok(())
    }
}

/// A check of the bound at compile time: no stream is longer than `infer` states.
const _: () = assert!(SLACK >= 4 + 2048 + 12, "a short chunk of the old layout grows by its bitmaps");
