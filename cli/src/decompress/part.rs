//! `fzgm decompress --region`: restores a region and reads only the parts of the file that it requires.

use super::{Work, report};
use crate::failure::Failure;
use crate::field::shape;
use crate::input::{self, Whole};
use crate::memory;
use fzgm::slabs::{self, SlabFile};
use fzgm::{Array, ContainerFile, Device};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

/// A region: first element and number of elements in each dimension, x first.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) origin: Vec<u64>,
    pub(super) extent: Vec<u64>,
}

impl Part {
    pub(super) fn parse(text: &str) -> Result<Part, String> {
        let mut part = Part { origin: vec![], extent: vec![] };
        for range in text.split(',') {
            let ends =
                range.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse::<u64>().ok()?)));
            let (first, end) = ends.ok_or(format!("`{range}` is not a range; write x0:x1,y0:y1,z0:z1"))?;
            let extent = end.checked_sub(first).filter(|n| *n > 0);
            part.origin.push(first);
            part.extent.push(
                extent.ok_or(format!("`{range}` is empty; the first number must be less than the second"))?,
            );
        }
        Ok(part)
    }

    /// Rejects a region that is not inside the array of a file.
    pub(super) fn inside(&self, path: &Path, array: &Array) -> Result<(), Failure> {
        let dims = array.dims();
        let whole = format!("the array of {} has dimensions {}", path.display(), shape(array));
        if self.extent.len() != dims.len() {
            let ranges = match self.extent.len() {
                1 => "1 range".into(),
                n => format!("{n} ranges"),
            };
            return Err(Failure::usage(format!(
                "--region has {ranges}, but {whole}; pass {}, one for each dimension",
                dims.len()
            )));
        }
        for (d, ((first, extent), length)) in self.origin.iter().zip(&self.extent).zip(dims).enumerate() {
            // The sum cannot overflow: `parse` computed the extent from this end.
            let end = first + extent;
            if end > *length {
                let name = ["x", "y", "z"].get(d).map_or(format!("dimension {d}"), |name| (*name).into());
                return Err(Failure::usage(format!(
                    "--region has {first}:{end} for {name}, but {whole}; pass a range within 0:{length}"
                )));
            }
        }
        Ok(())
    }
}

/// The container or slab file that a region is read from.
enum RegionSource {
    Memory(Vec<u8>),
    File(Box<ContainerFile>, u64),
    Slabs(SlabFile),
}

impl RegionSource {
    /// Opens IN.
    fn open(work: &Work<'_>) -> Result<RegionSource, Failure> {
        let path = work.input;
        // A stream cannot be read at an offset, so its container is read completely.
        if input::length(path)?.is_none() {
            return match input::whole(path)? {
                Whole::Bytes(container) => Ok(RegionSource::Memory(container)),
                Whole::Slabs(_) => {
                    let what = "a region of a slab file cannot be read from a stream; pass the file by name";
                    Err(Failure::request(format!("{}: {what}", path.display())))
                }
            };
        }
        let refused = |e| Failure::io("read", path, &e);
        let file = File::open(path).map_err(refused)?;
        let bytes = file.metadata().map_err(refused)?.len();
        let mut first = vec![];
        (&file).take(slabs::MAGIC.len() as u64).read_to_end(&mut first).map_err(refused)?;
        if first == slabs::MAGIC {
            return SlabFile::new(file, path)
                .map(RegionSource::Slabs)
                .map_err(|e| Failure::reading(path, &e));
        }
        let file = ContainerFile::within(file, 0..bytes, path).map_err(|e| Failure::reading(path, &e))?;
        Ok(RegionSource::File(Box::new(file), bytes))
    }

    /// The whole array, and the length of the file.
    fn array(&self, work: &Work<'_>) -> Result<(Array, u64), Failure> {
        let refused = |e| Failure::reading(work.input, &e);
        match self {
            RegionSource::Memory(container) => {
                Ok((fzgm::info(container).map_err(refused)?.array, container.len() as u64))
            }
            RegionSource::File(file, bytes) => Ok((file.info().map_err(refused)?.array, *bytes)),
            RegionSource::Slabs(file) => Ok((*file.array(), file.bytes())),
        }
    }

    fn restore(
        &self,
        work: &Work<'_>,
        Part { origin, extent }: &Part,
        dst: &mut [u8],
    ) -> Result<(), Failure> {
        let done = match self {
            RegionSource::Memory(container) => fzgm::decompress_region(container, origin, extent, dst),
            RegionSource::File(file, _) => file.decompress_region(origin, extent, dst),
            RegionSource::Slabs(file) => file.decompress_region(origin, extent, dst),
        };
        done.map(drop).map_err(|e| Failure::of_part(work.input, &e))
    }
}

pub(super) fn run(work: &Work<'_>, part: &Part) -> Result<(), Failure> {
    // Regions are restored on the CPU only. Without this error the report would name the wrong device.
    if matches!(work.args.device, Device::Cuda(_)) {
        let what = format!("--region runs on the CPU, but --device is {}; remove --device", work.args.device);
        return Err(Failure::request(what));
    }
    let from = RegionSource::open(work)?;
    let (whole, bytes) = from.array(work)?;
    part.inside(work.input, &whole)?;
    let array = Array::new(whole.dtype(), &part.extent).map_err(|e| Failure::from_error(&e))?;
    memory::within(work.input, array.bytes(), work.args.max_memory)?;
    let mut dst = memory::zeroed(array.bytes())?;
    let start = Instant::now();
    from.restore(work, part, &mut dst)?;
    let seconds = start.elapsed().as_secs_f64();
    work.output.write_array(&array, &dst)?;
    report(work, &array, bytes, seconds, None)
}
