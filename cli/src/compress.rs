//! `fzgm compress`

use crate::failure::Failure;
use crate::field::{Field, shape};
use crate::input;
use crate::memory;
use crate::output::OutFile;
use crate::report::{self, bits_per_value, number, ratio, short, speed};
use crate::request::{self, CustomPipeline, PipelineSource, Request, Setting};
use crate::slabs;
use clap::ValueEnum;
use fzgm::slabs::Header;
use fzgm::{Array, Container, Device, Encoder, Generation, Options, Pipeline};
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Raw little-endian array without a header; - for standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
    #[command(flatten)]
    output: OutFile,
    #[command(flatten)]
    field: Field,
    /// The pipeline, see `fzgm presets`
    #[arg(long, default_value = "pfpl")]
    preset: String,
    /// A pipeline of your own in place of a preset, such as "lorenzo_quant(eb=1e-3,mode=noa,zigzag=true) > bitshuffle(width=2) > rze"
    #[arg(long, value_name = "CHAIN", conflicts_with_all = ["preset", "config"])]
    pipeline: Option<String>,
    /// A pipeline of your own, a TOML file as `fzgm presets --toml` shows some
    #[arg(long, value_name = "FILE", conflicts_with = "preset", value_parser = input::path())]
    config: Option<PathBuf>,
    /// What the bound is relative to: abs (nothing), noa (max - min), prel (max |x|) or, with preset pfpl, rel (|x|, each value)
    /// [default: noa; of a pipeline its own]
    #[arg(long)]
    mode: Option<String>,
    /// The error bound. A preset that loses something needs it [default: of a pipeline its own]
    #[arg(long, value_name = "BOUND", allow_negative_numbers = true, value_parser = input::real)]
    eb: Option<f64>,
    /// Values of this magnitude and above (fill values) are exact and outside of the value range [default: inf]
    #[arg(long, value_name = "V", allow_negative_numbers = true, value_parser = input::real)]
    outlier_threshold: Option<f64>,
    /// noa: the value range, prel: the largest magnitude, when it is known [default: measured]
    #[arg(long, value_name = "V", allow_negative_numbers = true, value_parser = input::real)]
    value_base: Option<f64>,
    /// Sets a parameter of all stages of type STAGE, or of every stage that has it, see `fzgm stages`; may be repeated
    #[arg(long = "set", value_name = "[STAGE.]PARAM=VALUE", value_parser = request::setting)]
    settings: Vec<Setting>,
    /// Threads of the CPU; 0 for all cores. Never shows in the bytes
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = input::threads())]
    threads: u32,
    /// Form of FZM files [default: 2026-08]
    #[arg(long)]
    generation: Option<Form>,
    /// The reference's arithmetic with its losses: the bound may be exceeded
    #[arg(long)]
    no_strict: bool,
    /// fzm, or compact for chunks and small messages [default: fzm]
    #[arg(long)]
    container: Option<Kind>,
    /// A slab file, for arrays larger than memory: slabs of about this size, such as 256M, along the slowest dimension, each in
    /// a container of its own
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = input::bytes)]
    slab: Option<u64>,
    /// Write no checksums
    #[arg(long)]
    no_checksum: bool,
    /// What does it: auto (the CPU, where files are read to), cpu, cuda or cuda:N. Never shows in the bytes
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = input::device)]
    device: Device,
    /// Report as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    #[value(name = "2026-05")]
    G2026_05,
    #[value(name = "2026-08")]
    G2026_08,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Fzm,
    Compact,
}

impl Args {
    fn options(&self) -> Options {
        let mut options = Options { threads: self.threads, device: self.device, ..Options::default() };
        options.strict = !self.no_strict;
        options.checksum = !self.no_checksum;
        options.generation = match self.generation {
            Some(Form::G2026_05) => Generation::G2026_05,
            Some(Form::G2026_08) => Generation::G2026_08,
            None => options.generation,
        };
        options.container = match self.container {
            Some(Kind::Fzm) => Container::Fzm,
            Some(Kind::Compact) => Container::Compact,
            None => options.container,
        };
        options
    }

    fn custom_pipeline(&self) -> Result<Option<CustomPipeline>, Failure> {
        match (&self.pipeline, &self.config) {
            (Some(text), _) => CustomPipeline::from_text(text).map(Some),
            (_, Some(path)) => CustomPipeline::from_file(path).map(Some),
            _ => Ok(None),
        }
    }
}

