//! `fzgm bench`: speed with the data in memory, so that no disk is measured.

mod measure;

use crate::failure::Failure;
use crate::field::{Field, shape};
use crate::input;
use crate::report::{self, number, short};
use crate::request::{self, Request};
use fzgm::Array;
use measure::{Row, copy_speed, measure};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Raw little-endian array without a header
    #[arg(value_name = "IN", value_parser = input::path())]
    input: PathBuf,
    #[command(flatten)]
    field: Field,
    /// A pipeline; may be repeated
    #[arg(long = "preset", value_name = "PRESET", default_value = "pfpl")]
    presets: Vec<String>,
    /// What the bound is relative to: abs (nothing), noa (max - min), prel (max |x|) or, with preset pfpl, rel (|x|, each value)
    #[arg(long, default_value = "noa")]
    mode: String,
    /// An error bound; may be repeated. Lossless presets have none
    #[arg(long = "eb", value_name = "BOUND", default_value = "1e-3", allow_negative_numbers = true)]
    bounds: Vec<f64>,
    /// Values of this magnitude and above (fill values) are exact
    #[arg(long, value_name = "V", allow_negative_numbers = true)]
    outlier_threshold: Option<f64>,
    /// Threads, one or several numbers; 0 for all cores
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,0",
        value_parser = input::threads())]
    threads: Vec<u32>,
    /// Runs whose median counts, after one that does not
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Report as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let src = input::read(&args.input)?;
    let array = args.field.array(&args.input, src.len() as u64)?;
    let copy = copy_speed(&src, args.runs)?;
    if !args.json {
        heading(args, &array, copy)?;
    }
    let mut rows = vec![];
    for request in args.requests() {
        for &threads in &args.threads {
            let row = measure(request, &array, &src, threads, args.runs)?;
            if !args.json {
                report::print(&line(&row))?;
            }
            rows.push(row);
        }
    }
    if args.json {
        report::print_json(&json!({
            "command": "bench",
            "input": args.input.to_string_lossy(),
            "dtype": array.dtype().name(),
            "dims": array.dims(),
            "array_bytes": array.bytes(),
            "runs": args.runs,
            "memcpy_gb_per_s": number(copy),
            "rows": rows.iter().map(to_json).collect::<Vec<_>>(),
        }))?;
    }
    match rows.iter().filter(|row| !row.kept).count() {
        0 => Ok(()),
        n => Err(Failure::violation(format!("{n} of {} lines do not keep their bound", rows.len()))),
    }
}

impl Args {
    /// Every preset with every bound that it takes.
    fn requests(&self) -> impl Iterator<Item = Request<'_>> {
        self.presets.iter().flat_map(|preset| {
            let lossless = Request { preset, ..Request::default() };
            let lossy = |&bound: &f64| Request {
                preset,
                mode: Some(&self.mode),
                bound: Some(bound),
                threshold: self.outlier_threshold,
                value_base: None,
            };
            let bounds = if request::lossless(preset) { &[] } else { &self.bounds[..] };
            let alone = bounds.is_empty().then_some(lossless);
            alone.into_iter().chain(bounds.iter().map(lossy))
        })
    }
}

fn heading(args: &Args, array: &Array, copy: f64) -> Result<(), Failure> {
    report::print(&format!(
        "{}: {} of {}, {} bytes; GB/s of the array, median of {} runs\n\
         {:12}{:6}{:>10}{:>9}{:>10}{:>12}{:>12}  {}\n\
         {:12}{:6}{:>10}{:>9}{:>10}{:>12}\n",
        args.input.display(),
        shape(array),
        array.dtype(),
        array.bytes(),
        args.runs,
        "preset",
        "mode",
        "eb",
        "threads",
        "ratio",
        "compress",
        "decompress",
        "worst error / bound",
        "memcpy",
        "-",
        "-",
        1,
        "-",
        short(copy)
    ))
}

fn line(row: &Row<'_>) -> String {
    let Row { request, threads, ratio, compress, decompress, metrics, kept } = row;
    format!(
        "{:12}{:6}{:>10}{:>9}{:>10}{:>12}{:>12}  {}\n",
        request.preset,
        request.mode.unwrap_or("-"),
        request.bound.map_or("-".into(), |eb| format!("{eb:e}")),
        if *threads == 0 { "all".into() } else { threads.to_string() },
        short(*ratio),
        short(*compress),
        short(*decompress),
        match metrics.worst {
            _ if !kept => format!("NOT KEPT: {:?}", metrics.worst.unwrap_or(f64::INFINITY)),
            Some(worst) if request.bound.is_some() => format!("{worst:.6}"),
            _ => "exact".into(),
        }
    )
}

fn to_json(row: &Row<'_>) -> Value {
    let m = &row.metrics;
    json!({
        "preset": row.request.preset,
        "mode": row.request.mode.unwrap_or("lossless"),
        "eb": number(row.request.bound.unwrap_or(0.0)),
        "threads": row.threads,
        "ratio": number(row.ratio),
        "compress_gb_per_s": number(row.compress),
        "decompress_gb_per_s": number(row.decompress),
        "worst_error_over_bound": report::optional(m.worst),
        "max_abs_error": number(m.max_abs_error),
        "psnr_db": number(m.psnr),
        "kept": row.kept,
    })
}
