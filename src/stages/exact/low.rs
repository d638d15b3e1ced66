//! Fields of bits side by side in words of 16 bits, the lowest bits first.

use crate::base::error::Fault;

/// Words of `fields` fields.
pub(super) fn words(fields: usize, bits: u32) -> usize {
    (fields * bits as usize).div_ceil(16)
}

/// Appends fields that have no more than `bits` bits; the last word is padded.
#[inline(always)]
pub(super) fn put(fields: impl Iterator<Item = u64>, bits: u32, out: &mut Vec<u16>) {
    let (mut held, mut count) = (0u64, 0);
    let flush = |held: u64, out: &mut Vec<u16>| {
        out.extend_from_slice(&[held as u16, (held >> 16) as u16, (held >> 32) as u16, (held >> 48) as u16]);
    };
    for field in fields {
        held |= field << count;
        count += bits;
        if count >= u64::BITS {
            flush(held, out);
            count -= u64::BITS;
            held = field.checked_shr(bits - count).unwrap_or(0);
        }
    }
    let words = count.div_ceil(16) as usize;
    out.extend((0..words).map(|k| (held >> (16 * k)) as u16));
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
            let fields: Vec<u64> =
                (1..70u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)).collect();
            let mut out = vec![];
            put(fields.iter().copied(), bits, &mut out);
            assert_eq!(out.len(), words(fields.len(), bits));
            for (i, &field) in fields.iter().enumerate() {
                assert_eq!(get(&out, i, bits), field, "{bits} bits, field {i}");
            }
        }
    }
}
