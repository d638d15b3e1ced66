//! Difference: each element minus its predecessor.
#![doc = include_str!("spec.md")]

mod decode;
mod encode;
mod params;

use super::inputs::{IN, element, only, same_width};
use super::parameters::INPUT_TYPE;
use super::words::over_tiles;
use super::zigzag::pair;
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::{Args, Kind, Param, Setting};
use crate::base::tile::TILE;
use crate::ir::device::{DeviceLaunch, LaunchShape, tiles};
use crate::ir::kernel::{Kernel, PARAM_BYTES, Role, read_params};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{BoundStage, Config, Generation, Length, Parsed, Ports, Rules, Spec, Stage};
use crate::ir::versions::{Versions, no_such_config};
use crate::stages::params::UNIT_THREADS;
use params::{DifferenceParams, NEGABINARY, PLAIN, TAIL_BYTES, ZIGZAG};
use std::ops::Range;
use std::sync::Arc;

/// See the module.
pub struct Difference;

pub(super) const SPEC: Spec = Spec {
    id: 2,
    name: "difference",
    about: "replaces each element by its difference to the one before",
    accepts: &DType::ALL,
    inputs: IN,
    params: &[
        INPUT_TYPE,
        Param {
            name: "code",
            kind: Kind::Choice(&["plain", "negabinary", "zigzag"]),
            default: Setting::Choice("plain"),
            unit: "",
            doc: "How differences are written; negabinary and zigzag take any element by its bits and are lossless for floats too.",
        },
        Param {
            name: "chunk_size",
            kind: Kind::Int { low: 0, high: u32::MAX as i64 },
            default: Setting::Int(0),
            unit: "bytes",
            doc: "Bytes after which differences start again, a power of two of elements; 0: one run over the whole array.",
        },
    ],
};

pub(super) static ENCODE: Kernel = Kernel {
    name: "difference_encode",
    host: encode::encode,
    role,
    device: |s| over_tiles("difference_encode", s),
};
pub(super) static DECODE: Kernel =
    Kernel { name: "difference_decode", host: decode::decode, role, device: decode_on_device };

/// Tiles are independent if each starts a chunk.
fn role(params: &[u8; PARAM_BYTES]) -> Role {
    let p = read_params::<DifferenceParams>(params);
    let chunk = p.chunk * u64::from(p.width);
    if chunk > 0 && TILE as u64 % chunk == 0 { Role::Tile } else { Role::Alone }
}

/// True if differences of words of this width are in negabinary and start again every `chunk` bytes.
pub(crate) fn is_negabinary(params: &[u8; PARAM_BYTES], width: u32, chunk: u64) -> bool {
    let p = read_params::<DifferenceParams>(params);
    (p.width, p.code, p.chunk * u64::from(p.width)) == (width, NEGABINARY, chunk)
}

/// Chunks that end with tiles are sums within them; other chunks continue from tile to tile with the sum at
/// the end of each. Floats are summed one by one, a chunk or a tile of small chunks in each block.
fn decode_on_device(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<DifferenceParams>(shape.params);
    let bytes = shape.output(0);
    if p.floats != 0 {
        let chunk = p.chunk * u64::from(p.width);
        let task = if chunk == 0 { u64::MAX } else { chunk.max(TILE as u64 / chunk * chunk) };
        return Some(DeviceLaunch::one("difference_decode_floats", bytes.div_ceil(task).min(1 << 16), 128));
    }
    let entry = "difference_decode";
    if role(shape.params) == Role::Tile {
        return over_tiles(entry, shape);
    }
    let device_launch = DeviceLaunch::one("difference_decode_tails", tiles(bytes), UNIT_THREADS)
        .then("difference_decode_carry", 1, 1024)
        .then(entry, tiles(bytes), UNIT_THREADS);
    Some(device_launch.with(0, TAIL_BYTES * tiles(bytes)))
}

/// Differences of integers of `width` bytes that start again every `chunk` elements.
pub(super) fn plain(chunk: u64, width: u64) -> DifferenceParams {
    DifferenceParams { chunk, width: width as u32, floats: 0, code: PLAIN, pad: 0 }
}

