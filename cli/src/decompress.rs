//! `fzgm decompress`

mod part;
mod preview;

use crate::failure::Failure;
use crate::field::shape;
use crate::input::{self, Whole};
use crate::memory;
use crate::output::OutFile;
use crate::report::{self, number, ratio, short, speed};
use crate::slabs;
use fzgm::{Array, Device, Options};
use part::Part;
use serde_json::{Value, json};
use std::io::Read;
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A container or a slab file; - for standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
    #[command(flatten)]
    output: OutFile,
    /// Threads of the CPU; 0 for all cores
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = input::threads())]
    threads: u32,
    /// The most memory for the array and the work on it, such as 4G; 0: 9 times the array and 64 MiB
    #[arg(long, value_name = "BYTES", default_value = "0", allow_negative_numbers = true, value_parser = input::limit)]
    max_memory: u64,
    /// Only a part, as x0:x1,y0:y1,z0:z1: elements x0 to x1 - 1 in each dimension of the array. For presets fast and high, also in slabs;
    /// checksums are not compared
    #[arg(long = "region", alias = "box", value_name = "RANGES", value_parser = Part::parse, allow_hyphen_values = true)]
    part: Option<Part>,
    /// Only the elements at multiples of STEP in each dimension, a power of two. For preset high the front of the file suffices
    #[arg(long, value_name = "STEP", conflicts_with = "part", allow_negative_numbers = true)]
    preview: Option<u64>,
    /// Do not compare the checksums of the container
    #[arg(long)]
    no_checksum: bool,
    /// What does it: auto (the CPU, where files are read to), cpu, cuda or cuda:N. Never shows in the bytes
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = input::device)]
    device: Device,
    /// Report as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.output.check()?;
    let options = Options {
        threads: args.threads,
        checksum: !args.no_checksum,
        max_memory_bytes: args.max_memory,
        device: args.device,
        ..Options::default()
    };
    if let Some(part) = &args.part {
        return part::run(args, part);
    }
    if let Some(step) = args.preview {
        return preview::run(args, step);
    }
    let container = match input::whole(&args.input)? {
        Whole::Bytes(container) => container,
        Whole::Slabs(src) => return in_slabs(args, src, &options),
    };
    let refused = |e| memory::refused(&args.input, &container, &options, e);
    let decoder = memory::decoder(&args.input, &container, &options)?;
    let mut dst = memory::zeroed(decoder.array().bytes())?;
    let mut workspace = decoder.workspace().map_err(refused)?;
    let start = Instant::now();
    let bytes = decoder.decompress(&mut workspace, &container, &mut dst).map_err(refused)?;
    let seconds = start.elapsed().as_secs_f64();
    dst.truncate(bytes);
    args.output.write(&dst)?;
    report(args, decoder.array(), container.len() as u64, seconds, None)
}

/// The same slab by slab, with the memory of one.
fn in_slabs(args: &Args, mut src: Box<dyn Read>, options: &Options) -> Result<(), Failure> {
    let start = Instant::now();
    let (mut sink, to) = (args.output.create()?, args.output.path());
    let (header, totals) = slabs::restore((&mut *src, &args.input), (&mut sink, to), options)?;
    sink.commit()?;
    let seconds = start.elapsed().as_secs_f64();
    let array = header.array(totals.rows).map_err(|e| Failure::reading(&args.input, &e))?;
    report(args, &array, totals.file_bytes, seconds, Some(totals.slabs))
}

fn report(
    args: &Args,
    array: &Array,
    container: u64,
    seconds: f64,
    slabs: Option<u64>,
) -> Result<(), Failure> {
    let beside = args.output.is_stream();
    // The container is that of the whole array, and parts of it are restored on the CPU.
    let (ratio, device) = match (&args.part, args.preview) {
        (None, None) => (number(ratio(array.bytes(), container)), args.device.to_string()),
        _ => (Value::Null, Device::Cpu.to_string()),
    };
    let speed = speed(array.bytes(), seconds);
    if args.json {
        let value = json!({
            "command": "decompress",
            "input": args.input.to_string_lossy(),
            "output": args.output.path().to_string_lossy(),
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
        args.output.path().display(),
        shape(array),
        array.dtype(),
        array.bytes(),
        short(speed),
    );
    report::print_beside(beside, &text)
}
