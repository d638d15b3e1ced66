//! The stream around the chunks: length, table of sizes, payloads back to back.

use super::chunk::Scratch;
use super::params::{self, LAYOUT_2026_05, LAYOUT_2026_08, LAYOUT_AMBIGUOUS, RAW, RzeParams};
use super::{CHUNK_MAX, Geometry, Layout, decode_chunk, encode_chunk};
use crate::base::error::Fault;
use crate::base::tile::TILE;
use crate::ir::kernel::HostCall;
use crate::ir::tile_stream::{Relay, TileSource};
use crate::stages::wide::prefetch;

/// Bytes before the table.
const HEADER: usize = params::STREAM_HEADER_BYTES as usize;

/// The argument block, checked.
struct RzeForm {
    chunk: usize,
    word: usize,
    layout: Layout,
    repeats: bool,
}

impl RzeForm {
    fn new(call: &HostCall<'_>) -> Result<RzeForm, Fault> {
        let p = call.params::<RzeParams>();
        let layout = match p.layout {
            LAYOUT_2026_05 => Layout::G2026_05,
            LAYOUT_2026_08 => Layout::G2026_08,
            LAYOUT_AMBIGUOUS => Layout::Ambiguous,
            _ => return Err(Fault::BadLaunch),
        };
        Ok(RzeForm { chunk: p.chunk as usize, word: p.word as usize, layout, repeats: p.repeats != 0 })
    }

    fn geometry(&self, len: usize) -> Option<Geometry> {
        match self.layout {
            Layout::G2026_05 => Some(Geometry::old(len)),
            _ if self.repeats => Geometry::new(self.chunk, self.word).map(Geometry::of_repeats),
            _ => Geometry::new(self.chunk, self.word),
        }
    }
}

fn entry(table: &[u8], i: usize) -> Result<u32, Fault> {
    let bytes = table.get(4 * i..4 * i + 4).and_then(|b| b.first_chunk::<4>()).ok_or(Fault::Corrupt)?;
    Ok(u32::from_le_bytes(*bytes))
}

pub(in crate::stages) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let form = RzeForm::new(call)?;
    let (src, out) = (call.source()?, call.output(0)?);
    if src.len() == 0 {
        return call.publish(0, 0);
    }
    let n = src.len().div_ceil(form.chunk);
    let (header, rest) = out.split_at_mut_checked(HEADER).ok_or(Fault::BadLaunch)?;
    let (table, payloads) = rest.split_at_mut_checked(4 * n).ok_or(Fault::BadLaunch)?;
    header[..4].copy_from_slice(&(src.len() as u32).to_le_bytes());
    header[4..].copy_from_slice(&(n as u32).to_le_bytes());
    // Each part of the chunks writes at the front of the room that its input takes up; the room of the last
    // one has the slack by which a short chunk can outgrow its input.
    let threads = call.threads;
    threads.parts((&mut *table, 4), (&mut *payloads, form.chunk), |first, table, payloads| {
        encode_part(&form, &src, first, table, payloads)
    })?;
    let end = close_gaps(table, payloads, form.chunk, threads.tiles_per_part())?;
    let pad = end.next_multiple_of(4) - end;
    payloads.get_mut(end..end + pad).ok_or(Fault::BadLaunch)?.fill(0); // seed: rze-end-padding
    call.publish(0, (HEADER + 4 * n + end + pad) as u64)
}

/// Codes the chunks of one part back to back.
fn encode_part(
    form: &RzeForm,
    src: &TileSource<'_>,
    first: usize,
    table: &mut [u8],
    payloads: &mut [u8],
) -> Result<(), Fault> {
    let (mut scratch, mut relay) = (Scratch::new(), Relay::new());
    let mut at = 0;
    let per_tile = TILE / form.chunk;
    for (k, entries) in table.chunks_mut(4 * per_tile).enumerate() {
        let tile = src.tile(first / per_tile + k, &mut relay)?;
        for (chunk, entry) in tile.chunks(form.chunk).zip(entries.chunks_exact_mut(4)) {
            let geometry = form.geometry(chunk.len()).ok_or(Fault::BadLaunch)?;
            let (payload, flag) = match encode_chunk(chunk, &geometry, &mut scratch) {
                Some(payload) => (payload, 0),
                None => (chunk, RAW),
            };
            payloads.get_mut(at..at + payload.len()).ok_or(Fault::BadLaunch)?.copy_from_slice(payload);
            entry.copy_from_slice(&(payload.len() as u32 | flag).to_le_bytes());
            at += payload.len();
        }
    }
    Ok(())
}

/// Moves the parts together; returns the end of the payloads.
fn close_gaps(table: &[u8], payloads: &mut [u8], chunk: usize, per_part: usize) -> Result<usize, Fault> {
    let mut end = 0;
    for (k, entries) in table.chunks(per_part.saturating_mul(4)).enumerate() {
        let bytes: usize = (0..entries.len() / 4)
            .map(|i| entry(entries, i).map(|e| (e & !RAW) as usize))
            .sum::<Result<usize, Fault>>()?;
        let from = if k == 0 { 0 } else { k * per_part * chunk };
        payloads.copy_within(from..from + bytes, end);
        end += bytes;
    }
    Ok(end)
}

