//! Levels, passes, and sections of an array.

use super::params::{BASE_POINTS, STEP};
use super::section::Kind;
use super::steps::Layout;

/// A pass over one axis of a level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    pub(super) level: u32,
    /// The axis: 0 is x, 1 is y, 2 is z.
    pub(super) axis: usize,
    /// The number of points along each axis. Point i has the coordinate offset + i · spacing.
    pub(super) points: [usize; 3],
    pub(super) offset: [usize; 3],
    pub(super) spacing: [usize; 3],
    /// The number of known points along the axis of the pass.
    pub(super) known: usize,
}

impl Pass {
    pub(super) fn count(&self) -> usize {
        self.points.iter().product()
    }

    /// The index in the array of the first point of a row, and the distance between points of the row.
    pub(super) fn row(&self, dims: [usize; 3], row: usize) -> (usize, usize) {
        let (y, z) = (row % self.points[1], row / self.points[1]);
        let [y, z] = [(1, y), (2, z)].map(|(d, i)| self.offset[d] + i * self.spacing[d]);
        ((z * dims[1] + y) * dims[0] + self.offset[0], self.spacing[0])
    }
}

/// The levels of an array for a set of interpolated axes.
pub(super) struct Levels {
    pub(super) dims: [usize; 3],
    /// True for the axes that are interpolated.
    pub(super) axes: [bool; 3],
    /// The number of levels.
    pub(super) levels: u32,
}

impl Levels {
    pub(super) fn new(dims: [usize; 3], axes: u8) -> Levels {
        let axes = [0, 1, 2].map(|d| axes >> d & 1 == 1);
        let longest = (0..3).filter(|&d| axes[d]).map(|d| dims[d]).max().unwrap_or(1);
        Levels { dims, axes, levels: longest.max(1).next_power_of_two().trailing_zeros() }
    }

    /// The numbers of points at multiples of `spacing` of the interpolated axes.
    pub(super) fn grid(&self, spacing: usize) -> [usize; 3] {
        [0, 1, 2].map(|d| if self.axes[d] { self.dims[d].div_ceil(spacing) } else { self.dims[d] })
    }

    /// The numbers of roots along the axes: one along an interpolated axis.
    pub(super) fn roots(&self) -> [usize; 3] {
        [0, 1, 2].map(|d| if self.axes[d] { self.dims[d].min(1) } else { self.dims[d] })
    }

    /// The passes of a level in their order.
    pub(super) fn passes(&self, level: u32) -> Vec<Pass> {
        let s = 1usize << (level - 1);
        let long = |d: usize| self.axes[d] && self.dims[d] > s;
        let pass = |axis: usize| {
            let mut spacing = [1; 3];
            let mut offset = [0; 3];
            for d in (0..3).filter(|&d| self.axes[d]) {
                spacing[d] = if d > axis { s } else { 2 * s };
            }
            offset[axis] = s;
            let points = [0, 1, 2].map(|d| (self.dims[d] - offset[d]).div_ceil(spacing[d]));
            Pass { level, axis, points, offset, spacing, known: self.dims[axis].div_ceil(2 * s) }
        };
        [2, 1, 0].into_iter().filter(|&d| long(d)).map(pass).collect()
    }

    /// The levels above this one belong to the base section.
    pub(super) fn base_ends(&self) -> u32 {
        let few = |grid: [usize; 3]| {
            grid.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).is_some_and(|n| n <= BASE_POINTS as usize)
        };
        if !few(self.roots()) {
            return self.levels;
        }
        (0..self.levels).rev().find(|&k| !few(self.grid(1 << k))).map_or(0, |k| k + 1)
    }

    /// Few roots are coded in one run with the coarsest levels; many roots are a section like that of a pass.
    pub(super) fn base_kind(&self) -> Kind {
        let [_, y, z] = self.roots();
        if y.saturating_mul(z) > BASE_POINTS as usize { Kind::Pass } else { Kind::Serial }
    }

    /// The steps of the base section.
    pub(super) fn base_layout(&self) -> Layout {
        if self.base_kind() == Kind::Pass {
            return Layout::rows(self.roots().iter().product(), 1);
        }
        let mut parts = vec![self.roots().iter().product()];
        for level in (self.base_ends() + 1..=self.levels).rev() {
            parts.extend(self.passes(level).iter().map(Pass::count));
        }
        Layout::parts(&parts)
    }

    /// The number of sections.
    pub(super) fn sections(&self) -> usize {
        self.sections_above(0)
    }

    /// The number of sections of the levels above `finest`, including the base section.
    pub(super) fn sections_above(&self, finest: u32) -> usize {
        1 + (finest + 1..=self.base_ends()).map(|level| self.passes(level).len()).sum::<usize>()
    }
}

/// The steps of a pass that is a section.
pub(super) fn layout(pass: &Pass) -> Layout {
    let [x, y, z] = pass.points;
    match pass.axis {
        0 => Layout::rows(x, y * z),
        1 => Layout::lines(x, y, x, z, x * y),
        _ => Layout::lines(x, z, x * y, y, x),
    }
}

const _: () = assert!(STEP == 32);
