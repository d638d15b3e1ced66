//! Kernel `fast_encode`.

use super::chunk::ChunkEncoder;
use super::entry::{self, Entry};
use super::grid::ChunkGrid;
use super::params::FastParams;
use super::plain::Plain;
use super::unit::Body;
use super::value::{FastQuantize, FastValue};
use super::wide::Wide;
use crate::base::error::Fault;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;
use crate::stages::quantizer::BoundMetadata;
use crate::stages::wide::available;

pub(super) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<FastParams>();
    match (p.value, available()) {
        (4, true) => run::<f32, Wide>(call, &p),
        (4, false) => run::<f32, Plain>(call, &p),
        (8, true) => run::<f64, Wide>(call, &p),
        (8, false) => run::<f64, Plain>(call, &p),
        _ => Err(Fault::BadLaunch),
    }
}

/// Chunks that follow each other, their entries, and room for their words.
struct ChunkPart<'a> {
    first: usize,
    table: &'a mut [u8],
    words: &'a mut [u8],
}

fn run<T: FastValue, B: Body>(call: &mut HostCall<'_>, p: &FastParams) -> Result<(), Fault> {
    let grid = ChunkGrid::new(p);
    let metadata: BoundMetadata = at(call.input(1)?, 0).ok_or(Fault::BadLaunch)?;
    let (src, out) = (call.input(0)?, call.output(0)?);
    let quantize = FastQuantize::<T>::new(p.threshold, &metadata);
    let table_bytes = grid.chunks() * entry::BYTES;
    let (table, words) = out.split_at_mut_checked(table_bytes).ok_or(Fault::BadLaunch)?;
    let per_part = call.threads.tiles_per_part();
    let parts = parts::<T>(&grid, per_part, table, words)?;
    let coded = call.threads.each(parts, ChunkEncoder::<T, B>::new, |encoder, part| {
        encode_part(encoder, src, &grid, &quantize, part)
    });
    coded.into_iter().collect::<Result<(), Fault>>()?;
    let end = close_gaps::<T>(&grid, per_part, table, words)?;
    call.publish(0, (table_bytes + end) as u64)
}

/// Each part writes at the front of the room that its values take up, which is enough for its words.
fn parts<'a, T: FastValue>(
    grid: &ChunkGrid,
    per_part: usize,
    table: &'a mut [u8],
    mut words: &'a mut [u8],
) -> Result<Vec<ChunkPart<'a>>, Fault> {
    let mut parts = vec![];
    for (k, table) in table.chunks_mut(per_part.saturating_mul(entry::BYTES)).enumerate() {
        let first = k * per_part.min(grid.chunks());
        let room = room::<T>(grid, first, table.len() / entry::BYTES);
        let (front, rest) = words.split_at_mut_checked(room).ok_or(Fault::BadLaunch)?;
        words = rest;
        parts.push(ChunkPart { first, table, words: front });
    }
    Ok(parts)
}

/// Bytes of the values of a number of chunks.
fn room<T: FastValue>(grid: &ChunkGrid, first: usize, chunks: usize) -> usize {
    if chunks == grid.chunks() {
        return grid.values() * size_of::<T>();
    }
    (first..first + chunks).map(|k| grid.chunk(k).values() * size_of::<T>()).sum()
}

fn encode_part<T: FastValue, B: Body>(
    encoder: &mut ChunkEncoder<T, B>,
    src: &[u8],
    grid: &ChunkGrid,
    quantize: &FastQuantize<T>,
    part: ChunkPart<'_>,
) -> Result<(), Fault> {
    let mut end = 0;
    for (k, slot) in part.table.chunks_exact_mut(entry::BYTES).enumerate() {
        let entry = encoder.encode(src, grid, part.first + k, quantize)?;
        let words = bytemuck::cast_slice(&encoder.out.0);
        part.words.get_mut(end..end + words.len()).ok_or(Fault::BadLaunch)?.copy_from_slice(words);
        slot.copy_from_slice(&entry.behind(end as u64 / 4).bits().to_le_bytes());
        end += words.len();
    }
    Ok(())
}

/// Moves the parts together; returns the number of bytes of all words.
fn close_gaps<T: FastValue>(
    grid: &ChunkGrid,
    per_part: usize,
    table: &mut [u8],
    words: &mut [u8],
) -> Result<usize, Fault> {
    let (mut from, mut end) = (0, 0);
    for (k, entries) in table.chunks_mut(per_part.saturating_mul(entry::BYTES)).enumerate() {
        let mut bytes = 0;
        for slot in entries.chunks_exact_mut(entry::BYTES) {
            let entry = Entry::read(at(slot, 0).ok_or(Fault::BadLaunch)?)?;
            slot.copy_from_slice(&entry.behind(end as u64 / 4).bits().to_le_bytes());
            bytes += 4 * entry.words() as usize;
        }
        if from > end {
            words.copy_within(from..from + bytes, end);
        }
        from += room::<T>(grid, k * per_part.min(grid.chunks()), entries.len() / entry::BYTES);
        end += bytes;
    }
    Ok(end)
}
