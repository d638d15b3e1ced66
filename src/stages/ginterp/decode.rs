//! Kernel `ginterp_decode`: codes, anchors and lists back to values.

use super::code::{Bounded, Coding, Literal, Numbers};
use super::encode::{BATCH, level_flags};
use super::grid::TileGrid;
use super::params::{GinterpMetadata, GinterpParams, STRICT};
use super::predict::LevelFlags;
use super::value::SplineValue;
use super::walk::{Points, Row, Walk, Window};
use super::window::{RowCodes, count_zeros, load_codes, stride};
use crate::base::error::Fault;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;
use crate::stages::wide::{Work, interleave, widest};
use bytemuck::Pod;
use std::borrow::Cow;

pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<GinterpParams>();
    match (p.value, p.switches & STRICT != 0) {
        (4, true) => run::<Bounded<f32>>(call, &p),
        (8, true) => run::<Bounded<f64>>(call, &p),
        (4, false) => run::<Literal<f32>>(call, &p),
        (8, false) => run::<Literal<f64>>(call, &p),
        _ => Err(Fault::BadLaunch),
    }
}

fn run<C: Coding>(call: &mut HostCall<'_>, p: &GinterpParams) -> Result<(), Fault> {
    let (codes, anchors, out) = (call.input(0)?, call.input(1)?, call.output(0)?);
    let (values, indices) = (elements::<C::Value>(call.input(2)?), elements::<u32>(call.input(3)?));
    let metadata: GinterpMetadata = at(call.input(4)?, 0).ok_or(Fault::BadLaunch)?;
    let (grid, w, width) = (TileGrid::new(p), size_of::<C::Value>(), usize::from(p.code));
    let strict = p.switches & STRICT != 0;
    let lists = if strict {
        Lists::exact(&grid, &metadata, codes, width, values, indices)?
    } else {
        Lists::outliers(&grid, &metadata, values, indices)?
    };
    if codes.len() < grid.elements() * width || anchors.len() != grid.anchors() * w {
        return Err(Fault::Corrupt);
    }
    let decoder = Decoder::<C> {
        grid: &grid,
        flags: level_flags(&metadata, grid.levels),
        coding: C::new(Numbers::new(p, &metadata)),
        codes,
        anchors,
        lists,
        width,
        // Not checked in files of the reference.
        radius: if strict { Some(metadata.radius) } else { None },
    };
    let (body, tail) = out.split_at_mut((grid.elements() * w).min(out.len()));
    tail.fill(0);
    let mut bands = split(&grid, w, body);
    loop {
        let batch: Vec<Band<'_>> = bands.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            return Ok(());
        }
        let done = call
            .threads
            .each(batch, Memory::new, |memory, band| widest(DecodeBand { decoder: &decoder, memory, band }));
        done.into_iter().collect::<Result<(), Fault>>()?;
    }
}

/// A list in place, or a copy where it is misaligned.
fn elements<T: Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
    let bytes = &bytes[..bytes.len() - bytes.len() % size_of::<T>()];
    match bytemuck::try_cast_slice(bytes) {
        Ok(view) => Cow::Borrowed(view),
        Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
    }
}

struct CountZeros<'a> {
    width: usize,
    codes: &'a [u8],
}

impl Work for CountZeros<'_> {
    type Result = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        count_zeros(self.width, self.codes)
    }
}

/// Entries in the order of their tiles.
struct Lists<'a, T: Clone> {
    indices: Cow<'a, [u32]>,
    values: Cow<'a, [T]>,
}

impl<'a, T: SplineValue> Lists<'a, T> {
    /// Strict: an entry for each code 0, in the order of the codes.
    fn exact(
        grid: &TileGrid,
        metadata: &GinterpMetadata,
        codes: &[u8],
        width: usize,
        values: Cow<'a, [T]>,
        indices: Cow<'a, [u32]>,
    ) -> Result<Self, Fault> {
        let is_zero = |code: &[u8]| code.iter().all(|&b| b == 0);
        let zeros = widest(CountZeros { width, codes });
        // seed: ginterp-count
        if metadata.exact != zeros || indices.len() as u64 != zeros || values.len() as u64 != zeros {
            return Err(Fault::Corrupt);
        }
        let mut last = None;
        for &i in indices.iter() {
            if i as usize >= grid.elements() {
                return Err(Fault::Corrupt);
            }
            let place = grid.place(grid.coordinates(i as usize));
            let code = codes.get(place * width..(place + 1) * width);
            // seed: ginterp-order
            if last.is_some_and(|last| place <= last) || !code.is_some_and(is_zero) {
                return Err(Fault::Corrupt);
            }
            last = Some(place);
        }
        Ok(Lists { indices, values })
    }

