//! The elements of a sample with the elements that their differences are made of.

use super::integers::Integers;
use super::params::MOST_ORDER;
use super::predict::Shape;
use super::word::Word;

/// Elements of a row that make a difference of the highest order.
pub(super) const BEHIND: usize = MOST_ORDER as usize + 1;

/// Elements in raster order up to one of the sample.
type Window<W> = [W; BEHIND];

/// For each element of the sample its window, and those of its neighbors along y, along z, and along both. Elements that do not exist
/// are 0.
pub(super) struct Corners<W>(Vec<[Window<W>; 4]>);

impl<W: Word> Corners<W> {
    /// For the elements at ascending places.
    pub(super) fn new(places: &[usize], o: &(impl Integers<W> + ?Sized), shape: Shape) -> Corners<W> {
        let Shape { row, plane } = shape;
        let (has_y, has_z) = (plane > row, o.len() > plane);
        let mut all = Vec::with_capacity(places.len());
        let (mut before, mut within) = (0, 0);
        for &i in places {
            // The place in the plane, without a division at each element.
            within += i - before;
            before = i;
            if within >= plane {
                within %= plane;
            }
            let is_inner =
                i >= BEHIND && (!has_y || within >= row + BEHIND) && (!has_z || i >= plane + BEHIND);
            let window = |k: usize, back: usize| {
                if !is_inner {
                    return at_edge(o, shape, i, (k, back));
                }
                let mut window = [W::ZERO; BEHIND];
                o.load(i + 1 - BEHIND - back, &mut window);
                window
            };
            let none = [W::ZERO; BEHIND];
            all.push([
                window(0, 0),
                if has_y { window(1, row) } else { none },
                if has_z { window(2, plane) } else { none },
                if has_y && has_z { window(3, row + plane) } else { none },
            ]);
        }
        Corners(all)
    }

    /// Differences along y and z at the elements of the sample and at those before them, the nearest first.
    #[inline(always)]
    pub(super) fn lines(&self, y: bool, z: bool) -> [Vec<W>; BEHIND] {
        match (y, z) {
            (false, false) => self.turned(|[own, ..]| *own),
            (true, false) => self.turned(|[own, y_before, ..]| minus(own, y_before)),
            (false, true) => self.turned(|[own, _, z_before, _]| minus(own, z_before)),
            (true, true) => self.turned(|[own, y_before, z_before, both]| {
                minus(&minus(own, y_before), &minus(z_before, both))
            }),
        }
    }

    /// The last elements of the windows that `f` returns, those before them, and so on.
    #[inline(always)]
    fn turned(&self, f: impl Fn(&[Window<W>; 4]) -> Window<W>) -> [Vec<W>; BEHIND] {
        let mut lines = [(); BEHIND].map(|()| vec![W::ZERO; self.0.len()]);
        let [a, b, c, d] = &mut lines;
        for ((((a, b), c), d), corners) in a.iter_mut().zip(b).zip(c).zip(d).zip(&self.0) {
            [*d, *c, *b, *a] = f(corners);
        }
        lines
    }
}

#[inline(always)]
fn minus<W: Word>(a: &Window<W>, b: &Window<W>) -> Window<W> {
    [a[0].sub(b[0]), a[1].sub(b[1]), a[2].sub(b[2]), a[3].sub(b[3])]
}

/// A window of which some elements may not exist: at the distance `back` along the axes of corner `k`.
#[cold]
fn at_edge<W: Word>(
    o: &(impl Integers<W> + ?Sized),
    shape: Shape,
    i: usize,
    (k, back): (usize, usize),
) -> Window<W> {
    let exists =
        |at: &usize| (k & 2 == 0 || *at >= shape.plane) && (k & 1 == 0 || at % shape.plane >= shape.row);
    std::array::from_fn(|place| {
        (i + 1 + place).checked_sub(BEHIND).filter(exists).map_or(W::ZERO, |at| o.at(at - back))
    })
}

/// Differences of the next order along x.
#[inline(always)]
pub(super) fn next_order<W: Word>(lines: &mut [Vec<W>; BEHIND]) {
    for k in 1..BEHIND {
        let (own, before) = lines.split_at_mut(k);
        own[k - 1].iter_mut().zip(&before[0]).for_each(|(d, &b)| *d = d.sub(b));
    }
}

#[cfg(test)]
mod tests {
    use super::super::predict::{Lines, Orders, differences};
    use super::*;

    #[test]
    fn single_differences_are_those_of_the_array() {
        for dims in [[6, 4, 9], [216, 1, 1], [12, 18, 1], [2, 54, 2], [1, 3, 72], [6, 1, 36]] {
            let shape = Shape::new(dims);
            let o: Vec<u16> = (0..216u16).map(|i| i.wrapping_mul(0x9e37) >> 3).collect();
            for (code, stride) in (0..16).flat_map(|code| [1, 3, 25].map(|stride| (code, stride))) {
                let orders = Orders { x: code % 4, y: code & 4 != 0, z: code & 8 != 0 };
                if orders.y && dims[1] == 1 || orders.z && dims[2] == 1 {
                    continue;
                }
                let mut room = Lines::<_, 219>::new();
                let all = differences(&o[..], shape, orders, (0, 216), &mut room);
                let places: Vec<usize> = (0..216).step_by(stride).collect();
                let mut lines = Corners::new(&places, &o[..], shape).lines(orders.y, orders.z);
                (0..orders.x).for_each(|_| next_order(&mut lines));
                let wanted: Vec<u16> = places.iter().map(|&i| all[i]).collect();
                assert_eq!(lines[0], wanted, "{dims:?} {orders:?}");
            }
        }
    }
}
