//! The choices of an encoder, from a sample.

use super::params::{FLOAT, MOST_ORDER, SAMPLE, SIGNED};
use super::predict::{Orders, Shape};
use super::word::{Map, Word};
use crate::base::parallel::Parallel;

/// Elements before a hole's neighbor that the sample looks at.
const BACK: usize = 32;
/// Elements of a task that looks at all elements.
const TASK: usize = 1 << 14;

/// The numbers of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form<W> {
    /// The difference with the number 0.
    pub(super) center: W,
    /// Numbers have no signs.
    pub(super) plain: bool,
}

impl<W: Word> Form<W> {
    pub(super) const SIGNED: Form<W> = Form { center: W::ZERO, plain: false };
    pub(super) const PLAIN: Form<W> = Form { center: W::ZERO, plain: true };

    #[inline(always)]
    pub(super) fn number(self, d: W) -> W {
        let d = d.sub(self.center);
        if self.plain { d } else { d.zigzag() }
    }

    #[inline(always)]
    pub(super) fn difference(self, u: W) -> W {
        self.center.add(if self.plain { u } else { u.unzigzag() })
    }
}

/// How an array is coded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice<W> {
    pub(super) orders: Orders,
    /// The integer of holes.
    pub(super) hole: Option<W>,
    pub(super) form: Form<W>,
    /// Estimated quarters of bits of the whole array.
    pub(super) cost: u64,
}

/// The elements that are looked at.
pub(super) struct Sample(Vec<usize>);

impl Sample {
    pub(super) fn new(n: usize) -> Sample {
        let stride = (n / SAMPLE as usize).max(1) | 1;
        Sample((0..n).step_by(stride).take(SAMPLE as usize).collect())
    }

