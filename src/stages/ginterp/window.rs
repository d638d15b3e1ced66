//! The windows of a row of tiles, and their codes and values in memory.

use super::grid::{TileGrid, TileOrder};
use super::walk::{Row, Window};
use crate::stages::wide::every_second;
use bytemuck::Pod;
use std::ops::Range;

/// Approximate number of elements of a window along x: the data of its levels fits into the second-level
/// cache.
const WIDTH: usize = 256;

impl TileGrid {
    /// Elements of a window along x, its far face not counted.
    fn width(&self) -> usize {
        (WIDTH / self.body[0]).max(1) * self.body[0]
    }

    /// The windows of the tiles with these numbers along y and z.
    pub(super) fn windows(&self, y: usize, z: usize) -> impl Iterator<Item = Window> + use<> {
        let grid = *self;
        (0..grid.tiles[0]).step_by(grid.width() / grid.body[0]).map(move |x| {
            let origin = std::array::from_fn(|d| [x, y, z][d] * grid.body[d]);
            let edges = [grid.width(), grid.body[1], grid.body[2]];
            let extent = std::array::from_fn(|d| {
                let far = usize::from(grid.body[d] > 1);
                (edges[d] + far).min(grid.dims[d] - origin[d])
            });
            Window { origin, extent, body: grid.body, closed: false }
        })
    }
}

/// Where the codes of a row of points are: of each tile that it crosses.
pub(super) struct RowCodes<'a> {
    grid: &'a TileGrid,
    /// Tiles of the row along y and z, and the elements that they own there; tiles along x, all but the last
    /// of the array and that one.
    tile: [usize; 3],
    orders: [TileOrder; 2],
}

impl<'a> RowCodes<'a> {
    /// The window of the tiles from the origin of `window` on, moved by `beside` tiles along y and z.
    pub(super) fn new(grid: &'a TileGrid, window: &Window, beside: [usize; 2]) -> Option<RowCodes<'a>> {
        let mut tile: [usize; 3] = std::array::from_fn(|d| window.origin[d] / grid.body[d]);
        tile[1] += beside[0];
        tile[2] += beside[1];
        if tile[1] >= grid.tiles[1] || tile[2] >= grid.tiles[2] {
            return None;
        }
        let last = grid.owned([grid.tiles[0] - 1, tile[1], tile[2]]);
        let orders = [TileOrder::new([grid.body[0], last[1], last[2]]), TileOrder::new(last)];
        Some(RowCodes { grid, tile, orders })
    }

    /// Points of a row that the tiles of `window` own; the rest belongs to the next window.
    #[inline(always)]
    pub(super) fn owned(&self, row: &Row<'_>, window: &Window) -> usize {
        let elements = self.grid.width().min(self.grid.dims[0] - window.origin[0]);
        let points = elements.div_ceil(1 << row.level);
        if row.odd { points / 2 } else { points.div_ceil(2) }
    }

    /// The pieces of a row of `n` points, one for each tile. `y` and `z` are coordinates in these tiles.
    #[inline(always)]
    pub(super) fn pieces(&self, row: &Row<'_>, [y, z]: [usize; 2], n: usize) -> Pieces {
        let [_, my, mz] = self.grid.owned([0, self.tile[1], self.tile[2]]);
        Pieces {
            each: self.grid.body[0] >> (row.level + 1),
            rest: 0..n,
            tiles: self.grid.tiles[0] - self.tile[0],
            tile: self.grid.first_code(self.tile),
            codes: self.grid.body[0] * my * mz,
            places: self.orders.each_ref().map(|order| order.row(row.level, row.odd, y, z)),
        }
    }
}

/// A struct in place of closures, which are not compiled for the registers of the function that calls them.
pub(super) struct Pieces {
    /// Points of a piece, and those that no piece has yet.
    each: usize,
    rest: Range<usize>,
    /// Tiles of the array from this one on.
    tiles: usize,
    /// Place of the first code of the tile, and codes of a tile.
    tile: usize,
    codes: usize,
    /// Place in a tile and distance of the codes: of an inner tile, and of the last one.
    places: [(usize, usize); 2],
}

/// Points of a row, the place of the first of their codes among all codes, and the distance between two.
pub(super) struct Piece {
    pub(super) points: Range<usize>,
    pub(super) place: usize,
    pub(super) step: usize,
}

impl Iterator for Pieces {
    type Item = Piece;

