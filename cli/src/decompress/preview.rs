//! `fzgm decompress --preview`: restores a preview. From a file of preset high only the front is read.

use super::{Work, report};
use crate::failure::Failure;
use crate::input::{self, Whole};
use crate::memory;
use fzgm::{Array, ContainerFile, Device, Error, preview_array};
use std::path::Path;
use std::time::Instant;

/// The container that a preview is read from.
enum PreviewSource {
    Memory(Vec<u8>),
    File(Box<ContainerFile>, u64),
}

impl PreviewSource {
    fn open(work: &Work<'_>) -> Result<PreviewSource, Failure> {
        let path = work.input;
        match input::length(path)? {
            Some(bytes) => match ContainerFile::open_front(path) {
                Ok(file) => Ok(PreviewSource::File(Box::new(file), bytes)),
                Err(Error::NotAContainer(_)) if matches!(input::whole(path), Ok(Whole::Slabs(_))) => {
                    Err(of_slabs(path))
                }
                Err(e) => Err(Failure::reading(path, &e)),
            },
            // A stream cannot be read at an offset, so its container is read completely.
            None => match input::whole(path)? {
                Whole::Bytes(container) => Ok(PreviewSource::Memory(container)),
                Whole::Slabs(_) => Err(of_slabs(path)),
            },
        }
    }

    /// The whole array, and the length of the file.
    fn array(&self, work: &Work<'_>) -> Result<(Array, u64), Failure> {
        let refused = |e| Failure::reading(work.input, &e);
        match self {
            PreviewSource::Memory(container) => {
                Ok((fzgm::info(container).map_err(refused)?.array, container.len() as u64))
            }
            PreviewSource::File(file, bytes) => Ok((file.info().map_err(refused)?.array, *bytes)),
        }
    }
}

fn of_slabs(path: &Path) -> Failure {
    let what = "--preview does not support slab files; restore the whole array";
    Failure::request(format!("{}: {what}", path.display()))
}

pub(super) fn run(work: &Work<'_>, step: u64) -> Result<(), Failure> {
    // Previews are restored on the CPU only. Without this error the report would name the wrong device.
    if matches!(work.args.device, Device::Cuda(_)) {
        let what =
            format!("--preview runs on the CPU, but --device is {}; remove --device", work.args.device);
        return Err(Failure::request(what));
    }
    if !step.is_power_of_two() {
        let what = format!("--preview is {step}; it must be a power of two, such as 4");
        return Err(Failure::usage(what));
    }
    let from = PreviewSource::open(work)?;
    let (whole, bytes) = from.array(work)?;
    let array = preview_array(&whole, step).map_err(|e| Failure::from_error(&e))?;
    memory::within(work.input, array.bytes(), work.args.max_memory)?;
    let mut dst = memory::zeroed(array.bytes())?;
    let start = Instant::now();
    let done = match &from {
        PreviewSource::Memory(container) => fzgm::decompress_preview(container, step, &mut dst),
        PreviewSource::File(file, _) => file.decompress_preview(step, &mut dst),
    };
    done.map_err(|e| Failure::of_part(work.input, &e))?;
    let seconds = start.elapsed().as_secs_f64();
    work.output.write_array(&array, &dst)?;
    report(work, &array, bytes, seconds, None)
}
