//! `--preset auto`: the choice of a pipeline for each array.

use super::Args;
use crate::failure::Failure;
use crate::report::short;
use fzgm::{Aim, Array, Choice, DType, Goal, Pipeline, Setting, Wish, choose};

/// The choice that the arguments request.
#[derive(Clone, Copy)]
pub(super) struct Auto<'a> {
    pub(super) goal: Goal,
    /// The value of `--preset`; `auto` if it is not given.
    name: &'a str,
    /// `None`: neither a bound nor another request is given.
    aim: Option<Aim<'a>>,
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
            (Some(option), Some(chooser)) => {
                let instead = match args.lossless {
                    true => "pass --preset bits, which is lossless, without --lossless",
                    false => "name a preset, such as --preset fast",
                };
                Err(Failure::usage(format!(
                    "{chooser} chooses the pipeline, but {option} requires a named one; {instead}, or remove {option}"
                )))
            }
            (Some(_), None) => Ok(None),
            (None, _) => {
                let name = args.preset.as_deref().unwrap_or("auto");
                Ok(Some(Auto { goal, name, aim: aim(args)? }))
            }
        }
    }

    /// Rejects integers with a lossy request, and a missing request.
    pub(super) fn check(&self, dtype: DType) -> Result<(), Failure> {
        match self.aim {
            Some(Aim::Lossless) => Ok(()),
            _ if !dtype.is_float() => Err(Failure::request(format!(
                "the element type is {dtype}, and integers have no error bound; pass --lossless, without --eb, --mode, or a target"
            ))),
            None => Err(Failure::usage(format!(
                "preset {} requires an error bound or another request; add --eb, for example --mode noa --eb 1e-3, \
                 or one of --lossless, --target-ratio, and --target-psnr",
                self.name
            ))),
            Some(_) => Ok(()),
        }
    }

    /// The preset that checks the arguments in place of the choice. Arguments that it rejects are invalid for every choice.
    pub(super) fn stand_in(&self) -> &'static str {
        match self.aim {
            Some(Aim::Lossless) => "exact",
            Some(Aim::Bound("rel", _)) => "pfpl",
            _ => "fast",
        }
    }

    /// The error bound of that preset if the arguments specify a target instead of a bound.
    pub(super) fn stand_in_bound(&self) -> Option<f64> {
        matches!(self.aim, Some(Aim::Ratio(_) | Aim::Psnr(_))).then_some(1e-3)
    }

    /// Chooses the pipeline for an array.
    pub(super) fn choose(
        &self,
        array: &Array,
        src: &[u8],
        threshold: f64,
        base: Option<f64>,
    ) -> Result<(Pipeline, Choice), Failure> {
        // `check` rejected a missing request.
        let aim = self.aim.unwrap_or(Aim::Lossless);
        let wish = Wish { goal: self.goal, aim, outlier_threshold: threshold };
        let choice = choose(array, src, &wish).map_err(|e| Failure::from_error(&e))?;
        let mut pipeline = choice.pipeline.clone();
        if let Some(base) = base.filter(|_| choice.mode != "lossless") {
            let set = pipeline.set_everywhere("value_base", |args| args.set_real("value_base", base));
            set.map_err(|e| Failure::from_error(&e))?;
        }
        Ok((pipeline, choice))
    }

    /// True if [`Auto::missed`] requires the peak signal-to-noise ratio.
    pub(super) fn has_psnr(&self) -> bool {
        matches!(self.aim, Some(Aim::Psnr(_)))
    }

    /// A note if the target is missed by more than its tolerance.
    pub(super) fn missed(&self, ratio: f64, psnr: Option<f64>) -> Option<String> {
        /// Relative tolerance of ratios, and tolerance in dB.
        const TOLERANCES: (f64, f64) = (0.05, 1.0);
        let instead = "no result closer to the target was found; change the target, or specify --eb instead";
        match (self.aim, psnr) {
            (Some(Aim::Ratio(target)), _) if (ratio / target - 1.0).abs() > TOLERANCES.0 => {
                Some(format!("--target-ratio is {target}, but the ratio is {}; {instead}", short(ratio)))
            }
            (Some(Aim::Psnr(target)), Some(psnr)) if (psnr - target).abs() > TOLERANCES.1 => Some(format!(
                "--target-psnr is {target} dB, but the peak signal-to-noise ratio is {} dB; {instead}",
                short(psnr)
            )),
            _ => None,
        }
    }
}

fn goal(args: &Args) -> Result<Goal, Failure> {
    let name = args.preset.as_deref().and_then(|preset| preset.strip_prefix("auto:"));
    name.map_or(Ok(Goal::Balanced), |name| Goal::from_name(name).map_err(|e| Failure::from_error(&e)))
}

fn aim(args: &Args) -> Result<Option<Aim<'_>>, Failure> {
    let mode = args.mode.as_deref().unwrap_or("noa");
    match (args.lossless, args.target_ratio, args.target_psnr, args.eb) {
        (true, None, None, None) => Ok(Some(Aim::Lossless)),
        (false, Some(ratio), None, None) => Ok(Some(Aim::Ratio(ratio))),
        (false, None, Some(psnr), None) => Ok(Some(Aim::Psnr(psnr))),
        (false, None, None, Some(eb)) => Ok(Some(Aim::Bound(mode, eb))),
        (false, None, None, None) => Ok(None),
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
        None if choice.mode == "lossless" => {
            let is_first = choice.pipeline.nodes().first().is_some_and(|node| node.stage() == "difference");
            let after = if is_first && choice.preset == "exact" { " after stage difference" } else { "" };
            format!("preset {}{after}, lossless", choice.preset)
        }
        None => format!("preset {}{axes}, mode {}, bound {:?}", choice.preset, choice.mode, choice.bound),
    }
}