/// Files of this form have no place for the shape, and with the reference's arithmetic nothing is added to them.
fn forgets_the_shape(options: &Options) -> bool {
    !options.strict && options.generation == Generation::G2026_05
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.output.check()?;
    let own = args.custom_pipeline()?;
    let origin = own.as_ref().map_or(PipelineSource::Preset(&args.preset), PipelineSource::Custom);
    let request = Request {
        start: origin,
        mode: args.mode.as_deref(),
        bound: args.eb,
        threshold: args.outlier_threshold,
        value_base: args.value_base,
        settings: &args.settings,
    };
    let pipeline = request.pipeline(args.field.dtype)?;
    if let Some(bytes) = args.slab {
        return in_slabs(args, origin, pipeline, bytes);
    }
    let (array, src) = args.field.read(&args.input)?;

    let from_error = |e| Failure::from_error(&e);
    let encoder = Encoder::new(&pipeline, &array, &args.options()).map_err(|e| origin.refused(&e))?;
    if forgets_the_shape(encoder.options()) {
        report::note(
            "the file will not say its shape nor its length before padding; \
             it is restored as one dimension, with the padding",
        );
    }
    let mut workspace = encoder.workspace().map_err(from_error)?;
    let mut dst = memory::zeroed(encoder.max_compressed_bytes())?;
    let start = Instant::now();
    let bytes = encoder.compress(&mut workspace, &src, &mut dst).map_err(from_error)?;
    let seconds = start.elapsed().as_secs_f64();
    dst.truncate(bytes);
    args.output.write(&dst)?;
    let stored = is_stored(&dst) && pipeline.nodes().iter().any(|n| n.stage() != "stored");
    report(args, origin, &Done { array, bytes: bytes as u64, seconds, slabs: None, stored: Some(stored) })
}

/// Whether a container has the array as it is.
fn is_stored(container: &[u8]) -> bool {
    fzgm::info(container).is_ok_and(|info| matches!(&info.stages[..], [stage] if stage.name == "stored"))
}

/// The same slab by slab, with the memory of one.
fn in_slabs(
    args: &Args,
    origin: PipelineSource<'_>,
    mut pipeline: Pipeline,
    bytes: u64,
) -> Result<(), Failure> {
    let (options, dtype) = (args.options(), args.field.dtype);
    if forgets_the_shape(&options) {
        return Err(Failure::usage(
            "--slab needs containers that say their shape: leave --no-strict or --generation out",
        ));
    }
    let start = Instant::now();
    let length = input::length(&args.input)?;
    let array = length.map(|bytes| args.field.array(&args.input, bytes)).transpose()?;
    let dims = array.as_ref().map(Array::dims).or(args.field.dims());
    let header = Header::new(dtype, dims, bytes);
    let mode = request::mode(&pipeline).filter(|mode| ["noa", "prel"].contains(mode));
    if let Some(mode) = mode.filter(|_| request::real(&pipeline, "value_base") == Some(0.0)) {
        // A file can be read twice. A stream cannot: there the bound is that of each slab, which is never a larger one.
        if length.is_some() {
            let threshold = request::real(&pipeline, "outlier_threshold").unwrap_or(f64::INFINITY);
            let base = slabs::base((&mut input::open(&args.input)?, &args.input), dtype, mode, threshold)?;
            if base > 0.0 {
                let set = pipeline.set_everywhere("value_base", |args| args.set_real("value_base", base));
                set.map_err(|e| Failure::from_error(&e))?;
            }
        }
    }
    let (mut src, mut sink) = (input::open(&args.input)?, args.output.create()?);
    let to = args.output.path();
    let totals = slabs::write((&mut *src, &args.input), (&mut sink, to), &header, &pipeline, &options)?;
    sink.commit()?;
    let seconds = start.elapsed().as_secs_f64();
    let array = header.array(totals.rows).map_err(|e| Failure::from_error(&e))?;
    report(
        args,
        origin,
        &Done { array, bytes: totals.file_bytes, seconds, slabs: Some(totals.slabs), stored: None },
    )
}

/// What a report is about.
struct Done {
    array: Array,
    bytes: u64,
    seconds: f64,
    slabs: Option<u64>,
    /// Whether the array is in the container as it is, because the pipeline did not make it smaller; not said of slabs.
    stored: Option<bool>,
}

fn report(args: &Args, origin: PipelineSource<'_>, done: &Done) -> Result<(), Failure> {
    let Done { array, bytes, seconds, slabs, stored } = done;
    let ratio = ratio(array.bytes(), *bytes);
    let bits = bits_per_value(*bytes, array.elements());
    let speed = speed(array.bytes(), *seconds);
    let beside = args.output.is_stream();
    if args.json {
        let (preset, pipeline) = origin.names();
        let value = json!({
            "command": "compress",
            "input": args.input.to_string_lossy(),
            "output": args.output.path().to_string_lossy(),
            "dtype": array.dtype().name(),
            "dims": array.dims(),
            "preset": preset,
            "pipeline": pipeline,
            "device": args.device.to_string(),
            "array_bytes": array.bytes(),
            "container_bytes": bytes,
            "ratio": number(ratio),
            "bits_per_value": number(bits),
            "seconds": number(*seconds),
            "gb_per_s": number(speed),
            "slabs": slabs,
            "stored": stored,
        });
        return report::print_beside(beside, &format!("{value}\n"));
    }
    let slabs = slabs.map_or(String::new(), |n| format!(" in {n} slabs"));
    let stored = match stored {
        Some(true) if array.bytes() > 0 => "stored as it is: the pipeline did not make the array smaller\n",
        _ => "",
    };
    let text = format!(
        "{}: {} of {}, {} bytes\n{}: {bytes} bytes{slabs}, ratio {}, {} bits per value, {} GB/s\n{stored}",
        args.input.display(),
        shape(array),
        array.dtype(),
        array.bytes(),
        args.output.path().display(),
        short(ratio),
        short(bits),
        short(speed),
    );
    report::print_beside(beside, &text)
}
