//! f32 and f64 as the quantizer needs them: exact rounding to bins, directed rounding, bits.

use bytemuck::Pod;

/// A float type with the integer of its width.
pub(super) trait Real: Pod + PartialOrd + Send + Sync + std::fmt::Debug {
    type Bits: Pod + Send + Sync;
    const INFINITY: Self;
    const ZERO: Self;
    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    fn abs(self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn to_bits(self) -> Self::Bits;
    fn from_bits(bits: Self::Bits) -> Self;
    /// `x` rounded half to even, as a float and as an integer; right for |x| < [`Real::FAST`]. Adding and
    /// taking away 1.5 x 2^(mantissa bits) rounds in one instruction on every machine, and the low bits of
    /// the sum are the integer.
    fn bin_fast(self) -> (Self, i64);
    const FAST: Self;
    /// The same for every x; the integer is meaningful below 2^31.
    fn bin(self) -> (Self, i64);
    /// An integer below 2^53 in magnitude, rounded to the type.
    fn from_bin(bin: i64) -> Self;
}

macro_rules! real {
    ($T:ty, $U:ty, $I:ty, $magic:expr, $fast:expr) => {
        impl Real for $T {
            type Bits = $U;
            const INFINITY: Self = <$T>::INFINITY;
            const ZERO: Self = 0.0;
            const FAST: Self = $fast;
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $T
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$T>::abs(self)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn to_bits(self) -> $U {
                <$T>::to_bits(self)
            }
            #[inline(always)]
            fn from_bits(bits: $U) -> Self {
                <$T>::from_bits(bits)
            }
            #[inline(always)]
            fn bin_fast(self) -> (Self, i64) {
                const MAGIC: $T = $magic;
                let sum = self + MAGIC;
                (sum - MAGIC, (sum.to_bits() as $I).wrapping_sub(MAGIC.to_bits() as $I) as i64)
            }
            #[inline(always)]
            fn bin(self) -> (Self, i64) {
                let k = self.round_ties_even(); // seed: half-away-slow
                (k, k as i64)
            }
            #[inline(always)]
            fn from_bin(bin: i64) -> Self {
                bin as $T
            }
        }
    };
}
real!(f32, u32, i32, 12_582_912.0, 4_194_304.0); // seed: magic-number
real!(f64, u64, i64, 6_755_399_441_055_744.0, 2_251_799_813_685_248.0);

/// An unsigned code that holds a bin.
pub(super) trait BinCode: Pod + Send + Sync {
    const ZERO: Self;
    fn from_bin(bin: i64, zigzag: bool) -> Self;
    fn to_bin(self, zigzag: bool) -> i64;
    /// Half of the code, which the in-place sentinel is compared with.
    fn half(self) -> u64;
    /// The largest code.
    const MOST: u64;
    /// A code of mode rel; not above [`BinCode::MOST`].
    fn from_raw(code: u64) -> Self;
    fn raw(self) -> u64;
    /// For a code of mode rel: the magnitude of the bin, and 1 for a bin and for a value below zero.
    fn logarithm(self) -> (f32, u32, u32);
}

/// Bins of this magnitude and above restore to 0 or infinity for any step; below they are exact in f64.
const FAR: u64 = 1 << 51;

macro_rules! code {
    ($($U:ty, $I:ty, $float:expr);*) => {$(
        impl BinCode for $U {
            const ZERO: Self = 0;
            #[inline(always)]
            fn from_bin(bin: i64, zigzag: bool) -> Self {
                let bin = bin as $I;
                if zigzag { ((bin << 1) ^ (bin >> (<$U>::BITS - 1))) as $U } else { bin as $U }
            }
            #[inline(always)]
            fn to_bin(self, zigzag: bool) -> i64 {
                if zigzag {
                    ((self >> 1) ^ (0 as $U).wrapping_sub(self & 1)) as $I as i64
                } else {
                    self as $I as i64
                }
            }
            #[inline(always)]
            fn half(self) -> u64 {
                u64::from(self >> 1)
            }
            const MOST: u64 = <$U>::MAX as u64;
            #[inline(always)]
            fn from_raw(code: u64) -> Self {
                code as $U
            }
            #[inline(always)]
            fn raw(self) -> u64 {
                self.into()
            }
            #[inline(always)]
            fn logarithm(self) -> (f32, u32, u32) {
                let bin = self.wrapping_sub(1);
                ($float(bin >> 2), (bin >> 1 & 1) as u32, (bin & 1) as u32)
            }
        }
    )*};
}
code!(u16, i16, f32::from; u32, i32, |bin| bin as i32 as f32; u64, i64, |bin: u64| bin.min(FAR) as i64 as f32);

/// `a - b`, rounded toward zero.
pub(super) fn sub_toward_zero(a: f64, b: f64) -> f64 {
    let d = a - b;
    if d.is_infinite() {
        return f64::MAX.copysign(d);
    }
    let bb = a - d;
    let error = (a - (d + bb)) + (bb - b);
    toward_zero(d, error) // seed: range-rounds-up
}

/// `a + b` for positive numbers, rounded toward zero.
pub(super) fn toward_zero_sum(a: f64, b: f64) -> f64 {
    sub_toward_zero(a, -b)
}

/// `a * b`, rounded toward zero.
pub(super) fn mul_toward_zero(a: f64, b: f64) -> f64 {
    let p = a * b;
    if p.is_infinite() {
        return f64::MAX.copysign(p);
    }
    toward_zero(p, a.mul_add(b, -p)) // seed: product-rounds-up
}

/// The neighbor of `x` toward zero when the part that rounding dropped points there.
fn toward_zero(x: f64, dropped: f64) -> f64 {
    let away = (dropped < 0.0 && x > 0.0) || (dropped > 0.0 && x < 0.0);
    if away { f64::from_bits(x.to_bits() - 1) } else { x }
}

/// The largest f32 that is not above `x` (x >= 0).
pub(super) fn floor_f32(x: f64) -> f32 {
    let y = x as f32;
    if f64::from(y) > x { f32::from_bits(y.to_bits() - 1) } else { y }
}
