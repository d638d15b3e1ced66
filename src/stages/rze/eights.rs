//! Work on eight bytes at a time: once to be read, once for wide registers.

/// Moves bytes by masks, which have a bit for each of eight bytes.
pub(super) trait Eights {
    /// A bit for each byte that is not zero.
    fn mark(bytes: &[u8], map: &mut [u8]);
    /// A bit for each byte that differs from the byte before it, the first one from `before`.
    fn mark_changes(before: u8, bytes: &[u8], map: &mut [u8]);
    /// The bytes of the mask side by side, and anything behind them.
    fn compact(bytes: [u8; 8], mask: u8) -> [u8; 8];
    /// The opposite: puts the first bytes in the places of the mask, and zeros in the others.
    fn spread(bytes: [u8; 8], mask: u8) -> [u8; 8];
    /// Puts the first bytes in the places of the mask, and in each other place the byte before it, in the first `before`.
    fn repeat(before: u8, bytes: [u8; 8], mask: u8) -> [u8; 8];
}

/// See [`Eights`].
pub(super) struct Plain;

/// Bit i of the result: byte i of `x` is not zero.
#[inline(always)]
fn nonzero_bytes(x: u64) -> u8 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let high = ((x & LOW) + LOW) | x;
    (((high & !LOW) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// The eight bytes of group `i`, zeros beyond the end.
#[inline(always)]
pub(super) fn eight(bytes: &[u8], i: usize) -> [u8; 8] {
    let mut out = [0; 8];
    match bytes.get(8 * i..8 * i + 8) {
        Some(b) => out.copy_from_slice(b),
        None => {
            let rest = bytes.get(8 * i..).unwrap_or_default();
            out[..rest.len()].copy_from_slice(rest);
        }
    }
    out
}

impl Eights for Plain {
    #[inline(always)]
    fn mark(bytes: &[u8], map: &mut [u8]) {
        for (i, m) in map.iter_mut().enumerate() {
            *m = nonzero_bytes(u64::from_le_bytes(eight(bytes, i)));
        }
    }

    #[inline(always)]
    fn mark_changes(mut before: u8, bytes: &[u8], map: &mut [u8]) {
        for (i, m) in map.iter_mut().enumerate() {
            let valid = bytes.len().saturating_sub(8 * i).min(8);
            let x = u64::from_le_bytes(eight(bytes, i));
            *m = nonzero_bytes(x ^ (x << 8 | u64::from(before))) & ((1u32 << valid) - 1) as u8;
            before = (x >> 56) as u8;
        }
    }

    #[inline(always)]
    fn compact(bytes: [u8; 8], mask: u8) -> [u8; 8] {
        let (mut out, mut n) = ([0; 8], 0);
        for (j, b) in bytes.into_iter().enumerate() {
            out[n & 7] = b;
            n += usize::from(mask >> j & 1);
        }
        out
    }

    #[inline(always)]
    fn spread(bytes: [u8; 8], mask: u8) -> [u8; 8] {
        let mut n = 0;
        std::array::from_fn(|j| {
            let bit = mask >> j & 1;
            let b = bytes[n & 7] & 0u8.wrapping_sub(bit);
            n += usize::from(bit);
            b
        })
    }

    #[inline(always)]
    fn repeat(mut before: u8, bytes: [u8; 8], mask: u8) -> [u8; 8] {
        let mut n = 0;
        std::array::from_fn(|j| {
            if mask >> j & 1 == 1 {
                before = bytes[n & 7];
                n += 1;
            }
            before
        })
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::wide::Wide;
    use super::*;
    use crate::stages::wide::available;

    /// The bytes that [`Eights::compact`] defines.
    fn compacted<E: Eights>(bytes: [u8; 8], mask: u8) -> Vec<u8> {
        E::compact(bytes, mask)[..mask.count_ones() as usize].to_vec()
    }

    #[test]
    fn bodies_agree() {
        if !available() {
            return;
        }
        let (mut x, mut all) = (1u64, vec![]);
        for mask in 0..=255u8 {
            for _ in 0..40 {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let mut bytes = (x ^ x >> 29).to_le_bytes();
                bytes.iter_mut().for_each(|b| *b = if *b < 100 { 0 } else { *b });
                let before = (x >> 40) as u8;
                assert_eq!(compacted::<Wide>(bytes, mask), compacted::<Plain>(bytes, mask));
                assert_eq!(Wide::spread(bytes, mask), Plain::spread(bytes, mask));
                assert_eq!(Wide::repeat(before, bytes, mask), Plain::repeat(before, bytes, mask));
                all.extend(bytes);
            }
        }
        // Every length, so that the end lies everywhere in a group and in a register.
        for n in 0..300usize {
            let [mut wide, mut plain] = [vec![0; n.div_ceil(8)], vec![0; n.div_ceil(8)]];
            Wide::mark(&all[n..2 * n], &mut wide);
            Plain::mark(&all[n..2 * n], &mut plain);
            assert_eq!(wide, plain, "{n}");
            let repeated: Vec<u8> = all[..n].iter().map(|b| b / 100).collect();
            for before in [0, 1, 2] {
                Wide::mark_changes(before, &repeated, &mut wide);
                Plain::mark_changes(before, &repeated, &mut plain);
                assert_eq!(wide, plain, "{n}");
            }
        }
    }
}
