//! Planes of all parts and planes of those that are long enough, eight halves at a time.

#![allow(unsafe_code)]

use super::grid::LANES;
use super::unit::Widths;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_shuffle_epi8, _mm256_cmpgt_epi8, _mm256_movemask_epi8, _mm256_set1_epi8,
};

/// A plane of all parts.
pub(super) type Plane = [u16; PARTS];
/// A plane of some of them, and room for eight behind the last one.
type Gathered = [u16; PARTS + EIGHT];

const PARTS: usize = 2 * LANES;
const EIGHT: usize = 8;

/// The source of each of 16 bytes; from [`NOTHING`] on, zero.
type Take = [u8; 2 * EIGHT];
const NOTHING: u8 = 0x80; // seed: wide-absent

/// Per mask of eight halves: those of the mask side by side; and back, with zeros between them.
const SQUEEZE: [Take; 256] = tables().0;
const SPREAD: [Take; 256] = tables().1;

const fn tables() -> ([Take; 256], [Take; 256]) {
    let mut squeeze = [[NOTHING; 2 * EIGHT]; 256];
    let mut spread = squeeze;
    let mut mask = 0;
    while mask < 256 {
        let (mut all, mut some) = (0, 0);
        while all < EIGHT {
            if mask >> all & 1 != 0 {
                squeeze[mask][2 * some] = 2 * all as u8;
                squeeze[mask][2 * some + 1] = 2 * all as u8 + 1;
                spread[mask][2 * all] = 2 * some as u8;
                spread[mask][2 * all + 1] = 2 * some as u8 + 1;
                some += 1;
            }
            all += 1;
        }
        mask += 1;
    }
    (squeeze, spread)
}

/// Widths in the order of planes. None is above 32.
pub(super) struct Lengths([u8; PARTS]);

impl Lengths {
    #[inline(always)]
    pub(super) fn new(widths: &Widths) -> Lengths {
        let mut lengths = [0; PARTS];
        lengths.iter_mut().zip(widths.iter().flatten()).for_each(|(l, &w)| *l = w as u8);
        Lengths(lengths)
    }

    /// Which parts have a plane, a bit for each.
    ///
    /// # Safety
    /// The machine has AVX2.
    #[inline]
    #[target_feature(enable = "avx2")]
    #[allow(unused_unsafe)] // Until 1.87 some of the operations were not safe inside a function with the feature.
    pub(super) unsafe fn above(&self, plane: u32) -> u64 {
        let [first, second]: [__m256i; 2] = bytemuck::cast(self.0);
        // SAFETY: the machine has AVX2.
        let longer = |lengths| unsafe {
            _mm256_movemask_epi8(_mm256_cmpgt_epi8(lengths, _mm256_set1_epi8(plane as i8))) as u32
        };
        u64::from(longer(first)) | u64::from(longer(second)) << 32 // seed: wide-longer
    }
}

/// Eight halves, moved by a table.
///
/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unused_unsafe)] // As above.
unsafe fn moved(halves: &[u16], take: Take) -> [u16; EIGHT] {
    let halves: __m128i = bytemuck::pod_read_unaligned(bytemuck::cast_slice(halves));
    // SAFETY: the machine has AVX2.
    bytemuck::cast(unsafe { _mm_shuffle_epi8(halves, bytemuck::cast(take)) })
}

/// Appends the halves of the parts in `there`.
///
/// # Safety
/// The machine has AVX2 and POPCNT.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn squeeze(all: &Plane, there: u64, out: &mut Vec<u16>) {
    let (mut some, mut n): (Gathered, _) = ([0; PARTS + EIGHT], 0);
    for (halves, mask) in all.chunks_exact(EIGHT).zip(there.to_le_bytes()) {
        // SAFETY: the machine has AVX2.
        let side_by_side = unsafe { moved(halves, SQUEEZE[usize::from(mask)]) };
        some[n..n + EIGHT].copy_from_slice(&side_by_side);
        n += mask.count_ones() as usize;
    }
    out.extend_from_slice(&some[..n]);
}

/// Reads the halves of the parts in `there` from `planes`, and returns zeros for the other parts. Returns the
/// number of bytes that were read; bytes beyond the end are zero.
///
/// # Safety
/// The machine must have AVX2 and POPCNT.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn spread(planes: &[u8], there: u64, all: &mut Plane) -> usize {
    let (mut some, mut n): (Gathered, _) = ([0; PARTS + EIGHT], 0);
    let bytes = planes.len().min(2 * PARTS);
    bytemuck::cast_slice_mut(&mut some)[..bytes].copy_from_slice(&planes[..bytes]);
    for (halves, mask) in all.chunks_exact_mut(EIGHT).zip(there.to_le_bytes()) {
        // SAFETY: the machine has AVX2.
        halves.copy_from_slice(&unsafe { moved(&some[n..n + EIGHT], SPREAD[usize::from(mask)]) });
        n += mask.count_ones() as usize;
    }
    2 * n
}
