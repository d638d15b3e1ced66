//! Lorenzo: differences of integers to their neighbors in one, two or three dimensions.
#![doc = include_str!("spec.md")]

mod grid;
mod mean;
mod params;

use super::difference;
use super::inputs::{IN, only, signed};
use super::parameters::{DIM_X, DIM_Y, DIM_Z, INPUT_TYPE};
use crate::base::array::Array;
use crate::base::dtype::DType;
use crate::base::edge_type::{ByteLength, EdgeType};
use crate::base::error::{Error, Result};
use crate::base::param::{Args, DIMS, Kind, Param, Setting};
use crate::base::wire::{Reader, Writer};
use crate::ir::device::{DeviceLaunch, LaunchShape};
use crate::ir::kernel::{Kernel, alone, read_params};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::OUT;
use crate::ir::stage::{BoundStage, Config, Generation, Length, Parsed, Ports, Rules, Spec, Stage};
use crate::ir::versions::{Versions, no_such_config};
use params::{LorenzoMeanParams, LorenzoParams};
use std::sync::Arc;

/// See the module.
pub struct Lorenzo;

pub(super) const SPEC: Spec = Spec {
    id: 12,
    name: "lorenzo",
    about: "replaces each integer by its difference to a prediction from its neighbors in 1, 2 or 3 dimensions",
    accepts: DType::INTEGERS,
    inputs: IN,
    params: &[
        INPUT_TYPE,
        Param {
            name: "block_size",
            kind: Kind::Int { low: 0, high: 1024 },
            default: Setting::Int(0),
            unit: "elements",
            doc: "Elements after which differences start again, in one dimension for any shape; 0: as the shape requires.",
        },
        Param {
            name: "order",
            kind: Kind::IntOf(&[1, 2]),
            default: Setting::Int(1),
            unit: "",
            doc: "2: differences of differences, with a block_size.",
        },
        Param {
            name: "centering",
            kind: Kind::Flag,
            default: Setting::Flag(false),
            unit: "",
            doc: "Take from each element the mean of its block, with a block_size; means are an output of their own.",
        },
        DIM_X,
        DIM_Y,
        DIM_Z,
    ],
};

const WITH_MEANS: &[&str] = &["output", "means"];

/// In one dimension differences start again after this number of elements.
const RUN: u64 = 256;

static ENCODE: Kernel =
    Kernel { name: "lorenzo_encode", host: grid::encode, role: alone, device: encode_on_device };
static DECODE: Kernel =
    Kernel { name: "lorenzo_decode", host: grid::decode, role: alone, device: decode_on_device };

/// Threads of a block of the device functions.
const THREADS: u64 = 256;

fn encode_on_device(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<LorenzoParams>(shape.params);
    let elements = shape.output(0) / u64::from(p.width);
    Some(DeviceLaunch::one("lorenzo_encode", elements.div_ceil(THREADS), THREADS as u32))
}

/// Sums along x, a warp to each row; then along y and along z, a thread to each line.
fn decode_on_device(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let p = read_params::<LorenzoParams>(shape.params);
    let [x, y, z] = p.dims.map(u64::from);
    let blocks = |threads: u64| threads.div_ceil(THREADS).min(1 << 20);
    let device_launch = DeviceLaunch::one("lorenzo_decode_x", blocks(32 * y * z), THREADS as u32);
    let device_launch = device_launch.then("lorenzo_decode_y", blocks(x * z), THREADS as u32);
    Some(if z > 1 {
        device_launch.then("lorenzo_decode_z", blocks(x * y), THREADS as u32)
    } else {
        device_launch
    })
}

/// The stage on an edge.
struct BoundLorenzo {
    input: EdgeType,
    element: DType,
    /// As the parameters have them.
    dims: [u64; 3],
    block: u64,
    order: u32,
    centered: bool,
    form: Prediction,
}

/// How the edge is predicted.
enum Prediction {
    /// One dimension: the length of a run of elements, the order of differences, and the means if runs are
    /// centered.
    Runs { run: u64, order: u32, width: u64, means: Option<LorenzoMeanParams> },
    /// Two or three dimensions, for the elements of a grid at the front of the edge.
    Box(LorenzoParams),
}

fn refuse(name: &str, got: impl ToString, expected: impl Into<String>) -> Error {
    Error::argument(format!("{}.{name}", SPEC.name), got, expected)
}

