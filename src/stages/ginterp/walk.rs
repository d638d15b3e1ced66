//! The order in which the points of a window of tiles are predicted: level by level, in passes, row by row.
//!
//! Points on a far face belong to the next tile, and both predict them from the same points in the same way, so tiles do
//! not depend on each other.

use super::predict::{
    Arithmetic, LevelFlags, Neighbors, Place, RowNeighbors, across, cube, face, face_with_x,
};
use super::value::SplineValue;
use crate::stages::wide::interleave;

/// Tiles beside each other along x, and their far faces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// First element.
    pub(super) origin: [usize; 3],
    /// Elements in each dimension, far faces included.
    pub(super) extent: [usize; 3],
    pub(super) body: [usize; 3],
    /// Far faces contain all of their points, also points that no other point depends on.
    pub(super) closed: bool,
}

impl Window {
    /// Number of an element of the window, by its coordinates from the origin.
    pub(super) fn place(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.extent[1] + y) * self.extent[0] + x
    }
}

/// A row of points of one level.
pub(super) struct Row<'a> {
    pub(super) level: usize,
    /// Its points along x are odd multiples of the spacing, or even ones.
    pub(super) odd: bool,
    /// From the origin of the window.
    pub(super) y: usize,
    pub(super) z: usize,
    /// It is a row of a plane.
    pub(super) flat: bool,
    pub(super) md: bool,
    /// The neighbors along the only axis of a prediction.
    pub(super) line: Option<Line<'a>>,
}

impl Row<'_> {
    /// Point `i` of the row, from the origin of the window.
    pub(super) fn at(&self, i: usize) -> [usize; 3] {
        [(2 * i + usize::from(self.odd)) << self.level, self.y, self.z]
    }
}

pub(super) enum Line<'a> {
    AlongX(&'a [Neighbors]),
    Across(Neighbors),
}

/// The actions at points.
pub(super) trait Points<T> {
    /// Sets the values `v` that later points are predicted from, where `p` is predicted.
    fn row(&mut self, row: &Row<'_>, p: &[T], v: &mut [T]);
}

/// Memory for a window.
pub(super) struct Walk<T> {
    /// Points of the level before, all of them, x fastest.
    pub(super) coarse: Vec<T>,
    /// Even and odd points of rows of the level.
    pub(super) even: Vec<T>,
    pub(super) odd: Vec<T>,
    line: [Vec<T>; 3],
    p: Vec<T>,
}

impl<T: SplineValue> Walk<T> {
    pub(super) fn new() -> Walk<T> {
        Walk { coarse: vec![], even: vec![], odd: vec![], line: Default::default(), p: vec![] }
    }

    /// Sets the anchors of a window: `value` of the coordinates from its origin.
    #[inline(always)]
    pub(super) fn start(&mut self, window: &Window, value: impl Fn([usize; 3]) -> T) {
        self.fill(window, window.body[0].trailing_zeros() as usize, value);
    }

    /// Sets the points of a level and of all coarser ones.
    #[inline(always)]
    pub(super) fn fill(&mut self, window: &Window, level: usize, value: impl Fn([usize; 3]) -> T) {
        self.coarse.clear();
        let [x, y, z] = std::array::from_fn(|d| (0..window.extent[d]).step_by(1 << level));
        for z in z {
            for y in y.clone() {
                self.coarse.extend(x.clone().map(|x| value([x, y, z])));
            }
        }
    }

    /// All levels from the coarsest on.
    #[inline(always)]
    pub(super) fn levels<A: Arithmetic<T>>(
        &mut self,
        window: &Window,
        flags: &[LevelFlags],
        points: &mut impl Points<T>,
    ) {
        for (level, flags) in flags.iter().enumerate().rev() {
            self.level::<A>(window, level, *flags, points);
            if level > 0 {
                self.join(window, level);
            }
        }
    }

