//! `fzgm compare`

use crate::failure::Failure;
use crate::field::Field;
use crate::input;
use crate::output::OutFile;
use crate::plot::{self, Legend};
use crate::report::{self, bits_per_value, number, optional};
use fzgm::metrics::{Bound, Metrics};
use serde_json::json;
use std::path::{Path, PathBuf};

pub(crate) const EXACTNESS: &str = "\
Differences are evaluated exactly, as unevaluated sums of two f64. The bounds noa, rel and prel are products
in f64, rounded toward zero. Values that are NaN, infinite, or not below --outlier-threshold have to be equal
bit for bit and take no part in the other figures. Exit code 1: a bound or a bit is not kept.";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The original array, raw
    #[arg(value_name = "A", value_parser = input::path())]
    original: PathBuf,
    /// What came back
    #[arg(value_name = "B", value_parser = input::path())]
    restored: PathBuf,
    #[command(flatten)]
    field: Field,
    /// What --eb is multiplied with: abs (1), noa (max - min), rel (|x|), prel (max |x|)
    #[arg(long, requires = "eb")]
    mode: Option<String>,
    /// The error bound; 0 for lossless
    #[arg(long, value_name = "BOUND", requires = "mode", allow_negative_numbers = true, value_parser = input::real)]
    eb: Option<f64>,
    /// Values of this magnitude and above have to be exact
    #[arg(long, value_name = "V", default_value_t = f64::INFINITY, allow_negative_numbers = true, value_parser = input::real)]
    outlier_threshold: f64,
    /// The container, for ratio and bits per value
    #[arg(long, value_name = "FILE", value_parser = input::path())]
    compressed: Option<PathBuf>,
    /// Draw a slice of both and their difference into this PNG file; give --dims too, and see what --slice is
    #[arg(long, value_name = "FILE", value_parser = input::path())]
    plot: Option<PathBuf>,
    /// With --plot: the index of the plane in a volume [default: the one in the middle]
    #[arg(long, value_name = "Z", requires = "plot")]
    slice: Option<u64>,
    /// Replace the file of --plot if it exists
    #[arg(long, requires = "plot")]
    force: bool,
    /// Report as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let from_error = |e| Failure::from_error(&e);
    let bound = match (&args.mode, args.eb) {
        (Some(mode), Some(eb)) => Some(Bound::from_name(mode, eb).map_err(from_error)?),
        _ => None,
    };
    let plot = args.plot.as_ref().map(|path| OutFile::at(path.clone(), args.force));
    plot.as_ref().map_or(Ok(()), OutFile::check)?;
    let (a, b) = read(args)?;
    let container = match &args.compressed {
        Some(path) => Some(std::fs::metadata(path).map_err(|e| Failure::io("read", path, &e))?.len()),
        None => None,
    };
    let array = match args.plot.is_some() || args.field.dims().is_some() {
        true => Some(args.field.array(&args.original, a.len() as u64)?),
        false => None,
    };
    let m = fzgm::metrics::compare(args.field.dtype, &a, &b, bound, args.outlier_threshold)
        .map_err(from_error)?;
    let legend = match (&plot, &array) {
        (Some(out), Some(array)) => Some(plot::write(out, array, (&a, &b), args.slice)?),
        _ => None,
    };
    report(args, &m, container, legend.as_ref())?;
    if m.kept() {
        return Ok(());
    }
    Err(Failure::violation(format!(
        "{} of {} bounded values are beyond the bound, {} of {} exact values differ, {} differences are NaN or infinite",
        m.violations,
        m.bounded,
        m.exact_mismatches,
        m.elements - m.bounded,
        m.non_finite_mismatches
    )))
}

/// Both arrays. A pipe or a device, which may have no end, is read as far as --dims or the length of the other file say.
fn read(args: &Args) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    let (original, restored) = (&args.original, &args.restored);
    let a = match (args.field.dims(), input::length(original)?, input::length(restored)?) {
        (Some(_), ..) => args.field.read(original)?.1,
        (None, None, Some(bytes)) => {
            let (a, more) = input::read(original, Some(bytes))?;
            if more {
                return Err(unequal(
                    (original, &format!("more than {bytes}")),
                    (restored, &bytes.to_string()),
                ));
            }
            a
        }
        _ => input::read(original, None)?.0,
    };
    let bytes = a.len() as u64;
    let (b, more) = input::read(restored, Some(bytes))?;
    if !more && b.len() == a.len() {
        return Ok((a, b));
    }
    let has = match input::length(restored)?.filter(|_| more) {
        Some(length) => length.to_string(),
        None if more => format!("more than {bytes}"),
        None => b.len().to_string(),
    };
    Err(unequal((original, &bytes.to_string()), (restored, &has)))
}

fn unequal((a, a_has): (&Path, &str), (b, b_has): (&Path, &str)) -> Failure {
    let (a, b) = (a.display(), b.display());
    Failure::usage(format!("{a} has {a_has} bytes, {b} has {b_has}; compare arrays of one type and shape"))
}

fn report(args: &Args, m: &Metrics, container: Option<u64>, legend: Option<&Legend>) -> Result<(), Failure> {
    let dtype = args.field.dtype;
    let bits = container.map(|bytes| bits_per_value(bytes, m.elements));
    let ratio = container.map(|bytes| report::ratio(m.elements * dtype.bytes(), bytes));
    if args.json {
        return report::print_json(&json!({
            "command": "compare",
            "dtype": dtype.name(),
            "elements": m.elements,
            "bounded": m.bounded,
            "min": number(m.min),
            "max": number(m.max),
            "range": number(m.range),
            "mode": args.mode,
            "eb": optional(args.eb),
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
            "ratio": optional(ratio),
            "bits_per_value": optional(bits),
            "kept": m.kept(),
            "plot": legend.map(|l| json!({
                "file": args.plot.as_ref().map(|p| p.to_string_lossy()),
                "slice": l.slice,
                "low": number(l.low),
                "high": number(l.high),
                "error": number(l.error),
            })),
        }));
    }
    let mut lines = vec![
        format!("elements              {} of {}, {} bounded", m.elements, dtype, m.bounded),
        format!("value range           {:?} to {:?}: {:?}", m.min, m.max, m.range),
        format!("max absolute error    {:?}", m.max_abs_error),
        format!("max relative error    {:?}", m.max_rel_error),
    ];
    if let Some(worst) = m.worst {
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
    if let (Some(bits), Some(ratio)) = (bits, ratio) {
        lines.push(format!("ratio                 {}", report::short(ratio)));
        lines.push(format!("bits per value        {}", report::short(bits)));
    }
    if let Some(l) = legend {
        lines.push(format!(
            "plot                  slice {}, values {:?} to {:?}, errors to {:?}",
            l.slice, l.low, l.high, l.error
        ));
    }
    report::print(&(lines.join("\n") + "\n"))
}
