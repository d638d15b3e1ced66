//! `--preset auto`: the choice of a pipeline for each array.

use super::Args;
use crate::failure::Failure;
use fzgm::{Aim, Array, Choice, Goal, Pipeline, Setting, Wish, choose};

/// The choice that the arguments request.
#[derive(Clone, Copy)]
pub(super) struct Auto<'a> {
    pub(super) goal: Goal,
    aim: Aim<'a>,
}

/// The values of `--preset` that request a choice.
pub(super) const WORDS: [&str; 4] = ["auto", "auto:speed", "auto:balanced", "auto:ratio"];

impl<'a> Auto<'a> {
    /// Reads the request for a choice. Returns `None` if the arguments name a pipeline, or contain options that require a named one.
    pub(super) fn of(args: &'a Args) -> Result<Option<Auto<'a>>, Failure> {
        let goal = goal(args)?;
        let named = args.preset.as_deref().filter(|preset| !WORDS.contains(preset));
        let own = args.pipeline.is_some() || args.config.is_some();
        let needs_choice = [
            (args.lossless, "--lossless"),
            (args.target_ratio.is_some(), "--target-ratio"),
            (args.target_psnr.is_some(), "--target-psnr"),
        ];
        let needs_choice = needs_choice.iter().find(|(given, _)| *given).map(|(_, option)| *option);
        if let Some(option) = needs_choice.filter(|_| named.is_some() || own) {
            let what = match named {
                Some(preset) => {
                    format!("--preset {preset} names one; remove --preset, or pass --preset auto:ratio")
                }
                None if args.pipeline.is_some() => "--pipeline specifies one; remove --pipeline".into(),
                None => "--config specifies one; remove --config".into(),
            };
            return Err(Failure::usage(format!("{option} chooses the pipeline, but {what}")));
        }
        if named.is_some() || own {
            return Ok(None);
        }
        let certain = [
            (!args.settings.is_empty(), "--set"),
            (args.slab.is_some(), "--slab"),
            (args.no_strict, "--no-strict"),
            (args.generation.is_some(), "--generation"),
        ];
        let certain = certain.iter().find(|(given, _)| *given).map(|(_, option)| *option);
        let preset = args.preset.as_ref().map(|preset| format!("--preset {preset}"));
        match (certain, preset.as_deref().or(needs_choice)) {
            (Some(option), Some(chooser)) => Err(Failure::usage(format!(
                "{chooser} chooses the pipeline, but {option} requires a named one; name a preset, such as --preset fast, or remove {option}"
            ))),
            (Some(_), None) => Ok(None),
            (None, _) => Ok(Some(Auto { goal, aim: aim(args)? })),
        }
    }

    /// The preset that checks the arguments in place of the choice. Arguments that it rejects are invalid for every choice.
    pub(super) fn stand_in(&self) -> &'static str {
        match self.aim {
            Aim::Lossless => "bits",
            Aim::Bound("rel", _) => "pfpl",
            _ => "fast",
        }
    }

    /// The error bound of that preset if the arguments specify a target instead of a bound.
    pub(super) fn stand_in_bound(&self) -> Option<f64> {
        matches!(self.aim, Aim::Ratio(_) | Aim::Psnr(_)).then_some(1e-3)
    }

    /// Chooses the pipeline for an array.
    pub(super) fn choose(
        &self,
        array: &Array,
        src: &[u8],
        threshold: f64,
        base: Option<f64>,
    ) -> Result<(Pipeline, Choice), Failure> {
        let wish = Wish { goal: self.goal, aim: self.aim, outlier_threshold: threshold };
        let choice = choose(array, src, &wish).map_err(|e| Failure::from_error(&e))?;
        let mut pipeline = choice.pipeline.clone();
        if let Some(base) = base.filter(|_| choice.mode != "lossless") {
            let set = pipeline.set_everywhere("value_base", |args| args.set_real("value_base", base));
            set.map_err(|e| Failure::from_error(&e))?;
        }
        Ok((pipeline, choice))
    }
}

fn goal(args: &Args) -> Result<Goal, Failure> {
    let name = args.preset.as_deref().and_then(|preset| preset.strip_prefix("auto:"));
    name.map_or(Ok(Goal::Balanced), |name| Goal::from_name(name).map_err(|e| Failure::from_error(&e)))
}

fn aim(args: &Args) -> Result<Aim<'_>, Failure> {
    let mode = args.mode.as_deref().unwrap_or("noa");
    match (args.lossless, args.target_ratio, args.target_psnr, args.eb) {
        (true, None, None, None) => Ok(Aim::Lossless),
        (false, Some(ratio), None, None) => Ok(Aim::Ratio(ratio)),
        (false, None, Some(psnr), None) => Ok(Aim::Psnr(psnr)),
        (false, None, None, Some(eb)) => Ok(Aim::Bound(mode, eb)),
        // The check of the stand-in reports the missing bound before this bound is used.
        (false, None, None, None) => Ok(Aim::Bound(mode, f64::NAN)),
        _ => Err(Failure::usage(
            "several of --eb, --lossless, --target-ratio, and --target-psnr are given; pass one of them",
        )),
    }
}

/// Describes the choice, such as `preset fz, axes 2, mode noa, bound 0.001`.
pub(super) fn text(choice: &Choice) -> String {
    let axes = choice.pipeline.nodes().iter().flat_map(|n| n.args().iter()).find(|(p, _)| p.name == "axes");
    let axes = match axes {
        Some((_, Setting::Int(axes))) if *axes > 0 => format!(", axes {axes}"),
        _ => String::new(),
    };
    match &choice.lattice {
        Some(lattice) => format!("preset {} on a lattice, lossless: {lattice}", choice.preset),
        None if choice.mode == "lossless" => format!("preset {}, lossless", choice.preset),
        None => format!("preset {}{axes}, mode {}, bound {:?}", choice.preset, choice.mode, choice.bound),
    }
}
