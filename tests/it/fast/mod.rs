//! Stage fast: its values, on the CPU and on devices; its streams, damaged; regions of its arrays.

mod boxes;
mod streams;
mod values;

use crate::common::agreement::{bare, stage};
use crate::common::samples::Sample;
use fzgm::{Container, DType, Options, Pipeline, compress, info};

/// Whole units and chunks and ragged ones, in every number of dimensions, and arrays of a single row of them.
const SHAPES: [&[u64]; 15] = [
    &[1],
    &[1023],
    &[1025],
    &[8192],
    &[20_000],
    &[32, 32],
    &[33, 300],
    &[70, 5],
    &[1, 300],
    &[32, 32, 8],
    &[33, 31, 9],
    &[5, 70, 17],
    &[64, 1, 3],
    &[1, 1, 20],
    &[40, 2, 8],
];

fn pipeline(mode: &str, eb: f64, threshold: f64) -> Pipeline {
    let (eb, threshold) = (format!("{eb:?}"), format!("{threshold:?}"));
    stage("fast", &[("mode", mode), ("error_bound", &eb), ("outlier_threshold", &threshold)])
}

/// Bins of 0.5; values from 1e25 on are fills.
fn with_fills() -> Pipeline {
    pipeline("abs", 0.25, 1e25)
}

/// Never stored without coding, so that the stage itself is tested.
fn always() -> Options {
    Options { checksum: true, ..bare(Container::Compact) }
}

/// A frame whose only segment, the stream, is at its end, and where that begins.
fn frame(sample: &Sample, eb: f64) -> (Vec<u8>, usize) {
    let options = bare(Container::Compact);
    let made = compress(&pipeline("abs", eb, f64::INFINITY), &sample.array, &options, &sample.bytes).unwrap();
    let stream = info(&made).unwrap().segments[0].bytes as usize;
    let at = made.len() - stream;
    (made, at)
}

/// Three units of a plane, in each of which a spike makes one part wide.
fn planes(dtype: DType) -> Sample {
    let smooth = |i: usize| ((i % 40) as f64 * 0.3).sin() + if i % 1319 == 0 { 1e3 } else { 0.0 };
    let mut values: Vec<f64> = (0..40 * 33 * 3).map(smooth).collect();
    values[77] = f64::NAN;
    Sample::of(dtype, &[40, 33, 3], values)
}
