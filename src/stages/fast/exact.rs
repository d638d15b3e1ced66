//! Exact values of a unit, and the codes in their places.

use super::grid::{LANES, PART, UNIT, place};
use super::unit::{CodedMask, Codes, Words};
use super::value::FastValue;
use crate::base::error::Fault;

/// Values of a lane.
const LANE: usize = 2 * PART;

/// How they are stored.
const NONE: u16 = 0;
const ONE: u16 = 1;
const SEVERAL: u16 = 2;
const ALL: u16 = 3;

/// The index of element `e` of a lane in the rows.
fn element(ndim: u32, lane: usize, e: usize) -> usize {
    place(ndim, lane, e / PART, e % PART)
}

/// The exact values of a unit, and as words.
#[derive(Default)]
pub(super) struct Exact<T> {
    kind: u16,
    values: Vec<T>,
    words: Vec<u32>,
}

/// Per lane, the elements that are exact.
fn masks(ndim: u32, coded: &CodedMask) -> [u32; LANES] {
    std::array::from_fn(|lane| {
        let mut mask = 0;
        for e in (0..LANE).step_by(4) {
            let at = element(ndim, lane, e);
            let four = &coded[at..at + 4];
            mask |= four.iter().enumerate().fold(0, |bits, (k, c)| bits | u32::from(!c) << k) << e;
        }
        mask
    })
}

impl<T: FastValue> Exact<T> {
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.words.clear();
        self.kind = NONE;
    }

    /// Their field of the descriptor, and their words.
    pub(super) fn words(&self) -> (u16, &[u32]) {
        (self.kind, &self.words)
    }

    /// Finds them, and gives their places the codes of coded neighbors, so that no difference notices them.
    pub(super) fn find(&mut self, ndim: u32, coded: &CodedMask, x: &[T; UNIT], codes: &mut Codes) {
        let masks = masks(ndim, coded);
        let mut usual = (0..LANES).filter(|&lane| masks[lane] != u32::MAX);
        let first = usual.next().map_or(0, |lane| {
            let e = masks[lane].trailing_ones(); // seed: fast-stand-first
            codes[element(ndim, lane, e as usize)]
        });
        let lanes = || masks.iter().copied().enumerate().filter(|(_, mask)| *mask != 0);
        for (lane, mask) in lanes() {
            let mut last = first;
            for e in 0..LANE {
                let i = element(ndim, lane, e);
                if mask >> e & 1 == 0 {
                    last = codes[i];
                } else {
                    codes[i] = last; // seed: fast-stand-in
                    self.values.push(x[i]);
                }
            }
        }
        let one = self.values.iter().all(|v| v.same(self.values[0]));
        self.kind = match (one, self.values.len()) {
            (true, UNIT) => ALL,
            (true, _) => ONE,
            (false, _) => SEVERAL,
        };
        if self.kind != ALL {
            self.words.push(lanes().map(|(lane, _)| 1 << lane).sum());
            self.words.extend(lanes().map(|(_, mask)| mask));
        }
        let stored = if one { &self.values[..1] } else { &self.values[..] };
        self.words.extend(bytemuck::cast_slice::<T, u32>(stored));
    }
}

fn value<T: FastValue>(input: &mut Words<'_>) -> Result<T, Fault> {
    let mut value = T::ZERO;
    for word in bytemuck::cast_slice_mut::<T, u32>(std::slice::from_mut(&mut value)) {
        *word = input.word()?;
    }
    Ok(value)
}

/// Reads exact values and their places among the rows.
pub(super) fn read<T: FastValue>(
    ndim: u32,
    kind: u16,
    input: &mut Words<'_>,
    found: &mut Vec<(usize, T)>,
) -> Result<(), Fault> {
    found.clear();
    if kind == NONE {
        return Ok(());
    }
    if kind == ALL {
        let one = value(input)?;
        found.extend((0..UNIT).map(|i| (i, one)));
        return Ok(());
    }
    let lanes = input.word()?;
    for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
        let mask = input.word()?;
        let elements = (0..LANE).filter(|e| mask >> e & 1 != 0);
        found.extend(elements.map(|e| (element(ndim, lane, e), T::ZERO)));
    }
    if kind == ONE {
        let one = value(input)?;
        found.iter_mut().for_each(|f| f.1 = one);
        return Ok(());
    }
    for f in found.iter_mut() {
        f.1 = value(input)?;
    }
    Ok(())
}
