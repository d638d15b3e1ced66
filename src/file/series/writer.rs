//! Steps that are appended to a series.
//!
//! An append first removes the index, then writes the records of the step, waits for the disk, and writes the index again. At every
//! moment the file has all records of the earlier steps. A reader that finds no index finds them by a search.

use super::contents::{Contents, Named};
use super::wire::{self, Footer, HEADER, Kind, RECORD, Record};
use super::{Step, StorageMut, admit};
use crate::base::array::Array;
use crate::base::error::{Error, Result};
use crate::codec::{Encoder, buffer};
use crate::file::FileOp;
use crate::format;
use crate::runtime::workspace::Workspace;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Appends steps to a series.
///
/// A step is complete when its append returns. By default it then also survives a power failure; see [`SeriesWriter::set_sync`].
/// A step that was begun and not ended is removed when the writer is dropped.
pub struct SeriesWriter<S: StorageMut = File> {
    storage: S,
    name: PathBuf,
    steps: Vec<Step>,
    /// The payload of the index.
    index: Vec<u8>,
    /// Offset after the last complete step.
    end: u64,
    open: Option<OpenStep>,
    sync: bool,
    /// True if a failed append could not be undone.
    broken: bool,
}

/// A step that was begun.
struct OpenStep {
    step: Step,
    /// Slabs that were written.
    slabs: u64,
}

impl SeriesWriter<File> {
    /// Opens a file to append, or creates it. An incomplete step at its end, of a writer that was interrupted, is removed. On Unix the
    /// file is locked against other writers until this one is dropped; readers need no lock.
    ///
    /// # Errors
    /// As [`super::Series::open`]; [`Error::File`] also if another writer has opened the file.
    pub fn open(path: impl AsRef<Path>) -> Result<SeriesWriter> {
        let path = path.as_ref();
        let op = FileOp { path, doing: "write" };
        // Before it is opened, where a pipe would wait for a reader.
        if let Ok(found) = std::fs::metadata(path) {
            op.regular(&found)?;
        }
        let mut options = File::options();
        let file = op.io(options.read(true).write(true).create(true).truncate(false).open(path))?;
        op.regular(&op.io(file.metadata())?)?;
        #[cfg(all(unix, feature = "files"))]
        super::lock::lock(&file, &op)?;
        let new = op.io(file.metadata())?.len() == 0;
        let writer = SeriesWriter::new(file, path)?;
        if new {
            sync_folder(path);
        }
        Ok(writer)
    }
}

/// Makes the name of a new file survive a power failure, as far as the system supports it.
fn sync_folder(path: &Path) {
    let folder = std::path::absolute(path).ok().and_then(|path| path.parent().map(File::open));
    if let Some(Ok(folder)) = folder {
        // Not every file system can do this for a folder.
        let _ = folder.sync_all();
    }
}

impl<S: StorageMut> SeriesWriter<S> {
    /// The same for a storage, which may be empty. Errors call it `name`.
    ///
    /// # Errors
    /// As [`super::Series::new`].
    pub fn new(storage: S, name: impl Into<PathBuf>) -> Result<SeriesWriter<S>> {
        let name = name.into();
        let named = Named { storage: &storage, name: &name };
        let contents = match named.bytes()? {
            0 => Contents { steps: vec![], end: 0, bytes: 0, indexed: false },
            _ => named.contents()?,
        };
        let Contents { steps, end, indexed, .. } = contents;
        let mut index = vec![];
        for step in &steps {
            let entry = wire::entry(step);
            index.try_reserve(entry.len()).map_err(|_| Error::OutOfMemory(entry.len() as u64))?;
            index.extend(entry);
        }
        let mut writer =
            SeriesWriter { storage, name, steps, index, end, open: None, sync: true, broken: false };
        if !indexed {
            writer.restore_index()?;
        }
        Ok(writer)
    }

    /// Whether an append waits until the disk has the step (default: true). If not, a power failure may damage steps that were appended
    /// since the last synchronization; the end of the process does not.
    pub fn set_sync(&mut self, sync: bool) {
        self.sync = sync;
    }

    /// The complete steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Compresses an array and appends it as a step of one slab. Returns the position of the step. `name` may be empty.
    ///
    /// # Errors
    /// Those of [`Encoder::compress`] and [`SeriesWriter::append_container`].
    pub fn append(
        &mut self,
        name: &str,
        encoder: &Encoder,
        workspace: &mut Workspace,
        src: &[u8],
    ) -> Result<u64> {
        self.check_name(name)?;
        let mut container = buffer(encoder.max_compressed_bytes())?;
        let bytes = encoder.compress(workspace, src, &mut container)?;
        self.append_container(name, &container[..bytes])
    }

    /// Appends a container as a step of one slab. Returns the position of the step.
    ///
    /// # Errors
    /// As [`SeriesWriter::begin`] and [`SeriesWriter::slab`].
    pub fn append_container(&mut self, name: &str, container: &[u8]) -> Result<u64> {
        self.check_name(name)?;
        let array = format::info(container)?.array;
        let rows = array.dims().last().copied().unwrap_or(0);
        self.begin(name, &array, rows.max(1))?;
        let written = self.slab(container);
        if written.is_err() {
            self.abandon();
        }
        written?;
        self.end()
    }

