//! The codes of a unit as base, widths and bit planes.

use super::grid::{LANES, UNIT};
use super::params;
use super::value::{FastQuantize, FastValue};
use crate::base::error::Fault;

/// Codes of a unit, or differences of them, row by row.
pub(super) type Codes = [i32; UNIT];
/// Which values of a unit have codes, row by row.
pub(super) type CodedMask = [bool; UNIT];
/// Widths of the parts: of the first halves of the lanes, and of the second ones, as planes have them.
pub(super) type Widths = [[u32; LANES]; 2];

/// Modes of a unit, as descriptors have them.
pub(super) const OFFSETS: u16 = params::OFFSETS as u16;
pub(super) const INTRA: u16 = params::INTRA as u16;
pub(super) const INTER: u16 = params::INTER as u16;

/// The contents of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) mode: u16,
    /// The least width, and bits of the widths above it.
    least: u16,
    bits: u16,
    /// How the exact values of the unit are stored.
    pub(super) exact: u16,
    /// Both halves of a lane have one width.
    joint: bool,
}

impl Descriptor {
    pub(super) fn bits(self) -> u16 {
        self.mode | self.least << 2 | self.bits << 8 | self.exact << 11 | u16::from(self.joint) << 13
    }

    /// `inter`: there is a unit before, and a third dimension.
    pub(super) fn read(bits: u16, inter: bool) -> Result<Descriptor, Fault> {
        let d = Descriptor {
            mode: bits & 3,
            least: bits >> 2 & 63,
            bits: bits >> 8 & 7,
            exact: bits >> 11 & 3,
            joint: bits >> 13 & 1 != 0,
        };
        if d.mode == 1 || (d.mode == INTER && !inter) || bits >> 14 != 0 {
            return Err(Fault::Corrupt);
        }
        Ok(d)
    }
}

/// Words of a chunk on their way out, low half first.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Halves(pub(super) Vec<u16>);

impl Halves {
    pub(super) fn word(&mut self, word: u32) {
        self.0.extend_from_slice(&[word as u16, (word >> 16) as u16]);
    }

    pub(super) fn words(&self) -> usize {
        self.0.len() / 2
    }
}

/// Words of a chunk on their way in.
pub(super) struct Words<'a>(pub(super) &'a [u8]);

impl<'a> Words<'a> {
    pub(super) fn word(&mut self) -> Result<u32, Fault> {
        let (word, rest) = self.0.split_first_chunk::<4>().ok_or(Fault::Corrupt)?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*word))
    }

    /// `count` halves and the half that fills up their last word.
    fn halves(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (halves, rest) = self.0.split_at_checked(2 * count.next_multiple_of(2)).ok_or(Fault::Corrupt)?;
        self.0 = rest;
        Ok(halves)
    }
}

/// Bits of a number.
#[inline(always)]
pub(super) fn length(v: u32) -> u32 {
    u32::BITS - v.leading_zeros()
}

/// The width that values with a sign have, the largest magnitude of which is this long.
#[inline(always)]
pub(super) fn signed(length: u32) -> u32 {
    length + u32::from(length > 0)
}

/// The measurements of a body for a unit.
pub(super) struct Measured {
    /// The least code, and the first.
    pub(super) least: i32,
    pub(super) first: i32,
    pub(super) offsets: Widths,
    pub(super) intra: Widths,
    /// Where there is a unit before, and a third dimension.
    pub(super) inter: Option<Widths>,
}

/// The work on all codes of a unit: once to be read, and once for wide registers.
pub(super) trait Body {
    /// The data that passes between the two halves of packing.
    type Work: Default;
    /// Widths in all modes. `before`: the differences of the unit before, in any order of the body's own; then those of
    /// this one.
    fn measure(ndim: u32, codes: &Codes, before: &mut Codes, inter: bool, work: &mut Self::Work) -> Measured;
    /// Appends the code planes of a unit that was measured.
    fn planes(ndim: u32, mode: u16, base: i32, widths: &Widths, work: &Self::Work, out: &mut Halves);
    /// The codes of values, and which values have one: all of them or not.
    fn quantize<T: FastValue>(
        x: &[T; UNIT],
        q: &FastQuantize<T>,
        reference: i64,
        codes: &mut Codes,
        coded: &mut CodedMask,
    ) -> bool;
    /// The values of codes.
    fn restore<T: FastValue>(codes: &Codes, reference: i64, step: T, x: &mut [T; UNIT]);
    /// Codes from planes; they hold those of the unit before.
    fn codes(ndim: u32, mode: u16, base: i32, widths: &Widths, planes: &[u8], codes: &mut Codes);
}

