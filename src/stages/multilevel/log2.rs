//! Logarithms of counts as integers, and the costs of codes.

use super::params::FREQUENCY_BITS;

/// The cost of one bit: costs are in units of 2^-16 bits.
pub(super) const BIT: u64 = 1 << 16;

/// The numbers t_i of the page, ⌊2^16 log2(1 + i / 256)⌋. Squaring computes them bit by bit.
const FRACTIONS: [u32; 257] = {
    let mut all = [0; 257];
    let mut i = 0;
    while i < 256 {
        let (mut x, mut bits, mut k) = ((256 + i as u128) << 54, 0, 0);
        while k < 16 {
            x = (x * x) >> 62;
            bits <<= 1;
            if x >= 2 << 62 {
                bits |= 1;
                x >>= 1;
            }
            k += 1;
        }
        all[i] = bits;
        i += 1;
    }
    all[256] = 1 << 16;
    all
};

/// log2 of `n`, in units of 2^-16; `n` is above 0.
pub(super) fn log2(n: u64) -> u64 {
    let e = n.ilog2();
    // `m` has 32 bits, and the highest one is set.
    let m = if e > 31 { n >> (e - 31) } else { n << (31 - e) };
    let (i, j) = ((m >> 23 & 255) as usize, m >> 7 & 0xffff);
    let (low, high) = (u64::from(FRACTIONS[i]), u64::from(FRACTIONS[i + 1]));
    (u64::from(e) << 16) + low + (((high - low) * j) >> 16)
}

/// The cost of symbols and of their table. `used` has a bit for each symbol that occurs, `count` returns its count, and `n` is the sum of
/// all counts.
pub(super) fn cost(n: u64, used: u64, count: impl Fn(usize) -> u64) -> u64 {
    if n == 0 {
        return 0;
    }
    let (whole, most) = (log2(n), u64::from(FREQUENCY_BITS) * BIT);
    let (mut sum, mut rest) = (0, used);
    while rest > 0 {
        let c = count(rest.trailing_zeros() as usize);
        sum += c * (whole - log2(c)).min(most);
        rest &= rest - 1;
    }
    sum + BIT * (12 + 4 * u64::from(u64::BITS - used.leading_zeros()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_rounded_down() {
        for (i, &t) in FRACTIONS.iter().enumerate() {
            let exact = (1.0 + i as f64 / 256.0).log2() * 65536.0;
            assert!((exact - f64::from(t)) >= -1e-9 && exact - f64::from(t) < 1.0, "{i} {exact} {t}");
        }
    }

    #[test]
    fn logarithms_are_close() {
        for n in (1..1000).chain([1 << 20, 123_456_789, (1 << 40) - 1]) {
            assert!((log2(n) as f64 / 65536.0 - (n as f64).log2()).abs() < 4e-5, "{n}");
        }
    }

    #[test]
    fn costs_are_those_of_the_page() {
        let counts = [5u64, 0, 1 << 20, 1, 0, 77];
        let n: u64 = counts.iter().sum();
        let used = counts.iter().enumerate().filter(|(_, c)| **c > 0);
        let bits = used.clone().map(|(_, &c)| c * (log2(n) - log2(c)).min(14 << 16)).sum::<u64>();
        let used = used.fold(0, |all, (i, _)| all | 1 << i);
        assert_eq!(cost(n, used, |i| counts[i]), bits + ((12 + 4 * 6) << 16));
        assert_eq!(cost(0, 0, |_| 0), 0);
    }
}
