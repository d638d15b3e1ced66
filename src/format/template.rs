//! Headers as templates, and how they are filled in.

use super::crc32;
use crate::base::error::{Error, Result};
use crate::base::parallel::Parallel;
use crate::base::wire::Writer;
use crate::ir::stage::{Config, RuntimeField};
use crate::ir::value::Val;
use std::ops::Range;

/// A field of a header that the run fills in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// A field of the metadata of a stage.
    RuntimeField(RuntimeField),
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
    /// Bytes that no reader needs: the request of the encoder's caller. They do not follow from the rest.
    Informational(Vec<u8>),
    /// Capacity of an outlier list, in 8 bytes. No reader needs it, and containers of one encoder may differ in it.
    Capacity(u64),
    Fixed(Field, usize),
    Varint(Field),
    /// Four bytes for a checksum, zero until everything else is in place.
    Crc(Crc),
}

impl Piece {
    /// The most bytes that it takes.
    fn longest(&self) -> usize {
        match self {
            Piece::Bytes(b) | Piece::Informational(b) => b.len(),
            Piece::Capacity(_) => 8,
            Piece::Fixed(_, width) => *width,
            Piece::Varint(_) => 10,
            Piece::Crc(_) => 4,
        }
    }
}

/// The bytes that a checksum covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crc {
    /// The payload.
    Data,
    /// The header, with zeros in this field.
    Header,
    /// Everything but this field.
    Rest,
}

/// Bytes behind the header.
#[derive(Clone, Copy, Debug)]
pub(super) enum Segment {
    /// A value of the plan.
    Value(Val),
    /// A field of the metadata, as a number of four bytes.
    Count(RuntimeField),
}

/// A header and the segments behind it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template {
    pub(super) pieces: Vec<Piece>,
    pub(super) segments: Vec<Segment>,
}

impl Template {
    pub(super) fn new(segments: Vec<Segment>) -> Template {
        Template { pieces: vec![], segments }
    }

    /// The segments of a container whose header was read elsewhere.
    pub(crate) fn without_header(segments: impl Iterator<Item = Val>) -> Template {
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

    pub(super) fn informational(&mut self, write: impl FnOnce(&mut Writer)) {
        let mut w = Writer::default();
        write(&mut w);
        self.pieces.push(Piece::Informational(w.0));
    }

    pub(super) fn capacity(&mut self, capacity: u64) {
        self.pieces.push(Piece::Capacity(capacity));
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
            self.fixed(Field::RuntimeField(patch.runtime_field), patch.width);
            at = patch.at + patch.width;
        }
        self.bytes(|w| w.bytes(&config.bytes[at..]));
    }

    /// The header's length, where every header has the same.
    pub(crate) fn header_bytes(&self) -> Option<u64> {
        let fixed = self.pieces.iter().all(|p| !matches!(p, Piece::Varint(_)));
        fixed.then(|| self.header_bound())
    }

