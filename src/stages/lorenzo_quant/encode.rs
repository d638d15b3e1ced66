//! Values to codes, outliers and exact values.

use super::center;
use super::grid::{DEPTH, RowPart, RowUnit, STRIP, TileGrid};
use super::lane::{DifferenceCode, Lane, by_form};
use super::params::{CENTERED, LorenzoQuantMetadata, LorenzoQuantParams, WHOLE_ERRORS, WHOLE_INDICES};
use super::quantize::LaneQuantize;
use crate::base::error::Fault;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;
use crate::stages::quantizer;
use crate::stages::wide::{Work, available, widest};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Kernel `lorenzo_quant_encode`.
pub(super) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<LorenzoQuantParams>();
    by_form!(p, run(call, &p))
}

type Entries<T> = Vec<(u32, T)>;

/// The parts of a unit without a code: differences, and values; and the means of its tiles, if they are
/// centered.
struct Found<T> {
    outliers: Entries<T>,
    exact: Entries<T>,
    means: Vec<T>,
}

fn run<T: Lane, C: DifferenceCode, const ZIGZAG: bool>(
    call: &mut HostCall<'_>,
    p: &LorenzoQuantParams,
) -> Result<(), Fault> {
    let bound: quantizer::BoundMetadata = at(call.input(1)?, 0).ok_or(Fault::BadLaunch)?;
    let (src, codes, metadata) = (call.input(0)?, call.output(0)?, call.output(1)?);
    let (errors, indices) = (call.output(2)?, call.output(3)?);
    let centered = p.switches & CENTERED != 0;
    let means = if centered { call.output(4)? } else { &mut [] };
    let (w, room) = (size_of::<T>(), (errors.len() / size_of::<T>()).min(indices.len() / 4));
    let grid = TileGrid::new(p, PLANE / DEPTH);
    let coder = Coder::<T> {
        src,
        quantize: LaneQuantize::new(p, &bound),
        radius: T::from_f64(p.radius.into()),
        grid: &grid,
        centered,
        room,
        found: AtomicUsize::new(0),
    };
    let (body, tail) = codes.split_at_mut_checked(grid.count * size_of::<C>()).ok_or(Fault::BadLaunch)?;
    tail.fill(0);
    let mut lists = Lists { errors, indices, len: 0 };
    let (mut exact, mut centers): (Entries<T>, Vec<T>) = (vec![], vec![]);
    let batch = grid.batch() * grid.nx * grid.ny * size_of::<C>();
    for (k, part) in body.chunks_mut(batch.max(1)).enumerate() {
        let units = grid.units(k * grid.batch(), part, size_of::<C>());
        let found = call.threads.each(units, Rows::new, |rows, unit| coder.unit::<C, ZIGZAG>(rows, unit));
        if coder.found.load(Ordering::Relaxed) > room {
            continue;
        }
        // Units of a layer have their planes interleaved.
        let mut found = found.into_iter();
        while found.len() > 0 {
            let mut layer = Found { outliers: vec![], exact: vec![], means: vec![] };
            for unit in found.by_ref().take(grid.bands()) {
                append(&mut layer.outliers, unit.outliers)?;
                append(&mut layer.exact, unit.exact)?;
                append(&mut layer.means, unit.means)?;
            }
            layer.outliers.sort_unstable_by_key(|e| e.0); // seed: lorenzo-order
            layer.exact.sort_unstable_by_key(|e| e.0);
            lists.push(&layer.outliers)?;
            append(&mut exact, layer.exact)?;
            append(&mut centers, layer.means)?;
        }
    }
    let total = coder.found.into_inner();
    if total > room {
        return Err(Fault::OutlierCapacity { needed: total as u64, capacity: room as u64 });
    }
    if centered {
        let centers: &[u8] = bytemuck::cast_slice(&centers);
        let (means, padding) = means.split_at_mut_checked(centers.len()).ok_or(Fault::BadLaunch)?;
        means.copy_from_slice(centers);
        padding.fill(0);
    }
    let outliers = lists.len;
    lists.push(&exact)?;
    let Lists { errors, indices, len } = lists;
    let made = LorenzoQuantMetadata {
        bound: bound.bound,
        exact: exact.len() as u64,
        bound_f32: bound.bound_f32,
        base: bound.base,
        outliers: outliers as u32,
        pad: 0,
    };
    let place = metadata.get_mut(..size_of_val(&made)).ok_or(Fault::BadLaunch)?;
    place.copy_from_slice(bytemuck::bytes_of(&made));
    let whole = |switch: u32| if p.switches & switch != 0 { room } else { len };
    let ends = [whole(WHOLE_ERRORS) * w, whole(WHOLE_INDICES) * 4];
    errors[len * w..ends[0]].fill(0);
    indices[len * 4..ends[1]].fill(0);
    (2..4).zip(ends).try_for_each(|(k, end)| call.publish(k, end as u64))
}

