//! LorenzoQuant: differences of rounded values inside small tiles, and the rest exactly.
#![doc = include_str!("spec.md")]

mod bind;
mod center;
mod config;
mod decode;
mod device;
mod encode;
mod grid;
mod lane;
mod params;
mod quantize;
#[cfg(target_arch = "x86_64")]
mod wide;

use super::inputs::{IN, only};
use super::parameters::{
    DIM_X, DIM_Y, DIM_Z, ERROR_BOUND, FIXED_STEP, FLOAT_TYPE, MODE, OUTLIER_THRESHOLD, VALUE_BASE, base_said,
};
use super::{quantizer, shape};
use crate::base::array::Array;
use crate::base::dtype::DType;
use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::base::param::{Args, Kind, OUTLIER_CAPACITY, Param, Setting};
use crate::base::tile::at;
use crate::ir::kernel::{Kernel, Role, alone};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{BoundStage, Config, Generation, Parsed, Ports, Rules, Spec, Stage};
use crate::ir::versions::Versions;
use bind::{BoundLorenzoQuant, guard_bits};
pub(crate) use device::{counting, fused, is_banded};
use params::{LorenzoQuantMetadata, WHOLE_ERRORS, WHOLE_INDICES};
use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;

/// See the module.
pub struct LorenzoQuant;

pub(super) const SPEC: Spec = Spec {
    id: 1,
    name: "lorenzo_quant",
    about: "rounds floats to multiples of twice the error bound and keeps differences of neighbors in 1, 2 or 3 dimensions",
    accepts: DType::FLOATS,
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
            doc: "Differences below this have codes; at most half of the range of the codes; 0: half of that range.",
        },
        Param {
            name: "zigzag_codes",
            kind: Kind::Flag,
            default: Setting::Flag(true),
            unit: "",
            doc: "Codes alternate in sign, so that small differences of both signs have small codes; false where stage zigzag follows. In TOML false without the key.",
        },
        Param {
            name: OUTLIER_CAPACITY,
            kind: Kind::Real { low: 0.0, open: false, high: 1.0 },
            default: Setting::Real(0.2),
            unit: "fraction of the elements",
            doc: "Room of the outlier lists; 1: room for every case. Blocking calls enlarge it if it does not suffice.",
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
        shape::AXES,
        DIM_X,
        DIM_Y,
        DIM_Z,
    ],
};

pub(super) static ENCODE: Kernel =
    Kernel { name: "lorenzo_quant_encode", host: encode::encode, role: alone, device: device::encode };
pub(super) static DECODE: Kernel = Kernel {
    name: "lorenzo_quant_decode",
    host: decode::decode,
    role: |_| Role::TileSink,
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

impl LorenzoQuantMetadata {
    fn half_step(&self) -> f64 {
        if self.bound == 0.0 { self.bound_f32.into() } else { self.bound }
    }
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

    fn accepts_short_array(&self) -> bool {
        true
    }

    fn metadata_bytes(&self) -> u64 {
        size_of::<LorenzoQuantMetadata>() as u64
    }

    fn exact_values_at(&self) -> Option<u64> {
        Some(offset_of!(LorenzoQuantMetadata, exact) as u64)
    }

    fn mode(&self, args: &Args) -> Option<&'static str> {
        args.choice("mode").ok()
    }

    fn fit_shape(&self, args: &mut Args, array: &Array) -> Result<()> {
        shape::fit(SPEC.name, args, array, u32::MAX.into())?;
        shape::join(args)
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], rules: Rules) -> Result<Arc<dyn BoundStage>> {
        Ok(Arc::new(BoundLorenzoQuant::new(args, only(inputs)?, rules)?))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        config::read(config)
    }

    fn describe(&self, args: &Args, metadata: &[u8]) -> Vec<(&'static str, String)> {
        // A container records the values that the run resolved for these, or nothing.
        let unsaid = [
            "input_type",
            shape::AXES.name,
            OUTLIER_CAPACITY,
            "outlier_threshold",
            "value_base",
            "fixed_step",
        ];
        let said = args.iter().filter(|(p, _)| !unsaid.contains(&p.name));
        let mut all: Vec<_> = said.map(|(p, v)| (p.name, v.to_string())).collect();
        if let Some(metadata) = at::<LorenzoQuantMetadata>(metadata, 0) {
            all.push(("resolved_bound", format!("{:?}", metadata.half_step())));
            all.extend(base_said(args, metadata.base));
            all.push(("outliers", metadata.outliers.to_string()));
            all.push(("exact_values", metadata.exact.to_string()));
        }
        all
    }

    fn reencode_params(&self, args: &mut Args, _: &[u8]) -> Result<()> {
        // A reader accepts lists of any length; a container does not record how long a writer let them be.
        args.reset(OUTLIER_CAPACITY)
    }

    fn versions(&self) -> &dyn Versions {
        self
    }
}

impl BoundStage for BoundLorenzoQuant {
    fn outputs(&self) -> Vec<EdgeType> {
        let k = self.outliers();
        let mut edges = vec![
            EdgeType::fixed(self.code, self.n * self.code.bytes()),
            EdgeType::upto(self.value, k * self.value.bytes()),
            EdgeType::upto(DType::U32, k * 4),
        ];
        if self.centered {
            edges.push(EdgeType::fixed(self.value, center::means(self.n) * self.value.bytes()));
        }
        edges
    }

    fn outlier_lists(&self) -> Range<usize> {
        1..PORTS.len()
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        let (&[input], &[codes, errors, indices, ref means @ ..]) = (io.inputs, io.outputs) else {
            return Err(Error::Internal("lorenzo_quant has one input and three outputs or four"));
        };
        let bound = ctx.temporary(EdgeType::fixed(DType::U8, quantizer::METADATA_BYTES));
        let padded = self.n * self.value.bytes() > ctx.array_bytes;
        ctx.launch(&quantizer::BOUND, &self.bound_launch(padded), &[input], &[bound])?;
        let mut launch = self.launch(self.rules.strict);
        let literal = !self.rules.strict && self.rules.generation == Generation::G2026_05;
        for (port, switch) in [(errors, WHOLE_ERRORS), (indices, WHOLE_INDICES)] {
            launch.switches |= if literal && ctx.feeds(port) { switch } else { 0 };
        }
        let kernel = if self.centered { &ENCODE_CENTERED } else { &ENCODE };
        ctx.launch(
            kernel,
            &launch,
            &[input, bound],
            &[&[codes, io.metadata, errors, indices], means].concat(),
        )
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        let ports = io.outputs.split_at_checked(PORTS.len());
        let (lists, means) = ports.ok_or(Error::Internal("lorenzo_quant has three outputs or four"))?;
        let kernel = if self.centered { &DECODE_CENTERED } else { &DECODE };
        // In one dimension padding is decoded too, whoever wrote it.
        ctx.launch(kernel, &self.launch(false), &[lists, &[io.metadata], means].concat(), io.inputs)
    }

    fn config(&self, io: Ports<'_>) -> Result<Config> {
        Ok(config::write(self, io.metadata))
    }
}
