//! Encoder and decoder of one run, which has 32 interleaved states.

use super::bits::{BitReader, BitWriter};
use super::params::{FREQUENCY_BITS, STEP};
#[cfg(target_arch = "x86_64")]
use super::wide_encode;
use crate::base::error::Fault;
#[cfg(target_arch = "x86_64")]
use crate::stages::wide::available;

pub(super) const LANES: usize = STEP as usize;
/// A lane whose state is below this number reads a word if it has one left.
const LEAST: u32 = 1 << 16;
/// A lane writes a word if its state, shifted right by this number of bits, is not below the frequency: the next state would overflow.
const ROOM: u32 = 32 - FREQUENCY_BITS;
/// The length of the shortest lane is in the first word of a run if it is below this number.
const ESCAPE: u32 = 2047;

/// A symbol of an encoder's table: its frequency in the low 16 bits, and the sum of the frequencies before it in the high ones.
#[derive(Clone, Copy, Default, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub(super) struct Share(u32);

impl Share {
    pub(super) fn new(of: u16, before: u16) -> Share {
        Share(u32::from(of) | u32::from(before) << 16)
    }
}

/// Encodes a run from its last step to its first.
pub(super) struct RunEncoder {
    pub(super) states: [u32; LANES],
    pub(super) counts: [u32; LANES],
    /// The words in reverse order, of which the first `used` are written.
    words: Vec<u16>,
    pub(super) used: usize,
}

impl RunEncoder {
    pub(super) fn new() -> RunEncoder {
        RunEncoder { states: [0; LANES], counts: [0; LANES], words: vec![0; 1024], used: 0 }
    }

    /// Room for a word of each lane.
    #[inline(always)]
    pub(super) fn room(&mut self) -> &mut [u16] {
        if self.words.len() < self.used + LANES {
            self.words.resize(2 * self.words.len(), 0);
        }
        &mut self.words[self.used..self.used + LANES]
    }

    /// Encodes a symbol of each lane. A lane of frequency 0 has no symbol.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn symbols(&mut self, shares: &[Share; LANES]) {
        #[cfg(target_arch = "x86_64")]
        if available() {
            // SAFETY: `available` is true.
            return unsafe { wide_encode::symbols(self, shares) };
        }
        self.plain_symbols(shares);
    }

    pub(super) fn plain_symbols(&mut self, shares: &[Share; LANES]) {
        let (mut states, mut counts, mut used) = (self.states, self.counts, 0);
        let room = self.room();
        for l in (0..LANES).rev() {
            let (of, before, x) = (shares[l].0 & 0xffff, shares[l].0 >> 16, states[l]);
            let writes = u32::from((x >> ROOM >= of) & (of > 0));
            room[used % LANES] = x as u16;
            used += writes as usize;
            counts[l] += writes;
            let x = x >> (16 * writes);
            // A lane without a symbol has the frequency 0, and its state is unchanged.
            if let Some(whole) = x.checked_div(of) {
                states[l] = (whole << FREQUENCY_BITS) + before + (x - whole * of);
            }
        }
        (self.states, self.counts) = (states, counts);
        self.used += used;
    }

    /// As many bits of each lane, at most 16.
    #[allow(unsafe_code)]
    pub(super) fn bits(&mut self, count: &[u32; LANES], value: &[u32; LANES]) {
        #[cfg(target_arch = "x86_64")]
        if available() {
            // SAFETY: `available` is true.
            return unsafe { wide_encode::raw(self, count, value) };
        }
        self.plain_bits(count, value);
    }

    pub(super) fn plain_bits(&mut self, count: &[u32; LANES], value: &[u32; LANES]) {
        let (mut states, mut counts, mut used) = (self.states, self.counts, 0);
        let room = self.room();
        for l in (0..LANES).rev() {
            let x = states[l];
            let writes = u32::from(u64::from(x) >> (32 - count[l]) > 0);
            room[used % LANES] = x as u16;
            used += writes as usize;
            counts[l] += writes;
            states[l] = x >> (16 * writes) << count[l] | value[l];
        }
        (self.states, self.counts) = (states, counts);
        self.used += used;
    }

    /// Returns the words of the run. The next run may follow.
    pub(super) fn finish(&mut self) -> Vec<u16> {
        let length = |l: usize| 16 * self.counts[l] + u32::BITS - self.states[l].leading_zeros();
        let lengths: [u32; LANES] = std::array::from_fn(length);
        let least = lengths.iter().fold(u32::MAX, |a, &b| a.min(b));
        let most = lengths.iter().fold(0, |a, &b| a.max(b));
        let width = u32::BITS - (most - least).leading_zeros();
        let mut bits = BitWriter::default();
        bits.put(width | least.min(ESCAPE) << 5, 16);
        if least >= ESCAPE {
            bits.put(least, 32);
        }
        lengths.iter().for_each(|n| bits.put(n - least, width));
        for x in self.states.iter().filter(|x| **x > 1) {
            let n = x.ilog2();
            bits.put(x & ((1 << n) - 1), n);
        }
        let mut all = bits.finish();
        all.reserve_exact(self.used);
        all.extend(self.words[..self.used].iter().rev());
        (self.states, self.counts, self.used) = ([0; LANES], [0; LANES], 0);
        all
    }
}

