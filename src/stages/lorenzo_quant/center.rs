//! Tiles of one dimension around their means.

use super::grid::STRIP;
use super::lane::Lane;
use super::params;

/// How many means `n` elements have.
pub(super) fn means(n: u64) -> u64 {
    n.div_ceil(STRIP as u64)
}

/// The number of partial sums of a tile; each adds the elements at this distance.
const LANES: usize = params::BLOCK as usize;

/// The mean of a tile, in the order of the format, which only matters where sums round. Under strict, a NaN
/// represents no value and does not count.
pub(super) fn mean<T: Lane>(tile: &[T], strict: bool) -> T {
    let (mut sums, mut count) = ([T::ZERO; LANES], 0);
    for part in tile.chunks(LANES) {
        for (sum, &q) in sums.iter_mut().zip(part) {
            let counts = !(strict && q.is_nan()); // seed: lorenzo-mean-of-exact
            *sum = sum.add(if counts { q } else { T::ZERO });
            count += i32::from(counts);
        }
    }
    let mut half = LANES / 2;
    while half > 0 {
        let (near, far) = sums.split_at_mut(half);
        near.iter_mut().zip(far).for_each(|(a, b)| *a = a.add(*b));
        half /= 2;
    }
    if count == 0 { T::ZERO } else { sums[0].div(T::from_i32(count)).round().canonical() }
}

/// In place of each NaN the element before it, in place of the first the mean.
pub(super) fn stand_in<T: Lane>(tile: &mut [T], mean: T) {
    let mut before = mean; // seed: lorenzo-mean-stand-in
    for q in tile {
        *q = if q.is_nan() { before } else { *q };
        before = *q;
    }
}
