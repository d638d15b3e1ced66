//! From a value to its level and its rest, and back.

use super::params::{FORMULA_DIVIDE, FORMULA_F32, LatticeParams};
use bytemuck::Pod;

/// f32 or f64, with the unsigned integer of its width.
pub(super) trait LatticeValue: Pod + PartialEq + Send + Sync {
    type Bits: Pod + Default + Send + Sync + Into<u64>;
    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    /// The value whose bits are those of `self` and a rest more.
    fn plus(self, rest: Self::Bits) -> Self;
    /// The rest that [`LatticeValue::plus`] adds to `of` for the result `self`: the difference of the bits in zigzag form.
    fn minus(self, of: Self) -> Self::Bits;
    /// Distance of the next number away from zero, of a number that is not negative.
    fn spacing(x: f64) -> f64;
}

macro_rules! value {
    ($T:ty, $U:ty, $I:ty) => {
        impl LatticeValue for $T {
            type Bits = $U;
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $T
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn plus(self, rest: $U) -> Self {
                let difference = (rest >> 1) ^ (0 as $U).wrapping_sub(rest & 1);
                <$T>::from_bits(self.to_bits().wrapping_add(difference))
            }
            #[inline(always)]
            fn minus(self, of: Self) -> $U {
                let difference = self.to_bits().wrapping_sub(of.to_bits());
                (difference << 1) ^ ((difference as $I) >> (<$U>::BITS - 1)) as $U
            }
            fn spacing(x: f64) -> f64 {
                let x = x as $T;
                f64::from(<$T>::from_bits(x.to_bits() + 1) - x)
            }
        }
    };
}
value!(f32, u32, i32);
value!(f64, u64, i64);

/// 1.5 · 2^52: adding and subtracting it rounds numbers below 2^51 to integers, ties to even.
const MAGIC: f64 = 6_755_399_441_055_744.0;

#[inline(always)]
pub(super) fn nearest_integer(x: f64) -> f64 {
    (x + MAGIC) - MAGIC
}

impl LatticeParams {
    /// The value of a level.
    #[inline(always)]
    pub(super) fn value_at<T: LatticeValue>(&self, level: f64) -> T {
        match self.formula {
            FORMULA_F32 => T::from_f64((level as f32 * self.scale as f32 + self.offset as f32).into()),
            FORMULA_DIVIDE => T::from_f64(level / self.scale + self.offset),
            _ => T::from_f64(level * self.scale + self.offset),
        }
    }

    /// The level of a value and the rest. A value that is too far away for a level is kept unchanged, or is at level 0 if it could
    /// be mistaken for a level.
    #[inline(always)]
    pub(super) fn split<T: LatticeValue>(&self, x: T) -> (T, T::Bits) {
        let wide = x.to_f64();
        let t = (wide - self.offset) * self.rate;
        let level = if t.abs() < self.limit - 1.0 {
            nearest_integer(t)
        } else if wide.abs() < self.limit {
            0.0
        } else {
            // NaN and infinity among them.
            return (x, T::Bits::default());
        };
        (T::from_f64(level), x.minus(self.value_at(level)))
    }

    /// The value that [`LatticeParams::split`] divided.
    #[inline(always)]
    pub(super) fn join<T: LatticeValue>(&self, level: T, rest: T::Bits) -> T {
        let wide = level.to_f64();
        if wide.abs() < self.limit {
            self.value_at::<T>(nearest_integer(wide)).plus(rest)
        } else {
            // NaN and infinity among them.
            level.plus(rest)
        }
    }
}
