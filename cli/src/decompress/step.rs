//! `fzgm decompress --step`: restores a step of a series, or a region of it.

use super::{Work, report};
use crate::failure::Failure;
use crate::memory;
use crate::series;
use fzgm::series::Series;
use fzgm::{Array, Device, Options};
use std::time::Instant;

pub(super) fn run(work: &Work<'_>, from: &Series) -> Result<(), Failure> {
    let Work { args, input, .. } = *work;
    if args.preview.is_some() {
        let what = "--preview does not support series; restore the whole step";
        return Err(Failure::request(format!("{}: {what}", input.display())));
    }
    let refused = |e| Failure::of_part(input, &e);
    let index = series::position(input, from, args.step.as_deref())?;
    let step = from.step(index).map_err(refused)?;
    let array = match &args.part {
        None => *step.array(),
        Some(_) if matches!(args.device, Device::Cuda(_)) => {
            let what = format!("--region runs on the CPU, but --device is {}; remove --device", args.device);
            return Err(Failure::request(what));
        }
        Some(part) => {
            part.inside(input, step.array())?;
            Array::new(step.array().dtype(), &part.extent).map_err(|e| Failure::from_error(&e))?
        }
    };
    memory::within(input, array.bytes(), args.max_memory)?;
    // The limit of the library does not include the array. 0 would be the default limit.
    let working = args.max_memory.saturating_sub(array.bytes()).max(1);
    let options =
        Options { max_memory_bytes: if args.max_memory == 0 { 0 } else { working }, ..work.options() };
    let mut dst = memory::zeroed(array.bytes())?;
    let start = Instant::now();
    match &args.part {
        None => from.read(index, &options, &mut dst),
        Some(part) => from.read_region(index, &part.origin, &part.extent, &mut dst),
    }
    .map_err(refused)?;
    let seconds = start.elapsed().as_secs_f64();
    work.output.write_array(&array, &dst)?;
    report(work, &array, step.bytes(), seconds, (step.slabs() > 1).then(|| step.slabs()))
}
