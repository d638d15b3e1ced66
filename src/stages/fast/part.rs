//! A part of the array from a stream, of which nothing is read but the entries and the words of the chunks that it touches.

use super::Fast;
use super::SPEC;
use super::chunk::ChunkDecoder;
use super::entry::{self, Entry};
use super::grid::ChunkGrid;
use super::params::FastParams;
use super::plain::Plain;
use super::unit::Body;
use super::value::FastValue;
use super::wide::Wide;
use crate::base::byte_source::Segment;
use crate::base::dtype::DType;
use crate::base::error::{Error, Fault, Result};
use crate::base::param::Args;
use crate::base::tile::at;
use crate::ir::stage::{Region, RegionReader};
use crate::stages::quantizer::BoundMetadata;
use crate::stages::shape;
use crate::stages::wide::available;
use std::mem;
use std::ops::Range;

/// The largest number of entries, and of words, that are read at a time. With the smallest memory of a chunk,
/// this is all memory for a region besides its own.
const ENTRIES: usize = 1 << 12;
const WORDS: u64 = 1 << 18; // seed: box-memory
const _: () = assert!(WORDS >= entry::MOST_WORDS);

impl RegionReader for Fast {
    fn read_region(
        &self,
        args: &Args,
        metadata: &[u8],
        stream: &Segment<'_>,
        region: &Region,
        dst: &mut [u8],
    ) -> Result<()> {
        let Region { dtype, shape: dims, first: origin, count: extent } = *region;
        if shape::dims(args)? != dims {
            let what = format!(
                "the array was compressed as one of {:?}, and the region is one of {dims:?}; decompress the whole array",
                shape::dims(args)?
            );
            return Err(Error::Unsupported { stage: SPEC.name, what });
        }
        let metadata: BoundMetadata = at(metadata, 0).ok_or(Error::Internal("fast has metadata"))?;
        let grid = ChunkGrid::new(&FastParams::new(0.0, dims, dtype));
        let order = shape::ones_last(dims);
        let table = (grid.chunks() * entry::BYTES) as u64;
        // Not less than the table, and not more than that and the values, or the header would have been refused.
        if stream.bytes() % 4 != 0 {
            return Err(damaged(Fault::Corrupt));
        }
        let part = RegionPart {
            grid,
            stream,
            table,
            origin: order.map(|d| origin[d]),
            extent: order.map(|d| extent[d]),
        };
        match (dtype, available()) {
            (DType::F32, true) => Worker::<f32, Wide>::new(&part, metadata.bound, dst).run(),
            (DType::F32, false) => Worker::<f32, Plain>::new(&part, metadata.bound, dst).run(),
            (_, true) => Worker::<f64, Wide>::new(&part, metadata.bound, dst).run(),
            (_, false) => Worker::<f64, Plain>::new(&part, metadata.bound, dst).run(),
        }
    }
}

fn damaged(_: Fault) -> Error {
    Error::corrupt(SPEC.name, "no encoder writes such a segment")
}

/// A region, and the array that it is a part of.
struct RegionPart<'a> {
    grid: ChunkGrid,
    stream: &'a Segment<'a>,
    /// Bytes of the table, where the words begin.
    table: u64,
    origin: [usize; 3],
    extent: [usize; 3],
}

impl RegionPart<'_> {
    /// The chunks with values of the region, in order. They are computed from one index, because the code for
    /// nested iterators branches on unset numbers and undoes the effect, which valgrind reports as an error.
    fn touched(&self) -> impl Iterator<Item = usize> + use<> {
        let RegionPart { grid, origin, extent, .. } = self;
        let [nx, ny, _] = grid.counts;
        let first = [0, 1, 2].map(|d| origin[d] / grid.chunk[d]);
        let [x, y, z] = [0, 1, 2].map(|d| (origin[d] + extent[d]).div_ceil(grid.chunk[d]) - first[d]);
        (0..x * y * z).map(move |i| {
            let at = [first[0] + i % x, first[1] + i / x % y, first[2] + i / x / y];
            (at[2] * ny + at[1]) * nx + at[0]
        })
    }
}

