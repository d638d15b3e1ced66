//! From words to values for registers of 256 bits: the inverse of [`super::wide`].

#![allow(unsafe_code)]

use super::grid::{LANES, PART, ROW, UNIT};
use super::unit::{Codes, INTER, OFFSETS, Widths};
use super::value::FastValue;
use super::wide_planes::{Lengths, Plane, spread};
use std::arch::x86_64::{
    _mm256_add_epi8, _mm256_add_epi32, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256,
    _mm256_permute2x128_si256, _mm256_permutevar8x32_epi32, _mm256_set_epi64x, _mm256_set1_epi32,
    _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_shuffle_epi32, _mm256_slli_si256,
    _mm256_storeu_si256, _mm256_sub_epi8,
};

/// Halves of all parts, plane by plane.
type Places = [Plane; 32];

/// The positions of the values of a part, and the number of consecutive ones.
#[inline(always)]
fn runs(ndim: u32, half: usize, lane: usize) -> (usize, usize) {
    match ndim {
        1 => (PART * (2 * lane + half), 4),
        _ => (ROW * (8 * (lane / 8) + 4 * half) + 4 * (lane % 8), ROW),
    }
}

/// From parts to rows, which [`super::wide_measure`] brings into parts.
#[inline(always)]
fn scatter<V: Copy>(ndim: u32, parts: &[V; UNIT], rows: &mut [V; UNIT]) {
    for (slot, part) in parts.chunks_exact(PART).enumerate() {
        let (at, next) = runs(ndim, slot / LANES, slot % LANES);
        for (j, four) in part.chunks_exact(4).enumerate() {
            rows[at + j * next..at + j * next + 4].copy_from_slice(four);
        }
    }
}

/// Every plane of every part in its place, with zeros for missing planes; and the number of planes.
///
/// # Safety
/// The machine must have the instructions of [`super::wide::available`].
#[inline]
#[target_feature(enable = "avx2,popcnt")]
unsafe fn places(widths: &Widths, mut planes: &[u8]) -> (Places, usize) {
    let mut places = [[0; 2 * LANES]; 32];
    let lengths = Lengths::new(widths);
    for (plane, place) in places.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        let there = unsafe { lengths.above(plane as u32) };
        if there == 0 {
            return (places, plane);
        }
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(place);
        let taken = if there == u64::MAX {
            bytes.copy_from_slice(&planes[..bytes.len()]);
            bytes.len()
        } else {
            // SAFETY: as above.
            unsafe { spread(planes, there, place) }
        };
        planes = &planes[taken..];
    }
    (places, i32::BITS as usize)
}

/// Bits 8 `k` to 8 `k` + 7 of all values, part by part: the input of `transpose` of [`super::wide`].
///
/// # Safety
/// The machine must have AVX2.
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // Until 1.87 some of the operations were not safe inside a function with the feature.
unsafe fn transpose_back(places: &Places, k: usize, most: usize, bytes: &mut [u8; UNIT]) {
    // SAFETY: the machine has AVX2; `bytes` has 32 values from each multiple of 32 below its length.
    unsafe {
        // To each byte of a half the byte of its two that has its bit.
        let (one, two) = (0x0101_0101_0101_0101, 0x0202_0202_0202_0202);
        let spread = _mm256_set_epi64x(one + two, two, one, 0);
        let bits = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
        let planes = &places[8 * k..(8 * k + 8).min(most)];
        for (pair, out) in bytes.chunks_exact_mut(2 * PART).enumerate() {
            let mut values = _mm256_setzero_si256();
            for plane in planes.iter().rev() {
                let halves = u32::from(plane[2 * pair]) | u32::from(plane[2 * pair + 1]) << 16;
                let all = _mm256_shuffle_epi8(_mm256_set1_epi32(halves as i32), spread);
                let set = _mm256_cmpeq_epi8(_mm256_and_si256(all, bits), bits);
                values = _mm256_sub_epi8(_mm256_add_epi8(values, values), set);
            }
            _mm256_storeu_si256(out.as_mut_ptr().cast(), values);
        }
    }
}

