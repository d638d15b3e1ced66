//! The part of an array that a choice looks at: blocks from all over it, stacked along the slowest dimension.

use crate::base::array::Array;
use crate::base::byte_source::Source;
use crate::base::dtype::DType;
use crate::base::error::Result;
use crate::base::strided::{Layout, Row};
use crate::codec::buffer;
use crate::stages::lattice::{self, FoundLattice};
use crate::stages::wide::{Work, widest};

/// Elements of the sample: one of 512 of the array, between the limits of its size.
const SHARE: u64 = 512;
/// The value range is that of one of 8 elements of the array, in pieces.
const RANGE_SHARE: u64 = 8;
const PIECES: u64 = 64;
/// Elements of a piece.
const LEAST_PIECE: u64 = 1 << 10;
const MOST_PIECE: u64 = 1 << 12;
/// Values that a lattice is looked for in.
const LATTICE_VALUES: usize = 1 << 11;

/// Elements of a sample and of its blocks.
#[derive(Clone, Copy)]
pub(super) struct Size {
    least: u64,
    most: u64,
    /// Shapes of a block for one, two, and three dimensions, of whole chunks and tiles of the stages.
    blocks: [[u64; 3]; 3],
}

impl Size {
    /// For comparisons: many blocks.
    pub(super) const SMALL: Size =
        Size { least: 1 << 16, most: 1 << 17, blocks: [[8192, 1, 1], [256, 32, 1], [64, 32, 4]] };
    /// For targets: blocks with most of the coarse grids.
    pub(super) const LARGE: Size =
        Size { least: 1 << 17, most: 1 << 18, blocks: [[32768, 1, 1], [128, 256, 1], [64, 32, 16]] };
}

pub(super) struct Sample {
    /// Shape of the stacked blocks, and that of the first two.
    pub(super) array: Array,
    pub(super) first: Array,
    pub(super) bytes: Vec<u8>,
    /// Smallest and largest bounded value of some pieces; infinity and -infinity if no value is bounded.
    pub(super) range: (f64, f64),
    pub(super) threshold: f64,
}

impl Sample {
    pub(super) fn new(array: &Array, src: &dyn Source, threshold: f64, size: Size) -> Result<Sample> {
        let blocks = Blocks::new(array, size);
        let (first, all) =
            (blocks.stacked(array, blocks.count.min(2))?, blocks.stacked(array, blocks.count)?);
        let mut parts = blocks.parts(array)?;
        let mut bytes = buffer(all.bytes())?;
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        let mut look = |bytes: &[u8]| widen(array.dtype(), bytes, threshold, &mut range);
        match src.memory() {
            _ if !array.dtype().is_float() => src.pack(&parts, &mut bytes)?,
            Some(memory) => {
                src.pack(&parts, &mut bytes)?;
                let (_, pieces) = pieces(array)?;
                pieces.rows(|Row { at, packed, .. }| look(&memory[at as usize..][..packed.len()]));
            }
            // One copy.
            None => {
                parts.push(pieces(array)?);
                let whole = parts.iter().map(|(_, layout)| layout.bytes()).sum();
                let mut both = buffer(whole)?;
                src.pack(&parts, &mut both)?;
                let (own, pieces) = both.split_at(bytes.len());
                look(pieces);
                bytes.copy_from_slice(own);
            }
        }
        look(&bytes);
        Ok(Sample { array: all, first, bytes, range, threshold })
    }

    /// The number that bounds are fractions of: the range of values, or the largest magnitude.
    pub(super) fn base(&self, mode: &str) -> Option<f64> {
        let (low, high) = self.range;
        (low <= high).then(|| match mode {
            "noa" => high - low,
            "prel" => high.max(-low),
            _ => 1.0,
        })
    }

    pub(super) fn lattice(&self) -> Option<FoundLattice> {
        let dtype = self.array.dtype();
        // An odd distance, which meets all columns of a block.
        let step = (self.array.elements() as usize / LATTICE_VALUES).max(1) | 1;
        let values = floats(dtype, &self.bytes, step);
        lattice::find(dtype, &values.into_iter().filter(|x| x.abs() < self.threshold).collect::<Vec<_>>())
    }
}

/// The pieces of an array whose range is measured, at even distances from its first element on.
fn pieces(array: &Array) -> Result<(u64, Layout)> {
    let elements = array.elements();
    let piece = (elements / RANGE_SHARE / PIECES).clamp(LEAST_PIECE, MOST_PIECE);
    let (piece, pieces) = if elements <= piece * PIECES { (elements, 1) } else { (piece, PIECES) };
    let distance = (elements - piece) / (PIECES - 1);
    Ok((0, Layout::new(&Array::new(array.dtype(), &[piece, pieces])?, &[1, distance as i64])?))
}

/// Values that are compared together.
const LANES: usize = 16;

/// Widens a range by the bounded values among these.
fn widen(dtype: DType, bytes: &[u8], threshold: f64, range: &mut (f64, f64)) {
    let (low, high) = match dtype {
        DType::F32 => widest(RangeF32 { bytes, threshold: threshold as f32 }),
        DType::F64 => widest(RangeF64 { bytes, threshold }),
        _ => return,
    };
    *range = (range.0.min(low), range.1.max(high));
}

