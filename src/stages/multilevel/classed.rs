//! A section of codes with a class for each batch, for other stages.

pub(in crate::stages) use super::classed_encode::{Batches, Plan};
use super::code::{CODES, EXACT};
pub(in crate::stages) use super::known::room;
use super::open::{Exact, Opened};
use super::params::{BATCH, EXACT as EXACT_TOKEN, PATTERN, STEP};
pub(in crate::stages) use super::params::{
    DECODER_SET_BYTES, ENCODER_SET_BYTES, MASK_RUN, RUN_ROOM, RUN_WARPS,
};
use super::rans::LANES;
use super::section::{Form, Kind};
use super::steps::Layout;
use super::tables::SYMBOLS;
use crate::base::error::Fault;
use crate::base::parallel::Parallel;

/// Codes of a batch.
pub(in crate::stages) const POINTS: usize = (STEP * BATCH) as usize;
/// Codes are below this; larger numbers are [`LONG`] and have a value of their own.
pub(in crate::stages) const MOST: u32 = CODES;
pub(in crate::stages) const LONG: u32 = EXACT;

/// Bits of a value of [`LONG`], and whether numbers of steps have 64 bits.
pub(super) fn form(bits: u32, codes: usize) -> Form {
    Form { exact: bits, wide: codes >= 1 << 31 }
}

/// The codes of a section.
pub(in crate::stages) struct OpenedClasses {
    classes: Vec<u8>,
    /// Batches of class 0 have none.
    codes: Vec<u32>,
    before: Vec<usize>,
    width: usize,
    long: Exact,
}

/// The codes of a batch.
#[derive(Clone, Copy)]
pub(in crate::stages) struct Batch<'a> {
    pub(in crate::stages) class: u8,
    /// None in class 0, and more than there are points in the last step.
    pub(in crate::stages) codes: &'a [u32],
    /// The values of [`LONG`], in order.
    pub(in crate::stages) long: &'a [(usize, u64)],
}

impl OpenedClasses {
    /// Reads a section of `n` codes, at least one. If `bits` is 0, codes are not long.
    pub(in crate::stages) fn read(
        words: &[u16],
        n: usize,
        bits: u32,
        threads: Parallel<'_>,
    ) -> Result<OpenedClasses, Fault> {
        let layout = Layout::rows(n, 1);
        let opened = Opened::new(words, &layout, Kind::Differences, form(bits, n), threads)?;
        if !opened.rest.is_empty() {
            return Err(Fault::Corrupt);
        }
        // Before anything is allocated for long codes.
        let last = if bits > 0 { PATTERN..EXACT_TOKEN } else { PATTERN..EXACT_TOKEN + 1 };
        if opened.lookup.of.chunks(SYMBOLS).any(|of| last.clone().any(|token| of[token as usize][0] > 0)) {
            return Err(Fault::Corrupt);
        }
        let classes =
            |batch: usize, _: std::ops::Range<usize>, own: &mut [u8; LANES]| own.fill(opened.classes[batch]);
        let (codes, long) = opened.codes(&layout, classes, bits, threads)?;
        let mut before = room::<usize>(opened.before.len())?;
        before.copy_from_slice(&opened.before);
        Ok(OpenedClasses { codes, before, width: layout.width(), long, classes: opened.classes })
    }

    pub(in crate::stages) fn batches(&self) -> usize {
        self.classes.len()
    }

    pub(in crate::stages) fn batch(&self, i: usize) -> Batch<'_> {
        let class = self.classes[i];
        if class == 0 {
            return Batch { class, codes: &[], long: &[] };
        }
        let first = self.before[i];
        let next = self.before.get(i + 1).copied().unwrap_or(self.codes.len() / self.width);
        let of = |step: usize| self.long.partition_point(|(place, _)| *place < step * LANES);
        let long = if self.long.is_empty() { &[] } else { &self.long[of(first)..of(next)] };
        Batch { class, codes: &self.codes[first * self.width..next * self.width], long }
    }
}
