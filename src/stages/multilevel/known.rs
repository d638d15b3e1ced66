//! The known points of a level, and rows of taps among them.

use super::grid::{Levels, Pass};
use super::predict::{Formula, Predictor, Taps};
use super::value::LevelValue;
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::stages::wide::interleave;

/// Points of a task.
const TASK: usize = 1 << 14;

/// Returns `n` zeros, or a fault if the allocation fails, which must not end the process.
pub(in crate::stages) fn room<T: bytemuck::Zeroable>(n: usize) -> Result<Vec<T>, Fault> {
    let bytes = n.saturating_mul(size_of::<T>()) as u64;
    bytemuck::allocation::try_zeroed_vec(n).map_err(|()| Fault::OutOfMemory(bytes))
}

/// Values on a grid, x fastest.
#[derive(Default)]
pub(super) struct Grid<T> {
    pub(super) points: [usize; 3],
    pub(super) values: Vec<T>,
}

impl<T: LevelValue> Grid<T> {
    pub(super) fn new(points: [usize; 3]) -> Result<Grid<T>, Fault> {
        Ok(Grid { points, values: room(points.iter().product())? })
    }

    #[inline(always)]
    fn row(&self, y: usize, z: usize) -> &[T] {
        let first = (z * self.points[1] + y) * self.points[0];
        &self.values[first..first + self.points[0]]
    }
}

/// The points of a level: those of the next coarser level, and those of the passes over z, y, and x.
pub(super) struct Known<T> {
    axes: [bool; 3],
    pub(super) coarse: Grid<T>,
    /// Points of the pass over each axis, as soon as they are restored.
    passes: [Option<Grid<T>>; 3],
}

impl<T: LevelValue> Known<T> {
    pub(super) fn new(levels: &Levels, coarse: Grid<T>) -> Known<T> {
        Known { axes: levels.axes, coarse, passes: [None, None, None] }
    }

    pub(super) fn put(&mut self, axis: usize, values: Grid<T>) {
        self.passes[axis] = Some(values);
    }

    /// The points of a row that are known before the pass over x. `y` and `z` count multiples of s along interpolated axes, and all
    /// coordinates along other axes.
    #[inline(always)]
    fn row(&self, y: usize, z: usize) -> &[T] {
        let coarse = |d: usize, i: usize| if self.axes[d] { i / 2 } else { i };
        if let (true, Some(odd)) = (self.axes[1] && y % 2 == 1, &self.passes[1]) {
            return odd.row(y / 2, z);
        }
        if let (true, Some(odd)) = (self.axes[2] && z % 2 == 1, &self.passes[2]) {
            return odd.row(coarse(1, y), z / 2);
        }
        self.coarse.row(coarse(1, y), coarse(2, z))
    }

    /// Row `i` of the known points along the axis of a pass over y or z, among the rows with the other coordinate of row (y, z).
    #[inline(always)]
    fn along(&self, axis: usize, i: usize, y: usize, z: usize) -> &[T] {
        match axis {
            2 => self.coarse.row(y, i),
            _ => self.row(2 * i, z),
        }
    }

    /// The left neighbors of the points of a row of a pass, from point `first` on.
    #[inline(always)]
    pub(super) fn left(&self, pass: &Pass, (row, first): (usize, usize)) -> &[T] {
        let (y, z) = (row % pass.points[1], row / pass.points[1]);
        let all = match pass.axis {
            0 => self.row(y, z),
            1 => self.along(1, y, y, z),
            _ => self.along(2, z, y, z),
        };
        &all[first..]
    }

