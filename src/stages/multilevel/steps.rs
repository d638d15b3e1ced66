//! Steps and batches of a section: the places of their points among those of the section.

use super::params::{BATCH, STEP};
use std::ops::Range;

const LANES: usize = STEP as usize;
const STEPS: usize = BATCH as usize;

/// The steps of a section, as ranges of places in the order of its points.
pub(super) struct Layout {
    kind: Kind,
    pub(super) points: usize,
    pub(super) batches: usize,
    pub(super) steps: usize,
}

enum Kind {
    /// Rows of `length` points, each divided into steps.
    Rows { length: usize, per_row: usize },
    /// Lines of `steps` steps, one line for each strip of a row of `length` points. The steps of a line are `next` points apart, and the
    /// lines of consecutive rows are `apart` points apart.
    Lines { length: usize, strips: usize, steps: usize, next: usize, per_line: usize, apart: usize },
    /// The steps of several parts.
    Parts(Vec<Range<usize>>),
}

impl Layout {
    pub(super) fn rows(length: usize, rows: usize) -> Layout {
        let per_row = length.div_ceil(LANES);
        let steps = per_row * rows;
        let kind = Kind::Rows { length, per_row };
        Layout { kind, points: length * rows, batches: steps.div_ceil(STEPS), steps }
    }

    /// Lines of `along` steps that are `next` points apart, in `across` rows that are `apart` points apart.
    pub(super) fn lines(length: usize, along: usize, next: usize, across: usize, apart: usize) -> Layout {
        let strips = length.div_ceil(LANES);
        let per_line = along.div_ceil(STEPS);
        let lines = strips * across;
        let kind = Kind::Lines { length, strips, steps: along, next, per_line, apart };
        Layout { kind, points: length * along * across, batches: lines * per_line, steps: lines * along }
    }

    /// The steps of consecutive parts with these numbers of points, such as the passes of the base section.
    pub(super) fn parts(counts: &[usize]) -> Layout {
        let mut all = vec![];
        let mut at = 0;
        for &count in counts {
            all.extend((at..at + count).step_by(LANES).map(|i| i..(i + LANES).min(at + count)));
            at += count;
        }
        let steps = all.len();
        Layout { kind: Kind::Parts(all), points: at, batches: steps.div_ceil(STEPS), steps }
    }

    /// The largest number of points of a step: rows may be shorter than 32 points.
    pub(super) fn width(&self) -> usize {
        match &self.kind {
            Kind::Rows { length, .. } | Kind::Lines { length, .. } => LANES.min(*length),
            Kind::Parts(_) => LANES,
        }
    }

    /// The points of step `j` of a batch, if it exists.
    #[inline(always)]
    pub(super) fn step(&self, batch: usize, j: usize) -> Option<Range<usize>> {
        match &self.kind {
            Kind::Rows { length, per_row } => {
                let step = batch * STEPS + j;
                if step >= self.steps {
                    return None;
                }
                let (row, strip) = (step / per_row, step % per_row);
                let first = row * length + strip * LANES;
                Some(first..first + LANES.min(length - strip * LANES))
            }
            Kind::Lines { length, strips, steps, next, per_line, apart } => {
                let (line, i) = (batch / per_line, batch % per_line * STEPS + j);
                if i >= *steps {
                    return None;
                }
                let (row, strip) = (line / strips, line % strips);
                let first = row * apart + i * next + strip * LANES;
                Some(first..first + LANES.min(length - strip * LANES))
            }
            Kind::Parts(all) => all.get(batch * STEPS + j).cloned(),
        }
    }

    /// Batch and place of the step that contains a strip of a row; rows are in the order of points. Layouts of parts have no rows.
    #[inline(always)]
    pub(super) fn step_of(&self, row: usize, strip: usize) -> (usize, usize) {
        match &self.kind {
            Kind::Rows { per_row, .. } => {
                let step = row * per_row + strip;
                (step / STEPS, step % STEPS)
            }
            Kind::Lines { length, strips, steps, next, per_line, .. } => {
                let across = self.points / (length * steps);
                let (a, i) =
                    if next == length { (row / steps, row % steps) } else { (row % across, row / across) };
                ((a * strips + strip) * per_line + i / STEPS, i % STEPS)
            }
            Kind::Parts(_) => (0, 0),
        }
    }

    /// The mask of the steps that exist in a batch.
    pub(super) fn mask(&self, batch: usize) -> u8 {
        let has = match &self.kind {
            Kind::Lines { steps, per_line, .. } => steps - batch % per_line * STEPS,
            _ => self.steps - batch * STEPS,
        };
        if has >= STEPS { 0xff } else { (1u8 << has) - 1 }
    }
}
