//! `fzgm compress`: compresses raw arrays and NumPy files into containers and slab files.

mod appended;
mod chosen;
mod in_slabs;
mod report;
mod verify;

use crate::failure::{Failure, each};
use crate::field::Field;
use crate::fill::{self, Check, Declared, FillArgs};
use crate::input;
use crate::memory;
use crate::named;
use crate::output::{OutArgs, OutFile};
use crate::presets;
use crate::report as reports;
use crate::request::{self, CustomPipeline, PipelineSource, Request, Setting};
use crate::source::Source;
use chosen::Auto;
use clap::ValueEnum;
use fzgm::metrics::Metrics;
use fzgm::series::SeriesWriter;
use fzgm::{Array, Container, DType, Device, Encoder, Generation, Goal, Options, Pipeline};
pub(crate) use report::significant;
use report::{Absolute, Done, report};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(crate) const EXAMPLES: &str = "\
Examples:
  fzgm compress t.f32 --dtype f32 --dims 1440x721 --preset fast --mode abs --eb 0.01
  fzgm compress t.npy --preset high --eb 1e-3 --verify
  fzgm compress t.npy --lossless
  fzgm compress t.npy --preset auto:ratio --target-psnr 80
  fzgm compress t3.npy -o run.fzs --append --name t3 --mode abs --eb 0.01
  mkdir compressed && fzgm compress a.npy b.npy c.npy -o compressed/ --mode abs --eb 0.01
  fzgm compress sst.f32 -o sst.fzm --dtype f32 --shape 721,1440 --eb 1e-3 --fill-value 1e20
  cat t.f32 | fzgm compress - -o - --dtype f32 --dims 1440x721 --eb 1e-3 > t.fzm";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Raw files (little-endian, no header) or .npy files; - for standard input
    ///
    /// A raw file requires --dtype. A .npy file states type and shape; big-endian elements and Fortran order are
    /// converted. Files of other formats are rejected. Each file is compressed into a separate container.
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    output: OutArgs,
    #[command(flatten)]
    field: Field,
    /// Preset: auto (chosen by a sample of the array), fast (speed, regions), high (ratio, previews), pfpl (mode rel),
    /// bits (lossless), or another preset of `fzgm presets` [default: auto]
    ///
    /// auto:speed chooses the fastest pipeline, and auto:ratio the one with the highest ratio. auto is auto:balanced, which
    /// chooses the highest ratio among pipelines that are nearly as fast as preset fast. With --set, --slab, --no-strict, or
    /// --generation, the default is fast, and pfpl with --mode rel.
    #[arg(long, value_parser = named::text(presets_and_auto), hide_possible_values = true)]
    preset: Option<String>,
    /// Custom pipeline instead of a preset, as a chain of stages
    ///
    /// Example: "lorenzo_quant(eb=1e-3,mode=noa) > bitshuffle(width=2) > rze".
    #[arg(long, value_name = "CHAIN", conflicts_with_all = ["preset", "config"])]
    pipeline: Option<String>,
    /// Custom pipeline instead of a preset, from a TOML file; `fzgm presets --toml` prints examples
    #[arg(long, value_name = "FILE", conflicts_with = "preset", value_parser = input::path())]
    config: Option<PathBuf>,
    /// Unit of the bound: abs (the data), noa (max - min), prel (max |x|), rel (|x| of each value) [default: noa; custom pipeline: its own]
    ///
    /// noa is REL in SZ, and abs is accuracy in ZFP. Only preset pfpl supports rel.
    #[arg(long, value_parser = named::text(named::modes), hide_possible_values = true)]
    mode: Option<String>,
    /// Compress without loss; the pipeline is chosen
    #[arg(long, conflicts_with_all = ["mode", "eb"])]
    lossless: bool,
    /// Choose the error bound that leads to this ratio
    #[arg(long, value_name = "RATIO", allow_negative_numbers = true, value_parser = input::real, conflicts_with_all = ["mode", "eb", "lossless", "value_base"])]
    target_ratio: Option<f64>,
    /// Choose the error bound that leads to this peak signal-to-noise ratio in dB
    #[arg(long, value_name = "DB", allow_negative_numbers = true, value_parser = input::real, conflicts_with_all = ["mode", "eb", "lossless", "target_ratio", "value_base"])]
    target_psnr: Option<f64>,
    /// Error bound; required by lossy presets [default for a custom pipeline: its own]
    #[arg(long, alias = "error-bound", value_name = "BOUND", allow_negative_numbers = true, value_parser = input::real)]
    eb: Option<f64>,
    #[command(flatten)]
    fill: FillArgs,
    /// Store values of this magnitude and above, such as fill values, exactly, and exclude them from the value range [default: inf]
    #[arg(long, value_name = "V", allow_negative_numbers = true, value_parser = input::real)]
    outlier_threshold: Option<f64>,
    /// Known value range (noa) or largest magnitude (prel) [default: measured]
    #[arg(long, value_name = "V", allow_negative_numbers = true, value_parser = input::real)]
    value_base: Option<f64>,
    /// Set a parameter, in all stages of type STAGE or in every stage with this parameter; may be repeated
    ///
    /// `fzgm stages` lists the parameters.
    #[arg(long = "set", value_name = "[STAGE.]PARAM=VALUE", value_parser = request::setting)]
    settings: Vec<Setting>,
    /// Decompress and compare before OUT is written; exit code 1 if a value violates the bound or an exact value differs
    #[arg(long)]
    verify: bool,
    /// CPU threads; 0 for all cores. Does not affect the bytes
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = input::threads())]
    threads: u32,
    /// Generation of FZM files [default: 2026-08]
    #[arg(long)]
    generation: Option<Form>,
    /// Use the arithmetic of the reference implementation, which violates the bound for some values
    #[arg(long)]
    no_strict: bool,
    /// Container form: fzm, or compact for chunks and small messages [default: fzm]
    #[arg(long)]
    container: Option<Kind>,
    /// Write a slab file, for arrays larger than memory, with slabs of about this size, such as 256M
    ///
    /// The array is divided along its slowest dimension, and each slab is compressed into a separate container.
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = input::bytes, conflicts_with = "verify")]
    slab: Option<u64>,
    /// Append the container as a step of the series OUT, which is created if it does not exist
    #[arg(long, requires = "path", conflicts_with = "force")]
    append: bool,
    /// Name of the appended step [default: none]
    #[arg(long, requires = "append")]
    name: Option<String>,
    /// Write no checksums
    #[arg(long)]
    no_checksum: bool,
    /// Device: auto (the CPU), cpu, cuda, or cuda:N. Does not affect the bytes
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = input::device(), hide_possible_values = true)]
    device: Device,
    /// Print one JSON object for each file
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

