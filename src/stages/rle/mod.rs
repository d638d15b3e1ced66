//! RLE: runs of equal integers as value and length.
#![doc = include_str!("spec.md")]

mod params;
mod runs;

use super::inputs::{IN, element, only, same_width};
use super::parameters::INPUT_TYPE;
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::{Args, Kind, Param, Setting};
use crate::base::wire::{Reader, Writer};
use crate::ir::device::{DeviceLaunch, LaunchShape, tiles};
use crate::ir::kernel::{Kernel, alone, read_params};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{
    BoundStage, Config, Generation, Length, Parsed, Patch, Ports, Rules, RuntimeField, Spec, Stage,
};
use crate::ir::versions::{Versions, no_such_config};
use params::{RUNS_BYTES, RleParams, TILE_ENTRY_BYTES, TILE_RUNS};
use std::sync::Arc;

/// See the module.
pub struct Rle;

pub(super) const SPEC: Spec = Spec {
    id: 5,
    name: "rle",
    about: "keeps each run of equal integers as its value and its length",
    accepts: DType::INTEGERS,
    inputs: IN,
    params: &[
        INPUT_TYPE,
        Param {
            name: "chunk_size",
            kind: Kind::Int { low: 0, high: u32::MAX as i64 },
            default: Setting::Int(0),
            unit: "bytes",
            doc: "Runs also end where a chunk of this number of bytes begins; 0: only at other values.",
        },
    ],
};

static ENCODE: Kernel =
    Kernel { name: "rle_encode", host: runs::encode, role: alone, device: encode_on_device };
static DECODE: Kernel =
    Kernel { name: "rle_decode", host: runs::decode, role: alone, device: decode_on_device };

/// Threads of a block of the device functions, which has a tile of elements or of runs.
const THREADS: u32 = 256;

/// How many runs begin in each tile, where they go, and the runs themselves.
fn encode_on_device(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let tiles = tiles(shape.input(0)).max(1);
    let device_launch =
        DeviceLaunch::one("rle_encode_count", tiles, THREADS).then("rle_encode_place", 1, 1024);
    Some(
        device_launch.then("rle_encode_write", tiles, THREADS).with(0, RUNS_BYTES + TILE_ENTRY_BYTES * tiles),
    )
}

/// How many elements the runs of each tile have, where those go, where each run ends, and the elements.
fn decode_on_device(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<RleParams>(shape.params);
    let most = shape.output(0) / p.width;
    let tiles_of_runs = most.div_ceil(TILE_RUNS.into()).max(1);
    let device_launch = DeviceLaunch::one("rle_decode_sums", tiles_of_runs, THREADS)
        .then("rle_decode_place", 1, 1024)
        .then("rle_decode_ends", tiles_of_runs, THREADS)
        .then("rle_decode_fill", tiles(shape.output(0)), THREADS);
    // How many runs are to be believed, elements before each tile, and the end of each run.
    Some(device_launch.with(0, RUNS_BYTES + (8 + 4 * u64::from(TILE_RUNS)) * tiles_of_runs))
}

/// Bytes before the values: the number of runs, or that of the chunks and where the runs of each begin.
fn header_bytes(p: &RleParams, n: u64) -> u64 {
    let header = if p.chunk == 0 { 4 } else { 8 + 4 * n.div_ceil(p.chunk) };
    if p.width == 8 { header.next_multiple_of(8) } else { header }
}

impl Stage for Rle {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn alignment(&self, args: &Args) -> Result<u64> {
        Ok((args.int("chunk_size")? as u64).max(1))
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], _: Rules) -> Result<Arc<dyn BoundStage>> {
        let input = only(inputs)?;
        let element = element(args, input)?;
        same_width(SPEC.name, element, input)?;
        let width = element.bytes();
        let whole = input.length.is_dynamic() || input.max_bytes() % width == 0;
        if element.is_float() || input.dtype.is_float() || !whole {
            let accepts = format!("whole integers of {width} bytes, the width of its input_type {element}");
            return Err(Error::type_mismatch(SPEC.name, IN[0], input.dtype, accepts));
        }
        let chunk_bytes = args.int("chunk_size")? as u64;
        if chunk_bytes > 0 && chunk_bytes < width {
            let expected = format!("0, or at least the {width} bytes of an element");
            return Err(Error::argument("rle.chunk_size", chunk_bytes, expected));
        }
        let n = input.max_bytes() / width;
        if n > u64::from(u32::MAX) {
            let limit = u64::from(u32::MAX) * width;
            return Err(Error::TooLarge { stage: SPEC.name, needed: input.max_bytes(), limit });
        }
        Ok(Arc::new(BoundRle { n, element, chunk_bytes }))
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
        Ok(Parsed { args, input: Some(element), length, metadata: vec![] })
    }

    fn versions(&self) -> &dyn Versions {
        self
    }
}

/// The stage on an edge.
struct BoundRle {
    /// Most elements.
    n: u64,
    element: DType,
    /// Bytes of a chunk; 0: no chunks.
    chunk_bytes: u64,
}

impl BoundRle {
    fn launch(&self) -> RleParams {
        let width = self.element.bytes();
        RleParams { chunk: self.chunk_bytes / width, width }
    }
}

impl BoundStage for BoundRle {
    fn outputs(&self) -> Vec<EdgeType> {
        let (n, width) = (self.n, self.element.bytes());
        // No run is empty: there are at most as many as elements.
        vec![EdgeType::upto(
            DType::U8,
            header_bytes(&self.launch(), n) + (n * width).next_multiple_of(4) + 4 * n,
        )]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&ENCODE, &self.launch(), io.inputs, io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&DECODE, &self.launch(), io.outputs, io.inputs)
    }

    fn config(&self, io: Ports<'_>) -> Result<Config> {
        let mut w = Writer::default();
        w.u8(self.element as u8);
        w.u32(0);
        w.u32(self.chunk_bytes as u32);
        let runtime_field = RuntimeField::Count { of: io.inputs[0], unit: self.element.bytes() };
        Ok(Config { bytes: w.0, patches: vec![Patch { at: 1, width: 4, runtime_field }] })
    }
}

/// | 2026-05 | 2026-08 |
/// |---|---|
/// | 5 bytes | 5, or 9 with chunks |
impl Versions for Rle {
    fn upgrade(&self, config: &[u8]) -> Result<Vec<u8>> {
        match config.len() {
            5 => Ok([config, &[0; 4]].concat()),
            9 => Ok(config.to_vec()),
            n => Err(no_such_config(SPEC.id, n)),
        }
    }

    fn downgrade(&self, generation: Generation, mut config: Config) -> Result<Config> {
        if config.bytes[5..] == [0; 4] {
            config.bytes.truncate(5);
        } else if generation == Generation::G2026_05 {
            let what = "chunks do not exist in files of 2026-05; use generation 2026-08".into();
            return Err(Error::Unsupported { stage: SPEC.name, what });
        }
        Ok(config)
    }

    /// The type of the values, which the config begins with.
    fn recorded_type(&self, _: Rules, dtype: DType, config: &Config) -> u8 {
        config.bytes.first().copied().unwrap_or(dtype as u8)
    }
}
