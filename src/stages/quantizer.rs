//! Quantizer: uniform bins of values or of their logarithms, and the rest exactly.
#![doc = include_str!("quantizer.md")]

mod bins;
mod bound;
mod config;
mod device;
mod lists;
mod params;
mod power;
mod real;
mod rel;
mod step;

use super::words::{FIXED_STEP, FLOAT_TYPE, IN, OUTLIER_THRESHOLD, base_said, only};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::extent::Flow;
use crate::kernel::{Kernel, PARAM_BYTES, Role, alone, read_params};
use crate::launch::{Emit, Val};
use crate::param::{Args, Kind, Param, Setting};
use crate::stage::{Config, Parsed, Ports, Rules, Spec, Stage};
use crate::tile::at;
use bytemuck::{Pod, Zeroable};
use params::Params;

/// The number of a mode that is one of the array, for a stage that codes values by `what`.
pub(super) fn mode_of_array(stage: &'static str, args: &Args, what: &str) -> Result<u32> {
    match args.choice("mode")? {
        "abs" => Ok(ABS),
        "noa" => Ok(NOA),
        "prel" => Ok(PREL),
        other => {
            let what = format!(
                "mode {other} bounds each value by itself, which {what} cannot; use prel (relative to max |x|), or stage quantizer, which preset pfpl begins with"
            );
            Err(Error::Unsupported { stage, what })
        }
    }
}

/// See the module.
pub struct Quantizer;

pub(super) const SPEC: Spec = Spec {
    id: 14,
    name: "quantizer",
    about: "rounds floats to bins of twice the error bound and keeps exactly what does not fit",
    inputs: IN,
    params: &[
        FLOAT_TYPE,
        Param {
            name: "error_bound",
            kind: Kind::Real { low: 0.0, open: true, high: f64::MAX },
            default: Setting::Real(1e-3),
            unit: "data units (abs) or a fraction: of the value range (noa), the value (rel), the largest magnitude (prel)",
            doc: "Largest error of a carried value.",
        },
        Param {
            name: "mode",
            kind: Kind::Choice(&["abs", "noa", "rel", "prel"]),
            default: Setting::Choice("abs"),
            unit: "",
            doc: "abs: the bound itself; noa: times (max - min); prel: times max |x|; rel: times |x|, for each value.",
        },
        Param {
            name: "code_type",
            kind: Kind::Choice(&["u16", "u32", "u64"]),
            default: Setting::Choice("u32"),
            unit: "",
            doc: "Type of the codes; u64 for f64 with in-place outliers or mode rel only.",
        },
        Param {
            name: "quant_radius",
            kind: Kind::Int { low: 0, high: 1 << 31 },
            default: Setting::Int(32768),
            unit: "bins",
            doc: "Bins on each side of zero; at most half of the range of the codes, 2^22 for f32 in place; 0: as many.",
        },
        Param {
            name: "zigzag_codes",
            kind: Kind::Flag,
            default: Setting::Flag(true),
            unit: "",
            doc: "Codes alternate in sign, so that small bins of both signs have small codes; rel has a form of its own.",
        },
        Param {
            name: "inplace_outliers",
            kind: Kind::Flag,
            default: Setting::Flag(false),
            unit: "",
            doc: "Outliers stand as raw bits among the codes; needs zigzag codes as wide as the values. Not under rel.",
        },
        Param {
            name: "outlier_capacity",
            kind: Kind::Real { low: 0.0, open: false, high: 1.0 },
            default: Setting::Real(0.05),
            unit: "fraction of the elements",
            doc: "Room of the outlier lists; blocking calls enlarge it when it does not suffice.",
        },
        OUTLIER_THRESHOLD,
        Param {
            name: "value_base",
            kind: Kind::Real { low: 0.0, open: false, high: f64::MAX },
            default: Setting::Real(0.0),
            unit: "data units",
            doc: "noa and prel: the value range or the largest magnitude, when the caller knows it; 0: measured.",
        },
        FIXED_STEP,
    ],
};

