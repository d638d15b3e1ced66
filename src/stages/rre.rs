//! RRE: repeated repetition elimination, chunk by chunk.
#![doc = include_str!("rre.md")]

use super::rze;
use super::words::{IN, only};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::extent::Flow;
use crate::kernel::{Kernel, Role};
use crate::launch::{Emit, Val};
use crate::param::{Args, Kind, Param, Setting};
use crate::stage::{Config, Fact, Generation, Length, Parsed, Patch, Ports, Rules, Spec, Stage};
use crate::wire::{Reader, Writer};

/// See the module.
pub struct Rre;

pub(super) const SPEC: Spec = Spec {
    id: 26,
    name: "rre",
    about: "drops words that repeat the one before them and keeps a compressed bitmap of the others",
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
    role: |_| Role::Gather,
    device: |s| Some(rze::encoder(s, None)),
};
static DECODE: Kernel = Kernel {
    name: "rre_decode",
    host: rze::stream::decode,
    role: |_| Role::Scatter,
    device: |s| Some(rze::decoder(s, None)),
};

fn sizes(args: &Args) -> Result<(i64, i64)> {
    Ok((args.int("chunk_size")?, args.int("word_size")?))
}

fn launch(args: &Args) -> Result<rze::Launch> {
    let (chunk, word) = sizes(args)?;
    Ok(rze::Launch::of_repeats(chunk as u32, word as u32))
}

impl Stage for Rre {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn alignment(&self, args: &Args) -> Result<u64> {
        Ok(args.int("chunk_size")? as u64)
    }

    fn infer(&self, args: &Args, inputs: &[Flow], _: Rules) -> Result<Vec<Flow>> {
        let flow = only(inputs)?;
        let bound = rze::stream_bound(flow.max_bytes(), args.int("chunk_size")? as u64);
        let limit = u64::from(u32::MAX);
        match bound {
            Some(bound) if bound <= limit => Ok(vec![Flow::upto(DType::U8, bound)]),
            _ => Err(Error::TooLarge { stage: SPEC.name, needed: bound.unwrap_or(u64::MAX), limit }),
        }
    }

    fn encode(&self, args: &Args, io: Ports<'_>, _: Rules, em: &mut Emit<'_>) -> Result<()> {
        let (chunk, word) = sizes(args)?;
        rze::has_levels(SPEC.name, chunk, word)?;
        em.launch(&ENCODE, &launch(args)?, io.inputs, io.outputs)
    }

    fn decode(&self, args: &Args, io: Ports<'_>, em: &mut Emit<'_>) -> Result<()> {
        em.launch(&DECODE, &launch(args)?, io.outputs, io.inputs)
    }

    fn config(&self, args: &Args, io: Ports<'_>, rules: Rules, _: &dyn Fn(Val) -> Flow) -> Result<Config> {
        if rules.generation == Generation::G2026_05 {
            let what = "this stage does not exist in files of 2026-05; use generation 2026-08".into();
            return Err(Error::Unsupported { stage: SPEC.name, what });
        }
        let (chunk, word) = sizes(args)?;
        let mut w = Writer::default();
        w.u32(chunk as u32);
        w.u8(word as u8);
        w.u32(0);
        let fact = Fact::Count { of: io.inputs[0], unit: 1 };
        Ok(Config { bytes: w.0, patches: vec![Patch { at: 5, width: 4, fact }] })
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
        Ok(Parsed { args, input: None, length: Length::Bytes(original.into()), facts: vec![] })
    }
}
