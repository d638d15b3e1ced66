//! `fzgm bench`: measures speed with all data in memory, so that the result does not depend on a disk.

#[cfg(feature = "cuda")]
mod driver;
mod failed;
mod measure;
#[cfg(feature = "cuda")]
mod on_device;
#[cfg(feature = "cuda")]
mod resident;
mod table;

use crate::failure::Failure;
use crate::field::{Field, shape};
use crate::input;
use crate::named;
use crate::presets;
use crate::report::{self, number, short};
use crate::request::{CustomPipeline, PipelineSource, Request};
use crate::source::Source;
use failed::{Failed, Failures};
use fzgm::{Array, Device, Options, PRESETS, metrics, preset};
use measure::{Row, copy_speed, measure};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Raw file (little-endian, no header) or .npy file
    #[arg(value_name = "IN", value_parser = input::path())]
    input: PathBuf,
    #[command(flatten)]
    field: Field,
    /// Preset, or all; may be repeated [default without --pipeline and --config: fast; pfpl with --mode rel]
    #[arg(long = "preset", value_name = "PRESET", value_parser = named::text(presets), hide_possible_values = true)]
    presets: Vec<String>,
    /// Custom pipeline, as a chain of stages; may be repeated
    #[arg(long = "pipeline", value_name = "CHAIN")]
    pipelines: Vec<String>,
    /// Custom pipeline, from a TOML file; may be repeated
    #[arg(long = "config", value_name = "FILE", value_parser = input::path())]
    configs: Vec<PathBuf>,
    /// Unit of the bound: abs (the data), noa (max - min), prel (max |x|), rel (|x| of each value; stage quantizer only)
    /// [default: noa; custom pipeline: its own]
    #[arg(long, value_parser = named::text(named::modes), hide_possible_values = true)]
    mode: Option<String>,
    /// Error bound; may be repeated; ignored by lossless pipelines [default: 1e-3; custom pipeline: its own]
    #[arg(long = "eb", alias = "error-bound", value_name = "BOUND", allow_negative_numbers = true, value_parser = input::real)]
    bounds: Vec<f64>,
    /// Store values of this magnitude and above, such as fill values, exactly [default: inf]
    #[arg(long, value_name = "V", allow_negative_numbers = true, value_parser = input::real)]
    outlier_threshold: Option<f64>,
    /// Mode noa: add a row with the value range V, which calls then do not measure; without V, the range of the array
    #[arg(long, value_name = "V", num_args = 0..=1, require_equals = true, default_missing_value = "measured",
        value_parser = value_base)]
    value_base: Option<Base>,
    /// Modes noa and prel: add a row whose calls use the value range or largest magnitude of the previous call
    #[arg(long)]
    previous_base: bool,
    /// GPU only: write checksums, which asynchronous calls do not by default
    #[arg(long)]
    checksum: bool,
    /// CPU threads, one or more numbers separated by commas; 0: all cores [default: 1,0]
    #[arg(long, value_name = "N", value_delimiter = ',', allow_negative_numbers = true, value_parser = input::threads())]
    threads: Vec<u32>,
    /// Number of measured runs after one warm-up run; the median is reported
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Device: auto (the CPU), cpu, cuda, or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = input::device(), hide_possible_values = true)]
    device: Device,
    /// GPU only: also measure repeated launches of the call as a CUDA graph
    #[arg(long)]
    graph: bool,
    /// Disable kernel fusion, to measure its effect. Does not affect the bytes
    #[arg(long)]
    no_fuse: bool,
    /// Print the rows of --json as comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Args {
    /// An option that only a GPU supports.
    fn needs_gpu(&self) -> Option<&'static str> {
        match (self.graph, self.checksum) {
            (true, _) => Some("--graph"),
            (_, true) => Some("--checksum"),
            _ => None,
        }
    }

    /// True if the output is text, which is printed row by row during the run.
    fn as_text(&self) -> bool {
        !self.json && !self.csv
    }
}

/// The accepted values of `--preset`.
fn presets() -> Vec<&'static str> {
    [&["all"], &named::presets()[..]].concat()
}

/// The argument of `--value-base`.
#[derive(Clone, Copy)]
enum Base {
    Measured,
    Given(f64),
}