    /// Writes predictions and contexts of the points of a row of a pass, from point `first` on, as many as `out` has room for.
    #[inline(always)]
    pub(super) fn predict(
        &self,
        predictor: &Predictor<T>,
        stencil: u8,
        pass: &Pass,
        (row, first): (usize, usize),
        out: Predicted<'_, T>,
    ) {
        let (y, z) = (row % pass.points[1], row / pass.points[1]);
        let n = out.p.len();
        if pass.axis > 0 {
            let i = if pass.axis == 1 { y } else { z };
            let formula = Formula::new(stencil, i + 1, pass.known - i - 1);
            let taps: [&[T]; 8] = std::array::from_fn(|j| {
                let at = (i + j).checked_sub(3).filter(|&at| at < pass.known).unwrap_or(i);
                &self.along(pass.axis, at, y, z)[first..first + n]
            });
            predictor.row(formula, taps, out.p, out.contexts);
            return;
        }
        let known = self.row(y, z);
        // The points from `begin` to `end` have all taps; the others are beside the ends of the row.
        let (begin, end) = (first.max(3).min(first + n), (first + n).min(pass.known.saturating_sub(4)));
        let end = end.max(begin);
        for i in (first..begin).chain(end..first + n) {
            let formula = Formula::new(stencil, i + 1, pass.known - i - 1);
            let window: Taps<T> = std::array::from_fn(|j| {
                (i + j).checked_sub(3).and_then(|at| known.get(at)).copied().unwrap_or(T::ZERO)
            });
            (out.p[i - first], out.contexts[i - first]) = predictor.point(formula, window);
        }
        if begin < end {
            let taps = std::array::from_fn(|j| &known[begin + j - 3..end + j - 3]);
            let (p, contexts) =
                (&mut out.p[begin - first..end - first], &mut out.contexts[begin - first..end - first]);
            predictor.row(Formula::new(stencil, 4, 4), taps, p, contexts);
        }
    }

    /// The taps of the points of a row in a level of which no pass is coded yet. All taps are coarse points.
    #[inline(always)]
    pub(super) fn coarse_row(&self, pass: &Pass, row: usize) -> CoarseRow<'_, T> {
        let (y, z) = (row % pass.points[1], row / pass.points[1]);
        let fine = |d: usize, i: usize| if self.axes[d] { 2 * i } else { i };
        if pass.axis == 0 {
            return CoarseRow { rows: [self.row(fine(1, y), fine(2, z)); 8], place: None, known: pass.known };
        }
        let (y, z, i) = if pass.axis == 1 { (y, fine(2, z), y) } else { (y, z, z) };
        let mut rows = [self.along(pass.axis, i, y, z); 8];
        for (j, row) in rows.iter_mut().enumerate() {
            if let Some(at) = (i + j).checked_sub(3).filter(|&at| at < pass.known) {
                *row = self.along(pass.axis, at, y, z);
            }
        }
        CoarseRow { rows, place: Some(i), known: pass.known }
    }

    /// Writes all points of the level, which are the coarse points of the next level.
    pub(super) fn join(&self, points: [usize; 3], values: &mut [T], threads: Parallel<'_>) {
        let rows: Vec<_> = values.chunks_mut((TASK / points[0]).max(1) * points[0]).enumerate().collect();
        threads.each(
            rows,
            || (),
            |(), (k, rows)| {
                for (i, out) in rows.chunks_exact_mut(points[0]).enumerate() {
                    let row = k * (TASK / points[0]).max(1) + i;
                    self.join_whole_row((row % points[1], row / points[1]), out);
                }
            },
        );
    }

    /// Writes a row of a level that has no pass over x, or whose pass over x is restored.
    fn join_whole_row(&self, (y, z): (usize, usize), out: &mut [T]) {
        let even = self.row(y, z);
        match self.passes[0].as_ref().filter(|_| self.axes[0]) {
            None => out.copy_from_slice(even),
            Some(odd) => interleave(even, odd.row(y, z), out),
        }
    }

    /// Writes points of a row of the pass over x, from point `first` on, between the points that were known before.
    #[inline(always)]
    pub(super) fn join_row(&self, pass: &Pass, (row, first): (usize, usize), odd: &[T], out: &mut [T]) {
        let even = self.row(row % pass.points[1], row / pass.points[1]);
        interleave(&even[first..], odd, out);
    }
}

/// Taps of points in a row of a pass.
pub(super) struct CoarseRow<'a, T> {
    /// The rows of the taps; the row itself in a pass over x.
    rows: [&'a [T]; 8],
    /// The place along the axis of the pass; none in a pass over x.
    place: Option<usize>,
    known: usize,
}

impl<T: LevelValue> CoarseRow<'_, T> {
    /// The taps of point `x`, and their numbers on the left and on the right.
    #[inline(always)]
    pub(super) fn of(&self, x: usize) -> (Taps<T>, usize, usize) {
        let i = self.place.unwrap_or(x);
        let mut taps = [T::ZERO; 8];
        for (j, (tap, row)) in taps.iter_mut().zip(self.rows).enumerate() {
            *tap = match self.place {
                Some(_) => row[x],
                None => row[(i + j).saturating_sub(3).min(self.known - 1)],
            };
        }
        (taps, i + 1, self.known - i - 1)
    }
}

/// The destination of predictions.
pub(super) struct Predicted<'a, T> {
    pub(super) p: &'a mut [T],
    pub(super) contexts: &'a mut [u8],
}