/// The accepted values of `--preset`.
fn presets_and_auto() -> Vec<&'static str> {
    [named::presets(), chosen::WORDS.to_vec()].concat()
}

/// True if the file contains no shape: generation 2026-05 has no field for it, and the exact form of the reference has no extension
/// block.
fn loses_the_shape(options: &Options) -> bool {
    !options.strict && options.generation == Generation::G2026_05
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let own = args.custom_pipeline()?;
    let auto = Auto::of(args)?;
    let preset = match &auto {
        Some(auto) => auto.stand_in(),
        None => args.preset.as_deref().unwrap_or_else(|| presets::usual(args.mode.as_deref())),
    };
    let start = own.as_ref().map_or(PipelineSource::Preset(preset), PipelineSource::Custom);
    let work = Work { args, start, auto };
    // Errors that do not depend on the array are reported before a file is opened.
    if let Some(dtype) = args.field.dtype {
        work.pipeline(dtype)?;
    }
    if args.append {
        return work.append();
    }
    let outputs = args.output.files(&args.inputs, |name| Ok(work.name(name)))?;
    each(args.inputs.iter().zip(outputs), |(input, output)| work.file(input, &output, None))
}

/// The compression of each file.
struct Work<'a> {
    args: &'a Args,
    start: PipelineSource<'a>,
    /// If not `None`, each array has its own choice, and `start` only serves to check the arguments.
    auto: Option<Auto<'a>>,
}

