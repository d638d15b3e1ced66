//! `fzgm decompress`: restores arrays, regions, and previews from containers, slab files, and series.

mod part;
mod preview;
mod step;

use crate::failure::{Failure, each};
use crate::field::shape;
use crate::input::{self, Whole};
use crate::memory;
use crate::output::{OutArgs, OutFile};
use crate::report::{self, number, ratio, short, speed};
use crate::series;
use crate::slabs;
use crate::source::npy;
use fzgm::{Array, Device, Options};
use part::Part;
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(crate) const EXAMPLES: &str = "\
Examples:
  fzgm decompress t.fzm -o t.f32
  fzgm decompress t.npy.fzm
  fzgm decompress a.fzm b.fzm -o restored/
  fzgm decompress t.fzm -o part.npy --region 700:800,300:400
  fzgm decompress t.fzm -o coarse.npy --preview 4
  fzgm decompress run.fzs -o t3.npy --step 3";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Containers, slab files, or series; - for standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    output: OutArgs,
    /// CPU threads; 0 for all cores
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = input::threads())]
    threads: u32,
    /// Memory limit for the array and the working memory, such as 4G; 0: 9 times the array plus 64 MiB
    #[arg(long, value_name = "BYTES", default_value = "0", allow_negative_numbers = true, value_parser = input::limit)]
    max_memory: u64,
    /// Restore only the region x0:x1,y0:y1,z0:z1; it includes the first number of each range and excludes the second
    ///
    /// Preset fast, also in slab files: only the chunks of the region are read, and checksums are not compared. Other
    /// presets: the whole array is decoded, and checksums are compared, except for preset high.
    #[arg(long = "region", alias = "box", value_name = "RANGES", value_parser = Part::parse, allow_hyphen_values = true)]
    part: Option<Part>,
    /// Restore only the elements at multiples of STEP, a power of two, in each dimension
    ///
    /// Preset high: only the front of the file is read, and the file may end there. Other presets: the whole file is decoded.
    #[arg(long, value_name = "STEP", conflicts_with = "part", allow_negative_numbers = true)]
    preview: Option<u64>,
    /// Step of a series to restore: a number from 0, or a name [default: the only step]
    #[arg(long, value_name = "STEP", allow_negative_numbers = true)]
    step: Option<String>,
    /// Do not verify the checksums of the container
    #[arg(long)]
    no_checksum: bool,
    /// Device: auto (the CPU), cpu, cuda, or cuda:N. Does not affect the bytes
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = input::device(), hide_possible_values = true)]
    device: Device,
    /// Print one JSON object for each file
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let outputs = args.output.files(&args.inputs, name)?;
    each(args.inputs.iter().zip(&outputs), |(input, output)| {
        output.check()?;
        let work = Work { args, input, output };
        if let Some(from) = series::open(input)? {
            return step::run(&work, &from);
        }
        series::expected(input, args.step.as_deref())?;
        match (&args.part, args.preview) {
            (Some(part), _) => part::run(&work, part),
            (None, Some(step)) => preview::run(&work, step),
            (None, None) => work.whole(),
        }
    })
}

/// The default name of OUT: IN without the extension that `fzgm compress` adds.
fn name(input: &OsStr) -> Result<OsString, String> {
    let text = Path::new(input);
    let known = text.extension().is_some_and(|e| ["fzm", "fzc", "fzs"].iter().any(|known| e == *known));
    match text.file_stem().filter(|_| known) {
        Some(stem) => Ok(stem.into()),
        None => Err(format!("{} does not end with .fzm, .fzc, or .fzs", text.display())),
    }
}

/// The decompression of one file.
struct Work<'a> {
    args: &'a Args,
    input: &'a Path,
    output: &'a OutFile,
}

impl Work<'_> {
    fn options(&self) -> Options {
        let args = self.args;
        Options {
            threads: args.threads,
            checksum: !args.no_checksum,
            max_memory_bytes: args.max_memory,
            device: args.device,
            ..Options::default()
        }
    }

    fn whole(&self) -> Result<(), Failure> {
        let Work { input, output, .. } = *self;
        let options = self.options();
        let container = match input::whole(input)? {
            Whole::Bytes(container) => container,
            Whole::Slabs(src) => return self.slabs(src, &options),
        };
        let refused = |e| memory::refused(input, &container, &options, e);
        let decoder = memory::decoder(input, &container, &options)?;
        let mut dst = memory::zeroed(decoder.array().bytes())?;
        let mut workspace = decoder.workspace().map_err(refused)?;
        let start = Instant::now();
        let bytes = decoder.decompress(&mut workspace, &container, &mut dst).map_err(refused)?;
        let seconds = start.elapsed().as_secs_f64();
        dst.truncate(bytes);
        output.write_array(decoder.array(), &dst)?;
        report(self, decoder.array(), container.len() as u64, seconds, None)
    }

    /// Restores a slab file slab by slab, with memory for one slab.
    fn slabs(&self, mut src: Box<dyn Read>, options: &Options) -> Result<(), Failure> {
        let start = Instant::now();
        let (mut sink, to) = (self.output.create()?, self.output.path());
        if self.output.is_npy() {
            // The NumPy header precedes the elements and contains the number of rows, so the lengths of all slabs are read first.
            let array = slabs::array_of(self.input)?;
            sink.write_all(&npy::header(&array)).map_err(|e| Failure::io("write", to, &e))?;
        }
        let (header, totals) = slabs::restore((&mut *src, self.input), (&mut sink, to), options)?;
        sink.commit()?;
        let seconds = start.elapsed().as_secs_f64();
        let array = header.array(totals.rows).map_err(|e| Failure::reading(self.input, &e))?;
        report(self, &array, totals.file_bytes, seconds, Some(totals.slabs))
    }
}

fn report(
    work: &Work<'_>,
    array: &Array,
    container: u64,
    seconds: f64,
    slabs: Option<u64>,
) -> Result<(), Failure> {
    let Work { args, input, output } = *work;
    let beside = output.is_stream();
    // A part has no ratio, because the container holds the whole array. Parts are restored on the CPU.
    let (ratio, device) = match (&args.part, args.preview) {
        (None, None) => (number(ratio(array.bytes(), container)), args.device.to_string()),
        _ => (Value::Null, Device::Cpu.to_string()),
    };
    let speed = speed(array.bytes(), seconds);
    if args.json {
        let value = json!({
            "command": "decompress",
            "input": input.to_string_lossy(),
            "output": output.path().to_string_lossy(),
            "dtype": array.dtype().name(),
            "dims": array.dims(),
            "device": device,
            "array_bytes": array.bytes(),
            "container_bytes": container,
            "ratio": ratio,
            "seconds": number(seconds),
            "gb_per_s": number(speed),
            "slabs": slabs,
        });
        return report::print_beside(beside, &format!("{value}\n"));
    }
    let text = format!(
        "{}: {} of {}, {} bytes, {} GB/s\n",
        output.path().display(),
        shape(array),
        array.dtype(),
        array.bytes(),
        short(speed),
    );
    report::print_beside(beside, &text)
}
