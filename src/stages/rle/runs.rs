//! Elements to runs and back.

use super::header_bytes;
use super::params::RleParams;
use crate::base::dtype::by_width;
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::base::tile::{TILE, at, store};
use crate::ir::kernel::HostCall;
use bytemuck::Pod;

pub(super) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    by_width!(call.params::<RleParams>().width, T => runs::<T>(call), else Err(Fault::BadLaunch))
}

pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    by_width!(call.params::<RleParams>().width, T => elements::<T>(call), else Err(Fault::BadLaunch))
}

/// The elements, and where runs begin.
struct Input<'a> {
    bytes: &'a [u8],
    n: usize,
    chunk: usize,
}

impl Input<'_> {
    fn begins<T: Pod + PartialEq>(&self, i: usize) -> bool {
        i == 0
            || (self.chunk > 0 && i % self.chunk == 0)
            || at::<T>(self.bytes, i) != at::<T>(self.bytes, i - 1)
    }

    /// Elements of a tile.
    fn tile<T>(&self, k: usize) -> std::ops::Range<usize> {
        let each = TILE / size_of::<T>();
        k * each..self.n.min((k + 1) * each)
    }
}

/// The runs that begin in a tile.
#[derive(Clone, Copy)]
struct Tile {
    runs: usize,
    /// Where the first one does, else where the array ends.
    first: usize,
}

fn runs<T: Pod + PartialEq>(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<RleParams>();
    let (bytes, out) = (call.input(0)?, call.output(0)?);
    let (width, n) = (size_of::<T>(), bytes.len() / size_of::<T>());
    if n == 0 {
        out.get_mut(..4).ok_or(Fault::BadLaunch)?.fill(0);
        return call.publish(0, 4);
    }
    let input = Input { bytes, n, chunk: p.chunk as usize };
    let count = |k: usize| {
        let mut begins = input.tile::<T>(k).filter(|&i| input.begins::<T>(i));
        let first = begins.next();
        Tile { runs: begins.count() + usize::from(first.is_some()), first: first.unwrap_or(n) }
    };
    let tiles = call.threads.map(n.div_ceil(TILE / width), count);
    let all: usize = tiles.iter().map(|t| t.runs).sum();
    let header = header_bytes(&p, n as u64) as usize;
    let values = (all * width).next_multiple_of(4);
    let end = header + values + 4 * all;
    let (front, rest) = out.get_mut(..end).ok_or(Fault::BadLaunch)?.split_at_mut(header);
    let (mut values, mut lengths) = rest.split_at_mut(values);
    front.fill(0);
    front[..4]
        .copy_from_slice(&(if p.chunk == 0 { all } else { n.div_ceil(input.chunk) } as u32).to_le_bytes());
    // Each tile writes its runs where those of the tiles before it end.
    let (mut parts, mut ends) = (vec![], vec![n; tiles.len()]);
    for k in (1..tiles.len()).rev() {
        ends[k - 1] = ends[k].min(tiles[k].first);
    }
    let mut before = 0;
    for (k, tile) in tiles.iter().enumerate() {
        let (v, rest) = values.split_at_mut(tile.runs * width);
        let (l, more) = lengths.split_at_mut(tile.runs * 4);
        (values, lengths) = (rest, more);
        parts.push((k, before, v, l));
        before += tile.runs;
    }
    values.fill(0);
    let chunks = call.threads.each(
        parts,
        || (),
        |(), (k, before, values, lengths)| {
            let (mut run, mut begun, mut of_chunks) = (0, 0, vec![]);
            let mut close = |run: usize, length: usize| {
                lengths[4 * run..4 * run + 4].copy_from_slice(&(length as u32).to_le_bytes())
            };
            for i in input.tile::<T>(k).filter(|&i| input.begins::<T>(i)) {
                if run > 0 {
                    close(run - 1, i - begun);
                }
                if input.chunk > 0 && i % input.chunk == 0 {
                    of_chunks.push((before + run) as u32); // seed: rle-chunk-table
                }
                values[run * width..(run + 1) * width].copy_from_slice(&bytes[i * width..(i + 1) * width]);
                (run, begun) = (run + 1, i);
            }
            if run > 0 {
                close(run - 1, ends[k] - begun);
            }
            of_chunks
        },
    );
    if p.chunk > 0 {
        let table = chunks.into_iter().flatten().chain([all as u32]);
        front[4..]
            .chunks_exact_mut(4)
            .zip(table)
            .for_each(|(slot, run)| slot.copy_from_slice(&run.to_le_bytes()));
    }
    call.publish(0, end as u64)
}

