//! Decoder of a step for registers of 256 bits. Its results equal those of `Lookup::plain_step` and `raw`, which a test proves.

#![allow(unsafe_code)]

use super::code::EXACT;
use super::open::Lookup;
use super::params::STEP;
use super::rans::{LANES, RunDecoder};
use super::tables::SYMBOLS;
use super::token;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadl_epi64, _mm_loadu_si128, _mm256_add_epi32, _mm256_and_si256,
    _mm256_andnot_si256, _mm256_blendv_epi8, _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_cmpgt_epi32,
    _mm256_cvtepu8_epi32, _mm256_cvtepu16_epi32, _mm256_i32gather_epi32, _mm256_loadu_si256,
    _mm256_movemask_ps, _mm256_mullo_epi32, _mm256_or_si256, _mm256_permutevar8x32_epi32, _mm256_set1_epi32,
    _mm256_setr_epi32, _mm256_setzero_si256, _mm256_slli_epi32, _mm256_sllv_epi32, _mm256_srai_epi32,
    _mm256_srli_epi32, _mm256_srlv_epi32, _mm256_storeu_si256, _mm256_sub_epi32,
};

/// For each set of 8 lanes that read a word, the number of the word that each lane reads.
static PLACES: [[u8; 8]; 256] = {
    let mut all = [[0; 8]; 256];
    let (mut mask, mut lane) = (0, 0);
    while mask < 256 {
        while lane < 8 {
            all[mask][lane] = (mask as u32 & ((1 << lane) - 1)).count_ones() as u8;
            lane += 1;
        }
        (mask, lane) = (mask + 1, 0);
    }
    all
};

/// A meaning with this bit requires the scalar code for the step.
const RARE: u32 = 1 << 31;

/// For each token its code in the low 24 bits, and the number of its raw bits above them.
static MEANINGS: [u32; SYMBOLS] = {
    let mut all = [RARE; SYMBOLS];
    let mut t = 0;
    while t < SYMBOLS - 1 {
        let (code, bits) = token::code(t as u8, 64);
        if code != EXACT && bits <= 16 {
            all[t] = code | bits << 24;
        }
        t += 1;
    }
    all
};

/// Decodes a step. Returns true if `codes` are codes, and false if they are tokens whose raw bits are not read yet.
///
/// # Safety
/// [`available`](crate::stages::wide::available) is true.
#[target_feature(enable = "avx2,popcnt")]
#[allow(unused_unsafe)] // Before Rust 1.87 some of the operations are unsafe inside of a function with the feature.
pub(super) unsafe fn step(
    lookup: &Lookup,
    run: &mut RunDecoder<'_>,
    contexts: &[u8],
    codes: &mut [u32; LANES],
) -> bool {
    let mut tables = [0u8; LANES];
    for (table, context) in tables.iter_mut().zip(contexts) {
        *table = lookup.map[usize::from(context & 15)];
    }
    let active = u32::MAX >> (STEP - contexts.len() as u32);
    let mut further = 0;
    // SAFETY: the machine has AVX2. `Lookup::new` gives each table of `map` its slots and symbols, and `symbols` 3 bytes after
    // the last slot. Slots have 14 bits, and symbols are below 64. The arrays have 32 lanes.
    unsafe {
        for v in 0..4 {
            let table = _mm256_cvtepu8_epi32(low8(&tables, v));
            let x = load(&run.states, v);
            let slot = _mm256_and_si256(x, _mm256_set1_epi32(0x3fff));
            let at = _mm256_or_si256(_mm256_slli_epi32::<14>(table), slot);
            let s = _mm256_i32gather_epi32::<1>(lookup.symbols.as_ptr().cast(), at);
            let s = _mm256_and_si256(s, _mm256_set1_epi32(0x3f));
            let at = _mm256_or_si256(_mm256_slli_epi32::<6>(table), s);
            let of = _mm256_i32gather_epi32::<4>(lookup.of.as_ptr().cast(), at);
            let frequency = _mm256_and_si256(of, _mm256_set1_epi32(0xffff));
            let low = _mm256_sub_epi32(slot, _mm256_srli_epi32::<16>(of));
            let next = _mm256_add_epi32(_mm256_mullo_epi32(frequency, _mm256_srli_epi32::<14>(x)), low);
            let own = lanes(active, v);
            store(&mut run.states, v, _mm256_blendv_epi8(x, next, own));
            let s = _mm256_and_si256(s, own);
            store(codes, v, s);
            further |= bits(_mm256_cmpgt_epi32(s, _mm256_set1_epi32(15)));
        }
        refill(run, active);
        further == 0 || more(run, codes)
    }
}

