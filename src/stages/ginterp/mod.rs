//! GInterp: predictions by splines, level by level from a grid of anchors, and the rest exactly.
#![doc = include_str!("spec.md")]

mod bind;
mod code;
mod config;
mod decode;
mod device;
mod encode;
mod grid;
mod order;
mod params;
mod predict;
mod reference;
mod resolve;
mod steps;
#[cfg(test)]
mod tests;
mod tune;
mod value;
mod walk;

mod window;

use super::inputs::{IN, only};
use super::parameters::{
    DIM_X, DIM_Y, DIM_Z, ERROR_BOUND, FLOAT_TYPE, MODE, OUTLIER_THRESHOLD, VALUE_BASE, base_said,
};
use super::{quantizer, shape};
use crate::base::array::Array;
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::{Args, Kind, OUTLIER_CAPACITY, Param, Setting};
use crate::base::tile::at;
use crate::ir::kernel::{Kernel, alone};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{BoundStage, Config, Generation, Parsed, Ports, Rules, Spec, Stage};
use crate::ir::versions::Versions;
use bind::BoundGinterp;
use params::{GinterpMetadata, MD, NATURAL, REVERSE};
use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;

/// The stage in one of its two forms.
pub struct Ginterp {
    strict: bool,
}

/// Under the id of FZM, with bytes that have the losses of the reference.
pub static GINTERP: Ginterp = Ginterp { strict: false };

/// Under an id of its own, with a bound for every value. It is written with strict on.
pub static GINTERP_STRICT: Ginterp = Ginterp { strict: true };

const fn spec(id: u16) -> Spec {
    Spec {
        id,
        name: "ginterp",
        about: "predicts values in 1, 2 or 3 dimensions (made for 2 and 3) by splines from a coarse grid on, level by level, and keeps quantized residuals",
        accepts: DType::FLOATS,
        inputs: IN,
        params: PARAMS,
    }
}

pub(super) const SPEC: Spec = spec(22);
pub(super) const STRICT_SPEC: Spec = spec(0x8016);

const PARAMS: &[Param] = &[
    FLOAT_TYPE,
    ERROR_BOUND,
    MODE,
    Param {
        name: "code_type",
        kind: Kind::Choice(&["u8", "u16", "u32"]),
        default: Setting::Choice("u16"),
        unit: "",
        doc: "Type of the codes; u32 serves a quant_radius above 32768 and needs a coder behind it.",
    },
    Param {
        name: "quant_radius",
        kind: Kind::Int { low: 0, high: 1 << 31 },
        default: Setting::Int(0),
        unit: "steps",
        doc: "Residuals below this have codes, from 1 to twice the radius - 1, and 0 marks an exact value; 0: the radius that the value range requires, at most 127 for u8, else 32767.",
    },
    Param {
        name: OUTLIER_CAPACITY,
        kind: Kind::Real { low: 0.0, open: false, high: 1.0 },
        default: Setting::Real(0.1),
        unit: "fraction of the elements",
        doc: "Room of the outlier lists; blocking calls enlarge it if it does not suffice.",
    },
    OUTLIER_THRESHOLD,
    VALUE_BASE,
    Param {
        name: "auto_tuning",
        kind: Kind::Int { low: 0, high: 5 },
        default: Setting::Int(0),
        unit: "",
        doc: "0: fixed; 1 to 4: tuned on a sample (order of axes; spline; both for each level; these and the steps); 5: manual_alpha and manual_beta.",
    },
    Param {
        name: "manual_alpha",
        kind: Kind::Real { low: 0.0, open: false, high: 1e6 },
        default: Setting::Real(0.0),
        unit: "",
        doc: "auto_tuning 5: steps shrink by this factor per level; at least 1; 0: from the bound.",
    },
    Param {
        name: "manual_beta",
        kind: Kind::Real { low: 0.0, open: false, high: 1e6 },
        default: Setting::Real(0.0),
        unit: "",
        doc: "auto_tuning 5: steps shrink by at most this factor; at least 1; 0: 4.",
    },
    levels(
        "md_levels",
        "auto_tuning 0 and 5: levels predicted along all axes at once; a sum of 1 for the finest level, 2 for the next, 4, and so on; -1: 3, the two finest.",
    ),
    levels(
        "natural_levels",
        "auto_tuning 0 and 5: levels with the natural spline if they are in md_levels, else not-a-knot, by the same sum; -1: none.",
    ),
    levels(
        "reverse_levels",
        "auto_tuning 0 and 5: levels predicted along x first, by the same sum; -1: none.",
    ),
    DIM_X,
    DIM_Y,
    DIM_Z,
];

