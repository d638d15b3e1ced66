//! f32 and f64 as the stage needs them, without a branch where values run past.

use super::decode::scan;
use super::encode::along;
use super::grid::DEPTH;
#[cfg(target_arch = "x86_64")]
use super::wide;
use crate::stages::words::Word;
use bytemuck::Pod;

/// Calls a function of the types of values and codes, and of whether codes are zigzag, with those of a launch.
macro_rules! by_form {
    ($p:ident, $run:ident($($arg:expr),*)) => {
        match ($p.value, $p.code, $p.switches & $crate::stages::lorenzo_quant::params::ZIGZAG != 0) {
            (4, 1, true) => $run::<f32, u8, true>($($arg),*),
            (4, 1, false) => $run::<f32, u8, false>($($arg),*),
            (4, 2, true) => $run::<f32, u16, true>($($arg),*),
            (4, 2, false) => $run::<f32, u16, false>($($arg),*),
            (4, 4, true) => $run::<f32, u32, true>($($arg),*),
            (4, 4, false) => $run::<f32, u32, false>($($arg),*),
            (8, 2, true) => $run::<f64, u16, true>($($arg),*),
            (8, 2, false) => $run::<f64, u16, false>($($arg),*),
            (8, 4, true) => $run::<f64, u32, true>($($arg),*),
            (8, 4, false) => $run::<f64, u32, false>($($arg),*),
            _ => Err($crate::base::error::Fault::BadLaunch),
        }
    };
}
pub(super) use by_form;

/// A float type.
pub(super) trait Lane: Pod + PartialOrd + Send + Sync {
    const ZERO: Self;
    /// The NaN that arithmetic makes, the same on every backend.
    const NAN: Self;
    fn from_f64(x: f64) -> Self;
    fn from_i32(x: i32) -> Self;
    fn abs(self) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    /// Rounded to an integer, half away from zero; an integer, an infinity, or a NaN is unchanged.
    fn round(self) -> Self;
    /// The same with an instruction that cuts off the fraction, which only machines with wide registers have.
    fn round_wide(self) -> Self;
    /// An integer of at most 16 bits.
    fn int16(self) -> i16;
    /// An integer of at most 32 bits.
    fn int32(self) -> i32;
    /// Running sums of a row of a tile, only on machines with wide registers.
    #[inline(always)]
    fn scan_wide(row: &mut [Self; DEPTH]) {
        scan::<Self, DEPTH>(row);
    }
    /// Differences of neighbors in a row of a tile, likewise.
    #[inline(always)]
    fn along_wide(row: &[Self; DEPTH], out: &mut [Self; DEPTH]) {
        along(row, out, DEPTH);
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        // Only NaN differs from itself.
        #[allow(clippy::eq_op)]
        let differs = self != self;
        differs
    }
    /// Itself, or [`Lane::NAN`] for every NaN.
    #[inline(always)]
    fn canonical(self) -> Self {
        if self.is_nan() { Self::NAN } else { self }
    }
}

