//! Chunks of values to words and back.

use super::entry::{ChunkForm, Entry};
use super::exact::{self, Exact};
use super::grid::{Chunk, ChunkGrid, ROW, UNIT, Unit};
use super::unit::{Body, CodedMask, Codes, Descriptor, Halves, Words, pack, unpack};
use super::value::{FastQuantize, FastValue};
use crate::base::error::Fault;
use std::marker::PhantomData;

/// Working memory of a thread that encodes.
pub(super) struct ChunkEncoder<T, B: Body> {
    x: [T; UNIT],
    codes: Codes,
    before: Codes,
    work: B::Work,
    coded: CodedMask,
    exact: Exact<T>,
    /// The words of the chunk.
    pub(super) out: Halves,
}

/// Values of a row as bytes.
fn row(src: &[u8], first: usize, values: usize, width: usize) -> Result<&[u8], Fault> {
    src.get(first * width..(first + values) * width).ok_or(Fault::BadLaunch)
}

/// Fills a unit; beyond the end of the array its last value is repeated, in each dimension.
fn load<T: FastValue>(
    src: &[u8],
    grid: &ChunkGrid,
    c: &Chunk,
    unit: &Unit,
    x: &mut [T; UNIT],
) -> Result<(), Fault> {
    let Unit { at: [x0, y0, z0], cols, rows } = *unit;
    let length = if grid.ndim == 1 { UNIT } else { ROW };
    for (y, to) in x.chunks_exact_mut(length).take(rows).enumerate() {
        let first = grid.index(c, [x0, y0 + y, z0]);
        let from = row(src, first, cols, size_of::<T>())?;
        bytemuck::cast_slice_mut(&mut to[..cols]).copy_from_slice(from);
        let last = to[cols - 1];
        to[cols..].fill(last);
    }
    for i in length * rows..UNIT {
        x[i] = x[i - ROW];
    }
    Ok(())
}

impl<T: FastValue, B: Body> ChunkEncoder<T, B> {
    pub(super) fn new() -> ChunkEncoder<T, B> {
        let out = Halves(Vec::with_capacity(UNIT * 8));
        let none = [0; UNIT];
        ChunkEncoder {
            x: [T::ZERO; UNIT],
            codes: none,
            before: none,
            work: B::Work::default(),
            coded: [true; UNIT],
            exact: Exact::default(),
            out,
        }
    }

    /// Leaves the words of chunk `k` in `out`. Its entry has 0 for their place.
    pub(super) fn encode(
        &mut self,
        src: &[u8],
        grid: &ChunkGrid,
        k: usize,
        q: &FastQuantize<T>,
    ) -> Result<Entry, Fault> {
        let c = grid.chunk(k);
        let limit = c.values() * T::WORDS;
        let first = row(src, grid.index(&c, [0; 3]), 1, size_of::<T>())?;
        let first: T = bytemuck::pod_read_unaligned(first);
        let reference = T::reference(first.multiple(q));
        let header = if reference == 0 { 0 } else { 4 };
        self.out.0.clear();
        if reference != 0 {
            self.out.word(reference as u32);
            self.out.word((reference >> 32) as u32);
        }
        self.out.0.resize(header + c.units.next_multiple_of(2), 0);
        let mut constant = None;
        for u in 0..c.units {
            load(src, grid, &c, &grid.unit(&c, u), &mut self.x)?;
            let coded = B::quantize(&self.x, q, reference, &mut self.codes, &mut self.coded);
            self.exact.clear();
            if !coded {
                self.exact.find(grid.ndim, &self.coded, &self.x, &mut self.codes);
            }
            let codes = &self.codes;
            let one = |codes: &Codes| codes.iter().all(|c| *c == codes[0]);
            constant = match constant {
                Some(None) => Some(None),
                None if coded && one(codes) => Some(Some(codes[0])),
                Some(Some(code)) if coded && code == codes[0] && one(codes) => Some(Some(code)),
                _ => Some(None),
            };
            let inter = grid.ndim == 3 && u > 0;
            let before = (&mut self.before, inter);
            let d = pack::<B>(grid.ndim, codes, before, self.exact.words(), &mut self.work, &mut self.out);
            self.out.0[header + u] = d.bits();
            if constant == Some(None) && self.out.words() > limit {
                return self.raw(src, grid, &c);
            }
        }
        if let Some(Some(code)) = constant {
            self.out.0.clear();
            return Ok(Entry::Constant(reference + i64::from(code)));
        }
        let form = ChunkForm::Packed { reference: reference != 0 };
        Ok(Entry::Words { form, first: 0, words: self.out.words() as u64 })
    }

