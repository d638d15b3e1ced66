//! Kernel `fast_decode`.

use super::chunk::ChunkDecoder;
use super::entry::{self, Entry};
use super::grid::{ChunkGrid, UNITS};
use super::params::FastParams;
use super::plain::Plain;
use super::unit::Body;
use super::value::FastValue;
use super::wide::Wide;
use crate::base::error::Fault;
use crate::base::parallel::TILES_PER_TASK;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;
use crate::stages::quantizer::BoundMetadata;
use crate::stages::wide::available;
use std::ops::Range;

pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<FastParams>();
    match (p.value, available()) {
        (4, true) => run::<f32, Wide>(call, &p),
        (4, false) => run::<f32, Plain>(call, &p),
        (8, true) => run::<f64, Wide>(call, &p),
        (8, false) => run::<f64, Plain>(call, &p),
        _ => Err(Fault::BadLaunch),
    }
}

/// Chunks next to each other, and the memory of their planes: whole rows of the array, or in one dimension
/// the values of the chunks.
struct Band<'a> {
    first: usize,
    chunks: usize,
    planes: [&'a mut [u8]; UNITS],
}

/// The number of bands at once, so that their list does not grow with the array.
const BANDS: usize = 256; // seed: fast-bands

/// The stream in its two parts.
struct ChunkStream<'a> {
    table: &'a [u8],
    words: &'a [u8],
}

impl<'a> ChunkStream<'a> {
    fn new(stream: &'a [u8], grid: &ChunkGrid) -> Result<ChunkStream<'a>, Fault> {
        let (table, words) = stream.split_at_checked(grid.chunks() * entry::BYTES).ok_or(Fault::Corrupt)?;
        if words.len() % 4 != 0 {
            return Err(Fault::Corrupt);
        }
        Ok(ChunkStream { table, words })
    }

    /// The entry of chunk `k`, and its words.
    fn chunk(&self, k: usize) -> Result<(Entry, &'a [u8]), Fault> {
        let entry = Entry::read(at(self.table, k).ok_or(Fault::Corrupt)?)?;
        let Range { start, end } = entry.place();
        let words = self.words.get(4 * start as usize..4 * end as usize).ok_or(Fault::Corrupt)?;
        Ok((entry, words))
    }
}

fn run<T: FastValue, B: Body>(call: &mut HostCall<'_>, p: &FastParams) -> Result<(), Fault> {
    let grid = ChunkGrid::new(p);
    let metadata: BoundMetadata = at(call.input(1)?, 0).ok_or(Fault::BadLaunch)?;
    let (stream, out) = (ChunkStream::new(call.input(0)?, &grid)?, call.output(0)?);
    let (step, _) = T::steps(metadata.bound);
    // The padding after the shape is zero.
    let (body, rest) = out.split_at_mut_checked(grid.values() * size_of::<T>()).ok_or(Fault::Corrupt)?;
    rest.fill(0);
    let mut bands = Bands::new(&grid, body, size_of::<T>());
    loop {
        let some: Vec<Band<'_>> = bands.by_ref().take(BANDS).collect();
        if some.is_empty() {
            return Ok(());
        }
        let done = call.threads.each(
            some,
            || ChunkDecoder::<T, B>::new(step),
            |decoder, band| decode_band(decoder, &grid, &stream, band),
        );
        done.into_iter().collect::<Result<(), Fault>>()?;
    }
}

/// The bands of an array in the order of its chunks.
struct Bands<'a> {
    /// The remaining planes of one layer of chunks.
    planes: [&'a mut [u8]; UNITS],
    /// The layers behind it.
    rest: &'a mut [u8],
    /// Bytes of a plane, and of the part in a band.
    plane: usize,
    rows: usize,
    /// Chunks of a band, of the array, and before the next band.
    band_chunks: usize,
    chunks: usize,
    first: usize,
}

impl<'a> Bands<'a> {
    fn new(grid: &ChunkGrid, array: &'a mut [u8], width: usize) -> Bands<'a> {
        let (rows, band_chunks) = match grid.ndim {
            1 => (grid.chunk[0] * TILES_PER_TASK * width, TILES_PER_TASK),
            _ => (grid.dims[0] * grid.chunk[1] * width, grid.counts[0]),
        };
        let (plane, chunks) = (grid.dims[0] * grid.dims[1] * width, grid.chunks());
        Bands { planes: Default::default(), rest: array, plane, rows, band_chunks, chunks, first: 0 }
    }
}

impl<'a> Iterator for Bands<'a> {
    type Item = Band<'a>;

    fn next(&mut self) -> Option<Band<'a>> {
        if self.planes[0].is_empty() {
            if self.rest.is_empty() {
                return None;
            }
            // Below three dimensions the first of them is all there is.
            self.planes.fill_with(|| front(&mut self.rest, self.plane));
        }
        let planes = self.planes.each_mut().map(|plane| front(plane, self.rows));
        let (first, chunks) = (self.first, self.band_chunks.min(self.chunks - self.first));
        self.first += chunks;
        Some(Band { first, chunks, planes })
    }
}

/// Splits off the first bytes, at most `most`.
fn front<'a>(bytes: &mut &'a mut [u8], most: usize) -> &'a mut [u8] {
    let all = std::mem::take(bytes);
    let (front, rest) = all.split_at_mut(most.min(all.len()));
    *bytes = rest;
    front
}

fn decode_band<T: FastValue, B: Body>(
    decoder: &mut ChunkDecoder<T, B>,
    grid: &ChunkGrid,
    stream: &ChunkStream<'_>,
    band: Band<'_>,
) -> Result<(), Fault> {
    let Band { first, chunks, mut planes } = band;
    let w = size_of::<T>();
    for k in first..first + chunks {
        let c = grid.chunk(k);
        let left = c.origin[0] - if grid.ndim == 1 { first * grid.chunk[0] } else { 0 };
        let (entry, words) = stream.chunk(k)?;
        decoder.decode(grid, &c, entry, words, |[x, y, z], row| {
            let from = (y * grid.dims[0] + left + x) * w;
            planes[z].get_mut(from..from + row.len()).ok_or(Fault::BadLaunch)?.copy_from_slice(row);
            Ok(())
        })?;
    }
    Ok(())
}