impl Stage for Difference {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn mode(&self, args: &Args) -> Option<&'static str> {
        let choice = |name: &str| args.choice(name).unwrap_or_default();
        (choice("code") == "plain" && choice("input_type").starts_with('f')).then_some("unbounded")
    }

    fn alignment(&self, args: &Args) -> Result<u64> {
        Ok((args.int("chunk_size")? as u64).max(1))
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], _: Rules) -> Result<Arc<dyn BoundStage>> {
        let input = only(inputs)?;
        let element = element(args, input)?;
        same_width(SPEC.name, element, input)?;
        if element.is_float() != input.dtype.is_float() && element.is_float() {
            let accepts = "floats, when its input_type is a float";
            return Err(Error::type_mismatch(SPEC.name, IN[0], input.dtype, accepts));
        }
        let (element, code) = match args.choice("code")? {
            "plain" => (element, PLAIN),
            "negabinary" => (element.signed(), NEGABINARY),
            _ => (element.signed(), ZIGZAG),
        };
        Ok(Arc::new(BoundDifference { input, element, code, chunk_bytes: args.int("chunk_size")? as u64 }))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let &[input, output, c0, c1, c2, c3, mode] = config else {
            return Err(Error::corrupt(SPEC.name, "its config has another length"));
        };
        let mut args = Args::new(SPEC.name, SPEC.params);
        let dtype = if input == output {
            DType::from_number(input.into())
                .map_err(|_| Error::corrupt(SPEC.name, format!("there is no element type {input}")))?
        } else {
            args.set_text("code", if mode == 0 { "negabinary" } else { "zigzag" })?;
            pair(SPEC.name, input, output)?
        };
        if mode > 1 || (mode == 1 && input == output) {
            return Err(Error::corrupt(SPEC.name, format!("fusion mode {mode} does not fit its types")));
        }
        args.set_text("input_type", dtype.name())?;
        args.set_int("chunk_size", u32::from_le_bytes([c0, c1, c2, c3]).into())?;
        Ok(Parsed { args, input: Some(dtype), length: Length::OfOutput, metadata: vec![] })
    }

    fn versions(&self) -> &dyn Versions {
        self
    }
}

/// The stage on an edge.
struct BoundDifference {
    input: EdgeType,
    /// The elements that are subtracted.
    element: DType,
    /// PLAIN, NEGABINARY or ZIGZAG.
    code: u32,
    /// Bytes of a chunk; 0: no chunks.
    chunk_bytes: u64,
}

impl BoundDifference {
    fn output(&self) -> DType {
        if self.code == PLAIN { self.element } else { self.element.unsigned() }
    }

    fn launch(&self) -> DifferenceParams {
        let width = self.element.bytes();
        let float = self.element.is_float().into();
        DifferenceParams {
            chunk: self.chunk_bytes / width,
            width: width as u32,
            floats: float,
            code: self.code,
            pad: 0,
        }
    }
}

impl BoundStage for BoundDifference {
    fn outputs(&self) -> Vec<EdgeType> {
        vec![EdgeType { dtype: self.output(), ..self.input }]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        let (launch, bytes, width) = (self.launch(), self.chunk_bytes, self.element.bytes());
        if bytes > 0 && (bytes % width != 0 || !launch.chunk.is_power_of_two()) {
            let expected = format!("0, or a power of two of elements of {width} bytes");
            return Err(Error::argument("difference.chunk_size", bytes, expected));
        }
        ctx.launch(&ENCODE, &launch, io.inputs, io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&DECODE, &self.launch(), io.outputs, io.inputs)
    }

    fn config(&self, _: Ports<'_>) -> Result<Config> {
        let mut bytes = vec![self.element as u8, self.output() as u8];
        bytes.extend((self.chunk_bytes as u32).to_le_bytes());
        bytes.push(u8::from(self.code == ZIGZAG));
        Ok(Config { bytes, patches: vec![] })
    }
}

/// | 2026-05 | 2026-08 |
/// |---|---|
/// | 0, 1, 2 to 5 or 6 bytes | 6, or 7 with a fusion mode |
impl Versions for Difference {
    fn upgrade(&self, config: &[u8]) -> Result<Vec<u8>> {
        let mut c = config.to_vec();
        match c.len() {
            0 => c.extend([DType::F32 as u8, DType::F32 as u8, 0, 0, 0, 0, 0]),
            1 => c.extend([c[0], 0, 0, 0, 0, 0]),
            2..=5 => {
                c.truncate(2);
                c.resize(7, 0);
            }
            6 => c.push(0),
            7 => {}
            n => return Err(no_such_config(SPEC.id, n)),
        }
        Ok(c)
    }

    fn downgrade(&self, generation: Generation, mut config: Config) -> Result<Config> {
        match config.bytes.get(6) {
            Some(0) => config.bytes.truncate(6),
            Some(1) if generation == Generation::G2026_05 => {
                let what = "this code does not exist in files of 2026-05; use generation 2026-08".into();
                return Err(Error::Unsupported { stage: SPEC.name, what });
            }
            _ => {}
        }
        Ok(config)
    }
}

/// Which bits a NaN has that comes out of arithmetic is the machine's choice; the bytes of a container are not.
fn one_nan_f32(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(0x7fc0_0000) } else { x }
}

fn one_nan_f64(x: f64) -> f64 {
    if x.is_nan() { f64::from_bits(0x7ff8_0000_0000_0000) } else { x }
}

/// Splits `n` elements that start at element `first` of the array where a chunk starts: calls
/// `f(range, starts_a_chunk)`.
fn runs(first: usize, n: usize, chunk: usize, mut f: impl FnMut(Range<usize>, bool)) {
    let mut i = 0;
    while i < n {
        let (into, end) = match chunk {
            0 => (first + i, n),
            _ => ((first + i) % chunk, n.min(i + chunk - (first + i) % chunk)),
        };
        f(i..end, into == 0);
        i = end;
    }
}