fn sum(widths: &Widths) -> u32 {
    widths.iter().flatten().sum()
}

/// The cost of a mode in units of 16 bits: either twice the larger widths of lanes, or the widths of both
/// halves, which have more bytes before the unit.
fn cost_of(widths: &Widths) -> u32 {
    let [first, second] = widths;
    let larger: u32 = first.iter().zip(second).map(|(a, b)| a.max(b)).sum();
    (2 * larger).min(sum(widths) + 8)
}

/// The least width, and the bits of the others above it.
fn span(widths: &Widths) -> (u32, u32) {
    let all = || widths.iter().flatten().copied();
    let least = all().min().unwrap_or(0);
    (least, length(all().max().unwrap_or(0) - least))
}

/// Gives both halves of each lane the larger width of the two, if the planes grow by no more than the widths
/// shrink: one word instead of two for each of their bits.
fn join(widths: &mut Widths) -> bool {
    let [first, second] = *widths;
    let larger = std::array::from_fn(|lane| first[lane].max(second[lane]));
    let joint = [larger; 2];
    // In units of 16 bits.
    let cost = |widths: &Widths, plane: u32| sum(widths) + plane * span(widths).1;
    let join = cost(&joint, 2) <= cost(widths, 4);
    if join {
        *widths = joint;
    }
    join
}

/// Writes a unit behind `out`. `exact`: how its exact values are stored, and as which words.
#[inline(always)]
pub(super) fn pack<B: Body>(
    ndim: u32,
    codes: &Codes,
    (before, inter): (&mut Codes, bool),
    (exact, exact_words): (u16, &[u32]),
    work: &mut B::Work,
    out: &mut Halves,
) -> Descriptor {
    let m = B::measure(ndim, codes, before, inter, work);
    // A base costs two halves; of equals the first of inter, offsets, intra.
    let (mut cost, mut mode, mut base, mut widths) = (cost_of(&m.offsets) + 2, OFFSETS, m.least, m.offsets);
    if cost_of(&m.intra) + 2 < cost {
        (cost, mode, base, widths) = (cost_of(&m.intra) + 2, INTRA, m.first, m.intra);
    }
    if let Some(inter) = m.inter.filter(|w| cost_of(w) <= cost) {
        (mode, base, widths) = (INTER, 0, inter);
    }
    let joint = join(&mut widths);
    let (least, bits) = span(&widths);
    if mode != INTER {
        out.word(base as u32);
    }
    for b in 0..bits {
        for half in &widths[usize::from(joint)..] {
            out.word((0..LANES).fold(0, |word, lane| word | ((half[lane] - least) >> b & 1) << lane));
        }
    }
    exact_words.iter().for_each(|&w| out.word(w));
    B::planes(ndim, mode, base, &widths, work, out);
    out.0.resize(out.0.len().next_multiple_of(2), 0);
    Descriptor { mode, least: least as u16, bits: bits as u16, exact, joint }
}

/// Reads a unit. `codes` are those of the unit before, and then those of this one; `exact` reads the exact
/// values, which are stored between widths and planes.
#[inline(always)]
pub(super) fn unpack<B: Body>(
    ndim: u32,
    d: Descriptor,
    codes: &mut Codes,
    input: &mut Words<'_>,
    exact: impl FnOnce(&mut Words<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let base = if d.mode == INTER { 0 } else { input.word()? as i32 };
    let mut widths = [[u32::from(d.least); LANES]; 2];
    for b in 0..d.bits {
        let first = input.word()?;
        let second = if d.joint { first } else { input.word()? };
        for (half, word) in widths.iter_mut().zip([first, second]) {
            half.iter_mut().enumerate().for_each(|(lane, w)| *w += (word >> lane & 1) << b);
        }
    }
    if widths.iter().flatten().any(|w| *w > i32::BITS) {
        return Err(Fault::Corrupt);
    }
    exact(input)?;
    let planes = input.halves(sum(&widths) as usize)?;
    B::codes(ndim, d.mode, base, &widths, planes, codes);
    Ok(())
}
