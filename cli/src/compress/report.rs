//! The report of `fzgm compress`.

use super::{Args, Files, chosen};
use crate::failure::Failure;
use crate::field::shape;
use crate::fill::text;
use crate::report::{self as reports, bits_per_value, number, optional, ratio, short, speed};
use crate::request::{self, PipelineSource};
use crate::slabs::range_down;
use fzgm::metrics::Metrics;
use fzgm::{Array, Choice, DType, Pipeline};
use serde_json::json;

/// The results of a compression.
pub(super) struct Done {
    pub(super) array: Array,
    pub(super) bytes: u64,
    pub(super) seconds: f64,
    pub(super) slabs: Option<u64>,
    /// Position of the step that was appended.
    pub(super) step: Option<u64>,
    /// True if the array is stored uncompressed, because the pipeline did not make it smaller; `None` for a slab file.
    pub(super) stored: Option<bool>,
    pub(super) absolute: Option<Absolute>,
    pub(super) verified: Option<Metrics>,
    /// The goal, and the choice for it.
    pub(super) choice: Option<(&'static str, Choice)>,
}

/// A relative bound in the unit of the data, with the figures that it was computed from.
pub(super) struct Absolute {
    bound: f64,
    mode: &'static str,
    error_bound: f64,
    range: Option<(f64, f64)>,
    /// True if `--value-base` specifies the base.
    given: bool,
    base: f64,
}

impl Absolute {
    /// `None` if the mode is neither noa nor prel, or the array has no bounded values.
    pub(super) fn of(pipeline: &Pipeline, range: Option<(f64, f64)>) -> Option<Absolute> {
        let mode = request::mode(pipeline)?;
        let error_bound = request::real(pipeline, "error_bound")?;
        let given = request::real(pipeline, "value_base").filter(|base| *base > 0.0);
        let base = match (mode, given, range) {
            ("noa" | "prel", Some(base), _) => base,
            ("noa", None, Some((low, high))) => range_down(low, high),
            ("prel", None, Some((low, high))) => high.max(-low),
            _ => return None,
        };
        Some(Absolute { bound: error_bound * base, mode, error_bound, range, given: given.is_some(), base })
    }

    fn text(&self, dtype: DType) -> String {
        let Absolute { bound, mode, error_bound, .. } = self;
        let of = match (self.range, *mode) {
            _ if self.given => format!("the given base {:?}", self.base),
            (Some((low, high)), "noa") => format!("the range {} to {}", text(dtype, low), text(dtype, high)),
            _ => format!("the largest magnitude {}", text(dtype, self.base)),
        };
        format!("bound {}: {mode} {error_bound:?} of {of}\n", significant(*bound))
    }
}

/// The value with at most six significant digits.
pub(crate) fn significant(x: f64) -> String {
    if x == 0.0 || (1e-4..1e7).contains(&x.abs()) {
        let digits = 5 - x.abs().max(1e-4).log10().floor() as i32;
        let text = format!("{x:.*}", digits.clamp(0, 9) as usize);
        return if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').into()
        } else {
            text
        };
    }
    format!("{x:.5e}")
}

pub(super) fn report(
    args: &Args,
    start: PipelineSource<'_>,
    files: &Files<'_>,
    done: &Done,
) -> Result<(), Failure> {
    let Done { array, bytes, seconds, slabs, step, stored, absolute, verified, choice } = done;
    let ratio = ratio(array.bytes(), *bytes);
    let bits = bits_per_value(*bytes, array.elements());
    let speed = speed(array.bytes(), *seconds);
    let beside = files.output.is_stream();
    if args.json {
        let (preset, pipeline) = start.names();
        let chosen = choice.as_ref().map(|(_, choice)| choice);
        let value = json!({
            "command": "compress",
            "input": files.input.to_string_lossy(),
            "output": files.output.path().to_string_lossy(),
            "dtype": array.dtype().name(),
            "dims": array.dims(),
            "preset": chosen.map(|c| c.preset).or(preset),
            "pipeline": pipeline,
            "goal": choice.as_ref().map(|(goal, _)| goal),
            "mode": chosen.map(|c| c.mode),
            "error_bound": optional(chosen.map(|c| c.bound)),
            "lattice": chosen.and_then(|c| c.lattice.as_deref()),
            "device": args.device.to_string(),
            "array_bytes": array.bytes(),
            "container_bytes": bytes,
            "ratio": number(ratio),
            "bits_per_value": optional(bits),
            "seconds": number(*seconds),
            "gb_per_s": number(speed),
            "slabs": slabs,
            "step": step,
            "stored": stored,
            "absolute_bound": optional(absolute.as_ref().map(|a| a.bound)),
            "value_min": optional(absolute.as_ref().and_then(|a| a.range).map(|r| r.0)),
            "value_max": optional(absolute.as_ref().and_then(|a| a.range).map(|r| r.1)),
            "worst_error_over_bound": optional(verified.and_then(|m| m.worst)),
        });
        return reports::print_beside(beside, &format!("{value}\n"));
    }
    let slabs = slabs.map_or(String::new(), |n| format!(" in {n} slabs"));
    let step = step.map_or(String::new(), |n| format!(", step {n}"));
    let stored = match stored {
        Some(true) if array.bytes() > 0 => {
            "stored uncompressed: the pipeline did not make the array smaller\n"
        }
        _ => "",
    };
    let bits = bits.map_or(String::new(), |bits| format!(", {} bits per value", short(bits)));
    let bound = absolute.as_ref().map_or(String::new(), |a| a.text(array.dtype()));
    let verified = verified.map_or(String::new(), |m| {
        let worst = m.worst.filter(|worst| *worst > 0.0);
        let worst =
            worst.map_or("all values are exact".into(), |w| format!("worst error / bound {}", short(w)));
        format!("verified: {worst}\n")
    });
    let chosen = choice
        .as_ref()
        .map_or(String::new(), |(goal, c)| format!("chosen for {goal}: {}\n", chosen::text(c)));
    let text = format!(
        "{}: {} of {}, {} bytes\n{}{step}: {bytes} bytes{slabs}, ratio {}{bits}, {} GB/s\n{chosen}{bound}{verified}{stored}",
        files.input.display(),
        shape(array),
        array.dtype(),
        array.bytes(),
        files.output.path().display(),
        short(ratio),
        short(speed),
    );
    reports::print_beside(beside, &text)
}
