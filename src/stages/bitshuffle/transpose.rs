//! One block of bit planes, by networks of word operations.
//!
//! Elements are taken in groups that fill one word of every plane: 32 of them, or 64 of eight bytes. A group
//! is a square bit matrix and is transposed in log2 steps; its words then go to one place in every plane.
//! Widths 4 and 8 put element 0 at the most significant bit of a plane's word, widths 1 and 2 at the least.

use super::Transform;

/// The transforms of widths 1, 2, 4, and 8, encoding and decoding.
pub(super) const TRANSFORMS: [[Transform; 4]; 2] =
    [[shuffle1, shuffle2, shuffle4, shuffle8], [unshuffle1, unshuffle2, unshuffle4, unshuffle8]];

/// Transposes a 32 x 32 bit matrix, row 0 and bit 31 first.
fn transpose32(a: &mut [u32; 32]) {
    step32::<16>(a, 0x0000_ffff);
    step32::<8>(a, 0x00ff_00ff);
    step32::<4>(a, 0x0f0f_0f0f);
    step32::<2>(a, 0x3333_3333);
    step32::<1>(a, 0x5555_5555);
}

/// Exchanges the off-diagonal quarters of every 2J x 2J block.
#[inline(always)]
fn step32<const J: usize>(a: &mut [u32], mask: u32) {
    for pair in a.chunks_exact_mut(2 * J) {
        let (top, bottom) = pair.split_at_mut(J);
        for (t, b) in top.iter_mut().zip(bottom) {
            let swap = (*t ^ (*b >> J)) & mask;
            *t ^= swap;
            *b ^= swap << J;
        }
    }
}

/// Transposes a 64 x 64 bit matrix, row 0 and bit 63 first.
fn transpose64(a: &mut [u64; 64]) {
    step64::<32>(a, 0x0000_0000_ffff_ffff);
    step64::<16>(a, 0x0000_ffff_0000_ffff);
    step64::<8>(a, 0x00ff_00ff_00ff_00ff);
    step64::<4>(a, 0x0f0f_0f0f_0f0f_0f0f);
    step64::<2>(a, 0x3333_3333_3333_3333);
    step64::<1>(a, 0x5555_5555_5555_5555);
}

#[inline(always)]
fn step64<const J: usize>(a: &mut [u64; 64], mask: u64) {
    for pair in a.chunks_exact_mut(2 * J) {
        let (top, bottom) = pair.split_at_mut(J);
        for (t, b) in top.iter_mut().zip(bottom) {
            let swap = (*t ^ (*b >> J)) & mask;
            *t ^= swap;
            *b ^= swap << J;
        }
    }
}

/// Transposes an 8 x 8 bit matrix whose row i is byte i, bit 0 first.
fn transpose8(mut x: u64) -> u64 {
    let mut swap = |shift: u32, mask: u64| {
        let t = (x ^ (x >> shift)) & mask;
        x ^= t ^ (t << shift);
    };
    swap(7, 0x00aa_00aa_00aa_00aa);
    swap(14, 0x0000_cccc_0000_cccc);
    swap(28, 0x0000_0000_f0f0_f0f0);
    x
}

fn word<const W: usize>(bytes: &[u8], i: usize) -> [u8; W] {
    let mut w = [0; W];
    w.copy_from_slice(&bytes[i * W..i * W + W]);
    w
}

/// Width 1: byte g of plane p holds bit 7-p of elements 8g..8g+8, element 8g in bit 0.
fn shuffle1(src: &[u8], dst: &mut [u8]) {
    let plane = src.len() / 8;
    for g in 0..plane {
        let bits = transpose8(u64::from_le_bytes(word(src, g))).to_be_bytes();
        for (p, b) in bits.into_iter().enumerate() {
            dst[p * plane + g] = b;
        }
    }
}

/// Undoes [`shuffle1`].
fn unshuffle1(src: &[u8], dst: &mut [u8]) {
    let plane = src.len() / 8;
    for (g, out) in dst.chunks_exact_mut(8).enumerate() {
        let bits = std::array::from_fn(|p| src[p * plane + g]);
        out.copy_from_slice(&transpose8(u64::from_be_bytes(bits)).to_le_bytes());
    }
}

