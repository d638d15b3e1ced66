//! ANS: bytes by interleaved range coders with probabilities of 10 bits.
#![doc = include_str!("spec.md")]

mod block;
mod device;
mod params;
mod stream;
mod weights;

use super::inputs::{IN, only};
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::{Args, Kind, Param, Setting};
use crate::base::wire::{Reader, Writer};
use crate::ir::kernel::{Kernel, alone};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{BoundStage, Config, Length, Parsed, Patch, Ports, Rules, RuntimeField, Spec, Stage};
use std::sync::Arc;

/// See the module.
pub struct Ans;

pub(super) const SPEC: Spec = Spec {
    id: 20,
    name: "ans",
    about: "writes bytes in fractions of bits, after how often they occur",
    accepts: &DType::ALL,
    inputs: IN,
    params: &[Param {
        name: "prob_bits",
        kind: Kind::IntOf(&[PROB_BITS]),
        default: Setting::Int(PROB_BITS),
        unit: "bits",
        doc: "Precision of the probabilities.",
    }],
};

/// The only precision that the format has been written with.
const PROB_BITS: i64 = params::PROBABILITY_BITS as i64;
/// The sum of all weights.
const ONE: u32 = 1 << PROB_BITS;
/// Bytes that are coded on their own.
const BLOCK: usize = params::BLOCK as usize;
/// States that take turns.
const LANES: usize = 32;
/// Largest number of words of a block.
const MOST_WORDS: usize = params::BLOCK_WORDS as usize;
/// The stream counts bytes in 31 bits.
const MOST_BYTES: u64 = (1 << 31) - 1;

static ENCODE: Kernel =
    Kernel { name: "ans_encode", host: stream::encode, role: alone, device: device::encode };
static DECODE: Kernel =
    Kernel { name: "ans_decode", host: stream::decode, role: alone, device: device::decode };

fn stream_bound(bytes: u64) -> u64 {
    let blocks = bytes.div_ceil(BLOCK as u64);
    if bytes == 0 { 0 } else { 544 + 8 + blocks * (136 + 2 * MOST_WORDS as u64) }
}

impl Stage for Ans {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn alignment(&self, _: &Args) -> Result<u64> {
        Ok(4)
    }

    fn bind(&self, _: &Args, inputs: &[EdgeType], _: Rules) -> Result<Arc<dyn BoundStage>> {
        let bytes = only(inputs)?.max_bytes();
        if bytes > MOST_BYTES {
            return Err(Error::TooLarge { stage: SPEC.name, needed: bytes, limit: MOST_BYTES });
        }
        Ok(Arc::new(BoundAns { bytes: stream_bound(bytes) }))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let mut r = Reader::new(SPEC.name, config);
        let (bits, bytes) = (r.u32()?, r.u64()?);
        if i64::from(bits) != PROB_BITS || !r.rest().is_empty() {
            return Err(Error::corrupt(SPEC.name, format!("there are no probabilities of {bits} bits")));
        }
        let args = Args::new(SPEC.name, SPEC.params);
        Ok(Parsed { args, input: None, length: Length::Bytes(bytes), metadata: vec![] })
    }
}

/// The stage on an edge.
struct BoundAns {
    /// Most bytes of the stream.
    bytes: u64,
}

impl BoundStage for BoundAns {
    fn outputs(&self) -> Vec<EdgeType> {
        vec![EdgeType::upto(DType::U8, self.bytes)]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&ENCODE, &(), io.inputs, io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&DECODE, &(), io.outputs, io.inputs)
    }

    fn config(&self, io: Ports<'_>) -> Result<Config> {
        let mut w = Writer::default();
        w.u32(PROB_BITS as u32);
        w.u64(0);
        let runtime_field = RuntimeField::Count { of: io.inputs[0], unit: 1 };
        Ok(Config { bytes: w.0, patches: vec![Patch { at: 4, width: 8, runtime_field }] })
    }
}

/// The bound as a theorem: a step appends a word when the state is at least weight times 2^21, and takes it from there to at most
/// 2^31. So it grows by at most 10 bits, and 128 steps make at most 80 words.
const _: () = assert!(LANES * (BLOCK / LANES * PROB_BITS as usize / 16) == MOST_WORDS);
