//! Regions of arrays equal those of the whole array, for any data in the other chunks.

use super::*;
use crate::common::rng::Rng;
use crate::common::run::options;
use crate::common::samples::{FLOATS, elements, walk};
use fzgm::{Status, decompress, decompress_region};

/// A region of a whole array.
fn cut(whole: &[u8], w: usize, dims: &[u64], origin: &[u64], extent: &[u64]) -> Vec<u8> {
    let at = |d: &[u64], i: usize| d.get(i).copied().unwrap_or(0) as usize;
    let (nx, ny) = (at(dims, 0), dims.get(1).map_or(1, |n| *n as usize));
    let count = |i: usize| extent.get(i).map_or(1, |n| *n as usize);
    let mut part = vec![];
    for z in 0..count(2) {
        for y in 0..count(1) {
            let first = ((at(origin, 2) + z) * ny + at(origin, 1) + y) * nx + at(origin, 0);
            part.extend_from_slice(&whole[first * w..(first + count(0)) * w]);
        }
    }
    part
}

#[test]
fn regions_are_the_slices_of_the_whole() {
    let mut rng = Rng(78);
    for dtype in FLOATS {
        for dims in SHAPES {
            let n = elements(dims);
            let mut x = walk(n, 1.0, &mut rng);
            (0..n / 50).for_each(|_| x[rng.below(n)] = f64::NAN);
            let sample = Sample::of(dtype, dims, x);
            for options in [always(), options(Container::Fzm, true)] {
                let made =
                    compress(&pipeline("noa", 1e-3, f64::INFINITY), &sample.array, &options, &sample.bytes)
                        .unwrap();
                let (_, whole) = decompress(&made, &options).unwrap();
                let w = dtype.bytes() as usize;
                for _ in 0..12 {
                    let origin: Vec<u64> = dims.iter().map(|&d| rng.below(d as usize) as u64).collect();
                    let extent: Vec<u64> = dims
                        .iter()
                        .zip(&origin)
                        .map(|(d, o)| 1 + rng.below((d - o) as usize) as u64)
                        .collect();
                    let want = cut(&whole, w, dims, &origin, &extent);
                    let mut dst = vec![0xc3; want.len() + 8];
                    let bytes = decompress_region(&made, &origin, &extent, &mut dst).unwrap();
                    assert_eq!(bytes, want.len());
                    assert!(dst[..bytes] == want, "{} {origin:?} {extent:?}", sample.name);
                    assert!(dst[bytes..].iter().all(|b| *b == 0xc3));
                    let few = decompress_region(&made, &origin, &extent, &mut dst[..bytes - 1]).unwrap_err();
                    assert_eq!(few.status(), Status::DstTooSmall);
                }
            }
        }
    }
}

#[test]
fn regions_touch_no_other_chunk() {
    let sample = planes(DType::F32);
    let (mut made, at) = frame(&sample, 1e-3);
    // The first one of four chunks, 32 x 32 and the rest of 40 x 33, is spoiled.
    made[at + 7] |= 0x20;
    let mut dst = vec![0; 4096];
    let restore =
        |origin: [u64; 3], extent: [u64; 3], dst: &mut [u8]| decompress_region(&made, &origin, &extent, dst);
    assert_eq!(restore([31, 0, 0], [2, 2, 2], &mut dst).unwrap_err().status(), Status::Corrupt);
    assert_eq!(restore([32, 0, 0], [8, 33, 3], &mut dst).unwrap(), 4 * 8 * 33 * 3);
    assert_eq!(restore([0, 32, 0], [40, 1, 3], &mut dst).unwrap(), 4 * 40 * 3);
}

#[test]
fn regions_that_are_refused() {
    let sample = planes(DType::F64);
    let (made, _) = frame(&sample, 1e-3);
    let mut dst = vec![0; 100_000];
    let mut status = |origin: &[u64], extent: &[u64]| {
        decompress_region(&made, origin, extent, &mut dst).map_or_else(|e| e.status(), |_| Status::Ok)
    };
    assert_eq!(status(&[0, 0, 0], &[40, 33, 3]), Status::Ok);
    assert_eq!(status(&[40, 33, 3], &[0, 0, 0]), Status::Ok);
    assert_eq!(status(&[0, 0, 0], &[41, 1, 1]), Status::InvalidArgument);
    assert_eq!(status(&[0, 33, 0], &[1, 1, 1]), Status::InvalidArgument);
    assert_eq!(status(&[0, 0, u64::MAX], &[1, 1, 2]), Status::InvalidArgument);
    assert_eq!(status(&[0, 0], &[1, 1]), Status::InvalidArgument);
    assert_eq!(status(&[0, 0, 0], &[1, 1]), Status::InvalidArgument);
    // An array that did not compress is stored, and also has regions.
    let mut rng = Rng(79);
    let noise = Sample::of(DType::F32, &[9, 8, 2], (0..9 * 8 * 2).map(|_| rng.unit() * 1e6));
    let stored =
        compress(&pipeline("abs", 1e-9, f64::INFINITY), &noise.array, &Options::default(), &noise.bytes)
            .unwrap();
    assert_eq!(info(&stored).unwrap().stages[0].name, "stored");
    let bytes = decompress_region(&stored, &[3, 2, 1], &[5, 4, 1], &mut dst).unwrap();
    assert!(dst[..bytes] == cut(&noise.bytes, 4, &[9, 8, 2], &[3, 2, 1], &[5, 4, 1]));
}