    #[inline(always)]
    fn next(&mut self) -> Option<Piece> {
        if self.rest.is_empty() || self.tiles == 0 {
            return None;
        }
        let (place, step) = self.places[usize::from(self.tiles == 1)];
        let points = self.rest.start..(self.rest.start + self.each).min(self.rest.end);
        let piece = Piece { points: points.clone(), place: self.tile + place, step };
        self.rest.start = points.end;
        self.tiles -= 1;
        self.tile += self.codes;
        Some(piece)
    }
}

/// Codes of one of the widths, as bytes at any address.
#[inline(always)]
pub(super) fn store_codes(width: usize, bytes: &mut [u8], at: usize, step: usize, codes: &[u32]) {
    match width {
        1 => store_as::<1>(bytes, at, step, codes),
        2 => store_as::<2>(bytes, at, step, codes),
        _ => store_as::<4>(bytes, at, step, codes),
    }
}

#[inline(always)]
fn store_as<const W: usize>(bytes: &mut [u8], at: usize, step: usize, codes: &[u32]) {
    if step == 1 {
        let to = &mut bytes[at * W..(at + codes.len()) * W];
        for (to, c) in to.chunks_exact_mut(W).zip(codes) {
            to.copy_from_slice(&c.to_le_bytes()[..W]);
        }
        return;
    }
    for (i, c) in codes.iter().enumerate() {
        let at = (at + i * step) * W;
        bytes[at..at + W].copy_from_slice(&c.to_le_bytes()[..W]);
    }
}

/// The inverse of [`store_codes`].
#[inline(always)]
pub(super) fn load_codes(width: usize, bytes: &[u8], at: usize, step: usize, codes: &mut [u32]) {
    match width {
        1 => load_as::<1>(bytes, at, step, codes),
        2 => load_as::<2>(bytes, at, step, codes),
        _ => load_as::<4>(bytes, at, step, codes),
    }
}

#[inline(always)]
fn load_as<const W: usize>(bytes: &[u8], at: usize, step: usize, codes: &mut [u32]) {
    let code = |from: &[u8]| {
        let mut c = [0; 4];
        c[..W].copy_from_slice(from);
        u32::from_le_bytes(c)
    };
    if step == 1 {
        let from = &bytes[at * W..(at + codes.len()) * W];
        for (c, from) in codes.iter_mut().zip(from.chunks_exact(W)) {
            *c = code(from);
        }
        return;
    }
    for (i, c) in codes.iter_mut().enumerate() {
        let at = (at + i * step) * W;
        *c = code(&bytes[at..at + W]);
    }
}

/// How many codes are 0.
#[inline(always)]
pub(super) fn count_zeros(width: usize, codes: &[u8]) -> u64 {
    match width {
        1 => zeros_as::<1>(codes),
        2 => zeros_as::<2>(codes),
        _ => zeros_as::<4>(codes),
    }
}

#[inline(always)]
fn zeros_as<const W: usize>(codes: &[u8]) -> u64 {
    let mut zeros = 0;
    for part in codes.chunks(W << 12) {
        let mut of_part = 0;
        for code in part.chunks_exact(W) {
            of_part += u32::from(*code == [0; W]);
        }
        zeros += u64::from(of_part);
    }
    zeros
}

/// Every `step`th value of `bytes` from element `at` on, at any address.
#[inline(always)]
pub(super) fn load_values<T: Pod>(bytes: &[u8], at: usize, step: usize, values: &mut [T]) {
    let w = size_of::<T>();
    let Ok(from) = bytemuck::try_cast_slice::<u8, T>(&bytes[at * w..]) else {
        for (i, v) in values.iter_mut().enumerate() {
            let at = (at + i * step) * w;
            *v = bytemuck::pod_read_unaligned(&bytes[at..at + w]);
        }
        return;
    };
    stride(from, step, values);
}

/// Every `step`th value from the first one on.
#[inline(always)]
pub(super) fn stride<T: Copy>(from: &[T], step: usize, values: &mut [T]) {
    if step == 2 {
        return every_second(from, values);
    }
    for (v, from) in values.iter_mut().zip(from.chunks(step)) {
        *v = from[0];
    }
}
