//! Rows of tiles of f32 in three dimensions as registers of 256 bits: the same results as the portable code, which a test compares.

#![allow(unsafe_code)]

use super::grid::DEPTH;
use std::arch::x86_64::{
    __m256, _mm256_add_ps, _mm256_blend_ps, _mm256_loadu_ps, _mm256_permute2f128_ps,
    _mm256_permutevar8x32_ps, _mm256_set1_ps, _mm256_setr_epi32, _mm256_setzero_ps, _mm256_storeu_ps,
    _mm256_sub_ps,
};

const _: () = assert!(size_of::<[f32; DEPTH]>() == size_of::<__m256>());

/// Running sums. Only on machines with AVX2.
#[inline(always)]
pub(super) fn scan(row: &mut [f32; DEPTH]) {
    // SAFETY: only called where [`crate::stages::wide::available`] returns true.
    unsafe { scan_wide(row) }
}

/// Differences of neighbors. Only on machines with AVX2.
#[inline(always)]
pub(super) fn along(row: &[f32; DEPTH], out: &mut [f32; DEPTH]) {
    // SAFETY: as above.
    unsafe { along_wide(row, out) }
}

/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // Until 1.87 some of the operations were not safe inside a function with the feature.
unsafe fn scan_wide(row: &mut [f32; DEPTH]) {
    // SAFETY: the machine has AVX2; a row is a register.
    unsafe {
        // A sum with -0.0 is the other value, whichever it is.
        let none = _mm256_set1_ps(-0.0); // seed: lorenzo-wide-zero
        let x = _mm256_loadu_ps(row.as_ptr());
        let one = _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
        let x = _mm256_add_ps(x, _mm256_blend_ps::<0b1>(one, none));
        let two = _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(0, 0, 0, 1, 2, 3, 4, 5));
        let x = _mm256_add_ps(x, _mm256_blend_ps::<0b11>(two, none));
        let four = _mm256_permute2f128_ps::<0>(x, x);
        let x = _mm256_add_ps(x, _mm256_blend_ps::<0b1111>(four, none));
        _mm256_storeu_ps(row.as_mut_ptr(), x);
    }
}

/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // As above.
unsafe fn along_wide(row: &[f32; DEPTH], out: &mut [f32; DEPTH]) {
    // SAFETY: as above.
    unsafe {
        let x = _mm256_loadu_ps(row.as_ptr());
        let before = _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
        _mm256_storeu_ps(
            out.as_mut_ptr(),
            _mm256_sub_ps(x, _mm256_blend_ps::<1>(before, _mm256_setzero_ps())),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::scan as plain_scan;
    use super::super::encode::along as plain_along;
    use super::*;
    use crate::stages::wide::available;

    #[test]
    fn bodies_agree() {
        if !available() {
            return;
        }
        let special = [0.0, -0.0, 1e30, -1e30, f32::MIN_POSITIVE, 1e-45, f32::MAX, 3.0];
        let mut x = 1u64;
        for i in 0..20_000 {
            let row: [f32; DEPTH] = std::array::from_fn(|_| {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                match i % 3 {
                    0 => special[(x >> 40) as usize % special.len()],
                    1 => (x >> 36) as f32 - 1e8,
                    _ => f32::from_bits((x >> 32) as u32 & 0xbfff_ffff),
                }
            });
            let (mut plain, mut wide) = (row, row);
            plain_scan::<f32, DEPTH>(&mut plain);
            scan(&mut wide);
            assert_eq!(wide.map(f32::to_bits), plain.map(f32::to_bits));
            plain_along(&row, &mut plain, DEPTH);
            along(&row, &mut wide);
            assert_eq!(wide.map(f32::to_bits), plain.map(f32::to_bits));
        }
    }
}
