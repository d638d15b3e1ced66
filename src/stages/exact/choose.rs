//! The choices of an encoder, from a sample.

use super::corners::{Corners, next_order};
use super::frequent::Frequent;
use super::integers::Integers;
use super::params::{FLOAT, MOST_ORDER, SAMPLE};
use super::predict::{Orders, Shape};
use super::word::{Divisor, Map, Word};
use crate::base::parallel::Parallel;
use crate::stages::wide::{Work, widest};

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

    /// The form of the differences of a table.
    pub(super) fn of_table(is_ascending: bool) -> Form<W> {
        if is_ascending { Form::PLAIN } else { Form::SIGNED }
    }

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

/// The least cost so far.
struct Best<W> {
    choice: Choice<W>,
    /// Quarters of bits of the sample.
    cost: u64,
    /// Elements of the array and of the sample.
    all: usize,
    looked: u64,
}

impl<W: Word> Best<W> {
    fn offer(&mut self, orders: Orders, hole: Option<W>, form: Form<W>, cost: u64) {
        let whole = whole(cost, self.all, self.looked);
        if cost < self.cost && whole < self.choice.cost {
            self.cost = cost;
            self.choice = Choice { orders, hole, form, cost: whole };
        }
    }
}

/// The cost of an array of `all` elements, from that of a sample.
fn whole(cost: u64, all: usize, looked: u64) -> u64 {
    (u128::from(cost) * all as u128 / u128::from(looked.max(1))) as u64
}

/// True if enough of the sorted values repeat for a table to pay, also without the most frequent one.
pub(super) fn repeats<W: Word>(sorted: &[W]) -> bool {
    let repeated = sorted.windows(2).filter(|w| w[0] == w[1]).count();
    let most = sorted.chunk_by(|a, b| a == b).map(<[W]>::len).max().unwrap_or(1);
    64 * repeated >= sorted.len() && 256 * (repeated + 1 - most) >= sorted.len() - most
}

