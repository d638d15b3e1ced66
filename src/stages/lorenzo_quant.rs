//! LorenzoQuant: differences of rounded values inside of small tiles, and the rest exactly.
#![doc = include_str!("lorenzo_quant.md")]

mod center;
mod config;
mod decode;
mod device;
mod encode;
mod grid;
mod lane;
mod params;
mod quantize;

use super::words::{
    DIM_X, DIM_Y, DIM_Z, ERROR_BOUND, FIXED_STEP, FLOAT_TYPE, IN, MODE, OUTLIER_THRESHOLD, VALUE_BASE,
    base_said, only,
};
use super::{quantizer, shape};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::extent::Flow;
use crate::kernel::{Kernel, Role, alone};
use crate::launch::{Emit, Val};
use crate::param::{Args, Kind, Param, Setting};
use crate::stage::{Config, Generation, Parsed, Ports, Rules, Spec, Stage};
use crate::tile::at;
use bytemuck::{Pod, Zeroable};
pub(crate) use device::{chained, counting, is_banded};
use params::{Params, guard_bits, refuse};
use std::mem::offset_of;

/// See the module.
pub struct LorenzoQuant;

pub(super) const SPEC: Spec = Spec {
    id: 1,
    name: "lorenzo_quant",
    about: "rounds floats to multiples of twice the error bound and keeps differences of neighbours in 1, 2 or 3 dimensions",
    inputs: IN,
    params: &[
        FLOAT_TYPE,
        ERROR_BOUND,
        MODE,
        Param {
            name: "code_type",
            kind: Kind::Choice(&["u8", "u16", "u32"]),
            default: Setting::Choice("u16"),
            unit: "",
            doc: "Type of the codes; u8 for f32 only.",
        },
        Param {
            name: "quant_radius",
            kind: Kind::Int { low: 0, high: 1 << 31 },
            default: Setting::Int(0),
            unit: "steps",
            doc: "Differences below this have codes; at most half of the range of the codes, which is what 0 stands for.",
        },
        Param {
            name: "zigzag_codes",
            kind: Kind::Flag,
            default: Setting::Flag(false),
            unit: "",
            doc: "Codes alternate in sign, so that small differences of both signs have small codes.",
        },
        Param {
            name: "outlier_capacity",
            kind: Kind::Real { low: 0.0, open: false, high: 1.0 },
            default: Setting::Real(0.2),
            unit: "fraction of the elements",
            doc: "Room of the outlier lists, 1: whatever is needed; blocking calls enlarge it when it does not suffice.",
        },
        OUTLIER_THRESHOLD,
        VALUE_BASE,
        FIXED_STEP,
        Param {
            name: "centering",
            kind: Kind::Flag,
            default: Setting::Flag(false),
            unit: "",
            doc: "Differences start from the mean of their tile, in one dimension only; means are an output of their own.",
        },
        DIM_X,
        DIM_Y,
        DIM_Z,
    ],
};

static ENCODE: Kernel =
    Kernel { name: "lorenzo_quant_encode", host: encode::encode, role: alone, device: device::encode };
static DECODE: Kernel = Kernel {
    name: "lorenzo_quant_decode",
    host: decode::decode,
    role: |_| Role::Last,
    device: device::decode,
};

/// The same with means, which come last.
static ENCODE_CENTERED: Kernel = Kernel {
    name: "lorenzo_quant_encode_centered",
    host: encode::encode,
    role: alone,
    device: device::encode_centered,
};
static DECODE_CENTERED: Kernel = Kernel {
    name: "lorenzo_quant_decode_centered",
    host: decode::decode,
    role: alone,
    device: device::decode_centered,
};

/// What only the run knows, as kernels leave it and as containers carry it.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Facts {
    /// Half of the step that the decoder takes; 0: as in the other field.
    bound: f64,
    /// Entries behind the outliers that are values bit for bit.
    exact: u64,
    /// The bound in the field of the header.
    bound_f32: f32,
    /// The value range or the largest magnitude, 0 when nothing was measured.
    base: f32,
    /// Entries of the lists that are differences.
    outliers: u32,
    pad: u32,
}

impl Facts {
    fn half_step(&self) -> f64 {
        if self.bound == 0.0 { self.bound_f32.into() } else { self.bound }
    }
}

/// Where the facts hold the number of outliers, which the files of May 2026 repeat as a port.
pub(crate) const OUTLIERS_AT: u64 = offset_of!(Facts, outliers) as u64;

/// Switches of [`Launch`].
const ZIGZAG: u32 = 1;
const STRICT: u32 = 2;
/// The port feeds another stage, and the files of May 2026 hand over its whole room then.
const WHOLE_ERRORS: u32 = 4;
const WHOLE_INDICES: u32 = 8;
/// Tiles around their means: an operand more.
const CENTERED: u32 = 16;

/// Argument block of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Launch {
    threshold: f64,
    /// Elements that are predicted.
    count: u32,
    dims: [u32; 3],
    ndim: u32,
    radius: u32,
    switches: u32,
    /// Bytes of a value and of a code.
    value: u32,
    code: u32,
    pad: u32,
}

