//! The bytes of a series, as `docs/series.md` specifies them.

use super::{Step, damaged};
use crate::base::array::{Array, MAX_DIMS};
use crate::base::dtype::DType;
use crate::base::error::{Error, Result};
use crate::file::sealed::{is_sealed, seal, word};
use std::io::{self, Read};

pub use crate::format::SERIES_MAGIC as MAGIC;

const FOOTER_MAGIC: [u8; 4] = *b"FZSX";
const VERSION: u16 = 1;
pub(super) const HEADER: u64 = 16;
pub(super) const RECORD: u64 = 32;
pub(super) const FOOTER: u64 = 32;
/// The part of a description before the dimensions.
const FIXED: usize = 16;
/// Largest length of a name in bytes.
pub const MAX_NAME_BYTES: usize = 255;
/// No description is longer.
pub(super) const MOST_DESCRIPTION: usize = FIXED + 8 * MAX_DIMS + MAX_NAME_BYTES;

/// The header of a series, which is always the same.
pub(super) fn header() -> [u8; HEADER as usize] {
    let mut bytes = [0; HEADER as usize];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
    seal(&mut bytes);
    bytes
}

/// Rejects a complete header that is not the one of this version.
pub(super) fn check_header(bytes: &[u8; HEADER as usize]) -> Result<()> {
    if !is_sealed(bytes) {
        return Err(damaged("the checksum of its header does not match"));
    }
    if *bytes != header() {
        let version = u16::from_le_bytes([bytes[4], bytes[5]]);
        let what = format!("version {version} is not supported; this library reads version {VERSION}");
        return Err(Error::Unsupported { stage: "series", what });
    }
    Ok(())
}

/// The kinds of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Step,
    Slab,
    Index,
}

impl Kind {
    pub(super) const fn magic(self) -> [u8; 4] {
        match self {
            Kind::Step => *b"STEP",
            Kind::Slab => *b"SLAB",
            Kind::Index => *b"LIST",
        }
    }
}

/// The beginning of a record. Its own offset is part of it, so that a copy of a record elsewhere is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) kind: Kind,
    /// Checksum of the payload.
    pub(super) sum: u32,
    /// Offset of the record in the series.
    pub(super) at: u64,
    /// Bytes of the payload.
    pub(super) bytes: u64,
}

impl Record {
    pub(super) fn of(kind: Kind, at: u64, payload: &[u8]) -> Record {
        Record { kind, sum: crc32fast::hash(payload), at, bytes: payload.len() as u64 }
    }