macro_rules! range {
    ($Name:ident, $T:ty) => {
        struct $Name<'a> {
            bytes: &'a [u8],
            threshold: $T,
        }

        impl Work for $Name<'_> {
            /// The smallest and the largest bounded value.
            type Result = (f64, f64);

            #[inline(always)]
            fn run(self) -> (f64, f64) {
                const WIDTH: usize = size_of::<$T>();
                // Independent lanes, which one instruction compares.
                let (mut least, mut most) = ([<$T>::INFINITY; LANES], [<$T>::NEG_INFINITY; LANES]);
                let threshold = self.threshold.min(<$T>::INFINITY);
                let mut look = |x: $T, lane: usize| {
                    // NaN is no bounded value.
                    let bounded = x.abs() < threshold;
                    let (low, high) = (
                        if bounded { x } else { <$T>::INFINITY },
                        if bounded { x } else { <$T>::NEG_INFINITY },
                    );
                    least[lane] = if low < least[lane] { low } else { least[lane] };
                    most[lane] = if high > most[lane] { high } else { most[lane] };
                };
                let parts = self.bytes.chunks_exact(LANES * WIDTH);
                let rest = parts.remainder();
                for part in parts {
                    for lane in 0..LANES {
                        look(bytemuck::pod_read_unaligned(&part[lane * WIDTH..][..WIDTH]), lane);
                    }
                }
                for (lane, x) in rest.chunks_exact(WIDTH).enumerate() {
                    look(bytemuck::pod_read_unaligned(x), lane);
                }
                let low = least.iter().fold(f64::INFINITY, |low, &x| low.min(x.into()));
                (low, most.iter().fold(f64::NEG_INFINITY, |high, &x| high.max(x.into())))
            }
        }
    };
}
range!(RangeF32, f32);
range!(RangeF64, f64);

/// Every `step`-th value as f64; none of integers.
fn floats(dtype: DType, bytes: &[u8], step: usize) -> Vec<f64> {
    match dtype {
        DType::F32 => bytes
            .chunks_exact(4)
            .step_by(step)
            .map(|x| bytemuck::pod_read_unaligned::<f32>(x).into())
            .collect(),
        DType::F64 => bytes.chunks_exact(8).step_by(step).map(bytemuck::pod_read_unaligned).collect(),
        _ => vec![],
    }
}

/// Where the blocks are.
struct Blocks {
    /// Shape of the array, of a block, and the number of blocks.
    dims: [u64; 3],
    block: [u64; 3],
    count: u64,
    width: u64,
}

impl Blocks {
    fn new(array: &Array, size: Size) -> Blocks {
        let dims = array.volume();
        let elements = array.elements();
        let wanted = (elements / SHARE).clamp(size.least, size.most);
        let width = array.dtype().bytes();
        if elements <= wanted {
            return Blocks { dims, block: dims, count: 1, width };
        }
        // Of as many dimensions as the array has, and long enough that their edges do not matter.
        let [line, plane, volume] = size.blocks;
        let shape = match dims {
            [_, 1, 1] => line,
            [_, _, 1] => plane,
            _ => volume,
        };
        let mut block = shape;
        let rank = array.joined_dims().len();
        for d in 0..3 {
            // Blocks in the middle of a short row would miss its incomplete tiles.
            let is_short = d + 1 < rank && dims[d] < 2 * shape[d];
            block[d] = if is_short { dims[d] } else { shape[d].min(dims[d]) };
        }
        // A short dimension makes the next one longer.
        for d in [0, 1, 2] {
            let volume: u64 = block.iter().product();
            block[d] = (block[d] * (line[0] / volume.max(1)).max(1)).min(dims[d]).max(1);
        }
        let count = (wanted / block.iter().product::<u64>()).max(1);
        Blocks { dims, block, count, width }
    }

    /// The shape of `count` consecutive blocks, with the number of dimensions of the array.
    fn stacked(&self, array: &Array, count: u64) -> Result<Array> {
        let mut dims = self.block;
        let rank = array.joined_dims().len();
        dims[rank - 1] *= count;
        Array::new(array.dtype(), &dims[..rank])
    }

    /// First element of block `i`: points of a sequence that fills the array evenly from the beginning.
    fn first(&self, i: u64) -> [u64; 3] {
        // 2^64 over the powers of the root of x^4 = x + 1.
        const STEPS: [u64; 3] = [0xd1b5_4a32_d192_ed03, 0xabc9_8388_fb8f_ac03, 0x8cb9_2ba7_2f3d_8dd7];
        let mut first = [0; 3];
        for d in 0..3 {
            let place = STEPS[d].wrapping_mul(i + 1);
            let places = self.dims[d] - self.block[d] + 1;
            first[d] = ((u128::from(place) * u128::from(places)) >> 64) as u64;
        }
        first
    }

    /// The places of the blocks.
    fn parts(&self, array: &Array) -> Result<Vec<(u64, Layout)>> {
        let block = Array::new(array.dtype(), &self.block)?;
        let [row, rows, _] = self.dims;
        let layout = Layout::new(&block, &[1, row as i64, (row * rows) as i64])?;
        let place = |[x, y, z]: [u64; 3]| ((z * rows + y) * row + x) * self.width;
        Ok((0..self.count).map(|i| (place(self.first(i)), layout.clone())).collect())
    }
}
