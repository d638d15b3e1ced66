//! One chunk: kept words, then bitmaps of bitmaps.

use super::eights::{Eights, Plain, eight};
use super::repeats;
use super::wide::Wide;
use crate::base::error::Fault;
use crate::stages::wide::{Work, available, widest};
use std::marker::PhantomData;

/// The largest chunk.
pub const CHUNK_MAX: usize = 16384;
/// Bytes of the largest bitmap.
const BITMAP_MAX: usize = CHUNK_MAX / 8;
/// Bytes of the length tag that ends a payload.
const TAG: usize = 2;

/// Bitmap sizes of a chunk: level 0 has one bit per word, each further level one bit per byte of the level
/// before, and the last level is stored in full.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    word: usize,
    /// Bytes that a payload must stay below, less the ragged end of the chunk.
    limit: usize,
    levels: usize,
    bytes: [usize; 5],
    /// The layout of May 2026.
    old: bool,
    /// Words are dropped that equal the one before, not zeros.
    repeats: bool,
}

impl Geometry {
    /// The layout of August 2026; `None` for the three pairs that end without a last level.
    pub fn new(chunk: usize, word: usize) -> Option<Geometry> {
        if matches!((chunk, word), (4096, 2) | (4096, 4) | (8192, 4)) {
            return None;
        }
        let mut g =
            Geometry { word, limit: chunk - TAG, levels: 1, bytes: [0; 5], old: false, repeats: false };
        g.bytes[0] = chunk / (8 * word);
        while g.bytes[g.levels - 1] >= 8 {
            g.bytes[g.levels] = g.bytes[g.levels - 1] / 8;
            g.levels += 1;
        }
        Some(g)
    }

    /// The layout of May 2026 for a chunk of `len` bytes: words of one byte, bitmaps that shrink with the
    /// chunk, and a last level of always four bytes.
    pub fn old(len: usize) -> Geometry {
        let mut bytes = [len.div_ceil(8), 0, 0, 4, 0];
        bytes[1] = bytes[0].div_ceil(8);
        bytes[2] = bytes[1].div_ceil(8);
        Geometry { word: 1, limit: CHUNK_MAX - TAG, levels: 4, bytes, old: true, repeats: false }
    }

    /// The same for words that repeat the one before them.
    pub fn of_repeats(self) -> Geometry {
        Geometry { repeats: true, ..self }
    }

    /// True when a payload of these parts is stored raw instead.
    fn raw(&self, len: usize, kept: usize, repeats: &[usize]) -> bool {
        let tail = len % self.word;
        let limit = self.limit - tail;
        if self.old {
            return self.raw_old(limit, kept, repeats);
        }
        let sum = kept + repeats.iter().sum::<usize>();
        let last = self.bytes[self.levels - 1];
        sum + last >= limit || sum + last + tail + TAG >= len
    }

    /// The conservative rule of May 2026, level by level; the length of the chunk plays no part.
    fn raw_old(&self, limit: usize, kept: usize, repeats: &[usize]) -> bool {
        let [b1, b2, b3, ..] = self.bytes;
        let r0 = kept + repeats[0];
        let r1 = r0 + repeats[1];
        let r2 = r1 + repeats[2];
        kept >= limit
            || kept > limit - b1
            || r0 >= limit
            || r0 > limit - b2
            || r1 >= limit - 4
            || r1 > limit - 4 - b3
            || r2 >= limit - 4
    }
}

/// Working memory of one chunk, reused from chunk to chunk.
pub struct Scratch {
    /// The payload, with room for eight bytes written beyond its end.
    payload: [u8; CHUNK_MAX + BITMAP_MAX + 512],
    /// Level j from `AT[j]` on, each with zeros up to a multiple of eight.
    maps: [u8; AT[4] + 8],
}

/// Where the levels start in [`Scratch::maps`].
const AT: [usize; 5] = [0, BITMAP_MAX, BITMAP_MAX * 9 / 8, BITMAP_MAX * 73 / 64, BITMAP_MAX * 73 / 64 + 8];