/// The most frequent of sorted values, the first one of equals, if it has a sixteenth of them.
fn frequent<W: Word>(sorted: &[W]) -> Option<W> {
    let (mut best, mut most) = (None, 0);
    for equal in sorted.chunk_by(|a, b| a == b) {
        if equal.len() > most {
            (best, most) = (equal.first().copied(), equal.len());
        }
    }
    best.filter(|_| 16 * most >= sorted.len())
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
        let (mut factor, mut divides) = (0, Divisor::new(0));
        for distance in places().map(|place| place - least) {
            if !divides.divides(distance) {
                factor = divisor(factor, distance);
                divides = Divisor::new(factor);
            }
        }
        if factor > 1 {
            let tasks = n.div_ceil(TASK);
            let of = |task: usize| {
                let (mut lowest, mut all) = (least, true);
                for i in task * TASK..n.min((task + 1) * TASK) {
                    let place = Map::place(kind, element(i));
                    // Distances to one place of the sample: those to the least place of all have the same divisors.
                    all &= divides.divides(place.abs_diff(least));
                    lowest = lowest.min(place);
                }
                (lowest, all)
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

    /// The elements in ascending order.
    pub(super) fn sorted<W: Word>(&self, o: &(impl Integers<W> + ?Sized)) -> Vec<W> {
        let mut all: Vec<W> = self.0.iter().map(|&i| o.at(i)).collect();
        all.sort_unstable();
        all
    }

    /// The choice that costs least, the first of equals. `sorted` are the elements of the sample in ascending order.
    pub(super) fn choose<W: Word>(
        &self,
        o: &(impl Integers<W> + ?Sized),
        sorted: &[W],
        dims: [usize; 3],
    ) -> Choice<W> {
        let mut best = Best {
            choice: Choice { orders: Orders::default(), hole: None, form: Form::SIGNED, cost: u64::MAX },
            cost: u64::MAX,
            all: o.len(),
            looked: self.len(),
        };
        let corners = Corners::new(&self.0, o, Shape::new(dims));
        for (z, y) in [(false, false), (false, true), (true, false), (true, true)] {
            if y && dims[1] == 1 || z && dims[2] == 1 {
                continue;
            }
            widest(Compare { corners: &corners, y, z, best: &mut best });
        }
        if let Some(hole) = frequent(sorted) {
            for x in 0..=1 {
                let orders = Orders { x, y: false, z: false };
                let (differences, marks) = self.with_holes(o, x, hole);
                for form in forms(&differences) {
                    let all: u64 = differences.iter().map(|&d| u64::from(quarters(form.number(d)) + 4)).sum();
                    best.offer(orders, Some(hole), form, all + marks);
                }
            }
        }
        best.choice
    }

    /// The choice for ranks of which those of frequent values are small. The cost is that of other elements than those of the sample,
    /// which would flatter the order that is made from it.
    pub(super) fn choose_frequent<W: Word>(&self, ranks: &[W], frequent: &Frequent) -> Choice<W> {
        let orders = Orders::default();
        let between = self.0.get(1).map_or(0, |&stride| stride / 2);
        let at = |i: usize| (i + between).min(ranks.len() - 1);
        let differences: Vec<W> = self.0.iter().map(|&i| frequent.rank(ranks[at(i)])).collect();
        let cost = widest(Cost { differences: &differences, form: Form::PLAIN });
        let cost = whole(cost, ranks.len(), self.len());
        Choice { orders, hole: None, form: Form::PLAIN, cost }
    }

    /// The differences of elements that are no holes, and the cost of the marks of holes.
    fn with_holes<W: Word>(&self, o: &(impl Integers<W> + ?Sized), x: u8, hole: W) -> (Vec<W>, u64) {
        let (mut differences, mut changes) = (vec![], 0);
        for &i in &self.0 {
            let from = i.saturating_sub(BACK);
            let mut window = [W::ZERO; BACK + 1];
            o.load(from, &mut window[..=i - from]);
            let (before, own) = (&window[..i - from], window[i - from]);
            changes += u64::from(before.last().is_some_and(|&b| (b == hole) != (own == hole)));
            if own != hole {
                let last = before.iter().rev().find(|&&b| b != hole).filter(|_| x > 0);
                differences.push(own.sub(last.copied().unwrap_or(W::ZERO)));
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
#[inline(always)]
fn forms<W: Word>(differences: &[W]) -> [Form<W>; 3] {
    // Words in the order of signed integers.
    let top = W::LOW ^ W::ZERO.sub(W::ONE);
    let mut keys: Vec<W> = differences.iter().map(|&d| d ^ top).collect();
    if keys.is_empty() {
        return [Form::SIGNED; 3];
    }
    let least = keys.iter().fold(keys[0], |least, &key| least.min(key));
    let middle = keys.len() / 2;
    let (_, &mut median, _) = keys.select_nth_unstable(middle);
    [Form::SIGNED, Form { center: median ^ top, plain: false }, Form { center: least ^ top, plain: true }]
}

/// The comparison of all orders along x for differences along the other axes.
struct Compare<'a, W> {
    corners: &'a Corners<W>,
    y: bool,
    z: bool,
    best: &'a mut Best<W>,
}

impl<W: Word> Work for Compare<'_, W> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let Compare { corners, y, z, best } = self;
        let mut lines = corners.lines(y, z);
        for x in 0..=MOST_ORDER as u8 {
            for form in forms(&lines[0]) {
                let cost = cost(&lines[0], form, best.cost);
                best.offer(Orders { x, y, z }, None, form, cost);
            }
            next_order(&mut lines);
        }
    }
}

/// The cost of differences in quarters of bits, or a number that is not below `most`.
#[inline(always)]
fn cost<W: Word>(differences: &[W], form: Form<W>, most: u64) -> u64 {
    /// Differences between two comparisons with `most`.
    const PART: usize = 256;
    let (mut bits, mut others) = (0, 0);
    for part in differences.chunks(PART) {
        let (mut own, mut zeros) = (0, 0);
        for &d in part {
            let u = form.number(d);
            own += quarters(u);
            zeros += u32::from(u == W::ZERO);
        }
        bits += u64::from(own);
        others += part.len() as u64 - u64::from(zeros);
        if bits >= most {
            return bits;
        }
    }
    // Each that is not zero is marked among those that are.
    bits + 4 * others * mark(differences.len() as u64, others)
}

/// [`cost`] as work.
struct Cost<'a, W> {
    differences: &'a [W],
    form: Form<W>,
}

impl<W: Word> Work for Cost<'_, W> {
    type Result = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        cost(self.differences, self.form, u64::MAX)
    }
}

/// The length of a number in quarters of bits, about.
#[inline(always)]
fn quarters<W: Word>(u: W) -> u32 {
    let u = u.wide();
    if W::BITS > u32::BITS {
        let zeros = u.leading_zeros();
        let below = (u.wrapping_shl(zeros) >> (u64::BITS - 3) & 3) as u32;
        return 4 * (u64::BITS - zeros) + if u > 3 { below } else { 0 };
    }
    // A float consists of the length and the bits after the highest one. It represents numbers below 2^24 exactly.
    let u = u as u32;
    let is_long = u >> 24 > 0;
    let highest = if is_long { u >> 8 } else { u };
    let quarters = ((highest as i32 as f32).to_bits() >> 21).max(ZERO) - ZERO;
    quarters + if is_long { 4 * 8 } else { 0 } - if u == 3 { 2 } else { 0 }
}

/// Four times the exponent of the float 0.5, whose length is 0.
const ZERO: u32 = 4 * 126;
