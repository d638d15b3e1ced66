//! Lorenzo: differences of integers to their neighbours in one, two or three dimensions.
#![doc = include_str!("lorenzo.md")]

mod grid;
mod mean;

use super::difference;
use super::words::{DIM_X, DIM_Y, DIM_Z, IN, INPUT_TYPE, OUT, only, signed};
use crate::array::Array;
use crate::device::{Recipe, Shape};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::extent::{Extent, Flow};
use crate::kernel::{Kernel, alone, read_params};
use crate::launch::{Emit, Val};
use crate::param::{Args, Kind, Param, Setting};
use crate::stage::{Config, Length, Parsed, Ports, Rules, Spec, Stage};
use crate::wire::{Reader, Writer};
use bytemuck::{Pod, Zeroable};

/// See the module.
pub struct Lorenzo;

const DIMS: [&str; 3] = ["dim_x", "dim_y", "dim_z"];

pub(super) const SPEC: Spec = Spec {
    id: 12,
    name: "lorenzo",
    about: "replaces each integer by its difference to what its neighbours in 1, 2 or 3 dimensions predict",
    inputs: IN,
    params: &[
        INPUT_TYPE,
        Param {
            name: "block_size",
            kind: Kind::Int { low: 0, high: 1024 },
            default: Setting::Int(0),
            unit: "elements",
            doc: "Start anew every so many elements, in one dimension whatever the shape; 0: as the shape has it.",
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

/// In one dimension differences start anew every so many elements.
const RUN: u64 = 256;

static ENCODE: Kernel =
    Kernel { name: "lorenzo_encode", host: grid::encode, role: alone, device: encode_on_device };
static DECODE: Kernel =
    Kernel { name: "lorenzo_decode", host: grid::decode, role: alone, device: decode_on_device };

/// Argument block of both kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Launch {
    dims: [u32; 3],
    /// Bytes of an element.
    width: u32,
}

/// Threads of a block of the device functions.
const THREADS: u64 = 256;

fn encode_on_device(shape: &Shape<'_>) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let elements = shape.output(0) / u64::from(p.width);
    Some(Recipe::one("lorenzo_encode", elements.div_ceil(THREADS), THREADS as u32))
}

/// Sums along x, a warp to each row; then along y and along z, a thread to each line.
fn decode_on_device(shape: &Shape<'_>) -> Option<Recipe> {
    let p = read_params::<Launch>(shape.params);
    let [x, y, z] = p.dims.map(u64::from);
    let blocks = |threads: u64| threads.div_ceil(THREADS).min(1 << 20);
    let recipe = Recipe::one("lorenzo_decode_x", blocks(32 * y * z), THREADS as u32);
    let recipe = recipe.then("lorenzo_decode_y", blocks(x * z), THREADS as u32);
    Some(if z > 1 { recipe.then("lorenzo_decode_z", blocks(x * y), THREADS as u32) } else { recipe })
}

/// How an edge is taken.
enum Form {
    /// One dimension: runs of so many elements, so many times over, and whether around their means.
    Runs { run: u64, order: u32, width: u64, means: Option<mean::Launch> },
    /// Two or three, over the elements of a box at the front of the edge.
    Box(Launch),
}

fn refuse(name: &str, got: impl ToString, expected: impl Into<String>) -> Error {
    Error::argument(format!("{}.{name}", SPEC.name), got, expected)
}

/// What the parameters say of the shape, ones in place of zeros but for x.
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

fn element(args: &Args, flow: Flow) -> Result<DType> {
    signed(SPEC.name, args, flow, "integers of the width of its input_type")
}

impl Form {
    fn new(args: &Args, flow: Flow) -> Result<Form> {
        let width = element(args, flow)?.bytes();
        let (block, order) = (args.int("block_size")? as u64, args.int("order")? as u32);
        if order == 2 && block == 0 {
            return Err(refuse("order", order, "1 without a block_size"));
        }
        let centered = args.flag("centering")?;
        if centered && block == 0 {
            return Err(refuse("centering", centered, "false without a block_size"));
        }
        let mut dims = dims(args)?;
        if block > 0 || dimensions(dims) == 1 {
            let means = centered.then_some(mean::Launch { block: block as u32, width: width as u32 });
            return Ok(Form::Runs { run: if block > 0 { block } else { RUN }, order, width, means });
        }
        if flow.extent.is_dynamic() {
            let what = "in two or three dimensions it takes a length that is known beforehand; set dim_x, dim_y and dim_z to 1 for one dimension".into();
            return Err(Error::Unsupported { stage: SPEC.name, what });
        }
        let n = flow.max_bytes() / width;
        if dims[0] == 0 {
            dims[0] = n / (dims[1] * dims[2]);
        }
        if dims.iter().map(|&d| u128::from(d)).product::<u128>() > u128::from(n.min(u32::MAX.into())) {
            let (name, got) = if dims[2] > 1 { (DIMS[2], dims[2]) } else { (DIMS[1], dims[1]) };
            return Err(refuse(name, got, format!("a shape of at most {n} elements, not {dims:?}")));
        }
        Ok(Form::Box(Launch { dims: dims.map(|d| d as u32), width: width as u32 }))
    }
}

impl Stage for Lorenzo {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn outputs(&self, args: &Args) -> Result<&'static [&'static str]> {
        Ok(if args.flag("centering")? { WITH_MEANS } else { OUT })
    }

    fn bind(&self, args: &mut Args, array: &Array) -> Result<()> {
        if DIMS.iter().any(|name| args.int(name).is_ok_and(|d| d > 0)) {
            return Ok(());
        }
        for (name, &d) in DIMS.into_iter().zip(array.dims()) {
            let d = i64::try_from(d).ok().filter(|d| *d <= i64::from(u32::MAX)).ok_or(Error::TooLarge {
                stage: SPEC.name,
                needed: array.bytes(),
                limit: u64::from(u32::MAX) * array.dtype().bytes(),
            })?;
            args.set_int(name, if array.elements() == 0 { 0 } else { d })?;
        }
        Ok(())
    }

    fn infer(&self, args: &Args, inputs: &[Flow], _: Rules) -> Result<Vec<Flow>> {
        let flow = only(inputs)?;
        let output = Flow { dtype: element(args, flow)?, ..flow };
        let Form::Runs { means: Some(launch), .. } = Form::new(args, flow)? else { return Ok(vec![output]) };
        // A whole number of elements, of which no more are in an edge than it can have.
        let bytes = mean::bytes(flow.max_bytes(), &launch);
        let known = matches!(flow.extent, Extent::Static(_));
        Ok(vec![
            output,
            if known { Flow::fixed(output.dtype, bytes) } else { Flow::upto(output.dtype, bytes) },
        ])
    }

    fn encode(&self, args: &Args, io: Ports<'_>, _: Rules, em: &mut Emit<'_>) -> Result<()> {
        let flow = em.flow(io.inputs[0]);
        match Form::new(args, flow)? {
            Form::Box(launch) => em.launch(&ENCODE, &launch, io.inputs, io.outputs),
            Form::Runs { run, order, width, means } => {
                let launch = difference::plain(run, width);
                let mut from = io.inputs[0];
                if let Some(means) = means {
                    from = em.temporary(flow);
                    em.launch(&mean::CENTER, &means, io.inputs, &[from, io.outputs[1]])?;
                }
                let first = if order == 2 { em.temporary(flow) } else { io.outputs[0] };
                em.launch(&difference::ENCODE, &launch, &[from], &[first])?;
                if order == 2 {
                    em.launch(&difference::ENCODE, &launch, &[first], &io.outputs[..1])
                } else {
                    Ok(())
                }
            }
        }
    }

    fn decode(&self, args: &Args, io: Ports<'_>, em: &mut Emit<'_>) -> Result<()> {
        let flow = em.flow(io.inputs[0]);
        match Form::new(args, flow)? {
            Form::Box(launch) => em.launch(&DECODE, &launch, io.outputs, io.inputs),
            Form::Runs { run, order, width, means } => {
                let launch = difference::plain(run, width);
                let to = if means.is_some() { em.temporary(flow) } else { io.inputs[0] };
                let second = if order == 2 { em.temporary(flow) } else { to };
                em.launch(&difference::DECODE, &launch, &io.outputs[..1], &[second])?;
                if order == 2 {
                    em.launch(&difference::DECODE, &launch, &[second], &[to])?;
                }
                means.map_or(Ok(()), |means| {
                    em.launch(&mean::MOVE_BACK, &means, &[to, io.outputs[1]], io.inputs)
                })
            }
        }
    }

    fn config(&self, args: &Args, io: Ports<'_>, _: Rules, flow: &dyn Fn(Val) -> Flow) -> Result<Config> {
        let flow = flow(io.inputs[0]);
        let element = element(args, flow)?;
        let mut dims = dims(args)?;
        if let Form::Box(launch) = Form::new(args, flow)? {
            dims = launch.dims.map(u64::from);
        }
        let mut w = Writer::default();
        w.bytes(&[element as u8, dimensions(dims), args.flag("centering")?.into(), args.int("order")? as u8]);
        dims.iter().for_each(|&d| w.u32(d as u32));
        w.u32(args.int("block_size")? as u32);
        Ok(Config { bytes: w.0, patches: vec![] })
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
        Ok(Parsed { args, input: Some(element), length: Length::OfOutput, facts: vec![] })
    }
}