macro_rules! lane {
    ($T:ty, $U:ty, $whole:expr, $below_half:expr, $magic:expr, $nan:expr, $int32:expr $(; $own:item)*) => {
        impl Lane for $T {
            const ZERO: Self = 0.0;
            const NAN: Self = <$T>::from_bits($nan);
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $T
            }
            #[inline(always)]
            fn from_i32(x: i32) -> Self {
                x as $T
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$T>::abs(self)
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
            fn round(self) -> Self {
                // From here on every float is an integer; below, adding it rounds half to even.
                const WHOLE: $T = $whole;
                let a = self.abs();
                let even = (a + WHOLE) - WHOLE;
                let away = even + if a - even == 0.5 { 1.0 } else { 0.0 };
                if a < WHOLE { away.copysign(self) } else { self }
            }
            #[inline(always)]
            fn round_wide(self) -> Self {
                // With one half itself, the sum for the float before one half would be 1.
                (self + <$T>::copysign($below_half, self)).trunc() // seed: lorenzo-half
            }
            #[inline(always)]
            fn int16(self) -> i16 {
                // The low bits of the sum are the integer.
                const MAGIC: $T = $magic;
                (self + MAGIC).to_bits() as i16
            }
            #[inline(always)]
            fn int32(self) -> i32 {
                $int32(self)
            }
            $($own)*
        }
    };
}
lane!(f32, u32, 8_388_608.0, 0.499_999_97, 12_582_912.0, 0x7fff_ffff, |x: f32| x as i32;
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn scan_wide(row: &mut [f32; DEPTH]) {
    wide::scan(row);
};
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn along_wide(row: &[f32; DEPTH], out: &mut [f32; DEPTH]) {
    wide::along(row, out);
});
lane!(
    f64,
    u64,
    4_503_599_627_370_496.0,
    0.499_999_999_999_999_94,
    6_755_399_441_055_744.0,
    0x7fff_ffff_ffff_ffff,
    |x: f64| x as i32
);

/// A code of a difference.
pub(super) trait DifferenceCode: Word {
    /// The code of a difference that it can hold.
    fn of<T: Lane, const ZIGZAG: bool>(difference: T) -> Self;
    fn difference<T: Lane, const ZIGZAG: bool>(self) -> T;
}

macro_rules! code {
    ($($C:ty, $I:ty, $int:ident);*) => {$(
        impl DifferenceCode for $C {
            #[inline(always)]
            fn of<T: Lane, const ZIGZAG: bool>(difference: T) -> Self {
                let bits = difference.$int() as $C;
                if ZIGZAG { bits.zigzag() } else { bits }
            }
            #[inline(always)]
            fn difference<T: Lane, const ZIGZAG: bool>(self) -> T {
                let bits = if ZIGZAG { self.unzigzag() } else { self };
                T::from_i32((bits as $I).into())
            }
        }
    )*};
}
code!(u8, i8, int16; u16, i16, int16; u32, i32, int32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_half_away_from_zero() {
        fn agree(x: f64, [portable, wide, want]: [f64; 3]) {
            for got in [portable, wide] {
                let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
                assert!(same, "{x:?}: {got:?} for {want:?}");
            }
        }
        let mut x = 1u64;
        for i in 0..2_000_000u64 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let bits = (x >> 20) as u32;
            let half = (bits as f32 / 2.0) * if i % 2 == 0 { 1.0 } else { -1.0 };
            for f in [f32::from_bits(bits), half, half.next_up(), half.next_down()] {
                agree(f.into(), [Lane::round(f), Lane::round_wide(f), f.round()].map(f64::from));
            }
            let half = ((x >> 11) as f64 / 2.0) * if i % 2 == 0 { 1.0 } else { -1.0 };
            for f in [f64::from_bits(x), half, half.next_up(), half.next_down()] {
                agree(f, [Lane::round(f), Lane::round_wide(f), f.round()]);
            }
        }
    }

    #[test]
    fn codes_hold_differences_below_the_radius() {
        fn both<C: DifferenceCode, const ZIGZAG: bool>(d: i32) {
            assert_eq!(C::of::<f32, ZIGZAG>(d as f32).difference::<f32, ZIGZAG>(), d as f32);
            assert_eq!(C::of::<f64, ZIGZAG>(d.into()).difference::<f64, ZIGZAG>(), f64::from(d));
        }
        for d in -32767..=32767 {
            both::<u16, true>(d);
            both::<u16, false>(d);
            both::<u32, true>(d);
            if d.abs() < 128 {
                both::<u8, true>(d);
                both::<u8, false>(d);
            }
        }
        both::<u32, true>(-(1 << 24));
        assert_eq!(<u32 as DifferenceCode>::of::<f64, true>(f64::from(i32::MAX)), u32::MAX - 1);
        assert_eq!(<u16 as DifferenceCode>::of::<f32, false>(-1.0), 0xffff);
    }
}
