//! Codes, outliers and exact values back to values.

use super::center;
use super::grid::{Block, DEPTH, RowPart, RowUnit, STRIP, TileGrid};
use super::lane::{DifferenceCode, Lane, by_form};
use super::params::{CENTERED, LorenzoQuantMetadata, LorenzoQuantParams};
use crate::base::error::Fault;
use crate::base::tile::{at, load, store};
use crate::ir::kernel::HostCall;
use bytemuck::Pod;
use std::borrow::Cow;

/// Kernel `lorenzo_quant_decode`.
pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<LorenzoQuantParams>();
    by_form!(p, run(call, &p))
}

fn run<T: Lane, C: DifferenceCode, const ZIGZAG: bool>(
    call: &mut HostCall<'_>,
    p: &LorenzoQuantParams,
) -> Result<(), Fault> {
    let (codes, out) = (call.input(0)?, call.output(0)?);
    let metadata: LorenzoQuantMetadata = at(call.input(3)?, 0).ok_or(Fault::BadLaunch)?;
    let (errors, indices) = (values::<T>(call.input(1)?), values::<u32>(call.input(2)?));
    let (grid, w) = (TileGrid::new(p, BLOCK / (DEPTH * DEPTH * size_of::<T>())), size_of::<T>());
    let elements = codes.len() / size_of::<C>();
    let listed = errors.len().min(indices.len());
    // Lists that fed another stage are as long as their capacity; the header's count tells how much is meant.
    let outliers = (metadata.outliers as usize).min(listed);
    let exact = usize::try_from(metadata.exact).map_err(|_| Fault::Corrupt)?;
    // seed: lorenzo-pairs
    if exact > 0 && exact.checked_add(metadata.outliers as usize).is_none_or(|end| end > listed) {
        return Err(Fault::Corrupt);
    }
    if indices[..outliers + exact].iter().any(|&i| i as usize >= elements) || grid.count > elements {
        return Err(Fault::Corrupt);
    }
    let means = if p.switches & CENTERED != 0 { call.input(4)? } else { &[] };
    if p.switches & CENTERED != 0 && means.len() as u64 != center::means(grid.count as u64) * w as u64 {
        return Err(Fault::Corrupt);
    }
    let list = List::new(&indices[..outliers], &errors[..outliers]);
    let step = T::from_f64(2.0).mul(T::from_f64(metadata.half_step()));
    let restorer = Restorer { codes, list, means, step, grid: &grid };
    let (body, tail) = out.split_at_mut((grid.count * w).min(out.len()));
    tail.fill(0);
    for (k, part) in body.chunks_mut((grid.batch() * grid.nx * grid.ny * w).max(1)).enumerate() {
        let units = grid.units(k * grid.batch(), part, w);
        call.threads.each(
            units,
            || Reduction::new(&grid),
            |sums, unit| restorer.unit::<C, ZIGZAG>(sums, unit),
        );
    }
    for (&i, value) in indices[outliers..].iter().zip(&errors[outliers..]).take(exact) {
        // An index in the padding has no place in the caller's array.
        if let Some(slot) = out.get_mut(i as usize * w..(i as usize + 1) * w) {
            slot.copy_from_slice(bytemuck::bytes_of(value));
        }
    }
    Ok(())
}

/// A list in place, or a copy where it is misaligned.
fn values<T: Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
    let bytes = &bytes[..bytes.len() - bytes.len() % size_of::<T>()];
    match bytemuck::try_cast_slice(bytes) {
        Ok(view) => Cow::Borrowed(view),
        Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
    }
}

/// Outliers in ascending order of index; other writers leave them in any.
struct List<'a, T: Clone> {
    indices: Cow<'a, [u32]>,
    errors: Cow<'a, [T]>,
}

