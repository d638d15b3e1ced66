//! Encoder of a step for registers of 256 bits. Its results equal those of `section` and `rans`, which a test proves.

#![allow(unsafe_code)]

use super::code::{INDICES, Symbol};
use super::params::{EXACT, PATTERN};
use super::rans::{LANES, RunEncoder, Share};
use super::section::{MOST_LOW, Shares, StepShares};
use super::wide_decode::{bits, lanes, load, store};
use std::arch::x86_64::{
    __m128i, __m256d, __m256i, _mm_loadl_epi64, _mm_loadu_si128, _mm_packus_epi32, _mm_storeu_si128,
    _mm256_add_epi32, _mm256_and_si256, _mm256_andnot_si256, _mm256_blendv_epi8, _mm256_castsi256_pd,
    _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_cmpgt_epi32, _mm256_cvtepi32_pd, _mm256_cvtepu8_epi32,
    _mm256_cvtepu16_epi32, _mm256_cvtepu32_epi64, _mm256_cvttpd_epi32, _mm256_div_pd,
    _mm256_extracti128_si256, _mm256_i32gather_epi32, _mm256_max_epi32, _mm256_mullo_epi32, _mm256_or_si256,
    _mm256_permutevar8x32_epi32, _mm256_set_m128i, _mm256_set1_epi32, _mm256_set1_epi64x,
    _mm256_setzero_si256, _mm256_slli_epi32, _mm256_sllv_epi32, _mm256_srli_epi32, _mm256_srlv_epi32,
    _mm256_sub_epi32, _mm256_sub_pd,
};

/// For each set of 8 lanes that write a word, these lanes in descending order.
static WRITERS: [[u8; 8]; 256] = {
    let mut all = [[0; 8]; 256];
    let (mut mask, mut lane) = (0, 0);
    while mask < 256 {
        while lane < 8 {
            if mask as u32 >> lane & 1 == 1 {
                all[mask][(mask as u32 >> lane >> 1).count_ones() as usize] = lane;
            }
            lane += 1;
        }
        (mask, lane) = (mask + 1, 0);
    }
    all
};

/// Looks up the shares of the tokens of a step, and the number of their raw bits. There are at most 32 symbols.
///
/// # Safety
/// The machine has AVX2.
#[target_feature(enable = "avx2,popcnt")]
#[allow(unused_unsafe)] // Before Rust 1.87 some of the operations are unsafe inside of a function with the feature.
pub(super) unsafe fn shares(of: &Shares, symbols: &[Symbol], exact: u32, to: &mut StepShares) {
    let mut some = [Symbol::default(); LANES];
    let own: &[Symbol; LANES] = match symbols.try_into() {
        Ok(all) => all,
        Err(_) => {
            some[..symbols.len()].copy_from_slice(symbols);
            &some
        }
    };
    let active = if symbols.len() < LANES { (1 << symbols.len()) - 1 } else { u32::MAX };
    let (mut any, mut large) = (0, 0);
    // SAFETY: the machine has AVX2. The index of a symbol has 10 bits, and there are 2^10 shares.
    unsafe {
        let int = |i: u32| _mm256_set1_epi32(i as i32);
        for v in 0..4 {
            let s = _mm256_cvtepu16_epi32(_mm_loadu_si128(own[8 * v..8 * v + 8].as_ptr().cast()));
            let index = _mm256_and_si256(s, int(INDICES as u32 - 1));
            let token = _mm256_and_si256(index, int(63));
            // The number of raw bits, by the formulas of `token::code`.
            let fine = _mm256_sub_epi32(_mm256_srli_epi32::<2>(token), int(2));
            let coarse = _mm256_sub_epi32(_mm256_srli_epi32::<1>(token), int(9));
            let n = _mm256_blendv_epi8(coarse, fine, _mm256_cmpgt_epi32(int(32), token));
            let is_exact = _mm256_cmpeq_epi32(token, int(EXACT));
            let n = _mm256_blendv_epi8(n, int(exact), is_exact);
            let single = _mm256_cmpgt_epi32(int(16), token);
            let pattern = _mm256_andnot_si256(is_exact, _mm256_cmpgt_epi32(token, int(PATTERN - 1)));
            let n = _mm256_andnot_si256(_mm256_or_si256(single, pattern), n);
            let share = _mm256_i32gather_epi32::<4>(of.as_ptr().cast(), index);
            let share = _mm256_and_si256(share, lanes(active, v));
            store(bytemuck::cast_mut(&mut to.shares), v, share);
            store(&mut to.bits, v, n);
            let above = _mm256_sllv_epi32(int(u32::MAX), n);
            store(&mut to.values, v, _mm256_andnot_si256(above, _mm256_srli_epi32::<10>(s)));
            any |= bits(_mm256_cmpgt_epi32(n, _mm256_setzero_si256()));
            large |= bits(_mm256_cmpgt_epi32(n, int(MOST_LOW)));
        }
    }
    (to.has_bits, to.has_large) = (any > 0, large > 0);
}