impl Scratch {
    /// Zeroed.
    pub const fn new() -> Scratch {
        Scratch { payload: [0; CHUNK_MAX + BITMAP_MAX + 512], maps: [0; AT[4] + 8] }
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch::new()
    }
}

#[inline(always)]
fn ones(bitmap: &[u8]) -> usize {
    let mut n = 0;
    // A loop: the compiler makes `sum` a separate function, without the CPU features that this one is compiled for.
    for i in 0..bitmap.len().div_ceil(8) {
        n += u64::from_le_bytes(eight(bitmap, i)).count_ones() as usize;
    }
    n
}

/// Level 0: a bit per word of `W` bytes that is not zero.
fn mark<const W: usize>(words: &[u8], map: &mut [u8]) {
    for (m, group) in map.iter_mut().zip(words.chunks(8 * W)) {
        let marks = group.chunks_exact(W).enumerate().map(|(j, w)| u8::from(w.iter().any(|&b| b != 0)) << j);
        *m = marks.fold(0, |a, b| a | b);
    }
}

/// Moves the marked bytes to the front of `out` and returns their number.
#[inline(always)]
fn keep_bytes<E: Eights>(bytes: &[u8], map: &[u8], out: &mut [u8]) -> usize {
    let mut n = 0;
    for (k, marks) in map.chunks(8).enumerate() {
        if eight(marks, 0) == [0; 8] {
            continue;
        }
        for (i, &m) in (8 * k..).zip(marks) {
            if let Some(front) = out.get_mut(n..).and_then(|rest| rest.first_chunk_mut::<8>()) {
                *front = E::compact(eight(bytes, i), m);
            }
            n += m.count_ones() as usize;
        }
    }
    n
}

/// Moves the marked words of `W` bytes to the front of `out`.
fn keep<const W: usize>(words: &[u8], map: &[u8], out: &mut [u8]) {
    let mut n = 0;
    for (&m, group) in map.iter().zip(words.chunks(8 * W)).filter(|(m, _)| **m != 0) {
        for (_, w) in group.chunks_exact(W).enumerate().filter(|(j, _)| m >> j & 1 == 1) {
            out[n..n + W].copy_from_slice(w);
            n += W;
        }
    }
}

/// Puts the kept bytes back between zeros; `kept` has eight bytes of slack.
#[inline(always)]
fn restore_bytes<E: Eights>(kept: &[u8], map: &[u8], out: &mut [u8]) -> Result<(), Fault> {
    let mut n = 0;
    for (marks, part) in map.chunks(8).zip(out.chunks_mut(64)) {
        if let (Some(part), [0, 0, 0, 0, 0, 0, 0, 0]) = (part.first_chunk_mut::<64>(), eight(marks, 0)) {
            *part = [0; 64];
            continue;
        }
        for (&m, group) in marks.iter().zip(part.chunks_mut(8)) {
            let from = kept.get(n..).and_then(|rest| rest.first_chunk::<8>()).ok_or(Fault::Corrupt)?;
            put(group, E::spread(*from, m));
            n += m.count_ones() as usize;
        }
    }
    Ok(())
}

/// Writes eight bytes, or as many as there is room for.
#[inline(always)]
fn put(out: &mut [u8], bytes: [u8; 8]) {
    match out.first_chunk_mut::<8>() {
        Some(all) => *all = bytes,
        None => out.copy_from_slice(&bytes[..out.len()]),
    }
}

/// Puts the kept words of `W` bytes back between zeros.
fn restore<const W: usize>(kept: &[u8], map: &[u8], out: &mut [u8]) -> Result<(), Fault> {
    let mut n = 0;
    for (&m, group) in map.iter().zip(out.chunks_mut(8 * W)) {
        group.fill(0);
        for (_, w) in group.chunks_exact_mut(W).enumerate().filter(|(j, _)| m >> j & 1 == 1) {
            w.copy_from_slice(kept.get(n..n + W).ok_or(Fault::Corrupt)?);
            n += W;
        }
    }
    Ok(())
}

