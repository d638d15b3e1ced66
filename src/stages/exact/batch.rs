//! Batches: from numbers to codes, classes, and low bits, and back.

use super::low;
use super::params::{CLASSES, KEPT, MOST_STEP};
use super::word::Word;
use crate::base::error::Fault;
use crate::stages::multilevel::classed::{Batch, LONG, MOST};

/// Bits of a long code of words of `bits` bits; 0: all codes are short.
pub(super) const fn long_bits(bits: u32) -> u32 {
    if bits < MOST.ilog2() { 0 } else { bits }
}

/// The lengths of numbers on average, in halves of bits, that the classes of a section represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    least: u32,
    step: u32,
}

impl Scale {
    /// For the lengths of a sample of batches.
    pub(super) fn new(mut lengths: Vec<u32>) -> Scale {
        lengths.sort_unstable();
        let n = lengths.len();
        let of = |i: usize| lengths.get(i).copied().unwrap_or(0);
        let (low, high) = (of(n / 16), of(n.saturating_sub(1 + n / 16)));
        let step = (0..MOST_STEP).find(|step| high - low <= (CLASSES - 3) << step).unwrap_or(MOST_STEP);
        Scale { least: low.saturating_sub(1 << step), step }
    }

    pub(super) fn word(self) -> u16 {
        (self.least | self.step << 8) as u16
    }

    pub(super) fn read(word: u16, bits: u32) -> Result<Scale, Fault> {
        let scale = Scale { least: u32::from(word) & 0xff, step: u32::from(word) >> 8 };
        if scale.least <= 2 * bits && scale.step <= MOST_STEP { Ok(scale) } else { Err(Fault::Corrupt) }
    }

    fn class(self, length: u32) -> u8 {
        (1 + (length.saturating_sub(self.least) >> self.step).min(CLASSES - 1)) as u8
    }

    /// The low bits that the numbers of a batch have besides their codes, at most `most`.
    fn low_bits(self, class: u8, most: u32) -> u32 {
        let Some(above) = u32::from(class).checked_sub(1) else { return 0 };
        ((self.least + (above << self.step)) / 2).saturating_sub(KEPT).min(most)
    }
}

/// The numbers of a batch; `holes` tells of elements that have none.
pub(super) struct Numbers<'a, W> {
    pub(super) u: &'a [W],
    pub(super) holes: Option<&'a [bool]>,
}

impl<W: Word> Numbers<'_, W> {
    /// The length of a number on average, in halves of bits; none if the batch is quiet.
    #[inline(always)]
    pub(super) fn length(&self) -> Option<u32> {
        let mut all = 0;
        for u in self.u {
            all += u.length();
        }
        let (lengths, count) = match self.holes {
            None => (all, if all > 0 { self.u.len() as u32 } else { 0 }),
            Some(holes) => {
                let of_holes = self.u.iter().zip(holes).filter(|(_, is_hole)| **is_hole);
                let (lengths, count) = of_holes.fold((0, 0), |(l, n), (u, _)| (l + u.length(), n + 1));
                (all - lengths, self.u.len() as u32 - count)
            }
        };
        if count == 0 { None } else { Some((4 * lengths + count) / (2 * count)) }
    }

    /// Writes the codes. Returns the class, and the number of low bits that numbers other than holes have.
    #[inline(always)]
    pub(super) fn code(&self, scale: Scale, codes: &mut [u32]) -> (u8, u32) {
        let class = self.length().map_or(0, |length| scale.class(length));
        let shift = scale.low_bits(class, W::BITS - KEPT);
        let one = u32::from(self.holes.is_some());
        for (code, &u) in codes.iter_mut().zip(self.u) {
            let high = u.shift_right(shift).wide();
            *code = if high < u64::from(MOST - one) { high as u32 + one } else { LONG };
        }
        for (code, &is_hole) in codes.iter_mut().zip(self.holes.unwrap_or_default()) {
            *code = if is_hole { 0 } else { *code };
        }
        (class, shift)
    }
}

/// Words of the low bits of a batch.
pub(super) fn low_words(batch: &Batch<'_>, points: usize, scale: Scale, bits: u32, has_holes: bool) -> usize {
    let shift = scale.low_bits(batch.class, bits - KEPT);
    if shift == 0 {
        return 0;
    }
    let codes = &batch.codes[..points];
    let fields = if has_holes { codes.iter().filter(|&&code| code > 0).count() } else { points };
    low::words(fields, shift)
}

/// The numbers of a batch from its low bits. Holes have 0, and are marked in `holes`.
pub(super) fn restore<W: Word>(
    batch: &Batch<'_>,
    scale: Scale,
    low: &[u16],
    u: &mut [W],
    holes: Option<&mut [bool]>,
) {
    let n = u.len();
    if batch.class == 0 {
        u.fill(W::ZERO);
        if let Some(holes) = holes {
            holes.fill(true);
        }
        return;
    }
    let shift = scale.low_bits(batch.class, W::BITS - KEPT);
    let codes = &batch.codes[..n];
    let one = u64::from(holes.is_some());
    let mut long = batch.long.iter().map(|(_, value)| *value);
    let mut number = |code: u32| match code {
        LONG => long.next().unwrap_or(0),
        code => code.into(),
    };
    let Some(holes) = holes else {
        if shift == 0 {
            u.iter_mut().zip(codes).for_each(|(u, &code)| *u = W::cut(number(code)));
        } else {
            for (i, (u, &code)) in u.iter_mut().zip(codes).enumerate() {
                *u = W::cut(number(code) << shift | low::get(low, i, shift));
            }
        }
        return;
    };
    let mut at = 0;
    for ((u, &code), hole) in u.iter_mut().zip(codes).zip(holes) {
        *hole = code == 0;
        *u = W::ZERO;
        if !*hole {
            let high = number(code).wrapping_sub(one) << shift;
            *u = W::cut(if shift > 0 { high | low::get(low, at, shift) } else { high });
            at += 1;
        }
    }
}
