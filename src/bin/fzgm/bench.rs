//! `fzgm bench`: speed with the data in memory, so that no disk is measured.

mod measure;
mod on_device;

use crate::failure::Failure;
use crate::field::{Field, shape};
use crate::input;
use crate::report::{self, number, short};
use crate::request::{self, Request};
use fzgm::{Array, Device, Options, metrics};
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
    /// noa: a second line with the value range given and not measured by each call; without a value the one that a
    /// first look finds
    #[arg(long, value_name = "V", num_args = 0..=1, require_equals = true, default_missing_value = "measured",
        value_parser = value_base)]
    value_base: Option<Base>,
    /// Threads, one or several numbers; 0 for all cores [default: 1,0]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = input::threads())]
    threads: Vec<u32>,
    /// Runs whose median counts, after those that warm up
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// What is measured: auto (the CPU), cpu, cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = input::device)]
    device: Device,
    /// With a GPU: also the call as a graph that is launched again
    #[arg(long)]
    graph: bool,
    /// Every kernel by itself, to see what chains are worth. Never shows in the bytes
    #[arg(long)]
    no_fuse: bool,
    /// Report as one JSON object
    #[arg(long)]
    json: bool,
}

/// The value range of a line, as it was asked for.
#[derive(Clone, Copy)]
enum Base {
    Measured,
    Given(f64),
}

fn value_base(text: &str) -> Result<Base, String> {
    match text {
        "measured" => Ok(Base::Measured),
        _ => text.parse().map(Base::Given).map_err(|_| format!("`{text}` is no number")),
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let src = input::read(&args.input)?;
    let array = args.field.array(&args.input, src.len() as u64)?;
    if let Device::Cuda(index) = args.device {
        if !args.threads.is_empty() {
            return Err(Failure::usage("--threads is for the CPU: leave it out with --device cuda"));
        }
        return on_device::run(args, index, &array, &src);
    }
    if args.graph {
        return Err(Failure::usage("--graph is for GPUs: give --device cuda too"));
    }
    let copy = copy_speed(&src, args.runs)?;
    if !args.json {
        heading(args, &array, copy)?;
    }
    let threads = if args.threads.is_empty() { &[1, 0] } else { &args.threads[..] };
    let mut rows = vec![];
    for request in args.requests(&array, &src)? {
        for &threads in threads {
            let options = Options { threads, fuse: !args.no_fuse, ..Options::default() };
            let row = measure(request, &array, &src, &options, args.runs)?;
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
            "device": "cpu",
            "fused": !args.no_fuse,
            "memcpy_gb_per_s": number(copy),
            "rows": rows.iter().map(to_json).collect::<Vec<_>>(),
        }))?;
    }
    all_kept(rows.iter().map(|row| row.quality.kept))
}

fn all_kept(rows: impl Iterator<Item = bool> + Clone) -> Result<(), Failure> {
    match rows.clone().filter(|kept| !kept).count() {
        0 => Ok(()),
        n => Err(Failure::violation(format!("{n} of {} lines do not keep their bound", rows.count()))),
    }
}

impl Args {
    /// Every preset with every bound that it takes, and those with the value range given.
    fn requests(&self, array: &Array, src: &[u8]) -> Result<Vec<Request<'_>>, Failure> {
        let base = match self.value_base {
            None => None,
            Some(_) if self.mode != "noa" => {
                return Err(Failure::usage(
                    "--value-base is for --mode noa: leave it out, or change the mode",
                ));
            }
            Some(Base::Given(base)) => Some(base),
            Some(Base::Measured) => {
                let threshold = self.outlier_threshold.unwrap_or(f64::INFINITY);
                let range = metrics::compare(array.dtype(), src, src, None, threshold);
                Some(range.map_err(|e| Failure::asking(&e))?.range)
            }
        };
        let mut requests = vec![];
        for preset in &self.presets {
            if request::lossless(preset) {
                requests.push(Request { preset, ..Request::default() });
                continue;
            }
            for &bound in &self.bounds {
                let scan = Request {
                    preset,
                    mode: Some(&self.mode),
                    bound: Some(bound),
                    threshold: self.outlier_threshold,
                    value_base: None,
                };
                requests.push(scan);
                requests.extend(base.map(|base| Request { value_base: Some(base), ..scan }));
            }
        }
        Ok(requests)
    }
}

/// Where the value range comes from, for people.
fn base(request: &Request<'_>) -> &'static str {
    match (request.mode, request.value_base) {
        (Some("noa"), None) => "range scan",
        (Some("noa"), Some(_)) => "base given",
        _ => "-",
    }
}

fn heading(args: &Args, array: &Array, copy: f64) -> Result<(), Failure> {
    report::print(&format!(
        "{}: {} of {}, {} bytes; GB/s of the array, median of {} runs\n\
         {:12}{:6}{:>10}  {:10}{:>9}{:>10}{:>12}{:>12}  {}\n\
         {:12}{:6}{:>10}  {:10}{:>9}{:>10}{:>12}\n",
        args.input.display(),
        shape(array),
        array.dtype(),
        array.bytes(),
        args.runs,
        "preset",
        "mode",
        "eb",
        "base",
        "threads",
        "ratio",
        "compress",
        "decompress",
        "worst error / bound",
        "memcpy",
        "-",
        "-",
        "-",
        1,
        "-",
        short(copy)
    ))
}

fn line(row: &Row<'_>) -> String {
    let Row { request, threads, ratio, compress, decompress, quality } = row;
    format!(
        "{:12}{:6}{:>10}  {:10}{:>9}{:>10}{:>12}{:>12}  {}\n",
        request.preset,
        request.mode.unwrap_or("-"),
        request.bound.map_or("-".into(), |eb| format!("{eb:e}")),
        base(request),
        if *threads == 0 { "all".into() } else { threads.to_string() },
        short(*ratio),
        short(*compress),
        short(*decompress),
        quality.text(request)
    )
}

fn to_json(row: &Row<'_>) -> Value {
    let mut value = row.quality.json(&row.request, row.ratio);
    value["threads"] = row.threads.into();
    value["compress_gb_per_s"] = number(row.compress);
    value["decompress_gb_per_s"] = number(row.decompress);
    value
}
