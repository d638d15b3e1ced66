//! Kernel `ginterp_encode`: values to codes, anchors, and lists of values without a code.

use super::code::{Bounded, Coding, Literal, Numbers};
use super::grid::{TileGrid, TileOrder};
use super::params::{GinterpMetadata, GinterpParams, STRICT};
use super::predict::LevelFlags;
use super::value::SplineValue;
use super::walk::{Points, Row, Walk, Window};
use super::window::{RowCodes, load_values, store_codes, stride};
use crate::base::error::Fault;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;
use crate::stages::wide::{Work, widest};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<GinterpParams>();
    match (p.value, p.switches & STRICT != 0) {
        (4, true) => run::<Bounded<f32>>(call, &p),
        (8, true) => run::<Bounded<f64>>(call, &p),
        (4, false) => run::<Literal<f32>>(call, &p),
        (8, false) => run::<Literal<f64>>(call, &p),
        _ => Err(Fault::BadLaunch),
    }
}

/// Rows of tiles that are worked on at once: enough for all threads, few enough to list them.
pub(super) const BATCH: usize = 256;

/// Entries of the lists: the place of the code among all codes, and the listed value.
type Entries<T> = Vec<(usize, T)>;

/// A row of tiles along x.
struct Band<'a> {
    y: usize,
    z: usize,
    /// Its codes, the first of which has this place.
    first: usize,
    codes: &'a mut [u8],
    anchors: &'a mut [u8],
}

fn run<C: Coding>(call: &mut HostCall<'_>, p: &GinterpParams) -> Result<(), Fault> {
    let resolved: GinterpMetadata = at(call.input(1)?, 0).ok_or(Fault::BadLaunch)?;
    let (src, codes, metadata) = (call.input(0)?, call.output(0)?, call.output(1)?);
    let (anchors, values, indices) = (call.output(2)?, call.output(3)?, call.output(4)?);
    let (grid, w) = (TileGrid::new(p), size_of::<C::Value>());
    if src.len() < grid.elements() * w || anchors.len() != grid.anchors() * w {
        return Err(Fault::BadLaunch);
    }
    let room = (values.len() / w).min(indices.len() / 4);
    let (codes, padding) =
        codes.split_at_mut_checked(grid.elements() * usize::from(p.code)).ok_or(Fault::BadLaunch)?;
    padding.fill(0);
    let encoder = Encoder::<C> {
        src,
        grid: &grid,
        flags: level_flags(&resolved, grid.levels),
        coding: C::new(Numbers::new(p, &resolved)),
        width: p.code.into(),
        radius: resolved.radius,
        room,
        found: AtomicUsize::new(0),
    };
    let mut bands = split(&grid, p.code.into(), w, codes, anchors);
    let mut lists = values.chunks_exact_mut(w).zip(indices.chunks_exact_mut(4));
    loop {
        let batch: Vec<Band<'_>> = bands.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        let found = call
            .threads
            .each(batch, Memory::new, |memory, band| widest(EncodeBand { encoder: &encoder, memory, band }));
        if encoder.found.load(Ordering::Relaxed) > room {
            continue;
        }
        for (index, value) in found.into_iter().flatten() {
            let (v, i) = lists.next().ok_or(Fault::BadLaunch)?;
            v.copy_from_slice(bytemuck::bytes_of(&value));
            i.copy_from_slice(&(index as u32).to_le_bytes());
        }
    }
    let total = encoder.found.load(Ordering::Relaxed);
    if total > room {
        return Err(Fault::OutlierCapacity { needed: total as u64, capacity: room as u64 });
    }
    call.publish(3, (total * w) as u64)?;
    call.publish(4, (total * 4) as u64)?;
    let made = GinterpMetadata { exact: total as u64, outliers: total as u32, ..resolved };
    let made = bytemuck::bytes_of(&made);
    metadata.get_mut(..made.len()).ok_or(Fault::BadLaunch)?.copy_from_slice(made);
    Ok(())
}

