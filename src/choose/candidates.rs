//! The pipelines that a choice is made from.

use super::sample::Sample;
use super::{Aim, Choice, Goal, Wish, lossless};
use crate::base::array::Array;
use crate::base::dtype::DType;
use crate::base::error::Result;
use crate::base::param::Args;
use crate::pipeline::Pipeline;
use crate::pipeline::presets::preset_within;
use crate::stages::lattice::FoundLattice;

/// A pipeline with its name.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) preset: &'static str,
    pub(super) pipeline: Pipeline,
    pub(super) mode: &'static str,
    /// Parameter `axes` of stage `lorenzo_quant`.
    pub(super) axes: usize,
    bound: f64,
}

/// In arrays of fewer elements any preset may be the best one.
const SMALL: u64 = 1 << 15;

impl Candidate {
    pub(super) fn preset(preset: &'static str, dtype: DType, mode: &str, bound: f64) -> Result<Candidate> {
        let known = ["abs", "noa", "rel", "prel"].into_iter().find(|known| *known == mode);
        let pipeline = preset_within(preset, dtype, mode, bound)?;
        Ok(Candidate { preset, pipeline, mode: known.unwrap_or("lossless"), axes: 0, bound })
    }

    /// Whole numbers in place of values, coded by a preset with a bound below one half.
    fn on_lattice(preset: &'static str, toml: &str, lattice: &FoundLattice) -> Result<Candidate> {
        let mut pipeline = Pipeline::from_toml(toml)?;
        pipeline.set_everywhere("formula", |args| lattice.apply(args))?;
        Ok(Candidate { preset, pipeline, mode: "lossless", axes: 0, bound: 0.0 })
    }

    /// Stage `exact` with a table of the differences of neighbors, where these are few.
    fn of_differences(dtype: DType) -> Result<Candidate> {
        let exact = Candidate::preset("exact", dtype, "lossless", 0.0)?;
        Ok(Candidate { pipeline: Pipeline::from_text("difference > exact")?, ..exact })
    }

    fn with_axes(&self, axes: usize) -> Result<Candidate> {
        let mut other = Candidate { axes, ..self.clone() };
        other.pipeline.set_everywhere("axes", |args| args.set_int("axes", axes as i64))?;
        Ok(other)
    }

    /// Bytes of a container that arrays of any length have, about: its header and the code book.
    pub(super) fn fixed_bytes(&self) -> f64 {
        match (self.preset, self.mode) {
            ("cusz", _) => 2600.0,
            ("fast", mode) if mode != "lossless" => 84.0,
            _ => 100.0,
        }
    }

    pub(super) fn is_lossless(&self) -> bool {
        self.mode == "lossless"
    }

    /// True if its sizes are computed and not measured.
    pub(super) fn is_computed(&self) -> bool {
        matches!(self.preset, "fz" | "cusz")
    }

    /// The pipeline as it is tried: with a bound in the unit of the data.
    pub(super) fn within(&self, bound: f64, wish: &Wish<'_>) -> Result<Pipeline> {
        let mut pipeline = self.with_threshold(wish)?;
        if self.mode != "lossless" {
            pipeline.set_everywhere("mode", |args| args.set_text("mode", "abs"))?;
            pipeline.set_everywhere("error_bound", |args| args.set_real("error_bound", bound))?;
        }
        Ok(pipeline)
    }

    fn with_threshold(&self, wish: &Wish<'_>) -> Result<Pipeline> {
        let mut pipeline = self.pipeline.clone();
        if self.mode != "lossless" {
            let set = |args: &mut Args| args.set_real("outlier_threshold", wish.outlier_threshold);
            pipeline.set_everywhere("outlier_threshold", set)?;
        }
        Ok(pipeline)
    }

    pub(super) fn chosen(
        self,
        wish: &Wish<'_>,
        expected_ratio: f64,
        lattice: Option<FoundLattice>,
    ) -> Result<Choice> {
        let pipeline = self.with_threshold(wish)?;
        let Candidate { preset, mode, bound, .. } = self;
        let lattice = lattice.filter(|_| mode == "lossless").map(|l| l.to_string());
        Ok(Choice { pipeline, preset, mode, bound, expected_ratio, lattice })
    }
}

/// All of them, the fastest first. Forms of a preset follow each other.
pub(super) fn all(
    array: &Array,
    sample: &Sample,
    lattice: Option<FoundLattice>,
    wish: &Wish<'_>,
) -> Result<Vec<Candidate>> {
    let dtype = array.dtype();
    let mut all = match wish.aim {
        Aim::Bound(mode, bound) => within_bound(array, mode, bound, wish.goal)?,
        _ => vec![Candidate::preset("bits", dtype, "lossless", 0.0)?],
    };
    let exact = Candidate::preset("exact", dtype, "lossless", 0.0)?;
    match (lattice, wish.goal) {
        (None, _) => all.push(exact),
        (Some(lattice), Goal::Ratio) => {
            all.extend([exact, Candidate::on_lattice("high", lattice_toml("high", dtype), &lattice)?]);
        }
        (Some(lattice), _) => {
            all.extend([Candidate::on_lattice("fast", lattice_toml("fast", dtype), &lattice)?, exact]);
        }
    }
    if lossless::has_few_differences(sample) {
        all.push(Candidate::of_differences(dtype)?);
    }
    Ok(all)
}

/// The presets with a bound, the fastest first.
fn within_bound(array: &Array, mode: &str, bound: f64, goal: Goal) -> Result<Vec<Candidate>> {
    let preset = |name| Candidate::preset(name, array.dtype(), mode, bound);
    let mut all = vec![];
    if goal == Goal::Balanced || array.elements() < SMALL {
        all.push(preset("fast")?);
        for name in ["fz", "cusz"] {
            let usual = preset(name)?;
            let rank = array.joined_dims().iter().filter(|d| **d > 1).count();
            all.push(usual.clone());
            for axes in 1..rank {
                all.push(usual.with_axes(axes)?);
            }
        }
    }
    if goal == Goal::Ratio {
        all.push(preset("high")?);
    }
    Ok(all)
}

/// The coder of levels that belongs to a preset.
fn lattice_toml(preset: &str, dtype: DType) -> &'static str {
    match (preset, dtype) {
        ("fast", DType::F32) => include_str!("../../presets/lattice/fast-f32.toml"),
        ("fast", _) => include_str!("../../presets/lattice/fast-f64.toml"),
        (_, DType::F32) => include_str!("../../presets/lattice/high-f32.toml"),
        _ => include_str!("../../presets/lattice/high-f64.toml"),
    }
}