    /// One level, from `coarse` to `even` and `odd`.
    #[inline(always)]
    pub(super) fn level<A: Arithmetic<T>>(
        &mut self,
        window: &Window,
        level: usize,
        flags: LevelFlags,
        points: &mut impl Points<T>,
    ) {
        let lattice = Lattice::new(window, level);
        let [_, ny, nz] = lattice.points;
        for buffer in self.line.iter_mut().chain([&mut self.p]) {
            buffer.resize(lattice.evens, T::ZERO);
        }
        self.even.resize(lattice.evens * ny * nz, T::ZERO);
        self.odd.resize(lattice.odds * ny * nz, T::ZERO);
        let rows = (0..nz).step_by(2).flat_map(|k| (0..ny).step_by(2).map(move |j| (j, k)));
        for (row, (j, k)) in self.coarse.chunks_exact(lattice.evens).zip(rows) {
            self.even[(k * ny + j) * lattice.evens..][..lattice.evens].copy_from_slice(row);
        }
        let along_x = RowNeighbors::new(lattice.spacing, window.body[0], window.extent[0]);
        for pass in 1..=3 {
            for k in 0..nz {
                for j in 0..ny {
                    // Nothing depends on the last points of a far face.
                    let far =
                        |at: usize, d: usize| at * lattice.spacing == window.body[d] && window.body[d] > 1;
                    let needed = level > 0 || window.closed || !(far(j, 1) || far(k, 2));
                    for odd in [false, true] {
                        let parity = [odd, j % 2 == 1, k % 2 == 1];
                        if pass_of(parity, flags) != pass || lattice.row(odd) == 0 {
                            continue;
                        }
                        if needed || pass < last_pass(window, flags) {
                            self.row::<A>(window, &lattice, flags, &along_x, (odd, j, k), points);
                        }
                    }
                }
            }
        }
    }

    /// The points of a level to `coarse`.
    #[inline(always)]
    fn join(&mut self, window: &Window, level: usize) {
        let lattice = Lattice::new(window, level);
        let [n, ny, nz] = lattice.points;
        self.coarse.resize(n * ny * nz, T::ZERO);
        for (i, row) in self.coarse.chunks_exact_mut(n).enumerate() {
            let even = &self.even[i * lattice.evens..][..lattice.evens];
            let odd = &self.odd[i * lattice.odds..][..lattice.odds];
            interleave(even, odd, row);
        }
    }

    /// Row `i` of the finest level, all rows of a plane before the next: its even and its odd points.
    pub(super) fn finest(&self, window: &Window, i: usize) -> (&[T], &[T]) {
        let lattice = Lattice::new(window, 0);
        (&self.even[i * lattice.evens..][..lattice.evens], &self.odd[i * lattice.odds..][..lattice.odds])
    }