const fn levels(name: &'static str, doc: &'static str) -> Param {
    Param { name, kind: Kind::Int { low: -1, high: 63 }, default: Setting::Int(-1), unit: "bits", doc }
}

static RESOLVE: Kernel =
    Kernel { name: "ginterp_resolve", host: resolve::resolve, role: alone, device: device::resolve };
static ENCODE: Kernel =
    Kernel { name: "ginterp_encode", host: encode::encode, role: alone, device: device::encode };
static DECODE: Kernel =
    Kernel { name: "ginterp_decode", host: decode::decode, role: alone, device: device::decode };
static TO_LEVELS: Kernel =
    Kernel { name: "ginterp_level_order", host: order::to_levels, role: alone, device: device::to_levels };
static TO_TILES: Kernel =
    Kernel { name: "ginterp_tile_order", host: order::to_tiles, role: alone, device: device::to_tiles };

const PORTS: &[&str] = &["codes", "anchor", "outlier_vals", "outlier_idxs"];

fn describe(args: &Args, metadata: &[u8], strict: bool) -> Vec<(&'static str, String)> {
    // A container records the values that the run resolved for these, or nothing.
    let unsaid = [
        "input_type",
        "quant_radius",
        OUTLIER_CAPACITY,
        "value_base",
        "manual_alpha",
        "manual_beta",
        "md_levels",
        "natural_levels",
        "reverse_levels",
    ];
    let said = args.iter().filter(|(p, _)| !unsaid.contains(&p.name));
    let mut all: Vec<_> = said.map(|(p, v)| (p.name, v.to_string())).collect();
    let Some(metadata) = at::<GinterpMetadata>(metadata, 0) else { return all };
    let bits = |bit: u8| {
        let levels = metadata.flags.iter().enumerate().filter(|(_, f)| **f & bit != 0);
        levels.map(|(level, _)| 1u32 << level).sum::<u32>().to_string()
    };
    all.push(("quant_radius", metadata.radius.to_string()));
    all.push((
        "resolved_bound",
        format!("{:?}", if strict { metadata.step[0] / 2.0 } else { metadata.bound }),
    ));
    if !strict {
        all.extend(base_said(args, metadata.base));
    } else if metadata.low.is_finite() && metadata.high.is_finite() {
        all.push(("smallest_value", format!("{:?}", metadata.low)));
        all.push(("largest_value", format!("{:?}", metadata.high)));
    }
    all.push(("alpha", format!("{:?}", metadata.alpha)));
    all.push(("beta", format!("{:?}", metadata.beta)));
    all.push(("md_levels", bits(MD)));
    all.push(("natural_levels", bits(NATURAL)));
    all.push(("reverse_levels", bits(REVERSE)));
    let (name, count) =
        if strict { ("exact_values", metadata.exact) } else { ("outliers", metadata.outliers.into()) };
    all.push((name, count.to_string()));
    all
}

/// Sets parameters that the run has resolved, except those that tuning finds again.
fn reencode_params(args: &mut Args, metadata: &[u8]) -> Result<()> {
    args.reset(OUTLIER_CAPACITY)?;
    let Some(metadata) = at::<GinterpMetadata>(metadata, 0) else { return Ok(()) };
    args.set_int("quant_radius", metadata.radius.into())?;
    let tuning = args.int("auto_tuning")?;
    if tuning == 5 {
        // An absolute bound has a range only if alpha was resolved from it.
        if args.choice("mode")? != "abs" || metadata.low.is_infinite() {
            args.set_real("manual_alpha", metadata.alpha)?;
        }
        args.set_real("manual_beta", metadata.beta)?;
    }
    if tuning == 0 || tuning == 5 {
        for (name, bit, default) in
            [("md_levels", MD, 3), ("natural_levels", NATURAL, 0), ("reverse_levels", REVERSE, 0)]
        {
            let mask = (0..6).filter(|&level| metadata.flags[level] & bit != 0).map(|level| 1 << level).sum();
            if mask != default {
                args.set_int(name, mask)?;
            }
        }
    }
    Ok(())
}