/// Undoes [`Eights::mark_changes`] and [`keep_bytes`]: `marks` has a bit per byte of `map`.
#[inline(always)]
fn repeat_in<E: Eights>(repeats: &[u8], marks: &[u8], map: &mut [u8]) {
    let (mut n, mut before) = (0usize, 0u8);
    for (marks, part) in marks.chunks(8).zip(map.chunks_mut(64)) {
        if let (Some(part), [0, 0, 0, 0, 0, 0, 0, 0]) = (part.first_chunk_mut::<64>(), eight(marks, 0)) {
            *part = [before; 64];
            continue;
        }
        for (&mark, group) in marks.iter().zip(part.chunks_mut(8)) {
            let rest = repeats.get(n..).unwrap_or_default();
            let from = rest.first_chunk::<8>().copied().unwrap_or_else(|| eight(rest, 0));
            put(group, E::repeat(before, from, mark));
            n += mark.count_ones() as usize;
            // From memory: the next group does not wait for this one.
            before = repeats.get(n.wrapping_sub(1)).copied().unwrap_or(0);
        }
    }
}

/// The payload of a chunk; `None`: the chunk is stored raw.
pub fn encode_chunk<'a>(chunk: &[u8], g: &Geometry, scratch: &'a mut Scratch) -> Option<&'a [u8]> {
    let Scratch { payload, maps } = scratch;
    let n = if available() {
        widest(Encode::<Wide> { chunk, g, payload, maps, body: PhantomData })
    } else {
        Encode::<Plain> { chunk, g, payload, maps, body: PhantomData }.run()
    };
    n.map(|n| &payload[..n])
}

/// [`encode_chunk`] with the memory of a [`Scratch`]: the length of the payload.
struct Encode<'a, E> {
    chunk: &'a [u8],
    g: &'a Geometry,
    payload: &'a mut [u8],
    maps: &'a mut [u8],
    body: PhantomData<E>,
}

impl<E: Eights> Work for Encode<'_, E> {
    type Result = Option<usize>;

    #[inline(always)]
    fn run(self) -> Option<usize> {
        encode::<E>(self.chunk, self.g, self.payload, self.maps)
    }
}

#[inline(always)]
fn encode<E: Eights>(chunk: &[u8], g: &Geometry, payload: &mut [u8], maps: &mut [u8]) -> Option<usize> {
    let (words, tail) = chunk.split_at(chunk.len() - chunk.len() % g.word);
    let map = &mut maps[..g.bytes[0]];
    map.fill(0);
    match g.word {
        _ if g.repeats => repeats::mark(words, g.word, map),
        1 => E::mark(words, map),
        2 => mark::<2>(words, map),
        4 => mark::<4>(words, map),
        _ => mark::<8>(words, map),
    }
    let kept = ones(map) * g.word;
    let mut n = kept;
    if kept >= g.limit - tail.len() {
        return None;
    }
    if kept > 0 {
        match g.word {
            1 => {
                keep_bytes::<E>(words, map, payload);
            }
            2 => keep::<2>(words, map, payload),
            4 => keep::<4>(words, map, payload),
            _ => keep::<8>(words, map, payload),
        }
        let mut repeats = [0; 4];
        let last = g.levels - 1;
        for j in 0..last {
            let (this, next) = maps.split_at_mut(AT[j + 1]);
            let (map, next) = (&this[AT[j]..AT[j] + g.bytes[j]], &mut next[..g.bytes[j + 1]]);
            E::mark_changes(0, map, next);
            repeats[j] = keep_bytes::<E>(map, next, &mut payload[n..]);
            n += repeats[j];
        }
        if g.raw(chunk.len(), kept, &repeats) {
            return None;
        }
        payload[n..n + g.bytes[last]].copy_from_slice(&maps[AT[last]..AT[last] + g.bytes[last]]);
        n += g.bytes[last];
    } else if !g.old && tail.len() + TAG >= chunk.len() {
        return None;
    }
    payload[n..n + tail.len()].copy_from_slice(tail); // seed: rze-tail
    n += tail.len();
    payload[n..n + TAG].copy_from_slice(&(chunk.len() as u16).to_le_bytes());
    Some(n + TAG)
}

