//! Lattice: values on evenly spaced levels as whole numbers.
#![doc = include_str!("spec.md")]

mod find;
mod fit;
mod params;
mod value;

use super::inputs::{IN, floats, only};
use super::parameters::FLOAT_TYPE;
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Fault, Result};
use crate::base::param::{Args, Kind, Param, Setting};
use crate::base::tile::{TILE, loaded, store};
use crate::base::wire::{Reader, Writer};
use crate::ir::device::{DeviceLaunch, tiles};
use crate::ir::kernel::{HostCall, Kernel, alone};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{BoundStage, Config, Length, Parsed, Ports, Rules, Spec, Stage};
pub(crate) use find::{FoundLattice, find};
use params::{FORMULA_DIVIDE, FORMULA_F32, FORMULA_F64, LatticeParams};
use std::sync::Arc;
use value::LatticeValue;

/// See the module.
pub struct Lattice;

const FORMULAS: &[&str] = &["f64", "f32", "divide"];

pub(super) const SPEC: Spec = Spec {
    id: 0x8002,
    name: "lattice",
    about: "stores evenly spaced values as whole numbers, with the difference of each value from its level; lossless",
    accepts: DType::FLOATS,
    inputs: IN,
    params: &[
        FLOAT_TYPE,
        Param {
            name: "scale",
            kind: Kind::Real { low: 0.0, open: true, high: f64::MAX },
            default: Setting::Real(1.0),
            unit: "data units; 1 / data units for divide",
            doc: "Distance of two levels, or the number that levels are divided by. From 1e-300 to 1e300, for f32 from 1e-37 to 1e37.",
        },
        Param {
            name: "offset",
            kind: Kind::Real { low: -f64::MAX, open: false, high: f64::MAX },
            default: Setting::Real(0.0),
            unit: "data units",
            doc: "The value of level 0.",
        },
        Param {
            name: "formula",
            kind: Kind::Choice(FORMULAS),
            default: Setting::Choice("f64"),
            unit: "",
            doc: "How a value is computed: level * scale + offset in f64 or in f32, or divide: level / scale + offset in f64.",
        },
    ],
};

static ENCODE: Kernel = Kernel {
    name: "lattice_encode",
    host: encode,
    role: alone,
    device: |s| over("lattice_encode", s.input(0)),
};
static DECODE: Kernel = Kernel {
    name: "lattice_decode",
    host: decode,
    role: alone,
    device: |s| over("lattice_decode", s.output(0)),
};

const PORTS: &[&str] = &["levels", "rest"];

/// Threads of a block: one for each unit of 16 bytes of a quarter of a tile.
const THREADS: u32 = 256;

fn over(entry: &'static str, bytes: u64) -> Option<DeviceLaunch> {
    Some(DeviceLaunch::one(entry, tiles(bytes), THREADS))
}

impl Stage for Lattice {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn outputs(&self, _: &Args) -> Result<&'static [&'static str]> {
        Ok(PORTS)
    }

    fn accepts_short_array(&self) -> bool {
        true
    }

    fn absorbs_errors_below(&self) -> Option<f64> {
        Some(0.5)
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], _: Rules) -> Result<Arc<dyn BoundStage>> {
        let input = only(inputs)?;
        let value = floats(SPEC.name, args, input)?;
        if input.max_bytes() % value.bytes() != 0 || input.length.is_dynamic() {
            let accepts = "whole floats of a length that is known beforehand";
            return Err(Error::type_mismatch(SPEC.name, IN[0], input.dtype, accepts));
        }
        Ok(Arc::new(BoundLattice { input, launch: launch(args, value)? }))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let corrupt = |what: String| Error::corrupt(SPEC.name, what);
        let mut r = Reader::new(SPEC.name, config);
        let (form, dtype, formula, zero) = (r.u8()?, r.u8()?, r.u8()?, r.u8()?);
        let (scale, offset) = (r.f64()?, r.f64()?);
        if form != FORM {
            let what = format!("form {form} of its config; this version reads form {FORM}");
            return Err(Error::Unsupported { stage: SPEC.name, what });
        }
        if !r.rest().is_empty() || zero != 0 {
            return Err(corrupt("its config has another length, or a byte that is not 0".into()));
        }
        let value = DType::from_number(dtype.into()).ok().filter(|d| d.is_float());
        let value = value.ok_or_else(|| corrupt(format!("type {dtype} is no float")))?;
        let word = FORMULAS
            .get(usize::from(formula))
            .ok_or_else(|| corrupt(format!("there is no formula {formula}")))?;
        let mut args = Args::new(SPEC.name, SPEC.params);
        let put =
            |name: &str, set: Result<()>| set.map_err(|e| Error::corrupt(SPEC.name, format!("{name}: {e}")));
        args.set_text("formula", word)?;
        put("scale", args.set_real("scale", scale))?;
        put("offset", args.set_real("offset", offset))?;
        launch(&args, value).map_err(|e| corrupt(e.to_string()))?;
        Ok(Parsed { args, input: Some(value), length: Length::OfOutput, metadata: vec![] })
    }
}

/// The form of the config.
const FORM: u8 = 1;

