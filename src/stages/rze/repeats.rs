//! Words that equal the one before them, in place of zeros: the words that stage rre drops.

use crate::base::error::Fault;

/// A bit per word that differs from the one before it, the first one from zero.
pub(super) fn mark(words: &[u8], word: usize, map: &mut [u8]) {
    match word {
        1 => mark_of::<1>(words, map),
        2 => mark_of::<2>(words, map),
        4 => mark_of::<4>(words, map),
        _ => mark_of::<8>(words, map),
    }
}

fn mark_of<const W: usize>(words: &[u8], map: &mut [u8]) {
    let mut before: &[u8] = &[0; W]; // seed: rre-first-word
    for (m, group) in map.iter_mut().zip(words.chunks(8 * W)) {
        for (j, word) in group.chunks_exact(W).enumerate() {
            *m |= u8::from(word != before) << j;
            before = word;
        }
    }
}

/// Puts the kept words back, each as often as it was there.
pub(super) fn restore(kept: &[u8], word: usize, map: &[u8], out: &mut [u8]) -> Result<(), Fault> {
    match word {
        1 => restore_of::<1>(kept, map, out),
        2 => restore_of::<2>(kept, map, out),
        4 => restore_of::<4>(kept, map, out),
        _ => restore_of::<8>(kept, map, out),
    }
}

fn restore_of<const W: usize>(kept: &[u8], map: &[u8], out: &mut [u8]) -> Result<(), Fault> {
    let (mut next, mut before) = (kept.chunks_exact(W), [0; W].as_slice()); // seed: rre-first-restored
    for (i, word) in out.chunks_exact_mut(W).enumerate() {
        if map.get(i / 8).is_some_and(|m| m >> (i % 8) & 1 == 1) {
            before = next.next().ok_or(Fault::Corrupt)?;
        }
        word.copy_from_slice(before);
    }
    Ok(())
}