/// Width 2: 32 elements give one word of each of 16 planes. Two groups share a 32 x 32 matrix: the first in
/// the high halves. Rows are filled from the last, which puts element 0 at the least significant bit.
fn shuffle2(src: &[u8], dst: &mut [u8]) {
    let words = src.len() / 64;
    let (plane, last) = (words * 4, words - 1);
    for g in (0..words).step_by(2) {
        let mut a: [u32; 32] = std::array::from_fn(|i| {
            let e = |g: usize| u32::from(u16::from_le_bytes(word(src, g.min(last) * 32 + 31 - i)));
            e(g) << 16 | e(g + 1)
        });
        transpose32(&mut a);
        for p in 0..16 {
            let at = p * plane + 4 * g;
            dst[at..at + 4].copy_from_slice(&a[p].to_le_bytes());
            if g < last {
                dst[at + 4..at + 8].copy_from_slice(&a[16 + p].to_le_bytes());
            }
        }
    }
}

/// Undoes [`shuffle2`].
fn unshuffle2(src: &[u8], dst: &mut [u8]) {
    let words = src.len() / 64;
    let (plane, last) = (words * 4, words - 1);
    for g in (0..words).step_by(2) {
        let mut a: [u32; 32] = std::array::from_fn(|i| {
            let (p, g) = (i % 16, (g + i / 16).min(last));
            u32::from_le_bytes(word(&src[p * plane..], g))
        });
        transpose32(&mut a);
        for (i, row) in a.iter().enumerate() {
            let e = |g: usize| (g * 32 + 31 - i) * 2; // seed: bit-order-2
            dst[e(g)..e(g) + 2].copy_from_slice(&((row >> 16) as u16).to_le_bytes());
            if g < last {
                dst[e(g + 1)..e(g + 1) + 2].copy_from_slice(&(*row as u16).to_le_bytes());
            }
        }
    }
}

/// Width 4. Small codes have zero high planes, and a transpose whose upper 24 or 16 columns are zero needs a
/// quarter or half of the work: each group of 32 elements takes the shortest way that holds it.
fn shuffle4(src: &[u8], dst: &mut [u8]) {
    let plane = src.len() / 32;
    dst.fill(0);
    let mut put = |g: usize, first: usize, rows: &[u32]| {
        for (p, w) in rows.iter().enumerate() {
            dst[(first + p) * plane + 4 * g..][..4].copy_from_slice(&w.to_le_bytes());
        }
    };
    for (g, group) in src.chunks_exact(128).enumerate() {
        let mut a: [u32; 32] = std::array::from_fn(|i| u32::from_le_bytes(word(group, i)));
        match a.iter().fold(0, |all, w| all | w) {
            0 => {}
            all if all < 1 << 8 => put(g, 24, &pack8(&a)),
            all if all < 1 << 16 => put(g, 16, &pack16(&a)),
            _ => {
                transpose32(&mut a);
                put(g, 0, &a);
            }
        }
    }
}

/// The last 8 rows of the transpose of a matrix of which only the low 8 columns are not zero.
#[inline(always)]
fn pack8(a: &[u32; 32]) -> [u32; 8] {
    let mut b = std::array::from_fn(|i| a[i] << 24 | a[i + 8] << 16 | a[i + 16] << 8 | a[i + 24]);
    step32::<4>(&mut b, 0x0f0f_0f0f);
    step32::<2>(&mut b, 0x3333_3333);
    step32::<1>(&mut b, 0x5555_5555);
    b
}

/// The last 16 rows of the transpose of a matrix of which only the low 16 columns are not zero.
#[inline(always)]
fn pack16(a: &[u32; 32]) -> [u32; 16] {
    let mut b = std::array::from_fn(|i| a[i] << 16 | a[i + 16]);
    step32::<8>(&mut b, 0x00ff_00ff);
    step32::<4>(&mut b, 0x0f0f_0f0f);
    step32::<2>(&mut b, 0x3333_3333);
    step32::<1>(&mut b, 0x5555_5555);
    b
}

/// Undoes [`pack8`]: the steps are their own inverses.
#[inline(always)]
fn unpack8(mut b: [u32; 8]) -> [u32; 32] {
    step32::<1>(&mut b, 0x5555_5555);
    step32::<2>(&mut b, 0x3333_3333);
    step32::<4>(&mut b, 0x0f0f_0f0f);
    std::array::from_fn(|i| b[i % 8] >> (24 - i / 8 * 8) & 0xff)
}

/// Undoes [`pack16`].
#[inline(always)]
fn unpack16(mut b: [u32; 16]) -> [u32; 32] {
    step32::<1>(&mut b, 0x5555_5555);
    step32::<2>(&mut b, 0x3333_3333);
    step32::<4>(&mut b, 0x0f0f_0f0f);
    step32::<8>(&mut b, 0x00ff_00ff);
    std::array::from_fn(|i| b[i % 16] >> (16 - i / 16 * 16) & 0xffff)
}

/// Groups whose planes are looked at together, to find out which are zero.
const ABREAST: usize = 32;

