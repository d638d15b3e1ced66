//! Rows of values to codes and back: strict, and with the arithmetic of the reference.

use super::params::{GinterpMetadata, GinterpParams};
use super::predict::{Neighbors, Reference, Strict};
use super::value::SplineValue;
use super::walk::{Line, Row};

/// The numbers of one call in the type of the values, the finest level first.
pub(super) struct Numbers<T> {
    step: [T; 6],
    /// 1 / half of the step.
    rcp: [T; 6],
    radius: u32,
    limit: T,
    bound: T,
    low: T,
    high: T,
    threshold: T,
}

impl<T: SplineValue> Numbers<T> {
    pub(super) fn new(p: &GinterpParams, metadata: &GinterpMetadata) -> Numbers<T> {
        Numbers {
            step: metadata.step.map(T::from_f64),
            rcp: metadata.rcp.map(T::from_f64),
            radius: metadata.radius,
            limit: T::from_f64(metadata.limit.into()),
            bound: T::from_f64(metadata.bound),
            low: zero_as(T::ZERO, T::from_f64(metadata.low)),
            high: zero_as(T::ZERO.neg(), T::from_f64(metadata.high)),
            threshold: T::from_f64(p.threshold_or_base),
        }
    }

    /// True if the bound holds for a value. NaN and infinities fail.
    #[inline(always)]
    pub(super) fn is_bounded(&self, x: T) -> bool {
        x.abs() < self.threshold && x.is_finite()
    }

    /// A prediction within the range. NaN becomes the smallest value.
    #[inline(always)]
    fn clamp(&self, p: T) -> T {
        let p = if p > self.low { p } else { self.low };
        if p < self.high { p } else { self.high }
    }

    /// The word in a tile for a value without a code.
    fn stand_in(&self, x: T, p: T) -> T {
        if self.is_bounded(x) {
            x // seed: ginterp-stand-in
        } else if p.is_finite() {
            p
        } else {
            T::ZERO
        }
    }
}

/// A limit of predictions, with this zero if it is one: minimum and maximum then have one result on every device.
fn zero_as<T: SplineValue>(zero: T, limit: T) -> T {
    if limit == T::ZERO { zero } else { limit }
}

/// The two ways.
pub(super) trait Coding: Sized + Sync {
    type Value: SplineValue;
    type Arithmetic: super::predict::Arithmetic<Self::Value>;

    fn new(numbers: Numbers<Self::Value>) -> Self;

    /// The word in a tile for an anchor.
    fn anchor(&self, x: Self::Value) -> Self::Value;

    /// `codes` and `v` of the values `x`, predicted as `p`; false where some of them have no code.
    fn encode(
        &self,
        row: &Row<'_>,
        x: &[Self::Value],
        p: &[Self::Value],
        v: &mut [Self::Value],
        codes: &mut [u32],
    ) -> bool;

    /// The list entry of a value without a code; none if the value has a code.
    fn kept(&self, row: &Row<'_>, x: Self::Value, p: Self::Value, code: u32) -> Option<Self::Value>;

    /// The values `v` of codes. `kept` are those of the lists, or nothing where the tiles have none.
    fn decode(
        &self,
        row: &Row<'_>,
        codes: &[u32],
        kept: &[Self::Value],
        p: &[Self::Value],
        v: &mut [Self::Value],
    );

    /// True if a value of the lists is a value of the array, for which a tile may have another value in its
    /// place.
    fn restores(&self, kept: Self::Value) -> bool;

    /// The same of an anchor.
    fn restores_anchor(&self, x: Self::Value) -> bool {
        self.restores(x)
    }
}

/// A bound for every value. Code 0 is kept for those without a code.
pub(super) struct Bounded<T>(Numbers<T>);

impl<T: SplineValue> Bounded<T> {
    /// Exactly |x - r| <= bound, in real numbers: d = x - r was rounded, and that matters where it is the bound alone.
    fn keeps(&self, x: T, r: T) -> bool {
        let d = x.sub(r);
        if d.abs() != self.0.bound {
            return d.abs() < self.0.bound;
        }
        let b = d.sub(x);
        let dropped = x.sub(d.sub(b)).add(r.neg().sub(b));
        dropped == T::ZERO || (dropped < T::ZERO) != (d < T::ZERO) // seed: ginterp-tie
    }

