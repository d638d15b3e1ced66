//! A container in a file that is read at places.

use super::FileOp;
use crate::base::byte_source::Source;
use crate::base::environment::in_default_environment;
use crate::base::error::Result;
use crate::codec::{restore_preview, restore_region};
use crate::format::{Header, Info, describe, read_from, read_front};
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A container in a file. Only the bytes that a call needs are read.
///
/// ```no_run
/// let file = fzgm::ContainerFile::open("field.fzm")?;
/// let mut part = vec![0; 64 * 64 * 64 * file.info()?.array.dtype().bytes() as usize];
/// file.decompress_region(&[100, 100, 0], &[64, 64, 64], &mut part)?;
/// # Ok::<(), fzgm::Error>(())
/// ```
pub struct ContainerFile {
    place: FileSpan,
    header: Header,
}

impl ContainerFile {
    /// Opens a file that is one container and reads its header.
    ///
    /// # Errors
    /// [`crate::Error::File`] for a path that is no regular file or cannot be read; [`crate::Error::Corrupt`]
    /// for a file of another length than its header states; [`crate::Error::NotAContainer`],
    /// [`crate::Error::Unsupported`].
    pub fn open(path: impl AsRef<Path>) -> Result<ContainerFile> {
        let path = path.as_ref();
        let (file, bytes) = FileOp { path, doing: "read" }.open()?;
        ContainerFile::within(file, 0..bytes, path)
    }

    /// Opens a file that may end before its container does, for [`ContainerFile::info`] and previews.
    ///
    /// # Errors
    /// As [`ContainerFile::open`], but a file that is shorter than its header states is no error;
    /// [`crate::Error::Truncated`] for a file that ends within its header.
    pub fn open_front(path: impl AsRef<Path>) -> Result<ContainerFile> {
        let path = path.as_ref();
        let (file, bytes) = FileOp { path, doing: "read" }.open()?;
        in_default_environment(|| {
            let place = FileSpan { file, range: 0..bytes, path: path.into() };
            Ok(ContainerFile { header: read_front(&place)?, place })
        })
    }

    /// As [`ContainerFile::open`] for a container that is these bytes of an open file, which errors call `path`.
    ///
    /// # Errors
    /// As [`ContainerFile::open`]; a range that the file has not is one of [`crate::Error::File`].
    pub fn within(file: File, range: Range<u64>, path: impl Into<PathBuf>) -> Result<ContainerFile> {
        in_default_environment(|| {
            let place = FileSpan { file, range, path: path.into() };
            Ok(ContainerFile { header: read_from(&place)?, place })
        })
    }

    /// Describes the container, as [`crate::info`] does.
    ///
    /// # Errors
    /// As [`crate::info`].
    pub fn info(&self) -> Result<Info> {
        in_default_environment(|| describe(&self.header))
    }

    /// The array that the container holds.
    #[cfg(feature = "capi")]
    pub(crate) fn array(&self) -> &crate::base::array::Array {
        &self.header.bound.array
    }

    /// Restores a region, as [`crate::decompress_region`] does. For stage `fast` the function reads the
    /// chunks that the region touches with their entries in the table, and for an array that did not compress
    /// the rows; its memory does not grow with the region or the file. For other pipelines it reads the whole
    /// file.
    ///
    /// # Errors
    /// As [`crate::decompress_region`]; [`crate::Error::File`] if the system does not return the bytes that
    /// the file had when it was opened.
    pub fn decompress_region(&self, origin: &[u64], extent: &[u64], dst: &mut [u8]) -> Result<usize> {
        in_default_environment(|| restore_region(&self.header, &self.place, (origin, extent), dst))
    }

    /// Restores the elements at multiples of `step`, as [`crate::decompress_preview`] does. For stage
    /// `multilevel` the function reads the header and the front of the file that the step requires; for other
    /// stages it reads the whole file.
    ///
    /// # Errors
    /// As [`crate::decompress_preview`]; [`crate::Error::File`] if the file became shorter.
    pub fn decompress_preview(&self, step: u64, dst: &mut [u8]) -> Result<usize> {
        in_default_environment(|| restore_preview(&self.header, &self.place, step, dst))
    }

    /// Old name of [`ContainerFile::decompress_region`].
    ///
    /// # Errors
    /// As [`ContainerFile::decompress_region`].
    #[deprecated(note = "use decompress_region")]
    pub fn decompress_box(&self, origin: &[u64], extent: &[u64], dst: &mut [u8]) -> Result<usize> {
        self.decompress_region(origin, extent, dst)
    }
}

/// Restores a region from a file that is one container: [`ContainerFile::decompress_region`] in one call.
///
/// # Errors
/// As [`ContainerFile::open`] and [`ContainerFile::decompress_region`].
pub fn decompress_region_file(
    path: impl AsRef<Path>,
    origin: &[u64],
    extent: &[u64],
    dst: &mut [u8],
) -> Result<usize> {
    in_default_environment(|| ContainerFile::open(path)?.decompress_region(origin, extent, dst))
}

/// Restores a preview from a file that is one container, or the front of one: [`ContainerFile::open_front`] and
/// [`ContainerFile::decompress_preview`] in one call.
///
/// # Errors
/// As these.
pub fn decompress_preview_file(path: impl AsRef<Path>, step: u64, dst: &mut [u8]) -> Result<usize> {
    in_default_environment(|| ContainerFile::open_front(path)?.decompress_preview(step, dst))
}

/// Bytes of a file.
struct FileSpan {
    file: File,
    range: Range<u64>,
    path: PathBuf,
}

impl Source for FileSpan {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn bytes(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    fn fill(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let asked = FileOp { path: &self.path, doing: "read" };
        let at = self.range.start.saturating_add(at);
        read_exact_at(&self.file, at, into).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => asked.shorter(),
            _ => asked.refuse(e),
        })
    }
}

#[cfg(unix)]
pub(super) fn read_exact_at(file: &File, at: u64, into: &mut [u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, at)
}

#[cfg(not(unix))]
pub(super) fn read_exact_at(mut file: &File, at: u64, into: &mut [u8]) -> std::io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    use std::sync::{Mutex, PoisonError};
    /// A file has one place where it is read next, whoever reads it.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(into)
}
