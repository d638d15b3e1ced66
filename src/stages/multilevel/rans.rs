//! One run: 32 interleaved states.

use super::bits::{BitReader, BitWriter};
use super::params::{FREQUENCY_BITS, STEP};
use crate::base::error::Fault;

pub(super) const LANES: usize = STEP as usize;
/// States are below this only before a word is read.
const LEAST: u32 = 1 << 16;
/// A state that is shifted by so many bits and then not below the frequency would overflow.
const ROOM: u32 = 32 - FREQUENCY_BITS;

/// Codes a run from its end on.
pub(super) struct RunEncoder {
    states: [u32; LANES],
    /// From the last one on.
    words: Vec<u16>,
    tail: bool,
}

impl RunEncoder {
    pub(super) fn new() -> RunEncoder {
        RunEncoder { states: [0; LANES], words: vec![], tail: true }
    }

    /// Makes room in every lane for which `overflows` holds.
    #[inline(always)]
    fn make_room(&mut self, overflows: impl Fn(usize, u32) -> bool) {
        if self.tail {
            // In the tail states are below 2^32 - 2^16: see the page.
            if !(0..LANES).any(|l| overflows(l, self.states[l] + LEAST)) {
                return;
            }
            self.states.iter_mut().for_each(|x| *x += LEAST);
            self.tail = false;
        }
        for l in (0..LANES).rev() {
            if overflows(l, self.states[l]) {
                self.words.push(self.states[l] as u16);
                self.states[l] >>= 16;
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
        let lengths = self.states.map(|x| u32::BITS - x.leading_zeros());
        let least = lengths.iter().fold(u32::MAX, |a, &b| a.min(b));
        let most = lengths.iter().fold(0, |a, &b| a.max(b));
        let width = u32::BITS - (most - least).leading_zeros();
        let mut bits = BitWriter::default();
        bits.put(least | width << 6, 16);
        lengths.iter().for_each(|n| bits.put(n - least, width));
        for (x, n) in self.states.iter().zip(lengths).filter(|(_, n)| *n > 1) {
            bits.put(x & ((1 << (n - 1)) - 1), n - 1);
        }
        let mut all = bits.finish();
        all.extend(self.words.iter().rev());
        all
    }
}

/// Decodes a run from its start on.
pub(super) struct RunDecoder<'a> {
    pub(super) states: [u32; LANES],
    words: &'a [u16],
}

impl<'a> RunDecoder<'a> {
    pub(super) fn new(run: &'a [u16]) -> Result<RunDecoder<'a>, Fault> {
        let mut bits = BitReader::new(run);
        let first = bits.take(16)?;
        let (least, width) = (first & 63, first >> 6);
        if width > 6 {
            return Err(Fault::Corrupt);
        }
        let mut lengths = [0; LANES];
        for n in &mut lengths {
            *n = least + bits.take(width)?;
            if *n > 32 {
                return Err(Fault::Corrupt);
            }
        }
        let mut states = [0; LANES];
        for (x, &n) in states.iter_mut().zip(&lengths).filter(|(_, n)| **n > 0) {
            *x = 1 << (n - 1) | bits.take(n - 1)?;
        }
        let words = &run[bits.words_taken()..];
        Ok(RunDecoder { states, words })
    }

    /// Lanes of `active`, as bits, read words where they have too little.
    #[inline(always)]
    pub(super) fn refill(&mut self, active: u32) {
        if self.words.is_empty() {
            return;
        }
        for l in 0..LANES {
            if active >> l & 1 == 1 && self.states[l] < LEAST {
                if let Some((&word, rest)) = self.words.split_first() {
                    self.states[l] = self.states[l] << 16 | u32::from(word);
                    self.words = rest;
                }
            }
        }
        if self.words.is_empty() {
            self.states.iter_mut().for_each(|x| *x = x.wrapping_sub(LEAST));
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
