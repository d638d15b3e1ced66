//! A slab file with random access: its beginning and its end, the lengths of the slabs up to the last one
//! that a region touches, and the parts of these slabs that the region needs.

use super::{HEADER, Header, TRAILER, damaged, foreign, read, within_slab};
use crate::base::array::Array;
use crate::base::error::{Error, Result};
use crate::file::container::read_exact_at;
use crate::file::{ContainerFile, FileOp};
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A slab file of which no more is read than a region needs.
///
/// ```no_run
/// let file = fzgm::slabs::SlabFile::open("volume.fzs")?;
/// let mut part = vec![0; 64 * 64 * 64 * file.array().dtype().bytes() as usize];
/// file.decompress_region(&[100, 100, 0], &[64, 64, 64], &mut part)?;
/// # Ok::<(), fzgm::Error>(())
/// ```
pub struct SlabFile {
    file: File,
    path: PathBuf,
    header: Header,
    array: Array,
    bytes: u64,
}

impl SlabFile {
    /// Opens a file that is one slab file and reads its header and its trailer.
    ///
    /// # Errors
    /// As [`SlabFile::new`]; [`Error::File`] for a path that is no regular file.
    pub fn open(path: impl AsRef<Path>) -> Result<SlabFile> {
        let path = path.as_ref();
        SlabFile::new(FileOp { path, doing: "read" }.open()?.0, path)
    }

    /// The same for a file that is open, which errors call `path`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a file that neither begins nor ends as a slab file; [`Error::File`] where it cannot be read.
    pub fn new(file: File, path: impl Into<PathBuf>) -> Result<SlabFile> {
        let path = path.into();
        let bytes = read(&path, file.metadata())?.len();
        let (mut header, mut trailer) = ([0; HEADER], [0; TRAILER]);
        read(&path, read_exact_at(&file, 0, &mut header))?;
        let header = Header::from_bytes(&header)?;
        let end = bytes.checked_sub(TRAILER as u64).ok_or(ErrorKind::UnexpectedEof.into());
        read(&path, end.and_then(|end| read_exact_at(&file, end, &mut trailer)))?;
        let (_, rows) = header.ends(&trailer)?;
        let array = header.array(rows).map_err(|e| damaged(e.to_string()))?;
        Ok(SlabFile { file, path, header, array, bytes })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The whole array.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Restores the region of `extent` elements from `origin` on, fastest dimension first, into `dst`, as
    /// [`crate::decompress_region`] does, and returns its bytes. Slabs outside the region may be damaged.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a region that is not inside the array; [`Error::DstTooSmall`];
    /// [`Error::Corrupt`] for a file whose parts contradict each other; [`Error::Slab`] with the errors of
    /// [`crate::decompress_region`] in a slab; [`Error::File`].
    pub fn decompress_region(&self, origin: &[u64], extent: &[u64], dst: &mut [u8]) -> Result<usize> {
        let bytes = self.inside(origin, extent)?;
        if bytes == 0 {
            return Ok(0);
        }
        let have = dst.len() as u64;
        let fits = usize::try_from(bytes).ok().and_then(|bytes| dst.get_mut(..bytes));
        let mut rest = fits.ok_or(Error::DstTooSmall { need: bytes, have })?;
        let last = origin.len() - 1;
        let (end, row) = (origin[last] + extent[last], rest.len() / extent[last] as usize);
        let mut at = HEADER as u64;
        for index in 0..end.div_ceil(self.header.rows) {
            let begin = index * self.header.rows;
            let container = self.container(at)?;
            at = container.end;
            let rows = self.header.rows.min(self.rows() - begin);
            let Some((origin, extent)) = within_slab((origin, extent), begin, begin + rows) else { continue };
            let (part, more) = rest.split_at_mut(row * extent[last] as usize);
            rest = more;
            let here = |source| Error::Slab { index, source: Box::new(source) };
            let file = read(&self.path, self.file.try_clone())?;
            let container = ContainerFile::within(file, container, &self.path).map_err(here)?;
            let array = container.info().map_err(here)?.array;
            self.header.admit(index, begin, &array)?;
            if array.dims().last() != Some(&rows) {
                return Err(foreign(index, &array));
            }
            container.decompress_region(&origin, &extent, part).map_err(here)?;
        }
        Ok(bytes as usize)
    }

    /// Length of the slowest dimension.
    fn rows(&self) -> u64 {
        self.array.dims().last().copied().unwrap_or(0)
    }

    /// Bytes of a region that is inside the array.
    fn inside(&self, origin: &[u64], extent: &[u64]) -> Result<u64> {
        let dims = self.array.dims();
        let fits = |((o, e), d): ((&u64, &u64), &u64)| o.checked_add(*e).is_some_and(|end| end <= *d);
        if origin.len() == dims.len()
            && extent.len() == dims.len()
            && origin.iter().zip(extent).zip(dims).all(fits)
        {
            return Ok(extent.iter().product::<u64>() * self.array.dtype().bytes());
        }
        let got = format!("{extent:?} from {origin:?} on");
        Err(Error::argument("region", got, format!("elements of an array of {dims:?}")))
    }

    /// The range of the container whose length is stored at `at`.
    fn container(&self, at: u64) -> Result<Range<u64>> {
        let mut length = [0; 8];
        read(&self.path, read_exact_at(&self.file, at, &mut length))?;
        let (begin, length) = (at + 8, u64::from_le_bytes(length));
        let end = begin.checked_add(length).filter(|end| *end <= self.bytes - TRAILER as u64);
        match end {
            Some(end) if length > 0 => Ok(begin..end),
            _ => Err(damaged(format!("has a slab of {length} bytes at byte {begin}, which is not possible"))),
        }
    }
}
