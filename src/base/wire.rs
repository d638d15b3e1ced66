//! Bytes on the wire: explicit little-endian, every read checked.

use crate::base::error::{Error, Result};

/// Reads a header from front to back; running over the end is [`Error::Corrupt`], or [`Error::Truncated`] where more may
/// follow.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    place: &'static str,
    given: usize,
    rest: &'a [u8],
    /// For a beginning: the number of bytes that follow the next field in any case.
    follow: Option<usize>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(place: &'static str, bytes: &'a [u8]) -> Self {
        Reader { place, given: bytes.len(), rest: bytes, follow: None }
    }

    /// A reader of the beginning of longer data.
    pub(crate) fn beginning(place: &'static str, bytes: &'a [u8]) -> Self {
        Reader { follow: Some(0), ..Reader::new(place, bytes) }
    }

    /// Declares that at least this number of bytes follows the next field, so that few requests reach the
    /// end.
    pub(crate) fn before(&mut self, bytes: usize) -> &mut Self {
        self.follow = self.follow.map(|_| bytes);
        self
    }

    pub(crate) fn bytes(&mut self, n: usize) -> Result<&'a [u8]> {
        let (header, rest) = self.rest.split_at_checked(n).ok_or_else(|| match self.follow {
            None => Error::corrupt(self.place, "it ends too early"),
            Some(more) => Error::Truncated { needed: (self.given - self.rest.len() + n + more) as u64 }, // seed: beginning-asks-too-much
        })?;
        self.rest = rest;
        Ok(header)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.bytes(N)?);
        Ok(out)
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn f32(&mut self) -> Result<f32> {
        Ok(f32::from_le_bytes(self.array()?))
    }

    pub(crate) fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// An unsigned LEB128 number in its shortest form.
    pub(crate) fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                if byte == 0 && shift > 0 {
                    break;
                }
                return Ok(value);
            }
        }
        Err(Error::corrupt(self.place, "a number is not in its shortest form"))
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

/// Appends little-endian fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn bytes(&mut self, b: &[u8]) {
        self.0.extend_from_slice(b);
    }

    pub(crate) fn u8(&mut self, v: u8) {
        self.0.push(v);
    }

    pub(crate) fn u16(&mut self, v: u16) {
        self.bytes(&v.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, v: u32) {
        self.bytes(&v.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, v: u64) {
        self.bytes(&v.to_le_bytes());
    }

    pub(crate) fn f32(&mut self, v: f32) {
        self.bytes(&v.to_le_bytes());
    }

    pub(crate) fn f64(&mut self, v: f64) {
        self.bytes(&v.to_le_bytes());
    }

    pub(crate) fn varint(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.u8((v & 0x7f) as u8 | 0x80);
            v >>= 7;
        }
        self.u8(v as u8);
    }

    pub(crate) fn pad_to(&mut self, len: usize) {
        self.0.resize(len, 0);
    }
}