    /// Begins a step of slabs of `rows` rows, the length along the slowest dimension; the last slab has the remaining rows. Until
    /// [`SeriesWriter::end`], the file has no index, and a reader that opens it searches for the earlier steps.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an invalid name, a name that another step has, or 0 rows; [`Error::PlanMismatch`] if another step
    /// was begun and not ended; [`Error::File`].
    pub fn begin(&mut self, name: &str, array: &Array, rows: u64) -> Result<()> {
        self.check_name(name)?;
        if rows == 0 {
            return Err(Error::argument("rows of a slab", rows, "at least 1"));
        }
        if let Some(open) = &self.open {
            let index = self.steps.len();
            return Err(Error::PlanMismatch(format!(
                "step {index} was begun and has {} of {} slabs; end or abandon it first",
                open.slabs,
                open.step.slabs()
            )));
        }
        let description = wire::describe(name, array, rows);
        let record = Record::of(Kind::Step, self.end, &description);
        let step = Step { name: name.into(), array: *array, rows, at: record.at..record.end() };
        let bytes = [&record.to_bytes()[..], &description].concat();
        self.writing(|storage| {
            storage.truncate(record.at)?;
            storage.write_at(record.at, &bytes)
        })?;
        self.open = Some(OpenStep { step, slabs: 0 });
        Ok(())
    }

    /// Writes the container of the next slab of the step that was begun. After an error of [`Error::File`] the step is removed; after
    /// other errors you may pass another container.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] if no step was begun, all slabs were written, or the container has another type or shape than the slab;
    /// the errors of [`crate::info`]; [`Error::File`].
    pub fn slab(&mut self, container: &[u8]) -> Result<()> {
        let index = self.steps.len();
        let open = self.open.as_ref();
        let open = open.ok_or_else(|| Error::PlanMismatch("no step was begun".into()))?;
        let (slab, slabs) = (open.slabs, open.step.slabs());
        if slab == slabs {
            return Err(Error::PlanMismatch(format!(
                "step {index} has {slabs} slabs, all of which were written"
            )));
        }
        let (want, found) = (open.step.slab(slab)?, format::info(container)?.array);
        if admit(&want, &found).is_err() {
            return Err(Error::PlanMismatch(format!(
                "slab {slab} of step {index} is {} of {:?}, but the container has {} of {:?}",
                want.dtype(),
                want.dims(),
                found.dtype(),
                found.dims()
            )));
        }
        let record = Record::of(Kind::Slab, open.step.at.end, container);
        self.writing(|storage| {
            storage.write_at(record.at, &record.to_bytes())?;
            storage.write_at(record.payload(), container)
        })?;
        if let Some(open) = &mut self.open {
            open.step.at.end = record.end();
            open.slabs += 1;
        }
        Ok(())
    }

    /// Completes the step and writes the index. Returns the position of the step.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] if no step was begun or slabs are missing; [`Error::File`], and the step is removed.
    pub fn end(&mut self) -> Result<u64> {
        let index = self.steps.len() as u64;
        let missing = match &self.open {
            None => Some("no step was begun".into()),
            Some(OpenStep { step, slabs }) if *slabs < step.slabs() => {
                Some(format!("step {index} has {slabs} of {} slabs; write the others first", step.slabs()))
            }
            Some(_) => None,
        };
        if let Some(missing) = missing {
            return Err(Error::PlanMismatch(missing));
        }
        let sync = self.sync;
        self.writing(|storage| if sync { storage.sync() } else { Ok(()) })?;
        let Some(OpenStep { step, .. }) = self.open.take() else { return Ok(index) };
        let (end, indexed) = (self.end, self.index.len());
        self.index.extend(wire::entry(&step));
        self.end = step.at.end;
        self.steps.push(step);
        if let Err(e) = self.write_index() {
            self.steps.pop();
            self.index.truncate(indexed);
            self.end = end;
            self.undo();
            return Err(e);
        }
        Ok(index)
    }

    /// Removes the step that was begun, if any.
    pub fn abandon(&mut self) {
        if self.open.take().is_some() {
            self.undo();
        }
    }

    pub(crate) fn check_name(&self, name: &str) -> Result<()> {
        wire::check_name(name)?;
        match super::find(&self.steps, name) {
            None => Ok(()),
            Some(at) => {
                let expected = format!("another name: step {at} has this one");
                Err(Error::argument("name of a step", format!("{name:?}"), expected))
            }
        }
    }

    /// Writes; after a failure the step that was begun is removed.
    fn writing(&mut self, write: impl FnOnce(&mut S) -> io::Result<()>) -> Result<()> {
        let written = match self.broken {
            false => write(&mut self.storage),
            true => Err(io::Error::other(
                "an earlier write failed; close this writer, and open the file with a new one",
            )),
        };
        let written = FileOp { path: &self.name, doing: "write" }.io(written);
        if written.is_err() {
            self.open = None;
            self.undo();
        }
        written
    }

    /// Removes everything after the last complete step.
    fn undo(&mut self) {
        self.broken = self.broken || self.restore_index().is_err();
    }

    /// Removes everything after the last complete step and writes the index again, and the header if there is none.
    fn restore_index(&mut self) -> Result<()> {
        let (name, end) = (&self.name, self.end);
        let op = FileOp { path: name, doing: "write" };
        op.io(self.storage.truncate(end))?;
        if end == 0 {
            op.io(self.storage.write_at(0, &wire::header()))?;
            self.end = HEADER;
        }
        self.write_index()
    }

    fn write_index(&mut self) -> Result<()> {
        let record = Record::of(Kind::Index, self.end, &self.index);
        let bytes = record.end() + wire::FOOTER;
        let footer = Footer { index: record.at, steps: self.steps.len() as u64, bytes };
        let (storage, index, sync) = (&mut self.storage, &self.index, self.sync);
        let mut write = || {
            storage.write_at(record.at, &record.to_bytes())?;
            storage.write_at(record.at + RECORD, index)?;
            storage.write_at(record.end(), &footer.to_bytes())?;
            if sync { storage.sync() } else { Ok(()) }
        };
        FileOp { path: &self.name, doing: "write" }.io(write())
    }
}

impl<S: StorageMut> Drop for SeriesWriter<S> {
    fn drop(&mut self) {
        self.abandon();
    }
}
