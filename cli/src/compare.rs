//! `fzgm compare`: measures the errors of a restored array, and checks them against a bound.

mod side;

use crate::failure::Failure;
use crate::field::Field;
use crate::fill::{Declared, FillArgs, text};
use crate::input;
use crate::named;
use crate::report::{self, bits_per_value, number, optional};
use fzgm::metrics::{Bound, Metrics, SuspectedFill, ValueScan};
use fzgm::{DType, Info};
use serde_json::json;
use side::Side;
use std::path::PathBuf;

pub(crate) const EXACTNESS: &str = "\
Differences are evaluated exactly, as unevaluated sums of two f64. The bounds noa, rel, and prel are products
in f64, rounded toward zero. Values that are NaN, infinite, or not below --outlier-threshold must be equal bit
for bit and are excluded from all other figures. Exit code 1: a value violates the bound, or an exact value differs.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  fzgm compare t.npy t.npy.fzm
  fzgm compare t.f32 t.fzm
  fzgm compare t.f32 restored.f32 --dtype f32 --mode abs --eb 0.01";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Original array: a raw file, a .npy file, a container, or a slab file
    #[arg(value_name = "A", value_parser = input::path())]
    original: PathBuf,
    /// Restored array: a file of one of these formats; a container states type, shape, and bound
    #[arg(value_name = "B", value_parser = input::path())]
    restored: PathBuf,
    #[command(flatten)]
    field: Field,
    /// Unit of --eb: abs (the data), noa (max - min), prel (max |x|), rel (|x| of each value) [default: the unit of the container]
    #[arg(long, requires = "eb", value_parser = named::text(named::modes), hide_possible_values = true)]
    mode: Option<String>,
    /// Error bound; 0: all values must be equal [default: the bound of the container]
    #[arg(long, alias = "error-bound", value_name = "BOUND", requires = "mode", allow_negative_numbers = true, value_parser = input::real)]
    eb: Option<f64>,
    #[command(flatten)]
    fill: FillArgs,
    /// Values of this magnitude and above must be exact [default: the threshold of the container]
    #[arg(long, value_name = "V", allow_negative_numbers = true, value_parser = input::real)]
    outlier_threshold: Option<f64>,
    /// Container whose size determines ratio and bits per value, if B is not a container
    #[arg(long, value_name = "FILE", value_parser = input::path())]
    compressed: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The bound that B is checked against, and the values that must be exact.
struct Criteria {
    mode: Option<String>,
    eb: Option<f64>,
    bound: Option<Bound>,
    /// Values of this magnitude and above must be exact.
    threshold: f64,
    /// Suspected fill values, which do not count in the value range.
    suspects: Vec<SuspectedFill>,
}

impl Criteria {
    /// True if the bound depends on the values of A. Suspected fill values must then be exact, because `fzgm compress` rejects
    /// them if they are not declared. With any other bound, it accepts them, and the bound holds for them.
    fn relative(&self) -> bool {
        matches!(self.bound, Some(Bound::Noa(_) | Bound::Prel(_)))
    }

