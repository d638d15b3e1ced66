//! The work on the codes of a unit for registers of 256 bits: the same results as `plain`, which a test compares.
//!
//! Codes go through it in the order of planes, the 16 values of a part next to each other. All but the bit planes is plain
//! loops, for the compiler to make vectors of under the features of the functions that they are inlined into.

#![allow(unsafe_code)]

use super::grid::{LANES, PART, ROW, UNIT};
use super::plain::Plain;
use super::unit::{ACROSS, Body, Codes, Halves, INSIDE, Measured, OFFSETS, Widths, length, signed};
use super::value::{Quantize, Value};
use std::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm256_add_epi8, _mm256_add_epi32, _mm256_and_si256, _mm256_cmpeq_epi8,
    _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_packus_epi16, _mm256_packus_epi32,
    _mm256_permute2x128_si256, _mm256_permute4x64_epi64, _mm256_permutevar8x32_epi32, _mm256_set_epi64x,
    _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_shuffle_epi32,
    _mm256_slli_si256, _mm256_srl_epi32, _mm256_storeu_si256, _mm256_sub_epi8,
};

/// See the module.
pub(super) struct Wide;

/// Whether this machine has what the functions here are compiled for.
pub(super) fn available() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("lzcnt")
        && std::arch::is_x86_feature_detected!("fma")
}

/// Halves of all parts, plane by plane.
type Places = [[u16; 2 * LANES]; 32];

/// Where the values of a part begin, and how many stand together there.
#[inline(always)]
fn runs(ndim: u32, half: usize, lane: usize) -> (usize, usize) {
    match ndim {
        1 => (PART * (2 * lane + half), 4),
        _ => (ROW * (8 * (lane / 8) + 4 * half) + 4 * (lane % 8), ROW),
    }
}

/// From rows to parts.
#[inline(always)]
fn gather(ndim: u32, rows: &Codes, parts: &mut Codes) {
    for (slot, part) in parts.chunks_exact_mut(PART).enumerate() {
        let (at, next) = runs(ndim, slot / LANES, slot % LANES);
        for (j, four) in part.chunks_exact_mut(4).enumerate() {
            four.copy_from_slice(&rows[at + j * next..at + j * next + 4]);
        }
    }
}

/// And back.
#[inline(always)]
fn scatter<V: Copy>(ndim: u32, parts: &[V; UNIT], rows: &mut [V; UNIT]) {
    for (slot, part) in parts.chunks_exact(PART).enumerate() {
        let (at, next) = runs(ndim, slot / LANES, slot % LANES);
        for (j, four) in part.chunks_exact(4).enumerate() {
            rows[at + j * next..at + j * next + 4].copy_from_slice(four);
        }
    }
}

/// Codes, differences and differences of these, part by part; and behind the planes, room for those that are not as long.
pub(super) struct Work {
    codes: Codes,
    inside: Codes,
    above: Codes,
}

impl Default for Work {
    fn default() -> Work {
        Work { codes: [0; UNIT], inside: [0; UNIT], above: [0; UNIT] }
    }
}

/// Bits of the largest of the 16 magnitudes of each part: those of all of them at once.
#[inline(always)]
fn widths(values: &Codes, sign: bool, magnitude: impl Fn(i32) -> u32) -> Widths {
    let mut widths = [[0; LANES]; 2];
    for (width, part) in widths.iter_mut().flatten().zip(values.chunks_exact(PART)) {
        let bits = length(part.iter().fold(0, |all, &v| all | magnitude(v)));
        *width = if sign { signed(bits) } else { bits };
    }
    widths
}

