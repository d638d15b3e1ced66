//! The array as tiles, and the order of the codes of a tile.

use super::params::{BODY, GinterpParams, LEVELS, STRICT, WIDE, WIDE_LEVELS};

/// Classes of points of one spacing, by parity of x + 2 y + 4 z; class 0 belongs to the next spacing.
pub(super) const CLASSES: usize = 8;

/// Tiles of an array.
#[derive(Clone, Copy)]
pub(super) struct TileGrid {
    /// Elements.
    pub(super) dims: [usize; 3],
    /// Edges of a tile; 1 in dimensions that the grid does not have.
    pub(super) body: [usize; 3],
    pub(super) levels: usize,
    /// Tiles.
    pub(super) tiles: [usize; 3],
}

impl TileGrid {
    pub(super) fn new(p: &GinterpParams) -> TileGrid {
        let dims = p.dims.map(|d| d as usize);
        let flat = dims[2] == 1;
        let (edge, levels) =
            if flat && p.switches & STRICT != 0 { (WIDE, WIDE_LEVELS) } else { (BODY, LEVELS) };
        let body = [edge as usize, edge as usize, if flat { 1 } else { edge as usize }];
        let tiles = std::array::from_fn(|d| dims[d].div_ceil(body[d]));
        TileGrid { dims, body, levels: levels as usize, tiles }
    }

    pub(super) fn elements(&self) -> usize {
        self.dims.iter().product()
    }

    /// Number of tiles, each of which has an anchor.
    pub(super) fn anchors(&self) -> usize {
        self.tiles.iter().product()
    }

    /// Tiles along y and z; none in an empty array, whose header can state two huge lengths.
    pub(super) fn rows(&self) -> [usize; 2] {
        if self.elements() == 0 { [0, 0] } else { [self.tiles[1], self.tiles[2]] }
    }

    /// Elements that a tile owns in each dimension.
    pub(super) fn owned(&self, tile: [usize; 3]) -> [usize; 3] {
        std::array::from_fn(|d| self.body[d].min(self.dims[d] - tile[d] * self.body[d]))
    }

    /// Number of a tile, and of its anchor.
    pub(super) fn number(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.tiles[1] + y) * self.tiles[0] + x
    }

    /// Codes before those of a tile: of the layers, rows, and tiles before it.
    pub(super) fn first_code(&self, tile: [usize; 3]) -> usize {
        let [nx, ny, _] = self.dims;
        let [_, my, mz] = self.owned(tile);
        let [x, y, z] = std::array::from_fn(|d| tile[d] * self.body[d]);
        z * nx * ny + y * nx * mz + x * my * mz
    }

    /// Number of the element at these coordinates.
    pub(super) fn element(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.dims[1] + y) * self.dims[0] + x
    }

    /// Coordinates of an element.
    pub(super) fn coordinates(&self, i: usize) -> [usize; 3] {
        let row = i / self.dims[0];
        [i % self.dims[0], row % self.dims[1], row / self.dims[1]]
    }

    /// The place of an element among all codes.
    pub(super) fn place(&self, at: [usize; 3]) -> usize {
        let tile = std::array::from_fn(|d| at[d] / self.body[d]);
        let local = std::array::from_fn(|d| at[d] % self.body[d]);
        self.first_code(tile) + TileOrder::new(self.owned(tile)).place(local)
    }
}

/// Codes of one class: where they start in the tile, and how many there are in each dimension.
#[derive(Clone, Copy, Default)]
pub(super) struct ClassBlock {
    pub(super) start: usize,
    pub(super) count: [usize; 3],
}

impl ClassBlock {
    /// Where the codes of a row start.
    pub(super) fn row(&self, j: usize, k: usize) -> usize {
        self.start + (k * self.count[1] + j) * self.count[0]
    }
}

/// The order of the codes of a tile: points whose coordinates are multiples of 4; then the classes of spacing 2; then those of
/// spacing 1; x fastest in each.
#[derive(Clone, Copy)]
pub(super) struct TileOrder {
    coarse: ClassBlock,
    /// Spacing 1, then 2.
    fine: [[ClassBlock; CLASSES]; 2],
}