/// Undoes [`shuffle4`], by the same three ways.
fn unshuffle4(src: &[u8], dst: &mut [u8]) {
    let plane = src.len() / 32;
    for (k, groups) in dst.chunks_mut(128 * ABREAST).enumerate() {
        let n = groups.len() / 128;
        let row = |p: usize| &src[p * plane + 4 * ABREAST * k..][..4 * n];
        // Per group: the union of its words in planes 0 to 15, and in planes 16 to 23.
        let mut high = [[0u32; ABREAST]; 2];
        for p in 0..24 {
            for (h, w) in high[p / 16].iter_mut().zip(row(p).chunks_exact(4)) {
                *h |= u32::from_le_bytes([w[0], w[1], w[2], w[3]]);
            }
        }
        for (g, group) in groups.chunks_exact_mut(128).enumerate() {
            let get = |p: usize| u32::from_le_bytes(word(row(p), g));
            let a = match (high[0][g], high[1][g]) {
                (0, 0) => unpack8(std::array::from_fn(|p| get(24 + p))),
                (0, _) => unpack16(std::array::from_fn(|p| get(16 + p))),
                _ => {
                    let mut a = std::array::from_fn(get);
                    transpose32(&mut a);
                    a
                }
            };
            for (w, out) in a.iter().zip(group.chunks_exact_mut(4)) {
                out.copy_from_slice(&w.to_le_bytes());
            }
        }
    }
}

/// Width 8: the 64 x 64 transpose alone.
pub(super) fn shuffle8(src: &[u8], dst: &mut [u8]) {
    let plane = src.len() / 64;
    for (g, group) in src.chunks_exact(512).enumerate() {
        let mut a: [u64; 64] = std::array::from_fn(|i| u64::from_le_bytes(word(group, i)));
        transpose64(&mut a);
        for (p, w) in a.iter().enumerate() {
            dst[p * plane + 8 * g..][..8].copy_from_slice(&w.to_le_bytes());
        }
    }
}

/// Undoes [`shuffle8`].
pub(super) fn unshuffle8(src: &[u8], dst: &mut [u8]) {
    let plane = src.len() / 64;
    for (g, group) in dst.chunks_exact_mut(512).enumerate() {
        let mut a: [u64; 64] = std::array::from_fn(|p| u64::from_le_bytes(word(&src[p * plane..], g)));
        transpose64(&mut a);
        for (w, out) in a.iter().zip(group.chunks_exact_mut(8)) {
            out.copy_from_slice(&w.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The layout as the specification states it, bit by bit.
    fn by_the_book(src: &[u8], width: usize) -> Vec<u8> {
        let (n, bits) = (src.len() / width, 8 * width);
        let group = if width == 8 { 64 } else { 32 };
        let mut out = vec![0u8; src.len()];
        for e in 0..n {
            for b in 0..bits {
                if src[e * width + b / 8] >> (b % 8) & 1 == 0 {
                    continue;
                }
                let word = (bits - 1 - b) * (n / group) + e / group;
                let (byte, mask) = match width {
                    1 | 2 => (4 * word + (e % 32) / 8, 1u8 << (e % 8)),
                    4 => (4 * word + 3 - (e % 32) / 8, 0x80 >> (e % 8)),
                    _ => (8 * word + 7 - (e % 64) / 8, 0x80 >> (e % 8)),
                };
                out[byte] |= mask;
            }
        }
        out
    }

    #[test]
    fn every_width_is_the_layout_of_the_specification() {
        for (i, width) in [1, 2, 4, 8].into_iter().enumerate() {
            for blocks in [1, 3, 16] {
                let mut x = 12345u32;
                let mut src: Vec<u8> = (0..1024 * width * blocks)
                    .map(|_| {
                        x = x.wrapping_mul(1664525).wrapping_add(1013904223);
                        (x >> 24) as u8
                    })
                    .collect();
                // Elements of one byte, then of two, then of any size: every way through the transpose.
                let third = src.len() / 3;
                for (i, b) in src.iter_mut().enumerate() {
                    *b =
                        if (i < third && i % width > 0) || (i < 2 * third && i % width > 1) { 0 } else { *b };
                }
                for [shuffle, unshuffle] in
                    [Some(TRANSFORMS), super::super::wide::transforms()].into_iter().flatten()
                {
                    let (mut out, mut back) = (vec![0xee; src.len()], vec![0xee; src.len()]);
                    shuffle[i](&src, &mut out);
                    assert_eq!(out, by_the_book(&src, width), "width {width}, {blocks} x 1024 elements");
                    unshuffle[i](&out, &mut back);
                    assert_eq!(back, src, "width {width}");
                }
            }
        }
    }
}
