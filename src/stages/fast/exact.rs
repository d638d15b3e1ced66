//! Exact values of a unit, and the codes that stand in for them.

use super::grid::{LANES, PART, UNIT, place};
use super::unit::{Codes, Words};
use super::value::{Quantize, Value};
use crate::error::Fault;

/// Values of a lane.
const LANE: usize = 2 * PART;

/// How they are stored.
const NONE: u16 = 0;
const ONE: u16 = 1;
const SEVERAL: u16 = 2;
const ALL: u16 = 3;

/// Where element `e` of a lane stands among the rows.
fn element(ndim: u32, lane: usize, e: usize) -> usize {
    place(ndim, lane, e / PART, e % PART)
}

/// The exact values of a unit as words.
#[derive(Default)]
pub(super) struct Exact {
    kind: u16,
    words: Vec<u32>,
}

impl Exact {
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.kind = NONE;
    }

    /// What a descriptor says of them, and the words.
    pub(super) fn words(&self) -> (u16, &[u32]) {
        (self.kind, &self.words)
    }

    /// Finds them, and gives their places the codes of carried neighbours, so that no difference notices them.
    pub(super) fn find<T: Value>(
        &mut self,
        ndim: u32,
        q: &Quantize<T>,
        anchor: i64,
        x: &[T; UNIT],
        codes: &mut Codes,
    ) {
        let carried = x.map(|x| x.multiple(q).is_some_and(|m| T::code(m, anchor).is_some()));
        let mut masks = [0u32; LANES];
        let mut values = vec![];
        let places = || (0..LANES).flat_map(|lane| (0..LANE).map(move |e| (lane, e, element(ndim, lane, e))));
        let first = places().find(|p| carried[p.2]).map_or(0, |p| codes[p.2]);
        let mut last = first;
        for (lane, e, i) in places() {
            if e == 0 {
                last = first;
            }
            if carried[i] {
                last = codes[i];
            } else {
                codes[i] = last;
                masks[lane] |= 1 << e;
                values.push(x[i]);
            }
        }
        let one = values.iter().all(|v| v.same(values[0]));
        self.kind = match (one, values.len()) {
            (true, UNIT) => ALL,
            (true, _) => ONE,
            (false, _) => SEVERAL,
        };
        if self.kind != ALL {
            let lanes = masks.iter().enumerate().filter(|(_, m)| **m != 0);
            self.words.push(lanes.clone().map(|(lane, _)| 1 << lane).sum());
            self.words.extend(lanes.map(|(_, m)| *m));
        }
        let stored = if one { &values[..1] } else { &values[..] };
        self.words.extend(bytemuck::cast_slice::<T, u32>(stored));
    }
}

fn value<T: Value>(input: &mut Words<'_>) -> Result<T, Fault> {
    let mut value = T::ZERO;
    for word in bytemuck::cast_slice_mut::<T, u32>(std::slice::from_mut(&mut value)) {
        *word = input.word()?;
    }
    Ok(value)
}

/// Reads exact values and their places among the rows.
pub(super) fn read<T: Value>(
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
