//! Plain differences of floats, which have no bound because they round. The restored values are the running
//! sums of the rounded differences, to the bit.

use crate::common::corpus::chain;
use crate::common::run::{both_containers, every_way, options};
use crate::common::samples::{self, Sample};
use fzgm::DType;

#[test]
fn sums_of_float_differences_are_exact() {
    for dtype in DType::FLOATS {
        for chunk in [0, 64, 4096, 16384, 65536usize] {
            let p = chain(&[("difference", &[("chunk_size", &chunk.to_string())])]);
            let samples = if chunk == 0 { samples::all(*dtype) } else { samples::few(*dtype) };
            for sample in &samples {
                let want = sums_of_differences(sample, chunk);
                for container in both_containers() {
                    for strict in [true, false] {
                        let (_, restored) = every_way(&p, sample, &options(container, strict)).unwrap();
                        let what = format!("{} in chunks of {chunk}, {container:?}", sample.name);
                        same_but_for_nan(*dtype, &want, &restored).unwrap_or_else(|e| panic!("{what}: {e}"));
                    }
                }
            }
        }
    }
}

/// The NaN that arithmetic results in depends on the processor.
fn same_but_for_nan(dtype: DType, want: &[u8], got: &[u8]) -> Result<(), String> {
    let width = dtype.bytes() as usize;
    let nan = |w: &[u8]| match width {
        4 => f32::from_le_bytes(w.try_into().unwrap()).is_nan(),
        _ => f64::from_le_bytes(w.try_into().unwrap()).is_nan(),
    };
    let mut words = want.chunks(width).zip(got.chunks(width));
    let at = words.position(|(a, b)| a != b && !(nan(a) && nan(b)));
    if want.len() == got.len() && at.is_none() { Ok(()) } else { Err(format!("differs at value {at:?}")) }
}

/// Each element is the sum so far and its rounded difference to the one before; both start again with each
/// chunk.
fn sums_of_differences(sample: &Sample, chunk: usize) -> Vec<u8> {
    macro_rules! sums {
        ($T:ty) => {{
            let width = size_of::<$T>();
            let x: Vec<$T> = sample
                .bytes
                .chunks_exact(width)
                .map(|w| <$T>::from_le_bytes(w.try_into().unwrap()))
                .collect();
            let mut sum = -0.0;
            let one = |i: usize| {
                let fresh = i == 0 || (chunk >= width && i % (chunk / width) == 0);
                sum = if fresh { -0.0 + (x[i] - 0.0) } else { sum + (x[i] - x[i - 1]) };
                sum.to_le_bytes()
            };
            (0..x.len()).flat_map(one).collect()
        }};
    }
    if sample.array.dtype() == DType::F32 { sums!(f32) } else { sums!(f64) }
}
