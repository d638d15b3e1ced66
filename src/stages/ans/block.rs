//! One block: 32 states, one for each byte of a row.

use super::params::FIRST_STATE as START;
use super::weights::Weights;
use super::{LANES, ONE, PROB_BITS};
use crate::base::error::Fault;

/// Codes a block of bytes that all have weights; the number of its words, of which there is room for the most, and its states at
/// the end.
pub(super) fn encode(
    block: &[u8],
    weights: &Weights,
    words: &mut [u8],
) -> Result<(usize, [u32; LANES]), Fault> {
    let (mut count, mut states) = (0, [START; LANES]);
    let mut free = words.chunks_exact_mut(2);
    for row in block.chunks(LANES) {
        for (x, &byte) in states.iter_mut().zip(row) {
            let (weight, before) = (weights.of[usize::from(byte)], weights.before[usize::from(byte)]);
            // In 64 bits: a weight of one whole makes a limit of 2^31.
            if u64::from(*x) >= u64::from(weight) << 21 {
                let word = free.next().ok_or(Fault::BadLaunch)?;
                word.copy_from_slice(&(*x as u16).to_le_bytes());
                count += 1;
                *x >>= 16;
            }
            *x = (*x / weight) * ONE + *x % weight + before;
        }
    }
    Ok((count, states))
}

/// Decodes a block from its end to its start.
pub(super) fn decode(
    block: &mut [u8],
    mut states: [u32; LANES],
    words: &[u8],
    weights: &Weights,
    bytes: &[u8; ONE as usize],
) -> Result<(), Fault> {
    let mut words = words.chunks_exact(2).rev();
    for row in block.chunks_mut(LANES).rev() {
        for (x, byte) in states.iter_mut().zip(row.iter_mut()) {
            let slot = *x % ONE;
            *byte = bytes[slot as usize];
            let s = usize::from(*byte);
            *x = weights.of[s].wrapping_mul(*x >> PROB_BITS).wrapping_add(slot - weights.before[s]);
        }
        // Lanes that need a word take them in order, so from the end they come in reverse.
        for x in states[..row.len()].iter_mut().rev().filter(|x| **x < START) {
            let word = words.next().ok_or(Fault::Corrupt)?;
            *x = *x << 16 | u32::from(bytemuck::pod_read_unaligned::<u16>(word));
        }
    }
    if words.next().is_none() && states == [START; LANES] { Ok(()) } else { Err(Fault::Corrupt) } // seed: ans-rest
}
