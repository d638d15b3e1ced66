//! The steps of a series, read at any place.

use super::contents::{Contents, Named};
use super::wire::Kind;
use super::wire::Record;
use super::{Step, Storage, damaged};
use crate::base::byte_source::Source;
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::codec::{Decoder, Options, buffer, restore_region};
use crate::file::FileOp;
use crate::file::slabs::within_slab;
use crate::format::read_from;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A series that is read.
///
/// A reader has the steps that were complete when it was opened. A writer may append at the same time: it changes no byte of these
/// steps. Open the series again to read newer steps. Any number of threads may share a reader.
pub struct Series<S = File> {
    storage: S,
    name: PathBuf,
    contents: Contents,
}

impl Series<File> {
    /// Opens a file.
    ///
    /// # Errors
    /// As [`Series::new`]; [`Error::File`] for a path that is no regular file or cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Series> {
        let path = path.as_ref();
        Series::new(FileOp { path, doing: "read" }.open()?.0, path)
    }
}

impl<S: Storage> Series<S> {
    /// Reads the index. If the index is damaged or missing, the function searches for the steps instead. Errors call the storage
    /// `name`.
    ///
    /// # Errors
    /// [`Error::NotAContainer`] for bytes that are not the beginning of a series; [`Error::Corrupt`] for a damaged header;
    /// [`Error::Unsupported`] for another version; [`Error::File`] if the storage cannot be read.
    pub fn new(storage: S, name: impl Into<PathBuf>) -> Result<Series<S>> {
        let name = name.into();
        let contents = Named { storage: &storage, name: &name }.contents()?;
        Ok(Series { storage, name, contents })
    }

    /// The steps in the order in which they were appended.
    pub fn steps(&self) -> &[Step] {
        &self.contents.steps
    }

    /// The step at a position, from 0.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there are fewer steps.
    pub fn step(&self, index: u64) -> Result<&Step> {
        let step = usize::try_from(index).ok().and_then(|i| self.contents.steps.get(i));
        step.ok_or_else(|| {
            let steps = self.contents.steps.len();
            let expected = if steps == 0 {
                "no number: the series has no steps".into()
            } else {
                format!("0 to {}", steps - 1)
            };
            Error::argument("step", index, expected)
        })
    }

    /// The position of the step with this name.
    ///
    /// # Errors
    /// [`Error::UnknownName`] if there is none.
    pub fn find(&self, name: &str) -> Result<u64> {
        super::find(&self.contents.steps, name).ok_or_else(|| {
            let names = self.contents.steps.iter().map(Step::name).filter(|n| !n.is_empty());
            /// A series may have thousands of names.
            const MOST: usize = 10;
            let mut known: Vec<&str> = names.take(MOST + 1).collect();
            if known.len() > MOST {
                known[MOST] = "…";
            }
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            Error::UnknownName { kind: "step", name: name.into(), place: String::new(), known }
        })
    }

    /// True if the steps come from the index; false if it is damaged or missing and the steps were searched for.
    pub fn is_indexed(&self) -> bool {
        self.contents.indexed
    }

    /// Bytes of the series when it was opened.
    pub fn bytes(&self) -> u64 {
        self.contents.bytes
    }

    /// Bytes that belong to no complete step: an incomplete step at the end, or damage. 0 if the index was read.
    pub fn lost_bytes(&self) -> u64 {
        if self.contents.indexed {
            return 0;
        }
        let steps = self.contents.steps.iter().map(|s| s.at.end - s.at.start).sum::<u64>();
        self.contents.bytes.saturating_sub(steps + self.contents.end.min(super::wire::HEADER))
    }

    /// Restores a step into the beginning of `dst`, and returns its length in bytes. The function requires memory for one container and
    /// its decoder.
    ///
    /// # Errors
    /// [`Error::DstTooSmall`]; [`Error::Step`] with [`Error::Corrupt`] or [`Error::Checksum`] for damage, with
    /// [`Error::MemoryLimit`], and with the errors of [`crate::decompress`].
    pub fn read(&self, step: u64, options: &Options, dst: &mut [u8]) -> Result<usize> {
        let at = self.step(step)?;
        let (need, have) = (at.array.bytes(), dst.len() as u64);
        let fits = usize::try_from(need).ok().and_then(|need| dst.get_mut(..need));
        let mut rest = fits.ok_or(Error::DstTooSmall { need, have })?;
        self.of_step(step, || {
            let mut slabs = self.slabs(at)?;
            for k in 0..at.slabs() {
                let (slab, array) = (slabs.next(k)?, at.slab(k)?);
                let (part, more) = rest.split_at_mut(array.bytes() as usize);
                rest = more;
                let here = |source| Error::Slab { index: k, source: Box::new(source) };
                self.restore(&slab, &array, options, part).map_err(here)?;
            }
            slabs.end()?;
            Ok(need as usize)
        })
    }

    /// Restores a region of a step, as [`crate::decompress_region`] does. Only the slabs that the region overlaps are decoded, and of
    /// them only the required parts for preset `fast`. Their checksums are then not compared.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a region that is not inside the array; [`Error::DstTooSmall`]; [`Error::Step`] with the errors of
    /// [`crate::decompress_region`].
    pub fn read_region(&self, step: u64, origin: &[u64], extent: &[u64], dst: &mut [u8]) -> Result<usize> {
        let at = self.step(step)?;
        let need = crate::codec::region_bytes(&at.array, origin, extent)?;
        let have = dst.len() as u64;
        let dst = dst.get_mut(..need).ok_or(Error::DstTooSmall { need: need as u64, have })?;
        if need == 0 {
            return Ok(0);
        }
        self.of_step(step, || self.region(at, (origin, extent), dst))?;
        Ok(need)
    }