pub(super) static BOUND: Kernel =
    Kernel { name: "quantizer_bound", host: bound::resolve, role: alone, device: device::bound };
static ENCODE: Kernel = Kernel { name: "quantizer_encode", host: bins::encode, role, device: device::encode };
static DECODE: Kernel = Kernel { name: "quantizer_decode", host: bins::decode, role, device: device::decode };
static REL_BOUND: Kernel =
    Kernel { name: "quantizer_rel_bound", host: rel::resolve, role: alone, device: device::rel_bound };
static REL_ENCODE: Kernel =
    Kernel { name: "quantizer_rel_encode", host: rel::encode, role: alone, device: device::rel_encode };
static REL_DECODE: Kernel =
    Kernel { name: "quantizer_rel_decode", host: rel::decode, role: alone, device: device::rel_decode };

/// What only the run knows, as kernels leave it and as the config carries it.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Facts {
    /// The bound exactly as the decoder uses it: resolved and absolute, or for rel that of the config.
    pub(super) bound: f64,
    /// The same for the field of the header.
    pub(super) bound_f32: f32,
    /// The value range, 0 when nothing was measured.
    pub(super) base: f32,
    /// Bins on each side of zero; 0: everything is exact.
    pub(super) radius: u32,
    /// Entries of the outlier lists; only read when decoding.
    outliers: u32,
    /// What every error is compared with: the promised bound, not above it in the type of the values. Only
    /// known when encoding.
    pub(super) promise: f64,
}

/// Behind them kernels of a device keep what they make of them for tiles of f32.
pub(super) const FACT_BYTES: u64 = size_of::<Facts>() as u64 + 32;

/// Modes as the config has them.
pub(super) const ABS: u32 = 0;
const REL: u32 = 1;
pub(super) const NOA: u32 = 2;
pub(super) const PREL: u32 = 3;

/// Switches of [`Launch`].
const ZIGZAG: u32 = 1;
const IN_PLACE: u32 = 2;
pub(super) const STRICT: u32 = 4;
/// The array is followed by padding zeros that belong to the value range (not strict only).
pub(super) const PADDED: u32 = 8;

/// Argument block of the kernels of all modes but rel. The first one serves other stages too.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Launch {
    pub(super) error_bound: f64,
    pub(super) threshold: f64,
    pub(super) value_base: f64,
    pub(super) mode: u32,
    pub(super) radius: u32,
    pub(super) switches: u32,
    /// Bytes of a value and of a code.
    pub(super) value: u32,
    pub(super) code: u32,
    /// What an exact value costs in bits, by and large; see [`step`]. With 0 no bound costs less than the whole one.
    pub(super) exact_bits: u32,
}

/// Whether values of this width have codes as wide in their places.
pub(crate) fn is_in_place(params: &[u8; PARAM_BYTES], width: u32) -> bool {
    let p = read_params::<Launch>(params);
    (p.value, p.code) == (width, width) && p.switches & IN_PLACE != 0
}

/// In place, every value stands for itself.
fn role(params: &[u8; PARAM_BYTES]) -> Role {
    if read_params::<Launch>(params).switches & IN_PLACE != 0 { Role::Tile } else { Role::Alone }
}

const PORTS: &[&str] = &["codes", "outlier_vals", "outlier_idxs"];