/// Decodes a run from its first step to its last.
pub(super) struct RunDecoder<'a> {
    pub(super) states: [u32; LANES],
    /// The number of words that each lane has left.
    pub(super) counts: [u32; LANES],
    pub(super) words: &'a [u16],
}

impl<'a> RunDecoder<'a> {
    pub(super) fn new(run: &'a [u16]) -> Result<RunDecoder<'a>, Fault> {
        let mut bits = BitReader::new(run);
        let first = bits.take(16)?;
        let (width, mut least) = (first & 31, first >> 5);
        if least == ESCAPE {
            least = bits.take(32)?;
        }
        let mut lengths = [0; LANES];
        let (mut counts, mut sum) = ([0; LANES], 0u64);
        for (n, count) in lengths.iter_mut().zip(&mut counts) {
            let all = least.checked_add(bits.take(width)?).ok_or(Fault::Corrupt)?;
            *count = all.saturating_sub(32).div_ceil(16);
            *n = all - 16 * *count;
            sum += u64::from(*count);
        }
        let mut states = [0; LANES];
        for (x, &n) in states.iter_mut().zip(&lengths).filter(|(_, n)| **n > 0) {
            *x = 1 << (n - 1) | bits.take(n - 1)?;
        }
        let words = &run[bits.words_taken()..];
        if words.len() as u64 != sum {
            return Err(Fault::Corrupt);
        }
        Ok(RunDecoder { states, counts, words })
    }

    /// Each lane whose bit in `active` is set reads a word if its state is below [`LEAST`] and it has a word left.
    #[inline(always)]
    pub(super) fn refill(&mut self, active: u32) {
        // A lane reads at most one word, so 32 words are sufficient. A lane that reads none ignores the word at its index.
        let Some(words) = self.words.get(..LANES) else { return self.refill_at_end(active) };
        let mut used = 0;
        for l in 0..LANES {
            let x = self.states[l];
            let reads = u32::from(x < LEAST) & u32::from(self.counts[l] > 0) & (active >> l);
            let word = u32::from(words[used % LANES]);
            self.states[l] = if reads > 0 { x << 16 | word } else { x };
            self.counts[l] -= reads;
            used += reads as usize;
        }
        self.words = &self.words[used..];
    }

    #[cold]
    pub(super) fn refill_at_end(&mut self, active: u32) {
        for l in 0..LANES {
            if self.states[l] < LEAST && self.counts[l] > 0 && active >> l & 1 == 1 {
                if let Some((&word, rest)) = self.words.split_first() {
                    self.states[l] = self.states[l] << 16 | u32::from(word);
                    self.counts[l] -= 1;
                    self.words = rest;
                }
            }
        }
    }

    /// As many bits of each lane, at most 16.
    pub(super) fn bits(&mut self, count: &[u32; LANES]) -> [u32; LANES] {
        let mut active = 0;
        let mut values = [0; LANES];
        for l in 0..LANES {
            let n = count[l];
            values[l] = self.states[l] & ((1 << n) - 1);
            self.states[l] >>= n;
            active |= u32::from(n > 0) << l;
        }
        self.refill(active);
        values
    }

    /// Fails if a state or a word is left.
    pub(super) fn is_finished(&self) -> Result<(), Fault> {
        if self.words.is_empty() && self.states == [0; LANES] { Ok(()) } else { Err(Fault::Corrupt) }
    }
}