/// A stream whose parts are at the places that its numbers state.
struct RunStream<'a> {
    /// Where the runs of each chunk begin, and where the last one ends.
    table: &'a [u8],
    values: &'a [u8],
    lengths: &'a [u8],
    runs: usize,
}

impl<'a> RunStream<'a> {
    fn new(p: &RleParams, n: usize, src: &'a [u8]) -> Result<RunStream<'a>, Fault> {
        let width = p.width as usize;
        let header = usize::try_from(header_bytes(p, n as u64)).map_err(|_| Fault::Corrupt)?;
        let (front, rest) = src.split_at_checked(header).ok_or(Fault::Corrupt)?;
        let word = |i: usize| at::<u32>(front, i).map(|w| w as usize).ok_or(Fault::Corrupt);
        let (table, runs) = match p.chunk {
            0 => (&[][..], word(0)?),
            chunk => {
                let chunks = n.div_ceil(chunk as usize);
                if word(0)? != chunks {
                    return Err(Fault::Corrupt);
                }
                (&front[4..8 + 4 * chunks], word(1 + chunks)?)
            }
        };
        let used = if p.chunk == 0 { 4 } else { 4 + table.len() };
        let bytes = runs.checked_mul(width).ok_or(Fault::Corrupt)?;
        let (values, lengths) = rest.split_at_checked(bytes.next_multiple_of(4)).ok_or(Fault::Corrupt)?;
        let zeros = front[used..].iter().chain(&values[bytes..]).all(|&b| b == 0);
        if runs > n || lengths.len() != 4 * runs || !zeros {
            return Err(Fault::Corrupt);
        }
        Ok(RunStream { table, values: &values[..bytes], lengths, runs })
    }

    fn length(&self, run: usize) -> Result<usize, Fault> {
        at::<u32>(self.lengths, run).map(|w| w as usize).ok_or(Fault::Corrupt)
    }
}

/// The run that an element is in, and where that ends.
#[derive(Clone, Copy)]
struct RunPlace {
    run: usize,
    end: usize,
}

/// The place of the first element of every tile of `each`. The runs must make up the array, and the chunks
/// must agree with the table.
fn places(s: &RunStream<'_>, n: usize, chunk: usize, each: usize) -> Result<Vec<RunPlace>, Fault> {
    let (mut places, mut end) = (Vec::with_capacity(n.div_ceil(each)), 0usize);
    for run in 0..s.runs {
        let (begin, length) = (end, s.length(run)?);
        end += length;
        // seed: rle-empty-run
        if length == 0 || end > n {
            return Err(Fault::Corrupt);
        }
        if chunk > 0 {
            let fresh = begin % chunk == 0;
            let stated = at::<u32>(s.table, begin / chunk).map(|r| r as usize);
            if (fresh && stated != Some(run)) || begin / chunk != (end - 1) / chunk {
                return Err(Fault::Corrupt);
            }
        }
        while places.len() * each < end {
            places.push(RunPlace { run, end });
        }
    }
    if end == n { Ok(places) } else { Err(Fault::Corrupt) }
}

fn elements<T: Pod + Send + Sync>(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<RleParams>();
    let (src, dst) = (call.input(0)?, call.output(0)?);
    let (width, n) = (size_of::<T>(), dst.len() / size_of::<T>());
    if dst.len() % width != 0 {
        return Err(Fault::Corrupt);
    }
    if n == 0 {
        return if src == [0; 4] { Ok(()) } else { Err(Fault::Corrupt) };
    }
    let stream = RunStream::new(&p, n, src)?;
    let places = places(&stream, n, p.chunk as usize, TILE / width)?;
    fill::<T>(call.threads, &stream, &places, dst)
}

fn fill<T: Pod + Send + Sync>(
    threads: Parallel<'_>,
    s: &RunStream<'_>,
    places: &[RunPlace],
    dst: &mut [u8],
) -> Result<(), Fault> {
    threads.tiles(dst, TILE, |k, out| {
        let RunPlace { mut run, mut end } = *places.get(k).ok_or(Fault::BadLaunch)?;
        let (first, mut result) = (k * TILE / size_of::<T>(), Ok(()));
        store::<T>(out, |out| {
            let mut i = 0;
            while i < out.len() {
                let (Some(value), stop) = (at::<T>(s.values, run), out.len().min(end - first)) else {
                    result = Err(Fault::Corrupt);
                    return out.fill(T::zeroed());
                };
                out[i..stop].fill(value);
                i = stop;
                if i < out.len() {
                    run += 1;
                    end += s.length(run).unwrap_or(out.len());
                }
            }
        });
        result
    })
}
