//! Bins of preset high: the number of its bin replaces a value before prediction, and the value is restored from
//! that number. Compressing a restored value again does not change it, for any changes of its neighbors.

/// Operations on f32 and f64 that the form of chunks requires.
pub(crate) trait Real: Copy {
    const BYTES: usize;
    /// Bits of the first of 256 NaNs that can be marks.
    const FIRST_MARK: u64;
    /// Largest bin number. Up to it, rounding `number * step` to the type and computing the bin again gives the same number.
    const MOST: f64;
    fn of_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
    /// The nearest number of the type.
    fn of(value: f64) -> Self;
    fn wide(self) -> f64;

    fn read(bytes: &[u8]) -> u64 {
        bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
    }
}

impl Real for f32 {
    const BYTES: usize = 4;
    const FIRST_MARK: u64 = 0x7fc5_a500;
    const MOST: f64 = (1u64 << 22) as f64;
    fn of_bits(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
    fn of(value: f64) -> f32 {
        value as f32
    }
    fn wide(self) -> f64 {
        self.into()
    }
}

impl Real for f64 {
    const BYTES: usize = 8;
    const FIRST_MARK: u64 = 0x7ff8_465a_0000_a500;
    const MOST: f64 = (1u64 << 45) as f64;
    fn of_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn of(value: f64) -> f64 {
        value
    }
    fn wide(self) -> f64 {
        self
    }
}

/// Bound of bin numbers in a frame. It is below 0.5, so a restored number is rounded to the original one.
pub(crate) const NUMBER_BOUND: f64 = 0.4999;

/// The number of the bin of a finite value, if the bin is within the bound of the value. `step` is twice the bound.
///
/// Value and bin are near each other, or one of them is 0. So their difference is exact in f64, and the comparison is that of real numbers.
pub(crate) fn number<T: Real>(x: T, step: f64) -> Option<T> {
    let number = (x.wide() / step).round_ties_even();
    let error = (x.wide() - value::<T>(number, step).wide()).abs();
    // NaN fails both comparisons.
    (number.abs() <= T::MOST && error <= step / 2.0).then(|| T::of(number))
}

/// The value of a bin.
pub(crate) fn value<T: Real>(number: f64, step: f64) -> T {
    T::of(number * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returns<T: Real + PartialEq + std::fmt::Debug>(bits: u64, step: f64) -> bool {
        let x = T::of_bits(bits);
        let Some(k) = number(x, step) else { return false };
        let y = value::<T>(k.wide(), step);
        assert!((x.wide() - y.wide()).abs() <= step / 2.0, "{x:?} {step:e}");
        assert_eq!(number(y, step).map(|k| value::<T>(k.wide(), step)), Some(y), "{x:?} {step:e}");
        true
    }

    #[test]
    fn bins_are_within_the_bound_and_return_to_themselves() {
        let mut random = 1u64;
        let mut bins = [0; 2];
        for _ in 0..200_000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // A step of six bits, as `bound` chooses it for f32, and values up to 2^26 times as large.
            let step = f64::from_bits((0x3c0 + (random >> 60) * 8) << 52 | (random >> 20 & 31) << 47);
            let x =
                step * ((random >> 8) as f64 / (1u64 << 56) as f64 - 0.5) * 2f64.powi((random % 27) as i32);
            bins[0] += u32::from(returns::<f32>((x as f32).bits(), step));
            bins[1] += u32::from(returns::<f64>(x.bits(), step));
        }
        assert!(bins[0] > 160_000 && bins[1] == 200_000, "{bins:?}");
    }

    #[test]
    fn values_without_a_bin_have_none() {
        assert_eq!(number(f32::NAN, 0.5), None);
        assert_eq!(number(f32::INFINITY, 0.5), None);
        assert_eq!(number(4e6f32, 0.5), None);
        assert_eq!(number(1.0f64, f64::INFINITY), None);
        assert_eq!(number(1.25f32, 0.5), Some(2.0));
    }
}
