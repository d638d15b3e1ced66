//! Blocks of elements of 1, 2, and 4 bytes with registers of 256 bits: the same bytes as [`super::transpose`], which a test
//! compares.
//!
//! A byte of all elements of a group fills a register. Encoding, the highest bits of its bytes are a word of a plane. Decoding, eight
//! planes of eight groups are an 8 x 8 bit matrix in each byte column; its transpose has a byte of every element.

#![allow(unsafe_code)]

use super::Transform;
use super::transpose::{shuffle8, unshuffle8};
use crate::stages::wide::available;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_cvtsi32_si128, _mm_storeu_si128, _mm256_add_epi8, _mm256_and_si256,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_packus_epi16, _mm256_packus_epi32, _mm256_permute4x64_epi64,
    _mm256_permutevar8x32_epi32, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi32, _mm256_setr_epi8,
    _mm256_setr_epi32, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_sll_epi16, _mm256_sll_epi32,
    _mm256_slli_epi16, _mm256_srl_epi16, _mm256_srl_epi32, _mm256_srli_epi16, _mm256_testz_si256,
    _mm256_unpackhi_epi8, _mm256_unpackhi_epi16, _mm256_unpackhi_epi32, _mm256_unpacklo_epi8,
    _mm256_unpacklo_epi16, _mm256_unpacklo_epi32, _mm256_xor_si256,
};

/// Elements of a group: one word of each plane.
const GROUP: usize = 32;
/// Groups that are decoded together: the words of a plane that fill a register.
const GROUPS: usize = 8;
const ELEMENTS: usize = GROUP * GROUPS;

/// The transforms of all widths, encoding and decoding, if the machine has AVX2.
pub(super) fn transforms() -> Option<[[Transform; 4]; 2]> {
    fn shuffle<const W: usize>(src: &[u8], dst: &mut [u8]) {
        // SAFETY: `transforms` returns this function only if the machine has AVX2.
        unsafe { encode::<W>(src, dst) }
    }
    fn unshuffle<const W: usize>(src: &[u8], dst: &mut [u8]) {
        // SAFETY: as above.
        unsafe { decode::<W>(src, dst) }
    }
    available().then_some([
        [shuffle::<1>, shuffle::<2>, shuffle::<4>, shuffle8],
        [unshuffle::<1>, unshuffle::<2>, unshuffle::<4>, unshuffle8],
    ])
}

/// # Safety
/// The machine must have AVX2.
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // Until 1.87 some of the operations were not safe inside a function with the feature.
unsafe fn encode<const W: usize>(src: &[u8], dst: &mut [u8]) {
    let (plane, dst) = (src.len() / (8 * W), &mut dst[..src.len()]);
    dst.fill(0);
    for (g, group) in src.chunks_exact(GROUP * W).enumerate() {
        // SAFETY: the machine has AVX2; `group` has `W` registers; `dst` has 8 `W` planes with a word for each group.
        unsafe {
            let mut all = [_mm256_setzero_si256(); W];
            for (i, v) in all.iter_mut().enumerate() {
                *v = _mm256_loadu_si256(group.as_ptr().cast::<__m256i>().add(i));
            }
            for k in 0..W {
                let Some(mut bytes) = bytes_of(&all, k) else { continue };
                for p in (8 * (W - 1 - k)..).take(8) {
                    let word = _mm256_movemask_epi8(bytes);
                    dst.as_mut_ptr().add(p * plane + 4 * g).cast::<[u8; 4]>().write(word.to_le_bytes());
                    bytes = _mm256_add_epi8(bytes, bytes);
                }
            }
        }
    }
}

/// Byte `k` of the elements of a group, in the order of the bits of a plane's word; `None` if all are zero.
///
/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // As above.
unsafe fn bytes_of<const W: usize>(group: &[__m256i; W], k: usize) -> Option<__m256i> {
    // SAFETY: the machine has AVX2.
    unsafe {
        let shift = _mm_cvtsi32_si128(8 * k as i32);
        let byte = match W {
            2 => _mm256_set1_epi16(255),
            _ => _mm256_set1_epi32(255),
        };
        let here = match W {
            2 => _mm256_sll_epi16(byte, shift),
            _ => _mm256_sll_epi32(byte, shift),
        };
        let mut any = _mm256_setzero_si256();
        for &v in group {
            any = _mm256_or_si256(any, v);
        }
        if W > 1 && _mm256_testz_si256(any, here) != 0 {
            return None;
        }
        let mut low = [byte; 4];
        for (low, &v) in low.iter_mut().zip(group) {
            let shifted = if W == 2 { _mm256_srl_epi16(v, shift) } else { _mm256_srl_epi32(v, shift) };
            *low = _mm256_and_si256(shifted, byte);
        }
        let [a, b, c, d] = low;
        // Packing goes by halves of the registers.
        Some(match W {
            1 => group[0],
            2 => _mm256_permute4x64_epi64::<0xd8>(_mm256_packus_epi16(a, b)),
            _ => {
                let packed = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
                // The last element first.
                turned(_mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(7, 3, 6, 2, 5, 1, 4, 0)))
            }
        })
    }
}