/// Writes a word of each lane in `writes`, in descending order of lanes, and removes it from the state. Returns the states and the
/// number of words.
///
/// # Safety
/// The machine has AVX2, and `room` has room for 8 words.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
#[allow(unused_unsafe)] // The same reason as for `shares`.
unsafe fn write(x: __m256i, writes: __m256i, room: *mut u16) -> (__m256i, usize) {
    // SAFETY: the caller guarantees AVX2 and the room.
    unsafe {
        let mask = bits(writes) as usize;
        let order = _mm256_cvtepu8_epi32(_mm_loadl_epi64(WRITERS[mask].as_ptr().cast()));
        let words = _mm256_and_si256(_mm256_permutevar8x32_epi32(x, order), _mm256_set1_epi32(0xffff));
        let words = _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
        _mm_storeu_si128(room.cast(), words);
        let rest = _mm256_blendv_epi8(x, _mm256_srli_epi32::<16>(x), writes);
        (rest, mask.count_ones() as usize)
    }
}

/// ⌊x / f⌋, where x is below 2^32, f is from 1 to 2^14, and the quotient is below 2^18.
///
/// A quotient that is no integer differs from the next integer by at least 2^-14, so rounding does not reach it.
///
/// # Safety
/// The machine has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // The same reason as for `shares`.
unsafe fn divide(x: __m256i, f: __m256i) -> __m256i {
    // SAFETY: the machine has AVX2.
    unsafe {
        let half = |x: __m128i, f: __m128i| {
            // The float 2^52 plus a number below 2^32 has that number in its low bits.
            let magic = _mm256_set1_epi64x(0x4330_0000_0000_0000);
            let sum = _mm256_or_si256(_mm256_cvtepu32_epi64(x), magic);
            let x: __m256d = _mm256_sub_pd(_mm256_castsi256_pd(sum), _mm256_castsi256_pd(magic));
            _mm256_cvttpd_epi32(_mm256_div_pd(x, _mm256_cvtepi32_pd(f)))
        };
        let low = half(_mm256_castsi256_si128(x), _mm256_castsi256_si128(f));
        let high = half(_mm256_extracti128_si256::<1>(x), _mm256_extracti128_si256::<1>(f));
        _mm256_set_m128i(high, low)
    }
}

/// Does the work of [`RunEncoder::symbols`].
///
/// # Safety
/// The machine has AVX2.
#[target_feature(enable = "avx2,popcnt")]
#[allow(unused_unsafe)] // The same reason as for `shares`.
pub(super) unsafe fn symbols(run: &mut RunEncoder, shares: &[Share; LANES]) {
    let (mut states, mut counts, mut used) = (run.states, run.counts, 0);
    let room = run.room();
    // SAFETY: the machine has AVX2. There is room for 32 words, and the lanes after 8v + 7 write at most 24 - 8v of them.
    unsafe {
        for v in (0..4).rev() {
            let (x, share) = (load(&states, v), load(bytemuck::cast_ref(shares), v));
            let f = _mm256_and_si256(share, _mm256_set1_epi32(0xffff));
            let has = _mm256_cmpgt_epi32(f, _mm256_setzero_si256());
            let fits = _mm256_cmpgt_epi32(f, _mm256_srli_epi32::<18>(x));
            let writes = _mm256_andnot_si256(fits, has);
            let (rest, more) = write(x, writes, room[used..used + 8].as_mut_ptr());
            used += more;
            let whole = divide(rest, _mm256_max_epi32(f, _mm256_set1_epi32(1)));
            let part = _mm256_sub_epi32(rest, _mm256_mullo_epi32(whole, f));
            let next = _mm256_add_epi32(_mm256_slli_epi32::<14>(whole), part);
            let next = _mm256_add_epi32(next, _mm256_srli_epi32::<16>(share));
            store(&mut states, v, _mm256_blendv_epi8(x, next, has));
            let count = _mm256_sub_epi32(load(&counts, v), writes);
            store(&mut counts, v, count);
        }
    }
    (run.states, run.counts) = (states, counts);
    run.used += used;
}