/// Replaces tokens by codes and returns true, unless some tokens are rare.
///
/// # Safety
/// [`available`](crate::stages::wide::available) is true, and `codes` are below 64.
#[target_feature(enable = "avx2,popcnt")]
#[allow(unused_unsafe)] // The same reason as for `step`.
unsafe fn more(run: &mut RunDecoder<'_>, codes: &mut [u32; LANES]) -> bool {
    // SAFETY: the caller guarantees the instructions and the codes, and the arrays have 32 lanes.
    unsafe {
        let meaning = |v| _mm256_i32gather_epi32::<4>(MEANINGS.as_ptr().cast(), load(codes, v));
        let meanings = [meaning(0), meaning(1), meaning(2), meaning(3)];
        if meanings.iter().fold(0, |all, m| all | bits(*m)) > 0 {
            return false;
        }
        let mut active = 0;
        for (v, &m) in meanings.iter().enumerate() {
            let (n, x) = (_mm256_srli_epi32::<24>(m), load(&run.states, v));
            let above = _mm256_sllv_epi32(_mm256_set1_epi32(-1), n);
            let code = _mm256_and_si256(m, _mm256_set1_epi32(0xff_ffff));
            store(codes, v, _mm256_or_si256(code, _mm256_andnot_si256(above, x)));
            store(&mut run.states, v, _mm256_srlv_epi32(x, n));
            active |= bits(_mm256_cmpgt_epi32(n, _mm256_setzero_si256())) << (8 * v);
        }
        refill(run, active);
        true
    }
}

/// Does the work of [`RunDecoder::refill`].
///
/// # Safety
/// [`available`](crate::stages::wide::available) is true.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
#[allow(unused_unsafe)] // The same reason as for `step`.
unsafe fn refill(run: &mut RunDecoder<'_>, active: u32) {
    let Some(words) = run.words.get(..LANES) else { return run.refill_at_end(active) };
    let mut used = 0;
    // SAFETY: the machine has AVX2. There are 32 words, and the lanes before 8v use at most 8v of them.
    unsafe {
        for v in 0..4 {
            let (x, count) = (load(&run.states, v), load(&run.counts, v));
            let low = _mm256_cmpeq_epi32(_mm256_srli_epi32::<16>(x), _mm256_setzero_si256());
            let has = _mm256_cmpgt_epi32(count, _mm256_setzero_si256());
            let reads = _mm256_and_si256(_mm256_and_si256(low, has), lanes(active, v));
            let mask = bits(reads) as usize;
            let next: *const __m128i = words.as_ptr().add(used).cast();
            let next = _mm256_cvtepu16_epi32(_mm_loadu_si128(next));
            let place = _mm256_cvtepu8_epi32(_mm_loadl_epi64(PLACES[mask].as_ptr().cast()));
            let word = _mm256_permutevar8x32_epi32(next, place);
            let full = _mm256_or_si256(_mm256_slli_epi32::<16>(x), word);
            store(&mut run.states, v, _mm256_blendv_epi8(x, full, reads));
            store(&mut run.counts, v, _mm256_add_epi32(count, reads));
            used += mask.count_ones() as usize;
        }
    }
    run.words = &run.words[used..];
}