fn value_base(text: &str) -> Result<Base, String> {
    match text {
        "measured" => Ok(Base::Measured),
        _ => input::real(text).map(Base::Given),
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let (array, src) = Source::open(&args.input, &args.field)?.read()?;
    if let Device::Cuda(_) = args.device {
        if !args.threads.is_empty() {
            let what = format!("--threads is given, but --device is {}; remove --threads", args.device);
            return Err(Failure::usage(what));
        }
    } else if let Some(option) = args.needs_gpu() {
        let what = format!("{option} is given, but --device is {}; pass --device cuda", args.device);
        return Err(Failure::usage(what));
    }
    let own = args.custom_pipeline()?;
    let requests = args.requests(&own, &array, &src)?;
    if let Device::Cuda(index) = args.device {
        // Without the feature `cuda` this call returns the error, and the code below it does not exist.
        fzgm::device_info(index).map_err(|e| Failure::from_error(&e))?;
        #[cfg(feature = "cuda")]
        return on_device::run(args, requests, index, &array, &src);
    }
    let copy = copy_speed(&src, args.runs)?;
    if args.as_text() {
        heading(args, &array, copy)?;
    }
    let threads = if args.threads.is_empty() { &[1, 0] } else { &args.threads[..] };
    let (mut rows, mut failures) = (vec![], Failures::default());
    for request in requests {
        for &threads in threads {
            let options = Options {
                threads,
                fuse: !args.no_fuse,
                previous_base: request.previous_base,
                ..Options::default()
            };
            match measure(request, &array, &src, &options, args.runs) {
                Ok(row) => {
                    if args.as_text() {
                        report::print(&line(&row))?;
                    }
                    rows.push(row);
                }
                Err(failure) => failures.add(Failed { request, threads: Some(threads), failure }),
            }
        }
    }
    let lines: Vec<Value> = rows.iter().map(to_json).collect();
    print(args, &array, &lines, json!({ "device": "cpu", "memcpy_gb_per_s": number(copy) }), &failures)?;
    failures.verdict(rows.iter().map(|row| row.quality.kept))
}

/// Prints the rows as CSV or JSON if an option requests it. `device` contains the keys that describe the device.
fn print(
    args: &Args,
    array: &Array,
    lines: &[Value],
    device: Value,
    failures: &Failures<'_>,
) -> Result<(), Failure> {
    if args.csv {
        report::print(&table::csv(lines)?)?;
    }
    if args.json {
        let mut all = json!({
            "command": "bench",
            "input": args.input.to_string_lossy(),
            "dtype": array.dtype().name(),
            "dims": array.dims(),
            "array_bytes": array.bytes(),
            "runs": args.runs,
            "fused": !args.no_fuse,
            "rows": lines,
            "failed": failures.to_json(),
        });
        if let (Value::Object(all), Value::Object(device)) = (&mut all, device) {
            all.extend(device);
        }
        report::print_json(&all)?;
    }
    Ok(())
}

impl Args {
    /// The pipelines of `--pipeline` and `--config`.
    fn custom_pipeline(&self) -> Result<Vec<CustomPipeline>, Failure> {
        let chains = self.pipelines.iter().map(|text| CustomPipeline::from_text(text));
        chains.chain(self.configs.iter().map(|path| CustomPipeline::from_file(path))).collect()
    }

    /// One request for each preset or pipeline and each bound, and more with a previous and a given value range. Fails before the
    /// first measurement if a request is invalid for every array, for example because of an unknown preset.
    fn requests<'a>(
        &'a self,
        own: &'a [CustomPipeline],
        array: &Array,
        src: &[u8],
    ) -> Result<Vec<Request<'a>>, Failure> {
        let base = self.base(array, src)?;
        let mut starts: Vec<PipelineSource<'a>> = vec![];
        for name in &self.presets {
            match name.as_str() {
                // All presets that support the element type.
                "all" => starts.extend(
                    PRESETS
                        .iter()
                        .filter(|p| preset(p.name, array.dtype()).is_ok())
                        .map(|p| PipelineSource::Preset(p.name)),
                ),
                name => starts.push(PipelineSource::Preset(name)),
            }
        }
        starts.extend(own.iter().map(PipelineSource::Custom));
        if starts.is_empty() {
            starts.push(PipelineSource::Preset(presets::usual(self.mode.as_deref())));
        }
        let mut requests = vec![];
        for start in starts {
            let plain = Request::plain(start);
            if start.lossless() {
                requests.push(plain);
                continue;
            }
            let given = Request { mode: self.mode.as_deref(), threshold: self.outlier_threshold, ..plain };
            let mut bounds: Vec<Option<f64>> = self.bounds.iter().copied().map(Some).collect();
            if bounds.is_empty() {
                bounds.push(None);
            }
            for bound in bounds {
                let scan = match start {
                    PipelineSource::Preset(_) => {
                        Request { mode: given.mode.or(Some("noa")), bound: bound.or(Some(1e-3)), ..given }
                    }
                    PipelineSource::Custom(_) => Request { bound, ..given }.completed(),
                };
                requests.push(scan);
                if self.previous_base && matches!(scan.mode, Some("noa" | "prel")) {
                    requests.push(Request { previous_base: true, ..scan });
                }
                if scan.mode == Some("noa") {
                    requests.extend(base.map(|base| Request { value_base: Some(base), ..scan }));
                }
            }
        }
        for request in &requests {
            match request.pipeline(array.dtype()) {
                Err(failure) if failure.is_usage() => return Err(failure),
                _ => {}
            }
        }
        Ok(requests)
    }

    /// The value range of `--value-base`, measured if the option has no value.
    fn base(&self, array: &Array, src: &[u8]) -> Result<Option<f64>, Failure> {
        if let (Some(_), Some(mode)) = (self.value_base, self.mode.as_deref().filter(|m| *m != "noa")) {
            return Err(Failure::usage(format!(
                "--value-base is given, but --mode is {mode}; remove --value-base, or pass --mode noa"
            )));
        }
        match self.value_base {
            None => Ok(None),
            Some(Base::Given(base)) => Ok(Some(base)),
            Some(Base::Measured) => {
                let threshold = self.outlier_threshold.unwrap_or(f64::INFINITY);
                let range = metrics::compare(array.dtype(), src, src, None, threshold);
                Ok(Some(range.map_err(|e| Failure::from_error(&e))?.range))
            }
        }
    }
}

/// The first column of a row. The chain of a custom pipeline is printed on a separate line above the row.
fn name(request: &Request<'_>) -> String {
    match request.start.names() {
        (Some(preset), _) => preset.into(),
        (None, own) => format!("{}\n{:12}", own.unwrap_or_default(), ""),
    }
}

/// The column that states the source of the value range.
fn base(request: &Request<'_>) -> &'static str {
    match (request.mode, request.value_base) {
        (Some("noa" | "prel"), None) if request.previous_base => "previous",
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
        name(request),
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
