//! The array as rows of tiles, and its division among threads.

use super::params::{self, LorenzoQuantParams};
use crate::stages::wide::prefetch;
use std::ops::Range;

/// Planes of a tile at most, and its rows in three dimensions.
pub(super) const DEPTH: usize = params::EDGE as usize;
/// Elements of a row that are worked on at once, at most: a multiple of the width of every tile.
pub(super) const STRIP: usize = params::STRIP as usize;

/// Units of a batch, about: enough to balance, few enough to list them.
const UNITS: usize = 64;
/// Elements of a unit at least, if there are as many.
const UNIT: usize = 4096;

/// In one dimension, a row is a tile.
pub(super) struct TileGrid {
    pub(super) ndim: u32,
    pub(super) nx: usize,
    pub(super) ny: usize,
    pub(super) nz: usize,
    /// Elements that are predicted; the last row ends here.
    pub(super) count: usize,
    /// Lengths of a tile.
    pub(super) tile: [usize; 3],
    /// Elements of a row that are worked on at once.
    pub(super) strip: usize,
    /// Rows of a unit, a multiple of the height of a tile.
    rows: usize,
}

/// Some rows of as many planes as a tile has: whole tiles, so that a unit depends on no other.
pub(super) struct RowUnit<'a> {
    pub(super) z: usize,
    pub(super) y: usize,
    /// Bytes of these rows, plane by plane; fewer where the array ends.
    pub(super) planes: [&'a mut [u8]; DEPTH],
}

/// A part of a row.
#[derive(Clone, Copy)]
pub(super) struct RowPart {
    /// Its first element in the array.
    pub(super) start: usize,
    pub(super) len: usize,
    /// The first element of the same part of the next plane, if the tile has one.
    next: Option<usize>,
    /// Its first element in the rows of the unit.
    pub(super) at: usize,
    /// Its row and its plane in the tile.
    pub(super) row: usize,
    pub(super) plane: usize,
}

impl RowPart {
    /// Requests the next plane of `bytes`, whose elements have this width.
    #[inline(always)]
    pub(super) fn prefetch(self, bytes: &[u8], width: usize) {
        if let Some(next) = self.next {
            prefetch(bytes.get(next * width..(next + self.len) * width).unwrap_or_default());
        }
    }
}

impl TileGrid {
    /// `strip` is taken in three dimensions, where more than a row is kept in the cache.
    pub(super) fn new(p: &LorenzoQuantParams, strip: usize) -> TileGrid {
        let count = p.count as usize;
        let [nx, ny, nz] = p.dims.map(|d| d as usize);
        let (tile, [nx, ny, nz]) = match p.ndim {
            1 => ([STRIP, 1, 1], [STRIP, count.div_ceil(STRIP), 1]),
            2 => ([32, 32, 1], [nx, ny, nz]), // seed: lorenzo-tile
            _ => ([8, 8, DEPTH], [nx, ny, nz]),
        };
        let [_, height, depth] = tile;
        let small = UNIT.div_ceil(nx.max(1) * height * depth);
        let rows = height * small.max(ny.div_ceil(height * UNITS)).max(1);
        let strip = if p.ndim == 3 { strip } else { STRIP };
        TileGrid { ndim: p.ndim, nx, ny, nz, count, tile, strip, rows }
    }

    /// Planes of a batch.
    pub(super) fn batch(&self) -> usize {
        self.tile[2] * (UNITS / self.bands().clamp(1, UNITS))
    }

    /// Units of a layer of tiles.
    pub(super) fn bands(&self) -> usize {
        self.ny.div_ceil(self.rows)
    }

    /// Units of the planes from `z` on, for which `bytes` holds elements of `width` bytes; the units of a
    /// layer are consecutive.
    pub(super) fn units<'a>(&self, z: usize, bytes: &'a mut [u8], width: usize) -> Vec<RowUnit<'a>> {
        let (depth, bands) = (self.tile[2], self.bands());
        let layers = self.batch().min(self.nz - z).div_ceil(depth);
        let unit = |i: usize| RowUnit {
            z: z + i / bands * depth,
            y: i % bands * self.rows,
            planes: Default::default(),
        };
        let mut units: Vec<RowUnit<'a>> = (0..layers * bands).map(unit).collect();
        for (k, plane) in bytes.chunks_mut((self.nx * self.ny * width).max(1)).enumerate() {
            for (j, rows) in plane.chunks_mut(self.rows * self.nx * width).enumerate() {
                if let Some(unit) = units.get_mut(k / depth * bands + j) {
                    unit.planes[k % depth] = rows;
                }
            }
        }
        units
    }

    /// Calls `f` for every run of a unit, in the order in which runs depend on each other: those of one
    /// column of tiles together, planes from the first on, rows from the first on. `end` is called behind the
    /// last run of a tile's planes with the range of rows and of x.
    pub(super) fn walk<S>(
        &self,
        z: usize,
        y: usize,
        state: &mut S,
        mut f: impl FnMut(&mut S, RowPart),
        mut end: impl FnMut(&mut S, Block),
    ) {
        let [_, height, depth] = self.tile;
        let (last, planes) = ((y + self.rows).min(self.ny), depth.min(self.nz - z));
        for top in (y..last).step_by(height) {
            let bottom = (top + height).min(last);
            for x in (0..self.nx).step_by(self.strip) {
                for plane in 0..planes {
                    for row in top..bottom {
                        let start = ((z + plane) * self.ny + row) * self.nx + x;
                        let len = self.strip.min(self.nx - x).min(self.count.saturating_sub(start));
                        let next = (plane + 1 < planes).then_some(start + self.nx * self.ny);
                        let at = (row - y) * self.nx + x;
                        f(state, RowPart { start, len, next, at, row: row - top, plane });
                    }
                }
                let width = self.strip.min(self.nx - x);
                end(state, Block { rows: top - y..bottom - y, x, width, planes });
            }
        }
    }
}

/// A column of tiles that was walked through.
pub(super) struct Block {
    /// Rows in the unit.
    pub(super) rows: Range<usize>,
    pub(super) x: usize,
    pub(super) width: usize,
    pub(super) planes: usize,
}