impl<'a, T: Lane> List<'a, T> {
    fn new(indices: &'a [u32], errors: &'a [T]) -> List<'a, T> {
        if indices.is_sorted() {
            return List { indices: indices.into(), errors: errors.into() };
        }
        let mut pairs: Vec<(u32, T)> = indices.iter().copied().zip(errors.iter().copied()).collect();
        pairs.sort_by_key(|e| e.0);
        let (indices, errors): (Vec<u32>, Vec<T>) = pairs.into_iter().unzip();
        List { indices: indices.into(), errors: errors.into() }
    }

    /// Adds the errors of `run` to its codes, which are 0 there.
    fn add(&self, run: RowPart, differences: &mut [T]) {
        if self.indices.is_empty() {
            return;
        }
        let end = run.start + run.len;
        let first = self.indices.partition_point(|&i| (i as usize) < run.start);
        let here = self.indices[first..].iter().zip(&self.errors[first..]);
        for (&i, &error) in here.take_while(|(i, _)| (**i as usize) < end) {
            let d = &mut differences[i as usize - run.start];
            *d = error.add(*d);
        }
    }
}

struct Restorer<'a, T: Lane> {
    codes: &'a [u8],
    list: List<'a, T>,
    /// One for each tile, or none.
    means: &'a [u8],
    step: T,
    grid: &'a TileGrid,
}

/// Bytes of the sums of a row of tiles in three dimensions.
const BLOCK: usize = 1 << 16;

/// Sums of a column of tiles on their way. Nothing of one unit is read in the next.
struct Reduction<T> {
    row: [T; STRIP],
    /// Sums along y: of a piece of eight rows, and of the pieces above it.
    column: [T; STRIP],
    carry: [T; STRIP],
    /// Three dimensions: rows of all planes, summed along y and x.
    block: Vec<T>,
}

impl<T: Lane> Reduction<T> {
    fn new(grid: &TileGrid) -> Reduction<T> {
        let none = [T::ZERO; STRIP];
        let block = if grid.ndim == 3 { vec![T::ZERO; DEPTH * DEPTH * grid.strip] } else { vec![] };
        Reduction { row: none, column: none, carry: none, block }
    }
}

impl<T: Lane> Restorer<'_, T> {
    fn unit<C: DifferenceCode, const ZIGZAG: bool>(&self, sums: &mut Reduction<T>, unit: RowUnit<'_>) {
        let RowUnit { z, y, planes } = unit;
        let mut state = (sums, planes);
        let walk = |(sums, planes): &mut (&mut Reduction<T>, [&mut [u8]; DEPTH]), run: RowPart| {
            let Reduction { row, column, carry, block } = &mut **sums;
            let end = run.len.next_multiple_of(self.grid.tile[0]);
            if self.grid.ndim == 3 {
                let row = &mut block[self.place(run.plane, run.row)..][..end];
                self.load::<C, ZIGZAG>(row, run);
                sum_3d(row, column, run);
                row.chunks_exact_mut(DEPTH).for_each(scan::<T, DEPTH>);
                return;
            }
            self.load::<C, ZIGZAG>(&mut row[..end], run);
            if self.grid.ndim == 1 {
                scan_1d(row);
                // seed: lorenzo-mean-tile
                if let Some(mean) = at::<T>(self.means, run.start / STRIP) {
                    row.iter_mut().for_each(|v| *v = v.add(mean));
                }
            } else {
                sum_2d(row, column, carry, run);
                row[..end].chunks_exact_mut(32).for_each(scan::<T, 32>);
            }
            self.store(&row[..run.len], &mut *planes[run.plane], run.at);
        };
        let end = |(sums, planes): &mut (&mut Reduction<T>, [&mut [u8]; DEPTH]), block: Block| {
            if self.grid.ndim == 3 {
                self.finish_3d(&mut sums.block, planes, &block);
            }
        };
        self.grid.walk(z, y, &mut state, walk, end);
    }

    /// The differences of a row, zeros up to the end of its last tile.
    #[inline(always)]
    fn load<C: DifferenceCode, const ZIGZAG: bool>(&self, row: &mut [T], run: RowPart) {
        let (w, mut buffer) = (size_of::<C>(), None);
        let bytes = self.codes.get(run.start * w..(run.start + run.len) * w).unwrap_or_default();
        let codes = load::<C>(bytes, &mut buffer);
        let (there, missing) = row.split_at_mut(codes.len());
        there.iter_mut().zip(codes).for_each(|(d, c)| *d = c.difference::<T, ZIGZAG>());
        missing.fill(T::ZERO);
        self.list.add(run, there);
    }

    /// Sums to values; `at` is the first element of the row in `plane`.
    #[inline(always)]
    fn store(&self, row: &[T], plane: &mut [u8], at: usize) {
        let value = |v: T| v.mul(self.step).canonical();
        let w = size_of::<T>();
        // The array may end before its padding does.
        let out = plane.get_mut(at * w..).unwrap_or_default();
        let n = out.len().min(size_of_val(row));
        store::<T>(&mut out[..n], |out| out.iter_mut().zip(row).for_each(|(o, &v)| *o = value(v)));
    }

    /// Where a row of a plane starts in the block.
    fn place(&self, plane: usize, row: usize) -> usize {
        (plane * DEPTH + row) * self.grid.strip
    }

    /// Sums along z, and all rows to values.
    fn finish_3d(&self, sums: &mut [T], planes: &mut [&mut [u8]; DEPTH], block: &Block) {
        let used = block.rows.len() * self.grid.strip;
        for distance in [1, 2, 4] {
            for plane in (distance..block.planes).rev() {
                let (below, here) = sums.split_at_mut(self.place(plane, 0));
                let below = &below[self.place(plane - distance, 0)..][..used];
                here[..used].iter_mut().zip(below).for_each(|(v, &b)| *v = v.add(b));
            }
        }
        for plane in 0..block.planes {
            for (k, row) in block.rows.clone().enumerate() {
                let values = &sums[self.place(plane, k)..][..block.width];
                self.store(values, &mut *planes[plane], row * self.grid.nx + block.x);
            }
        }
    }
}