    /// Values that the fast loop did not accept.
    #[cold]
    fn repair(&self, level: usize, x: &[T], p: &[T], v: &mut [T], codes: &mut [u32]) -> bool {
        let (n, of_level) = (&self.0, self.of_level(level));
        let mut all = true;
        for (i, code) in codes.iter_mut().enumerate().filter(|(_, code)| **code == 0) {
            let x = x[i];
            let (q, r) = of_level.nearest(x, p[i]);
            if q.abs() < n.limit && n.is_bounded(x) && self.keeps(x, r) {
                (*code, v[i]) = (of_level.code(q), r);
            } else {
                v[i] = n.stand_in(x, n.clamp(p[i]));
                all = false;
            }
        }
        all
    }

    /// The inputs of the loop over a row.
    #[inline(always)]
    fn of_level(&self, level: usize) -> OfLevel<T> {
        let n = &self.0;
        OfLevel {
            step: n.step[level],
            rcp: n.rcp[level].mul(T::from_f64(0.5)),
            // Exact: it is far below 2^(mantissa bits).
            shift: T::SHIFT.add(T::from_f64(n.radius.into())),
            limit: n.limit,
            bound: n.bound,
            low: n.low,
            high: n.high,
            threshold: n.threshold,
        }
    }
}

/// [`Numbers`] of one level.
#[derive(Clone, Copy)]
struct OfLevel<T> {
    step: T,
    /// 1 / step.
    rcp: T,
    shift: T,
    limit: T,
    bound: T,
    low: T,
    high: T,
    threshold: T,
}

impl<T: SplineValue> OfLevel<T> {
    /// The number of steps nearest to `x`, half away from zero, and their value, from a prediction.
    #[inline(always)]
    fn nearest(&self, x: T, p: T) -> (T, T) {
        let p = if p > self.low { p } else { self.low };
        let p = if p < self.high { p } else { self.high };
        let e = x.sub(p);
        let t = e.abs().mul(self.rcp).add(T::from_f64(0.5));
        let q = t.trunc().copysign(e);
        (q, q.fma(self.step, p))
    }

    #[inline(always)]
    fn code(&self, q: T) -> u32 {
        q.add(self.shift).low_bits() & Self::MASK
    }

    /// The integer in a float of [`SplineValue::SHIFT`] plus an integer.
    const MASK: u32 = if size_of::<T>() == 4 { 0x7f_ffff } else { u32::MAX };
}

impl<T: SplineValue> Coding for Bounded<T> {
    type Value = T;
    type Arithmetic = Strict;

    fn new(numbers: Numbers<T>) -> Self {
        Bounded(numbers)
    }

    fn anchor(&self, x: T) -> T {
        if self.0.is_bounded(x) { x } else { self.0.clamp(T::ZERO) }
    }

    #[inline(always)]
    fn encode(&self, row: &Row<'_>, x: &[T], p: &[T], v: &mut [T], codes: &mut [u32]) -> bool {
        let (level, n) = (row.level, p.len());
        let loop_numbers = self.of_level(level);
        let (x, v, codes) = (&x[..n], &mut v[..n], &mut codes[..n]);
        let mut missed = 0;
        for i in 0..n {
            let (q, r) = loop_numbers.nearest(x[i], p[i]);
            // NaN is not below anything.
            let hit = (q.abs() < loop_numbers.limit)
                & (x[i].sub(r).abs() < loop_numbers.bound)
                & (x[i].abs() < loop_numbers.threshold);
            v[i] = r;
            let code = if hit { loop_numbers.code(q) } else { 0 };
            codes[i] = code;
            missed |= u32::from(code == 0);
        }
        let all = missed == 0;
        all || self.repair(level, x, p, v, codes)
    }

    fn kept(&self, _: &Row<'_>, x: T, _: T, code: u32) -> Option<T> {
        (code == 0).then_some(x)
    }

