//! Ways to damage a container so that the damage is not caught by the first check that it meets.

use super::corpus::Case;
use super::rng::Rng;
use std::ops::Range;

const CORE: usize = 80;
const RECORD: usize = 256;

/// Fields of the core header of a file: offset and width.
const CORE_FIELDS: &[(usize, usize)] =
    &[(4, 2), (6, 2), (8, 8), (16, 8), (24, 8), (32, 4), (36, 2), (38, 2), (40, 8), (72, 4), (76, 4)];
/// Fields of a stage record.
const STAGE_FIELDS: &[(usize, usize)] = &[
    (0, 2),
    (2, 2),
    (4, 1),
    (5, 1),
    (6, 2),
    (8, 2),
    (10, 2),
    (24, 2),
    (26, 2),
    (28, 2),
    (30, 2),
    (168, 4),
    (172, 4),
    (176, 2),
    (178, 2),
    (180, 8),
    (188, 1),
    (189, 1),
    (190, 2),
    (192, 8),
    (200, 8),
    (208, 8),
    (216, 8),
    (224, 8),
    (232, 8),
    (240, 8),
];
/// Fields of a buffer record.
const BUFFER_FIELDS: &[(usize, usize)] =
    &[(0, 2), (4, 1), (5, 1), (6, 2), (8, 1), (72, 8), (80, 8), (88, 8), (96, 8), (104, 4), (232, 4)];

/// A damaged copy; the name of the damage.
pub fn damage(case: &Case, donor: &Case, rng: &mut Rng) -> (Vec<u8>, &'static str) {
    let mut b = case.bytes.clone();
    let what = match rng.below(12) {
        0 => truncate(&mut b, rng),
        1 | 2 => flip(&mut b, rng),
        3 => splice(&mut b, &donor.bytes, rng),
        4..=6 if !case.compact => file_field(&mut b, rng),
        4 | 5 => varint(&mut b, rng),
        6 => config_byte(&mut b, 14, rng),
        7 if !case.compact => config_byte(&mut b, CORE + 40, rng),
        8 | 9 => payload_number(&mut b, case, rng),
        10 => insert_or_remove(&mut b, rng),
        _ => number_anywhere(&mut b, rng),
    };
    if rng.below(3) > 0 {
        settle_lengths(&mut b, case, rng);
    }
    seal(&mut b, case);
    (b, what)
}

/// A copy with garbled streams: numbers of their headers and tables set, tables of the same coder over
/// another array put in their place, parts exchanged. Checksums and lengths are right again.
pub fn garble(case: &Case, donor: &Case, rng: &mut Rng) -> (Vec<u8>, &'static str) {
    let mut b = case.bytes.clone();
    let (header, other) = (payload_of(&b, case), payload_of(&donor.bytes, donor));
    let mut what = "";
    for _ in 0..1 + rng.below(2) {
        if b.len() <= header {
            break;
        }
        what = match rng.below(10) {
            0..=5 => aligned_number(&mut b[header..], rng),
            6 => exchange(&mut b[header..], rng),
            7 | 8 => graft(&mut b[header..], &donor.bytes[other..], rng),
            _ => resize(&mut b, header, rng),
        };
    }
    if rng.below(4) > 0 {
        settle_lengths(&mut b, case, rng);
    }
    seal(&mut b, case);
    (b, what)
}

fn payload_of(b: &[u8], case: &Case) -> usize {
    header_bytes(b, case).unwrap_or(0).min(b.len())
}

/// A number at a multiple of its width: in the first words of the stream, in possible tables after them, or
/// anywhere.
fn aligned_number(stream: &mut [u8], rng: &mut Rng) -> &'static str {
    let width = *rng.pick(&[1, 2, 4, 4, 4, 8]);
    let room = match rng.below(8) {
        0..=2 => 64,
        3 | 4 => 640,
        5 => 2200,
        _ => stream.len(),
    };
    let at = rng.below((room.min(stream.len()) / width).max(1)) * width;
    set(stream, at, width, rng);
    "a number of a stream set"
}

fn exchange(stream: &mut [u8], rng: &mut Rng) -> &'static str {
    let fits: Vec<usize> =
        [2, 4, 8, 32, 128, 512].into_iter().filter(|width| 2 * width <= stream.len()).collect();
    if !fits.is_empty() {
        let width = *rng.pick(&fits);
        let (i, j) = (rng.below(stream.len() / width), rng.below(stream.len() / width));
        for k in 0..width {
            stream.swap(i * width + k, j * width + k);
        }
    }
    "parts exchanged"
}