/// Sums along y within pieces of eight rows, and those above added.
#[inline(always)]
fn sum_2d<T: Lane>(row: &mut [T], column: &mut [T], carry: &mut [T], run: RowPart) {
    let fresh = run.row % 8 == 0;
    for ((v, sum), carry) in row.iter_mut().zip(column).zip(carry).take(run.len) {
        *sum = if fresh { *v } else { sum.add(*v) };
        *v = if run.row < 8 { *sum } else { sum.add(*carry) };
        *carry = if run.row % 8 == 7 { *v } else { *carry };
    }
}

/// Sums along the eight rows of a tile.
#[inline(always)]
fn sum_3d<T: Lane>(row: &mut [T], column: &mut [T], run: RowPart) {
    for (v, sum) in row.iter_mut().zip(column) {
        *sum = if run.row == 0 { *v } else { sum.add(*v) };
        *v = *sum;
    }
}

/// Running sums in the order of the format: each value is added to those at the distances 1, 2, 4, … after
/// it.
#[inline(always)]
fn scan<T: Lane, const N: usize>(values: &mut [T]) {
    let Some(v) = values.first_chunk_mut::<N>() else { return };
    let mut distance = 1;
    while distance < N {
        let old = *v;
        for i in distance..N {
            v[i] = old[i].add(old[i - distance]);
        }
        distance *= 2;
    }
}

/// Running sums of a tile of one dimension: in groups of four, of the 32 groups of a part, of the eight parts.
#[inline(always)]
fn scan_1d<T: Lane>(tile: &mut [T; STRIP]) {
    let mut parts = [T::ZERO; 8];
    for (part, total) in tile.chunks_exact_mut(128).zip(&mut parts) {
        let mut groups = [T::ZERO; 32];
        for (four, group) in part.chunks_exact_mut(4).zip(&mut groups) {
            four[1] = four[0].add(four[1]);
            four[2] = four[1].add(four[2]);
            four[3] = four[2].add(four[3]);
            *group = four[3];
        }
        scan::<T, 32>(&mut groups);
        for (four, group) in part[4..].chunks_exact_mut(4).zip(&groups) {
            four.iter_mut().for_each(|v| *v = v.add(*group));
        }
        *total = part[127];
    }
    scan::<T, 8>(&mut parts);
    for (part, before) in tile[128..].chunks_exact_mut(128).zip(&parts) {
        part.iter_mut().for_each(|v| *v = v.add(*before));
    }
}
