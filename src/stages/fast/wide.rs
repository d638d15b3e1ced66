//! The work on the codes of a unit for registers of 256 bits: the same results as `plain`, which a test compares.
//!
//! Codes go through it in the order of planes, the 16 values of a part next to each other. All but the bit planes is plain
//! loops, for the compiler to make vectors of under the features of the functions that they are inlined into.

#![allow(unsafe_code)]

use super::grid::{LANES, PART, UNIT};
use super::plain::Plain;
use super::unit::{Body, CodedMask, Codes, Halves, INTRA, Measured, OFFSETS, Widths};
use super::value::{FastQuantize, FastValue};
use super::wide_decode::{codes_wide, restore_wide};
use super::wide_measure::{WideWork, measure_wide};
use super::wide_planes::{Lengths, Plane, squeeze};
use std::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm256_add_epi8, _mm256_and_si256, _mm256_loadu_si256, _mm256_movemask_epi8,
    _mm256_packus_epi16, _mm256_packus_epi32, _mm256_permute4x64_epi64, _mm256_set1_epi32, _mm256_srl_epi32,
};

/// See the module.
pub(super) struct Wide;

/// Bit planes 8 `k` to 8 `k` + 7 of all parts.
///
/// # Safety
/// The machine has AVX2.
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // Until 1.87 some of the operations were not safe inside a function with the feature.
unsafe fn transpose(values: &Codes, k: i32, planes: &mut [Plane; 8]) {
    // SAFETY: the machine has AVX2; `values` has 32 values from each multiple of 32 below its length.
    unsafe {
        let (low, shift) = (_mm256_set1_epi32(255), _mm_cvtsi32_si128(8 * k));
        for (pair, two) in values.chunks_exact(2 * PART).enumerate() {
            let byte = |i: usize| {
                let at: *const __m256i = two.as_ptr().add(i).cast();
                _mm256_and_si256(_mm256_srl_epi32(_mm256_loadu_si256(at), shift), low)
            };
            // Packing goes by halves of the registers: values 0-3 8-11 16-19 24-27, then the rest.
            let first = _mm256_packus_epi32(byte(0), byte(8));
            let second = _mm256_packus_epi32(byte(16), byte(24));
            let (a, b) = (_mm256_permute4x64_epi64::<0xd8>(first), _mm256_permute4x64_epi64::<0xd8>(second));
            let mut bytes = _mm256_permute4x64_epi64::<0xd8>(_mm256_packus_epi16(a, b));
            for plane in planes.iter_mut().rev() {
                let bits = _mm256_movemask_epi8(bytes) as u32;
                plane[2 * pair] = bits as u16;
                plane[2 * pair + 1] = (bits >> 16) as u16;
                bytes = _mm256_add_epi8(bytes, bytes);
            }
        }
    }
}

/// # Safety
/// The machine must have the instructions of [`available`].
#[target_feature(enable = "avx2,popcnt")]
unsafe fn planes_wide(mode: u16, base: i32, widths: &Widths, work: &WideWork, out: &mut Halves) {
    let mut offsets;
    let values = match mode {
        OFFSETS => {
            offsets = work.codes;
            offsets.iter_mut().for_each(|c| *c -= base);
            &offsets
        }
        INTRA => &work.intra,
        _ => &work.second,
    };
    let lengths = Lengths::new(widths);
    let mut eight = [[0; 2 * LANES]; 8];
    for plane in 0..i32::BITS {
        // SAFETY: the caller's promise.
        let there = unsafe { lengths.above(plane) };
        if there == 0 {
            break;
        }
        if plane % 8 == 0 {
            // SAFETY: as above.
            unsafe { transpose(values, (plane / 8) as i32, &mut eight) };
        }
        let all = &eight[plane as usize % 8];
        if there == u64::MAX {
            out.0.extend_from_slice(all);
        } else {
            // SAFETY: as above.
            unsafe { squeeze(all, there, &mut out.0) };
        }
    }
}

/// # Safety
/// The machine must have the instructions of [`available`].
#[target_feature(enable = "avx2,lzcnt,fma")]
unsafe fn quantize_wide<T: FastValue>(
    x: &[T; UNIT],
    q: &FastQuantize<T>,
    reference: T,
    codes: &mut Codes,
    coded: &mut CodedMask,
) -> bool {
    let mut all = true;
    for ((code, coded), x) in codes.iter_mut().zip(coded).zip(x) {
        (*code, *coded) = x.quick(q, reference);
        all &= *coded;
    }
    all
}

/// Only used where the machine is `available`.
impl Body for Wide {
    type Work = WideWork;

    fn measure(ndim: u32, codes: &Codes, before: &mut Codes, inter: bool, work: &mut WideWork) -> Measured {
        // SAFETY: `Wide` is only used if `available` returns true.
        unsafe { measure_wide(ndim, codes, before, inter, work) }
    }

    fn planes(_: u32, mode: u16, base: i32, widths: &Widths, work: &WideWork, out: &mut Halves) {
        // SAFETY: as above.
        unsafe { planes_wide(mode, base, widths, work, out) }
    }

    fn quantize<T: FastValue>(
        x: &[T; UNIT],
        q: &FastQuantize<T>,
        reference: i64,
        codes: &mut Codes,
        coded: &mut CodedMask,
    ) -> bool {
        // SAFETY: as above.
        unsafe { quantize_wide(x, q, T::from_f64(reference as f64), codes, coded) }
    }

    fn restore<T: FastValue>(codes: &Codes, reference: i64, step: T, x: &mut [T; UNIT]) {
        /// Sums of a reference value below this and a code are floats.
        const EXACT: u64 = 1 << 52;
        if reference.unsigned_abs() < EXACT {
            // SAFETY: as above.
            unsafe { restore_wide(codes, T::from_f64(reference as f64), step, x) }
        } else {
            Plain::restore(codes, reference, step, x);
        }
    }

    fn codes(ndim: u32, mode: u16, base: i32, widths: &Widths, planes: &[u8], codes: &mut Codes) {
        // SAFETY: as above.
        unsafe { codes_wide(ndim, mode, base, widths, planes, codes) }
    }
}