    #[inline(always)]
    fn row<A: Arithmetic<T>>(
        &mut self,
        window: &Window,
        lattice: &Lattice,
        flags: LevelFlags,
        along_x: &RowNeighbors,
        (odd, j, k): (bool, usize, usize),
        points: &mut impl Points<T>,
    ) {
        let ny = lattice.points[1];
        let n = lattice.row(odd);
        let (own, width) = if odd { (&self.odd, lattice.odds) } else { (&self.even, lattice.evens) };
        let parity = [odd, j % 2 == 1, k % 2 == 1];
        let axes = parity.iter().filter(|odd| **odd).count();
        let place = Place {
            md: flags.md,
            cube: flags.md && axes == 3,
            // In passes along one axis the flag means the other spline, as in the reference.
            natural: flags.natural == flags.md, // seed: ginterp-natural
        };
        let at = |j: usize, k: usize| &own[(k * ny + j) * width..][..n];
        let even = &self.even[(k * ny + j) * lattice.evens..][..lattice.evens];
        let neighbors = |at: usize, d: usize| {
            Neighbors::new(at * lattice.spacing, lattice.spacing, window.body[d], window.extent[d])
        };
        let (along_y, along_z) = (neighbors(j, 1), neighbors(k, 2));
        let axes_of = if flags.md { parity } else { last_axis(parity, flags.reverse) };
        let between = axes_of.iter().filter(|odd| **odd).count();
        let cubic = |n: Neighbors| n == Neighbors::All;
        // Between three axes those without a cubic do not count, except x.
        let [need_x, need_y, need_z] = match between {
            3 => [true, cubic(along_y), cubic(along_z)],
            _ => axes_of,
        };
        let [x, y, z] = &mut self.line;
        let (x, y, z, p) = (&mut x[..n], &mut y[..n], &mut z[..n], &mut self.p[..n]);
        let moved = |at: usize, by: isize| at.wrapping_add_signed(by);
        if need_x {
            along_x.predict::<T, A>(place, even, x);
        }
        if need_y {
            across::<T, A>(along_y, place, |by| at(moved(j, by), k), y);
        }
        if need_z {
            across::<T, A>(along_z, place, |by| at(j, moved(k, by)), z);
        }
        // The line before this one along y or z, and the even points of it.
        let before =
            |j: usize, k: usize| (at(j, k), &self.even[(k * ny + j) * lattice.evens..][..lattice.evens]);
        let (p, line): (&[T], Option<Line<'_>>) = match axes_of {
            [true, false, false] => (x, Some(Line::AlongX(&along_x.each))),
            [false, true, false] => (y, Some(Line::Across(along_y))),
            [false, false, true] => (z, Some(Line::Across(along_z))),
            [true, true, false] => {
                face_with_x(x, &along_x.rank, (y, along_y.rank()), (even, before(j - 1, k)), p);
                (p, None)
            }
            [true, false, true] => {
                face_with_x(x, &along_x.rank, (z, along_z.rank()), (even, before(j, k - 1)), p);
                (p, None)
            }
            [false, true, true] => {
                let corner = [at(j, k - 1), at(j - 1, k), at(j - 1, k - 1)];
                face((y, along_y.rank()), (z, along_z.rank()), corner, p);
                (p, None)
            }
            _ => {
                cube(x, &along_x.rank, (y, need_y), (z, need_z), p);
                (p, None)
            }
        };
        let row = Row {
            level: lattice.level,
            odd,
            y: j * lattice.spacing,
            z: k * lattice.spacing,
            flat: window.body[2] == 1,
            md: flags.md,
            line,
        };
        let v = if odd { &mut self.odd } else { &mut self.even };
        points.row(&row, p, &mut v[(k * ny + j) * width..][..n]);
    }
}

/// Points of a level in a window.
struct Lattice {
    level: usize,
    spacing: usize,
    points: [usize; 3],
    evens: usize,
    odds: usize,
}

impl Lattice {
    fn new(window: &Window, level: usize) -> Lattice {
        let spacing = 1 << level;
        let points = window.extent.map(|m| m.div_ceil(spacing));
        Lattice { level, spacing, points, evens: points[0].div_ceil(2), odds: points[0] / 2 }
    }

    fn row(&self, odd: bool) -> usize {
        if odd { self.odds } else { self.evens }
    }
}

/// The pass in which points of this parity are predicted; 0: they are points of the level before.
fn pass_of(parity: [bool; 3], flags: LevelFlags) -> usize {
    if flags.md {
        return parity.iter().filter(|odd| **odd).count();
    }
    let last = last_axis(parity, flags.reverse);
    let order = if flags.reverse { [0, 1, 2] } else { [2, 1, 0] };
    order.into_iter().position(|d| last[d]).map_or(0, |k| k + 1)
}

/// The last pass that predicts anything.
fn last_pass(window: &Window, flags: LevelFlags) -> usize {
    let flat = window.body[2] == 1;
    if flat && (flags.md || flags.reverse) { 2 } else { 3 }
}

/// The axis along which a point is predicted where axes follow each other: z, y, x, or x, y, z.
fn last_axis([x, y, z]: [bool; 3], reverse: bool) -> [bool; 3] {
    if reverse { [x && !y && !z, y && !z, z] } else { [x, y && !x, z && !x && !y] }
}