    fn measure(&self, a: &Side, b: &Side) -> Result<Metrics, Failure> {
        let compare = |threshold| {
            fzgm::metrics::compare(a.array.dtype(), &a.bytes, &b.bytes, self.bound, threshold)
                .map_err(|e| Failure::from_error(&e))
        };
        let Some(last) = self.suspects.last() else { return compare(self.threshold) };
        let others = compare(last.threshold)?;
        if self.relative() {
            return Ok(others);
        }
        let Metrics { min, max, range, rmse, nrmse, psnr, .. } = others;
        Ok(Metrics { min, max, range, rmse, nrmse, psnr, ..compare(self.threshold)? })
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let from_error = |e| Failure::from_error(&e);
    let given = match (&args.mode, args.eb) {
        (Some(mode), Some(eb)) => Some(Bound::from_name(mode, eb).map_err(from_error)?),
        _ => None,
    };
    let container = match &args.compressed {
        Some(path) => Some(std::fs::metadata(path).map_err(|e| Failure::io("read", path, &e))?.len()),
        None => None,
    };
    let (a, b) = side::both(&args.original, &args.restored, &args.field)?;
    let declared = args.fill.declared(a.array.dtype())?;
    let criteria = args.criteria(given, &declared, &a, &b)?;
    let container = container.or(b.container.as_ref().map(|c| c.0));
    let m = criteria.measure(&a, &b)?;
    report(args, &criteria, (&m, a.array.dtype()), container)?;
    if m.kept() {
        return Ok(());
    }
    Err(Failure::violation(format!(
        "{} of {} bounded values violate the bound, {} of {} exact values differ, {} differences are NaN or infinite",
        m.violations,
        m.bounded,
        m.exact_mismatches,
        m.elements - m.bounded,
        m.non_finite_mismatches
    )))
}

impl Args {
    /// The criteria of the command line, completed by the criteria of the container.
    fn criteria(
        &self,
        given: Option<Bound>,
        declared: &Declared,
        a: &Side,
        b: &Side,
    ) -> Result<Criteria, Failure> {
        let info = b.container.as_ref().and_then(|c| c.1.as_ref());
        let dtype = a.array.dtype();
        let stated = info.map(|info| info.outlier_threshold).filter(|t| t.is_finite());
        let known = self.outlier_threshold.or(declared.threshold).or(stated);
        let threshold = known.unwrap_or(f64::INFINITY);
        let mut scan = ValueScan::new(dtype, threshold);
        scan.add(&a.bytes);
        // As in `fzgm compress`: a threshold that was not declared as a fill value ends the search.
        let searched = declared.threshold.is_some() || threshold.is_infinite();
        let off = self.outlier_threshold.is_some() || declared.none || !searched;
        let suspects = if off { vec![] } else { scan.suspects() };
        let mut criteria =
            Criteria { mode: self.mode.clone(), eb: self.eb, bound: given, threshold, suspects };
        if let Some(info) = info.filter(|_| given.is_none()) {
            criteria.bound = promised(info, scan.range())?;
            criteria.mode = criteria.bound.map(|_| info.mode.into());
            criteria.eb = criteria.bound.map(|_| info.bound);
        }
        Ok(criteria)
    }
}

/// The bound that a container guarantees for an array whose bounded values have this range.
fn promised(info: &Info, range: Option<(f64, f64)>) -> Result<Option<Bound>, Failure> {
    let (low, high) = range.unwrap_or_default();
    let own = if info.mode == "prel" { high.max(-low) } else { high - low };
    Ok(match (info.mode, info.value_base) {
        ("unbounded", _) => None,
        ("lossless", _) => Some(Bound::Abs(0.0)),
        // The base was given instead of measured. The container stores it as f32, so the bound includes one rounding error.
        ("noa" | "prel", Some(base)) if (own as f32 - base as f32).abs() > base as f32 * 1e-6 => {
            Some(Bound::Abs(info.bound * base * (1.0 + f64::from(f32::EPSILON))))
        }
        (mode, _) => Some(Bound::from_name(mode, info.bound).map_err(|e| Failure::from_error(&e))?),
    })
}

fn ratio(m: &Metrics, dtype: DType, container: Option<u64>) -> Option<f64> {
    container.map(|bytes| report::ratio(m.elements * dtype.bytes(), bytes))
}

fn to_json(criteria: &Criteria, (m, dtype): (&Metrics, DType), container: Option<u64>) -> serde_json::Value {
    json!({
        "command": "compare",
        "dtype": dtype.name(),
        "elements": m.elements,
        "bounded": m.bounded,
        "min": number(m.min),
        "max": number(m.max),
        "range": number(m.range),
        "mode": criteria.mode,
        "eb": optional(criteria.eb),
        "suspected_fill_values": criteria.suspects.iter().map(|s| number(s.value)).collect::<Vec<_>>(),
        "allowed_error": optional(m.allowed),
        "max_abs_error": number(m.max_abs_error),
        "max_rel_error": number(m.max_rel_error),
        "worst_error_over_bound": optional(m.worst),
        "violations": m.worst.map(|_| m.violations),
        "exact_mismatches": m.exact_mismatches,
        "non_finite_mismatches": m.non_finite_mismatches,
        "rmse": number(m.rmse),
        "nrmse": number(m.nrmse),
        "psnr_db": number(m.psnr),
        "container_bytes": container,
        "ratio": optional(ratio(m, dtype, container)),
        "bits_per_value": optional(container.and_then(|bytes| bits_per_value(bytes, m.elements))),
        "kept": m.kept(),
    })
}

fn report(
    args: &Args,
    criteria: &Criteria,
    measured: (&Metrics, DType),
    container: Option<u64>,
) -> Result<(), Failure> {
    if args.json {
        return report::print_json(&to_json(criteria, measured, container));
    }
    let (m, dtype) = measured;
    let mut lines = vec![
        format!("elements              {} of {}, {} bounded", m.elements, dtype, m.bounded),
        format!("value range           {:?} to {:?}: {:?}", m.min, m.max, m.range),
        format!("max absolute error    {:?}", m.max_abs_error),
        format!("max relative error    {:?}", m.max_rel_error),
    ];
    for s in &criteria.suspects {
        let what = match criteria.relative() {
            true => "must be exact, excluded from the range; see --fill-value",
            false => "excluded from the range; see --fill-value",
        };
        lines.push(format!("suspected fill value  {}, {} elements: {what}", text(dtype, s.value), s.count));
    }
    if let Some(worst) = m.worst {
        if let (Some(mode), Some(eb)) = (&criteria.mode, criteria.eb) {
            lines.push(format!("bound                 {mode} {eb:?}"));
        }
        if let Some(allowed) = m.allowed {
            lines.push(format!("allowed error         {allowed:?}"));
        }
        lines.push(format!("worst error / bound   {worst:?}"));
        lines.push(format!("bound violations      {}", m.violations));
    }
    lines.push(format!("exact values changed  {} of {}", m.exact_mismatches, m.elements - m.bounded));
    lines.push(format!("non-finite mismatches {}", m.non_finite_mismatches));
    lines.push(format!("PSNR                  {:.2} dB", m.psnr));
    lines.push(format!("NRMSE                 {:.4e}", m.nrmse));
    if let (Some(bytes), Some(ratio)) = (container, ratio(m, dtype, container)) {
        lines.push(format!("ratio                 {}", report::short(ratio)));
        let bits = bits_per_value(bytes, m.elements);
        lines.extend(bits.map(|bits| format!("bits per value        {}", report::short(bits))));
    }
    report::print(&(lines.join("\n") + "\n"))
}
