//! Arrays to read: raw files, whose type and shape the command line specifies, and NumPy files, which state both.

pub(crate) mod npy;
mod signature;

use crate::failure::Failure;
use crate::field::{Field, other_length};
use crate::input;
use crate::memory;
use fzgm::{Array, DType};
use npy::Header;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

pub(crate) use signature::{LONGEST, is_container, kind};

/// An open file with an array, and the format of the elements.
pub(crate) struct Source {
    path: PathBuf,
    dtype: DType,
    dims: Option<Vec<u64>>,
    /// The array, if its length is known before it is read.
    array: Option<Array>,
    npy: Option<Header>,
    /// The elements.
    src: Box<dyn Read>,
}

/// Opens `path` and reads its first bytes.
pub(crate) fn beginning(path: &Path) -> Result<(Vec<u8>, Box<dyn Read>), Failure> {
    let (mut src, mut first) = (input::open(path)?, vec![]);
    let read = (&mut src).take(signature::LONGEST as u64).read_to_end(&mut first);
    read.map_err(|e| Failure::io("read", path, &e))?;
    Ok((first, src))
}

impl Source {
    /// Opens `path`, which may be a stream. Rejects a file of another format, and arguments that do not match the file.
    pub(crate) fn open(path: &Path, field: &Field) -> Result<Source, Failure> {
        // Invalid dimensions are reported before the first read, which may wait for a stream.
        let given = field.dims().zip(field.dtype).map(|(dims, dtype)| array_of(dtype, dims)).transpose()?;
        // If the array is shorter than a magic number, no bytes beyond it are read from a stream.
        let (first, src) = match given.filter(|array| array.bytes() < signature::LONGEST as u64) {
            Some(_) => (vec![], input::open(path)?),
            None => beginning(path)?,
        };
        Source::begun(path, field, first, src)
    }

    /// Same as [`Source::open`], for an open file whose first bytes have been read.
    pub(crate) fn begun(
        path: &Path,
        field: &Field,
        first: Vec<u8>,
        src: Box<dyn Read>,
    ) -> Result<Source, Failure> {
        if first.starts_with(npy::MAGIC) && !field.raw {
            return Source::numpy(path, field, first, src);
        }
        if let Some(found) = kind(&first).filter(|_| !field.raw) {
            return Err(Failure::usage(format!(
                "{} is {}, not a raw array; {}, or add --raw if it is a raw array that begins with these bytes by chance",
                path.display(),
                found.name,
                found.advice
            )));
        }
        let Some(dtype) = field.dtype else {
            return Err(Failure::usage(format!(
                "{} is a raw array, which does not state its type; add --dtype, for example --dtype f32",
                path.display()
            )));
        };
        let array = match (input::length(path)?, field.dims()) {
            (Some(bytes), _) => Some(field.array(dtype, path, bytes)?),
            (None, Some(dims)) => Some(array_of(dtype, dims)?),
            (None, None) => None,
        };
        let dims = array.as_ref().map(|array| array.dims().to_vec());
        let src = Box::new(Cursor::new(first).chain(src));
        Ok(Source { path: path.into(), dtype, dims, array, npy: None, src })
    }

    fn numpy(path: &Path, field: &Field, first: Vec<u8>, mut src: Box<dyn Read>) -> Result<Source, Failure> {
        let refused = |what: &str| Failure::usage(format!("{} is a NumPy file: {what}", path.display()));
        if field.dtype.is_some() {
            return Err(refused(
                "it states its type, but --dtype is given; remove --dtype, or add --raw to read its header as values",
            ));
        }
        let (header, elements) = Header::read(path, first, &mut src)?;
        let count = header.shape.iter().try_fold(1u64, |all, n| all.checked_mul(*n));
        let count = count.ok_or_else(|| refused(npy::TOO_LARGE))?;
        let dims = match field.dims() {
            Some(dims) => dims.to_vec(),
            None => header.dims().map_err(|what| refused(&what))?,
        };
        let array = array_of(header.dtype, &dims)?;
        if array.elements() != count {
            let what = format!(
                "it has {count} elements, but the dimensions give {}; correct --dims or --shape",
                array.elements()
            );
            return Err(refused(&what));
        }
        let src = Box::new(Cursor::new(elements).chain(src));
        let (dtype, dims) = (header.dtype, Some(dims));
        Ok(Source { path: path.into(), dtype, dims, array: Some(array), npy: Some(header), src })
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// The dimensions, if they are known before the array is read.
    pub(crate) fn dims(&self) -> Option<&[u64]> {
        self.dims.as_deref()
    }

    /// The array, if its length is known before it is read.
    pub(crate) fn array(&self) -> Option<Array> {
        self.array
    }

    /// Reads the array. If its length is known, one byte more is read to detect a longer file.
    pub(crate) fn read(mut self) -> Result<(Array, Vec<u8>), Failure> {
        let path = &self.path;
        let wanted = self.array.map(|array| array.bytes());
        let mut bytes = vec![];
        let more = input::rest(path, &mut self.src, &mut bytes, wanted)?;
        let Some(array) = self.array else {
            let has = bytes.len() as u64;
            return Ok((Field::line(self.dtype, path, has)?, bytes));
        };
        let short = (bytes.len() as u64) < array.bytes();
        if let Some(header) = &self.npy {
            if short || more {
                let has = if more { "more".into() } else { bytes.len().to_string() };
                let want = array.bytes();
                let what = format!(
                    "it has {has} bytes after its header, but its shape requires {want}; save the array again"
                );
                return Err(Failure::usage(format!("{} is a NumPy file: {what}", path.display())));
            }
            if header.big_endian {
                npy::swap(&mut bytes, self.dtype.bytes());
            }
            if header.fortran && header.shape.len() > 1 {
                let mut turned = memory::zeroed(array.bytes())?;
                npy::from_fortran(&header.shape, self.dtype.bytes(), &bytes, &mut turned);
                bytes = turned;
            }
            return Ok((array, bytes));
        }
        if more {
            let has = match input::length(path)?.filter(|length| *length > array.bytes()) {
                Some(length) => format!("{length} bytes"),
                None => format!("more than {} bytes", array.bytes()),
            };
            return Err(other_length(path, &array, &has));
        }
        if short {
            return Err(other_length(path, &array, &format!("{} bytes", bytes.len())));
        }
        Ok((array, bytes))
    }

    /// A reader of the unconverted elements, for arrays that are read in pieces.
    pub(crate) fn into_reader(self) -> Result<Box<dyn Read>, Failure> {
        if self.npy.as_ref().is_some_and(|h| h.fortran && h.shape.len() > 1 || h.big_endian) {
            let what = "its elements are big-endian or in Fortran order, which --slab does not support";
            let what = format!("{what}; remove --slab, or save little-endian elements in C order");
            return Err(Failure::usage(format!("{} is a NumPy file: {what}", self.path.display())));
        }
        Ok(self.src)
    }
}

fn array_of(dtype: DType, dims: &[u64]) -> Result<Array, Failure> {
    Array::new(dtype, dims).map_err(|e| Failure::from_error(&e))
}
