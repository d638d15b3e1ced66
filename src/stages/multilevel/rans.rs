//! One run: 32 interleaved states.

use super::bits::{BitReader, BitWriter};
use super::params::{FREQUENCY_BITS, STEP};
use crate::base::error::Fault;

pub(super) const LANES: usize = STEP as usize;
/// A lane whose state is below this reads a word, as long as it has some.
const LEAST: u32 = 1 << 16;
/// A state that is shifted by so many bits and then not below the frequency would overflow.
const ROOM: u32 = 32 - FREQUENCY_BITS;
/// The least number of bits of a lane is in the first word of a run if it is below this.
const ESCAPE: u32 = 2047;

/// Codes a run from its end on.
pub(super) struct RunEncoder {
    states: [u32; LANES],
    counts: [u32; LANES],
    /// From the last one on.
    words: Vec<u16>,
}

impl RunEncoder {
    pub(super) fn new() -> RunEncoder {
        RunEncoder { states: [0; LANES], counts: [0; LANES], words: vec![] }
    }

    /// Makes room in every lane for which `overflows` holds.
    #[inline(always)]
    fn make_room(&mut self, overflows: impl Fn(usize, u32) -> bool) {
        for l in (0..LANES).rev() {
            if overflows(l, self.states[l]) {
                self.words.push(self.states[l] as u16);
                self.states[l] >>= 16;
                self.counts[l] += 1;
            }
        }
    }

    /// A symbol of each lane: its frequency and the sum of those before it. Lanes of frequency 0 have no symbol.
    #[inline(always)]
    pub(super) fn symbols(&mut self, of: &[u16; LANES], before: &[u16; LANES]) {
        self.make_room(|l, x| of[l] > 0 && x >> ROOM >= u32::from(of[l]));
        for l in 0..LANES {
            let (x, f) = (self.states[l], u32::from(of[l]));
            if let (Some(whole), Some(rest)) = (x.checked_div(f), x.checked_rem(f)) {
                self.states[l] = (whole << FREQUENCY_BITS) + u32::from(before[l]) + rest;
            }
        }
    }

    /// As many bits of each lane, at most 16.
    pub(super) fn bits(&mut self, count: &[u32; LANES], value: &[u32; LANES]) {
        self.make_room(|l, x| count[l] > 0 && x >> (32 - count[l]) > 0);
        for l in 0..LANES {
            self.states[l] = self.states[l] << count[l] | value[l];
        }
    }

    /// The run as it is stored.
    pub(super) fn finish(self) -> Vec<u16> {
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
        all.extend(self.words.iter().rev());
        all
    }
}

/// Decodes a run from its start on.
pub(super) struct RunDecoder<'a> {
    pub(super) states: [u32; LANES],
    /// Words that a lane will read.
    counts: [u32; LANES],
    words: &'a [u16],
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

    /// Lanes of `active`, as bits, read words where they have too little.
    #[inline(always)]
    pub(super) fn refill(&mut self, active: u32) {
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

    /// Whether nothing is left.
    pub(super) fn is_finished(&self) -> Result<(), Fault> {
        if self.words.is_empty() && self.states == [0; LANES] { Ok(()) } else { Err(Fault::Corrupt) }
    }
}