/// Chunks that follow each other, as their words do.
struct Batch {
    chunks: Range<usize>,
    words: Range<u64>,
}

impl Batch {
    fn new(chunk: usize) -> Batch {
        Batch { chunks: chunk..chunk, words: 0..0 }
    }

    /// Takes the next chunk, with these words, if they can be read with the others.
    fn take(&mut self, words: &Range<u64>) -> bool {
        if !words.is_empty() && self.words.is_empty() {
            self.words = words.clone();
        } else if words.start == self.words.end && words.end - self.words.start <= WORDS {
            self.words.end = words.end;
        } else if !words.is_empty() {
            return false;
        }
        self.chunks.end += 1;
        true
    }
}

struct Worker<'a, T, B> {
    part: &'a RegionPart<'a>,
    decoder: ChunkDecoder<T, B>,
    dst: &'a mut [u8],
    /// Words of a stream that is not in memory.
    words: Vec<u8>,
}

impl<'a, T: FastValue, B: Body> Worker<'a, T, B> {
    fn new(part: &'a RegionPart<'a>, bound: f64, dst: &'a mut [u8]) -> Worker<'a, T, B> {
        Worker { part, decoder: ChunkDecoder::new(T::steps(bound).0), dst, words: vec![] }
    }

    fn run(&mut self) -> Result<()> {
        let (mut table, mut run) = (vec![], 0..0);
        for k in self.part.touched() {
            if k != run.end || run.len() == ENTRIES {
                self.chunks(mem::replace(&mut run, k..k), &mut table)?;
            }
            run.end += 1;
        }
        self.chunks(run, &mut table)
    }

    /// Restores chunks that follow each other.
    fn chunks(&mut self, chunks: Range<usize>, table: &mut Vec<u8>) -> Result<()> {
        let (part, first) = (self.part, chunks.start);
        let table = part.stream.view((first * entry::BYTES) as u64, chunks.len() * entry::BYTES, table)?;
        let entry =
            |k: usize| at(table, k - first).ok_or(Fault::Corrupt).and_then(Entry::read).map_err(damaged);
        let mut batch = Batch::new(first);
        for k in chunks {
            let words = entry(k)?.place();
            if !batch.take(&words) {
                self.batch(mem::replace(&mut batch, Batch::new(k)), entry)?;
                batch.take(&words);
            }
        }
        self.batch(batch, entry)
    }

    fn batch(&mut self, batch: Batch, entry: impl Fn(usize) -> Result<Entry>) -> Result<()> {
        let RegionPart { grid, stream, table, origin, extent } = self.part;
        let first = batch.words.start;
        let bytes = |words: u64| 4 * words as usize;
        let words = stream.view(table + 4 * first, bytes(batch.words.end - first), &mut self.words)?;
        let (w, dst) = (size_of::<T>(), &mut *self.dst);
        for k in batch.chunks {
            let c = grid.chunk(k);
            let entry = entry(k)?;
            let own = entry.place();
            // The batch has those of every chunk that has some.
            let own = if own.is_empty() { 0..0 } else { bytes(own.start - first)..bytes(own.end - first) };
            let own = words.get(own).ok_or(Error::Internal("a batch has the words of its chunks"))?;
            let done = self.decoder.decode(grid, &c, entry, own, |at, row| {
                let [x, y, z] = [0, 1, 2].map(|d| c.origin[d] + at[d]);
                let inside = |v: usize, d: usize| (origin[d]..origin[d] + extent[d]).contains(&v);
                let (from, to) = (x.max(origin[0]), (x + row.len() / w).min(origin[0] + extent[0]));
                if from >= to || !inside(y, 1) || !inside(z, 2) {
                    return Ok(());
                }
                let row = row.get((from - x) * w..(to - x) * w).ok_or(Fault::BadLaunch)?;
                let at = ((z - origin[2]) * extent[1] + y - origin[1]) * extent[0] + from - origin[0];
                dst.get_mut(at * w..at * w + row.len()).ok_or(Fault::BadLaunch)?.copy_from_slice(row);
                Ok(())
            });
            done.map_err(damaged)?;
        }
        Ok(())
    }
}