    /// Entries of the reference, in any order. Its lists may be longer than the count in the header.
    fn outliers(
        grid: &TileGrid,
        metadata: &GinterpMetadata,
        values: Cow<'a, [T]>,
        indices: Cow<'a, [u32]>,
    ) -> Result<Self, Fault> {
        let count = (metadata.outliers as usize).min(values.len()).min(indices.len());
        if indices[..count].iter().any(|&i| i as usize >= grid.elements()) {
            return Err(Fault::Corrupt);
        }
        let mut pairs: Vec<(u32, T)> =
            indices.iter().copied().zip(values.iter().copied()).take(count).collect();
        pairs.sort_by_key(|pair| tile_of(grid, pair.0));
        let (indices, values): (Vec<u32>, Vec<T>) = pairs.into_iter().unzip();
        Ok(Lists { indices: indices.into(), values: values.into() })
    }

    /// The entries of tiles with these numbers: elements and values.
    fn of_tiles(&self, grid: &TileGrid, tiles: std::ops::Range<usize>) -> impl Iterator<Item = (usize, T)> {
        let first = self.indices.partition_point(|&i| tile_of(grid, i) < tiles.start);
        let end = first + self.indices[first..].partition_point(|&i| tile_of(grid, i) < tiles.end);
        self.indices[first..end].iter().map(|&i| i as usize).zip(self.values[first..end].iter().copied())
    }
}

fn tile_of(grid: &TileGrid, element: u32) -> usize {
    let at = grid.coordinates(element as usize);
    grid.number(std::array::from_fn(|d| at[d] / grid.body[d]))
}

/// A row of tiles along x, and the bytes of its rows of elements, plane by plane.
struct Band<'a> {
    y: usize,
    z: usize,
    planes: Vec<&'a mut [u8]>,
}

/// The array may end before its padding does.
fn split<'a>(grid: &TileGrid, value: usize, out: &'a mut [u8]) -> impl Iterator<Item = Band<'a>> {
    let grid = *grid;
    let [nx, ny, _] = grid.dims;
    let [_, body, depth] = grid.body;
    let [rows_y, rows_z] = grid.rows();
    let mut layers = out.chunks_mut((nx * ny * depth * value).max(1));
    (0..rows_z).flat_map(move |z| {
        let planes = layers.next().unwrap_or_default().chunks_mut((nx * ny * value).max(1));
        let mut rows: Vec<_> = planes.map(|plane| plane.chunks_mut((nx * body * value).max(1))).collect();
        (0..rows_y).map(move |y| Band {
            y,
            z,
            planes: rows.iter_mut().map(|rows| rows.next().unwrap_or_default()).collect(),
        })
    })
}

/// Memory of a thread.
struct Memory<T> {
    walk: Walk<T>,
    /// The list entries of a window; empty if it has none.
    kept: Vec<T>,
    row: Vec<T>,
}

impl<T: SplineValue> Memory<T> {
    fn new() -> Memory<T> {
        Memory { walk: Walk::new(), kept: vec![], row: vec![] }
    }
}

struct Decoder<'a, C: Coding> {
    grid: &'a TileGrid,
    flags: Vec<LevelFlags>,
    coding: C,
    codes: &'a [u8],
    anchors: &'a [u8],
    lists: Lists<'a, C::Value>,
    width: usize,
    /// The code of anchors.
    radius: Option<u32>,
}

struct DecodeBand<'a, 'b, C: Coding> {
    decoder: &'a Decoder<'a, C>,
    memory: &'a mut Memory<C::Value>,
    band: Band<'b>,
}

impl<C: Coding> Work for DecodeBand<'_, '_, C> {
    type Result = Result<(), Fault>;

    #[inline(always)]
    fn run(self) -> Self::Result {
        self.decoder.band(self.memory, self.band)
    }
}

