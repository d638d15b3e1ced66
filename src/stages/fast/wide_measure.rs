//! Differences and widths of a unit of codes, in one pass over pairs of parts.

#![allow(unsafe_code)]
#![allow(unused_unsafe)] // Until 1.87 some of the operations were not safe inside a function with the feature.

use super::grid::{LANES, PART, ROW, UNIT};
use super::unit::{Codes, Measured, Widths, length, signed};
use std::arch::x86_64::{
    __m256i, _mm_cvtsi128_si64, _mm256_abs_epi32, _mm256_blend_epi32, _mm256_castsi256_si128,
    _mm256_loadu_si256, _mm256_max_epi32, _mm256_min_epi32, _mm256_or_si256, _mm256_permute2x128_si256,
    _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setzero_si256,
    _mm256_shuffle_epi32, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_unpackhi_epi32,
    _mm256_unpacklo_epi32,
};

/// Codes, differences, and differences of these to those of the unit before, part by part.
pub(super) struct WideWork {
    pub(super) codes: Codes,
    pub(super) intra: Codes,
    pub(super) second: Codes,
}

impl Default for WideWork {
    fn default() -> WideWork {
        WideWork { codes: [0; UNIT], intra: [0; UNIT], second: [0; UNIT] }
    }
}

/// The values of a part.
type Part = [__m256i; 2];

/// A number for each part, in the order of widths.
type Numbers = [u32; 2 * LANES];

/// One pass over a unit.
struct Pass<'a> {
    work: &'a mut WideWork,
    before: &'a mut Codes,
    least: __m256i,
    /// The greatest codes.
    greatest: Numbers,
    /// All bits of the magnitudes.
    intra: Numbers,
    second: Numbers,
}

/// Eight codes.
///
/// # Safety
/// The machine has AVX2, and there are eight codes from `at` on.
#[target_feature(enable = "avx2")]
unsafe fn eight(codes: &Codes, at: usize) -> __m256i {
    debug_assert!(at + 8 <= UNIT);
    // SAFETY: the caller's promise.
    unsafe { _mm256_loadu_si256(codes.as_ptr().add(at).cast()) }
}

/// Codes minus those before them in the row: eight from `at` on. `first`: they begin the row.
///
/// # Safety
/// As for [`eight`].
#[target_feature(enable = "avx2")]
unsafe fn along(codes: &Codes, at: usize, first: bool) -> __m256i {
    // SAFETY: the caller's promise; a row that begins elsewhere has a code before.
    unsafe {
        let all = eight(codes, at);
        let left = if first {
            let shifted = _mm256_permutevar8x32_epi32(all, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
            _mm256_blend_epi32::<1>(shifted, _mm256_setzero_si256())
        } else {
            eight(codes, at - 1)
        };
        _mm256_sub_epi32(all, left)
    }
}

/// Two parts side by side, from four rows of eight values.
///
/// # Safety
/// The machine has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn apart(rows: [__m256i; 4]) -> [Part; 2] {
    let [a, b, c, d] = rows;
    // SAFETY: the caller's promise.
    unsafe {
        [
            [_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x20>(c, d)],
            [_mm256_permute2x128_si256::<0x31>(a, b), _mm256_permute2x128_si256::<0x31>(c, d)],
        ]
    }
}

/// The greater of two numbers, or the bits of both.
///
/// # Safety
/// The machine has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn both<const GREATEST: bool>(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { if GREATEST { _mm256_max_epi32(a, b) } else { _mm256_or_si256(a, b) } }
}

/// The greatest numbers of two registers, or all bits of their numbers.
///
/// # Safety
/// The machine has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn over<const GREATEST: bool>(of: [__m256i; 2]) -> [u32; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        let [a, b] = of;
        let four = both::<GREATEST>(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let two = both::<GREATEST>(four, _mm256_shuffle_epi32::<0x4e>(four));
        let one = both::<GREATEST>(two, _mm256_permute2x128_si256::<0x11>(two, two));
        let one = _mm_cvtsi128_si64(_mm256_castsi256_si128(one)) as u64;
        [one as u32, (one >> 32) as u32]
    }
}

