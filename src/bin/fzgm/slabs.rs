//! Slab files: an array in slabs along its slowest dimension, each in a container of its own, so that neither side ever
//! holds more than one of them. `docs/files.md` has the bytes.

mod places;
mod reader;
mod writer;

pub(crate) use places::Places;
pub(crate) use reader::{Outline, outline, restore};
pub(crate) use writer::{base, write};

use crate::failure::Failure;
use fzgm::{Array, DType};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::Path;

pub(crate) const MAGIC: [u8; 4] = *b"FZS1";
const VERSION: u16 = 1;
const HEAD: usize = 48;
const TRAILER: usize = 32;

/// What a slab file says first.
pub(crate) struct Head {
    pub(crate) dtype: DType,
    /// All dimensions but the slowest, x first.
    pub(crate) fast: Vec<u64>,
    /// The slowest one; `None`: it came from a stream, and the trailer knows.
    pub(crate) slowest: Option<u64>,
    /// Rows of a slab along it; the last one may have fewer.
    pub(crate) rows: u64,
}

/// What became of a run.
pub(crate) struct Totals {
    pub(crate) slabs: u64,
    /// Length of the slowest dimension.
    pub(crate) slowest: u64,
    pub(crate) array_bytes: u64,
    pub(crate) file_bytes: u64,
}

impl Head {
    /// Slabs of about `bytes`, of whole rows.
    pub(crate) fn new(dtype: DType, dims: Option<&[u64]>, bytes: u64) -> Head {
        let (fast, slowest) = match dims.and_then(<[u64]>::split_last) {
            Some((slowest, fast)) => (fast.to_vec(), Some(*slowest)),
            None => (vec![], None),
        };
        let mut head = Head { dtype, fast, slowest, rows: 1 };
        head.rows = (bytes / head.row_bytes().max(1)).max(1);
        head
    }

    /// Bytes of one row: a plane of a volume, an element of a line. Saturated, which no memory holds.
    pub(crate) fn row_bytes(&self) -> u64 {
        self.fast.iter().fold(self.dtype.bytes(), |bytes, d| bytes.saturating_mul(*d))
    }

    /// The dimensions of a slab, or of the whole.
    pub(crate) fn dims(&self, rows: u64) -> Vec<u64> {
        self.fast.iter().copied().chain([rows]).collect()
    }

    pub(crate) fn array(&self, rows: u64) -> fzgm::Result<Array> {
        Array::new(self.dtype, &self.dims(rows))
    }

    /// Whether it can be a slab of this array.
    fn has(&self, slab: &Array) -> bool {
        let rows = slab.dims().last().copied().unwrap_or(0);
        slab.dtype() == self.dtype && slab.dims() == self.dims(rows) && (1..=self.rows).contains(&rows)
    }

    fn write(&self, dst: &mut dyn Write) -> Result<()> {
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&MAGIC);
        head[4..6].copy_from_slice(&VERSION.to_le_bytes());
        head[6] = self.dtype as u8;
        head[7] = self.fast.len() as u8 + 1;
        let dims = self.dims(self.slowest.unwrap_or(0));
        for (place, d) in head[8..32].chunks_mut(8).zip(&dims) {
            place.copy_from_slice(&d.to_le_bytes());
        }
        head[32..40].copy_from_slice(&self.rows.to_le_bytes());
        seal(&mut head);
        dst.write_all(&head)
    }

    fn read(src: &mut dyn Read) -> Result<Head> {
        let mut head = [0; HEAD];
        src.read_exact(&mut head)?;
        if head[..4] != MAGIC {
            return Err(damaged("does not begin as a slab file"));
        }
        check(&head, "head")?;
        let version = u16::from_le_bytes([head[4], head[5]]);
        if version != VERSION {
            return Err(damaged(format!(
                "is a slab file of version {version}, of which this program knows none"
            )));
        }
        let dtype = DType::from_number(head[6].into()).map_err(|e| damaged(e.to_string()))?;
        let ndim = usize::from(head[7]);
        let rows = word(&head, 32);
        if !(1..=3).contains(&ndim) || rows == 0 {
            return Err(damaged(format!("has {ndim} dimensions and slabs of {rows} rows")));
        }
        if head[8 + 8 * ndim..32].iter().chain(&head[40..44]).any(|&b| b != 0) {
            return Err(damaged("has a head with something where nothing is"));
        }
        let mut fast: Vec<u64> = (0..ndim).map(|i| word(&head, 8 + 8 * i)).collect();
        let slowest = fast.pop().filter(|d| *d != 0);
        Ok(Head { dtype, fast, slowest, rows })
    }
}

/// Slabs and rows that the end of a slab file states, of one with this head.
fn end_of(head: &Head, trailer: &[u8; TRAILER]) -> Result<(u64, u64)> {
    check(trailer, "trailer")
        .map_err(|e| damaged(format!("{e}: the end of the file is damaged or missing")))?;
    let (slabs, slowest) = (word(trailer, 8), word(trailer, 16));
    if head.slowest.is_some_and(|all| all != slowest) {
        return Err(damaged(format!("ends at row {slowest}, which is not what its head says")));
    }
    if slabs != slowest.div_ceil(head.rows) || trailer[..8] != [0; 8] || trailer[24..28] != [0; 4] {
        let rows = head.rows;
        return Err(damaged(format!("has {slabs} slabs of {rows} rows, its trailer says {slowest} rows")));
    }
    Ok((slabs, slowest))
}

/// The end of a slab file: a length of 0 in place of that of a slab, and what was not known before.
fn trailer(slabs: u64, slowest: u64) -> [u8; TRAILER] {
    let mut bytes = [0; TRAILER];
    bytes[8..16].copy_from_slice(&slabs.to_le_bytes());
    bytes[16..24].copy_from_slice(&slowest.to_le_bytes());
    seal(&mut bytes);
    bytes
}

/// Head and trailer end with their own checksum.
fn seal(bytes: &mut [u8]) {
    let end = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
}

fn check(bytes: &[u8], what: &str) -> Result<()> {
    let (body, sum) = bytes.split_at(bytes.len() - 4);
    if crc32fast::hash(body).to_le_bytes() != sum {
        return Err(damaged(format!("has a {what} whose checksum does not match")));
    }
    Ok(())
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// What is said of a slab of another array.
fn foreign(index: u64, array: &Array) -> String {
    format!("slab {index} is {} of {:?}, which is no part of this array", array.dtype(), array.dims())
}

/// Damage of the file, or a refusal of the system.
fn refused(from: &Path, e: &Error) -> Failure {
    match e.kind() {
        ErrorKind::UnexpectedEof => Failure::container(from, "the slab file ends early"),
        ErrorKind::InvalidData => Failure::container(from, &e.to_string()),
        _ => Failure::io("read", from, e),
    }
}

/// Of the file, where others are of the system.
fn damaged(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, what.into())
}

/// Fills as much of `buffer` as there is.
fn fill(src: &mut dyn Read, buffer: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match src.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}
