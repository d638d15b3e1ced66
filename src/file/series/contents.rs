//! The steps of a series: from its index, or by a search for their records.

use super::wire::{self, FOOTER, Footer, HEADER, Kind, MAGIC, MOST_DESCRIPTION, RECORD, Record};
use super::{Step, Storage, damaged};
use crate::base::error::{Error, Result};
use crate::codec::buffer;
use crate::file::FileOp;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

/// Bytes that are read at a time.
const PIECE: usize = 1 << 16;

/// What a series contains.
pub(super) struct Contents {
    pub(super) steps: Vec<Step>,
    /// Offset of the first byte after the last complete step; 0 if the header is incomplete.
    pub(super) end: u64,
    /// Bytes of the storage.
    pub(super) bytes: u64,
    /// True if the index was read.
    pub(super) indexed: bool,
}

/// A storage with the name that errors call it by.
pub(super) struct Named<'s, S> {
    pub(super) storage: &'s S,
    pub(super) name: &'s Path,
}

impl<S: Storage> Named<'_, S> {
    /// Fills `into`; false if the storage ends before.
    pub(super) fn fill(&self, at: u64, into: &mut [u8]) -> Result<bool> {
        self.ends(self.storage.read_at(at, into)).map(|read| read.is_some())
    }

    /// `None`: the storage ended early.
    fn ends<T>(&self, read: io::Result<T>) -> Result<Option<T>> {
        match read {
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(None),
            read => FileOp { path: self.name, doing: "read" }.io(read).map(Some),
        }
    }

    pub(super) fn bytes(&self) -> Result<u64> {
        FileOp { path: self.name, doing: "read" }.io(self.storage.bytes())
    }

    /// The record that begins at `at`, whose payload may be incomplete.
    pub(super) fn record(&self, at: u64) -> Result<Option<Record>> {
        let mut bytes = [0; RECORD as usize];
        Ok(if self.fill(at, &mut bytes)? { Record::from_bytes(&bytes, at) } else { None })
    }

    /// True if the checksum of the payload matches.
    fn is_whole(&self, record: &Record) -> Result<bool> {
        let mut payload = Payload::new(self.storage, record.payload()..record.end());
        let mut piece = buffer((PIECE as u64).min(record.bytes))?;
        loop {
            match self.ends(payload.read(&mut piece))? {
                None => return Ok(false),
                Some(0) => return Ok(payload.sum.finalize() == record.sum),
                Some(_) => {}
            }
        }
    }

    /// The description in the record of a step.
    pub(super) fn description(&self, record: &Record) -> Result<Option<Step>> {
        if record.kind != Kind::Step || record.bytes > MOST_DESCRIPTION as u64 {
            return Ok(None);
        }
        let mut payload = [0; MOST_DESCRIPTION];
        let payload = &mut payload[..record.bytes as usize];
        if !self.fill(record.payload(), payload)? || crc32fast::hash(payload) != record.sum {
            return Ok(None);
        }
        let mut rest = &*payload;
        let described = self.ends(wire::described(&mut rest))?;
        let Some(Ok((name, array, rows))) = described.filter(|_| rest.is_empty()) else { return Ok(None) };
        Ok(Some(Step { name, array, rows, at: record.at..record.end() }))
    }

    /// The contents of a series.
    pub(super) fn contents(&self) -> Result<Contents> {
        let bytes = self.bytes()?;
        let mut first = [0; HEADER as usize];
        let first = &mut first[..bytes.min(HEADER) as usize];
        if !self.fill(0, first)? {
            return Err(FileOp { path: self.name, doing: "read" }.shorter());
        }
        if first.len() < 4 || first[..4] != MAGIC {
            return Err(Error::NotAContainer("it does not begin with the header of a series".into()));
        }
        match first.first_chunk() {
            Some(header) => wire::check_header(header)?,
            // The writer was interrupted before there was a step.
            None if wire::header().starts_with(first) => {
                return Ok(Contents { steps: vec![], end: 0, bytes, indexed: false });
            }
            None => return Err(damaged("its header is incomplete")),
        }
        match self.index(bytes)? {
            Some(steps) => {
                let end = steps.last().map_or(HEADER, |step| step.at.end);
                Ok(Contents { steps, end, bytes, indexed: true })
            }
            // A writer may have changed the length meanwhile.
            None => self.search(self.bytes()?),
        }
    }

    /// The steps that the index lists; `None`: it is missing or damaged. A number of the index becomes memory only together with
    /// bytes that are present.
    fn index(&self, bytes: u64) -> Result<Option<Vec<Step>>> {
        let Some(at) = bytes.checked_sub(FOOTER) else { return Ok(None) };
        let mut footer = [0; FOOTER as usize];
        if !self.fill(at, &mut footer)? {
            return Ok(None);
        }
        let Some(footer) = Footer::from_bytes(&footer).filter(|f| f.bytes == bytes) else { return Ok(None) };
        let record = self.record(footer.index)?.filter(|r| r.kind == Kind::Index && r.end() == at);
        let Some(record) = record else { return Ok(None) };
        let payload = Payload::new(self.storage, record.payload()..record.end());
        let mut src = BufReader::with_capacity(PIECE, payload);
        let (mut steps, mut end) = (vec![], HEADER);
        for _ in 0..footer.steps {
            let Some(Ok(step)) = self.ends(wire::step_of_entry(&mut src, end))? else { return Ok(None) };
            end = step.at.end;
            steps.try_reserve(1).map_err(|_| Error::OutOfMemory(0))?;
            steps.push(step);
        }
        let exact = self.ends(src.read(&mut [0]))? == Some(0) && end == record.at;
        Ok((exact && src.into_inner().sum.finalize() == record.sum).then_some(steps))
    }

    /// The complete steps, found by their records. The records of a step are complete before the next step begins. Only the last step
    /// may be without some of its bytes, so its checksums are compared.
    fn search(&self, bytes: u64) -> Result<Contents> {
        let (mut steps, mut at): (Vec<Step>, u64) = (vec![], HEADER);
        loop {
            match self.step_at(at, bytes)? {
                Found::Step(step) => {
                    at = step.at.end;
                    steps.push(step);
                }
                Found::Cut => break,
                Found::Other(place) => match self.next_step(place.max(at + 1), bytes)? {
                    Some(next) => at = next,
                    None => break,
                },
            }
        }
        if let Some(last) = steps.pop() {
            if self.has_all(&last)? {
                steps.push(last);
            }
        }
        let end = steps.last().map_or(HEADER, |step| step.at.end);
        Ok(Contents { steps, end, bytes, indexed: false })
    }

    fn step_at(&self, at: u64, bytes: u64) -> Result<Found> {
        if bytes.saturating_sub(at) < RECORD {
            return Ok(Found::Cut);
        }
        let Some(record) = self.record(at)? else { return Ok(Found::Other(at)) };
        if record.end() > bytes {
            return Ok(Found::Cut);
        }
        let Some(mut step) = self.description(&record)? else { return Ok(Found::Other(record.end())) };
        for _ in 0..step.slabs() {
            let at = step.at.end;
            if bytes.saturating_sub(at) < RECORD {
                return Ok(Found::Cut);
            }
            let slab = self.record(at)?.filter(|r| r.kind == Kind::Slab);
            let Some(slab) = slab else { return Ok(Found::Other(at)) };
            if slab.end() > bytes {
                return Ok(Found::Cut);
            }
            step.at.end = slab.end();
        }
        Ok(Found::Step(step))
    }

    /// Offset of the next record of a step from `at` on.
    fn next_step(&self, mut at: u64, bytes: u64) -> Result<Option<u64>> {
        let magic = Kind::Step.magic();
        let mut piece = buffer(PIECE as u64)?;
        while bytes.saturating_sub(at) >= RECORD {
            let length = (bytes - at).min(PIECE as u64) as usize;
            let piece = &mut piece[..length];
            if !self.fill(at, piece)? {
                return Ok(None);
            }
            // Pieces overlap by the length of a record less 1, so that each record is in one of them.
            let places = length - (RECORD as usize - 1);
            for place in (0..places).filter(|&p| piece[p] == magic[0] && piece[p..].starts_with(&magic)) {
                let head = piece[place..].first_chunk();
                let here = at + place as u64;
                if head.is_some_and(|head| Record::from_bytes(head, here).is_some()) {
                    return Ok(Some(here));
                }
            }
            at += places as u64;
        }
        Ok(None)
    }

    fn has_all(&self, step: &Step) -> Result<bool> {
        let mut at = step.at.start;
        while at < step.at.end {
            let Some(record) = self.record(at)? else { return Ok(false) };
            if record.kind == Kind::Slab && !self.is_whole(&record)? {
                return Ok(false);
            }
            at = record.end();
        }
        Ok(true)
    }
}

/// What is at an offset.
enum Found {
    /// A step, whose payloads are not checked.
    Step(Step),
    /// The beginning of a record that the end of the file cuts off; nothing can follow it.
    Cut,
    /// Anything else; the next step begins at this offset or later.
    Other(u64),
}

/// The payload of a record with the checksum of the bytes that were read.
struct Payload<'s, S> {
    storage: &'s S,
    range: std::ops::Range<u64>,
    sum: crc32fast::Hasher,
}

impl<'s, S> Payload<'s, S> {
    fn new(storage: &'s S, range: std::ops::Range<u64>) -> Self {
        Payload { storage, range, sum: crc32fast::Hasher::new() }
    }
}

impl<S: Storage> Read for Payload<'_, S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.range.end - self.range.start;
        let bytes = left.min(into.len() as u64) as usize;
        let into = &mut into[..bytes];
        self.storage.read_at(self.range.start, into)?;
        self.sum.update(into);
        self.range.start += bytes as u64;
        Ok(bytes)
    }
}
