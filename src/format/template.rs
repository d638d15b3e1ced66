//! Heads as templates, and how they are filled in.

use super::crc32;
use crate::error::{Error, Result};
use crate::kernel::Threads;
use crate::launch::Val;
use crate::stage::{Config, Fact};
use crate::wire::Writer;
use std::ops::Range;

/// A field of a head that the run fills in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// A fact of a stage.
    Fact(Fact),
    /// Bytes of a segment.
    SegmentBytes(usize),
    /// Where a segment starts in the payload.
    SegmentOffset(usize),
    /// Bytes of all segments.
    PayloadBytes,
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    Bytes(Vec<u8>),
    /// Bytes that no reader needs: what the caller of the encoder asked for. They do not follow from the rest.
    Said(Vec<u8>),
    Fixed(Field, usize),
    Varint(Field),
    /// Four bytes for a checksum, zero until everything else is in place.
    Crc(Crc),
}

/// What a checksum covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crc {
    /// The payload.
    Data,
    /// The head, with zeros in this field.
    Head,
    /// Everything but this field.
    Rest,
}

/// Bytes behind the head.
#[derive(Clone, Copy, Debug)]
pub(super) enum Segment {
    /// A value of the plan.
    Value(Val),
    /// A fact, as a number of four bytes.
    Count(Fact),
}

/// A head and the segments behind it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template {
    pub(super) pieces: Vec<Piece>,
    pub(super) segments: Vec<Segment>,
}

impl Template {
    pub(super) fn new(segments: Vec<Segment>) -> Template {
        Template { pieces: vec![], segments }
    }

    /// The segments of a container whose head was read elsewhere.
    pub(crate) fn headless(segments: impl Iterator<Item = Val>) -> Template {
        Template::new(segments.map(Segment::Value).collect())
    }

    pub(super) fn bytes(&mut self, write: impl FnOnce(&mut Writer)) {
        let mut w = Writer::default();
        write(&mut w);
        match self.pieces.last_mut() {
            Some(Piece::Bytes(b)) => b.extend(w.0),
            _ => self.pieces.push(Piece::Bytes(w.0)),
        }
    }

    pub(super) fn said(&mut self, write: impl FnOnce(&mut Writer)) {
        let mut w = Writer::default();
        write(&mut w);
        self.pieces.push(Piece::Said(w.0));
    }

    pub(super) fn fixed(&mut self, field: Field, width: usize) {
        self.pieces.push(Piece::Fixed(field, width));
    }

    pub(super) fn varint(&mut self, field: Field) {
        self.pieces.push(Piece::Varint(field));
    }

    pub(super) fn crc(&mut self, crc: Crc) {
        self.pieces.push(Piece::Crc(crc));
    }

    pub(super) fn config(&mut self, config: &Config) {
        let mut at = 0;
        for patch in &config.patches {
            self.bytes(|w| w.bytes(&config.bytes[at..patch.at]));
            self.fixed(Field::Fact(patch.fact), patch.width);
            at = patch.at + patch.width;
        }
        self.bytes(|w| w.bytes(&config.bytes[at..]));
    }

    /// The head's length, where every head has the same.
    pub(crate) fn head_bytes(&self) -> Option<u64> {
        let fixed = self.pieces.iter().all(|p| !matches!(p, Piece::Varint(_)));
        fixed.then(|| self.head_bound())
    }

    /// The longest head.
    pub(crate) fn head_bound(&self) -> u64 {
        let piece = |p: &Piece| match p {
            Piece::Bytes(b) | Piece::Said(b) => b.len() as u64,
            Piece::Fixed(_, width) => *width as u64,
            Piece::Varint(_) => 10,
            Piece::Crc(_) => 4,
        };
        self.pieces.iter().map(piece).sum()
    }

    /// Fills the head in; checksums are still zero.
    pub(crate) fn head(&self, report: &Report<'_>, out: &mut Vec<u8>) -> Result<()> {
        let mut w = Writer(std::mem::take(out));
        w.0.clear();
        for piece in &self.pieces {
            match piece {
                Piece::Bytes(b) | Piece::Said(b) => w.bytes(b),
                Piece::Fixed(field, width) => {
                    let mut bytes = [0; 8];
                    self.field(*field, report, &mut bytes[..*width])?;
                    w.bytes(&bytes[..*width]);
                }
                Piece::Varint(field) => {
                    let mut bytes = [0; 8];
                    self.field(*field, report, &mut bytes)?;
                    w.varint(u64::from_le_bytes(bytes));
                }
                Piece::Crc(_) => w.u32(0),
            }
        }
        *out = w.0;
        Ok(())
    }

    fn field(&self, field: Field, report: &Report<'_>, out: &mut [u8]) -> Result<()> {
        let number = match field {
            Field::Fact(fact) => return report.fact(fact, out),
            Field::SegmentBytes(i) => self.segments.get(i).map_or(0, |s| report.segment_bytes(s)),
            Field::SegmentOffset(i) => self.segments.iter().take(i).map(|s| report.segment_bytes(s)).sum(),
            Field::PayloadBytes => self.payload_bytes(report),
        };
        put(number, out)
    }

