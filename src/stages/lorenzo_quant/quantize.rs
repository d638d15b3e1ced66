//! Values to whole multiples of the step.

use super::guard_bits;
use super::lane::Lane;
use super::params::{LorenzoQuantParams, STRICT};
use crate::base::dtype::DType;
use crate::stages::quantizer;

/// The arithmetic of one call.
#[derive(Clone, Copy)]
pub(super) struct LaneQuantize<T> {
    /// 1 / (2 bound): values are multiplied, never divided.
    inverse: T,
    step: T,
    promise: T,
    /// Largest multiple; negative: none is taken.
    guard: T,
    threshold: T,
    pub(super) strict: bool,
}

impl<T: Lane> LaneQuantize<T> {
    pub(super) fn new(p: &LorenzoQuantParams, metadata: &quantizer::BoundMetadata) -> LaneQuantize<T> {
        let value = if size_of::<T>() == 4 { DType::F32 } else { DType::F64 };
        let guard = (1u64 << guard_bits(value, p.ndim)) as f64;
        let two = T::from_f64(2.0);
        let step = two.mul(T::from_f64(metadata.bound));
        LaneQuantize {
            inverse: T::from_f64(1.0).div(step),
            step,
            promise: T::from_f64(metadata.promise),
            guard: T::from_f64(if metadata.radius == 0 { -1.0 } else { guard }),
            threshold: T::from_f64(p.threshold),
            strict: p.switches & STRICT != 0,
        }
    }

    /// Computes `q`, the multiples of `x`, in a pass without branches; false if a multiple does not represent
    /// its value. Without strict, every value has a multiple, even a NaN.
    #[inline(always)]
    pub(super) fn run<const WIDE: bool>(&self, x: &[T], q: &mut [T]) -> bool {
        if !self.strict {
            q.iter_mut().zip(x).for_each(|(q, &x)| *q = self.nearest::<WIDE>(x));
            return true;
        }
        let mut all = true;
        for (q, &x) in q.iter_mut().zip(x) {
            *q = self.nearest::<WIDE>(x);
            all &= self.near(x, *q);
        }
        all
    }

    #[inline(always)]
    fn nearest<const WIDE: bool>(&self, x: T) -> T {
        let x = x.mul(self.inverse);
        if WIDE { x.round_wide() } else { x.round() }
    }

    /// True if `q` represents `x`, where it is the nearest multiple or, if that fails, the one on the other
    /// side of `x`. The difference is a float then, so the comparison is exact: the module's text proves it.
    #[inline(always)]
    fn near(&self, x: T, q: T) -> bool {
        let within = x.sub(q.mul(self.step)).abs() <= self.promise; // seed: lorenzo-no-check
        within & (q.abs() <= self.guard) & (x.abs() < self.threshold) // seed: lorenzo-threshold
    }

    /// The multiple that represents `x`: the nearest, or the one on the other side of `x`. None: `x` must be
    /// stored exactly.
    pub(super) fn find(&self, x: T) -> Option<T> {
        let q = x.mul(self.inverse).round();
        // NaN fails both.
        if !(x.abs() < self.threshold && q.abs() <= self.guard) {
            return None;
        }
        let one = T::from_f64(1.0);
        let other = if x > q.mul(self.step) { q.add(one) } else { q.sub(one) };
        let stands = |q: &T| self.near(x, *q);
        Some(q).filter(stands).or_else(|| Some(other).filter(stands))
    }
}
