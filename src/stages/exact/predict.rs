//! Differences along the axes, and their sums.

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

    /// Calls `f` for the ranges of elements within `first..end` that have a neighbor along y.
    fn below(self, first: usize, end: usize, mut f: impl FnMut(usize, usize)) {
        let mut at = first;
        while at < end {
            let within = at % self.plane;
            let next = (at - within + self.plane).min(end);
            let begin = at.max(at - within + self.row);
            if begin < next {
                f(begin, next);
            }
            at = next;
        }
    }
}

/// Differences of the elements from `first` on. `out` has room for `orders.x` more.
pub(super) fn differences<'a, W: Word>(
    o: &[W],
    shape: Shape,
    orders: Orders,
    first: usize,
    out: &'a mut [W],
) -> &'a [W] {
    let extra = usize::from(orders.x);
    let n = out.len() - extra;
    let missing = extra.saturating_sub(first);
    out[..missing].fill(W::ZERO);
    let begin = first + missing - extra;
    let part = &mut out[missing..];
    part.copy_from_slice(&o[begin..first + n]);
    let subtract = |part: &mut [W], from: usize, to: usize, back: usize| {
        let behind = o[from - back..to - back].iter();
        part[from - begin..to - begin].iter_mut().zip(behind).for_each(|(d, &b)| *d = d.sub(b));
    };
    let end = first + n;
    if orders.z && end > shape.plane {
        subtract(part, begin.max(shape.plane), end, shape.plane);
    }
    if orders.y {
        shape.below(begin, end, |from, to| {
            subtract(part, from, to, shape.row);
            if orders.z && to > shape.plane {
                let from = from.max(shape.plane);
                let behind = o[from - shape.row - shape.plane..to - shape.row - shape.plane].iter();
                part[from - begin..to - begin].iter_mut().zip(behind).for_each(|(d, &b)| *d = d.add(b));
            }
        });
    }
    for k in 0..extra {
        for i in (k + 1..out.len()).rev() {
            out[i] = out[i].sub(out[i - 1]);
        }
    }
    &out[extra..]
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
        shape.below(0, d.len(), |from, to| add(d, from, to, shape.row));
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
                    let mut room = vec![0; part.min(385 - first) + usize::from(orders.x)];
                    all.extend_from_slice(differences(&o, shape, orders, first, &mut room));
                }
                sum(&mut all, shape, orders);
                assert_eq!(all, o, "{orders:?} in parts of {part}");
            }
        }
    }
}