/// The beginning of another stream, or its part at the same place: its header, its codebook, its table.
fn graft(stream: &mut [u8], other: &[u8], rng: &mut Rng) -> &'static str {
    let room = stream.len().min(other.len());
    let ends = [4, 16, 32, 64, 128, 256, 384, 544, 896, 2432, room];
    let (a, b) = ([0, *rng.pick(&ends)][rng.below(2)], *rng.pick(&ends));
    let part = a.min(b).min(room)..a.max(b).min(room);
    stream[part.clone()].copy_from_slice(&other[part]);
    "a part of another stream"
}

/// Some bytes fewer or more at the end, or all but a few gone.
fn resize(b: &mut Vec<u8>, header: usize, rng: &mut Rng) -> &'static str {
    let few = rng.below(40);
    let len = match rng.below(3) {
        0 => b.len() - few.min(b.len() - header),
        1 => b.len() + few,
        _ => header + few.min(b.len() - header),
    };
    b.resize(len, 0);
    "a stream of another length"
}

fn truncate(b: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    b.truncate(rng.below(b.len()));
    "truncated"
}

fn flip(b: &mut [u8], rng: &mut Rng) -> &'static str {
    for _ in 0..=rng.below(8) {
        let at = rng.below(b.len());
        b[at] ^= 1 << rng.below(8);
    }
    "bits flipped"
}

fn splice(b: &mut [u8], donor: &[u8], rng: &mut Rng) -> &'static str {
    let n = 1 + rng.below(b.len().min(donor.len()).min(600) - 1);
    let (from, to) = (rng.below(donor.len() - n + 1), rng.below(b.len() - n + 1));
    b[to..to + n].copy_from_slice(&donor[from..from + n]);
    "spliced"
}

/// Nothing, everything, one more, one less, or a power of two that hurts.
fn other_number(old: u64, width: usize, rng: &mut Rng) -> u64 {
    let mask = u64::MAX >> (64 - 8 * width);
    let new = match rng.below(9) {
        0 => 0,
        1 => mask,
        2 => old.wrapping_add(1),
        3 => old.wrapping_sub(1),
        4 => 1 << rng.below(8 * width),
        5 => old.wrapping_mul(2),
        6 => mask >> 1,
        7 => rng.word(),
        _ => rng.word() % 70,
    };
    new & mask
}

fn set(b: &mut [u8], at: usize, width: usize, rng: &mut Rng) {
    if let Some(field) = b.get_mut(at..at + width) {
        let mut old = [0; 8];
        old[..width].copy_from_slice(field);
        let new = other_number(u64::from_le_bytes(old), width, rng);
        field.copy_from_slice(&new.to_le_bytes()[..width]);
    }
}

fn counts(b: &[u8]) -> (usize, usize) {
    (usize::from(b[32]), usize::from(b[6]))
}

fn file_field(b: &mut [u8], rng: &mut Rng) -> &'static str {
    let (stages, buffers) = counts(b);
    let (base, fields) = match rng.below(4) {
        0 => (0, CORE_FIELDS),
        1 | 2 => (CORE + RECORD * rng.below(stages), STAGE_FIELDS),
        _ => (CORE + RECORD * (stages + rng.below(buffers)), BUFFER_FIELDS),
    };
    let (at, width) = *rng.pick(fields);
    set(b, base + at, width, rng);
    "a field set"
}

/// A byte of the config of a stage; in a frame, of all that describes the stages.
fn config_byte(b: &mut [u8], first: usize, rng: &mut Rng) -> &'static str {
    let stage = if first > CORE { RECORD * rng.below(counts(b).0) } else { 0 };
    let width = *rng.pick(&[1, 1, 2, 4]);
    set(b, first + stage + rng.below(72), width, rng);
    "a config changed"
}

/// Changes the value, and maybe the length, of a number in seven-bit groups somewhere in the header of a
/// frame.
fn varint(b: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    let at = 8 + rng.below(b.len().min(110) - 8);
    let end = at + b[at..].iter().take_while(|&&x| x & 0x80 != 0).count();
    let mut value = other_number(rng.word() % 5000, 8, rng);
    let mut bytes = vec![];
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    b.splice(at..=end.min(b.len() - 1), bytes);
    "a varint replaced"
}

