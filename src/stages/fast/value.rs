//! f32 and f64 as values of the stage: to codes and back.

use crate::stages::quantizer;
use bytemuck::Pod;

/// Codes of f64 are relative to a reference value, from this magnitude of it on.
const FAR: i64 = 1 << 27;
/// Codes of f64 are below this: differences in three dimensions stay below 2^31.
const NEAR: i64 = 1 << 28; // seed: fast-near

/// A value of the array.
pub(super) trait FastValue: Pod + Default + Send + Sync + PartialOrd {
    const ZERO: Self;
    /// Words of 32 bits.
    const WORDS: usize;
    fn from_f64(x: f64) -> Self;
    /// 2 bound and its inverse. A hostile bound makes no infinite step, so no value becomes NaN.
    fn steps(bound: f64) -> (Self, Self);
    /// The multiple of the step that represents `x`.
    fn multiple(self, q: &FastQuantize<Self>) -> Option<i64>;
    /// The multiple `q`, rounded, times the step.
    fn restore(q: i64, step: Self) -> Self;
    /// The reference of the codes of a chunk whose first value has the multiple `first`.
    fn reference(first: Option<i64>) -> i64;
    /// The code of a multiple; none where the type of codes does not hold it.
    fn code(multiple: i64, reference: i64) -> Option<i32>;
    // Bodies for wide registers alone call these two.
    /// The code of `x`, and true if it represents `x`: [`FastValue::multiple`] and [`FastValue::code`]
    /// without branches.
    #[cfg(target_arch = "x86_64")]
    fn quick(self, q: &FastQuantize<Self>, reference: Self) -> (i32, bool);
    /// [`FastValue::restore`] of a reference value, as a float, and a code, where no sum of the two rounds.
    #[cfg(target_arch = "x86_64")]
    fn quick_restore(reference: Self, code: i32, step: Self) -> Self;
    /// Equality of bits.
    fn same(self, other: Self) -> bool;
}

/// The arithmetic of one call.
#[derive(Clone, Copy)]
pub(super) struct FastQuantize<T> {
    /// 1 / (2 bound): values are multiplied, never divided. Infinite if there is no step, and nothing is
    /// coded then.
    pub(super) inverse: T,
    pub(super) step: T,
    pub(super) promise: T,
    pub(super) threshold: T,
}

impl<T: FastValue> FastQuantize<T> {
    pub(super) fn new(threshold: f64, metadata: &quantizer::BoundMetadata) -> FastQuantize<T> {
        let (step, inverse) = T::steps(metadata.bound);
        let (promise, threshold) = (T::from_f64(metadata.promise), T::from_f64(threshold));
        FastQuantize { inverse, step, promise, threshold }
    }
}

macro_rules! value {
    ($T:ty, $words:expr, $magic:expr, $limit:expr, $most:expr, $reference:expr, $code:expr) => {
        impl FastValue for $T {
            const ZERO: Self = 0.0;
            const WORDS: usize = $words;
            fn from_f64(x: f64) -> Self {
                x as $T
            }
            fn steps(bound: f64) -> (Self, Self) {
                let step = 2.0 * (bound as $T).min($most);
                (step, 1.0 / step)
            }
            fn multiple(self, f: &FastQuantize<Self>) -> Option<i64> {
                // Rounds once, half to even, below 2^(mantissa bits - 1); beyond, q is above the limit.
                const MAGIC: $T = $magic;
                let q = self.mul_add(f.inverse, MAGIC) - MAGIC;
                // NaN and infinities fail the comparisons.
                let coded =
                    self.abs() < f.threshold && q.abs() < $limit && (self - q * f.step).abs() <= f.promise;
                coded.then_some(q as i64)
            }
            fn restore(q: i64, step: Self) -> Self {
                q as $T * step
            }
            fn reference(first: Option<i64>) -> i64 {
                $reference(first)
            }
            fn code(multiple: i64, reference: i64) -> Option<i32> {
                $code(multiple, reference)
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            fn quick(self, f: &FastQuantize<Self>, reference: Self) -> (i32, bool) {
                const MAGIC: $T = $magic;
                let sum = self.mul_add(f.inverse, MAGIC); // seed: fast-fused-wide
                let q = sum - MAGIC;
                let coded = (self.abs() < f.threshold)
                    & (q.abs() < $limit)
                    & ((self - q * f.step).abs() <= f.promise) // seed: fast-no-check
                    & ((q - reference).abs() < NEAR as $T);
                // The low bits of the sum are the integer, and so are those of this one, where it is coded.
                let sum = q - reference + MAGIC;
                ((sum.to_bits() as i32).wrapping_sub(MAGIC.to_bits() as i32), coded)
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            fn quick_restore(reference: Self, code: i32, step: Self) -> Self {
                (reference + code as $T) * step
            }
            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits()
            }
        }
    };
}

value!(f32, 1, 12_582_912.0, 2_097_152.0, f32::from_bits(0x7e80_0000), |_| 0, |q: i64, _| Some(q as i32));
value!(
    f64,
    2,
    6_755_399_441_055_744.0,
    2_251_799_813_685_248.0,
    f64::from_bits(0x7fd0_0000_0000_0000),
    |first: Option<i64>| first.filter(|q| q.abs() >= FAR).unwrap_or(0),
    |q: i64, reference: i64| Some(q - reference).filter(|c| c.abs() < NEAR).map(|c| c as i32)
);