impl Stage for Ginterp {
    fn spec(&self) -> &'static Spec {
        if self.strict { &STRICT_SPEC } else { &SPEC }
    }

    fn under(&self, rules: Rules) -> Option<&'static dyn Stage> {
        Some(if rules.strict { &GINTERP_STRICT } else { &GINTERP })
    }

    fn outputs(&self, _: &Args) -> Result<&'static [&'static str]> {
        Ok(PORTS)
    }

    fn accepts_short_array(&self) -> bool {
        true
    }

    fn exact_values_at(&self) -> Option<u64> {
        self.strict.then_some(offset_of!(GinterpMetadata, exact) as u64)
    }

    fn metadata_bytes(&self) -> u64 {
        size_of::<GinterpMetadata>() as u64
    }

    fn mode(&self, args: &Args) -> Option<&'static str> {
        args.choice("mode").ok()
    }

    fn fit_shape(&self, args: &mut Args, array: &Array) -> Result<()> {
        shape::fit(SPEC.name, args, array, u32::MAX.into())
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], rules: Rules) -> Result<Arc<dyn BoundStage>> {
        Ok(Arc::new(BoundGinterp::new(args, only(inputs)?, self.strict, rules.generation)?))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        if self.strict { config::read(config) } else { reference::read(config) }
    }

    fn describe(&self, args: &Args, metadata: &[u8]) -> Vec<(&'static str, String)> {
        describe(args, metadata, self.strict)
    }

    fn reencode_params(&self, args: &mut Args, metadata: &[u8]) -> Result<()> {
        reencode_params(args, metadata)
    }

    fn versions(&self) -> &dyn Versions {
        self
    }
}

impl Versions for Ginterp {
    fn records_capacity(&self) -> bool {
        !self.strict
    }
}

impl BoundStage for BoundGinterp {
    fn outputs(&self) -> Vec<EdgeType> {
        let k = self.outliers();
        vec![
            EdgeType::fixed(self.code, self.codes() * self.code.bytes()),
            EdgeType::fixed(self.value, self.anchors() * self.value.bytes()),
            EdgeType::upto(self.value, k * self.value.bytes()),
            EdgeType::upto(DType::U32, k * 4),
        ]
    }

    fn outlier_lists(&self) -> Range<usize> {
        2..PORTS.len()
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        let (&[input], &[codes, ref lists @ ..]) = (io.inputs, io.outputs) else {
            return Err(Error::Internal("ginterp has one input and four outputs"));
        };
        let bound = ctx.temporary(EdgeType::fixed(DType::U8, quantizer::METADATA_BYTES));
        let padded = self.n * self.value.bytes() > ctx.array_bytes;
        ctx.launch(&quantizer::BOUND, &self.bound_launch(padded), &[input], &[bound])?;
        let resolved = ctx.temporary(EdgeType::fixed(DType::U8, size_of::<GinterpMetadata>() as u64));
        ctx.launch(&RESOLVE, &self.launch(), &[input, bound], &[resolved])?;
        let by_tiles = if self.strict { codes } else { ctx.temporary(ctx.edge(codes)) };
        ctx.checks_room(by_tiles);
        let outputs = [&[by_tiles, io.metadata], lists].concat();
        ctx.launch(&ENCODE, &self.launch(), &[input, resolved], &outputs)?;
        if !self.strict {
            ctx.launch(&TO_LEVELS, &self.launch(), &[by_tiles], &[codes])?;
        }
        Ok(())
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        let &[codes, ref lists @ ..] = io.outputs else {
            return Err(Error::Internal("ginterp has four outputs"));
        };
        let mut by_tiles = codes;
        if !self.strict {
            by_tiles = ctx.temporary(ctx.edge(codes));
            ctx.launch(&TO_TILES, &self.launch(), &[codes], &[by_tiles])?;
        }
        ctx.launch(&DECODE, &self.launch(), &[&[by_tiles], lists, &[io.metadata]].concat(), io.inputs)
    }

    fn config(&self, io: Ports<'_>) -> Result<Config> {
        if self.strict {
            return Ok(config::write(self, io.metadata));
        }
        if self.generation == Generation::G2026_05 {
            let what = "with strict off this stage does not exist in files of 2026-05; use generation 2026-08, or turn strict on".into();
            return Err(Error::Unsupported { stage: SPEC.name, what });
        }
        Ok(reference::write(self, io.metadata))
    }
}
