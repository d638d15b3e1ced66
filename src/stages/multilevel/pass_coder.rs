//! A pass of an encoder: its codes, and the values that a decoder restores.

use super::code::{Coder, Codes, Symbol};
use super::encode::Source;
use super::grid::Pass;
use super::known::{Known, Predicted};
use super::params::EXACT;
use super::value::LevelValue;
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::stages::wide::{Work, widest};
use std::ops::Range;

/// Points of a part of a row, which is coded at once, and points of a task.
const PART: usize = 2048;
const TASK: usize = 1 << 14;

/// The properties that all points of a pass share.
#[derive(Clone, Copy)]
pub(super) struct PassCoder<'a, T> {
    pub(super) source: &'a Source<'a, T>,
    pub(super) dims: [usize; 3],
    pub(super) known: &'a Known<T>,
    pub(super) pass: &'a Pass,
    pub(super) stencil: u8,
    pub(super) coder: &'a Coder<T>,
}

/// The destination of restored values: a separate grid, the places between the points that were known before, or none if no later
/// pass requires them.
pub(super) enum Restored<'a, T> {
    Apart(&'a mut [T]),
    Joined(&'a mut [T]),
    Nowhere,
}

impl<'a, T> Restored<'a, T> {
    /// Splits off the places of the first `points` points, which are `joined` places of a joined grid.
    fn cut(self, points: usize, joined: usize) -> Option<(Restored<'a, T>, Restored<'a, T>)> {
        Some(match self {
            Restored::Apart(all) => {
                let (own, rest) = all.split_at_mut_checked(points)?;
                (Restored::Apart(own), Restored::Apart(rest))
            }
            Restored::Joined(all) => {
                let (own, rest) = all.split_at_mut_checked(joined)?;
                (Restored::Joined(own), Restored::Joined(rest))
            }
            Restored::Nowhere => (Restored::Nowhere, Restored::Nowhere),
        })
    }
}

/// Codes in the order of the points, and exact values with their places.
type Coded = (Codes, Vec<(usize, u64)>);

impl<T: LevelValue> PassCoder<'_, T> {
    pub(super) fn code(&self, to: Restored<'_, T>, threads: Parallel<'_>) -> Result<Coded, Fault> {
        let n = self.pass.points[0];
        let mut codes = Codes::new(self.pass.count())?;
        let per_row = n.div_ceil(PART);
        let parts = per_row * self.pass.points[1] * self.pass.points[2];
        let per_task = (TASK / n.min(PART)).max(1);
        let (mut symbols, mut large) = (&mut codes.symbols[..], &mut codes.large[..]);
        let (mut tasks, mut to, mut at) = (vec![], to, (0, 0));
        for first in (0..parts).step_by(per_task) {
            let end = parts.min(first + per_task);
            let (row, part) = (end / per_row, end % per_row);
            let ends = (row * n + part * PART, row * (n + self.pass.known) + 2 * part * PART);
            let (own_to, rest) = to.cut(ends.0 - at.0, ends.1 - at.1).ok_or(Fault::BadLaunch)?;
            let (own, rest_symbols) = symbols.split_at_mut(ends.0 - at.0);
            let (own_large, rest_large) = large.split_at_mut(ends.0 - at.0);
            tasks.push((first..end, (own, own_large), own_to));
            (symbols, large, to, at) = (rest_symbols, rest_large, rest, ends);
        }
        let buffer = || Buffer::<T>::new(n.min(PART));
        let exact: Result<Vec<_>, Fault> = threads
            .each(tasks, buffer, |buffer, (parts, codes, to)| {
                widest(PartWork { of: *self, parts, codes, to, buffer })
            })
            .into_iter()
            .collect();
        Ok((codes, exact?.concat()))
    }
}

/// Working memory for a part of a row.
struct Buffer<T> {
    x: Vec<T>,
    p: Vec<T>,
    contexts: Vec<u8>,
}

impl<T: LevelValue> Buffer<T> {
    fn new(n: usize) -> Buffer<T> {
        let values = || vec![T::ZERO; n];
        Buffer { x: values(), p: values(), contexts: vec![0; n] }
    }
}

struct PartWork<'a, 'b, T> {
    of: PassCoder<'a, T>,
    parts: Range<usize>,
    codes: (&'b mut [Symbol], &'b mut [u32]),
    to: Restored<'b, T>,
    buffer: &'b mut Buffer<T>,
}

impl<T: LevelValue> Work for PartWork<'_, '_, T> {
    type Result = Result<Vec<(usize, u64)>, Fault>;

    #[inline(always)]
    fn run(self) -> Result<Vec<(usize, u64)>, Fault> {
        let PartWork { of, parts, codes: (mut symbols, mut large), mut to, buffer } = self;
        let PassCoder { source, dims, known, pass, stencil, coder } = of;
        let n = pass.points[0];
        let per_row = n.div_ceil(PART);
        let mut exact = vec![];
        for part in parts {
            let (row, start) = (part / per_row, part % per_row * PART);
            let count = PART.min(n - start);
            let (x, contexts) = (&mut buffer.x[..count], &mut buffer.contexts[..count]);
            let joined = if start + count == n { n + pass.known - 2 * start } else { 2 * count };
            let (mut own_to, rest) = to.cut(count, joined).ok_or(Fault::BadLaunch)?;
            to = rest;
            let p = match &mut own_to {
                Restored::Apart(own) => own,
                _ => &mut buffer.p[..count],
            };
            let (first, next) = pass.row(dims, row);
            let from = &source.values[first + start * next..];
            match next {
                1 => x.copy_from_slice(&from[..count]),
                2 => x.iter_mut().zip(from.chunks(2)).for_each(|(x, pair)| *x = pair[0]),
                _ => x.iter_mut().zip(from.iter().step_by(next)).for_each(|(x, v)| *x = *v),
            }
            known.predict(&coder.predictor, stencil, pass, (row, start), Predicted { p, contexts });
            let (own, own_large);
            (own, symbols) = std::mem::take(&mut symbols).split_at_mut(count);
            (own_large, large) = std::mem::take(&mut large).split_at_mut(count);
            let left = &known.left(pass, (row, start))[..count];
            if coder.row(x, left, contexts, p, (own, own_large)) {
                let raw = own.iter().enumerate().filter(|(_, s)| u32::from(s.token()) == EXACT);
                exact.extend(raw.map(|(i, _)| (row * n + start + i, x[i].bits())));
            }
            if let Restored::Joined(own) = own_to {
                known.join_row(pass, (row, start), &buffer.p[..count], own);
            }
        }
        Ok(exact)
    }
}
