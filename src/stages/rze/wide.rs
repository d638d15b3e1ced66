//! Work on eight bytes at a time by tables, and masks of 32 bytes: the same results as [`super::eights::Plain`], which a test compares.

#![allow(unsafe_code)]

use super::eights::{Eights, Plain};
use std::arch::x86_64::{
    _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_set_epi64x, _mm_shuffle_epi8, _mm256_cmpeq_epi8,
    _mm256_loadu_si256, _mm256_movemask_epi8,
};

/// See the module. Only used where [`crate::stages::wide::available`] returns true.
pub(super) struct Wide;

/// The source of each of eight bytes; from [`NOTHING`] on, zero.
type Take = [u8; 8];
const NOTHING: u8 = 0x80;

/// Per mask of eight bytes: the sources of [`Eights::compact`], [`Eights::spread`], and [`Eights::repeat`], where the byte before is
/// source 0.
const COMPACT: [Take; 256] = tables().0;
const SPREAD: [Take; 256] = tables().1;
const REPEAT: [Take; 256] = tables().2;

const fn tables() -> ([Take; 256], [Take; 256], [Take; 256]) {
    let mut compact = [[NOTHING; 8]; 256];
    let (mut spread, mut repeat) = (compact, compact);
    let mut mask = 0;
    while mask < 256 {
        let (mut all, mut some) = (0, 0);
        while all < 8 {
            if mask >> all & 1 != 0 {
                compact[mask][some] = all as u8;
                spread[mask][all] = some as u8;
                some += 1;
            }
            repeat[mask][all] = some as u8; // seed: rze-wide-repeat
            all += 1;
        }
        mask += 1;
    }
    (compact, spread, repeat)
}

/// Eight of these bytes, moved by a table.
#[inline(always)]
#[allow(unused_unsafe)] // Until 1.87 some of the operations were not safe.
fn moved(low: u64, high: u64, take: Take) -> [u8; 8] {
    /// # Safety
    /// The machine must have SSSE3.
    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn moved(low: u64, high: u64, take: Take) -> i64 {
        // SAFETY: the machine has SSSE3.
        unsafe {
            let bytes = _mm_set_epi64x(high as i64, low as i64);
            _mm_cvtsi128_si64(_mm_shuffle_epi8(bytes, _mm_cvtsi64_si128(i64::from_le_bytes(take))))
        }
    }
    // SAFETY: `Wide` is only used on machines with AVX2.
    unsafe { moved(low, high, take) }.to_le_bytes()
}

/// A bit for each byte that differs from the other one in its place.
///
/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // As above.
unsafe fn differences(a: &[u8; 32], b: &[u8; 32]) -> u32 {
    // SAFETY: the machine has AVX2.
    unsafe {
        let (a, b) = (_mm256_loadu_si256(a.as_ptr().cast()), _mm256_loadu_si256(b.as_ptr().cast()));
        !_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b)) as u32
    }
}

impl Eights for Wide {
    #[inline(always)]
    fn mark(bytes: &[u8], map: &mut [u8]) {
        let registers = bytes.len() / 32;
        for (register, m) in bytes.chunks_exact(32).zip(map.chunks_exact_mut(4)) {
            let Some(register) = register.first_chunk::<32>() else { return };
            // SAFETY: `Wide` is only used on machines with AVX2.
            m.copy_from_slice(&unsafe { differences(register, &[0; 32]) }.to_le_bytes());
        }
        Plain::mark(&bytes[32 * registers..], map.get_mut(4 * registers..).unwrap_or_default());
    }

    #[inline(always)]
    fn mark_changes(before: u8, bytes: &[u8], map: &mut [u8]) {
        let Some(start) = bytes.first_chunk::<32>() else { return Plain::mark_changes(before, bytes, map) };
        let (mut shifted, mut at) = ([before; 32], 0);
        shifted[1..].copy_from_slice(&start[..31]);
        let mut left = &shifted;
        while let Some(register) = bytes.get(at..).and_then(|rest| rest.first_chunk::<32>()) {
            let Some(m) = map.get_mut(at / 8..at / 8 + 4) else { return };
            // SAFETY: as above.
            m.copy_from_slice(&unsafe { differences(register, left) }.to_le_bytes());
            at += 32;
            let Some(next) = bytes.get(at - 1..).and_then(|rest| rest.first_chunk::<32>()) else { break };
            left = next;
        }
        Plain::mark_changes(bytes[at - 1], &bytes[at..], map.get_mut(at / 8..).unwrap_or_default());
    }

    #[inline(always)]
    fn compact(bytes: [u8; 8], mask: u8) -> [u8; 8] {
        moved(u64::from_le_bytes(bytes), 0, COMPACT[usize::from(mask)])
    }

    #[inline(always)]
    fn spread(bytes: [u8; 8], mask: u8) -> [u8; 8] {
        moved(u64::from_le_bytes(bytes), 0, SPREAD[usize::from(mask)])
    }

    #[inline(always)]
    fn repeat(before: u8, bytes: [u8; 8], mask: u8) -> [u8; 8] {
        let x = u64::from_le_bytes(bytes);
        moved(x << 8 | u64::from(before), x >> 56, REPEAT[usize::from(mask)])
    }
}