#[inline(always)]
fn measure(ndim: u32, codes: &Codes, before: &mut Codes, across: bool, work: &mut Work) -> Measured {
    let (mut d, mut back) = ([0; UNIT], [0; UNIT]);
    back[1..].copy_from_slice(&codes[..UNIT - 1]);
    for ((d, q), back) in d.iter_mut().zip(codes).zip(&back) {
        *d = q - back;
    }
    if ndim > 1 {
        d.iter_mut().zip(codes).step_by(ROW).for_each(|(d, q)| *d = *q);
        back[ROW..].copy_from_slice(&d[..UNIT - ROW]);
        d[ROW..].iter_mut().zip(&back[ROW..]).for_each(|(d, above)| *d -= above);
    }
    gather(ndim, codes, &mut work.codes);
    gather(ndim, &d, &mut work.inside);
    let least = codes.iter().fold(i32::MAX, |least, &c| least.min(c));
    let above = across.then(|| {
        for ((above, d), before) in work.above.iter_mut().zip(&work.inside).zip(&*before) {
            *above = d - before;
        }
        widths(&work.above, true, i32::unsigned_abs)
    });
    *before = work.inside;
    work.inside[0] = 0;
    Measured {
        least,
        first: codes[0],
        offsets: widths(&work.codes, false, |c| (c - least) as u32),
        inside: widths(&work.inside, true, i32::unsigned_abs),
        across: above,
    }
}

