//! Predictions along one axis, and their activities, which estimate how accurate they are.

use super::params::{FILL1, FILL2, LATTICE, MultilevelMetadata};
use super::value::LevelValue;

/// The formula of a point, which depends on the stencil of the level and on the number of taps on each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Formula {
    /// One tap on the left.
    Copy,
    /// Two taps on the left: the last one, or the line through both.
    Hold,
    Extend,
    /// The two nearest taps.
    Mean,
    /// Three taps: two on the left, or two on the right.
    Left,
    Right,
    Two,
    Four,
    Six,
    Eight,
}

impl Formula {
    pub(super) fn new(stencil: u8, left: usize, right: usize) -> Formula {
        match (stencil, left, right) {
            (_, 1, 0) => Formula::Copy,
            (2, _, 0) => Formula::Hold,
            (_, _, 0) => Formula::Extend,
            (_, 1, 1) | (2, 1, _) | (2, _, 1) => Formula::Mean,
            (_, _, 1) => Formula::Left,
            (_, 1, _) => Formula::Right,
            (2, ..) => Formula::Two,
            (8, 4.., 4..) => Formula::Eight,
            (6 | 8, 3.., 3..) => Formula::Six,
            _ => Formula::Four,
        }
    }

    /// True if the point has no tap on the right.
    #[inline(always)]
    fn is_single(self) -> bool {
        matches!(self, Formula::Copy | Formula::Hold | Formula::Extend)
    }
}

/// The taps of a point from left to right. Formulas do not use taps that do not exist.
pub(super) type Taps<T> = [T; 8];

#[inline(always)]
fn larger<T: LevelValue>(a: T, b: T) -> T {
    if a > b { a } else { b }
}

#[inline(always)]
fn four<T: LevelValue>([_, _, a, b, c, d, ..]: Taps<T>) -> T {
    (b + c).fma(T::of(0.5625), (a + d) * T::of(-0.0625))
}

#[inline(always)]
fn six<T: LevelValue>([_, a5, a, b, c, d, d5, _]: Taps<T>) -> T {
    let (s1, s3, s5) = (b + c, a + d, a5 + d5);
    s5.fma(T::of(3.0 / 256.0), s3.fma(T::of(-25.0 / 256.0), s1 * T::of(150.0 / 256.0)))
}

#[inline(always)]
fn eight<T: LevelValue>([t0, a5, a, b, c, d, d5, t7]: Taps<T>) -> T {
    let (s1, s3, s5, s7) = (b + c, a + d, a5 + d5, t0 + t7);
    let inner = s3.fma(T::of(-245.0 / 2048.0), s1 * T::of(1225.0 / 2048.0));
    s7.fma(T::of(-5.0 / 2048.0), s5.fma(T::of(49.0 / 2048.0), inner))
}

/// The prediction and the activity of a point.
#[inline(always)]
fn apply<T: LevelValue, const F: u8>(w: Taps<T>, step: T) -> (T, T) {
    let [_, _, a, b, c, d, ..] = w;
    let bend = ((b + c) - (a + d)).abs();
    match F {
        F_COPY => (b, step),
        F_HOLD => (b, (b - a).abs() * T::of(0.5)),
        F_EXTEND => ((b - a).fma(T::of(0.5), b), (b - a).abs() * T::of(0.5)),
        F_MEAN => ((b + c) * T::of(0.5), (b - c).abs() * T::of(0.25)),
        F_LEFT => (
            b.fma(T::of(0.75), c.fma(T::of(0.375), a * T::of(-0.125))),
            b.fma(T::of(-2.0), a + c).abs() * T::of(0.125),
        ),
        F_RIGHT => (
            c.fma(T::of(0.75), b.fma(T::of(0.375), d * T::of(-0.125))),
            c.fma(T::of(-2.0), b + d).abs() * T::of(0.125),
        ),
        F_TWO => ((b + c) * T::of(0.5), bend.fma(T::of(0.0625), (b - c).abs() * T::of(0.03125))),
        F_FOUR => (four(w), bend * T::of(0.0625)),
        F_SIX => {
            let p = six(w);
            (p, larger((p - four(w)).abs(), bend * T::of(1.0 / 64.0)))
        }
        _ => {
            let p = eight(w);
            (p, larger((p - six(w)).abs() * T::of(2.0), bend * T::of(1.0 / 128.0)))
        }
    }
}

