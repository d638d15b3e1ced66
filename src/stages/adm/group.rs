//! One group: 32 lanes of 16 elements.

use super::params::{self, STEP};
use crate::base::error::Fault;

pub(super) const LANES: usize = 32;
/// Elements of a lane and of a group.
pub(super) const LANE: usize = params::LANE as usize;
pub(super) const GROUP: usize = params::GROUP as usize;
const _: () = assert!(GROUP == LANES * LANE);
/// The largest distance that readers of the reference take, who count steps in a byte.
const FARTHEST: u32 = 256 * STEP;
/// Bytes of a lane, by the bytes of an element, that hold its bits.
pub(super) const fn room(width: usize) -> u32 {
    (LANE * width) as u32
}

/// A group, coded: its codes and bits are where they were asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coded {
    pub(super) center: u32,
    /// Bytes of a lane.
    pub(super) lane: usize,
    /// The elements themselves: their low bytes are the codes, the others the bits.
    pub(super) plain: bool,
}

/// Codes the elements of a group; `codes` has a byte for each, `bits` room for all lanes. `many`: the stream has more than 1024
/// groups, of which the last one ends in another way.
pub(super) fn encode(elements: &[u32], width: usize, many: bool, codes: &mut [u8], bits: &mut [u8]) -> Coded {
    let sum = elements.iter().fold(0u32, |a, &v| a.wrapping_add(v));
    let center = sum / elements.len() as u32;
    let mut used = [0u32; LANES];
    let mut fits = true;
    for (i, (&v, code)) in elements.iter().zip(codes.iter_mut()).enumerate() {
        let far = v.abs_diff(center);
        let step = far.saturating_sub(1) / STEP;
        *code = if far == 0 { 1 } else { (2 * (far - STEP * step)) as u8 + u8::from(v < center) };
        // A one and as many zeros as there are steps.
        used[i / LANE] = used[i / LANE].saturating_add(1 + step);
        fits &= far <= FARTHEST && used[i / LANE] <= 8 * room(width);
    }
    if !fits {
        return plain(elements, center, width, codes, bits);
    }
    let lane = used.iter().max().map_or(0, |bits| bits.div_ceil(8) as usize);
    bits[..LANES * lane].fill(0);
    for (k, out) in bits.chunks_exact_mut(lane.max(1)).take(LANES).enumerate() {
        let own = elements.get(k * LANE..).unwrap_or_default();
        lane_bits(&own[..own.len().min(LANE)], center, out, many);
    }
    Coded { center, lane, plain: false }
}

/// The bits of one lane; the rest of its last byte, or all of the next byte, is ones, followed by zeros.
fn lane_bits(elements: &[u32], center: u32, out: &mut [u8], many: bool) {
    let mut at = 0;
    for &v in elements {
        out[at / 8] |= 0x80 >> (at % 8);
        at += 1 + (v.abs_diff(center).saturating_sub(1) / STEP) as usize; // seed: adm-steps
    }
    // seed: adm-many
    if elements.is_empty() && many {
        out.fill(0xff);
    } else if let Some(byte) = out.get_mut(at / 8) {
        *byte |= 0xff >> (at % 8);
    }
}

/// Low bytes as codes, the other bytes lane by lane.
fn plain(elements: &[u32], center: u32, width: usize, codes: &mut [u8], bits: &mut [u8]) -> Coded {
    codes.iter_mut().zip(elements).for_each(|(to, &v)| *to = v as u8);
    bits[..GROUP * (width - 1)].fill(0);
    for (to, v) in bits.chunks_exact_mut(width - 1).zip(elements) {
        to.copy_from_slice(&v.to_le_bytes()[1..width]);
    }
    Coded { center, lane: LANE * (width - 1), plain: true }
}

/// The elements of a lane, which has as many codes.
pub(super) fn decode_lane(
    codes: &[u8],
    bits: &[u8],
    (center, width, plain): (u32, usize, bool),
    mut put: impl FnMut(u32),
) -> Result<(), Fault> {
    if plain {
        for (i, &code) in codes.iter().enumerate() {
            let high = bits.get(i * (width - 1)..(i + 1) * (width - 1)).ok_or(Fault::Corrupt)?;
            let high = high.iter().rev().fold(0, |a, &b| a << 8 | u32::from(b));
            put(high << 8 | u32::from(code));
        }
        return Ok(());
    }
    let mut ones = (0..8 * bits.len()).filter(|i| bits[i / 8] & (0x80 >> (i % 8)) != 0);
    // Where the bits of an element start and those of the next one.
    let mut start = (!codes.is_empty()).then(|| ones.next()).flatten();
    // seed: adm-first-one
    if start.is_some_and(|s| s != 0) {
        return Err(Fault::Corrupt);
    }
    for &code in codes {
        let from = start.ok_or(Fault::Corrupt)?;
        start = ones.next();
        let steps = start.unwrap_or(8 * bits.len()) - from - 1;
        if !(1..=253).contains(&code) {
            return Err(Fault::Corrupt);
        }
        let far = u32::from(code / 2) + STEP * steps as u32;
        put(if code % 2 == 1 { center.wrapping_sub(far) } else { center.wrapping_add(far) });
    }
    Ok(())
}
