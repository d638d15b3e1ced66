//! Values to whole multiples of the step.

use super::lane::Lane;
use super::{Launch, STRICT, guard_bits};
use crate::dtype::DType;
use crate::stages::quantizer;

/// The arithmetic of one call.
#[derive(Clone, Copy)]
pub(super) struct Quantize<T> {
    /// 1 / (2 bound): values are multiplied, never divided.
    inverse: T,
    step: T,
    promise: T,
    /// Largest multiple; negative: none is taken.
    guard: T,
    threshold: T,
    pub(super) strict: bool,
}

impl<T: Lane> Quantize<T> {
    pub(super) fn new(p: &Launch, facts: &quantizer::Facts) -> Quantize<T> {
        let value = if size_of::<T>() == 4 { DType::F32 } else { DType::F64 };
        let guard = (1u64 << guard_bits(value, p.ndim)) as f64;
        let two = T::from_f64(2.0);
        let step = two.mul(T::from_f64(facts.bound));
        Quantize {
            inverse: T::from_f64(1.0).div(step),
            step,
            promise: T::from_f64(facts.promise),
            guard: T::from_f64(if facts.radius == 0 { -1.0 } else { guard }),
            threshold: T::from_f64(p.threshold),
            strict: p.switches & STRICT != 0,
        }
    }

    /// `q` = the multiples of `x`, in a pass without branches; false where a value has none. Not strict, every
    /// value has one, and be it NaN.
    #[inline(always)]
    pub(super) fn run(&self, x: &[T], q: &mut [T]) -> bool {
        if !self.strict {
            q.iter_mut().zip(x).for_each(|(q, &x)| *q = x.mul(self.inverse).round());
            return true;
        }
        let mut all = true;
        for (q, &x) in q.iter_mut().zip(x) {
            *q = x.mul(self.inverse).round();
            all &= self.near(x, *q);
        }
        all
    }

    /// True only if `q` stands for `x`; false for some that it stands for. Where |x| is not below half of the
    /// product, the difference is a float, and so the comparison is exact.
    #[inline(always)]
    fn near(&self, x: T, q: T) -> bool {
        let y = q.mul(self.step);
        (x.sub(y).abs() <= self.promise)
            & (x.abs().add(x.abs()) >= y.abs())
            & (q.abs() <= self.guard)
            & (x.abs() < self.threshold)
    }

    /// The multiple that stands for `x`: the nearest, or the one on the other side of `x`. None: `x` has to be kept as it
    /// is.
    pub(super) fn find(&self, x: T) -> Option<T> {
        let q = x.mul(self.inverse).round();
        // NaN fails both.
        if !(x.abs() < self.threshold && q.abs() <= self.guard) {
            return None;
        }
        let one = T::from_f64(1.0);
        let other = if x > q.mul(self.step) { q.add(one) } else { q.sub(one) };
        let stands = |q: &T| q.abs() <= self.guard && self.within(x, q.mul(self.step));
        Some(q).filter(stands).or_else(|| Some(other).filter(stands))
    }

    /// |x - y| <= promise in real numbers. Rounding is monotonic, so it can only hide on which side of the promise a
    /// difference lies that it has made equal to it; then what was lost decides.
    fn within(&self, x: T, y: T) -> bool {
        let d = x.sub(y);
        if d.abs() < self.promise || d.abs() > self.promise {
            return d.abs() < self.promise;
        }
        let back = x.sub(d);
        let lost = x.sub(d.add(back)).add(back.sub(y));
        // x - y = d + lost.
        if d > T::ZERO { lost <= T::ZERO } else { lost >= T::ZERO }
    }
}
