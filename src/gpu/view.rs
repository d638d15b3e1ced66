//! Strided arrays on a device: the device functions that pack and distribute them, and their argument.
//!
//! `kernels/common/view.h` is generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use super::{Context, LaunchAttrs, Stream, function};
use crate::base::array::MAX_DIMS;
use crate::base::error::Result;
use crate::base::strided::{Dim, Layout};

/// Dimensions of an array, and one for the bytes of elements that are not aligned.
pub const VIEW_DIMS: usize = 9;
const _: () = assert!(VIEW_DIMS == MAX_DIMS + 1);

/// Threads of a block.
pub const VIEW_BLOCK: u32 = 256;

/// Rows and columns of a tile, in units.
pub const VIEW_TILE: u32 = 32;

/// The largest unit in bytes.
const WIDEST: u64 = 16;

/// The argument of the device functions that copy: places of units, which are elements, parts of elements, or several elements.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ViewArgs {
    /// The address of the first unit of the strided array.
    pub origin: u64,
    /// The address of the packed array.
    pub packed: u64,
    /// The status block of a decompression that has ended. Nothing is written if the decompression has failed.
    pub status: u64,
    /// Units of a row, and the lengths of the other dimensions.
    pub counts: [u64; VIEW_DIMS],
    /// Distance between neighbors in the strided array, in bytes.
    pub strides: [i64; VIEW_DIMS],
    /// The same in the packed array. Units of a row have no gaps there.
    pub packed_strides: [u64; VIEW_DIMS],
    pub rows: u64,
    /// Pieces of a row, and units of a piece. `lanes` threads copy a piece, if there are no tiles.
    pub pieces: u64,
    pub piece_units: u32,
    /// A power of two, at most 32.
    pub lanes: u32,
    /// Bytes of a unit: 1, 2, 4, 8, or 16. All units are aligned to it, in both arrays.
    pub unit: u32,
    pub ndim: u32,
}
const _: () = assert!(size_of::<ViewArgs>() == 272);

impl ViewArgs {
    /// The places of a strided array at `origin`, and of its packed form.
    pub(crate) fn new(layout: &Layout, origin: u64, packed: u64) -> ViewArgs {
        /// Units that a thread copies together, and units of a piece for each thread.
        const TOGETHER: u64 = 4;
        const EACH: u64 = 8;
        let (width, mut dims) = (layout.width(), layout.dims().to_vec());
        // Bytes without a gap: those of a row, or of an element.
        let whole = match dims.first() {
            Some(x) if x.stride == width as i64 => width * dims.remove(0).count,
            _ => width,
        };
        let steps = dims.iter().fold(0, |bits, dim| bits | dim.stride.unsigned_abs() | dim.packed);
        let unit = 1 << (origin | packed | whole | steps | WIDEST).trailing_zeros();
        let row = if whole == unit && !dims.is_empty() {
            dims.remove(0)
        } else {
            Dim { count: whole / unit, stride: unit as i64, packed: unit }
        };
        // Threads of a block copy rows that are near each other in memory.
        dims.sort_by_key(|dim| dim.stride.unsigned_abs());
        let rows = dims.iter().map(|dim| dim.count).product();
        dims.insert(0, row);
        let lanes = row.count.div_ceil(TOGETHER).clamp(1, 32).next_power_of_two();
        let pieces = row.count.div_ceil(lanes * EACH).max(1);
        let piece_units = row.count.div_ceil(pieces).next_multiple_of(lanes);
        let (mut counts, mut strides, mut packed_strides) = ([0; VIEW_DIMS], [0; VIEW_DIMS], [0; VIEW_DIMS]);
        for (d, dim) in dims.iter().enumerate() {
            (counts[d], strides[d], packed_strides[d]) = (dim.count, dim.stride, dim.packed);
        }
        ViewArgs {
            origin,
            packed,
            status: 0,
            counts,
            strides,
            packed_strides,
            rows,
            pieces: row.count.div_ceil(piece_units),
            piece_units: piece_units as u32,
            lanes: lanes as u32,
            unit: unit as u32,
            ndim: dims.len() as u32,
        }
    }

    /// The device functions that pack, or those that distribute: without tiles, and with them.
    pub(crate) fn entries(packs: bool) -> [&'static str; 2] {
        if packs { ["pack_view", "pack_view_tiles"] } else { ["unpack_view", "unpack_view_tiles"] }
    }

    /// True if neighbors of dimension 1 are closer in the strided array than neighbors of a row. Blocks then copy tiles of both
    /// dimensions, so that neighboring threads access neighboring memory in both arrays.
    fn tiled(&self) -> bool {
        // Tiles of fewer units leave most threads without work.
        const FEWEST: u64 = VIEW_TILE as u64 / 2;
        let [row, next] = [self.strides[0], self.strides[1]].map(i64::unsigned_abs);
        self.ndim > 1 && next < row && self.counts[0] >= FEWEST && self.counts[1] >= FEWEST
    }

    /// Puts the launch that packs on a stream.
    pub(crate) fn pack(&self, context: &Context, stream: Stream) -> Result<()> {
        self.launch(true, context, stream, false)
    }

    /// Puts the launch that distributes on a stream, if the decompression with this status block succeeds. `follows`: that
    /// decompression is the last work on the stream.
    pub(crate) fn unpack(&self, context: &Context, stream: Stream, status: u64, follows: bool) -> Result<()> {
        ViewArgs { status, ..*self }.launch(false, context, stream, follows)
    }

    fn launch(&self, packs: bool, context: &Context, stream: Stream, follows: bool) -> Result<()> {
        /// More than any device runs at a time.
        const MOST: u64 = 4096;
        let tiled = self.tiled();
        let blocks = if tiled {
            let [x, y] = [self.counts[0], self.counts[1]];
            x.div_ceil(u64::from(VIEW_TILE)) * y.div_ceil(u64::from(VIEW_TILE)) * (self.rows / y)
        } else {
            (self.rows * self.pieces).div_ceil(u64::from(VIEW_BLOCK / self.lanes))
        };
        let way = LaunchAttrs { follows, short: false };
        let entry = ViewArgs::entries(packs)[usize::from(tiled)];
        function(context, entry)?.launch(context, (blocks.min(MOST), 1), VIEW_BLOCK, stream, way, self)
    }
}