/// Writes the chunk of `payload` to `out`, whose length is that of the chunk. Every byte of the payload must
/// be accounted for, else it is corrupt.
///
/// # Errors
/// `Fault::Corrupt`.
pub fn decode_chunk(
    payload: &[u8],
    g: Option<&Geometry>,
    word: usize,
    out: &mut [u8],
    scratch: &mut Scratch,
) -> Result<(), Fault> {
    if available() {
        widest(Decode::<Wide> { payload, g, word, out, scratch, body: PhantomData })
    } else {
        Decode::<Plain> { payload, g, word, out, scratch, body: PhantomData }.run()
    }
}

/// The operands of [`decode_chunk`].
struct Decode<'a, E> {
    payload: &'a [u8],
    g: Option<&'a Geometry>,
    word: usize,
    out: &'a mut [u8],
    scratch: &'a mut Scratch,
    body: PhantomData<E>,
}

impl<E: Eights> Work for Decode<'_, E> {
    type Result = Result<(), Fault>;

    #[inline(always)]
    fn run(self) -> Result<(), Fault> {
        decode::<E>(self.payload, self.g, self.word, self.out, self.scratch)
    }
}

#[inline(always)]
fn decode<E: Eights>(
    payload: &[u8],
    g: Option<&Geometry>,
    word: usize,
    out: &mut [u8],
    scratch: &mut Scratch,
) -> Result<(), Fault> {
    let (rest, tag) = payload.split_last_chunk::<TAG>().ok_or(Fault::Corrupt)?;
    if u16::from_le_bytes(*tag) != out.len() as u16 {
        return Err(Fault::Corrupt);
    }
    let whole = out.len() - out.len() % word;
    let (out, out_tail) = out.split_at_mut(whole);
    let (rest, tail) =
        rest.split_at_checked(rest.len().wrapping_sub(out_tail.len())).ok_or(Fault::Corrupt)?;
    out_tail.copy_from_slice(tail);
    if rest.is_empty() {
        out.fill(0);
        return Ok(());
    }
    // The three geometries without a last level have no other payload than that of zeros.
    let g = g.ok_or(Fault::Corrupt)?;
    let Scratch { payload: kept, maps } = scratch;
    let last = g.levels - 1;
    let mut cursor = rest.len().checked_sub(g.bytes[last]).ok_or(Fault::Corrupt)?;
    maps[AT[last]..AT[last] + g.bytes[last]].copy_from_slice(&rest[cursor..]);
    for j in (0..last).rev() {
        let (this, next) = maps.split_at_mut(AT[j + 1]);
        let marks = &next[..g.bytes[j + 1]];
        bits_below(marks, g.bytes[j])?;
        let from = cursor.checked_sub(ones(marks)).ok_or(Fault::Corrupt)?;
        repeat_in::<E>(&rest[from..], marks, &mut this[AT[j]..AT[j] + g.bytes[j]]);
        cursor = from;
    }
    let map = &maps[..g.bytes[0]];
    bits_below(map, whole / word)?;
    if ones(map) * word != cursor {
        return Err(Fault::Corrupt);
    }
    kept[..cursor].copy_from_slice(&rest[..cursor]);
    match word {
        _ if g.repeats => repeats::restore(kept, word, map, out),
        1 => restore_bytes::<E>(kept, map, out),
        2 => restore::<2>(kept, map, out),
        4 => restore::<4>(kept, map, out),
        _ => restore::<8>(kept, map, out),
    }
}

/// Corrupt when a bit from `n` on is set.
fn bits_below(map: &[u8], n: usize) -> Result<(), Fault> {
    let partial = map.get(n / 8).is_some_and(|b| u32::from(*b) >> (n % 8) != 0);
    let beyond = map.get(n / 8 + 1..).is_some_and(|rest| rest.iter().any(|&b| b != 0));
    if partial || beyond { Err(Fault::Corrupt) } else { Ok(()) }
}
