//! Chooses a pipeline for an array: compresses a sample in several ways and returns an ordinary pipeline, for plans, CUDA graphs,
//! and asynchronous calls.
//!
//! The choice depends on the values, their type and shape, and the request alone: not on the device, the threads, or the time.

mod candidates;
mod codes;
mod differences;
mod frames;
mod lossless;
mod sample;
mod target;
mod trial;

use crate::base::array::Array;
use crate::base::byte_source::Source;
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::base::nearest::unknown;
use crate::codec::DeviceSlice;
use crate::pipeline::Pipeline;
use crate::pipeline::presets::preset_within;
use crate::stages::lattice::FoundLattice;
use candidates::Candidate;
use sample::{Sample, Size};
use trial::{Trial, Tried};

/// The purpose of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The least time: preset `fast`, `pfpl` in mode rel, or `bits` without loss.
    Speed,
    /// The highest ratio among pipelines that take at most a few times as long as `fast`.
    Balanced,
    /// The highest ratio of all.
    Ratio,
}

impl Goal {
    /// Every goal with its name.
    pub const ALL: [(Goal, &'static str); 3] =
        [(Goal::Speed, "speed"), (Goal::Balanced, "balanced"), (Goal::Ratio, "ratio")];

    /// The goal of this name.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn from_name(name: &str) -> Result<Goal> {
        let found = Goal::ALL.iter().find(|(_, known)| *known == name);
        found
            .map(|(goal, _)| *goal)
            .ok_or_else(|| unknown("goal", name, "", &Goal::ALL.map(|(_, name)| name)))
    }
}

/// The requirement on restored values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim<'a> {
    /// Every bit as before.
    Lossless,
    /// Within a bound: a mode by its name and the error bound in the sense of it.
    Bound(&'a str, f64),
    /// The smallest bound with which a container has this ratio, in mode noa. The ratio is met to 5 %, or exceeded if no bound makes longer
    /// containers.
    Ratio(f64),
    /// With this peak signal-to-noise ratio in dB, in mode noa. It is met to 1 dB, or exceeded where smaller errors cost nothing.
    Psnr(f64),
}

/// A request of [`choose`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish<'a> {
    /// The purpose of the pipeline.
    pub goal: Goal,
    /// The requirement on restored values.
    pub aim: Aim<'a>,
    /// Values of this magnitude and above (fill values) are exact and outside of the value range; infinity: none.
    pub outlier_threshold: f64,
}

/// The result of [`choose`].
#[derive(Clone, Debug)]
pub struct Choice {
    /// The pipeline, with all parameters set.
    pub pipeline: Pipeline,
    /// The preset that it is made of.
    pub preset: &'static str,
    /// Its mode: `abs`, `noa`, `rel`, `prel`, or `lossless`.
    pub mode: &'static str,
    /// The error bound in the sense of the mode; 0 if it is lossless.
    pub bound: f64,
    /// Ratio of the array that the sample predicts; 0 if nothing was compressed for the choice.
    pub expected_ratio: f64,
    /// The evenly spaced levels on which the values of the sample are, in words; `None` if there are none, or the pipeline has a bound.
    pub lattice: Option<String>,
}

/// Chooses a pipeline for an array.
///
/// # Errors
/// [`Error::InvalidArgument`] for another length, a bound, a threshold, or a target outside of its range; [`Error::UnknownName`] for a
/// mode; [`Error::Unsupported`] for an aim with losses and integers.
pub fn choose(array: &Array, src: &[u8], wish: &Wish<'_>) -> Result<Choice> {
    in_default_environment(|| choose_from(array, &src, wish))
}

/// [`choose`] with memory of any kind. The call copies parts of an array in device memory to the host, for [`Aim::Ratio`] and
/// [`Aim::Psnr`] all of it, and waits for these copies.
///
/// # Errors
/// As [`choose`], and [`Error::Device`].
///
/// # Safety
/// `src` is memory of this length, and nothing changes it during the call.
#[allow(unsafe_code)]
pub unsafe fn choose_at(array: &Array, src: DeviceSlice, wish: &Wish<'_>) -> Result<Choice> {
    // SAFETY: the caller's promise.
    in_default_environment(|| unsafe { src.read(|source| choose_from(array, source, wish)) })
}

fn choose_from(array: &Array, src: &dyn Source, wish: &Wish<'_>) -> Result<Choice> {
    if src.bytes() != array.bytes() {
        let expected = format!("{}, as dims and dtype make", array.bytes());
        return Err(Error::argument("src_bytes", src.bytes(), expected));
    }
    check(array, wish)?;
    match wish.aim {
        // Nothing to compare.
        Aim::Bound("rel", bound) => without_trial("pfpl", array, ("rel", bound), wish),
        Aim::Bound(mode, bound) if wish.goal == Goal::Speed => {
            without_trial("fast", array, (mode, bound), wish)
        }
        Aim::Lossless if wish.goal == Goal::Speed => without_trial("bits", array, ("lossless", 0.0), wish),
        Aim::Lossless | Aim::Bound(..) => {
            let sample = Sample::new(array, src, wish.outlier_threshold, Size::SMALL)?;
            let lattice = sample.lattice();
            best(array, &sample, lattice, wish)
        }
        Aim::Ratio(ratio) => target::ratio(array, src, wish, ratio),
        Aim::Psnr(psnr) => target::psnr(array, src, wish, psnr),
    }
}

