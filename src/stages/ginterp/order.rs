//! Kernels `ginterp_level_order` and `ginterp_tile_order`: codes of the reference, which are stored level by
//! level in the whole array, from and to the order of tiles.

use super::grid::TileGrid;
use super::params::GinterpParams;
use crate::base::error::Fault;
use crate::ir::kernel::HostCall;

/// Levels of the reference.
const LEVELS: usize = super::params::LEVELS as usize;

pub(super) fn to_levels(call: &mut HostCall<'_>) -> Result<(), Fault> {
    permute(call, |by_tiles, by_levels| (by_tiles, by_levels))
}

pub(super) fn to_tiles(call: &mut HostCall<'_>) -> Result<(), Fault> {
    permute(call, |by_tiles, by_levels| (by_levels, by_tiles))
}

/// `from` orders the place of a code in tiles and that in levels: where it comes from, and where it goes.
fn permute(call: &mut HostCall<'_>, from: fn(usize, usize) -> (usize, usize)) -> Result<(), Fault> {
    let p = call.params::<GinterpParams>();
    let (src, dst, w) = (call.input(0)?, call.output(0)?, usize::from(p.code));
    let grid = TileGrid::new(&p);
    let end = grid.elements() * w;
    if src.len() < end || dst.len() < end {
        return Err(Fault::Corrupt);
    }
    for i in 0..grid.elements() {
        let at = grid.coordinates(i);
        let (from, to) = from(grid.place(at), level_place(&grid, at));
        dst[to * w..(to + 1) * w].copy_from_slice(&src[from * w..(from + 1) * w]);
    }
    dst[end..].fill(0);
    Ok(())
}

/// The place of an element among the codes of the reference: anchors, then the points of each level that no coarser one has, x
/// fastest.
fn level_place(grid: &TileGrid, mut at: [usize; 3]) -> usize {
    let mut dims = grid.dims;
    let mut level = 0;
    while level < LEVELS && at.iter().all(|x| x % 2 == 0) {
        at = at.map(|x| x / 2);
        dims = dims.map(|d| d.div_ceil(2));
        level += 1;
    }
    let ([x, y, z], [nx, ny, _]) = (at, dims);
    let place = x + nx * (y + ny * z);
    if level == LEVELS {
        return place;
    }
    let [ex, ey, ez] = dims.map(|d| d.div_ceil(2));
    let mut before = z.div_ceil(2) * ex * ey;
    if z % 2 == 0 {
        before += y.div_ceil(2) * ex;
        if y % 2 == 0 {
            before += x.div_ceil(2);
        }
    }
    ex * ey * ez + place - before
}