    /// The values themselves, without those after the end of the array.
    fn raw(&mut self, src: &[u8], grid: &ChunkGrid, c: &Chunk) -> Result<Entry, Fault> {
        self.out.0.clear();
        for at in c.rows() {
            let from = row(src, grid.index(c, at), c.extent[0], size_of::<T>())?;
            self.out.0.extend(from.chunks_exact(2).map(|h| u16::from_le_bytes([h[0], h[1]])));
        }
        Ok(Entry::Words { form: ChunkForm::Raw, first: 0, words: self.out.words() as u64 })
    }
}

/// Working memory of a thread that decodes.
pub(super) struct ChunkDecoder<T, B> {
    step: T,
    codes: Codes,
    x: [T; UNIT],
    exact: Vec<(usize, T)>,
    body: PhantomData<B>,
}

impl<T: FastValue, B: Body> ChunkDecoder<T, B> {
    pub(super) fn new(step: T) -> ChunkDecoder<T, B> {
        ChunkDecoder { step, codes: [0; UNIT], x: [T::ZERO; UNIT], exact: Vec::new(), body: PhantomData }
    }

    /// Hands the rows of a chunk to `sink`, with the place in the chunk where each begins. `words` are those of the chunk.
    pub(super) fn decode(
        &mut self,
        grid: &ChunkGrid,
        c: &Chunk,
        entry: Entry,
        words: &[u8],
        mut sink: impl FnMut([usize; 3], &[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (form, mut input) = match entry {
            Entry::Constant(code) => {
                self.x = [T::restore(code, self.step); UNIT];
                return (0..c.units).try_for_each(|u| rows(grid, &grid.unit(c, u), &self.x, &mut sink));
            }
            Entry::Words { form, .. } => (form, Words(words)),
        };
        if form == ChunkForm::Raw {
            let width = c.extent[0] * size_of::<T>();
            if input.0.len() != c.values() * size_of::<T>() {
                return Err(Fault::Corrupt);
            }
            return c.rows().zip(input.0.chunks_exact(width)).try_for_each(|(at, row)| sink(at, row));
        }
        let reference = match form == (ChunkForm::Packed { reference: true }) {
            true if T::WORDS == 1 => return Err(Fault::Corrupt),
            true => i64::from(input.word()?) | i64::from(input.word()?) << 32,
            false => 0,
        };
        let mut descriptors = [0; super::grid::UNITS];
        for pair in descriptors[..c.units.next_multiple_of(2)].chunks_exact_mut(2) {
            let word = input.word()?;
            pair.copy_from_slice(&[word as u16, (word >> 16) as u16]);
        }
        for (u, &bits) in descriptors[..c.units].iter().enumerate() {
            let d = Descriptor::read(bits, grid.ndim == 3 && u > 0)?;
            let found = &mut self.exact;
            unpack::<B>(grid.ndim, d, &mut self.codes, &mut input, |w| {
                exact::read(grid.ndim, d.exact, w, found)
            })?;
            B::restore(&self.codes, reference, self.step, &mut self.x);
            self.exact.iter().for_each(|&(i, value)| self.x[i] = value);
            rows(grid, &grid.unit(c, u), &self.x, &mut sink)?;
        }
        if input.0.is_empty() { Ok(()) } else { Err(Fault::Corrupt) } // seed: fast-chunk-end
    }
}

/// Hands on the rows of a unit.
fn rows<T: FastValue>(
    grid: &ChunkGrid,
    unit: &Unit,
    x: &[T; UNIT],
    sink: &mut impl FnMut([usize; 3], &[u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let Unit { at: [x0, y0, z0], cols, rows } = *unit;
    let length = if grid.ndim == 1 { UNIT } else { ROW };
    let mut all = x.chunks_exact(length).take(rows).enumerate();
    all.try_for_each(|(y, row)| sink([x0, y0 + y, z0], bytemuck::cast_slice(&row[..cols])))
}
