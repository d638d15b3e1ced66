//! A box of the array of a slab file. Of the file is read what it says at its beginning and its end, the lengths of the slabs up to the
//! last that the box touches, and of those that it touches what the box takes.

use super::{HEAD, Head, TRAILER, damaged, end_of, foreign, refused};
use crate::failure::Failure;
use fzgm::{Array, ContainerFile};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A slab file, open.
pub(crate) struct Places {
    file: File,
    path: PathBuf,
    head: Head,
    /// The whole.
    pub(crate) array: Array,
    /// Of the file.
    pub(crate) bytes: u64,
    /// Length of the slowest dimension.
    slowest: u64,
}

/// Fills `into` with the bytes from `at` on.
fn fill(mut file: &File, at: u64, into: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(into)
}

/// Head and array of a file of so many bytes, and the length of the slowest dimension.
fn ends(mut file: &File, bytes: u64) -> io::Result<(Head, Array, u64)> {
    file.seek(SeekFrom::Start(0))?;
    let head = Head::read(&mut file)?;
    let mut trailer = [0; TRAILER];
    let end = bytes.checked_sub(TRAILER as u64).ok_or(ErrorKind::UnexpectedEof)?;
    fill(file, end, &mut trailer)?;
    let (_, slowest) = end_of(&head, &trailer)?;
    let array = head.array(slowest).map_err(|e| damaged(e.to_string()))?;
    Ok((head, array, slowest))
}

impl Places {
    /// `bytes` is the length of the file; `path` is what it is called.
    pub(crate) fn open(file: File, bytes: u64, path: &Path) -> Result<Places, Failure> {
        let (head, array, slowest) = ends(&file, bytes).map_err(|e| refused(path, &e))?;
        Ok(Places { file, path: path.into(), head, array, bytes, slowest })
    }

    /// Restores a box that is inside of the array into `dst`, which has its length.
    pub(crate) fn restore(&self, (origin, extent): (&[u64], &[u64]), dst: &mut [u8]) -> Result<(), Failure> {
        let last = self.head.fast.len();
        let (first, rows) = (origin[last], extent[last]);
        let end = first + rows;
        let row = dst.len() / rows.max(1) as usize;
        let (mut rest, mut at) = (dst, HEAD as u64);
        for index in 0..end.div_ceil(self.head.rows) {
            let begin = index * self.head.rows;
            let container = self.slab(at).map_err(|e| refused(&self.path, &e))?;
            at = container.end;
            let slab = self.head.rows.min(self.slowest - begin);
            let touched = first.max(begin)..end.min(begin + slab);
            if touched.is_empty() {
                continue;
            }
            let count = touched.end - touched.start;
            let (mut origin, mut extent) = (origin.to_vec(), extent.to_vec());
            (origin[last], extent[last]) = (touched.start - begin, count);
            let (part, more) = rest.split_at_mut(row * count as usize);
            rest = more;
            let here = |failure: Failure| failure.about(&format!("slab {index}"));
            let file = self.file.try_clone().map_err(|e| refused(&self.path, &e))?;
            let reading = |e| here(Failure::reading(&self.path, &e));
            let container = ContainerFile::within(file, container, &self.path).map_err(reading)?;
            let array = container.info().map_err(reading)?.array;
            if !self.head.has(&array) || array.dims().last() != Some(&slab) {
                return Err(Failure::container(&self.path, &foreign(index, &array)));
            }
            let done = container.decompress_box(&origin, &extent, part);
            done.map_err(|e| here(Failure::of_part(&self.path, &e)))?;
        }
        Ok(())
    }

    /// Where the container of the slab is whose length stands at `at`.
    fn slab(&self, at: u64) -> io::Result<Range<u64>> {
        let mut length = [0; 8];
        fill(&self.file, at, &mut length)?;
        let (begin, length) = (at + 8, u64::from_le_bytes(length));
        let end = begin.checked_add(length).filter(|end| *end <= self.bytes - TRAILER as u64);
        match end {
            Some(end) if length > 0 => Ok(begin..end),
            _ => Err(damaged(format!("has a slab of {length} bytes at byte {begin}, which it cannot have"))),
        }
    }
}