/// The bytes of each four in opposite order.
///
/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // As above.
unsafe fn turned(fours: __m256i) -> __m256i {
    // SAFETY: the machine has AVX2.
    unsafe {
        let order = _mm256_setr_epi8(
            3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15,
            14, 13, 12,
        );
        _mm256_shuffle_epi8(fours, order)
    }
}

/// # Safety
/// The machine must have AVX2.
#[target_feature(enable = "avx2")]
unsafe fn decode<const W: usize>(src: &[u8], dst: &mut [u8]) {
    let plane = src.len() / (8 * W);
    let mut bytes = [[0; ELEMENTS]; W];
    for (i, out) in dst.chunks_exact_mut(ELEMENTS * W).enumerate() {
        let mut most = 0;
        for (k, bytes) in bytes.iter_mut().enumerate() {
            let first = 8 * (W - 1 - k) * plane + 4 * GROUPS * i;
            // SAFETY: the machine has AVX2.
            if unsafe { elements::<W>(&src[first..], plane, bytes) } {
                most = k;
            }
        }
        join(&bytes, most, out);
    }
}

/// Elements of `W` bytes, of which those above `most` are zero.
#[inline(always)]
fn join<const W: usize>(bytes: &[[u8; ELEMENTS]; W], most: usize, out: &mut [u8]) {
    let [low, second, third, fourth] = [&bytes[0], &bytes[1 % W], &bytes[2 % W], &bytes[3 % W]];
    match (W, most) {
        (1, _) => out.copy_from_slice(low),
        (2, _) => {
            for ((out, &a), &b) in out.chunks_exact_mut(2).zip(low).zip(second) {
                out.copy_from_slice(&(u16::from(a) | u16::from(b) << 8).to_le_bytes());
            }
        }
        (_, 0) => {
            for (out, &a) in out.chunks_exact_mut(4).zip(low) {
                out.copy_from_slice(&u32::from(a).to_le_bytes());
            }
        }
        (_, 1) => {
            for ((out, &a), &b) in out.chunks_exact_mut(4).zip(low).zip(second) {
                out.copy_from_slice(&(u32::from(a) | u32::from(b) << 8).to_le_bytes());
            }
        }
        _ => {
            for ((((out, &a), &b), &c), &d) in
                out.chunks_exact_mut(4).zip(low).zip(second).zip(third).zip(fourth)
            {
                out.copy_from_slice(
                    &(u32::from(a) | u32::from(b) << 8 | u32::from(c) << 16 | u32::from(d) << 24)
                        .to_le_bytes(),
                );
            }
        }
    }
}

/// A byte of all elements of eight groups from its eight planes, the first of which begins with the words of these groups. Returns
/// false if all bytes are zero.
///
/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // As above.
unsafe fn elements<const W: usize>(planes: &[u8], plane: usize, bytes: &mut [u8; ELEMENTS]) -> bool {
    // SAFETY: the machine has AVX2; each row of a plane has a register, and `bytes` 16 halves of one.
    unsafe {
        let mut x = [_mm256_setzero_si256(); 8];
        let mut any = x[0];
        // The lowest bits first.
        for (p, x) in x.iter_mut().rev().enumerate() {
            *x = _mm256_loadu_si256(planes[p * plane..][..4 * GROUPS].as_ptr().cast());
            any = _mm256_or_si256(any, *x);
        }
        if _mm256_testz_si256(any, any) != 0 {
            bytes.fill(0);
            return false;
        }
        if W == 4 {
            // Element 0 is at the highest bit of a word.
            for x in &mut x {
                *x = turned(*x);
            }
        }
        exchange::<1>(&mut x, 0x55);
        exchange::<2>(&mut x, 0x33);
        exchange::<4>(&mut x, 0x0f);
        if W == 4 {
            x.reverse();
        }
        let [a, b, c, d, e, f, g, h] = x;
        let two = |a, b| [_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b)];
        let four = |a, b| [_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)];
        let eight = |a, b| [_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b)];
        let [ab, cd, ef, gh] = [two(a, b), two(c, d), two(e, f), two(g, h)];
        for half in 0..2 {
            let (low, high) = (four(ab[half], cd[half]), four(ef[half], gh[half]));
            for quarter in 0..2 {
                for (eighth, v) in eight(low[quarter], high[quarter]).into_iter().enumerate() {
                    let to = bytes.as_mut_ptr().cast::<__m128i>().add(4 * half + 2 * quarter + eighth);
                    _mm_storeu_si128(to, _mm256_castsi256_si128(v));
                    _mm_storeu_si128(to.add(8), _mm256_extracti128_si256::<1>(v));
                }
            }
        }
    }
    true
}

/// A step of the transpose of 8 x 8 bits in each column of bytes: exchanges the off-diagonal quarters of every 2J x 2J block.
///
/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // As above.
unsafe fn exchange<const J: i32>(x: &mut [__m256i; 8], mask: i8) {
    for i in (0..8).filter(|i| i & J as usize == 0) {
        let (a, b) = (x[i], x[i + J as usize]);
        // SAFETY: the machine has AVX2.
        unsafe {
            let swap =
                _mm256_and_si256(_mm256_xor_si256(_mm256_srli_epi16::<J>(a), b), _mm256_set1_epi8(mask));
            x[i] = _mm256_xor_si256(a, _mm256_slli_epi16::<J>(swap));
            x[i + J as usize] = _mm256_xor_si256(b, swap);
        }
    }
}