impl Stage for Quantizer {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn outputs(&self, args: &Args) -> Result<&'static [&'static str]> {
        Ok(if params::in_place(args)? { &PORTS[..1] } else { PORTS })
    }

    fn takes_short_array(&self) -> bool {
        true
    }

    fn fact_bytes(&self) -> u64 {
        FACT_BYTES
    }

    fn mode(&self, args: &Args) -> Option<&'static str> {
        args.choice("mode").ok()
    }

    fn describe(&self, args: &Args, facts: &[u8]) -> Vec<(&'static str, String)> {
        // Of these a container carries what the run made of them, or nothing.
        let unsaid = ["input_type", "quant_radius", "outlier_capacity", "value_base", "fixed_step"];
        let said = args.iter().filter(|(p, _)| !unsaid.contains(&p.name));
        let mut all: Vec<_> = said.map(|(p, v)| (p.name, v.to_string())).collect();
        if let Some(facts) = at::<Facts>(facts, 0) {
            all.push(("resolved_bound", format!("{:?}", facts.bound)));
            all.extend(base_said(args, facts.base));
            all.push(("resolved_radius", facts.radius.to_string()));
        }
        all
    }

    fn asked(&self, args: &mut Args, facts: &[u8]) -> Result<()> {
        args.reset("outlier_capacity")?;
        let radius = at::<Facts>(facts, 0).map_or(0, |f| f.radius.into());
        // Files of others may state any.
        args.set_int("quant_radius", radius).or_else(|_| args.reset("quant_radius"))
    }

    fn infer(&self, args: &Args, inputs: &[Flow], _: Rules) -> Result<Vec<Flow>> {
        let flow = only(inputs)?;
        let p = Params::new(args, flow)?;
        let n = flow.max_bytes() / p.value.bytes();
        if flow.max_bytes() % p.value.bytes() != 0 || flow.extent.is_dynamic() {
            let accepts = "whole floats of a length that is known beforehand";
            return Err(Error::TypeMismatch { stage: SPEC.name, port: IN[0], got: flow.dtype, accepts });
        }
        if n > u64::from(u32::MAX) {
            let limit = u64::from(u32::MAX) * p.value.bytes();
            return Err(Error::TooLarge { stage: SPEC.name, needed: flow.max_bytes(), limit });
        }
        let mut flows = vec![Flow::fixed(p.code, n * p.code.bytes())];
        if !p.in_place {
            let k = p.outliers(n);
            flows.push(Flow::upto(p.value, k * p.value.bytes()));
            flows.push(Flow::upto(DType::U32, k * 4));
        }
        Ok(flows)
    }

    fn encode(&self, args: &Args, io: Ports<'_>, rules: Rules, em: &mut Emit<'_>) -> Result<()> {
        let flow = em.flow(io.inputs[0]);
        let p = Params::new(args, flow)?;
        p.check_written(rules)?;
        if p.mode == REL {
            let launch = rel::Launch::new(&p, rules, flow.max_bytes());
            em.launch(&REL_BOUND, &launch, &[], &[io.facts])?;
            return em.launch(&REL_ENCODE, &launch, io.inputs, io.outputs);
        }
        let launch = p.launch(rules, flow.max_bytes() > em.array_bytes);
        em.launch(&BOUND, &launch, io.inputs, &[io.facts])?;
        em.launch(&ENCODE, &launch, &[io.inputs[0], io.facts], io.outputs)
    }

    fn decode(&self, args: &Args, io: Ports<'_>, em: &mut Emit<'_>) -> Result<()> {
        let rules = Rules { strict: false, generation: crate::stage::Generation::G2026_08 };
        let flow = em.flow(io.inputs[0]);
        let p = Params::new(args, flow)?;
        let mut ins = io.outputs.to_vec();
        ins.push(io.facts);
        match p.mode {
            REL => em.launch(&REL_DECODE, &rel::Launch::new(&p, rules, flow.max_bytes()), &ins, io.inputs),
            _ => em.launch(&DECODE, &p.launch(rules, false), &ins, io.inputs),
        }
    }

    fn config(&self, args: &Args, io: Ports<'_>, rules: Rules, flow: &dyn Fn(Val) -> Flow) -> Result<Config> {
        let input = flow(io.inputs[0]);
        config::write(&Params::new(args, input)?, input, io, rules)
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        config::read(config)
    }
}
