//! Codes, outliers and exact values back to values.

use super::center;
use super::grid::{Block, DEPTH, RowPart, RowUnit, STRIP, TileGrid};
use super::lane::{DifferenceCode, Lane, by_form};
use super::params::{CENTERED, LorenzoQuantMetadata, LorenzoQuantParams};
use crate::base::error::Fault;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;
use crate::stages::wide::{LANES, Work, available, widest};
use bytemuck::Pod;
use std::borrow::Cow;
use std::marker::PhantomData;

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

/// The work on a part of a row. In three dimensions it remains in the block, otherwise it goes to `plane`.
struct Row<'a, T: Lane, C, const ZIGZAG: bool, const WIDE: bool> {
    restorer: &'a Restorer<'a, T>,
    sums: &'a mut Reduction<T>,
    run: RowPart,
    plane: &'a mut [u8],
    code: PhantomData<C>,
}

impl<T: Lane, C: DifferenceCode, const ZIGZAG: bool, const WIDE: bool> Work for Row<'_, T, C, ZIGZAG, WIDE> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let (of, run) = (self.restorer, self.run);
        let Reduction { row, column, carry, block } = self.sums;
        let end = run.len.next_multiple_of(of.grid.tile[0]);
        if of.grid.ndim == 3 {
            let row = &mut block[of.place(run.plane, run.row)..][..end];
            of.load::<C, ZIGZAG>(row, run);
            sum_3d(row, column, run);
            for eight in row.chunks_exact_mut(DEPTH) {
                match eight.first_chunk_mut::<DEPTH>() {
                    Some(eight) if WIDE => T::scan_wide(eight),
                    _ => scan::<T, DEPTH>(eight),
                }
            }
            return;
        }
        of.load::<C, ZIGZAG>(&mut row[..end], run);
        if of.grid.ndim == 1 {
            scan_1d(row);
            // seed: lorenzo-mean-tile
            if let Some(mean) = at::<T>(of.means, run.start / STRIP) {
                row.iter_mut().for_each(|v| *v = v.add(mean));
            }
        } else {
            sum_2d(row, column, carry, run);
            row[..end].chunks_exact_mut(32).for_each(scan::<T, 32>);
        }
        of.store(&row[..run.len], self.plane, run.at);
    }
}

/// Sums along z, and all rows of a block to values.
struct Finish<'a, 'p, T: Lane> {
    restorer: &'a Restorer<'a, T>,
    sums: &'a [T],
    planes: &'a mut [&'p mut [u8]; DEPTH],
    block: Block,
}

impl<T: Lane> Work for Finish<'_, '_, T> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let Finish { restorer, sums, planes, block } = self;
        let grid = restorer.grid;
        for (k, row) in block.rows.clone().enumerate() {
            for x in (0..block.width).step_by(LANES) {
                let v = restorer.sum_along_z(sums, k, x);
                let (at, n) = (row * grid.nx + block.x + x, LANES.min(block.width - x));
                if (n, block.planes) == (LANES, DEPTH) {
                    for plane in 0..DEPTH {
                        restorer.store_lanes(v[plane], planes[plane], at);
                    }
                    continue;
                }
                // A copy: with a slice of unknown length, `v` would be in memory for whole tiles too.
                let part = v;
                for (plane, v) in planes.iter_mut().zip(&part).take(block.planes) {
                    restorer.store(&v[..n], plane, at);
                }
            }
        }
    }
}

impl<T: Lane> Restorer<'_, T> {
    fn unit<C: DifferenceCode, const ZIGZAG: bool>(&self, sums: &mut Reduction<T>, unit: RowUnit<'_>) {
        let RowUnit { z, y, planes } = unit;
        let mut state = (sums, planes);
        let walk = |(sums, planes): &mut (&mut Reduction<T>, [&mut [u8]; DEPTH]), run: RowPart| {
            let (restorer, plane) = (self, &mut *planes[run.plane]);
            if available() {
                widest(Row::<T, C, ZIGZAG, true> { restorer, sums, run, plane, code: PhantomData });
            } else {
                Row::<T, C, ZIGZAG, false> { restorer, sums, run, plane, code: PhantomData }.run();
            }
        };
        let end = |(sums, planes): &mut (&mut Reduction<T>, [&mut [u8]; DEPTH]), block: Block| {
            if self.grid.ndim == 3 {
                widest(Finish { restorer: self, sums: &sums.block, planes, block });
            }
        };
        self.grid.walk(z, y, &mut state, walk, end);
    }

    /// The differences of a row, zeros up to the end of its last tile.
    #[inline(always)]
    fn load<C: DifferenceCode, const ZIGZAG: bool>(&self, row: &mut [T], run: RowPart) {
        let w = size_of::<C>();
        run.prefetch(self.codes, w);
        let codes = self.codes.get(run.start * w..(run.start + run.len) * w).unwrap_or_default();
        let (there, missing) = row.split_at_mut(codes.len() / w);
        for (d, code) in there.iter_mut().zip(codes.chunks_exact(w)) {
            *d = bytemuck::pod_read_unaligned::<C>(code).difference::<T, ZIGZAG>();
        }
        missing.fill(T::ZERO);
        self.list.add(run, there);
    }

    /// Sums to values; `at` is the first element of the row in `plane`.
    #[inline(always)]
    fn store(&self, row: &[T], plane: &mut [u8], at: usize) {
        let (w, step) = (size_of::<T>(), self.step);
        // The array may end before its padding does.
        let out = plane.get_mut(at * w..).unwrap_or_default();
        for (out, &v) in out.chunks_exact_mut(w).zip(row) {
            out.copy_from_slice(bytemuck::bytes_of(&v.mul(step).canonical()));
        }
    }

    /// The same for a row of a tile.
    #[inline(always)]
    fn store_lanes(&self, sums: [T; LANES], plane: &mut [u8], at: usize) {
        let w = size_of::<T>();
        match plane.get_mut(at * w..(at + LANES) * w) {
            Some(out) => {
                let mut values = [T::ZERO; LANES];
                values.iter_mut().zip(sums).for_each(|(value, sum)| *value = sum.mul(self.step).canonical());
                out.copy_from_slice(bytemuck::cast_slice(&values));
            }
            None => {
                let part = sums;
                self.store(&part, plane, at);
            }
        }
    }

    /// The values of eight columns, from one row of each plane of the block, summed along z.
    #[inline(always)]
    fn sum_along_z(&self, sums: &[T], row: usize, x: usize) -> [[T; LANES]; DEPTH] {
        let mut v = [[T::ZERO; LANES]; DEPTH];
        for (plane, v) in v.iter_mut().enumerate() {
            v.copy_from_slice(&sums[self.place(plane, row) + x..][..LANES]);
        }
        for distance in [1, 2, 4] {
            for plane in (distance..DEPTH).rev() {
                let below = v[plane - distance];
                for (v, b) in v[plane].iter_mut().zip(below) {
                    *v = v.add(b);
                }
            }
        }
        v
    }

    /// Where a row of a plane starts in the block.
    fn place(&self, plane: usize, row: usize) -> usize {
        (plane * DEPTH + row) * self.grid.strip
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
pub(super) fn scan<T: Lane, const N: usize>(values: &mut [T]) {
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