/// Lanes 8 `v` to 8 `v` + 7: all bits are set in those that are in `active`, and none in the others.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // The same reason as for `step`.
pub(super) unsafe fn lanes(active: u32, v: usize) -> __m256i {
    // SAFETY: the machine has AVX2.
    unsafe {
        let own = _mm256_set1_epi32((active >> (8 * v) << 24) as i32);
        _mm256_srai_epi32::<31>(_mm256_sllv_epi32(own, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0)))
    }
}

/// The highest bits of the lanes, as a number.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // The same reason as for `step`.
pub(super) unsafe fn bits(mask: __m256i) -> u32 {
    // SAFETY: the machine has AVX2.
    unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(mask)) as u32 }
}

/// Loads 8 bytes from 8 `v` on.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn low8(from: &[u8; LANES], v: usize) -> __m128i {
    // SAFETY: the slice has 8 bytes.
    unsafe { _mm_loadl_epi64(from[8 * v..8 * v + 8].as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn load(from: &[u32; LANES], v: usize) -> __m256i {
    // SAFETY: the slice has 8 lanes.
    unsafe { _mm256_loadu_si256(from[8 * v..8 * v + 8].as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn store(to: &mut [u32; LANES], v: usize, x: __m256i) {
    // SAFETY: the slice has 8 lanes.
    unsafe { _mm256_storeu_si256(to[8 * v..8 * v + 8].as_mut_ptr().cast(), x) }
}

#[cfg(test)]
mod tests {
    use super::super::open::raw;
    use super::super::tables::{Counts, Set};
    use super::*;
    use crate::stages::wide::available;

    /// A random number of 31 bits.
    fn random(seed: &mut u64) -> u32 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 33) as u32
    }

    #[test]
    fn steps_are_those_of_the_scalar_code() {
        if !available() {
            return;
        }
        let mut seed = 3;
        let mut done = [0; 2];
        for round in 0..300u32 {
            let last = [10, 30, 58, SYMBOLS][round as usize % 4];
            let counts: [Counts; 16] = std::array::from_fn(|_| {
                std::array::from_fn(|s| if s < last { (random(&mut seed) % 1000).into() } else { 0 })
            });
            let lookup = Lookup::new(&Set::new(&counts, SYMBOLS).unwrap().0).unwrap();
            let words: Vec<u16> = (0..3000).map(|_| random(&mut seed) as u16).collect();
            let states = std::array::from_fn(|_| random(&mut seed) << 1);
            let counts = std::array::from_fn(|_| random(&mut seed) % 100);
            let mut plain = RunDecoder { states, counts, words: &words };
            let mut wide = RunDecoder { states, counts, words: &words };
            for _ in 0..100 {
                let contexts: Vec<u8> = (0..1 + random(&mut seed) % STEP).map(|i| i as u8 % 16).collect();
                let points = if round % 2 > 0 { &contexts } else { &[5; LANES][..] };
                let (mut a, mut b, mut e, mut f) = ([0; LANES], [0; LANES], vec![], vec![]);
                let expected = if lookup.plain_step(&mut plain, points, &mut a) {
                    Ok(())
                } else {
                    raw(&mut plain, points.len(), 32, &mut a, &mut e, 7)
                };
                // SAFETY: `available` is true.
                let is_done = unsafe { step(&lookup, &mut wide, points, &mut b) };
                done[usize::from(is_done)] += 1;
                let said = if is_done { Ok(()) } else { raw(&mut wide, points.len(), 32, &mut b, &mut f, 7) };
                assert_eq!((said, f), (expected, e), "{round}");
                if said.is_err() {
                    break;
                }
                assert_eq!((a, wide.states, wide.counts), (b, plain.states, plain.counts), "{round}");
                assert_eq!(wide.words.len(), plain.words.len(), "{round}");
            }
        }
        assert!(done[0] > 100 && done[1] > 100, "{done:?}");
    }
}