/// Bit planes 8 `k` to 8 `k` + 7 of all parts.
///
/// # Safety
/// The machine has AVX2.
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // Until 1.87 some of the operations were not safe inside of a function with the feature.
unsafe fn transpose(values: &Codes, k: i32, planes: &mut [[u16; 2 * LANES]; 8]) {
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

#[inline(always)]
fn planes(
    mode: u16,
    base: i32,
    widths: &Widths,
    work: &Work,
    out: &mut Halves,
    transpose: impl Fn(&Codes, i32, &mut [[u16; 2 * LANES]; 8]),
) {
    let mut offsets;
    let values = match mode {
        OFFSETS => {
            offsets = work.codes;
            offsets.iter_mut().for_each(|c| *c -= base);
            &offsets
        }
        INSIDE => &work.inside,
        _ => &work.above,
    };
    let (mut least, mut most) = (u32::MAX, 0);
    for &w in widths.iter().flatten() {
        (least, most) = (least.min(w), most.max(w));
    }
    let mut eight = [[0; 2 * LANES]; 8];
    for plane in 0..most {
        if plane % 8 == 0 {
            transpose(values, (plane / 8) as i32, &mut eight);
        }
        let all = &eight[plane as usize % 8];
        if plane < least {
            out.0.extend_from_slice(all);
            continue;
        }
        let (mut some, mut n) = ([0; 2 * LANES], 0);
        for (&bits, &w) in all.iter().zip(widths.iter().flatten()) {
            some[n % (2 * LANES)] = bits;
            n += usize::from(w > plane);
        }
        out.0.extend_from_slice(&some[..n]);
    }
}

/// Every plane of every part in its place, with zeros for those that are not there; also which of them is the last.
#[inline(always)]
fn places(widths: &Widths, planes: &[u8]) -> (Places, u32) {
    let mut places = [[0; 2 * LANES]; 32];
    let (mut least, mut most) = (u32::MAX, 0);
    for &w in widths.iter().flatten() {
        (least, most) = (least.min(w), most.max(w));
    }
    let mut rest = planes;
    for (plane, place) in places.iter_mut().enumerate().take(most as usize) {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(place);
        if plane < least as usize {
            let (all, behind) = rest.split_at(bytes.len());
            bytes.copy_from_slice(all);
            rest = behind;
            continue;
        }
        let mut some = [0u16; 2 * LANES];
        let most = rest.len().min(bytes.len());
        bytemuck::cast_slice_mut::<u16, u8>(&mut some)[..most].copy_from_slice(&rest[..most]);
        let mut n = 0;
        for (to, &w) in place.iter_mut().zip(widths.iter().flatten()) {
            let there = u16::from(w > plane as u32);
            *to = some[n % (2 * LANES)] * there;
            n += usize::from(there);
        }
        rest = &rest[2 * n..];
    }
    (places, most)
}

/// Bits 8 `k` to 8 `k` + 7 of all values, part by part: what [`transpose`] takes apart.
///
/// # Safety
/// The machine has AVX2.
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // As above.
unsafe fn transpose_back(places: &Places, k: usize, most: u32, bytes: &mut [u8; UNIT]) {
    // SAFETY: the machine has AVX2; `bytes` has 32 values from each multiple of 32 below its length.
    unsafe {
        // To each byte of a half the byte of its two that has its bit.
        let (one, two) = (0x0101_0101_0101_0101, 0x0202_0202_0202_0202);
        let spread = _mm256_set_epi64x(one + two, two, one, 0);
        let bits = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
        let planes = &places[8 * k..(8 * k + 8).min(most as usize)];
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

/// What stands in the planes, part by part: in modes with a sign as that says.
#[inline(always)]
fn codes(
    ndim: u32,
    mode: u16,
    base: i32,
    widths: &Widths,
    planes: &[u8],
    codes: &mut Codes,
    transpose_back: impl Fn(&Places, usize, u32, &mut [u8; UNIT]),
    sums: impl Fn(&mut Codes),
) {
    let (places, most) = places(widths, planes);
    let mut bytes = [0; UNIT];
    let mut rows = [0i32; UNIT];
    transpose_back(&places, 0, most, &mut bytes);
    if most <= 8 {
        // A byte has the whole value.
        if mode != OFFSETS {
            for (part, &w) in bytes.chunks_exact_mut(PART).zip(widths.iter().flatten()) {
                let sign = ((1u32 << w) >> 1) as u8;
                part.iter_mut().for_each(|b| *b = (*b ^ sign).wrapping_sub(sign));
            }
        }
        let mut some = [0; UNIT];
        scatter(ndim, &bytes, &mut some);
        if mode == OFFSETS {
            rows.iter_mut().zip(some).for_each(|(v, b)| *v = i32::from(b));
        } else {
            rows.iter_mut().zip(some).for_each(|(v, b)| *v = i32::from(b as i8));
        }
    } else {
        let mut parts = bytes.map(i32::from);
        for k in 1..most.div_ceil(8) as usize {
            transpose_back(&places, k, most, &mut bytes);
            parts.iter_mut().zip(&bytes).for_each(|(v, &b)| *v |= i32::from(b) << (8 * k));
        }
        if mode != OFFSETS {
            for (part, &w) in parts.chunks_exact_mut(PART).zip(widths.iter().flatten()) {
                let sign = ((1u64 << w) >> 1) as i32;
                part.iter_mut().for_each(|v| *v = (*v ^ sign).wrapping_sub(sign));
            }
        }
        scatter(ndim, &parts, &mut rows);
    }
    if mode != OFFSETS {
        sums(&mut rows);
    }
    if mode == ACROSS {
        codes.iter_mut().zip(rows).for_each(|(c, v)| *c = c.wrapping_add(v));
    } else {
        codes.iter_mut().zip(rows).for_each(|(c, v)| *c = v.wrapping_add(base));
    }
}

/// What differences came from: sums in y, and of these in x; in one dimension of all in a row.
///
/// # Safety
/// The machine has AVX2.
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
                // Of each four, then of the second four with the last of the first ones; then what stands before them.
                sum = _mm256_add_epi32(sum, _mm256_slli_si256::<4>(sum));
                sum = _mm256_add_epi32(sum, _mm256_slli_si256::<8>(sum));
                let first = _mm256_permute2x128_si256::<0x08>(sum, sum);
                sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32::<0xff>(first));
                _mm256_storeu_si256(eight.as_mut_ptr().cast(), _mm256_add_epi32(sum, before));
                before = _mm256_add_epi32(before, _mm256_permutevar8x32_epi32(sum, last));
            }
        }
    }
}