/// Rejects requests that no pipeline can satisfy.
fn check(array: &Array, wish: &Wish<'_>) -> Result<()> {
    let threshold = wish.outlier_threshold;
    if threshold.is_nan() || threshold <= 0.0 {
        return Err(Error::argument("outlier_threshold", threshold, "a number above 0"));
    }
    match wish.aim {
        Aim::Ratio(ratio) if !(1.0..=1e6).contains(&ratio) => {
            return Err(Error::argument("target_ratio", ratio, "a number from 1 to 1e6"));
        }
        Aim::Psnr(psnr) if !(0.0..=300.0).contains(&psnr) => {
            return Err(Error::argument("target_psnr", psnr, "a number of dB from 0 to 300"));
        }
        Aim::Lossless => return Ok(()),
        _ if !array.dtype().is_float() => {
            let what = format!(
                "only floats have an error, and the array has {}; choose a lossless pipeline",
                array.dtype()
            );
            return Err(Error::Unsupported { stage: "choice", what });
        }
        // Checks the type, the mode, and the bound.
        Aim::Bound("rel", bound) => preset_within("pfpl", array.dtype(), "rel", bound).map(drop)?,
        Aim::Bound(mode, bound) => preset_within("fast", array.dtype(), mode, bound).map(drop)?,
        Aim::Ratio(_) | Aim::Psnr(_) => {}
    }
    Ok(())
}

fn without_trial(
    name: &'static str,
    array: &Array,
    (mode, bound): (&str, f64),
    wish: &Wish<'_>,
) -> Result<Choice> {
    Candidate::preset(name, array.dtype(), mode, bound)?.chosen(wish, 0.0, None)
}

/// The candidate with the highest ratio; a later one must save 2 %. The first blocks of the sample exclude candidates.
fn best(array: &Array, sample: &Sample, lattice: Option<FoundLattice>, wish: &Wish<'_>) -> Result<Choice> {
    let trial = Trial::new(sample, array, wish);
    let mut sizes = sizes(&trial, candidates::all(array, sample, lattice, wish)?, lattice)?;
    while let Some(i) = smallest(&sizes) {
        let (bytes, candidate) = sizes.remove(i);
        if trial.accepts(&candidate)? {
            let ratio = if bytes > 0.0 { array.bytes() as f64 / bytes } else { 0.0 };
            return candidate.chosen(wish, ratio, lattice);
        }
    }
    Err(Error::Internal("no candidate compresses the sample"))
}

/// Bytes of the containers of the candidates that the first blocks of the sample do not exclude.
fn sizes(
    trial: &Trial<'_>,
    candidates: Vec<Candidate>,
    lattice: Option<FoundLattice>,
) -> Result<Vec<(f64, Candidate)>> {
    /// Largest size of a candidate for the first blocks, as a multiple of the least one. A table of all values of a lattice is long
    /// for few blocks.
    const NEAR: f64 = 1.25;
    const NEAR_WITH_TABLE: f64 = 3.0;
    /// The same for the forms of a preset, whose sizes differ less from block to block.
    const NEAR_FORM: f64 = 1.05;
    /// Blocks with a higher ratio are nearly empty: the other blocks decide between candidates with a bound.
    const EMPTY: f64 = 64.0;
    let (lossless, within): (Vec<_>, Vec<_>) = candidates.into_iter().partition(Candidate::is_lossless);
    let mut all = trial.tried(within)?;
    let few = trial.first().bytes() as f64 / EMPTY;
    let least = |all: &[Tried]| all.iter().fold(f64::INFINITY, |least, tried| least.min(tried.first));
    let is_empty = least(&all) < few;
    let [first, whole] = [trial.first(), trial.array].map(|array| array.elements() as f64);
    let bytes_of_element = if is_empty { trial.bytes_of_multiples() / whole } else { least(&all) / first };
    let bits = if all.is_empty() || lossless.is_empty() { 0.0 } else { trial.least_bits(lattice) };
    let is_near = |candidate: &Candidate| {
        // Interpolated levels have smaller differences.
        let bits = if candidate.preset == "high" { bits - 1.0 } else { bits };
        bits / 8.0 <= NEAR * bytes_of_element
    };
    all.extend(trial.tried(lossless.into_iter().filter(is_near).collect())?);
    let of_forms = ["fz", "cusz"].map(|preset| {
        let forms = all.iter().filter(|tried| tried.candidate.preset == preset);
        (preset, forms.fold(f64::INFINITY, |least, tried| least.min(tried.first)))
    });
    let is_best_form = |Tried { first, candidate, .. }: &Tried| {
        of_forms.iter().all(|(preset, least)| candidate.preset != *preset || *first <= NEAR_FORM * least)
    };
    let least = least(&all);
    all.retain(|tried| match tried.candidate.preset {
        _ if !tried.candidate.is_lossless() => is_empty || tried.first <= NEAR * least && is_best_form(tried),
        "exact" if lattice.is_some() => tried.first <= NEAR_WITH_TABLE * least.max(few),
        _ => tried.first <= NEAR * least.max(few),
    });
    let is_alone = all.len() == 1 && !is_empty;
    let mut sizes = vec![];
    for tried in all {
        let is_clear = is_alone && !tried.candidate.is_lossless();
        let bytes = if is_clear { Some(trial.extrapolated(&tried)) } else { trial.predicted(&tried)? };
        sizes.extend(bytes.map(|bytes| (bytes, tried.candidate)));
    }
    Ok(sizes)
}

/// The candidate with the shortest container.
fn smallest(all: &[(f64, Candidate)]) -> Option<usize> {
    /// Largest size of a later candidate, as a fraction of the best one before it.
    const SMALLER: f64 = 0.98;
    (0..all.len()).reduce(|best, next| if all[next].0 < SMALLER * all[best].0 { next } else { best })
}