impl<T: SplineValue, C: Coding<Value = T>> Decoder<'_, C> {
    #[inline(always)]
    fn band(&self, memory: &mut Memory<T>, mut band: Band<'_>) -> Result<(), Fault> {
        let (grid, w) = (self.grid, size_of::<T>());
        let [_, my, mz] = grid.owned([0, band.y, band.z]);
        for window in grid.windows(band.y, band.z) {
            self.check_anchors(&window, band.y, band.z)?;
            self.fetch(&window, &mut memory.kept);
            let first: [usize; 3] = std::array::from_fn(|d| window.origin[d] / grid.body[d]);
            memory.walk.start(&window, |local| {
                let number = grid.number(std::array::from_fn(|d| first[d] + local[d] / grid.body[d]));
                self.coding.anchor(at(self.anchors, number).unwrap_or(T::ZERO))
            });
            let beside = [[0, 0], [1, 0], [0, 1], [1, 1]];
            let mut points = DecodePoints {
                decoder: self,
                window: &window,
                rows: beside.map(|tiles| RowCodes::new(grid, &window, tiles)),
                kept: &memory.kept,
                codes: vec![],
                row: vec![],
            };
            memory.walk.levels::<C::Arithmetic>(&window, &self.flags, &mut points);
            let n = window.extent[0];
            memory.row.resize(n, T::ZERO);
            for (k, plane) in band.planes.iter_mut().enumerate().take(mz) {
                for j in 0..my {
                    let (even, odd) = memory.walk.finest(&window, k * window.extent[1] + j);
                    let start = j * grid.dims[0] + window.origin[0];
                    // The array may end before its padding does.
                    let out = plane.get_mut(start * w..).unwrap_or_default();
                    if let Some(Ok(row)) = out.get_mut(..n * w).map(bytemuck::try_cast_slice_mut) {
                        interleave(even, odd, row);
                        continue;
                    }
                    interleave(even, odd, &mut memory.row);
                    let bytes = bytemuck::cast_slice(&memory.row);
                    let n = out.len().min(bytes.len());
                    out[..n].copy_from_slice(&bytes[..n]);
                }
            }
        }
        self.restore(&mut band);
        Ok(())
    }

    fn check_anchors(&self, window: &Window, y: usize, z: usize) -> Result<(), Fault> {
        let Some(radius) = self.radius else { return Ok(()) };
        for x in (0..window.extent[0]).step_by(self.grid.body[0]) {
            let mut code = [0];
            let place = self.grid.first_code([(window.origin[0] + x) / self.grid.body[0], y, z]);
            load_codes(self.width, self.codes, place, 1, &mut code);
            if code != [radius] {
                return Err(Fault::Corrupt); // seed: ginterp-anchor-code
            }
        }
        Ok(())
    }

    /// Puts entries of a window and of its far faces in their places.
    fn fetch(&self, window: &Window, kept: &mut Vec<T>) {
        kept.clear();
        let grid = self.grid;
        let first: [usize; 3] = std::array::from_fn(|d| window.origin[d] / grid.body[d]);
        let last: [usize; 3] =
            std::array::from_fn(|d| (window.origin[d] + window.extent[d] - 1) / grid.body[d]);
        for z in first[2]..=last[2] {
            for y in first[1]..=last[1] {
                let tiles = grid.number([first[0], y, z])..grid.number([last[0], y, z]) + 1;
                for (element, value) in self.lists.of_tiles(grid, tiles) {
                    let at = grid.coordinates(element);
                    let local: [usize; 3] = std::array::from_fn(|d| at[d] - window.origin[d]);
                    if (0..3).all(|d| local[d] < window.extent[d]) {
                        if kept.is_empty() {
                            kept.resize(window.extent.iter().product(), T::ZERO);
                        }
                        kept[window.place(local)] = value;
                    }
                }
            }
        }
    }

    /// Anchors and entries that tiles had others in the place of.
    fn restore(&self, band: &mut Band<'_>) {
        let (grid, w) = (self.grid, size_of::<T>());
        let tiles = grid.number([0, band.y, band.z])..grid.number([0, band.y, band.z]) + grid.tiles[0];
        let anchors = tiles.clone().enumerate().filter_map(|(x, number)| {
            let origin = [x, band.y, band.z];
            let element = grid.element(std::array::from_fn(|d| origin[d] * grid.body[d]));
            at(self.anchors, number).map(|value| (element, value))
        });
        let anchors = anchors.filter(|(_, x)| self.coding.restores_anchor(*x));
        let entries = self.lists.of_tiles(grid, tiles).filter(|(_, x)| self.coding.restores(*x));
        for (element, value) in anchors.chain(entries) {
            let [x, y, z] = grid.coordinates(element);
            let at = ((y - band.y * grid.body[1]) * grid.dims[0] + x) * w;
            let plane = band.planes.get_mut(z - band.z * grid.body[2]);
            if let Some(slot) = plane.and_then(|plane| plane.get_mut(at..at + w)) {
                slot.copy_from_slice(bytemuck::bytes_of(&value));
            }
        }
    }
}

struct DecodePoints<'a, C: Coding> {
    decoder: &'a Decoder<'a, C>,
    window: &'a Window,
    /// Codes of the tiles of the window, and of those behind its far faces along y, z, and both.
    rows: [Option<RowCodes<'a>>; 4],
    kept: &'a [C::Value],
    codes: Vec<u32>,
    row: Vec<C::Value>,
}

impl<T: SplineValue, C: Coding<Value = T>> Points<T> for DecodePoints<'_, C> {
    #[inline(always)]
    fn row(&mut self, row: &Row<'_>, p: &[T], v: &mut [T]) {
        let (d, n) = (self.decoder, p.len());
        let [far_y, far_z] = [row.y == self.window.body[1], row.z == self.window.body[2]];
        let Some(rows) = &self.rows[usize::from(far_y) + 2 * usize::from(far_z)] else { return };
        let at = [if far_y { 0 } else { row.y }, if far_z { 0 } else { row.z }];
        self.codes.resize(n, 0);
        let codes = &mut self.codes;
        for piece in rows.pieces(row, at, n) {
            load_codes(d.width, d.codes, piece.place, piece.step, &mut codes[piece.points]);
        }
        if !self.kept.is_empty() {
            let spacing = 1 << row.level;
            let first = self.window.place([if row.odd { spacing } else { 0 }, row.y, row.z]);
            self.row.resize(n, T::ZERO);
            stride(&self.kept[first..], 2 * spacing, &mut self.row);
        }
        d.coding.decode(row, &self.codes, &self.row, p, v);
    }
}
