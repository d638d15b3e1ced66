//! The inputs of `fzgm compare`: raw arrays, NumPy files, containers, and slab files.

use crate::failure::Failure;
use crate::field::Field;
use crate::input::{self, Whole};
use crate::memory;
use crate::slabs;
use crate::source::{Source, beginning, is_container, npy};
use fzgm::{Array, Info, Options};
use std::io::{Cursor, Read};
use std::path::Path;

/// An array to be compared.
pub(super) struct Side {
    pub(super) array: Array,
    pub(super) bytes: Vec<u8>,
    /// Length and description of the container that the array was restored from. A slab file has no description.
    pub(super) container: Option<(u64, Option<Info>)>,
}

/// An open file and its first bytes.
struct Opened<'a> {
    path: &'a Path,
    first: Vec<u8>,
    src: Box<dyn Read>,
}

/// Reads both arrays, which must have the same type and length. A pipe or a device may be endless: reading stops after the length
/// that the dimensions or the other file specify.
pub(super) fn both(a: &Path, b: &Path, field: &Field) -> Result<(Side, Side), Failure> {
    let open = |path| beginning(path).map(|(first, src)| Opened { path, first, src });
    let (a, b) = (open(a)?, open(b)?);
    // The file that specifies more is read first, because it determines the type and length of the other file.
    if a.rank(field)? >= b.rank(field)? {
        let a = a.read(field, None)?;
        let b = b.read(field, Some(&a))?;
        return Ok((a.1, b.1));
    }
    let b = b.read(field, None)?;
    let a = a.read(field, Some(&b))?;
    Ok((a.1, b.1))
}

impl<'a> Opened<'a> {
    /// Rank of a file by the facts that it specifies: 3 for a container, with its bound; 2 for a NumPy file, with type and shape; 1 for
    /// a regular file, with its length; otherwise 0.
    fn rank(&self, field: &Field) -> Result<u8, Failure> {
        if !field.raw && is_container(&self.first) {
            return Ok(3);
        }
        if !field.raw && self.first.starts_with(npy::MAGIC) {
            return Ok(2);
        }
        Ok(u8::from(input::length(self.path)?.is_some()))
    }

    /// Reads the file. `other` is the array that it is compared with, if that array has been read.
    fn read(self, field: &Field, other: Option<&(&Path, Side)>) -> Result<(&'a Path, Side), Failure> {
        let path = self.path;
        let side = if is_container(&self.first) && !field.raw {
            restore(path, Box::new(Cursor::new(self.first).chain(self.src)), field)?
        } else {
            let states = self.first.starts_with(npy::MAGIC) && !field.raw;
            let like = match other {
                Some((_, side)) if !states => field.like(&side.array),
                _ => field.clone(),
            };
            if let Some((bytes, (name, other))) = input::length(path)?.filter(|_| !states).zip(other) {
                let want = other.array.bytes();
                if bytes != want {
                    return Err(unequal((path, bytes), (name, want)));
                }
            }
            let (array, bytes) = Source::begun(path, &like, self.first, self.src)?.read()?;
            Side { array, bytes, container: None }
        };
        if let Some((name, other)) = other {
            let (have, want) = (&side.array, &other.array);
            if have.dtype() != want.dtype() {
                let what = format!(
                    "{} is of {}, {} of {}",
                    path.display(),
                    have.dtype(),
                    name.display(),
                    want.dtype()
                );
                return Err(Failure::usage(format!("{what}; the arrays must have the same type and shape")));
            }
            if have.bytes() != want.bytes() {
                return Err(unequal((path, have.bytes()), (name, want.bytes())));
            }
        }
        Ok((path, side))
    }
}

fn unequal((a, a_has): (&Path, u64), (b, b_has): (&Path, u64)) -> Failure {
    let (a, b) = (a.display(), b.display());
    Failure::usage(format!(
        "{a} has {a_has} bytes, {b} has {b_has}; the arrays must have the same type and shape"
    ))
}

/// Restores the array of a container or a slab file.
fn restore(path: &Path, src: Box<dyn Read>, field: &Field) -> Result<Side, Failure> {
    let options = Options { threads: 0, ..Options::default() };
    let side = match input::whole_of(path, src)? {
        Whole::Bytes(container) => {
            let info = fzgm::info(&container).map_err(|e| Failure::reading(path, &e))?;
            let refused = |e| memory::refused(path, &container, &options, e);
            let decoder = memory::decoder(path, &container, &options)?;
            let mut bytes = memory::zeroed(decoder.array().bytes())?;
            let mut workspace = decoder.workspace().map_err(refused)?;
            decoder.decompress(&mut workspace, &container, &mut bytes).map_err(refused)?;
            Side { array: *decoder.array(), bytes, container: Some((container.len() as u64, Some(info))) }
        }
        Whole::Slabs(mut src) => {
            let mut bytes = vec![];
            let (header, totals) = slabs::restore((&mut *src, path), (&mut bytes, path), &options)?;
            let array = header.array(totals.rows).map_err(|e| Failure::reading(path, &e))?;
            Side { array, bytes, container: Some((totals.file_bytes, None)) }
        }
    };
    match field.dtype.filter(|dtype| *dtype != side.array.dtype()) {
        Some(dtype) => Err(Failure::usage(format!(
            "{} contains {}, but --dtype is {dtype}; correct or remove --dtype",
            path.display(),
            side.array.dtype()
        ))),
        None => Ok(side),
    }
}