/// The flags of the first `levels` levels.
pub(super) fn level_flags(metadata: &GinterpMetadata, levels: usize) -> Vec<LevelFlags> {
    metadata.flags[..levels].iter().map(|&bits| LevelFlags::of(bits)).collect()
}

/// Codes and anchors of each row of tiles.
fn split<'a>(
    grid: &TileGrid,
    code: usize,
    value: usize,
    mut codes: &'a mut [u8],
    mut anchors: &'a mut [u8],
) -> impl Iterator<Item = Band<'a>> {
    let grid = *grid;
    let [rows_y, rows_z] = grid.rows();
    (0..rows_y * rows_z).map(move |i| {
        let (y, z) = (i % rows_y, i / rows_y);
        let [_, my, mz] = grid.owned([0, y, z]);
        let (own, rest) = std::mem::take(&mut codes).split_at_mut(grid.dims[0] * my * mz * code);
        let (anchor, after) = std::mem::take(&mut anchors).split_at_mut(grid.tiles[0] * value);
        (codes, anchors) = (rest, after);
        Band { y, z, first: grid.first_code([0, y, z]), codes: own, anchors: anchor }
    })
}

struct Encoder<'a, C> {
    src: &'a [u8],
    grid: &'a TileGrid,
    flags: Vec<LevelFlags>,
    coding: C,
    /// Bytes of a code.
    width: usize,
    radius: u32,
    room: usize,
    found: AtomicUsize,
}

struct EncodeBand<'a, 'b, C: Coding> {
    encoder: &'a Encoder<'a, C>,
    memory: &'a mut Memory<C::Value>,
    band: Band<'b>,
}

/// Memory of a thread.
struct Memory<T> {
    walk: Walk<T>,
    /// The values of a window.
    values: Vec<T>,
}

impl<T: SplineValue> Memory<T> {
    fn new() -> Memory<T> {
        Memory { walk: Walk::new(), values: vec![] }
    }
}

impl<C: Coding> Work for EncodeBand<'_, '_, C> {
    type Result = Entries<C::Value>;

    #[inline(always)]
    fn run(self) -> Self::Result {
        self.encoder.band(self.memory, self.band)
    }
}

impl<T: SplineValue, C: Coding<Value = T>> Encoder<'_, C> {
    /// Returns the entries of the lists in the order of the codes, with indices of elements in place of places.
    #[inline(always)]
    fn band(&self, memory: &mut Memory<T>, band: Band<'_>) -> Entries<T> {
        let (grid, Memory { walk, values }) = (self.grid, memory);
        let mut entries = vec![];
        let mut codes = BandCodes { bytes: band.codes, first: band.first, width: self.width };
        for window in grid.windows(band.y, band.z) {
            self.load(&window, values);
            let value = |at: [usize; 3]| values[window.place(at)];
            walk.start(&window, |at| self.coding.anchor(value(at)));
            let Some(rows) = RowCodes::new(grid, &window, [0, 0]) else { continue };
            let mut points = EncodePoints {
                encoder: self,
                window: &window,
                values,
                rows,
                codes: &mut codes,
                x: vec![],
                row: vec![],
                entries: &mut entries,
            };
            walk.levels::<C::Arithmetic>(&window, &self.flags, &mut points);
            for x in (0..window.extent[0]).step_by(grid.body[0]) {
                let tile = (window.origin[0] + x) / grid.body[0];
                let place = grid.first_code([tile, band.y, band.z]);
                codes.store(place, 1, &[self.radius]);
                let w = size_of::<T>();
                band.anchors[tile * w..(tile + 1) * w].copy_from_slice(bytemuck::bytes_of(&value([x, 0, 0])));
            }
        }
        self.count(&mut entries);
        entries.sort_unstable_by_key(|entry| entry.0);
        let mut orders = OrderOfTile::default();
        for entry in &mut entries {
            entry.0 = orders.element(grid, [band.y, band.z], entry.0);
        }
        entries
    }

    /// The values of a window. Each value is read several times, and in the array the cache lines of one
    /// place in many planes would evict each other if the dimensions are powers of two.
    #[inline(always)]
    fn load(&self, window: &Window, values: &mut Vec<T>) {
        let [nx, ny, nz] = window.extent;
        values.resize(nx * ny * nz, T::ZERO);
        for (i, row) in values.chunks_exact_mut(nx).enumerate() {
            let at = [0, i % ny, i / ny];
            let first = self.grid.element(std::array::from_fn(|d| window.origin[d] + at[d]));
            load_values(self.src, first, 1, row);
        }
    }

    /// Adds to the number of entries found; drops entries for which no list has room.
    fn count(&self, entries: &mut Entries<T>) {
        if self.found.fetch_add(entries.len(), Ordering::Relaxed) + entries.len() > self.room {
            entries.clear();
        }
    }
}