/// # Safety
/// The machine has what [`available`] asks for.
#[target_feature(enable = "avx2,lzcnt")]
unsafe fn measure_wide(
    ndim: u32,
    codes: &Codes,
    before: &mut Codes,
    across: bool,
    work: &mut Work,
) -> Measured {
    if ndim == 1 { measure(1, codes, before, across, work) } else { measure(2, codes, before, across, work) }
}

/// # Safety
/// The machine has what [`available`] asks for.
#[target_feature(enable = "avx2,lzcnt")]
unsafe fn planes_wide(mode: u16, base: i32, widths: &Widths, work: &Work, out: &mut Halves) {
    // SAFETY: the machine has AVX2.
    planes(mode, base, widths, work, out, |values, k, eight| unsafe { transpose(values, k, eight) });
}

/// # Safety
/// The machine has what [`available`] asks for.
#[target_feature(enable = "avx2,lzcnt,fma")]
unsafe fn quantize_wide<T: Value>(x: &[T; UNIT], q: &Quantize<T>, anchor: T, codes: &mut Codes) -> bool {
    let mut all = true;
    for (code, x) in codes.iter_mut().zip(x) {
        let (quick, carried) = x.quick(q, anchor);
        *code = quick;
        all &= carried;
    }
    all
}

/// # Safety
/// The machine has what [`available`] asks for.
#[target_feature(enable = "avx2,lzcnt")]
unsafe fn restore_wide<T: Value>(codes: &Codes, anchor: T, step: T, x: &mut [T; UNIT]) {
    for (x, &code) in x.iter_mut().zip(codes) {
        *x = T::quick_restore(anchor, code, step);
    }
}

/// # Safety
/// The machine has what [`available`] asks for.
#[target_feature(enable = "avx2,lzcnt")]
unsafe fn codes_wide(ndim: u32, mode: u16, base: i32, widths: &Widths, planes: &[u8], all: &mut Codes) {
    // SAFETY: the machine has AVX2.
    let back = |places: &Places, k, most, bytes: &mut [u8; UNIT]| unsafe {
        transpose_back(places, k, most, bytes);
    };
    if ndim == 1 {
        // SAFETY: the machine has AVX2.
        codes(1, mode, base, widths, planes, all, back, |d| unsafe { sums(1, d) });
    } else {
        // SAFETY: as above.
        codes(2, mode, base, widths, planes, all, back, |d| unsafe { sums(2, d) });
    }
}

/// Only used where the machine is `available`.
impl Body for Wide {
    type Work = Work;

    fn measure(ndim: u32, codes: &Codes, before: &mut Codes, across: bool, work: &mut Work) -> Measured {
        // SAFETY: `Wide` is used where `available` says so.
        unsafe { measure_wide(ndim, codes, before, across, work) }
    }

    fn planes(_: u32, mode: u16, base: i32, widths: &Widths, work: &Work, out: &mut Halves) {
        // SAFETY: as above.
        unsafe { planes_wide(mode, base, widths, work, out) }
    }

    fn quantize<T: Value>(x: &[T; UNIT], q: &Quantize<T>, anchor: i64, codes: &mut Codes) -> bool {
        // SAFETY: as above.
        unsafe { quantize_wide(x, q, T::from_f64(anchor as f64), codes) }
    }

    fn restore<T: Value>(codes: &Codes, anchor: i64, step: T, x: &mut [T; UNIT]) {
        /// Sums of an anchor below this and a code are floats.
        const EXACT: u64 = 1 << 52;
        if anchor.unsigned_abs() < EXACT {
            // SAFETY: as above.
            unsafe { restore_wide(codes, T::from_f64(anchor as f64), step, x) }
        } else {
            Plain::restore(codes, anchor, step, x);
        }
    }

    fn codes(ndim: u32, mode: u16, base: i32, widths: &Widths, planes: &[u8], codes: &mut Codes) {
        // SAFETY: as above.
        unsafe { codes_wide(ndim, mode, base, widths, planes, codes) }
    }
}