    fn region(&self, step: &Step, (origin, extent): (&[u64], &[u64]), mut rest: &mut [u8]) -> Result<()> {
        let last = origin.len() - 1;
        let (end, row) = (origin[last] + extent[last], rest.len() / extent[last] as usize);
        let mut slabs = self.slabs(step)?;
        for k in 0..end.div_ceil(step.rows) {
            let (slab, begin) = (slabs.next(k)?, k * step.rows);
            let slab_end = begin.saturating_add(step.rows);
            let Some((origin, extent)) = within_slab((origin, extent), begin, slab_end) else { continue };
            let (part, more) = rest.split_at_mut(row * extent[last] as usize);
            rest = more;
            let here = |source| Error::Slab { index: k, source: Box::new(source) };
            let array = step.slab(k)?;
            in_default_environment(|| {
                let place = self.span(&slab);
                let header = read_from(&place)?;
                super::admit(&array, &header.bound.array)?;
                restore_region(&header, &place, (&origin, &extent), part)
            })
            .map_err(here)?;
        }
        Ok(())
    }

    /// The container of a slab, to describe it or to decode it elsewhere. Its checksum is compared.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such step or slab; [`Error::Step`] with [`Error::Corrupt`] or [`Error::Checksum`] for
    /// damage.
    pub fn container(&self, step: u64, slab: u64) -> Result<Vec<u8>> {
        let at = self.step(step)?;
        if slab >= at.slabs() {
            return Err(Error::argument("slab", slab, format!("0 to {}", at.slabs() - 1)));
        }
        self.of_step(step, || {
            let mut slabs = self.slabs(at)?;
            for k in 0..slab {
                slabs.next(k)?;
            }
            self.payload(&slabs.next(slab)?)
        })
    }

    fn of_step<T>(&self, index: u64, read: impl FnOnce() -> Result<T>) -> Result<T> {
        read().map_err(|source| Error::Step { index, source: Box::new(source) })
    }

    fn named(&self) -> Named<'_, S> {
        Named { storage: &self.storage, name: &self.name }
    }

    fn span(&self, slab: &Record) -> Span<'_, S> {
        Span { named: self.named(), range: slab.payload()..slab.end() }
    }

    /// The slabs of a step, after a comparison of its own record with the index.
    fn slabs<'s>(&'s self, step: &'s Step) -> Result<Slabs<'s, S>> {
        let (named, at) = (self.named(), step.at.start);
        let found = match named.record(at)? {
            Some(record) => named.description(&record)?,
            None => None,
        };
        let same = |f: &Step| (&f.name, f.array, f.rows) == (&step.name, step.array, step.rows);
        let at = found.filter(|found| same(found)).map(|found| found.at.end);
        let at = at.ok_or_else(|| damaged("the record of the step is damaged, or differs from the index"))?;
        Ok(Slabs { named, step, at })
    }

    fn payload(&self, slab: &Record) -> Result<Vec<u8>> {
        let mut container = buffer(slab.bytes)?;
        self.span(slab).fill(0, &mut container)?;
        let computed = crc32fast::hash(&container);
        if computed != slab.sum {
            return Err(Error::Checksum { what: "slab", stored: slab.sum, computed });
        }
        Ok(container)
    }

    fn restore(
        &self,
        slab: &Record,
        array: &crate::base::array::Array,
        options: &Options,
        dst: &mut [u8],
    ) -> Result<()> {
        // Before memory is allocated for the container.
        super::admit(array, &in_default_environment(|| read_from(&self.span(slab)))?.bound.array)?;
        let limit = match options.max_memory_bytes {
            0 => array.bytes().saturating_mul(8).saturating_add(64 << 20),
            limit => limit,
        };
        if slab.bytes > limit {
            return Err(Error::MemoryLimit { need: slab.bytes, limit });
        }
        let container = self.payload(slab)?;
        let decoder = Decoder::open(&container, options)?;
        decoder.decompress(&mut decoder.workspace()?, &container, dst)?;
        Ok(())
    }
}

/// The records of the slabs of a step, in order.
struct Slabs<'s, S> {
    named: Named<'s, S>,
    step: &'s Step,
    at: u64,
}

impl<S: Storage> Slabs<'_, S> {
    fn next(&mut self, index: u64) -> Result<Record> {
        let end = self.step.at.end;
        let slab = self.named.record(self.at)?.filter(|r| r.kind == Kind::Slab && r.end() <= end);
        let slab = slab.ok_or_else(|| damaged(format!("there is no slab {index} at byte {}", self.at)))?;
        self.at = slab.end();
        Ok(slab)
    }

    /// Rejects a step that continues after its last slab.
    fn end(&self) -> Result<()> {
        match self.at == self.step.at.end {
            true => Ok(()),
            false => {
                let (at, end) = (self.at, self.step.at.end);
                Err(damaged(format!("the last slab ends at byte {at}, but the index states byte {end}")))
            }
        }
    }
}

/// A part of the storage that is one container.
struct Span<'s, S> {
    named: Named<'s, S>,
    range: Range<u64>,
}

impl<S: Storage> Source for Span<'_, S> {
    fn name(&self) -> String {
        self.named.name.display().to_string()
    }

    fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn fill(&self, at: u64, into: &mut [u8]) -> Result<()> {
        match self.named.fill(self.range.start.saturating_add(at), into)? {
            true => Ok(()),
            false => Err(FileOp { path: self.named.name, doing: "read" }.shorter()),
        }
    }
}
