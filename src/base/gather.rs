//! Elements of an array at regular places.

/// Which elements of an array are copied: `count` along each axis, from `first` on, `step` apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) first: [usize; 3],
    pub(crate) count: [usize; 3],
    pub(crate) step: [usize; 3],
}

impl Places {
    /// Copies the elements of the places, `width` bytes each, to `dst`, as an array of its own. `src` has the extents `points`, x fastest.
    pub(crate) fn copy(&self, src: &[u8], points: [usize; 3], width: usize, dst: &mut [u8]) {
        for (row, to) in dst.chunks_exact_mut(self.count[0] * width).enumerate() {
            self.copy_row(&src[self.row_start(row, points) * width..], width, to);
        }
    }

    /// Index of the first element of a row of the places, in an array of the extents `points`.
    pub(crate) fn row_start(&self, row: usize, points: [usize; 3]) -> usize {
        let Places { first, count, step } = *self;
        let [y, z] = [(1, row % count[1]), (2, row / count[1])].map(|(d, i)| first[d] + i * step[d]);
        (z * points[1] + y) * points[0] + first[0]
    }

    /// Copies one row. `from` begins with the first element of the row.
    pub(crate) fn copy_row(&self, from: &[u8], width: usize, to: &mut [u8]) {
        if self.step[0] == 1 {
            to.copy_from_slice(&from[..to.len()]);
            return;
        }
        for (x, from) in to.chunks_exact_mut(width).zip(from.chunks(self.step[0].saturating_mul(width))) {
            x.copy_from_slice(&from[..width]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_those_of_their_places() {
        let points = [7, 5, 4];
        let src: Vec<u8> = (0..140u16).flat_map(u16::to_le_bytes).collect();
        for (first, count, step) in [
            ([0, 0, 0], [7, 5, 4], [1, 1, 1]),
            ([2, 1, 3], [4, 2, 1], [1, 1, 1]),
            ([0, 0, 0], [4, 3, 2], [2, 2, 2]),
            ([0, 0, 0], [1, 5, 1], [8, 1, usize::MAX]),
        ] {
            let mut dst = vec![0; 2 * count.iter().product::<usize>()];
            Places { first, count, step }.copy(&src, points, 2, &mut dst);
            let mut found = dst.chunks_exact(2).map(|b| usize::from(u16::from_le_bytes([b[0], b[1]])));
            for [x, y, z] in (0..count[2])
                .flat_map(|z| (0..count[1]).map(move |y| (y, z)))
                .flat_map(|(y, z)| (0..count[0]).map(move |x| [x, y, z]))
            {
                let [x, y, z] = [(0, x), (1, y), (2, z)].map(|(d, i)| first[d] + i * step[d]);
                assert_eq!(found.next(), Some((z * 5 + y) * 7 + x));
            }
            assert_eq!(found.next(), None);
        }
    }
}
