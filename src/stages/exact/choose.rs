//! The choices of an encoder, from a sample.

use super::params::{FLOAT, MOST_ORDER, SAMPLE};
use super::predict::{Orders, Shape};
use super::word::Word;

/// Elements before a hole's neighbor that the sample looks at.
const BACK: usize = 32;

/// How an array is coded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice<W> {
    pub(super) orders: Orders,
    /// The value of holes.
    pub(super) hole: Option<W>,
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

    /// The least magnitude of floats, below which there are few.
    pub(super) fn gap<W: Word>(&self, element: impl Fn(usize) -> W, kind: u32) -> W {
        if kind != FLOAT {
            return W::ZERO;
        }
        self.0.iter().map(|&i| element(i).fold().magnitude()).min().unwrap_or(W::ZERO)
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
        let mut best = Choice { orders: Orders::default(), hole: None, cost: u64::MAX };
        let whole = |cost: u64| (u128::from(cost) * o.len() as u128 / u128::from(self.len().max(1))) as u64;
        for (z, y) in [(false, false), (false, true), (true, false), (true, true)] {
            if y && dims[1] == 1 || z && dims[2] == 1 {
                continue;
            }
            for x in 0..=MOST_ORDER as u8 {
                let orders = Orders { x, y, z };
                let cost = whole(self.cost(o, Shape::new(dims), orders));
                if cost < best.cost {
                    best = Choice { orders, hole: None, cost };
                }
            }
        }
        if let Some(hole) = self.frequent(o) {
            for x in 0..=1 {
                let cost = whole(self.cost_with_holes(o, x, hole));
                if cost < best.cost {
                    best = Choice { orders: Orders { x, y: false, z: false }, hole: Some(hole), cost };
                }
            }
        }
        best
    }

    fn cost<W: Word>(&self, o: &[W], shape: Shape, orders: Orders) -> u64 {
        let (mut bits, mut others) = (0, 0);
        for &i in &self.0 {
            let d = difference(o, shape, orders, i).zigzag();
            bits += quarters(d);
            others += u64::from(d != W::ZERO);
        }
        // Each that is not zero is marked among those that are.
        let mark = (self.len() / others.max(1)).max(1).ilog2();
        bits + 4 * others * u64::from(1 + mark)
    }

    fn cost_with_holes<W: Word>(&self, o: &[W], x: u8, hole: W) -> u64 {
        let (mut bits, mut changes) = (0, 0);
        for &i in &self.0 {
            let before = &o[i.saturating_sub(BACK)..i];
            changes += u64::from(before.last().is_some_and(|&b| (b == hole) != (o[i] == hole)));
            if o[i] != hole {
                let last = before.iter().rev().find(|&&b| b != hole).filter(|_| x > 0);
                bits += quarters(o[i].sub(last.copied().unwrap_or(W::ZERO)).zigzag()) + 4;
            }
        }
        let mark = (self.len() / changes.max(1)).max(1).ilog2();
        bits + 4 * changes * u64::from(1 + mark)
    }
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
