//! f32 and f64 as the stage computes with them.

use bytemuck::Pod;

/// A value of the array. All operations round to nearest, [`SplineValue::fma`] once.
pub(super) trait SplineValue: Pod + Default + PartialOrd + Send + Sync {
    const ZERO: Self;
    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    /// An integer, rounded.
    fn from_int(i: i32) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    /// self · b + c, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    /// Toward zero.
    fn trunc(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn is_finite(self) -> bool;
    fn is_nan(self) -> bool;
    /// 2^(mantissa bits): adding it to an integer in a float of at most half of it leaves the integer in the low bits.
    const SHIFT: Self;
    /// The low 32 bits.
    fn low_bits(self) -> u32;
    /// To an integer toward zero, cut off at its limits. The result for a NaN differs in the reference.
    fn to_int(self) -> i32;
    /// The NaN of an arithmetic operation, the same on every device.
    fn canonical(self) -> Self;
}

macro_rules! value {
    ($T:ty, $shift:expr, $nan:expr, $nan_to_int:expr) => {
        impl SplineValue for $T {
            const ZERO: Self = 0.0;
            const SHIFT: Self = $shift;
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
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$T>::abs(self)
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                <$T>::trunc(self)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                <$T>::copysign(self, sign)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                <$T>::is_finite(self)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                <$T>::is_nan(self)
            }
            #[inline(always)]
            fn low_bits(self) -> u32 {
                self.to_bits() as u32
            }
            fn to_int(self) -> i32 {
                if self.is_nan() { $nan_to_int } else { self as i32 }
            }
            #[inline(always)]
            fn canonical(self) -> Self {
                if self.is_nan() { <$T>::from_bits($nan) } else { self }
            }
        }
    };
}
value!(f32, 8_388_608.0, 0x7fff_ffff, 0);
value!(f64, 4_503_599_627_370_496.0, 0x7fff_ffff_ffff_ffff, i32::MIN);
