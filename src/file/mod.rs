//! Containers in files: read at places, and files that exist complete or not at all.

#[cfg(feature = "files")]
mod atomic;
mod container;
mod sealed;
pub mod series;
pub mod slabs;
#[cfg(feature = "capi")]
mod whole;

#[cfg(feature = "files")]
pub use atomic::AtomicFile;
pub use container::{ContainerFile, decompress_preview_file, decompress_region_file};
#[cfg(feature = "capi")]
pub(crate) use whole::{read, replace};

use crate::base::error::{Error, Result};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

/// Why a folder, a pipe or a device is refused.
const NOT_REGULAR: &str = "it is not a regular file";

/// An operation on a file; its errors name the file.
struct FileOp<'p> {
    path: &'p Path,
    doing: &'static str,
}

impl FileOp<'_> {
    fn refuse(&self, why: impl ToString) -> Error {
        Error::File { doing: self.doing, path: self.path.display().to_string(), why: why.to_string() }
    }

    fn io<T>(&self, done: std::io::Result<T>) -> Result<T> {
        done.map_err(|e| match e.kind() {
            ErrorKind::OutOfMemory => Error::OutOfMemory(0),
            _ => self.refuse(e),
        })
    }

    fn shorter(&self) -> Error {
        self.refuse("it became shorter while it was read")
    }

    /// A directory or a pipe cannot be replaced, nor be read as one container.
    fn regular(&self, found: &fs::Metadata) -> Result<()> {
        if found.is_file() { Ok(()) } else { Err(self.refuse(NOT_REGULAR)) }
    }

    fn open(&self) -> Result<(File, u64)> {
        // Before it is opened, where a pipe would wait for a writer and a device could do anything.
        self.regular(&self.io(fs::metadata(self.path))?)?;
        let file = self.io(File::open(self.path))?;
        let found = self.io(file.metadata())?;
        self.regular(&found)?;
        Ok((file, found.len()))
    }
}