/// The shape in the parameters, with ones in place of zeros except for x.
fn dims(args: &Args) -> Result<[u64; 3]> {
    let dim = |name| -> Result<u64> { Ok(args.int(name)? as u64) };
    Ok([dim(DIMS[0])?, dim(DIMS[1])?.max(1), dim(DIMS[2])?.max(1)])
}

fn dimensions(dims: [u64; 3]) -> u8 {
    match dims {
        [_, _, z] if z > 1 => 3,
        [_, y, _] if y > 1 => 2,
        _ => 1,
    }
}

impl BoundLorenzo {
    fn new(args: &Args, input: EdgeType) -> Result<BoundLorenzo> {
        let element = signed(SPEC.name, args, input, "")?;
        let (block, order) = (args.int("block_size")? as u64, args.int("order")? as u32);
        if order == 2 && block == 0 {
            return Err(refuse("order", order, "1 without a block_size"));
        }
        let centered = args.flag("centering")?;
        if centered && block == 0 {
            return Err(refuse("centering", centered, "false without a block_size"));
        }
        let dims = dims(args)?;
        let width = element.bytes();
        let form = if block > 0 || dimensions(dims) == 1 {
            let means = centered.then_some(LorenzoMeanParams { block: block as u32, width: width as u32 });
            Prediction::Runs { run: if block > 0 { block } else { RUN }, order, width, means } // seed: lorenzo-run
        } else {
            Prediction::Box(LorenzoParams { dims: box_of(dims, width, input)?, width: width as u32 })
        };
        Ok(BoundLorenzo { input, element, dims, block, order, centered, form })
    }
}

/// The lengths of a grid of two or three dimensions that is at the front of an edge.
fn box_of(mut dims: [u64; 3], width: u64, input: EdgeType) -> Result<[u32; 3]> {
    if input.length.is_dynamic() {
        let what = "in two or three dimensions it takes a length that is known beforehand; set dim_x, dim_y and dim_z to 1 for one dimension".into();
        return Err(Error::Unsupported { stage: SPEC.name, what });
    }
    let n = input.max_bytes() / width;
    if dims[0] == 0 {
        dims[0] = n / (dims[1] * dims[2]);
    }
    if dims.iter().map(|&d| u128::from(d)).product::<u128>() > u128::from(n.min(u32::MAX.into())) {
        let (name, got) = if dims[2] > 1 { (DIMS[2], dims[2]) } else { (DIMS[1], dims[1]) };
        return Err(refuse(name, got, format!("a shape of at most {n} elements, not {dims:?}")));
    }
    Ok(dims.map(|d| d as u32))
}

impl Stage for Lorenzo {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn outputs(&self, args: &Args) -> Result<&'static [&'static str]> {
        Ok(if args.flag("centering")? { WITH_MEANS } else { OUT })
    }

    fn fit_shape(&self, args: &mut Args, array: &Array) -> Result<()> {
        if DIMS.iter().any(|name| args.int(name).is_ok_and(|d| d > 0)) {
            return Ok(());
        }
        for (name, &d) in DIMS.into_iter().zip(array.joined_dims()) {
            let d = i64::try_from(d).ok().filter(|d| *d <= i64::from(u32::MAX)).ok_or(Error::TooLarge {
                stage: SPEC.name,
                needed: array.bytes(),
                limit: u64::from(u32::MAX) * array.dtype().bytes(),
            })?;
            args.set_int(name, if array.elements() == 0 { 0 } else { d })?;
        }
        Ok(())
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], _: Rules) -> Result<Arc<dyn BoundStage>> {
        Ok(Arc::new(BoundLorenzo::new(args, only(inputs)?)?))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let mut r = Reader::new(SPEC.name, config);
        let [element, ndim, centering, order] = r.array()?;
        let (dims, block) = ([r.u32()?, r.u32()?, r.u32()?], r.u32()?);
        let refuse = |what: String| Err(Error::corrupt(SPEC.name, what));
        let element = match DType::from_number(element.into()) {
            Ok(e) if e == e.signed() && r.rest().is_empty() => e,
            _ => return refuse(format!("element type {element} is no signed integer")),
        };
        let blocks = order == 2 || centering == 1;
        if centering > 1 || ndim > 3 || !(1..=2).contains(&order) || (blocks && block == 0) || block > 1024 {
            let what = format!(
                "{ndim} dimensions, order {order}, centering {centering} and blocks of {block} elements are not possible"
            );
            return refuse(what);
        }
        let mut args = Args::new(SPEC.name, SPEC.params);
        args.set_text("input_type", element.name())?;
        args.set_int("block_size", block.into())?;
        args.set_int("order", order.into())?;
        args.set_int("centering", centering.into())?;
        for (k, (name, d)) in DIMS.into_iter().zip(dims).enumerate() {
            let used = if k == 0 || usize::from(ndim) > k { d } else { 1 };
            args.set_int(name, if k == 0 { used } else { used.max(1) }.into())?;
        }
        Ok(Parsed { args, input: Some(element), length: Length::OfOutput, metadata: vec![] })
    }

    fn versions(&self) -> &dyn Versions {
        self
    }
}