    /// The longest header.
    pub(crate) fn header_bound(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.longest() as u64).sum()
    }

    /// True if a container begins with such a header, as far as the header does not depend on the values of the array. False where
    /// headers have several lengths.
    pub(crate) fn begins(&self, container: &[u8]) -> bool {
        let mut rest = container;
        self.header_bytes().is_some()
            && self.pieces.iter().all(|piece| {
                let Some((own, behind)) = rest.split_at_checked(piece.longest()) else { return false };
                rest = behind;
                !matches!(piece, Piece::Bytes(bytes) if bytes != own)
            })
    }

    /// Fills the header in; checksums are still zero.
    fn header(&self, report: &Report<'_>, out: &mut Vec<u8>) -> Result<()> {
        let mut w = Writer(std::mem::take(out));
        w.0.clear();
        for piece in &self.pieces {
            match piece {
                Piece::Bytes(b) | Piece::Informational(b) => w.bytes(b),
                Piece::Capacity(capacity) => w.u64(*capacity),
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
            Field::RuntimeField(runtime_field) => return report.runtime_field(runtime_field, out),
            Field::SegmentBytes(i) => self.segments.get(i).map_or(0, |s| report.segment_bytes(s)),
            Field::SegmentOffset(i) => self.segments.iter().take(i).map(|s| report.segment_bytes(s)).sum(),
            Field::PayloadBytes => self.payload_bytes(report),
        };
        put(number, out)
    }

    /// Fills the header in; returns the length of the container.
    pub(crate) fn fill(&self, report: &Report<'_>, header: &mut Vec<u8>) -> Result<u64> {
        self.header(report, header)?;
        Ok(header.len() as u64 + self.payload_bytes(report))
    }

    fn payload_bytes(&self, report: &Report<'_>) -> u64 {
        self.segments.iter().map(|s| report.segment_bytes(s)).sum()
    }

    /// Writes `header`, as [`Template::fill`] has made it, and the segments: a container of `bytes` bytes at the front of `dst`.
    pub(crate) fn seal(
        &self,
        header: &[u8],
        bytes: u64,
        report: &Report<'_>,
        dst: &mut [u8],
        threads: Parallel<'_>,
    ) -> Result<usize> {
        let have = dst.len() as u64;
        let dst = usize::try_from(bytes).ok().and_then(|n| dst.get_mut(..n));
        let dst = dst.ok_or(Error::DstTooSmall { need: bytes, have })?;
        let (front, mut rest) = dst.split_at_mut_checked(header.len()).ok_or(SHORT)?;
        front.copy_from_slice(header);
        for segment in &self.segments {
            let bytes = report.segment_bytes(segment) as usize;
            let (mine, next) = rest.split_at_mut_checked(bytes).ok_or(SHORT)?;
            match segment {
                Segment::Value(v) => threads.copy(report.bytes(*v)?, mine),
                Segment::Count(runtime_field) => report.runtime_field(*runtime_field, mine)?,
            }
            rest = next;
        }
        self.seal_checksums(header.len(), dst, threads)?;
        Ok(dst.len())
    }

    fn seal_checksums(&self, header: usize, dst: &mut [u8], threads: Parallel<'_>) -> Result<()> {
        for (at, piece) in self.places(dst) {
            let Piece::Crc(crc) = piece else { continue };
            let value = match crc {
                Crc::Data => crc32(threads, &[&dst[header..]]),
                Crc::Header => crc32(threads, &[&dst[..header]]), // seed: head-checksum
                Crc::Rest => crc32(threads, &[&dst[..at.start], &dst[at.end..]]), // seed: frame-checksum
            };
            dst[at].copy_from_slice(&value.to_le_bytes());
        }
        Ok(())
    }

    /// The places of the pieces in a completed header.
    fn places(&self, header: &[u8]) -> Vec<(Range<usize>, &Piece)> {
        let (mut places, mut at) = (vec![], 0);
        for piece in &self.pieces {
            let bytes = match piece {
                Piece::Bytes(b) | Piece::Informational(b) => b.len(),
                Piece::Capacity(_) => 8,
                Piece::Fixed(_, width) => *width,
                // The length of a number shows in its bytes: the last one has the high bit clear.
                Piece::Varint(_) => 1 + header[at..].iter().take_while(|&&b| b & 0x80 != 0).count(),
                Piece::Crc(_) => 4,
            };
            places.push((at..at + bytes, piece));
            at += bytes;
        }
        places
    }

    /// True if the completed template is this header, except for checksums, capacities, and informational fields.
    pub(super) fn matches(&self, report: &Report<'_>, header: &[u8]) -> Result<bool> {
        let mut own = vec![];
        self.header(report, &mut own)?;
        if own.len() != header.len() {
            return Ok(false);
        }
        for (at, piece) in self.places(&own) {
            if let Piece::Crc(_) | Piece::Capacity(_) | Piece::Informational(_) = piece {
                own[at.clone()].copy_from_slice(&header[at]);
            }
        }
        Ok(own == header) // seed: one-form
    }

    /// Copies the informational fields of `header`, so that comparing with it succeeds.
    pub(crate) fn adopt_informational(&mut self, header: &[u8]) {
        let said = self.places(header).into_iter().map(|(at, piece)| match piece {
            Piece::Informational(_) => header.get(at).map(<[u8]>::to_vec),
            _ => None,
        });
        let said: Vec<_> = said.collect();
        for (piece, said) in self.pieces.iter_mut().zip(said) {
            if let Some(bytes) = said {
                *piece = Piece::Informational(bytes);
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

/// The results of a run, or their description in a parsed container: lengths, metadata, and segments.
#[derive(Clone, Copy)]
pub(crate) struct Report<'a> {
    /// Length of a value.
    pub(crate) length: &'a dyn Fn(Val) -> u64,
    /// Bytes of a segment or metadata.
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
        (self.bytes)(v).ok_or(Error::Internal("a segment or runtime_field has no place"))
    }

    fn runtime_field(&self, runtime_field: RuntimeField, out: &mut [u8]) -> Result<()> {
        match runtime_field {
            RuntimeField::Count { of, unit } => put((self.length)(of) / unit, out),
            RuntimeField::Stored { of, at } | RuntimeField::Bound { of, at } => {
                let field = self.bytes(of)?.get(at as usize..at as usize + out.len());
                out.copy_from_slice(
                    field.ok_or(Error::Internal("a runtime_field is shorter than its field"))?,
                );
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the bytes that all headers have are compared.
    #[test]
    fn containers_begin_with_the_bytes_of_their_template() {
        let mut template = Template::new(vec![]);
        template.bytes(|w| w.bytes(b"ab"));
        template.informational(|w| w.bytes(&[1]));
        template.capacity(7);
        template.fixed(Field::PayloadBytes, 4);
        template.crc(Crc::Data);
        template.bytes(|w| w.bytes(b"c"));
        let mut container = [&b"ab"[..], &[0; 17], b"c", &[9; 3]].concat();
        assert!(template.begins(&container));
        for k in 0..container.len() {
            container[k] ^= 1;
            assert_eq!(template.begins(&container), ![0, 1, 19].contains(&k), "{k}");
            container[k] ^= 1;
            assert_eq!(template.begins(&container[..k]), k >= 20, "{k}");
        }
        template.varint(Field::PayloadBytes);
        assert!(!template.begins(&container));
    }
}