/// Does the work of [`RunEncoder::bits`].
///
/// # Safety
/// The machine has AVX2.
#[target_feature(enable = "avx2,popcnt")]
#[allow(unused_unsafe)] // The same reason as for `shares`.
pub(super) unsafe fn raw(run: &mut RunEncoder, count: &[u32; LANES], value: &[u32; LANES]) {
    let (mut states, mut counts, mut used) = (run.states, run.counts, 0);
    let room = run.room();
    // SAFETY: the machine has AVX2. There is room for 32 words, and the lanes after 8v + 7 write at most 24 - 8v of them.
    unsafe {
        for v in (0..4).rev() {
            let (x, n) = (load(&states, v), load(count, v));
            // A shift by 32 has the result 0.
            let above = _mm256_srlv_epi32(x, _mm256_sub_epi32(_mm256_set1_epi32(32), n));
            let writes = _mm256_cmpgt_epi32(above, _mm256_setzero_si256());
            let (rest, more) = write(x, writes, room[used..used + 8].as_mut_ptr());
            used += more;
            store(&mut states, v, _mm256_or_si256(_mm256_sllv_epi32(rest, n), load(value, v)));
            let count = _mm256_sub_epi32(load(&counts, v), writes);
            store(&mut counts, v, count);
        }
    }
    (run.states, run.counts) = (states, counts);
    run.used += used;
}

#[cfg(test)]
mod tests {
    use super::super::code::{CODES, EXACT};
    use super::*;
    use crate::stages::wide::available;

    #[test]
    fn steps_are_those_of_the_scalar_code() {
        if !available() {
            return;
        }
        let mut seed = 5u64;
        let mut random = |n: u32| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((seed >> 32) % u64::from(n)) as u32
        };
        for round in 0..300u32 {
            let (most, wide_codes) = (1 << (1 + round % 14), round % 3 == 0);
            let of: Shares = std::array::from_fn(|_| {
                let f = (1 + random(most)).min(1 << 14);
                Share::new(f as u16, random((1 << 14) - f + 1) as u16)
            });
            let (mut plain, mut wide) = (RunEncoder::new(), RunEncoder::new());
            for _ in 0..100 {
                let points = if round % 2 > 0 { LANES as u32 } else { 1 + random(LANES as u32) };
                let symbols: Vec<Symbol> = (0..points)
                    .map(|_| {
                        let code = if wide_codes { random(EXACT + 1) } else { random(40) };
                        let code = if random(20) == 0 { CODES + random(5) } else { code };
                        Symbol::new(code, random(16) as u8)
                    })
                    .collect();
                let (mut a, mut b) = (StepShares::default(), StepShares::default());
                a.plain_look_up(&of, &symbols, 64);
                // SAFETY: `available` is true.
                unsafe { shares(&of, &symbols, 64, &mut b) };
                assert_eq!(a, b, "{round}");
                plain.plain_symbols(&a.shares);
                // SAFETY: `available` is true.
                unsafe { super::symbols(&mut wide, &a.shares) };
                let count: [u32; LANES] = std::array::from_fn(|_| random(17));
                let value = count.map(|n| random(1 << n));
                plain.plain_bits(&count, &value);
                // SAFETY: `available` is true.
                unsafe { raw(&mut wide, &count, &value) };
                assert_eq!((plain.states, plain.counts), (wide.states, wide.counts), "{round}");
            }
            assert_eq!(plain.finish(), wide.finish(), "{round}");
        }
    }
}