/// The codes of a unit in `NDIM` dimensions; two and three dimensions are alike. See
/// [`super::unit::Body::codes`].
///
/// # Safety
/// The machine must have the instructions of [`super::wide::available`].
#[target_feature(enable = "avx2,lzcnt,popcnt")]
unsafe fn codes<const NDIM: u32>(mode: u16, base: i32, widths: &Widths, planes: &[u8], codes: &mut Codes) {
    // SAFETY: the caller's promise.
    let (places, most) = unsafe { places(widths, planes) };
    let mut bytes = [0; UNIT];
    let mut rows = [0i32; UNIT];
    // SAFETY: as above.
    unsafe { transpose_back(&places, 0, most, &mut bytes) };
    if most <= 8 {
        // A byte has the whole value.
        if mode != OFFSETS {
            for (part, &w) in bytes.chunks_exact_mut(PART).zip(widths.iter().flatten()) {
                let sign = ((1u32 << w) >> 1) as u8; // seed: wide-sign
                part.iter_mut().for_each(|b| *b = (*b ^ sign).wrapping_sub(sign));
            }
        }
        let mut some = [0; UNIT];
        scatter(NDIM, &bytes, &mut some);
        if mode == OFFSETS {
            rows.iter_mut().zip(some).for_each(|(v, b)| *v = i32::from(b));
        } else {
            rows.iter_mut().zip(some).for_each(|(v, b)| *v = i32::from(b as i8));
        }
    } else {
        let mut parts = bytes.map(i32::from);
        for k in 1..most.div_ceil(8) {
            // SAFETY: as above.
            unsafe { transpose_back(&places, k, most, &mut bytes) };
            parts.iter_mut().zip(&bytes).for_each(|(v, &b)| *v |= i32::from(b) << (8 * k));
        }
        if mode != OFFSETS {
            for (part, &w) in parts.chunks_exact_mut(PART).zip(widths.iter().flatten()) {
                let sign = ((1u64 << w) >> 1) as i32; // seed: wide-long-sign
                part.iter_mut().for_each(|v| *v = (*v ^ sign).wrapping_sub(sign));
            }
        }
        scatter(NDIM, &parts, &mut rows);
    }
    if mode != OFFSETS {
        // SAFETY: as above.
        unsafe { sums(NDIM, &mut rows) };
    }
    if mode == INTER {
        codes.iter_mut().zip(rows).for_each(|(c, v)| *c = c.wrapping_add(v));
    } else {
        codes.iter_mut().zip(rows).for_each(|(c, v)| *c = v.wrapping_add(base));
    }
}

/// The inverse of differences: sums in y, and of these in x; in one dimension of all in a row.
///
/// # Safety
/// The machine must have AVX2.
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // As above.
unsafe fn sums(ndim: u32, d: &mut Codes) {
    // SAFETY: the machine has AVX2; a row has 32 values.
    unsafe {
        let last = _mm256_set1_epi32(7);
        let mut above = [_mm256_setzero_si256(); ROW / 8];
        let mut before = _mm256_setzero_si256();
        for row in d.chunks_exact_mut(ROW) {
            if ndim > 1 {
                before = _mm256_setzero_si256();
            }
            for (eight, above) in row.chunks_exact_mut(8).zip(&mut above) {
                let mut sum = _mm256_loadu_si256(eight.as_ptr().cast());
                if ndim > 1 {
                    *above = _mm256_add_epi32(*above, sum);
                    sum = *above;
                }
                // Sums of each four, then of the second four with the last of the first ones; then with the
                // sum of all before them.
                sum = _mm256_add_epi32(sum, _mm256_slli_si256::<4>(sum));
                sum = _mm256_add_epi32(sum, _mm256_slli_si256::<8>(sum));
                let first = _mm256_permute2x128_si256::<0x08>(sum, sum);
                sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32::<0xff>(first));
                _mm256_storeu_si256(eight.as_mut_ptr().cast(), _mm256_add_epi32(sum, before));
                before = _mm256_add_epi32(before, _mm256_permutevar8x32_epi32(sum, last)); // seed: wide-carry
            }
        }
    }
}

/// # Safety
/// The machine must have the instructions of [`super::wide::available`].
#[target_feature(enable = "avx2,lzcnt")]
pub(super) unsafe fn restore_wide<T: FastValue>(codes: &Codes, reference: T, step: T, x: &mut [T; UNIT]) {
    for (x, &code) in x.iter_mut().zip(codes) {
        *x = T::quick_restore(reference, code, step);
    }
}

/// # Safety
/// The machine must have the instructions of [`super::wide::available`].
#[target_feature(enable = "avx2,lzcnt,popcnt")]
pub(super) unsafe fn codes_wide(
    ndim: u32,
    mode: u16,
    base: i32,
    widths: &Widths,
    planes: &[u8],
    all: &mut Codes,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if ndim == 1 {
            codes::<1>(mode, base, widths, planes, all);
        } else {
            codes::<2>(mode, base, widths, planes, all);
        }
    }
}
