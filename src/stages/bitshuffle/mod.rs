//! Bitshuffle: blocks of elements as planes of bits.
#![doc = include_str!("spec.md")]

mod params;
mod transpose;
#[cfg(target_arch = "x86_64")]
mod wide;
#[cfg(not(target_arch = "x86_64"))]
mod wide {
    pub(super) fn transforms() -> Option<[[super::Transform; 4]; 2]> {
        None
    }
}

use super::inputs::{IN, only};
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Fault, Result};
use crate::base::param::{Args, Kind, Param, Setting};
use crate::base::tile::TILE;
use crate::base::wire::Reader;
use crate::ir::device::{DeviceLaunch, LaunchShape, tiles};
use crate::ir::kernel::{HostCall, Kernel, PARAM_BYTES, Role, read_params};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{BoundStage, Config, Length, Parsed, Ports, Rules, Spec, Stage};
use crate::ir::versions::{Versions, no_such_config};
use params::BitshuffleParams;
use std::sync::Arc;

/// See the module.
pub struct Bitshuffle;

pub(super) const SPEC: Spec = Spec {
    id: 17,
    name: "bitshuffle",
    about: "groups bits of equal weight, so that small numbers become long runs of zero bytes",
    accepts: &DType::ALL,
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
            doc: "Width of an element, regardless of the type on the edge.",
        },
    ],
};

pub(super) static ENCODE: Kernel =
    Kernel { name: "bitshuffle_encode", host: encode, role, device: |s| on_device("bitshuffle_encode", s) };
pub(super) static DECODE: Kernel =
    Kernel { name: "bitshuffle_decode", host: decode, role, device: |s| on_device("bitshuffle_decode", s) };

/// Tiles are independent if they consist of whole blocks.
fn role(params: &[u8; PARAM_BYTES]) -> Role {
    let block = read_params::<BitshuffleParams>(params).block;
    if block > 0 && TILE as u64 % block == 0 { Role::Tile } else { Role::Alone }
}

/// 128 bytes per thread, for blocks of any size.
fn on_device(entry: &'static str, shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    Some(DeviceLaunch::one(entry, tiles(shape.output(0)), TILE as u32 / 128))
}

/// True for blocks of this length and elements of this width.
pub(crate) fn is_plain(params: &[u8; PARAM_BYTES], width: u64, block: u64) -> bool {
    let p = read_params::<BitshuffleParams>(params);
    (p.width, p.block) == (width, block)
}

impl Stage for Bitshuffle {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn alignment(&self, args: &Args) -> Result<u64> {
        Ok(args.int("block_size")? as u64)
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], _: Rules) -> Result<Arc<dyn BoundStage>> {
        let launch = BitshuffleParams {
            block: args.int("block_size")? as u64,
            width: args.int("element_width")? as u64,
        };
        let unit = 1024 * launch.width;
        if launch.block % unit != 0 {
            let expected = format!("a multiple of {unit} (1024 x element_width)");
            return Err(Error::argument("bitshuffle.block_size", launch.block, expected));
        }
        Ok(Arc::new(BoundBitshuffle { input: only(inputs)?, launch }))
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
        Ok(Parsed { args, input: None, length: Length::OfOutput, metadata: vec![] })
    }

    fn versions(&self) -> &dyn Versions {
        self
    }
}

/// The stage on an edge.
struct BoundBitshuffle {
    input: EdgeType,
    launch: BitshuffleParams,
}

impl BoundStage for BoundBitshuffle {
    fn outputs(&self) -> Vec<EdgeType> {
        vec![EdgeType { dtype: DType::U8, ..self.input }]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&ENCODE, &self.launch, io.inputs, io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&DECODE, &self.launch, io.outputs, io.inputs)
    }

    fn config(&self, _: Ports<'_>) -> Result<Config> {
        let mut bytes = (self.launch.block as u32).to_le_bytes().to_vec();
        bytes.push(self.launch.width as u8);
        Ok(Config { bytes, patches: vec![] })
    }
}

/// Without a width, elements have four bytes.
impl Versions for Bitshuffle {
    fn upgrade(&self, config: &[u8]) -> Result<Vec<u8>> {
        match config.len() {
            4 => Ok([config, &[4]].concat()),
            5 => Ok(config.to_vec()),
            n => Err(no_such_config(SPEC.id, n)),
        }
    }
}

fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let [encode, _] = wide::transforms().unwrap_or(transpose::TRANSFORMS);
    run(call, encode)
}

fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let [_, decode] = wide::transforms().unwrap_or(transpose::TRANSFORMS);
    run(call, decode)
}

/// Transforms one block.
type Transform = fn(&[u8], &mut [u8]);

fn run(call: &mut HostCall<'_>, by_width: [Transform; 4]) -> Result<(), Fault> {
    let p = call.params::<BitshuffleParams>();
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
