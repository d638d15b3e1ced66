//! Differences along the axes, and their sums.

use super::integers::Integers;
use super::word::Word;

/// How often differences are taken along x, in raster order, and whether along y and z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Orders {
    pub(super) x: u8,
    pub(super) y: bool,
    pub(super) z: bool,
}

/// An array with the lengths of its rows and planes.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) row: usize,
    pub(super) plane: usize,
}

impl Shape {
    pub(super) fn new([x, y, _]: [usize; 3]) -> Shape {
        Shape { row: x, plane: x * y }
    }

    /// The first elements within `first..end` that have a neighbor along y: those of a plane, from one element up to another one.
    #[inline(always)]
    fn below(self, first: usize, end: usize) -> (usize, usize) {
        let plane = first - first % self.plane;
        let next = (plane + self.plane).min(end);
        (first.max(plane + self.row).min(next), next)
    }
}

/// Working memory of [`differences`] for at most `LENGTH - MOST_ORDER` elements.
pub(super) struct Lines<W, const LENGTH: usize> {
    own: [W; LENGTH],
    behind: [W; LENGTH],
}

impl<W: Word, const LENGTH: usize> Lines<W, LENGTH> {
    pub(super) fn new() -> Lines<W, LENGTH> {
        Lines { own: [W::ZERO; LENGTH], behind: [W::ZERO; LENGTH] }
    }
}

#[inline(always)]
fn subtract<W: Word>(from: &mut [W], other: &[W]) {
    for (d, &b) in from.iter_mut().zip(other) {
        *d = d.sub(b);
    }
}

/// The differences of `n` elements from `first` on.
#[inline(always)]
pub(super) fn differences<'a, W: Word, const LENGTH: usize>(
    o: &(impl Integers<W> + ?Sized),
    shape: Shape,
    orders: Orders,
    (first, n): (usize, usize),
    lines: &'a mut Lines<W, LENGTH>,
) -> &'a [W] {
    let extra = usize::from(orders.x);
    let (own, behind) = (&mut lines.own[..n + extra], &mut lines.behind);
    let missing = extra.saturating_sub(first);
    own[..missing].fill(W::ZERO);
    let begin = first + missing - extra;
    let part = &mut own[missing..];
    o.load(begin, part);
    let end = first + n;
    if orders.z && end > shape.plane {
        let from = begin.max(shape.plane);
        let (part, behind) = (&mut part[from - begin..], &mut behind[..end - from]);
        o.load(from - shape.plane, behind);
        subtract(part, behind);
    }
    if orders.y {
        let mut next = begin;
        while next < end {
            let (from, to) = shape.below(next, end);
            next = to;
            if from == to {
                continue;
            }
            let (part, behind) = (&mut part[from - begin..to - begin], &mut behind[..to - from]);
            o.load(from - shape.row, behind);
            subtract(part, behind);
            if orders.z && from >= shape.plane {
                o.load(from - shape.row - shape.plane, behind);
                for (d, &b) in part.iter_mut().zip(&*behind) {
                    *d = d.add(b);
                }
            }
        }
    }
    for k in 1..=extra {
        let own = &mut own[..=n + extra - k];
        for i in 0..own.len() - 1 {
            own[i] = own[i + 1].sub(own[i]);
        }
    }
    &own[..n]
}

/// Undoes [`differences`] of a whole array.
pub(super) fn sum<W: Word>(d: &mut [W], shape: Shape, orders: Orders) {
    for _ in 0..orders.x {
        let mut all = W::ZERO;
        d.iter_mut().for_each(|d| {
            all = all.add(*d);
            *d = all;
        });
    }
    let add = |d: &mut [W], from: usize, to: usize, back: usize| {
        let mut at = from;
        while at < to {
            let (behind, own) = d.split_at_mut(at);
            let n = back.min(to - at);
            own[..n].iter_mut().zip(&behind[at - back..]).for_each(|(d, &b)| *d = d.add(b));
            at += n;
        }
    };
    if orders.y {
        let mut next = 0;
        while next < d.len() {
            let (from, to) = shape.below(next, d.len());
            add(d, from, to, shape.row);
            next = to;
        }
    }
    if orders.z && d.len() > shape.plane {
        let n = d.len();
        add(d, shape.plane, n, shape.plane);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_undo_differences() {
        let dims = [7, 5, 11];
        let shape = Shape::new(dims);
        let o: Vec<u32> = (0..385u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> 7).collect();
        for code in 0..16 {
            let orders = Orders { x: code % 4, y: code & 4 != 0, z: code & 8 != 0 };
            for part in [1, 3, 64, 385] {
                let mut all = vec![];
                for first in (0..385).step_by(part) {
                    let mut lines = Lines::<_, 388>::new();
                    let range = (first, part.min(385 - first));
                    all.extend_from_slice(differences(&o[..], shape, orders, range, &mut lines));
                }
                sum(&mut all, shape, orders);
                assert_eq!(all, o, "{orders:?} in parts of {part}");
            }
        }
    }
}