impl BoundStage for BoundLorenzo {
    fn outputs(&self) -> Vec<EdgeType> {
        let output = EdgeType { dtype: self.element, ..self.input };
        let Prediction::Runs { means: Some(launch), .. } = &self.form else { return vec![output] };
        // A whole number of elements, of which no more are in an edge than it can have.
        let bytes = mean::bytes(self.input.max_bytes(), launch);
        let known = matches!(self.input.length, ByteLength::Static(_));
        vec![
            output,
            if known { EdgeType::fixed(self.element, bytes) } else { EdgeType::upto(self.element, bytes) },
        ]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        let edge = ctx.edge(io.inputs[0]);
        match self.form {
            Prediction::Box(launch) => ctx.launch(&ENCODE, &launch, io.inputs, io.outputs),
            Prediction::Runs { run, order, width, means } => {
                let launch = difference::plain(run, width);
                let mut from = io.inputs[0];
                if let Some(means) = means {
                    from = ctx.temporary(edge);
                    ctx.launch(&mean::CENTER, &means, io.inputs, &[from, io.outputs[1]])?;
                }
                let first = if order == 2 { ctx.temporary(edge) } else { io.outputs[0] };
                ctx.launch(&difference::ENCODE, &launch, &[from], &[first])?;
                if order == 2 {
                    ctx.launch(&difference::ENCODE, &launch, &[first], &io.outputs[..1])
                } else {
                    Ok(())
                }
            }
        }
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        let edge = ctx.edge(io.inputs[0]);
        match self.form {
            Prediction::Box(launch) => ctx.launch(&DECODE, &launch, io.outputs, io.inputs),
            Prediction::Runs { run, order, width, means } => {
                let launch = difference::plain(run, width);
                let to = if means.is_some() { ctx.temporary(edge) } else { io.inputs[0] };
                let second = if order == 2 { ctx.temporary(edge) } else { to };
                ctx.launch(&difference::DECODE, &launch, &io.outputs[..1], &[second])?;
                if order == 2 {
                    ctx.launch(&difference::DECODE, &launch, &[second], &[to])?;
                }
                means.map_or(Ok(()), |means| {
                    ctx.launch(&mean::MOVE_BACK, &means, &[to, io.outputs[1]], io.inputs)
                })
            }
        }
    }

    fn config(&self, _: Ports<'_>) -> Result<Config> {
        let dims = match &self.form {
            Prediction::Box(launch) => launch.dims.map(u64::from),
            Prediction::Runs { .. } => self.dims,
        };
        let mut w = Writer::default();
        w.bytes(&[self.element as u8, dimensions(dims), self.centered.into(), self.order as u8]);
        dims.iter().for_each(|&d| w.u32(d as u32));
        w.u32(self.block as u32);
        Ok(Config { bytes: w.0, patches: vec![] })
    }
}

/// | 2026-05 | 2026-08 |
/// |---|---|
/// | 16 bytes | 16, or 20 with blocks |
impl Versions for Lorenzo {
    fn upgrade(&self, config: &[u8]) -> Result<Vec<u8>> {
        let mut c = match config.len() {
            16 => [config, &[0; 4]].concat(),
            20 => config.to_vec(),
            n => return Err(no_such_config(SPEC.id, n)),
        };
        // Without an order it is the first.
        c[3] = c[3].max(1);
        Ok(c)
    }

    fn downgrade(&self, generation: Generation, mut config: Config) -> Result<Config> {
        if config.bytes[16..] == [0; 4] {
            config.bytes.truncate(16);
            config.bytes[3] = 0;
        } else if generation == Generation::G2026_05 {
            let what = "blocks do not exist in files of 2026-05; use generation 2026-08".into();
            return Err(Error::Unsupported { stage: SPEC.name, what });
        }
        Ok(config)
    }
}
