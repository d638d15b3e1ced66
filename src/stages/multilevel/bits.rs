//! Fields of bits in words of 16 bits, the lowest bits first.

use crate::base::error::Fault;

/// Appends fields.
#[derive(Default)]
pub(super) struct BitWriter {
    words: Vec<u16>,
    held: u64,
    count: u32,
}

impl BitWriter {
    /// Appends the low `n` bits of `value`; `n` is at most 32.
    pub(super) fn put(&mut self, value: u32, n: u32) {
        self.held |= u64::from(value) << self.count;
        self.count += n;
        while self.count >= 16 {
            self.words.push(self.held as u16);
            self.held >>= 16;
            self.count -= 16;
        }
    }

    /// Returns the words; the last one is padded with zeros.
    pub(super) fn finish(mut self) -> Vec<u16> {
        if self.count > 0 {
            self.words.push(self.held as u16);
        }
        self.words
    }
}

/// Reads fields from words of a container; a field beyond the last word is a fault.
pub(super) struct BitReader<'a> {
    words: &'a [u16],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(words: &'a [u16]) -> BitReader<'a> {
        BitReader { words, at: 0 }
    }

    pub(super) fn take(&mut self, n: u32) -> Result<u32, Fault> {
        let end = self.at + n as usize;
        if end > 16 * self.words.len() {
            return Err(Fault::Corrupt);
        }
        let mut value = 0u64;
        for (k, i) in (self.at / 16..end.div_ceil(16)).enumerate() {
            value |= u64::from(self.words[i]) << (16 * k);
        }
        let value = value >> (self.at % 16) & ((1u64 << n) - 1);
        self.at = end;
        Ok(value as u32)
    }

    /// The number of words that bits were read from.
    pub(super) fn words_taken(&self) -> usize {
        self.at.div_ceil(16)
    }

    /// True if only padding of the last word is left.
    pub(super) fn is_at_end(&self) -> bool {
        self.at.div_ceil(16) == self.words.len()
    }
}
