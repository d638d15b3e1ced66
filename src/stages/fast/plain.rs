//! The operations on the codes of a unit as the page defines them, for any machine.

use super::grid::{LANES, PART, ROW, UNIT, place};
use super::unit::{Body, CodedMask, Codes, Halves, INTER, INTRA, Measured, OFFSETS, Widths, length, signed};
use super::value::{FastQuantize, FastValue};

/// See the module.
pub(super) struct Plain;

/// Differences in x, then in y; in one dimension with the code before. The first one is the code itself.
fn differences(ndim: u32, codes: &Codes) -> Codes {
    let q = |i: usize, back: usize| if i >= back { codes[i - back] } else { 0 };
    std::array::from_fn(|i| {
        let (x, y) = (i % ROW, i / ROW);
        match (ndim, x, y) {
            (1, ..) | (_, _, 0) => codes[i] - q(i, 1),
            (_, 0, _) => codes[i] - q(i, ROW),
            _ => (codes[i] - q(i, 1)) - (q(i, ROW) - q(i, ROW + 1)),
        }
    })
}

/// The inverse of [`differences`].
fn sums(ndim: u32, d: &mut Codes) {
    for i in 1..UNIT {
        if ndim == 1 || i % ROW > 0 {
            d[i] = d[i].wrapping_add(d[i - 1]);
        }
    }
    if ndim > 1 {
        (ROW..UNIT).for_each(|i| d[i] = d[i].wrapping_add(d[i - ROW]));
    }
}

/// Calls `f` with half and lane of each part, in the order that planes have.
fn parts(mut f: impl FnMut(usize, usize)) {
    (0..2).for_each(|half| (0..LANES).for_each(|lane| f(half, lane)));
}

fn widths(ndim: u32, values: &Codes, sign: bool) -> Widths {
    let mut widths = [[0; LANES]; 2];
    parts(|half, lane| {
        let most = (0..PART).map(|i| values[place(ndim, lane, half, i)].unsigned_abs()).max();
        let length = length(most.unwrap_or(0));
        widths[half][lane] = if sign { signed(length) } else { length };
    });
    widths
}

/// Codes, differences, and differences of these to those of the unit before.
pub(super) struct PlainWork([Codes; 3]);

impl Default for PlainWork {
    fn default() -> PlainWork {
        PlainWork([[0; UNIT]; 3])
    }
}

impl Body for Plain {
    type Work = PlainWork;

    fn measure(ndim: u32, codes: &Codes, before: &mut Codes, inter: bool, work: &mut PlainWork) -> Measured {
        let d = differences(ndim, codes);
        let PlainWork([offsets, intra, second]) = work;
        let least = codes.iter().copied().min().unwrap_or(0);
        *offsets = codes.map(|c| c - least);
        *intra = d;
        intra[0] = 0;
        if inter {
            *second = std::array::from_fn(|i| d[i] - before[i]);
        }
        *before = d;
        Measured {
            least,
            first: codes[0],
            offsets: widths(ndim, offsets, false),
            intra: widths(ndim, intra, true),
            inter: inter.then(|| widths(ndim, second, true)),
        }
    }

    fn planes(ndim: u32, mode: u16, _: i32, widths: &Widths, work: &PlainWork, out: &mut Halves) {
        let PlainWork([offsets, intra, second]) = work;
        let values = match mode {
            OFFSETS => offsets,
            INTRA => intra,
            _ => second,
        };
        for plane in 0..widths.iter().flatten().copied().max().unwrap_or(0) {
            parts(|half, lane| {
                if widths[half][lane] > plane {
                    let bit = |i| (values[place(ndim, lane, half, i)] >> plane & 1) as u16;
                    out.0.push((0..PART).map(|i| bit(i) << i).sum());
                }
            });
        }
    }

    fn quantize<T: FastValue>(
        x: &[T; UNIT],
        q: &FastQuantize<T>,
        reference: i64,
        codes: &mut Codes,
        coded: &mut CodedMask,
    ) -> bool {
        for ((to, coded), x) in codes.iter_mut().zip(&mut *coded).zip(x) {
            let code = x.multiple(q).and_then(|m| T::code(m, reference));
            *to = code.unwrap_or(0);
            *coded = code.is_some();
        }
        coded.iter().all(|c| *c)
    }

    fn restore<T: FastValue>(codes: &Codes, reference: i64, step: T, x: &mut [T; UNIT]) {
        for (x, &code) in x.iter_mut().zip(codes) {
            *x = T::restore(reference.wrapping_add(code.into()), step);
        }
    }

    fn codes(ndim: u32, mode: u16, base: i32, widths: &Widths, planes: &[u8], codes: &mut Codes) {
        let mut values = [0i32; UNIT];
        let mut halves = planes.chunks_exact(2).map(|h| u16::from_le_bytes([h[0], h[1]]));
        for plane in 0..widths.iter().flatten().copied().max().unwrap_or(0) {
            parts(|half, lane| {
                if widths[half][lane] > plane {
                    let bits = i32::from(halves.next().unwrap_or(0));
                    (0..PART).for_each(|i| values[place(ndim, lane, half, i)] |= (bits >> i & 1) << plane);
                }
            });
        }
        if mode == OFFSETS {
            *codes = values.map(|v| base.wrapping_add(v));
            return;
        }
        parts(|half, lane| {
            let shift = i32::BITS - widths[half][lane];
            for i in (0..PART).filter(|_| shift < i32::BITS) {
                let v = &mut values[place(ndim, lane, half, i)];
                *v = *v << shift >> shift;
            }
        });
        sums(ndim, &mut values);
        let inter = mode == INTER;
        codes.iter_mut().zip(values).for_each(|(c, v)| *c = (if inter { *c } else { base }).wrapping_add(v));
    }
}