    pub(crate) fn payload_bytes(&self, report: &Report<'_>) -> u64 {
        self.segments.iter().map(|s| report.segment_bytes(s)).sum()
    }

    /// Writes `head`, as [`Template::head`] has made it, and the segments. `dst` has the exact length.
    pub(crate) fn seal(
        &self,
        head: &[u8],
        report: &Report<'_>,
        dst: &mut [u8],
        threads: Threads<'_>,
    ) -> Result<()> {
        let (front, mut rest) = dst.split_at_mut_checked(head.len()).ok_or(SHORT)?;
        front.copy_from_slice(head);
        for segment in &self.segments {
            let bytes = report.segment_bytes(segment) as usize;
            let (mine, next) = rest.split_at_mut_checked(bytes).ok_or(SHORT)?;
            match segment {
                Segment::Value(v) => threads.copy(report.bytes(*v)?, mine),
                Segment::Count(fact) => report.fact(*fact, mine)?,
            }
            rest = next;
        }
        self.seal_checksums(head.len(), dst, threads)
    }

    fn seal_checksums(&self, head: usize, dst: &mut [u8], threads: Threads<'_>) -> Result<()> {
        for (at, piece) in self.places(dst) {
            let Piece::Crc(crc) = piece else { continue };
            let value = match crc {
                Crc::Data => crc32(threads, &[&dst[head..]]),
                Crc::Head => crc32(threads, &[&dst[..head]]),
                Crc::Rest => crc32(threads, &[&dst[..at.start], &dst[at.end..]]),
            };
            dst[at].copy_from_slice(&value.to_le_bytes());
        }
        Ok(())
    }

    /// Where the pieces stand in a head that was filled in.
    fn places(&self, head: &[u8]) -> Vec<(Range<usize>, &Piece)> {
        let (mut places, mut at) = (vec![], 0);
        for piece in &self.pieces {
            let bytes = match piece {
                Piece::Bytes(b) | Piece::Said(b) => b.len(),
                Piece::Fixed(_, width) => *width,
                // The length of a number shows in its bytes: the last one has the high bit clear.
                Piece::Varint(_) => 1 + head[at..].iter().take_while(|&&b| b & 0x80 != 0).count(),
                Piece::Crc(_) => 4,
            };
            places.push((at..at + bytes, piece));
            at += bytes;
        }
        places
    }

    /// Whether filling it in gives this head, in which checksums and what is only said may be anything.
    pub(super) fn makes(&self, report: &Report<'_>, head: &[u8]) -> Result<bool> {
        let mut own = vec![];
        self.head(report, &mut own)?;
        if own.len() != head.len() {
            return Ok(false);
        }
        for (at, piece) in self.places(&own) {
            if let Piece::Crc(_) | Piece::Said(_) = piece {
                own[at.clone()].copy_from_slice(&head[at]);
            }
        }
        Ok(own == head)
    }

    /// Says what a head says that it makes.
    pub(crate) fn quote(&mut self, head: &[u8]) {
        let said = self.places(head).into_iter().map(|(at, piece)| match piece {
            Piece::Said(_) => head.get(at).map(<[u8]>::to_vec),
            _ => None,
        });
        let said: Vec<_> = said.collect();
        for (piece, said) in self.pieces.iter_mut().zip(said) {
            if let Some(bytes) = said {
                *piece = Piece::Said(bytes);
            }
        }
    }
}

const SHORT: Error = Error::Internal("a container is longer than was reckoned");

/// `number` in as many bytes as `out` has.
fn put(number: u64, out: &mut [u8]) -> Result<()> {
    let bytes = number.to_le_bytes();
    let (low, high) =
        bytes.split_at_checked(out.len()).ok_or(Error::Internal("a field is wider than a number"))?;
    if high.iter().any(|&b| b != 0) {
        return Err(Error::Internal("a number does not fit its field"));
    }
    out.copy_from_slice(low);
    Ok(())
}

/// What a run leaves behind, or what a parsed container says of one: lengths, facts and segments.
#[derive(Clone, Copy)]
pub(crate) struct Report<'a> {
    /// Length of a value.
    pub(crate) length: &'a dyn Fn(Val) -> u64,
    /// Bytes of a segment or a fact value.
    pub(crate) bytes: &'a dyn Fn(Val) -> Option<&'a [u8]>,
}

impl<'a> Report<'a> {
    fn segment_bytes(&self, segment: &Segment) -> u64 {
        match segment {
            Segment::Value(v) => (self.length)(*v),
            Segment::Count(_) => 4,
        }
    }

    fn bytes(&self, v: Val) -> Result<&'a [u8]> {
        (self.bytes)(v).ok_or(Error::Internal("a segment or fact has no place"))
    }

    fn fact(&self, fact: Fact, out: &mut [u8]) -> Result<()> {
        match fact {
            Fact::Count { of, unit } => put((self.length)(of) / unit, out),
            Fact::Stored { of, at } | Fact::Bound { of, at } => {
                let field = self.bytes(of)?.get(at as usize..at as usize + out.len());
                out.copy_from_slice(field.ok_or(Error::Internal("a fact is shorter than its field"))?);
                Ok(())
            }
        }
    }
}