    pub(super) fn to_bytes(self) -> [u8; RECORD as usize] {
        let mut bytes = [0; RECORD as usize];
        bytes[..4].copy_from_slice(&self.kind.magic());
        bytes[4..8].copy_from_slice(&self.sum.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.at.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.bytes.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    /// The record at `at`; `None`: these bytes are not the beginning of a record of this offset.
    pub(super) fn from_bytes(bytes: &[u8; RECORD as usize], at: u64) -> Option<Record> {
        let kind = [Kind::Step, Kind::Slab, Kind::Index].into_iter().find(|k| bytes[..4] == k.magic())?;
        let record = Record { kind, sum: half(bytes, 4), at: word(bytes, 8), bytes: word(bytes, 16) };
        let fits = record.at == at && record.bytes <= u64::MAX - at - RECORD;
        (fits && record.to_bytes() == *bytes).then_some(record)
    }

    /// Offset of the payload.
    pub(super) fn payload(&self) -> u64 {
        self.at + RECORD
    }

    /// Offset of the first byte after the record.
    pub(super) fn end(&self) -> u64 {
        self.payload() + self.bytes
    }
}

/// The payload of the record of a step.
pub(super) fn describe(name: &str, array: &Array, rows: u64) -> Vec<u8> {
    let mut bytes = vec![array.dtype() as u8, array.dims().len() as u8];
    bytes.extend((name.len() as u16).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(rows.to_le_bytes());
    bytes.extend(array.dims().iter().flat_map(|d| d.to_le_bytes()));
    bytes.extend(name.bytes());
    bytes
}

/// Reads a description, and no byte after it.
pub(super) fn described(src: &mut dyn Read) -> io::Result<Result<(String, Array, u64)>> {
    let mut fixed = [0; FIXED];
    src.read_exact(&mut fixed)?;
    let (ndim, name_bytes) = (usize::from(fixed[1]), usize::from(u16::from_le_bytes([fixed[2], fixed[3]])));
    if !(1..=MAX_DIMS).contains(&ndim) || name_bytes > MAX_NAME_BYTES {
        let what = format!("a step has {ndim} dimensions and a name of {name_bytes} bytes");
        return Ok(Err(damaged(what)));
    }
    let mut rest = [0; 8 * MAX_DIMS + MAX_NAME_BYTES];
    let rest = &mut rest[..8 * ndim + name_bytes];
    src.read_exact(rest)?;
    let (dims, name) = rest.split_at(8 * ndim);
    let dims: Vec<u64> = (0..ndim).map(|d| word(dims, 8 * d)).collect();
    Ok(description(&fixed, &dims, name))
}

fn description(fixed: &[u8; FIXED], dims: &[u64], name: &[u8]) -> Result<(String, Array, u64)> {
    let inside = |e: Error| damaged(e.to_string());
    let dtype = DType::from_number(fixed[0].into()).map_err(inside)?;
    let array = Array::new(dtype, dims).map_err(inside)?;
    let name = std::str::from_utf8(name).map_err(|_| damaged("the name of a step is not UTF-8"))?;
    check_name(name).map_err(inside)?;
    let rows = word(fixed, 8);
    if rows == 0 || fixed[4..8] != [0; 4] {
        return Err(damaged(format!("a step has slabs of {rows} rows, or reserved bytes that are not 0")));
    }
    Ok((name.to_owned(), array, rows))
}

/// Rejects names that cannot be printed, or that look like the position of a step.
pub(super) fn check_name(name: &str) -> Result<()> {
    let digits = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    if name.len() > MAX_NAME_BYTES || name.chars().any(char::is_control) || digits {
        let expected =
            format!("at most {MAX_NAME_BYTES} bytes of UTF-8 without control characters, not digits alone");
        return Err(Error::argument("name of a step", format!("{name:?}"), expected));
    }
    Ok(())
}

/// The entry of a step in the index.
pub(super) fn entry(step: &Step) -> Vec<u8> {
    let mut bytes = step.at.start.to_le_bytes().to_vec();
    bytes.extend(step.at.end.to_le_bytes());
    bytes.extend(describe(&step.name, &step.array, step.rows));
    bytes
}

/// Reads the entry of a step that begins at `after` or later.
pub(super) fn step_of_entry(src: &mut dyn Read, after: u64) -> io::Result<Result<Step>> {
    let mut range = [0; 16];
    src.read_exact(&mut range)?;
    let (start, end) = (word(&range, 0), word(&range, 8));
    Ok(described(src)?.and_then(|(name, array, rows)| {
        if start < after || end < start {
            return Err(damaged(format!(
                "step {name:?} is at bytes {start} to {end}, which is not possible"
            )));
        }
        Ok(Step { name, array, rows, at: start..end })
    }))
}

/// The end of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    /// Offset of the index.
    pub(super) index: u64,
    /// Number of steps.
    pub(super) steps: u64,
    /// Bytes of the series.
    pub(super) bytes: u64,
}

impl Footer {
    pub(super) fn to_bytes(self) -> [u8; FOOTER as usize] {
        let mut bytes = [0; FOOTER as usize];
        bytes[..8].copy_from_slice(&self.index.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.steps.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[24..28].copy_from_slice(&FOOTER_MAGIC);
        seal(&mut bytes);
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; FOOTER as usize]) -> Option<Footer> {
        let footer = Footer { index: word(bytes, 0), steps: word(bytes, 8), bytes: word(bytes, 16) };
        (footer.to_bytes() == *bytes).then_some(footer)
    }
}

fn half(bytes: &[u8], at: usize) -> u32 {
    let mut half = [0; 4];
    half.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(half)
}
