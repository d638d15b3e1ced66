//! Kernel `fast_decode`.

use super::Launch;
use super::chunk::Decoder;
use super::entry::{self, Entry};
use super::grid::{Grid, UNITS};
use super::plain::Plain;
use super::unit::Body;
use super::value::Value;
use super::wide::{self, Wide};
use crate::error::Fault;
use crate::kernel::{HostCall, TILES_PER_TASK};
use crate::stages::quantizer::Facts;
use crate::tile::at;
use std::ops::Range;

pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<Launch>();
    match (p.value, wide::available()) {
        (4, true) => run::<f32, Wide>(call, &p),
        (4, false) => run::<f32, Plain>(call, &p),
        (8, true) => run::<f64, Wide>(call, &p),
        (8, false) => run::<f64, Plain>(call, &p),
        _ => Err(Fault::BadLaunch),
    }
}

/// Chunks that stand beside each other, and the memory of their planes: whole rows of the array, or in one dimension
/// what the chunks have.
struct Band<'a> {
    first: usize,
    chunks: usize,
    planes: [&'a mut [u8]; UNITS],
}

/// The stream in its two parts.
struct Stream<'a> {
    table: &'a [u8],
    words: &'a [u8],
}

impl<'a> Stream<'a> {
    fn new(stream: &'a [u8], grid: &Grid) -> Result<Stream<'a>, Fault> {
        let (table, words) = stream.split_at_checked(grid.chunks() * entry::BYTES).ok_or(Fault::Corrupt)?;
        if words.len() % 4 != 0 {
            return Err(Fault::Corrupt);
        }
        Ok(Stream { table, words })
    }

    /// What chunk `k` has, with its words.
    fn chunk(&self, k: usize) -> Result<(Entry, &'a [u8]), Fault> {
        let entry = Entry::read(at(self.table, k).ok_or(Fault::Corrupt)?)?;
        let Range { start, end } = entry.place();
        let words = self.words.get(4 * start as usize..4 * end as usize).ok_or(Fault::Corrupt)?;
        Ok((entry, words))
    }
}

fn run<T: Value, B: Body>(call: &mut HostCall<'_>, p: &Launch) -> Result<(), Fault> {
    let grid = Grid::new(p);
    let facts: Facts = at(call.input(1)?, 0).ok_or(Fault::BadLaunch)?;
    let (stream, out) = (Stream::new(call.input(0)?, &grid)?, call.output(0)?);
    let (step, _) = T::steps(facts.bound);
    // What the pipeline added behind the shape is zero.
    let (body, rest) = out.split_at_mut_checked(grid.values() * size_of::<T>()).ok_or(Fault::Corrupt)?;
    rest.fill(0);
    // So many layers at once that the list of bands stays short.
    let layer = grid.dims[0] * grid.dims[1] * grid.chunk[2] * size_of::<T>();
    let layers = (1024 / grid.counts[1].max(1)).max(1);
    for (k, part) in body.chunks_mut((layer * layers).max(1)).enumerate() {
        let bands = bands::<T>(&grid, k * layers, part);
        let done = call.threads.each(
            bands,
            || Decoder::<T, B>::new(step),
            |decoder, band| decode_band(decoder, &grid, &stream, band),
        );
        done.into_iter().collect::<Result<(), Fault>>()?;
    }
    Ok(())
}

/// The bands of the planes from layer `layer` of chunks on.
fn bands<'a, T: Value>(grid: &Grid, layer: usize, bytes: &'a mut [u8]) -> Vec<Band<'a>> {
    let w = size_of::<T>();
    let band = |first: usize, chunks: usize| Band { first, chunks, planes: Default::default() };
    if grid.ndim == 1 {
        let split = bytes.chunks_mut(grid.chunk[0] * TILES_PER_TASK * w).enumerate();
        return split
            .map(|(k, plane)| {
                let mut b = band(k * TILES_PER_TASK, plane.len().div_ceil(grid.chunk[0] * w));
                b.planes[0] = plane;
                b
            })
            .collect();
    }
    let [nx, ny, _] = grid.counts;
    let mut bands: Vec<Band<'a>> = vec![];
    for (z, plane) in bytes.chunks_mut(grid.dims[0] * grid.dims[1] * w).enumerate() {
        for (y, rows) in plane.chunks_mut(grid.dims[0] * grid.chunk[1] * w).enumerate() {
            let k = z / grid.chunk[2] * ny + y;
            if k == bands.len() {
                bands.push(band((layer * ny + k) * nx, nx));
            }
            bands[k].planes[z % grid.chunk[2]] = rows;
        }
    }
    bands
}

fn decode_band<T: Value, B: Body>(
    decoder: &mut Decoder<T, B>,
    grid: &Grid,
    stream: &Stream<'_>,
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