pub(in crate::stages) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let mut form = RzeForm::new(call)?;
    let (src, out) = (call.input(0)?, call.target()?);
    let len = out.len();
    if len == 0 && src.is_empty() {
        return Ok(());
    }
    let n = len.div_ceil(form.chunk);
    let (header, rest) = src.split_at_checked(HEADER).ok_or(Fault::Corrupt)?;
    if entry(header, 0)? as usize != len || entry(header, 1)? as usize != n || len == 0 {
        return Err(Fault::Corrupt);
    }
    let (table, payloads) = rest.split_at_checked(4 * n).ok_or(Fault::Corrupt)?;
    let starts = starts(table, n, payloads)?;
    if form.layout == Layout::Ambiguous {
        form.layout = tell_layout(&form, table, &starts, payloads, len)?;
    }
    let form = &form;
    let per_tile = TILE / form.chunk;
    out.fill(call.threads, Scratch::new, |scratch, k, tile| {
        for (j, chunk) in tile.chunks_mut(form.chunk).enumerate() {
            let i = k * per_tile + j;
            let (&from, &to) = starts.get(i).zip(starts.get(i + 1)).ok_or(Fault::BadLaunch)?;
            let payload = payloads.get(from as usize..to as usize).ok_or(Fault::Corrupt)?;
            // A payload is read from its end.
            let next = starts.get(i + 2).and_then(|&end| payloads.get(to as usize..end as usize));
            prefetch(next.unwrap_or_default());
            if entry(table, i)? & RAW == 0 {
                decode_coded(form, payload, chunk, scratch)?;
            } else if payload.len() == chunk.len() {
                chunk.copy_from_slice(payload);
            } else {
                return Err(Fault::Corrupt);
            }
        }
        Ok(())
    })
}

/// Where each payload starts, and where the last one ends; zeros up to a multiple of four must follow.
fn starts(table: &[u8], n: usize, payloads: &[u8]) -> Result<Vec<u64>, Fault> {
    let mut starts = Vec::with_capacity(n + 1);
    let mut at = 0u64;
    starts.push(0);
    for i in 0..n {
        at += u64::from(entry(table, i)? & !RAW);
        starts.push(at);
    }
    let padding = payloads.get(at as usize..).ok_or(Fault::Corrupt)?;
    let ends = at.next_multiple_of(4) == payloads.len() as u64 && padding.iter().all(|&b| b == 0);
    if ends { Ok(starts) } else { Err(Fault::Corrupt) }
}

fn decode_coded(
    form: &RzeForm,
    payload: &[u8],
    chunk: &mut [u8],
    scratch: &mut Scratch,
) -> Result<(), Fault> {
    let old = form.layout == Layout::G2026_05;
    if payload.len() > CHUNK_MAX || (!old && payload.len() >= chunk.len()) {
        return Err(Fault::Corrupt);
    }
    let geometry = form.geometry(chunk.len());
    decode_chunk(payload, geometry.as_ref(), if old { 1 } else { form.word }, chunk, scratch)
}

/// Byte 4 of the config was 4: `levels` or `word_size`. The first chunk that is neither raw nor all zeros
/// fits one of the two layouts exactly; if there is none, both layouts have the same result.
fn tell_layout(
    form: &RzeForm,
    table: &[u8],
    starts: &[u64],
    payloads: &[u8],
    len: usize,
) -> Result<Layout, Fault> {
    let mut scratch = Scratch::new();
    let mut probe = vec![0; form.chunk];
    for (i, w) in starts.windows(2).enumerate() {
        let payload = payloads.get(w[0] as usize..w[1] as usize).ok_or(Fault::Corrupt)?;
        let chunk = form.chunk.min(len - i * form.chunk);
        if entry(table, i)? & RAW != 0 {
            continue;
        }
        // A chunk of zeros: its ragged end is among the words of one layout, behind those of the other.
        match (payload.len(), chunk % form.word) {
            (2, 0) => continue,
            (2, _) => return Ok(Layout::G2026_05),
            (n, tail) if n == 2 + tail => return Ok(Layout::G2026_08),
            _ => {}
        }
        let probe = &mut probe[..chunk];
        let old = RzeForm { layout: Layout::G2026_05, ..*form };
        let decodes = form.chunk == CHUNK_MAX && decode_coded(&old, payload, probe, &mut scratch).is_ok();
        // A payload of the other layout can use up its bytes by accident, but will hardly equal the output of
        // an encoder of this layout for the result.
        let encodes = decodes && encode_chunk(probe, &Geometry::old(chunk), &mut scratch) == Some(payload);
        return Ok(if encodes { Layout::G2026_05 } else { Layout::G2026_08 });
    }
    Ok(Layout::G2026_08)
}
