//! Bitshuffle: blocks of elements as planes of bits.
#![doc = include_str!("bitshuffle.md")]

mod transpose;

use super::words::{IN, only};
use crate::device::{Recipe, Shape, tiles};
use crate::dtype::DType;
use crate::error::{Error, Fault, Result};
use crate::extent::Flow;
use crate::kernel::{HostCall, Kernel, PARAM_BYTES, Role, read_params};
use crate::launch::{Emit, Val};
use crate::param::{Args, Kind, Param, Setting};
use crate::stage::{Config, Length, Parsed, Ports, Rules, Spec, Stage};
use crate::tile::TILE;
use crate::wire::Reader;
use bytemuck::{Pod, Zeroable};

/// See the module.
pub struct Bitshuffle;

pub(super) const SPEC: Spec = Spec {
    id: 17,
    name: "bitshuffle",
    about: "groups bits of equal weight, so that small numbers become long runs of zero bytes",
    inputs: IN,
    params: &[
        Param {
            name: "block_size",
            kind: Kind::Int { low: 1024, high: u32::MAX as i64 },
            default: Setting::Int(16384),
            unit: "bytes",
            doc: "Bytes transposed together, a multiple of 1024 x element_width; a shorter last block is copied.",
        },
        Param {
            name: "element_width",
            kind: Kind::IntOf(&[1, 2, 4, 8]),
            default: Setting::Int(4),
            unit: "bytes",
            doc: "Width of an element, whatever type the edge declares.",
        },
    ],
};

static ENCODE: Kernel =
    Kernel { name: "bitshuffle_encode", host: encode, role, device: |s| on_device("bitshuffle_encode", s) };
static DECODE: Kernel =
    Kernel { name: "bitshuffle_decode", host: decode, role, device: |s| on_device("bitshuffle_decode", s) };

/// Argument block of both kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Launch {
    /// Bytes of a block.
    block: u64,
    /// Bytes of an element.
    width: u64,
}

/// Tiles stand for themselves where they are made of whole blocks.
fn role(params: &[u8; PARAM_BYTES]) -> Role {
    let block = read_params::<Launch>(params).block;
    if block > 0 && TILE as u64 % block == 0 { Role::Tile } else { Role::Alone }
}

/// 128 bytes to a thread, whatever the blocks are.
fn on_device(entry: &'static str, shape: &Shape<'_>) -> Option<Recipe> {
    Some(Recipe::one(entry, tiles(shape.output(0)), TILE as u32 / 128))
}

/// Whether blocks are so long and elements so wide.
pub(crate) fn is_plain(params: &[u8; PARAM_BYTES], width: u64, block: u64) -> bool {
    let p = read_params::<Launch>(params);
    (p.width, p.block) == (width, block)
}

fn launch(args: &Args) -> Result<Launch> {
    Ok(Launch { block: args.int("block_size")? as u64, width: args.int("element_width")? as u64 })
}

impl Stage for Bitshuffle {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn alignment(&self, args: &Args) -> Result<u64> {
        Ok(launch(args)?.block)
    }

    fn infer(&self, args: &Args, inputs: &[Flow], _: Rules) -> Result<Vec<Flow>> {
        let Launch { block, width } = launch(args)?;
        if block % (1024 * width) != 0 {
            let expected = format!("a multiple of {} (1024 x element_width)", 1024 * width);
            return Err(Error::argument("bitshuffle.block_size", block, expected));
        }
        Ok(vec![Flow { dtype: DType::U8, ..only(inputs)? }])
    }

    fn encode(&self, args: &Args, io: Ports<'_>, _: Rules, em: &mut Emit<'_>) -> Result<()> {
        em.launch(&ENCODE, &launch(args)?, io.inputs, io.outputs)
    }

    fn decode(&self, args: &Args, io: Ports<'_>, em: &mut Emit<'_>) -> Result<()> {
        em.launch(&DECODE, &launch(args)?, io.outputs, io.inputs)
    }

    fn config(&self, args: &Args, _: Ports<'_>, _: Rules, _: &dyn Fn(Val) -> Flow) -> Result<Config> {
        let Launch { block, width } = launch(args)?;
        let mut bytes = (block as u32).to_le_bytes().to_vec();
        bytes.push(width as u8);
        Ok(Config { bytes, patches: vec![] })
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let mut r = Reader::new(SPEC.name, config);
        let (block, width) = (r.u32()?, r.u8()?);
        if !r.rest().is_empty()
            || ![1, 2, 4, 8].contains(&width)
            || block == 0
            || block % (1024 * u32::from(width)) != 0
        {
            return Err(Error::corrupt(
                SPEC.name,
                format!("block size {block} and element width {width} do not fit"),
            ));
        }
        let mut args = Args::new(SPEC.name, SPEC.params);
        args.set_int("block_size", block.into())?;
        args.set_int("element_width", width.into())?;
        Ok(Parsed { args, input: None, length: Length::OfOutput, facts: vec![] })
    }
}

fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    run(call, [transpose::shuffle1, transpose::shuffle2, transpose::shuffle4, transpose::shuffle8])
}

fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    run(call, [transpose::unshuffle1, transpose::unshuffle2, transpose::unshuffle4, transpose::unshuffle8])
}

/// Transforms one block.
type Transform = fn(&[u8], &mut [u8]);

fn run(call: &mut HostCall<'_>, by_width: [Transform; 4]) -> Result<(), Fault> {
    let p = call.params::<Launch>();
    let (block, index) = (p.block as usize, p.width.trailing_zeros() as usize);
    let transform = *by_width.get(index).ok_or(Fault::BadLaunch)?;
    let (src, dst) = call.byte_for_byte()?;
    call.threads.tiles(dst, block, |k, out| {
        let from = src.get(k * block..k * block + out.len()).ok_or(Fault::BadLaunch)?;
        if out.len() == block {
            transform(from, out);
        } else {
            out.copy_from_slice(from);
        }
        Ok(())
    })
}