/// Moves a list behind another one; without a copy where that is empty.
fn append<T>(to: &mut Vec<T>, mut from: Vec<T>) -> Result<(), Fault> {
    if to.is_empty() {
        *to = from;
    } else {
        let bytes = size_of::<T>() * from.len();
        to.try_reserve(from.len()).map_err(|_| Fault::OutOfMemory(bytes as u64))?;
        to.append(&mut from);
    }
    Ok(())
}

/// The two lists as far as they are filled.
struct Lists<'a> {
    errors: &'a mut [u8],
    indices: &'a mut [u8],
    len: usize,
}

impl Lists<'_> {
    fn push<T: Lane>(&mut self, entries: &[(u32, T)]) -> Result<(), Fault> {
        let (w, end) = (size_of::<T>(), self.len + entries.len());
        let errors = self.errors.get_mut(self.len * w..end * w).ok_or(Fault::BadLaunch)?;
        let indices = self.indices.get_mut(self.len * 4..end * 4).ok_or(Fault::BadLaunch)?;
        for ((e, i), (index, value)) in
            errors.chunks_exact_mut(w).zip(indices.chunks_exact_mut(4)).zip(entries)
        {
            e.copy_from_slice(bytemuck::bytes_of(value));
            i.copy_from_slice(&index.to_le_bytes());
        }
        self.len = end;
        Ok(())
    }
}

impl<T: Lane> Rows<T> {
    fn new() -> Rows<T> {
        let none = [T::ZERO; STRIP];
        let behind = [T::ZERO; PLANE];
        Rows { x: none, q: none, mean: T::ZERO, part: none, above: none, behind, difference: none }
    }
}

/// The data that units share.
struct Coder<'a, T> {
    src: &'a [u8],
    quantize: LaneQuantize<T>,
    radius: T,
    grid: &'a TileGrid,
    centered: bool,
    /// Entries that the lists hold. Once more were found, they are only counted.
    room: usize,
    found: AtomicUsize,
}

/// Elements of a plane that is kept for the next one.
const PLANE: usize = 4 * STRIP;

/// A row on its way. Nothing of one unit is read in the next.
struct Rows<T> {
    /// Values, where the array ends in the row or is misaligned.
    x: [T; STRIP],
    q: [T; STRIP],
    /// The mean of a centered tile, else 0.
    mean: T,
    /// Differences to the plane behind, along x, or both.
    part: [T; STRIP],
    /// The row that the next row is subtracted from.
    above: [T; STRIP],
    /// The multiples of the plane behind, row by row.
    behind: [T; PLANE],
    difference: [T; STRIP],
}

/// The work on a part of a row; `bytes` is the place of its codes.
struct Row<'a, T, C, const ZIGZAG: bool, const WIDE: bool> {
    coder: &'a Coder<'a, T>,
    rows: &'a mut Rows<T>,
    run: RowPart,
    bytes: Option<&'a mut [u8]>,
    found: &'a mut Found<T>,
    code: PhantomData<C>,
}

