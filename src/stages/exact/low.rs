//! Fields of bits side by side in words of 16 bits, the lowest bits first.

use super::word::Word;
use crate::base::error::Fault;

/// Words of `fields` fields.
pub(super) fn words(fields: usize, bits: u32) -> usize {
    (fields * bits as usize).div_ceil(16)
}

/// The most fields of [`put`].
const MOST: usize = 256;

/// Writes the low `bits` bits of at most 256 numbers to the bytes of their words; the last word is padded.
#[inline(always)]
pub(super) fn put<W: Word>(numbers: &[W], bits: u32, out: &mut [u8]) {
    let mut to = Appender { held: 0, count: 0, words: out.chunks_exact_mut(8) };
    let mask = (1 << bits) - 1;
    if 2 * bits > u64::BITS {
        for u in numbers {
            to.put(u.wide() & mask, bits);
        }
    } else {
        // Two fields at once, united by a loop that the compiler vectorizes.
        let mut pairs = [0u64; MOST / 2];
        let pairs = &mut pairs[..numbers.len() / 2];
        for (pair, two) in pairs.iter_mut().zip(numbers.chunks_exact(2)) {
            *pair = two[0].wide() & mask | (two[1].wide() & mask) << bits;
        }
        for &mut pair in pairs {
            to.put(pair, 2 * bits);
        }
        if let Some(last) = numbers.last().filter(|_| numbers.len() % 2 > 0) {
            to.put(last.wide() & mask, bits);
        }
    }
    let Appender { held, mut words, .. } = to;
    let last = words.next();
    let rest = last.unwrap_or(words.into_remainder());
    let n = rest.len();
    rest.copy_from_slice(&held.to_le_bytes()[..n]);
}

/// Fields in the bytes of words.
struct Appender<'a> {
    /// The last `count` bits, fewer than 64.
    held: u64,
    count: u32,
    words: std::slice::ChunksExactMut<'a, u8>,
}

impl Appender<'_> {
    /// Appends a field that has no more than `bits` bits.
    #[inline(always)]
    fn put(&mut self, field: u64, bits: u32) {
        self.held |= field << self.count;
        self.count += bits;
        if self.count >= u64::BITS {
            if let Some(word) = self.words.next() {
                word.copy_from_slice(&self.held.to_le_bytes());
            }
            self.count -= u64::BITS;
            self.held = field.checked_shr(bits - self.count).unwrap_or(0);
        }
    }
}

/// Field `i` of `bits` bits, at most 59. The words must contain it.
#[inline(always)]
pub(super) fn get(words: &[u16], i: usize, bits: u32) -> u64 {
    let (word, shift) = (i * bits as usize / 16, i * bits as usize % 16);
    let mask = (1 << bits) - 1;
    if let Some(&[a, b, c, d]) = words.get(word..word + 4).filter(|_| bits <= 48) {
        let all = u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48;
        return all >> shift & mask;
    }
    let own = words[word..].iter().take(5).rev();
    (own.fold(0u128, |all, &w| all << 16 | u128::from(w)) >> shift) as u64 & mask
}

/// The words in front, which must be there.
pub(super) fn take<'a>(rest: &mut &'a [u16], n: usize) -> Result<&'a [u16], Fault> {
    let (own, behind) = rest.split_at_checked(n).ok_or(Fault::Corrupt)?;
    *rest = behind;
    Ok(own)
}

/// A number of words in front, the lowest first.
pub(super) fn take_number(rest: &mut &[u16], n: usize) -> Result<u64, Fault> {
    Ok(take(rest, n)?.iter().rev().fold(0, |all, &w| all << 16 | u64::from(w)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_restored() {
        for bits in 1..=59 {
            for n in [0, 1, 2, 69, 255, 256] {
                let numbers: Vec<u64> = (1..=n).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
                let mut out = vec![0u16; words(numbers.len(), bits)];
                put(&numbers, bits, bytemuck::cast_slice_mut(&mut out));
                for (i, &number) in numbers.iter().enumerate() {
                    assert_eq!(get(&out, i, bits), number & ((1 << bits) - 1), "{bits} bits, field {i}");
                }
            }
        }
    }
}
