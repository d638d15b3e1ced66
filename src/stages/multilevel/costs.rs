//! The costs of sampled points. Points with the same formulas are predicted together.

use super::predict::{Formula, Predictor, Taps};
use super::value::LevelValue;

/// Points that are predicted together.
const POINTS: usize = 32;
/// The numbers of taps on the left and on the right that formulas distinguish: 1 to 4, and 0 to 4.
const LEFT: usize = 4;
const RIGHT: usize = 5;

/// Points with the same numbers of taps.
#[derive(Clone)]
struct Lot<T> {
    taps: [[T; POINTS]; 8],
    values: [T; POINTS],
    count: usize,
}

/// The sums of the costs of points for `S` stencils.
pub(super) struct Costs<'a, T, const S: usize> {
    predictor: &'a Predictor<T>,
    stencils: [u8; S],
    sums: [u64; S],
    lots: Vec<Lot<T>>,
}

impl<'a, T: LevelValue, const S: usize> Costs<'a, T, S> {
    pub(super) fn new(predictor: &'a Predictor<T>, stencils: [u8; S]) -> Costs<'a, T, S> {
        let empty = Lot { taps: [[T::ZERO; POINTS]; 8], values: [T::ZERO; POINTS], count: 0 };
        Costs { predictor, stencils, sums: [0; S], lots: vec![empty; LEFT * RIGHT] }
    }

    /// Adds the cost of a bounded value. It has at least one tap on the left.
    #[inline(always)]
    pub(super) fn add(&mut self, value: T, taps: &Taps<T>, left: usize, right: usize) {
        let class = (left.min(LEFT) - 1) * RIGHT + right.min(RIGHT - 1);
        let lot = &mut self.lots[class];
        let at = lot.count % POINTS;
        for (all, &tap) in lot.taps.iter_mut().zip(taps) {
            all[at] = tap;
        }
        lot.values[at] = value;
        lot.count = at + 1;
        if lot.count == POINTS {
            self.sum(class);
        }
    }

    /// Adds the costs of the points of a lot, which is empty then.
    #[inline(always)]
    fn sum(&mut self, class: usize) {
        let lot = &mut self.lots[class];
        let n = std::mem::take(&mut lot.count);
        let (mut p, mut contexts) = ([T::ZERO; POINTS], [0; POINTS]);
        let [t0, t1, t2, t3, t4, t5, t6, t7] = &lot.taps;
        let taps = [&t0[..n], &t1[..n], &t2[..n], &t3[..n], &t4[..n], &t5[..n], &t6[..n], &t7[..n]];
        let (mut before, mut cost) = (None, 0);
        for (sum, &stencil) in self.sums.iter_mut().zip(&self.stencils) {
            let formula = Formula::new(stencil, class / RIGHT + 1, class % RIGHT);
            if before != Some(formula) {
                before = Some(formula);
                self.predictor.row(formula, taps, &mut p[..n], &mut contexts[..n]);
                let mut bits = 0;
                for (&value, &p) in lot.values[..n].iter().zip(&p[..n]) {
                    bits += ((value - p).abs() * (self.predictor.rate * T::of(4.0))).length();
                }
                cost = u64::from(bits);
            }
            *sum += cost;
        }
    }

    /// The sum for each stencil.
    #[inline(always)]
    pub(super) fn sums(mut self) -> [u64; S] {
        for class in 0..LEFT * RIGHT {
            if self.lots[class].count > 0 {
                self.sum(class);
            }
        }
        self.sums
    }
}
