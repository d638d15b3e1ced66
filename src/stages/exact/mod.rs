//! Exact: numbers of any type without loss, by differences, tables of distinct values, and entropy coding.
#![doc = include_str!("spec.md")]

mod batch;
mod choose;
mod corners;
mod decode;
mod device;
mod encode;
mod frequent;
mod integers;
mod low;
mod params;
mod predict;
mod stream;
mod table;
mod word;

use super::inputs::{IN, element, only, same_width};
use super::parameters::INPUT_TYPE;
use super::shape;
use crate::base::array::Array;
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::Args;
use crate::base::wire::{Reader, Writer};
use crate::ir::kernel::{Kernel, alone};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{BoundStage, Config, Length, Parsed, Ports, Rules, Spec, Stage};
use params::{ExactParams, FLOAT, SIGNED, UNSIGNED};
use std::sync::Arc;

/// See the module.
pub struct Exact;

/// Elements at most.
const MOST_ELEMENTS: i64 = 1 << 40;

pub(super) const SPEC: Spec = Spec {
    id: 0x8003,
    name: "exact",
    about: "codes numbers of any type without loss: differences along axes chosen by a sample, tables of few distinct values; a whole pipeline",
    accepts: &DType::ALL,
    inputs: IN,
    params: &[
        INPUT_TYPE,
        shape::dim_x(MOST_ELEMENTS),
        shape::dim_y(MOST_ELEMENTS),
        shape::dim_z(MOST_ELEMENTS),
    ],
};

static ENCODE: Kernel =
    Kernel { name: "exact_encode", host: encode::encode, role: alone, device: device::encode };
static DECODE: Kernel =
    Kernel { name: "exact_decode", host: decode::decode, role: alone, device: device::decode };

const PORTS: &[&str] = &["stream"];

/// The form of config and stream.
const FORM: u8 = 1;

/// The stage on an edge.
struct BoundExact {
    element: DType,
    dims: [u64; 3],
    /// Elements on the edge.
    n: u64,
}

impl BoundExact {
    fn new(args: &Args, edge: EdgeType) -> Result<BoundExact> {
        let element = element(args, edge)?;
        same_width(SPEC.name, element, edge)?;
        let (bytes, width) = (edge.max_bytes(), element.bytes());
        if bytes % width != 0 || edge.length.is_dynamic() {
            let accepts = "whole elements of a length that is known beforehand";
            return Err(Error::type_mismatch(SPEC.name, IN[0], edge.dtype, accepts));
        }
        let (n, most) = (bytes / width, MOST_ELEMENTS as u64);
        if n > most {
            return Err(Error::TooLarge { stage: SPEC.name, needed: bytes, limit: most * width });
        }
        // An input that is padded, or is not the array, has another length than the shape of the array. It is one row, so that no
        // element is lost.
        let dims = shape::of(SPEC.name, args, n).ok().filter(|dims| shape::product(*dims) == u128::from(n));
        Ok(BoundExact { element, dims: dims.unwrap_or([n, 1, 1]), n })
    }

    /// Bytes of the values of the shape.
    fn bytes(&self) -> u64 {
        self.dims.iter().product::<u64>() * self.element.bytes()
    }

    fn launch(&self, decodes: bool) -> ExactParams {
        let kind = match self.element {
            DType::F32 | DType::F64 => FLOAT,
            element if element == element.unsigned() => UNSIGNED,
            _ => SIGNED,
        };
        let dims = shape::ones_last(self.dims).map(|d| self.dims[d]);
        let [table_runs, runs] = device::most_runs(dims, self.element.bytes(), decodes);
        ExactParams { dims, width: self.element.bytes() as u32, kind, table_runs, runs }
    }
}

impl Stage for Exact {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn outputs(&self, _: &Args) -> Result<&'static [&'static str]> {
        Ok(PORTS)
    }

    fn fit_shape(&self, args: &mut Args, array: &Array) -> Result<()> {
        // A row of any length: the pipeline of a container may have one for an input that is not the array.
        if args.int("dim_x")? > 0 && args.int("dim_y")?.max(args.int("dim_z")?) <= 1 {
            return Ok(());
        }
        shape::fit(SPEC.name, args, array, MOST_ELEMENTS as u64)
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], _: Rules) -> Result<Arc<dyn BoundStage>> {
        Ok(Arc::new(BoundExact::new(args, only(inputs)?)?))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let corrupt = |what: String| Error::corrupt(SPEC.name, what);
        let mut r = Reader::new(SPEC.name, config);
        let [form, element, a, b] = r.array()?;
        if form != FORM {
            let what = format!("form {form} of its config; this version reads form {FORM}");
            return Err(Error::Unsupported { stage: SPEC.name, what });
        }
        let (c, n) = (r.u32()?, r.u64()?);
        let dims = [r.u64()?, r.u64()?, r.u64()?];
        if !r.rest().is_empty() || a != 0 || b != 0 || c != 0 {
            return Err(corrupt("its config has another length, or a byte that must be 0 and is not".into()));
        }
        let element = DType::from_number(element.into())
            .map_err(|_| corrupt(format!("type {element} does not exist")))?;
        let bytes =
            n.checked_mul(element.bytes()).ok_or_else(|| corrupt(format!("{n} elements are too many")))?;
        if shape::product(dims) != u128::from(n) {
            return Err(corrupt(format!("a shape of {dims:?} has not {n} elements")));
        }
        let mut args = Args::new(SPEC.name, SPEC.params);
        args.set_text("input_type", element.name())?;
        for (name, length) in ["dim_x", "dim_y", "dim_z"].into_iter().zip(dims) {
            let length = i64::try_from(length).map_err(|_| corrupt(format!("{name} is {length}")))?;
            args.set_int(name, length).map_err(|e| corrupt(e.to_string()))?;
        }
        Ok(Parsed { args, input: Some(element), length: Length::Bytes(bytes), metadata: vec![] })
    }
}

impl BoundStage for BoundExact {
    /// The values and the first word, which the encoder writes where anything else would be longer; an empty array has an
    /// empty stream.
    fn outputs(&self) -> Vec<EdgeType> {
        let values = self.bytes();
        vec![EdgeType::upto(DType::U8, if values == 0 { 0 } else { stream::HEAD as u64 + values })]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&ENCODE, &self.launch(false), io.inputs, io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&DECODE, &self.launch(true), io.outputs, io.inputs)
    }

    fn config(&self, _: Ports<'_>) -> Result<Config> {
        let mut w = Writer::default();
        w.bytes(&[FORM, self.element as u8, 0, 0]);
        w.u32(0);
        w.u64(self.n);
        self.dims.iter().for_each(|&d| w.u64(d));
        Ok(Config { bytes: w.0, patches: vec![] })
    }

    /// For each value a code of 4 bytes and a copy, and numbers of 24 bytes for each batch; an entry of 16 bytes for each long code, which
    /// has 4 bytes or more in the streams of encoders; a table, with codes.
    fn decoder_memory(&self, outputs: &[u64]) -> u64 {
        let values = self.dims.iter().product::<u64>();
        let stream = outputs.iter().sum::<u64>();
        values
            .saturating_mul(self.element.bytes() + 5)
            .saturating_add(stream.saturating_mul(6))
            .saturating_add(u64::from(params::TABLE).min(values) * (self.element.bytes() + 5))
            .saturating_add(FIXED_MEMORY)
    }
}

/// Tables of sections and buffers of threads.
const FIXED_MEMORY: u64 = 1 << 20;
