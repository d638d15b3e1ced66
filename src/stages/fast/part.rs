//! A part of the array from a stream, without the chunks beside it.

use super::chunk::Decoder;
use super::decode::Stream;
use super::grid::Grid;
use super::plain::Plain;
use super::unit::Body;
use super::value::Value;
use super::wide::{self, Wide};
use super::{Launch, SPEC};
use crate::dtype::DType;
use crate::error::{Error, Fault, Result};
use crate::param::Args;
use crate::stages::quantizer::Facts;
use crate::stages::shape;
use crate::tile::at;

/// Restores the values of the box into `dst`, which has their length. The box lies inside of `dims`. `args` and `facts` are
/// those of a config.
pub(crate) fn restore(
    (args, facts): (&Args, &[u8]),
    (dtype, dims): (DType, [u64; 3]),
    stream: &[u8],
    (origin, extent): ([usize; 3], [usize; 3]),
    dst: &mut [u8],
) -> Result<()> {
    if shape::dims(args)? != dims {
        let what = format!(
            "the array was compressed as one of {:?}, and boxes are of {dims:?}; decompress all of it",
            shape::dims(args)?
        );
        return Err(Error::Unsupported { stage: SPEC.name, what });
    }
    let facts: Facts = at(facts, 0).ok_or(Error::Internal("fast has facts"))?;
    let grid = Grid::new(&Launch::new(0.0, dims, dtype));
    let order = shape::ones_last(dims);
    let part = Part { grid: &grid, origin: order.map(|d| origin[d]), extent: order.map(|d| extent[d]) };
    let done = Stream::new(stream, &grid).and_then(|stream| match (dtype, wide::available()) {
        (DType::F32, true) => part.run::<f32, Wide>(&stream, facts.bound, dst),
        (DType::F32, false) => part.run::<f32, Plain>(&stream, facts.bound, dst),
        (_, true) => part.run::<f64, Wide>(&stream, facts.bound, dst),
        (_, false) => part.run::<f64, Plain>(&stream, facts.bound, dst),
    });
    done.map_err(|_| Error::corrupt(SPEC.name, "its segment is not what an encoder writes"))
}

struct Part<'a> {
    grid: &'a Grid,
    origin: [usize; 3],
    extent: [usize; 3],
}

impl Part<'_> {
    fn run<T: Value, B: Body>(
        &self,
        stream: &Stream<'_>,
        bound: f64,
        dst: &mut [u8],
    ) -> std::result::Result<(), Fault> {
        let Part { grid, origin, extent } = self;
        let mut decoder = Decoder::<T, B>::new(T::steps(bound).0);
        let w = size_of::<T>();
        let touched = |d: usize| origin[d] / grid.chunk[d]..(origin[d] + extent[d]).div_ceil(grid.chunk[d]);
        for (z, y, x) in touched(2).flat_map(|z| touched(1).flat_map(move |y| touched(0).map(move |x| (z, y, x)))) {
            let k = (z * grid.counts[1] + y) * grid.counts[0] + x;
            let c = grid.chunk(k);
            decoder.decode(grid, &c, stream.entry(k)?, stream.words, |at, row| {
                let [x, y, z] = [0, 1, 2].map(|d| c.origin[d] + at[d]);
                let inside = |v: usize, d: usize| (origin[d]..origin[d] + extent[d]).contains(&v);
                let (from, to) = (x.max(origin[0]), (x + row.len() / w).min(origin[0] + extent[0]));
                if from >= to || !inside(y, 1) || !inside(z, 2) {
                    return Ok(());
                }
                let row = row.get((from - x) * w..(to - x) * w).ok_or(Fault::BadLaunch)?;
                let at = ((z - origin[2]) * extent[1] + y - origin[1]) * extent[0] + from - origin[0];
                dst.get_mut(at * w..at * w + row.len()).ok_or(Fault::BadLaunch)?.copy_from_slice(row);
                Ok(())
            })?;
        }
        Ok(())
    }
}
