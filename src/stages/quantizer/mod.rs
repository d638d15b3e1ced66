//! Quantizer: uniform bins of values or of their logarithms, and the rest exactly.
#![doc = include_str!("spec.md")]

mod bind;
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

use super::inputs::{IN, only};
use super::parameters::{FIXED_STEP, FLOAT_TYPE, OUTLIER_THRESHOLD, base_said};
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::{Args, Kind, OUTLIER_CAPACITY, Param, Setting};
use crate::base::tile::at;
use crate::ir::kernel::{Kernel, PARAM_BYTES, Role, alone, read_params};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{BoundStage, Config, Parsed, Ports, Rules, Spec, Stage};
use crate::ir::versions::Versions;
use bind::BoundQuantizer;
pub(super) use config::finite_f32;
pub(super) use params::{
    ABS, BoundMetadata, METADATA_BYTES, NOA, PADDED, PREL, PREVIOUS, QuantizerParams, RANGE, STRICT,
};
use params::{IN_PLACE, QuantizerRelParams, REL};
use std::ops::Range;
use std::sync::Arc;

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
    about: "rounds floats to bins of twice the error bound and stores other values exactly",
    accepts: DType::FLOATS,
    inputs: IN,
    params: &[
        FLOAT_TYPE,
        Param {
            name: "error_bound",
            kind: Kind::Real { low: 0.0, open: true, high: f64::MAX },
            default: Setting::Real(1e-3),
            unit: "data units (abs) or a fraction: of the value range (noa), the value (rel), the largest magnitude (prel)",
            doc: "Largest error of a bounded value.",
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
            doc: "Outliers are raw bits among the codes; needs zigzag codes as wide as the values. Not under rel.",
        },
        Param {
            name: OUTLIER_CAPACITY,
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
            doc: "noa and prel: the value range or the largest magnitude, if it is known in advance; 0: measured.",
        },
        FIXED_STEP,
    ],
};

pub(super) static BOUND: Kernel =
    Kernel { name: "quantizer_bound", host: bound::resolve, role: alone, device: device::bound };
pub(super) static ENCODE: Kernel =
    Kernel { name: "quantizer_encode", host: bins::encode, role, device: device::encode };
pub(super) static DECODE: Kernel =
    Kernel { name: "quantizer_decode", host: bins::decode, role, device: device::decode };
static REL_BOUND: Kernel =
    Kernel { name: "quantizer_rel_bound", host: rel::resolve, role: alone, device: device::rel_bound };
static REL_ENCODE: Kernel =
    Kernel { name: "quantizer_rel_encode", host: rel::encode, role: alone, device: device::rel_encode };
static REL_DECODE: Kernel =
    Kernel { name: "quantizer_rel_decode", host: rel::decode, role: alone, device: device::rel_decode };

/// True if values of this width are stored in the places of codes of the same width.
pub(crate) fn is_in_place(params: &[u8; PARAM_BYTES], width: u32) -> bool {
    let p = read_params::<QuantizerParams>(params);
    (p.value, p.code) == (width, width) && p.switches & IN_PLACE != 0
}

/// In place, each value is independent of the others.
fn role(params: &[u8; PARAM_BYTES]) -> Role {
    if read_params::<QuantizerParams>(params).switches & IN_PLACE != 0 { Role::Tile } else { Role::Alone }
}

const PORTS: &[&str] = &["codes", "outlier_vals", "outlier_idxs"];

impl Stage for Quantizer {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn outputs(&self, args: &Args) -> Result<&'static [&'static str]> {
        Ok(if bind::in_place(args)? { &PORTS[..1] } else { PORTS })
    }

    fn accepts_short_array(&self) -> bool {
        true
    }

    fn metadata_bytes(&self) -> u64 {
        METADATA_BYTES
    }

    fn mode(&self, args: &Args) -> Option<&'static str> {
        args.choice("mode").ok()
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], rules: Rules) -> Result<Arc<dyn BoundStage>> {
        Ok(Arc::new(BoundQuantizer::new(args, only(inputs)?, rules)?))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        config::read(config)
    }

    fn describe(&self, args: &Args, metadata: &[u8]) -> Vec<(&'static str, String)> {
        // A container records the values that the run resolved for these, or nothing.
        let unsaid = ["input_type", "quant_radius", OUTLIER_CAPACITY, "value_base", "fixed_step"];
        let said = args.iter().filter(|(p, _)| !unsaid.contains(&p.name));
        let mut all: Vec<_> = said.map(|(p, v)| (p.name, v.to_string())).collect();
        if let Some(metadata) = at::<BoundMetadata>(metadata, 0) {
            all.push(("resolved_bound", format!("{:?}", metadata.bound)));
            all.extend(base_said(args, metadata.base));
            all.push(("resolved_radius", metadata.radius.to_string()));
        }
        all
    }

    fn reencode_params(&self, args: &mut Args, metadata: &[u8]) -> Result<()> {
        // A reader accepts lists of any length; a container does not record how long a writer let them be.
        args.reset(OUTLIER_CAPACITY)?;
        let radius = at::<BoundMetadata>(metadata, 0).map_or(0, |f| f.radius.into());
        // Files of others may state any.
        args.set_int("quant_radius", radius).or_else(|_| args.reset("quant_radius")) // seed: forgotten-radius
    }

    fn versions(&self) -> &dyn Versions {
        self
    }
}

impl BoundStage for BoundQuantizer {
    fn outputs(&self) -> Vec<EdgeType> {
        let mut edges = vec![EdgeType::fixed(self.code, self.n * self.code.bytes())];
        if !self.in_place {
            let k = self.outliers();
            edges.push(EdgeType::upto(self.value, k * self.value.bytes()));
            edges.push(EdgeType::upto(DType::U32, k * 4));
        }
        edges
    }

    fn outlier_lists(&self) -> Range<usize> {
        if self.in_place { 0..0 } else { 1..PORTS.len() }
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        self.check_written()?;
        let bytes = self.n * self.value.bytes();
        if self.mode == REL {
            let launch = QuantizerRelParams::new(self, self.rules.strict);
            ctx.launch(&REL_BOUND, &launch, &[], &[io.metadata])?;
            return ctx.launch(&REL_ENCODE, &launch, io.inputs, io.outputs);
        }
        let launch = self.launch(self.rules.strict, bytes > ctx.array_bytes);
        ctx.launch(&BOUND, &launch, io.inputs, &[io.metadata])?;
        ctx.launch(&ENCODE, &launch, &[io.inputs[0], io.metadata], io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        let ins = [io.outputs, &[io.metadata]].concat();
        match self.mode {
            REL => ctx.launch(&REL_DECODE, &QuantizerRelParams::new(self, false), &ins, io.inputs),
            _ => ctx.launch(&DECODE, &self.launch(false, false), &ins, io.inputs),
        }
    }

    fn config(&self, io: Ports<'_>) -> Result<Config> {
        config::write(self, io)
    }
}