/// The order of the codes of the tile that was asked for last.
#[derive(Default)]
struct OrderOfTile(Option<(usize, TileOrder)>);

impl OrderOfTile {
    /// The element whose code has this place, in a row of tiles.
    fn element(&mut self, grid: &TileGrid, [y, z]: [usize; 2], place: usize) -> usize {
        let [_, my, mz] = grid.owned([0, y, z]);
        let behind = place - grid.first_code([0, y, z]);
        let x = behind / (grid.body[0] * my * mz);
        let tile = [x, y, z];
        let order = match &self.0 {
            Some((last, order)) if *last == x => *order,
            _ => TileOrder::new(grid.owned(tile)),
        };
        self.0 = Some((x, order));
        let local = order.point(place - grid.first_code(tile));
        grid.element(std::array::from_fn(|d| tile[d] * grid.body[d] + local[d]))
    }
}

/// The codes of a row of tiles.
struct BandCodes<'a> {
    bytes: &'a mut [u8],
    first: usize,
    width: usize,
}

impl BandCodes<'_> {
    #[inline(always)]
    fn store(&mut self, place: usize, step: usize, codes: &[u32]) {
        store_codes(self.width, self.bytes, place - self.first, step, codes);
    }
}

struct EncodePoints<'a, 'b, C: Coding> {
    encoder: &'a Encoder<'a, C>,
    window: &'a Window,
    values: &'a [C::Value],
    rows: RowCodes<'a>,
    codes: &'a mut BandCodes<'b>,
    x: Vec<C::Value>,
    row: Vec<u32>,
    entries: &'a mut Entries<C::Value>,
}

impl<T: SplineValue, C: Coding<Value = T>> Points<T> for EncodePoints<'_, '_, C> {
    #[inline(always)]
    fn row(&mut self, row: &Row<'_>, p: &[T], v: &mut [T]) {
        let (e, n) = (self.encoder, p.len());
        let spacing = 1 << row.level;
        let first = self.window.place([if row.odd { spacing } else { 0 }, row.y, row.z]);
        self.x.resize(n, T::ZERO);
        self.row.resize(n, 0);
        stride(&self.values[first..], 2 * spacing, &mut self.x);
        let all = e.coding.encode(row, &self.x, p, v, &mut self.row);
        if row.y == self.window.body[1] || row.z == self.window.body[2] {
            return;
        }
        let own = self.rows.owned(row, self.window);
        let (codes, kept) = (&mut *self.codes, &self.row);
        for piece in self.rows.pieces(row, [row.y, row.z], own) {
            codes.store(piece.place, piece.step, &kept[piece.points]);
        }
        if all {
            return;
        }
        for piece in self.rows.pieces(row, [row.y, row.z], own) {
            for (k, i) in piece.points.enumerate() {
                if let Some(value) = e.coding.kept(row, self.x[i], p[i], self.row[i]) {
                    self.entries.push((piece.place + k * piece.step, value));
                }
            }
        }
    }
}
