//! A result file that exists complete or not at all; or standard output, which cannot promise that.

use crate::failure::Failure;
use crate::input;
use fzgm::AtomicFile;
use std::fs;
use std::io::{ErrorKind, Stdout, Write, stdout};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct OutFile {
    /// The file to write; - for standard output, with the report on standard error
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    path: PathBuf,
    /// Replace OUT if it exists
    #[arg(long)]
    force: bool,
}

impl OutFile {
    /// Refuses an OUT that will not do, before anything has been computed for it.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.is_stream() {
            return Ok(());
        }
        match fs::metadata(&self.path) {
            // Renaming over a device or a pipe would replace it.
            Ok(found) if !found.is_file() => Err(self.refused("is no regular file; name a file to write")),
            Ok(_) if !self.force => Err(self.exists()),
            Ok(_) => Ok(()),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                match fs::symlink_metadata(&self.path) {
                    Ok(_) if !self.force => Err(self
                        .refused("is a link to a file that does not exist; give --force to make that file")),
                    _ => Ok(()),
                }
            }
            Err(e) => Err(self.failed(&e)),
        }
    }

    fn refused(&self, what: &str) -> Failure {
        Failure::output(format!("{} {what}", self.path.display()))
    }

    fn exists(&self) -> Failure {
        self.refused("exists; give --force to replace it")
    }

    fn failed(&self, e: &std::io::Error) -> Failure {
        Failure::io("write", &self.path, e)
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut sink = self.create()?;
        sink.write_all(bytes).map_err(|e| self.failed(&e))?;
        sink.commit()
    }

    /// A place beside OUT, which becomes OUT by [`Sink::commit`].
    pub(crate) fn create(&self) -> Result<Sink<'_>, Failure> {
        if self.is_stream() {
            return Ok(Sink { out: self, place: Place::Stream(stdout()) });
        }
        let open = if self.force { AtomicFile::create } else { AtomicFile::create_new };
        let file = open(&self.path).map_err(|e| self.failed(&e))?;
        Ok(Sink { out: self, place: Place::File(file) })
    }

    /// For a file that is no container.
    pub(crate) fn at(path: PathBuf, force: bool) -> OutFile {
        OutFile { path, force }
    }

    /// A report goes where the result does not.
    pub(crate) fn is_stream(&self) -> bool {
        input::is_stream(&self.path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Where a result goes while it is made.
pub(crate) struct Sink<'a> {
    out: &'a OutFile,
    place: Place,
}

enum Place {
    Stream(Stdout),
    File(AtomicFile),
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.place {
            Place::Stream(stream) => stream.write(bytes),
            Place::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.place {
            Place::Stream(stream) => stream.flush(),
            Place::File(file) => file.flush(),
        }
    }
}

impl Sink<'_> {
    /// What was written becomes OUT, once it is on the disk.
    pub(crate) fn commit(mut self) -> Result<(), Failure> {
        let out = self.out;
        self.flush().map_err(|e| out.failed(&e))?;
        let Place::File(file) = self.place else { return Ok(()) };
        file.commit().map_err(|e| match e.kind() {
            // Another program has made OUT in the meantime.
            ErrorKind::AlreadyExists => out.exists(),
            _ => out.failed(&e),
        })
    }
}