const F_COPY: u8 = Formula::Copy as u8;
const F_HOLD: u8 = Formula::Hold as u8;
const F_EXTEND: u8 = Formula::Extend as u8;
const F_MEAN: u8 = Formula::Mean as u8;
const F_LEFT: u8 = Formula::Left as u8;
const F_RIGHT: u8 = Formula::Right as u8;
const F_TWO: u8 = Formula::Two as u8;
const F_FOUR: u8 = Formula::Four as u8;
const F_SIX: u8 = Formula::Six as u8;
const F_EIGHT: u8 = Formula::Eight as u8;

/// The numbers of a call that predictions depend on.
#[derive(Clone, Copy)]
pub(super) struct Predictor<T> {
    pub(super) step: T,
    /// 1 / step, or 0.
    pub(super) rate: T,
    pub(super) center: T,
    low: T,
    high: T,
    /// Predictions of a larger magnitude result from values that are not bounded.
    limit: T,
    pub(super) threshold: T,
    lattice: bool,
}

impl<T: LevelValue> Predictor<T> {
    pub(super) fn new(threshold: f64, m: &MultilevelMetadata) -> Predictor<T> {
        let [step, center, low, high, threshold] =
            [m.step, m.center, m.low, m.high, threshold].map(T::from_f64);
        let rate = if step > T::ZERO { T::ONE / step } else { T::ZERO };
        let least = |a: T, b: T| if a < b { a } else { b };
        let limit = least(larger(low.abs(), high.abs()) * T::of(4.0), threshold * T::of(2.0));
        let limit = least(limit, T::MAX);
        Predictor { step, rate, center, low, high, limit, threshold, lattice: m.flags & LATTICE != 0 }
    }

    #[inline(always)]
    pub(super) fn is_bounded(&self, x: T) -> bool {
        x.abs() < self.threshold // The comparison is false for NaN.
    }

    /// Rounds a prediction to a multiple of the step if the values are on a lattice.
    #[inline(always)]
    pub(super) fn on_lattice(&self, p: T) -> T {
        if self.lattice { ((p * self.rate + T::MAGIC) - T::MAGIC) * self.step } else { p }
    }

    #[inline(always)]
    fn clamp(&self, p: T) -> T {
        let p = if p > self.low { p } else { self.low };
        if p < self.high { p } else { self.high }
    }

    /// The prediction and the context of a point.
    #[inline(always)]
    pub(super) fn point(&self, formula: Formula, taps: Taps<T>) -> (T, u8) {
        let (p, activity) = match formula {
            Formula::Copy => apply::<T, F_COPY>(taps, self.step),
            Formula::Hold => apply::<T, F_HOLD>(taps, self.step),
            Formula::Extend => apply::<T, F_EXTEND>(taps, self.step),
            Formula::Mean => apply::<T, F_MEAN>(taps, self.step),
            Formula::Left => apply::<T, F_LEFT>(taps, self.step),
            Formula::Right => apply::<T, F_RIGHT>(taps, self.step),
            Formula::Two => apply::<T, F_TWO>(taps, self.step),
            Formula::Four => apply::<T, F_FOUR>(taps, self.step),
            Formula::Six => apply::<T, F_SIX>(taps, self.step),
            Formula::Eight => apply::<T, F_EIGHT>(taps, self.step),
        };
        let (p, context) = if self.is_usual(p) {
            (p, (activity * self.rate).bucket())
        } else {
            let [.., b, c, _, _, _] = taps;
            self.careful(b, if formula.is_single() { None } else { Some(c) })
        };
        (self.clamp(self.on_lattice(p)), context)
    }