impl<T: Lane, C: DifferenceCode, const ZIGZAG: bool, const WIDE: bool> Work for Row<'_, T, C, ZIGZAG, WIDE> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let Row { coder, rows, run, bytes, found, .. } = self;
        coder.multiples::<WIDE>(rows, run, &mut found.exact);
        if coder.centered {
            coder.center(rows, run);
            found.means.push(rows.mean);
        }
        coder.differences::<WIDE>(rows, run);
        if let Some(bytes) = bytes {
            coder.codes::<C, ZIGZAG>(rows, run, bytes, &mut found.outliers);
        }
    }
}

impl<T: Lane> Coder<'_, T> {
    fn unit<C: DifferenceCode, const ZIGZAG: bool>(&self, rows: &mut Rows<T>, unit: RowUnit<'_>) -> Found<T> {
        let RowUnit { z, y, mut planes } = unit;
        let mut found = Found { outliers: vec![], exact: vec![], means: vec![] };
        let walk = |rows: &mut Rows<T>, run: RowPart| {
            let w = size_of::<C>();
            let bytes = planes[run.plane].get_mut(run.at * w..(run.at + run.len) * w);
            let found = &mut found;
            if available() {
                widest(Row::<T, C, ZIGZAG, true> { coder: self, rows, run, bytes, found, code: PhantomData });
            } else {
                Row::<T, C, ZIGZAG, false> { coder: self, rows, run, bytes, found, code: PhantomData }.run();
            }
        };
        self.grid.walk(z, y, rows, walk, |_, _| {});
        found
    }

    /// Values beyond the end of the array count as zero.
    #[inline(always)]
    fn multiples<const WIDE: bool>(&self, rows: &mut Rows<T>, run: RowPart, exact: &mut Entries<T>) {
        let w = size_of::<T>();
        let Rows { x: copy, q, .. } = rows;
        run.prefetch(self.src, w);
        let bytes = self.src.get(run.start * w..(run.start + run.len) * w);
        let x = match bytes.and_then(|bytes| bytemuck::try_cast_slice(bytes).ok()) {
            Some(values) => values,
            // The array ends in the row, or is misaligned.
            None => {
                let there = self.src.get(run.start * w..).unwrap_or_default();
                let n = (there.len() / w).min(run.len); // seed: misaligned-row
                let (values, missing) = copy[..run.len].split_at_mut(n);
                bytemuck::cast_slice_mut(values).copy_from_slice(&there[..n * w]);
                missing.fill(T::ZERO); // seed: row-behind-the-end
                &copy[..run.len]
            }
        };
        let q = &mut q[..x.len()];
        // A copy is not aliased by `q`.
        let quantize = self.quantize;
        if !quantize.run::<WIDE>(x, q) {
            self.repair(x, q, run, exact);
        }
    }

    /// A tile of one dimension around its mean.
    fn center(&self, rows: &mut Rows<T>, run: RowPart) {
        let (tile, strict) = (&mut rows.q[..run.len], self.quantize.strict);
        rows.mean = center::mean(tile, strict);
        if strict {
            center::stand_in(tile, rows.mean);
        }
    }

    /// The values that the fast pass did not settle. One that stays exact takes the multiple of its neighbor along x, so
    /// that its difference is 0 there, and no other value notices it. Before the mean of a tile is known, NaN holds its place.
    #[cold]
    fn repair(&self, x: &[T], q: &mut [T], run: RowPart, exact: &mut Entries<T>) {
        let before = exact.len();
        for i in 0..x.len() {
            q[i] = match self.quantize.find(x[i]) {
                Some(q) => q,
                None => {
                    exact.push(((run.start + i) as u32, x[i]));
                    let first = i % self.grid.tile[0] == 0;
                    if self.centered {
                        T::NAN
                    } else if first {
                        T::ZERO
                    } else {
                        q[i - 1] // seed: lorenzo-stand-in
                    }
                }
            };
        }
        self.count(exact, before);
    }

    /// Adds to the number of entries found; drops entries for which no list has room.
    fn count(&self, list: &mut Entries<T>, before: usize) {
        let new = list.len() - before;
        if self.found.fetch_add(new, Ordering::Relaxed) + new > self.room {
            list.clear();
        }
    }

    /// In one dimension along x; in two along y, then x; in three along z, x, y: the order of the format, which shows
    /// only where differences round.
    #[inline(always)]
    fn differences<const WIDE: bool>(&self, rows: &mut Rows<T>, run: RowPart) {
        let (n, width) = (run.len, self.grid.tile[0]);
        let Rows { q, mean, part, above, behind, difference, .. } = rows;
        let (q, part, d) = (&q[..n], &mut part[..n], &mut difference[..n]);
        match self.grid.ndim {
            1 => {
                along(q, d, width);
                // A row is a tile.
                d.iter_mut().zip(q).take(1).for_each(|(d, &q)| *d = q.sub(*mean));
            }
            2 => {
                minus(q, &above[..n], part, run.row > 0);
                above[..n].copy_from_slice(q);
                along(part, d, width);
            }
            _ => {
                let behind = &mut behind[run.row * self.grid.strip..][..n];
                minus(q, behind, d, run.plane > 0);
                behind.copy_from_slice(q);
                along_eights::<T, WIDE>(d, part);
                minus(part, &above[..n], d, run.row > 0);
                above[..n].copy_from_slice(part);
            }
        }
    }

    #[inline(always)]
    fn codes<C: DifferenceCode, const ZIGZAG: bool>(
        &self,
        rows: &Rows<T>,
        run: RowPart,
        bytes: &mut [u8],
        outliers: &mut Entries<T>,
    ) {
        let (difference, radius) = (&rows.difference[..run.len], self.radius);
        let mut all = true;
        for (to, &d) in bytes.chunks_exact_mut(size_of::<C>()).zip(difference) {
            // NaN is not below anything.
            let inside = d.abs() < radius;
            to.copy_from_slice(bytemuck::bytes_of(&C::of::<T, ZIGZAG>(if inside { d } else { T::ZERO })));
            all &= inside;
        }
        if !all {
            self.list(difference, run, outliers);
        }
    }

    #[cold]
    fn list(&self, difference: &[T], run: RowPart, outliers: &mut Entries<T>) {
        let before = outliers.len();
        for (i, d) in difference.iter().enumerate() {
            let inside = d.abs() < self.radius;
            if !inside {
                outliers.push(((run.start + i) as u32, d.canonical()));
            }
        }
        self.count(outliers, before);
    }
}

