//! Chunks and units of an array of one, two or three dimensions.

use super::params::{self, FastParams};

/// Values of a unit: 32 rows of 32.
pub(super) const UNIT: usize = params::UNIT as usize;
pub(super) const ROW: usize = 32;
/// Units of a chunk.
pub(super) const UNITS: usize = params::CHUNK_UNITS as usize;
/// Values that share a width: half of a lane, 4 x 4 of a patch or 16 in a row.
pub(super) const PART: usize = 16;
/// Of two parts each.
pub(super) const LANES: usize = UNIT / PART / 2;

/// The index of value `i` of half a lane in the rows of its unit.
pub(super) fn place(ndim: u32, lane: usize, half: usize, i: usize) -> usize {
    if ndim == 1 {
        return PART * (2 * lane + half) + i;
    }
    let (x, y) = (4 * (lane % 8) + i % 4, 8 * (lane / 8) + 4 * half + i / 4);
    ROW * y + x
}

/// The array cut into chunks.
pub(super) struct ChunkGrid {
    pub(super) ndim: u32,
    pub(super) dims: [usize; 3],
    /// The size of a chunk in each dimension, except at the end of the array.
    pub(super) chunk: [usize; 3],
    /// Chunks in each dimension.
    pub(super) counts: [usize; 3],
}

/// A chunk, cut off at the end of the array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) origin: [usize; 3],
    pub(super) extent: [usize; 3],
    pub(super) units: usize,
}

/// A unit as far as the array goes: where it begins in its chunk, and rows of values that lie together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) at: [usize; 3],
    pub(super) cols: usize,
    pub(super) rows: usize,
}

impl ChunkGrid {
    pub(super) fn new(p: &FastParams) -> ChunkGrid {
        let dims = p.dims.map(|d| d as usize);
        let chunk = match p.ndim {
            1 => [UNITS * UNIT, 1, 1],
            2 => [ROW, UNITS * ROW, 1],
            _ => [ROW, ROW, UNITS],
        };
        let counts = [0, 1, 2].map(|d| dims[d].div_ceil(chunk[d]));
        ChunkGrid { ndim: p.ndim, dims, chunk, counts }
    }

    pub(super) fn chunks(&self) -> usize {
        self.counts.iter().product()
    }

    pub(super) fn values(&self) -> usize {
        self.dims.iter().product()
    }

    /// Chunk `k` in the order x, y, z.
    pub(super) fn chunk(&self, k: usize) -> Chunk {
        let [nx, ny, _] = self.counts;
        let index = [k % nx, k / nx % ny, k / nx / ny];
        let origin = [0, 1, 2].map(|d| index[d] * self.chunk[d]);
        let extent = [0, 1, 2].map(|d| self.chunk[d].min(self.dims[d] - origin[d]));
        let units = match self.ndim {
            1 => extent[0].div_ceil(UNIT),
            2 => extent[1].div_ceil(ROW),
            _ => extent[2],
        };
        Chunk { origin, extent, units }
    }

    /// Unit `u` of a chunk. In one dimension it is one row of up to 1024 values.
    pub(super) fn unit(&self, c: &Chunk, u: usize) -> Unit {
        let [x, y, _] = c.extent;
        match self.ndim {
            1 => Unit { at: [u * UNIT, 0, 0], cols: (x - u * UNIT).min(UNIT), rows: 1 },
            2 => Unit { at: [0, u * ROW, 0], cols: x, rows: (y - u * ROW).min(ROW) },
            _ => Unit { at: [0, 0, u], cols: x, rows: y },
        }
    }

    /// Index in the array of a place in a chunk.
    pub(super) fn index(&self, c: &Chunk, at: [usize; 3]) -> usize {
        let [x, y, z] = [0, 1, 2].map(|d| c.origin[d] + at[d]);
        (z * self.dims[1] + y) * self.dims[0] + x
    }
}

impl Chunk {
    pub(super) fn values(&self) -> usize {
        self.extent.iter().product()
    }

    /// Where its rows begin, in the order of the array. Each has `extent[0]` values.
    pub(super) fn rows(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let [_, ny, nz] = self.extent;
        (0..nz).flat_map(move |z| (0..ny).map(move |y| [0, y, z]))
    }
}
