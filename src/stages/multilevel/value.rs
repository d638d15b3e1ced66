//! Operations of the stage on f32 and f64.

use bytemuck::Pod;
use std::ops::{Add, Div, Mul, Sub};

/// A value of the array. All operations round once, to nearest, also [`LevelValue::fma`].
pub(super) trait LevelValue:
    Pod
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    /// The largest finite number.
    const MAX: Self;
    /// 1.5 · 2^(mantissa bits). Adding it rounds a number to an integer, which is in the low bits of the sum.
    const MAGIC: Self;
    /// Bits of a value.
    const BITS: u32;
    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    /// The nearest value of an integer.
    fn from_int(i: i32) -> Self;
    /// A constant that f32 represents exactly.
    fn of(x: f32) -> Self;
    /// self · b + c, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
    fn abs(self) -> Self;
    fn bits(self) -> u64;
    fn from_bits(bits: u64) -> Self;
    /// The integer in the low bits of a sum with [`LevelValue::MAGIC`].
    fn magic_int(sum: Self) -> i32;
    /// The context of an activity, which is in units of the step.
    fn bucket(self) -> u8;
    /// Bits of the integer part of a number that is not negative, at most 31. NaN has 31.
    fn length(self) -> u32;
    /// The exponent of the lowest bit that is set in a number other than 0.
    fn lowest_bit(self) -> i32;
}

macro_rules! value {
    ($T:ty, $U:ty, $mantissa:expr, $magic:expr, $bias:expr) => {
        impl LevelValue for $T {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const MAX: Self = <$T>::MAX;
            const MAGIC: Self = $magic;
            const BITS: u32 = <$U>::BITS;
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $T
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn from_int(i: i32) -> Self {
                i as $T
            }
            #[inline(always)]
            fn of(x: f32) -> Self {
                x.into()
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$T>::abs(self)
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                <$T>::from_bits(bits as $U)
            }
            #[inline(always)]
            fn magic_int(sum: Self) -> i32 {
                (sum.to_bits() as i32).wrapping_sub(Self::MAGIC.to_bits() as i32)
            }
            #[inline(always)]
            fn bucket(self) -> u8 {
                // An activity is a product of magnitudes, so only NaN may have a sign. Its exponent is the largest.
                let exponent = (self.to_bits() << 1 >> ($mantissa + 1)) as i32;
                (exponent - ($bias - 7)).clamp(0, 11) as u8
            }
            #[inline(always)]
            fn length(self) -> u32 {
                // NaN may have a sign, and the largest exponent.
                let exponent = (self.to_bits() << 1 >> ($mantissa + 1)) as i32;
                (exponent - ($bias - 1)).clamp(0, 31) as u32
            }
            fn lowest_bit(self) -> i32 {
                let bits = self.to_bits();
                let exponent = (bits << 1 >> ($mantissa + 1)) as i32;
                let mantissa = bits & ((1 << $mantissa) - 1);
                let (mantissa, exponent) =
                    if exponent == 0 { (mantissa, 1) } else { (mantissa | 1 << $mantissa, exponent) };
                mantissa.trailing_zeros() as i32 + exponent - $bias - $mantissa
            }
        }
    };
}
value!(f32, u32, 23, 12_582_912.0, 127);
value!(f64, u64, 52, 6_755_399_441_055_744.0, 1023);

#[cfg(test)]
mod tests {
    use super::LevelValue;

    #[test]
    fn lengths_are_those_of_integer_parts() {
        for (x, length) in [(0.0f32, 0), (1e-40, 0), (0.999, 0), (1.0, 1), (3.999, 2), (4.0, 3), (1.5e9, 31)]
        {
            assert_eq!((x.length(), f64::from(x).length()), (length, length), "{x}");
        }
        for x in [2_147_483_647.0f64, 4e9, 1e300, f64::INFINITY, f64::NAN, -f64::NAN] {
            assert_eq!((x.length(), (x as f32).length()), (31, 31), "{x}");
        }
    }
}