/// The launch of both kernels.
fn launch(args: &Args, value: DType) -> Result<LatticeParams> {
    let formula = match args.choice("formula")? {
        "f32" => FORMULA_F32,
        "divide" => FORMULA_DIVIDE,
        _ => FORMULA_F64,
    };
    LatticeParams::new(args.real("scale")?, args.real("offset")?, formula, value)
}

impl LatticeParams {
    /// # Errors
    /// [`Error::InvalidArgument`] for numbers with which the formula has no result.
    fn new(scale: f64, offset: f64, formula: u32, value: DType) -> Result<LatticeParams> {
        let narrow = value == DType::F32 || formula == FORMULA_F32;
        let (low, high) = if narrow { (1e-37, 1e37) } else { (1e-300, 1e300) };
        if !(low..=high).contains(&scale) {
            return Err(Error::argument(
                "lattice.scale",
                scale,
                format!("a number from {low:e} to {high:e}"),
            ));
        }
        if offset.abs() > high {
            let expected = format!("a number of magnitude {high:e} at most");
            return Err(Error::argument("lattice.offset", offset, expected));
        }
        let rate = if formula == FORMULA_DIVIDE { scale } else { 1.0 / scale };
        Ok(LatticeParams { scale, offset, rate, limit: limit(value), formula, value: value.bytes() as u32 })
    }
}

/// Levels are below it: whole numbers that the type holds, and coders of floats tell apart.
fn limit(value: DType) -> f64 {
    if value == DType::F32 { 4_194_304.0 } else { 1_125_899_906_842_624.0 }
}

/// The stage on an edge.
struct BoundLattice {
    input: EdgeType,
    launch: LatticeParams,
}

impl BoundStage for BoundLattice {
    fn outputs(&self) -> Vec<EdgeType> {
        let rest = if self.launch.value == 4 { DType::U32 } else { DType::U64 };
        vec![self.input, EdgeType { dtype: rest, ..self.input }]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&ENCODE, &self.launch, io.inputs, io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&DECODE, &self.launch, io.outputs, io.inputs)
    }

    fn config(&self, _: Ports<'_>) -> Result<Config> {
        let mut w = Writer::default();
        w.u8(FORM);
        w.u8(self.input.dtype as u8);
        w.u8(self.launch.formula as u8);
        w.u8(0);
        w.f64(self.launch.scale);
        w.f64(self.launch.offset);
        Ok(Config { bytes: w.0, patches: vec![] })
    }
}

fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<LatticeParams>();
    if p.value == 4 { encode_as::<f32>(call, p) } else { encode_as::<f64>(call, p) }
}

fn encode_as<T: LatticeValue>(call: &mut HostCall<'_>, p: LatticeParams) -> Result<(), Fault> {
    let (src, levels, rest) = (call.input(0)?, call.output(0)?, call.output(1)?);
    if src.len() > levels.len() || levels.len() != rest.len() {
        return Err(Fault::BadLaunch);
    }
    call.threads.parts((levels, TILE), (rest, TILE), |first, levels, rest| {
        for (k, (levels, rest)) in levels.chunks_mut(TILE).zip(rest.chunks_mut(TILE)).enumerate() {
            let x = src.get((first + k) * TILE..).unwrap_or_default();
            let x = &x[..x.len().min(levels.len())];
            // Zeros behind an array that is shorter than its padded length.
            let padded: Vec<u8>;
            let x = if x.len() == levels.len() {
                x
            } else {
                padded = x.iter().copied().chain(std::iter::repeat(0)).take(levels.len()).collect();
                &padded
            };
            split_tile::<T>(&p, x, levels, rest);
        }
        Ok(())
    })
}

fn split_tile<T: LatticeValue>(p: &LatticeParams, x: &[u8], levels: &mut [u8], rest: &mut [u8]) {
    loaded::<T, _>(x, |x| {
        store::<T>(levels, |levels| {
            store::<T::Bits>(rest, |rest| {
                for ((x, level), rest) in x.iter().zip(levels).zip(rest) {
                    (*level, *rest) = p.split(*x);
                }
            });
        });
    });
}

fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<LatticeParams>();
    if p.value == 4 { decode_as::<f32>(call, p) } else { decode_as::<f64>(call, p) }
}

fn decode_as<T: LatticeValue>(call: &mut HostCall<'_>, p: LatticeParams) -> Result<(), Fault> {
    let (levels, rest, dst) = (call.input(0)?, call.input(1)?, call.output(0)?);
    // The array may be shorter than its padded length.
    if levels.len() < dst.len() || rest.len() < dst.len() {
        return Err(Fault::Corrupt);
    }
    call.threads.tiles(dst, TILE, |k, out| {
        let part = k * TILE..k * TILE + out.len();
        loaded::<T, _>(&levels[part.clone()], |levels| {
            loaded::<T::Bits, _>(&rest[part], |rest| {
                store::<T>(out, |out| {
                    for ((level, rest), x) in levels.iter().zip(rest).zip(out) {
                        *x = p.join(*level, *rest);
                    }
                });
            });
        });
        Ok(())
    })
}