impl TileOrder {
    /// The order of a tile that owns this number of elements in each dimension.
    pub(super) fn new(owned: [usize; 3]) -> TileOrder {
        let coarse = ClassBlock { start: 0, count: owned.map(|m| m.div_ceil(4)) };
        let mut start = coarse.count.iter().product();
        let mut fine = [[ClassBlock::default(); CLASSES]; 2];
        for level in [1, 0] {
            for (class, block) in fine[level].iter_mut().enumerate().skip(1) {
                let count: [usize; 3] = std::array::from_fn(|d| {
                    let points = owned[d].div_ceil(1 << level);
                    if class >> d & 1 == 1 { points / 2 } else { points.div_ceil(2) }
                });
                *block = ClassBlock { start, count };
                start += count.iter().product::<usize>();
            }
        }
        TileOrder { coarse, fine }
    }

    /// Where the codes of a row of points start, and the distance between two of them. The points have spacing 2^(level + 1) along
    /// x, from 0 or, in odd classes, from 2^level on; `y` and `z` are coordinates in the tile.
    pub(super) fn row(&self, level: usize, odd: bool, y: usize, z: usize) -> (usize, usize) {
        let Some(classes) = self.fine.get(level) else {
            // Every 2^(level + 1) is a multiple of 4.
            let step = 1 << (level - 1);
            return (self.coarse.row(y / 4, z / 4) + if odd { step / 2 } else { 0 }, step);
        };
        let class = usize::from(odd) + 2 * (y >> level & 1) + 4 * (z >> level & 1);
        (classes[class].row(y >> (level + 1), z >> (level + 1)), 1)
    }

    /// The place of a point.
    pub(super) fn place(&self, [x, y, z]: [usize; 3]) -> usize {
        let level = (x | y | z).trailing_zeros() as usize;
        if level >= 2 {
            return self.coarse.row(y / 4, z / 4) + x / 4;
        }
        self.row(level, x >> level & 1 == 1, y, z).0 + (x >> (level + 1))
    }

    /// The point at a place, the inverse of [`TileOrder::place`].
    pub(super) fn point(&self, place: usize) -> [usize; 3] {
        let split = |block: &ClassBlock| {
            let i = place - block.start;
            let row = i / block.count[0].max(1);
            [i % block.count[0].max(1), row % block.count[1].max(1), row / block.count[1].max(1)]
        };
        for (level, classes) in self.fine.iter().enumerate() {
            let class = (1..CLASSES).rev().find(|&c| {
                let elements: usize = classes[c].count.iter().product();
                elements > 0 && place >= classes[c].start
            });
            if let Some(class) = class {
                let at = split(&classes[class]);
                return std::array::from_fn(|d| (2 * at[d] + (class >> d & 1)) << level);
            }
        }
        split(&self.coarse).map(|i| 4 * i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn places_are_a_permutation(
            dims in (1u32..40, 1u32..40, 1u32..40),
            flat in any::<bool>(),
            strict in any::<bool>(),
        ) {
            let mut p: GinterpParams = bytemuck::Zeroable::zeroed();
            p.dims = [dims.0 * if flat { 4 } else { 1 }, dims.1 * 2, if flat { 1 } else { dims.2 + 1 }];
            p.switches = if strict { STRICT } else { 0 };
            let grid = TileGrid::new(&p);
            let mut seen = vec![false; grid.elements()];
            for i in 0..grid.elements() {
                let at = grid.coordinates(i);
                prop_assert_eq!(grid.element(at), i);
                let place = grid.place(at);
                prop_assert!(!std::mem::replace(&mut seen[place], true), "{:?} {}", at, place);
                let tile = std::array::from_fn(|d| at[d] / grid.body[d]);
                let local = TileOrder::new(grid.owned(tile)).point(place - grid.first_code(tile));
                let whole: [usize; 3] = std::array::from_fn(|d| tile[d] * grid.body[d] + local[d]);
                prop_assert_eq!(whole, at);
            }
        }
    }
}
