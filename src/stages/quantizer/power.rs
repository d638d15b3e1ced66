//! log2 and powers of two, the same bits on every machine: additions, multiplications and one division of f64 in
//! the order of the page, nothing fused, no branches.

/// 2 / (ln 2 (2k + 1)) for k = 0..=11: log2 of a number near 1 as an odd polynomial of (m - 1) / (m + 1).
const LOG2: [u64; 12] = [
    0x4007_1547_652b_82fe, // seed: bin-of-logarithm
    0x3fee_c709_dc3a_03fd,
    0x3fe2_776c_50ef_9bfe,
    0x3fda_6176_2a7a_ded9,
    0x3fd4_84b1_3d7c_02a9,
    0x3fd0_c9a8_4994_022d,
    0x3fcc_68f5_68d3_1760,
    0x3fc8_9f3b_1694_cffe,
    0x3fc5_b9ac_9b74_3f0d,
    0x3fc3_703c_1f4d_0ffe,
    0x3fc1_964e_c6fc_9491,
    0x3fc0_0ecd_7e08_0215,
];

/// (ln 2)^k / k! for k = 1..=14.
const EXP2: [u64; 14] = [
    0x3fe6_2e42_fefa_39ef,
    0x3fce_bfbd_ff82_c58f,
    0x3fac_6b08_d704_a0c0,
    0x3f83_b2ab_6fba_4e77,
    0x3f55_d87f_e78a_6731, // seed: power-of-two
    0x3f24_3091_2f86_c787,
    0x3eef_fcbf_c588_b0c7,
    0x3eb6_2c02_23a5_c824,
    0x3e7b_5253_d395_e7c4,
    0x3e3e_4cf5_158b_8eca,
    0x3dfe_8cac_7351_bb25,
    0x3dbc_3bd6_50fc_2986,
    0x3d78_1619_3166_d0f9,
    0x3d33_1496_4d58_78a9,
];

/// The f64 nearest to the square root of 1/2: mantissas are taken from there to twice of it.
const BORDER: u64 = 0x3fe6_a09e_667f_3bcd;
/// 2^52: its low bits count in ones.
const ONES: u64 = 0x4330_0000_0000_0000;
/// Adding and taking away 1.5 x 2^52 rounds half to even, and the low bits of the sum are the integer.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// Nothing beyond is an f32 other than 0 and infinity.
const FAR: f64 = 200.0;

/// log2 of a positive normal number; meaningless but harmless for everything else.
#[inline(always)]
pub(super) fn log2(x: f64) -> f64 {
    let bits = x.to_bits();
    // The exponent as a positive field: machines have no arithmetic shift of 64 bits in their vectors.
    let field = bits.wrapping_sub(BORDER).wrapping_add(1024 << 52) >> 52;
    let m = f64::from_bits(bits.wrapping_sub(field << 52).wrapping_add(1024 << 52));
    let e = f64::from_bits(field | ONES) - (f64::from_bits(ONES) + 1024.0);
    let f = (m - 1.0) / (m + 1.0);
    let z = f * f;
    let mut p = f64::from_bits(LOG2[11]);
    for k in (0..11).rev() {
        p = p * z + f64::from_bits(LOG2[k]);
    }
    e + f * p
}

/// 2^y for any y but NaN; y beyond 200 in magnitude counts as 200.
#[inline(always)]
pub(super) fn exp2(y: f64) -> f64 {
    let y = if y < -FAR { -FAR } else { y };
    let y = if y > FAR { FAR } else { y };
    let sum = y + ROUND;
    let r = y - (sum - ROUND);
    let mut p = f64::from_bits(EXP2[13]);
    for k in (0..13).rev() {
        p = p * r + f64::from_bits(EXP2[k]);
    }
    let exponent = sum.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(1023);
    (1.0 + r * p) * f64::from_bits(exponent << 52)
}

/// A number below 2^51 in magnitude, rounded half to even.
#[inline(always)]
pub(super) fn round(x: f64) -> f64 {
    (x + ROUND) - ROUND
}

/// A whole number from 0 to below 2^52 as an integer.
#[inline(always)]
pub(super) fn integer(x: f64) -> u64 {
    (x + f64::from_bits(ONES)).to_bits() ^ ONES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Function, argument, the bits of the page's arithmetic, and the f64 that is nearest to the true result.
    fn vectors() -> Vec<(&'static str, f64, u64, f64)> {
        let bits = |word: &str| u64::from_str_radix(word, 16).expect("hex");
        let row = |line: &'static str| {
            let words: Vec<&str> = line.split(' ').collect();
            (words[0], f64::from_bits(bits(words[1])), bits(words[2]), f64::from_bits(bits(words[3])))
        };
        let text = include_str!("../../../tests/golden/power.txt");
        text.lines().filter(|l| !l.starts_with('#')).map(row).collect()
    }

    #[test]
    fn a_thousand_vectors_are_met_to_the_bit() {
        let all = vectors();
        assert_eq!(all.len(), 1000);
        for (name, x, want, nearest) in all {
            let got = if name == "log2" { log2(x) } else { exp2(x) };
            assert_eq!(got.to_bits(), want, "{name}({x:?}) is {got:?}");
            // Two units in the last place at most, so that rounding to f32 is nearly always that of the truth.
            assert!(
                got.to_bits().abs_diff(nearest.to_bits()) <= 2,
                "{name}({x:?}) is {got:?}, not {nearest:?}"
            );
            assert_eq!(got as f32, nearest as f32, "{name}({x:?})");
        }
    }

    #[test]
    fn powers_of_two_are_exact_both_ways() {
        for k in -126..128 {
            let x = f64::from_bits(((k + 1023) as u64) << 52);
            assert_eq!(log2(x), f64::from(k));
            assert_eq!(exp2(k.into()), x);
        }
        assert_eq!(exp2(-1e300) as f32, 0.0);
        assert_eq!(exp2(1e300) as f32, f32::INFINITY);
        assert_eq!(exp2(-149.0) as f32, f32::from_bits(1));
    }

    #[test]
    fn integers_and_rounding() {
        for (x, want) in [(0.5, 0.0), (1.5, 2.0), (-2.5, -2.0), (2.500_000_000_000_1, 3.0), (1e9, 1e9)] {
            assert_eq!(round(x), want);
            assert_eq!(integer(want.abs()), want.abs() as u64);
        }
        assert_eq!(integer((1u64 << 52) as f64 - 1.0), (1 << 52) - 1);
    }
}