/// Counts, tables and tags at the front of a segment, or anywhere behind the header.
fn payload_number(b: &mut [u8], case: &Case, rng: &mut Rng) -> &'static str {
    let header = header_bytes(b, case).unwrap_or(0).min(b.len());
    let room = b.len() - header;
    let at = if rng.below(2) == 0 { 4 * rng.below(6) } else { rng.below(room) };
    let width = *rng.pick(&[1, 2, 4]);
    set(b, header + at, width, rng);
    "a number of a segment set"
}

fn insert_or_remove(b: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    let at = rng.below(b.len());
    let n = 1 + rng.below(40);
    if rng.below(2) == 0 {
        b.splice(at..at, (0..n).map(|_| rng.word() as u8));
        "bytes inserted"
    } else {
        b.drain(at..(at + n).min(b.len()));
        "bytes removed"
    }
}

fn number_anywhere(b: &mut [u8], rng: &mut Rng) -> &'static str {
    let width = *rng.pick(&[1, 2, 4, 8]);
    set(b, rng.below(b.len()), width, rng);
    "a number set"
}

/// States the lengths of the damaged container, so that the stages read it.
fn settle_lengths(b: &mut [u8], case: &Case, rng: &mut Rng) {
    if case.compact || b.len() < CORE {
        return;
    }
    let header = u64::from_le_bytes(b[24..32].try_into().unwrap());
    let Some(payload) = (b.len() as u64).checked_sub(header) else { return };
    b[16..24].copy_from_slice(&payload.to_le_bytes());
    // The last segment is adjusted to the new length of the payload.
    let (stages, buffers) = counts(b);
    let last = CORE + RECORD * (stages + buffers.max(1) - 1);
    if let (true, Some(record)) = (rng.below(2) == 0, b.get_mut(last..last + RECORD)) {
        let offset = u64::from_le_bytes(record[96..104].try_into().unwrap());
        let bytes = payload.saturating_sub(offset);
        record[72..80].copy_from_slice(&bytes.to_le_bytes());
    }
}

/// Where the payload starts, as far as that can be told.
fn header_bytes(b: &[u8], case: &Case) -> Option<usize> {
    if !case.compact {
        return usize::try_from(u64::from_le_bytes(b.get(24..32)?.try_into().ok()?)).ok();
    }
    let flags = *b.get(5)?;
    Some(frame_crc(b, case.segments)? + if flags & 1 == 1 { 4 } else { 0 })
}

/// The place of the checksum of a frame.
fn frame_crc(b: &[u8], segments: usize) -> Option<usize> {
    let (_, mut at) = frame_stages(b)?;
    for _ in 0..segments {
        at = after_varint(b, at)?;
    }
    Some(at)
}

/// The places of the configs in a frame, each behind the byte that states its length; where the stages end.
pub fn frame_stages(b: &[u8]) -> Option<(Vec<Range<usize>>, usize)> {
    let mut at = 8;
    for _ in 0..=*b.get(7)? {
        at = after_varint(b, at)?;
    }
    let stages = *b.get(at)?;
    at += 1;
    let mut configs = vec![];
    for _ in 0..stages {
        let config = at + 3..at + 3 + usize::from(*b.get(at + 2)?);
        // LorenzoQuant and strict GInterp state a number of exact values. All stages but Merge have one
        // input, which determines the number.
        let id = b.get(config.start - 3..config.start - 1)?;
        let inputs = if id == [11, 0] { usize::from(*b.get(config.start)?) } else { 1 };
        at = if [[1, 0], [0x16, 0x80]].iter().any(|exact| id == exact) {
            after_varint(b, config.end)?
        } else {
            config.end
        } + 2 * inputs;
        configs.push(config);
    }
    Some((configs, at))
}

fn after_varint(b: &[u8], at: usize) -> Option<usize> {
    Some(at + 1 + b.get(at..)?.iter().take_while(|&&x| x & 0x80 != 0).count())
}

/// Checksums of the current bytes.
pub fn seal(b: &mut [u8], case: &Case) {
    let Some(header) = header_bytes(b, case).filter(|&h| h <= b.len()) else { return };
    if case.compact {
        if b[5] & 1 == 1 {
            let mut crc = crc32fast::Hasher::new();
            crc.update(&b[..header - 4]);
            crc.update(&b[header..]);
            b[header - 4..header].copy_from_slice(&crc.finalize().to_le_bytes());
        }
    } else if header >= CORE {
        let data = crc32fast::hash(&b[header..]);
        b[72..76].copy_from_slice(&data.to_le_bytes());
        b[76..80].fill(0);
        let crc = crc32fast::hash(&b[..header]);
        b[76..80].copy_from_slice(&crc.to_le_bytes());
    }
}