    #[inline(always)]
    fn decode(&self, row: &Row<'_>, codes: &[u32], kept: &[T], p: &[T], v: &mut [T]) {
        let n = &self.0;
        let (step, radius, low, high) = (n.step[row.level], n.radius, n.low, n.high);
        let (codes, v) = (&codes[..p.len()], &mut v[..p.len()]);
        let mut zeros = 0;
        for i in 0..p.len() {
            let q = T::from_int(codes[i].wrapping_sub(radius) as i32);
            let p = if p[i] > low { p[i] } else { low };
            let p = if p < high { p } else { high };
            v[i] = q.fma(step, p);
            zeros |= u32::from(codes[i] == 0);
        }
        if zeros != 0 {
            // Counts of zeros and of entries were compared, so there is a list.
            for ((i, v), &x) in v.iter_mut().enumerate().zip(kept).filter(|((i, _), _)| codes[*i] == 0) {
                *v = n.stand_in(x, n.clamp(p[i]));
            }
        }
    }

    fn restores(&self, kept: T) -> bool {
        !self.0.is_bounded(kept)
    }
}

/// The reference, with its losses: integers that wrap, and an outlier is a code that the type of the codes is too narrow for.
pub(super) struct Literal<T>(Numbers<T>);

impl<T: SplineValue> Literal<T> {
    /// The code as a number.
    fn number(&self, level: usize, x: T, p: T) -> T {
        let n = &self.0;
        let e = x.sub(p);
        let t = e.abs().fma(n.rcp[level], T::from_f64(1.0));
        let t = if e < T::ZERO { t.neg() } else { t };
        let q = t.mul(T::from_f64(0.5)).to_int();
        T::from_int(q.wrapping_add(n.radius as i32))
    }

    fn is_inline(&self, number: T) -> bool {
        number >= T::ZERO && number < T::from_f64(2.0 * f64::from(self.0.radius))
    }

    fn restore(&self, level: usize, number: T, p: T) -> T {
        number.sub(T::from_f64(self.0.radius.into())).fma(self.0.step[level], p)
    }
}

impl<T: SplineValue> Coding for Literal<T> {
    type Value = T;
    type Arithmetic = Reference;

    fn new(numbers: Numbers<T>) -> Self {
        Literal(numbers)
    }

    fn anchor(&self, x: T) -> T {
        x
    }

    fn encode(&self, row: &Row<'_>, x: &[T], p: &[T], v: &mut [T], codes: &mut [u32]) -> bool {
        let mut all = true;
        for (((&x, &p), v), code) in x.iter().zip(p).zip(v.iter_mut()).zip(codes.iter_mut()) {
            let number = self.number(row.level, x, p);
            let inside = self.is_inline(number);
            *v = self.restore(row.level, number, p);
            *code = if inside { number.to_f64() as u32 } else { 0 };
            all &= inside;
        }
        all
    }

    fn kept(&self, row: &Row<'_>, x: T, p: T, _: u32) -> Option<T> {
        let number = self.number(row.level, x, p);
        (!self.is_inline(number)).then_some(number)
    }

    fn decode(&self, row: &Row<'_>, codes: &[u32], kept: &[T], p: &[T], v: &mut [T]) {
        let radius = T::from_f64(self.0.radius.into());
        for (i, v) in v.iter_mut().enumerate() {
            let listed = kept.get(i).copied().unwrap_or(T::ZERO);
            let code = T::from_f64(codes[i].into()).add(listed);
            // The one line of the reference's decoder that its compiler does not fuse.
            let apart = match &row.line {
                Some(Line::AlongX(each)) => each[i] == Neighbors::Both,
                Some(Line::Across(n)) => *n == Neighbors::Both,
                None => false,
            };
            let x = if apart && row.flat && !row.md && row.level == 3 {
                p[i].add(code.sub(radius).mul(self.0.step[row.level]))
            } else {
                self.restore(row.level, code, p[i])
            };
            *v = x.canonical();
        }
    }

    fn restores(&self, _: T) -> bool {
        false
    }

    fn restores_anchor(&self, x: T) -> bool {
        x.is_nan()
    }
}
