//! The codes of stage `lorenzo_quant`: differences of neighbors within tiles.

use crate::stages::words::Word;

/// The codes of an array of multiples.
pub(super) struct Codes<'a> {
    q: &'a [i32],
    /// Lengths of the rows, and of the planes in rows.
    dims: [usize; 2],
    /// Lengths of a tile.
    tile: [usize; 3],
}

impl<'a> Codes<'a> {
    /// Codes of differences along the fastest `axes` dimensions; 0: along all.
    pub(super) fn new(q: &'a [i32], [x, y, z]: [usize; 3], axes: usize) -> Codes<'a> {
        let rank = match [x, y, z] {
            [_, 1, 1] => 1,
            [_, _, 1] => 2,
            _ => 3,
        };
        let (dims, tile) = match if axes == 0 { rank } else { axes.min(rank) } {
            1 => ([x * y * z, 1], [1024, 1, 1]),
            2 => ([x, y * z], [32, 32, 1]),
            _ => ([x, y], [8, 8, 8]),
        };
        Codes { q, dims, tile }
    }

    pub(super) fn len(&self) -> usize {
        self.q.len()
    }

    /// Writes codes from place `first` on.
    #[inline(always)]
    pub(super) fn put(&self, first: usize, out: &mut [u32]) {
        let ([length, rows], [tile_x, tile_y, tile_z]) = (self.dims, self.tile);
        let end = first + out.len();
        let mut at = first;
        while at < end {
            let (row, x) = (at / length, at % length);
            let next = end.min((row + 1) * length);
            let out = &mut out[at - first..next - first];
            let (y, z) = (row % rows % tile_y > 0, row / rows % tile_z > 0);
            let place = (at, x % tile_x);
            match (y, z) {
                (false, false) => self.row::<false, false>(place, out),
                (true, false) => self.row::<true, false>(place, out),
                (false, true) => self.row::<false, true>(place, out),
                (true, true) => self.row::<true, true>(place, out),
            }
            at = next;
        }
    }

    /// Writes the codes of a part of a row from element `at` on, which has place `x` in its tile. It has neighbors along y and z in its
    /// tile if `Y` and `Z` are true.
    #[inline(always)]
    fn row<const Y: bool, const Z: bool>(&self, (at, x): (usize, usize), out: &mut [u32]) {
        let ([length, rows], tile, n) = (self.dims, self.tile[0], out.len());
        let from = |back: usize| &self.q[at - back..at - back + n];
        let (y_back, z_back) = (if Y { length } else { 0 }, if Z { length * rows } else { 0 });
        let (own, y, z, both) = (from(0), from(y_back), from(z_back), from(y_back + z_back));
        let flat = |own: i32, y: i32, z: i32, both: i32| match (Y, Z) {
            (false, false) => own,
            (true, false) => own.wrapping_sub(y),
            (false, true) => own.wrapping_sub(z),
            (true, true) => own.wrapping_sub(y).wrapping_sub(z).wrapping_add(both),
        };
        for i in 1..n {
            let before = flat(own[i - 1], y[i - 1], z[i - 1], both[i - 1]);
            out[i] = (flat(own[i], y[i], z[i], both[i]).wrapping_sub(before) as u32).zigzag();
        }
        if let (true, Some(first)) = (x > 0, out.first_mut()) {
            let at = at - 1;
            let q = |back: usize| self.q[at - back];
            let before = flat(q(0), q(y_back), q(z_back), q(y_back + z_back));
            *first = (flat(own[0], y[0], z[0], both[0]).wrapping_sub(before) as u32).zigzag();
        }
        // The first elements of tiles have no neighbor along x.
        for i in ((tile - x) % tile..n).step_by(tile) {
            out[i] = (flat(own[i], y[i], z[i], both[i]) as u32).zigzag();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code of an element, by the definition of the stage.
    fn code(q: &[i32], [x, y, _]: [usize; 3], axes: usize, i: usize) -> u32 {
        let tile = [1024, 32, 8][axes - 1];
        let strides = [1, x, x * y];
        let at = [i % x, i / x % y, i / (x * y)];
        let mut sum = 0i32;
        for corner in 0usize..1 << axes {
            let exists = (0..axes).all(|d| corner >> d & 1 == 0 || at[d] % tile > 0);
            let back: usize = (0..axes).filter(|d| corner >> d & 1 == 1).map(|d| strides[d]).sum();
            let sign = if corner.count_ones() % 2 == 0 { 1 } else { -1 };
            if exists {
                sum = sum.wrapping_add(q[i - back].wrapping_mul(sign));
            }
        }
        (sum as u32).zigzag()
    }

    #[test]
    fn codes_are_those_of_the_stage() {
        let all: [[usize; 3]; 6] =
            [[5000, 1, 1], [70, 66, 1], [7, 300, 1], [33, 20, 17], [1, 40, 40], [8, 1, 90]];
        for [x, y, z] in all {
            let n = x * y * z;
            let q: Vec<i32> =
                (0..n as u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> (i % 20)) as i32).collect();
            let rank = if z > 1 {
                3
            } else if y > 1 {
                2
            } else {
                1
            };
            for axes in 0..=3 {
                let used = if axes == 0 { rank } else { rank.min(axes) };
                let dims = match used {
                    1 => [n, 1, 1],
                    2 => [x, y * z, 1],
                    _ => [x, y, z],
                };
                for (first, end) in [(0, n), (n / 3, n), (n - 5, n), (n / 2, n / 2 + 1)] {
                    let mut out = vec![0; end - first];
                    Codes::new(&q, [x, y, z], axes).put(first, &mut out);
                    let wanted: Vec<u32> = (first..end).map(|i| code(&q, dims, used, i)).collect();
                    assert_eq!(out, wanted, "{x} {y} {z}, {axes} axes, from {first}");
                }
            }
        }
    }
}