/// a - b, or a if there is nothing to subtract.
#[inline(always)]
fn minus<T: Lane>(a: &[T], b: &[T], out: &mut [T], any: bool) {
    if any {
        out.iter_mut().zip(a).zip(b).for_each(|((o, &a), &b)| *o = a.sub(b));
    } else {
        out.copy_from_slice(a);
    }
}

/// Differences of neighbors, fresh at the start of every tile.
#[inline(always)]
pub(super) fn along<T: Lane>(a: &[T], out: &mut [T], width: usize) {
    if let Some(first) = out.first_mut() {
        *first = a[0];
    }
    out.iter_mut().skip(1).zip(a).zip(&a[1.min(a.len())..]).for_each(|((o, &b), &a)| *o = a.sub(b));
    out.iter_mut().zip(a).step_by(width).for_each(|(o, &a)| *o = a);
}

/// The same for tiles of a width of eight.
#[inline(always)]
fn along_eights<T: Lane, const WIDE: bool>(a: &[T], out: &mut [T]) {
    let whole = if WIDE { a.len() / DEPTH * DEPTH } else { 0 };
    for (a, out) in a[..whole].chunks_exact(DEPTH).zip(out.chunks_exact_mut(DEPTH)) {
        if let (Some(a), Some(out)) = (a.first_chunk::<DEPTH>(), out.first_chunk_mut::<DEPTH>()) {
            T::along_wide(a, out);
        }
    }
    along(&a[whole..], &mut out[whole..], DEPTH);
}