    /// Writes predictions and contexts of points that have the same formula and whose taps are contiguous.
    #[inline(always)]
    pub(super) fn row(&self, formula: Formula, taps: [&[T]; 8], p: &mut [T], contexts: &mut [u8]) {
        let careful = match formula {
            Formula::Copy => self.plain::<F_COPY>(taps, p, contexts),
            Formula::Hold => self.plain::<F_HOLD>(taps, p, contexts),
            Formula::Extend => self.plain::<F_EXTEND>(taps, p, contexts),
            Formula::Mean => self.plain::<F_MEAN>(taps, p, contexts),
            Formula::Left => self.plain::<F_LEFT>(taps, p, contexts),
            Formula::Right => self.plain::<F_RIGHT>(taps, p, contexts),
            Formula::Two => self.plain::<F_TWO>(taps, p, contexts),
            Formula::Four => self.plain::<F_FOUR>(taps, p, contexts),
            Formula::Six => self.plain::<F_SIX>(taps, p, contexts),
            Formula::Eight => self.plain::<F_EIGHT>(taps, p, contexts),
        };
        if careful {
            let single = formula.is_single();
            for (i, (p, context)) in p.iter_mut().zip(contexts.iter_mut()).enumerate() {
                if !self.is_usual(*p) {
                    let c = if single { None } else { Some(taps[4][i]) };
                    (*p, *context) = self.careful(taps[3][i], c);
                }
            }
        }
        if self.lattice {
            p.iter_mut().for_each(|p| *p = self.on_lattice(*p));
        }
        for p in p.iter_mut() {
            *p = self.clamp(*p);
        }
    }

    /// The prediction of points whose nearest taps are not bounded.
    pub(super) fn beside_nothing(&self) -> T {
        self.clamp(self.on_lattice(self.center))
    }

    #[inline(always)]
    fn is_usual(&self, p: T) -> bool {
        p.abs() <= self.limit // The comparison is false for NaN.
    }

    /// Writes predictions and contexts. Returns true if some of the predictions must not be used.
    #[inline(always)]
    fn plain<const F: u8>(&self, taps: [&[T]; 8], p: &mut [T], contexts: &mut [u8]) -> bool {
        let n = p.len();
        let contexts = &mut contexts[..n];
        let [t0, a5, a, b, c, d, d5, t7] = taps;
        // The compiler vectorizes the loop only if the slices are cut here: a closure for `map` would be a separate function.
        let (t0, a5, a, b) = (&t0[..n], &a5[..n], &a[..n], &b[..n]);
        let (c, d, d5, t7) = (&c[..n], &d[..n], &d5[..n], &t7[..n]);
        let mut usual = true;
        for i in 0..n {
            let window = [t0[i], a5[i], a[i], b[i], c[i], d[i], d5[i], t7[i]];
            let (prediction, activity) = apply::<T, F>(window, self.step);
            p[i] = prediction;
            contexts[i] = (activity * self.rate).bucket();
            usual &= self.is_usual(prediction);
        }
        !usual
    }

    /// The prediction and the context of a point beside values that are not bounded, by its nearest taps; `c` may not exist.
    #[cold]
    fn careful(&self, b: T, c: Option<T>) -> (T, u8) {
        let bucket = |activity: T| (activity * self.rate).bucket();
        match (self.is_bounded(b), c.map(|c| (c, self.is_bounded(c)))) {
            (true, None) => (b, bucket(self.step)),
            (false, None) => (self.center, FILL2 as u8),
            (true, Some((c, true))) => {
                let p = b * T::of(0.5) + c * T::of(0.5);
                (p, bucket((b - c).abs() * T::of(0.25)))
            }
            (true, Some((_, false))) => (b, FILL1 as u8),
            (false, Some((c, true))) => (c, FILL1 as u8),
            (false, Some((c, false))) => {
                (self.center, if b.bits() == c.bits() { FILL2 } else { FILL1 } as u8)
            }
        }
    }
}