const PORTS: &[&str] = &["codes", "outlier_errors", "outlier_indices"];
const WITH_MEANS: &[&str] = &["codes", "outlier_errors", "outlier_indices", "means"];

impl Stage for LorenzoQuant {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn outputs(&self, args: &Args) -> Result<&'static [&'static str]> {
        Ok(if args.flag("centering")? { WITH_MEANS } else { PORTS })
    }

    fn takes_short_array(&self) -> bool {
        true
    }

    fn fact_bytes(&self) -> u64 {
        size_of::<Facts>() as u64
    }

    fn exact_pairs_at(&self) -> Option<u64> {
        Some(offset_of!(Facts, exact) as u64)
    }

    fn mode(&self, args: &Args) -> Option<&'static str> {
        args.choice("mode").ok()
    }

    fn describe(&self, args: &Args, facts: &[u8]) -> Vec<(&'static str, String)> {
        // Of these a container carries what the run made of them, or nothing.
        let unsaid = ["input_type", "outlier_capacity", "outlier_threshold", "value_base", "fixed_step"];
        let said = args.iter().filter(|(p, _)| !unsaid.contains(&p.name));
        let mut all: Vec<_> = said.map(|(p, v)| (p.name, v.to_string())).collect();
        if let Some(facts) = at::<Facts>(facts, 0) {
            all.push(("resolved_bound", format!("{:?}", facts.half_step())));
            all.extend(base_said(args, facts.base));
            all.push(("outliers", facts.outliers.to_string()));
            all.push(("exact_values", facts.exact.to_string()));
        }
        all
    }

    fn bind(&self, args: &mut Args, array: &Array) -> Result<()> {
        shape::bind(SPEC.name, args, array, u32::MAX.into())
    }

    fn infer(&self, args: &Args, inputs: &[Flow], rules: Rules) -> Result<Vec<Flow>> {
        let p = Params::new(args, only(inputs)?)?;
        if rules.strict && p.mode == quantizer::ABS && p.error_bound < f64::from(f32::MIN_POSITIVE) {
            let expected = "at least 2^-126, the smallest step of the config; use stage quantizer on f64";
            return Err(refuse("error_bound", format!("{:?}", p.error_bound), expected));
        }
        let k = p.outliers(rules.strict);
        let mut flows = vec![
            Flow::fixed(p.code, p.n * p.code.bytes()),
            Flow::upto(p.value, k * p.value.bytes()),
            Flow::upto(DType::U32, k * 4),
        ];
        if p.centered {
            flows.push(Flow::fixed(p.value, center::means(p.n) * p.value.bytes()));
        }
        Ok(flows)
    }

    fn encode(&self, args: &Args, io: Ports<'_>, rules: Rules, em: &mut Emit<'_>) -> Result<()> {
        let (&[input], &[codes, errors, indices, ref means @ ..]) = (io.inputs, io.outputs) else {
            return Err(Error::Internal("lorenzo_quant has one input and three outputs or four"));
        };
        let flow = em.flow(input);
        let p = Params::new(args, flow)?;
        let bound = em.temporary(Flow::fixed(DType::U8, quantizer::FACT_BYTES));
        let padded = flow.max_bytes() > em.array_bytes;
        em.launch(&quantizer::BOUND, &p.bound_launch(rules, padded), &[input], &[bound])?;
        let mut launch = p.launch(rules.strict);
        let literal = !rules.strict && rules.generation == Generation::G2026_05;
        for (port, switch) in [(errors, WHOLE_ERRORS), (indices, WHOLE_INDICES)] {
            launch.switches |= if literal && em.feeds(port) { switch } else { 0 };
        }
        let kernel = if p.centered { &ENCODE_CENTERED } else { &ENCODE };
        em.launch(kernel, &launch, &[input, bound], &[&[codes, io.facts, errors, indices], means].concat())
    }

    fn decode(&self, args: &Args, io: Ports<'_>, em: &mut Emit<'_>) -> Result<()> {
        let input = io.inputs.first().ok_or(Error::Internal("lorenzo_quant has one input"))?;
        // In one dimension padding is decoded too, whoever wrote it.
        let p = Params::new(args, em.flow(*input))?;
        let ports = io.outputs.split_at_checked(PORTS.len());
        let (lists, means) = ports.ok_or(Error::Internal("lorenzo_quant has three outputs or four"))?;
        let kernel = if p.centered { &DECODE_CENTERED } else { &DECODE };
        em.launch(kernel, &p.launch(false), &[lists, &[io.facts], means].concat(), io.inputs)
    }

    fn config(&self, args: &Args, io: Ports<'_>, _: Rules, flow: &dyn Fn(Val) -> Flow) -> Result<Config> {
        let input = io.inputs.first().ok_or(Error::Internal("lorenzo_quant has one input"))?;
        Ok(config::write(&Params::new(args, flow(*input))?, io.facts))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        config::read(config)
    }
}