    /// The map of elements. Floats have a gap below the least magnitude, and few are in it. A common factor of the sample must be that of
    /// all elements.
    pub(super) fn map<W: Word>(
        &self,
        element: impl Fn(usize) -> W + Sync,
        (n, kind): (usize, u32),
        threads: Parallel<'_>,
    ) -> Map<W> {
        let places = || self.0.iter().map(|&i| Map::place(kind, element(i)));
        let least = places().min().unwrap_or(0);
        let factor = places().fold(0, |factor, place| divisor(factor, place - least));
        if factor > 1 {
            let tasks = n.div_ceil(TASK);
            let of = |task: usize| {
                let all = task * TASK..n.min((task + 1) * TASK);
                // Differences to one place of the sample: those to the least place of all have the same divisors.
                let (mut least, mut divides) = (least, true);
                for i in all {
                    let place = Map::place(kind, element(i));
                    divides &= place.abs_diff(least) % factor == 0;
                    least = least.min(place);
                }
                (least, divides)
            };
            let done = threads.map(tasks, of);
            if done.iter().all(|(_, divides)| *divides) {
                let least = done.iter().map(|(least, _)| *least).min().unwrap_or(least);
                return Map { kind, gap: Map::at(kind, least), factor: W::cut(factor) };
            }
        }
        let gap = if kind == FLOAT { Map::at(kind, least) } else { W::ZERO };
        Map { kind, gap, factor: W::ONE }
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn sorted<W: Word>(&self, o: &[W]) -> Vec<W> {
        let mut all: Vec<W> = self.0.iter().map(|&i| o[i]).collect();
        all.sort_unstable();
        all
    }

    /// True if enough values repeat for a table to pay.
    pub(super) fn repeats<W: Word>(&self, o: &[W]) -> bool {
        let all = self.sorted(o);
        let repeated = all.windows(2).filter(|w| w[0] == w[1]).count();
        64 * repeated >= all.len()
    }

    /// The most frequent value, the first one of equals, if it has a sixteenth of the sample.
    fn frequent<W: Word>(&self, o: &[W]) -> Option<W> {
        let all = self.sorted(o);
        let (mut best, mut most) = (None, 0);
        for equal in all.chunk_by(|a, b| a == b) {
            if equal.len() > most {
                (best, most) = (equal.first().copied(), equal.len());
            }
        }
        best.filter(|_| 16 * most >= all.len())
    }

    /// The choice that costs least, the first of equals.
    pub(super) fn choose<W: Word>(&self, o: &[W], dims: [usize; 3]) -> Choice<W> {
        let mut best = Choice { orders: Orders::default(), hole: None, form: Form::SIGNED, cost: u64::MAX };
        let whole = |cost: u64| (u128::from(cost) * o.len() as u128 / u128::from(self.len().max(1))) as u64;
        for (z, y) in [(false, false), (false, true), (true, false), (true, true)] {
            if y && dims[1] == 1 || z && dims[2] == 1 {
                continue;
            }
            for x in 0..=MOST_ORDER as u8 {
                let orders = Orders { x, y, z };
                let differences = self.differences(o, Shape::new(dims), orders);
                for form in forms(&differences) {
                    let cost = whole(cost(&differences, form));
                    if cost < best.cost {
                        best = Choice { orders, hole: None, form, cost };
                    }
                }
            }
        }
        if let Some(hole) = self.frequent(o) {
            for x in 0..=1 {
                let orders = Orders { x, y: false, z: false };
                let (differences, marks) = self.with_holes(o, x, hole);
                for form in forms(&differences) {
                    let all: u64 = differences.iter().map(|&d| quarters(form.number(d)) + 4).sum();
                    let cost = whole(all + marks);
                    if cost < best.cost {
                        best = Choice { orders, hole: Some(hole), form, cost };
                    }
                }
            }
        }
        best
    }

    fn differences<W: Word>(&self, o: &[W], shape: Shape, orders: Orders) -> Vec<W> {
        self.0.iter().map(|&i| difference(o, shape, orders, i)).collect()
    }

    /// The differences of elements that are no holes, and the cost of the marks of holes.
    fn with_holes<W: Word>(&self, o: &[W], x: u8, hole: W) -> (Vec<W>, u64) {
        let (mut differences, mut changes) = (vec![], 0);
        for &i in &self.0 {
            let before = &o[i.saturating_sub(BACK)..i];
            changes += u64::from(before.last().is_some_and(|&b| (b == hole) != (o[i] == hole)));
            if o[i] != hole {
                let last = before.iter().rev().find(|&&b| b != hole).filter(|_| x > 0);
                differences.push(o[i].sub(last.copied().unwrap_or(W::ZERO)));
            }
        }
        (differences, 4 * changes * mark(self.len(), changes))
    }
}

/// Bits of a mark of some of all elements.
fn mark(all: u64, some: u64) -> u64 {
    u64::from(1 + (all / some.max(1)).max(1).ilog2())
}

/// The greatest common divisor.
fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The forms that are compared: relative to 0, to the median, and to the least difference.
fn forms<W: Word>(differences: &[W]) -> [Form<W>; 3] {
    let mut keys: Vec<u64> = differences.iter().map(|d| d.rank_key(SIGNED)).collect();
    if keys.is_empty() {
        return [Form::SIGNED; 3];
    }
    let middle = keys.len() / 2;
    let (below, &mut median, _) = keys.select_nth_unstable(middle);
    let least = below.iter().fold(median, |least, &key| least.min(key));
    let difference = |key: u64| W::cut(W::cut(key).rank_key(SIGNED));
    [
        Form::SIGNED,
        Form { center: difference(median), plain: false },
        Form { center: difference(least), plain: true },
    ]
}

fn cost<W: Word>(differences: &[W], form: Form<W>) -> u64 {
    let (mut bits, mut others) = (0, 0);
    for &d in differences {
        let u = form.number(d);
        bits += quarters(u);
        others += u64::from(u != W::ZERO);
    }
    // Each that is not zero is marked among those that are.
    bits + 4 * others * mark(differences.len() as u64, others)
}

/// The length of a number in quarters of bits, about.
fn quarters<W: Word>(u: W) -> u64 {
    let (u, n) = (u.wide(), u.length());
    u64::from(4 * n) + if n > 2 { u >> (n - 3) & 3 } else { 0 }
}

/// The difference at one element.
fn difference<W: Word>(o: &[W], shape: Shape, orders: Orders, i: usize) -> W {
    // Along y and z.
    let flat = |i: usize| {
        let has_y = orders.y && i % shape.plane >= shape.row;
        let has_z = orders.z && i >= shape.plane;
        let mut d = o[i];
        if has_y {
            d = d.sub(o[i - shape.row]);
        }
        if has_z {
            d = d.sub(o[i - shape.plane]);
            if has_y {
                d = d.add(o[i - shape.row - shape.plane]);
            }
        }
        d
    };
    let at = |k: usize| i.checked_sub(k).map_or(W::ZERO, flat);
    let three = |a: W| a.add(a).add(a);
    match orders.x {
        0 => at(0),
        1 => at(0).sub(at(1)),
        2 => at(0).sub(at(1)).sub(at(1)).add(at(2)),
        _ => at(0).sub(three(at(1))).add(three(at(2))).sub(at(3)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::predict::differences;
    use super::*;

    #[test]
    fn single_differences_are_those_of_the_array() {
        let shape = Shape::new([6, 4, 9]);
        let o: Vec<u16> = (0..216u16).map(|i| i.wrapping_mul(0x9e37) >> 3).collect();
        for code in 0..16 {
            let orders = Orders { x: code % 4, y: code & 4 != 0, z: code & 8 != 0 };
            let mut room = vec![0; 216 + usize::from(orders.x)];
            let all = differences(&o, shape, orders, 0, &mut room);
            assert!((0..216).all(|i| all[i] == difference(&o, shape, orders, i)), "{orders:?}");
        }
    }
}