impl Pass<'_> {
    /// Takes two parts in these slots, and their differences.
    ///
    /// # Safety
    /// The machine has AVX2, and the slots are below `2 * LANES`.
    #[target_feature(enable = "avx2")]
    unsafe fn take<const INTER: bool>(
        &mut self,
        slots: [usize; 2],
        codes: [Part; 2],
        differences: [Part; 2],
    ) {
        // SAFETY: the caller's promise; slot `s` has the values from 16 `s` on.
        unsafe {
            let (mut greatest, mut intra, mut second) =
                (codes.map(|p| p[0]), [_mm256_setzero_si256(); 2], [_mm256_setzero_si256(); 2]);
            for i in 0..2 {
                for j in 0..2 {
                    let at = PART * slots[i] + 8 * j;
                    let (code, d) = (codes[i][j], differences[i][j]);
                    _mm256_storeu_si256(self.work.codes.as_mut_ptr().add(at).cast(), code);
                    _mm256_storeu_si256(self.work.intra.as_mut_ptr().add(at).cast(), d);
                    self.least = _mm256_min_epi32(self.least, code);
                    greatest[i] = _mm256_max_epi32(greatest[i], code);
                    intra[i] = _mm256_or_si256(intra[i], _mm256_abs_epi32(d));
                    if INTER {
                        let d = _mm256_sub_epi32(d, eight(self.before, at));
                        _mm256_storeu_si256(self.work.second.as_mut_ptr().add(at).cast(), d);
                        second[i] = _mm256_or_si256(second[i], _mm256_abs_epi32(d));
                    }
                    _mm256_storeu_si256(self.before.as_mut_ptr().add(at).cast(), d);
                }
            }
            let put = |numbers: &mut Numbers, found: [u32; 2]| {
                slots.iter().zip(found).for_each(|(&s, v)| numbers[s] = v)
            };
            put(&mut self.greatest, over::<true>(greatest));
            put(&mut self.intra, over::<false>(intra));
            if INTER {
                put(&mut self.second, over::<false>(second));
            }
        }
    }

    /// # Safety
    /// The machine has AVX2.
    #[target_feature(enable = "avx2")]
    unsafe fn rows<const INTER: bool>(&mut self, codes: &Codes) {
        for x in (0..ROW).step_by(8) {
            // SAFETY: the caller's promise; the places are within 32 rows of 32.
            unsafe {
                let mut above = _mm256_setzero_si256();
                for y in (0..ROW).step_by(4) {
                    let at = |i: usize| ROW * (y + i) + x;
                    let code =
                        [eight(codes, at(0)), eight(codes, at(1)), eight(codes, at(2)), eight(codes, at(3))];
                    let first = x == 0;
                    let [a, b, c, d] = [
                        along(codes, at(0), first),
                        along(codes, at(1), first),
                        along(codes, at(2), first),
                        along(codes, at(3), first),
                    ];
                    let rows = [
                        _mm256_sub_epi32(a, above),
                        _mm256_sub_epi32(b, a),
                        _mm256_sub_epi32(c, b),
                        _mm256_sub_epi32(d, c),
                    ];
                    above = d;
                    let slot = y / 4 % 2 * LANES + y / 8 * 8 + x / 4;
                    self.take::<INTER>([slot, slot + 1], apart(code), apart(rows));
                }
            }
        }
    }

    /// # Safety
    /// The machine has AVX2.
    #[target_feature(enable = "avx2")]
    unsafe fn line(&mut self, codes: &Codes) {
        for lane in 0..LANES {
            // SAFETY: the caller's promise; a lane has 32 values.
            unsafe {
                let at = |i: usize| 2 * PART * lane + 8 * i;
                let code =
                    [[eight(codes, at(0)), eight(codes, at(1))], [eight(codes, at(2)), eight(codes, at(3))]];
                let d = [
                    [along(codes, at(0), lane == 0), along(codes, at(1), false)],
                    [along(codes, at(2), false), along(codes, at(3), false)],
                ];
                self.take::<false>([lane, LANES + lane], code, d);
            }
        }
    }
}

/// The widths of parts with these numbers.
#[inline(always)]
fn widths(numbers: &Numbers, of: impl Fn(u32) -> u32) -> Widths {
    let mut widths = [[0; LANES]; 2];
    widths.iter_mut().flatten().zip(numbers).for_each(|(width, &v)| *width = of(v));
    widths
}

/// See [`Body::measure`](super::unit::Body::measure).
///
/// # Safety
/// The machine has AVX2 and LZCNT.
#[target_feature(enable = "avx2,lzcnt")]
pub(super) unsafe fn measure_wide(
    ndim: u32,
    codes: &Codes,
    before: &mut Codes,
    inter: bool,
    work: &mut WideWork,
) -> Measured {
    let none = [0; 2 * LANES];
    // SAFETY: the caller's promise.
    let least = unsafe { _mm256_set1_epi32(i32::MAX) };
    let mut pass = Pass { work, before, least, greatest: none, intra: none, second: none };
    // SAFETY: as above.
    unsafe {
        match (ndim, inter) {
            (1, _) => pass.line(codes),
            (_, false) => pass.rows::<false>(codes),
            (_, true) => pass.rows::<true>(codes),
        }
    }
    let Pass { work, least, greatest, mut intra, second, .. } = pass;
    // The first code is stored apart.
    work.intra[0] = 0;
    intra[0] = work.intra[..PART].iter().fold(0, |all, d| all | d.unsigned_abs());
    let mut all = [0; 8];
    // SAFETY: as above; there is room for eight numbers.
    unsafe { _mm256_storeu_si256(all.as_mut_ptr().cast(), least) };
    let least = all.into_iter().fold(i32::MAX, i32::min);
    Measured {
        least,
        first: codes[0],
        offsets: widths(&greatest, |v| length(v.wrapping_sub(least as u32))),
        intra: widths(&intra, |v| signed(length(v))),
        inter: if inter { Some(widths(&second, |v| signed(length(v)))) } else { None },
    }
}