impl Work<'_> {
    /// The default name of OUT.
    fn name(&self, input: &std::ffi::OsStr) -> OsString {
        let ending = match (self.args.slab, self.args.container) {
            (Some(_), _) => ".fzs",
            (None, Some(Kind::Compact)) => ".fzc",
            _ => ".fzm",
        };
        let mut name = input.to_os_string();
        name.push(ending);
        name
    }

    fn pipeline(&self, dtype: DType) -> Result<(Pipeline, Declared), Failure> {
        let args = self.args;
        if let Some(auto) = &self.auto {
            auto.check(dtype)?;
        }
        let declared = args.fill.declared(dtype)?;
        if args.fill.is_given() && self.start.lossless() {
            return Err(Failure::usage(
                "--fill-value is given, but the pipeline is lossless and stores every value exactly; remove --fill-value",
            ));
        }
        let threshold = args.outlier_threshold.or(declared.threshold);
        if args.no_strict && threshold.is_some_and(f64::is_finite) {
            return Err(Failure::usage(
                "--no-strict is given together with a fill value or a threshold, but the arithmetic of the reference includes fill values \
                 in the value range; remove --no-strict, or remove --fill-value and --outlier-threshold",
            ));
        }
        let request = Request {
            start: self.start,
            mode: args.mode.as_deref(),
            bound: args.eb.or(self.auto.and_then(|auto| auto.stand_in_bound())),
            threshold,
            value_base: args.value_base,
            previous_base: false,
            settings: &args.settings,
        };
        Ok((request.pipeline(dtype)?, declared))
    }

    /// Compresses a file, into a file of its own or into a step of a series.
    fn file(&self, input: &Path, output: &OutFile, series: Option<&mut SeriesWriter>) -> Result<(), Failure> {
        let args = self.args;
        let source = Source::open(input, &args.field)?;
        let (mut pipeline, declared) = self.pipeline(source.dtype())?;
        let files = Files { input, output };
        let refused = |e| self.start.refused(&e);
        if let Some(bytes) = args.slab {
            return self.in_slabs(&files, source, (pipeline, declared), bytes, series);
        }
        let planned = |array: &Array| Encoder::new(&pipeline, array, &args.options()).map_err(refused);
        let early = source.array().as_ref().map(planned).transpose()?;
        if series.is_none() {
            output.check()?;
        }
        let (array, src) = source.read()?;
        let mut check = self.check(&pipeline, array.dtype(), declared);
        if args.fill.is_given() || matches!(request::mode(&pipeline), Some("noa" | "prel")) {
            check.add(&src);
        }
        self.accept(input, array.dtype(), &pipeline, &check)?;

        let mut choice = None;
        if let Some(auto) = &self.auto {
            let threshold = request::real(&pipeline, "outlier_threshold").unwrap_or(f64::INFINITY);
            let (chosen, made) = auto.choose(&array, &src, threshold, args.value_base)?;
            (pipeline, choice) = (chosen, Some(made));
        }
        let encoder = match early.filter(|_| choice.is_none()) {
            Some(encoder) => encoder,
            None => Encoder::new(&pipeline, &array, &args.options()).map_err(refused)?,
        };
        if loses_the_shape(encoder.options()) {
            reports::note(
                "the file will contain neither the shape nor the unpadded length of the array; \
                 it is restored as one dimension, including the padding",
            );
        }
        let from_error = |e| Failure::from_error(&e);
        let mut workspace = encoder.workspace().map_err(from_error)?;
        let mut dst = memory::zeroed(encoder.max_compressed_bytes())?;
        let start = Instant::now();
        let bytes = encoder.compress(&mut workspace, &src, &mut dst).map_err(from_error)?;
        let seconds = start.elapsed().as_secs_f64();
        dst.truncate(bytes);
        let verified = match args.verify {
            true => Some(verify::verify(input, &pipeline, (&array, &src), &dst)?),
            false => None,
        };
        let missed = self.missed(&files, &pipeline, (&array, &src), &dst, verified.as_ref())?;
        let step = self.write(output, series, &dst)?;
        if let Some(note) = missed {
            reports::note(&note);
        }
        let stored = is_stored(&dst) && pipeline.nodes().iter().any(|n| n.stage() != "stored");
        let done = Done {
            array,
            bytes: bytes as u64,
            seconds,
            slabs: None,
            step,
            stored: Some(stored),
            absolute: Absolute::of(&pipeline, check.range()),
            verified,
            choice: choice.map(|choice| (self.goal(), choice)),
        };
        report(args, self.start, &files, &done)
    }

    /// A note if the container misses `--target-ratio` or `--target-psnr`.
    fn missed(
        &self,
        files: &Files<'_>,
        pipeline: &Pipeline,
        (array, src): (&Array, &[u8]),
        container: &[u8],
        verified: Option<&Metrics>,
    ) -> Result<Option<String>, Failure> {
        let Some(auto) = &self.auto else { return Ok(None) };
        let psnr = match verified {
            _ if !auto.has_psnr() => None,
            Some(metrics) => Some(metrics.psnr),
            None => Some(verify::verify(files.input, pipeline, (array, src), container)?.psnr),
        };
        Ok(auto.missed(reports::ratio(array.bytes(), container.len() as u64), psnr))
    }

    /// The name of the goal; empty without a choice.
    fn goal(&self) -> &'static str {
        let goal = self.auto.map(|auto| auto.goal);
        Goal::ALL.iter().find(|(known, _)| Some(*known) == goal).map_or("", |(_, name)| name)
    }

    fn check(&self, pipeline: &Pipeline, dtype: DType, declared: Declared) -> Check {
        let threshold = request::real(pipeline, "outlier_threshold").unwrap_or(f64::INFINITY);
        Check::new(dtype, threshold, declared)
    }

    /// Rejects an array with suspected fill values if they would enlarge the bound.
    fn accept(&self, input: &Path, dtype: DType, pipeline: &Pipeline, check: &Check) -> Result<(), Failure> {
        let threshold = request::real(pipeline, "outlier_threshold").unwrap_or(f64::INFINITY);
        let open = self.args.fill.is_given() || threshold.is_infinite();
        if let Some(mode) = request::relative(pipeline).filter(|_| open) {
            let name = input::name(input, "standard input");
            fill::refuse(&name.display().to_string(), mode, dtype, &check.suspects())?;
        }
        if let Some(note) = check.note() {
            reports::note(&note);
        }
        Ok(())
    }
}

/// True if a container stores the array uncompressed.
fn is_stored(container: &[u8]) -> bool {
    fzgm::info(container).is_ok_and(|info| matches!(&info.stages[..], [stage] if stage.name == "stored"))
}

/// The input of an array, and the output for its container.
struct Files<'a> {
    input: &'a Path,
    output: &'a OutFile,
}
