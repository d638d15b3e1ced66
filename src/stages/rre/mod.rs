//! RRE: repeated repetition elimination, chunk by chunk.
#![doc = include_str!("spec.md")]

use super::inputs::{IN, only};
use super::rze;
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::{Args, Kind, Param, Setting};
use crate::base::wire::{Reader, Writer};
use crate::ir::kernel::{Kernel, Role};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{
    BoundStage, Config, Generation, Length, Parsed, Patch, Ports, Rules, RuntimeField, Spec, Stage,
};
use std::sync::Arc;

/// See the module.
pub struct Rre;

pub(super) const SPEC: Spec = Spec {
    id: 26,
    name: "rre",
    about: "drops words that repeat the one before them and keeps a compressed bitmap of the others",
    accepts: &DType::ALL,
    inputs: IN,
    params: &[
        rze::CHUNK_SIZE,
        Param {
            name: "word_size",
            kind: Kind::IntOf(&[1, 2, 4, 8]),
            default: Setting::Int(1),
            unit: "bytes",
            doc: "Bytes of the words that are dropped when they repeat the one before.",
        },
    ],
};

// The kernels of rze, told to look for other words.
static ENCODE: Kernel = Kernel {
    name: "rre_encode",
    host: rze::stream::encode,
    role: |_| Role::TileConsumer,
    device: |s| Some(rze::encoder(s, None)),
};
static DECODE: Kernel = Kernel {
    name: "rre_decode",
    host: rze::stream::decode,
    role: |_| Role::TileProducer,
    device: |s| Some(rze::decoder(s, None)),
};

impl Stage for Rre {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn alignment(&self, args: &Args) -> Result<u64> {
        Ok(args.int("chunk_size")? as u64)
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], rules: Rules) -> Result<Arc<dyn BoundStage>> {
        let (chunk, word) = (args.int("chunk_size")? as u32, args.int("word_size")? as u32);
        let bytes = rze::stream_bytes(SPEC.name, only(inputs)?, chunk)?;
        Ok(Arc::new(BoundRre { bytes, chunk, word, generation: rules.generation }))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let mut r = Reader::new(SPEC.name, config);
        let (chunk, word, original) = (r.u32()?, r.u8()?, r.u32()?);
        if ![4096, 8192, 16384].contains(&chunk) || ![1, 2, 4, 8].contains(&word) || !r.rest().is_empty() {
            let what = format!("chunk size {chunk} and word size {word} are not of this stage");
            return Err(Error::corrupt(SPEC.name, what));
        }
        let mut args = Args::new(SPEC.name, SPEC.params);
        args.set_int("chunk_size", chunk.into())?;
        args.set_int("word_size", word.into())?;
        Ok(Parsed { args, input: None, length: Length::Bytes(original.into()), metadata: vec![] })
    }
}

/// The stage on an edge.
struct BoundRre {
    /// Most bytes of the stream.
    bytes: u64,
    chunk: u32,
    word: u32,
    generation: Generation,
}

impl BoundStage for BoundRre {
    fn outputs(&self) -> Vec<EdgeType> {
        vec![EdgeType::upto(DType::U8, self.bytes)]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        rze::has_levels(SPEC.name, self.chunk, self.word)?;
        ctx.launch(&ENCODE, &rze::RzeParams::of_repeats(self.chunk, self.word), io.inputs, io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&DECODE, &rze::RzeParams::of_repeats(self.chunk, self.word), io.outputs, io.inputs)
    }

    fn config(&self, io: Ports<'_>) -> Result<Config> {
        if self.generation == Generation::G2026_05 {
            let what = "this stage does not exist in files of 2026-05; use generation 2026-08".into();
            return Err(Error::Unsupported { stage: SPEC.name, what });
        }
        let mut w = Writer::default();
        w.u32(self.chunk);
        w.u8(self.word as u8);
        w.u32(0);
        let runtime_field = RuntimeField::Count { of: io.inputs[0], unit: 1 };
        Ok(Config { bytes: w.0, patches: vec![Patch { at: 5, width: 4, runtime_field }] })
    }
}
