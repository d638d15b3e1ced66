//! A number of bits that an array without repeated values needs at least, without loss.

use super::sample::Sample;
use crate::base::dtype::DType;

/// Values that are compared, and one of how many of them has its differences measured.
const VALUES: usize = 2048;
const MEASURED: usize = 4;
/// Values repeat if one of this number equals another one: a table of 65,536 values is found.
const REPEATED: usize = 256;

/// Bits of an element in stage `exact`, at least. 0 if values repeat, because the stage has tables of them.
pub(super) fn least_bits(sample: &Sample) -> f64 {
    let at = |i: usize| match sample.array.dtype() {
        DType::F32 => integer(i64::from(read::<i32>(&sample.bytes, i)), u64::from(u32::MAX >> 1)),
        DType::F64 => integer(read::<i64>(&sample.bytes, i), u64::MAX >> 1),
        _ => 0,
    };
    let [x, y, z] = sample.array.volume().map(|n| n as usize);
    // Distances to neighbors; 0 along dimensions that do not exist.
    let (row, plane) = (if y > 1 { x } else { 0 }, if z > 1 { x * y } else { 0 });
    let (border, count) = (plane + row + 3, sample.array.elements() as usize);
    let step = (count.saturating_sub(border) / VALUES).max(1) | 1;
    let places: Vec<usize> = (border..count).step_by(step).collect();
    let mut values: Vec<i64> = places.iter().map(|&i| at(i)).collect();
    values.sort_unstable();
    let repeated = values.windows(2).filter(|w| w[0] == w[1]).count();
    if !sample.array.dtype().is_float() || REPEATED * repeated >= values.len() {
        return 0.0;
    }
    let magnitude = |o: i64| (if o < 0 { -1 - o } else { o }) as u64;
    let first = magnitude(values[0]);
    let divisor = values.iter().fold(0, |all, &o| common(all, magnitude(o).abs_diff(first)));
    let mut least = u64::MAX;
    for axes in (0..4).filter(|axes| (axes & 1 == 0 || y > 1) && (axes & 2 == 0 || z > 1)) {
        let along_y = |i: usize| if axes & 1 == 1 { at(i).wrapping_sub(at(i - row)) } else { at(i) };
        let flat =
            |i: usize| if axes & 2 == 2 { along_y(i).wrapping_sub(along_y(i - plane)) } else { along_y(i) };
        let mut bits = [0; 4];
        for &i in places.iter().step_by(MEASURED) {
            let mut d = [0, 1, 2, 3].map(|k| flat(i - k));
            for bits in &mut bits {
                *bits += u64::from(u64::BITS - (d[0] << 1 ^ d[0] >> 63).leading_zeros());
                // The next order.
                d = [d[0].wrapping_sub(d[1]), d[1].wrapping_sub(d[2]), d[2].wrapping_sub(d[3]), 0];
            }
        }
        least = bits.into_iter().fold(least, u64::min);
    }
    // The highest bit is known, and so are the bits of a common divisor.
    let known = 1 + divisor.checked_ilog2().unwrap_or(0);
    (least as f64 / values.len().div_ceil(MEASURED) as f64 - f64::from(known)).max(0.0)
}

fn read<T: bytemuck::AnyBitPattern>(bytes: &[u8], i: usize) -> T {
    bytemuck::pod_read_unaligned(&bytes[i * size_of::<T>()..][..size_of::<T>()])
}

/// Integers in the order of floats.
fn integer(bits: i64, magnitude: u64) -> i64 {
    let m = (bits as u64 & magnitude) as i64;
    if bits < 0 { -1 - m } else { m }
}

/// The greatest common divisor.
fn common(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::super::sample::Size;
    use super::*;
    use crate::base::array::Array;
    use crate::codec::{Container, Options, compress};
    use crate::pipeline::presets::preset_within;

    /// Smooth values, noise, f32 in f64, and multiples of a number without a lattice.
    #[test]
    fn containers_are_not_shorter() {
        let mut state = 3u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let all: [&[u64]; 3] = [&[50_000], &[250, 200], &[50, 40, 25]];
        for dims in all {
            let [x, y, _] = Array::new(DType::F64, dims).expect("dims").volume();
            for (kind, noise) in [(0, 0.0), (1, 1e-6), (0, 1.0), (2, 1e-3), (1, 1e3)] {
                let mut value = |i: u64| {
                    let [a, b, c] = [i % x, i / x % y, i / (x * y)].map(|n| n as f64);
                    (0.02 * a).sin() + (0.01 * b + 0.03 * c).cos() + noise * random()
                };
                let array = Array::new(if kind == 0 { DType::F32 } else { DType::F64 }, dims).expect("dims");
                let bytes: Vec<u8> = (0..array.elements())
                    .flat_map(|i| match (kind, value(i)) {
                        (0, x) => (x as f32).to_le_bytes().to_vec(),
                        (1, x) => x.to_le_bytes().to_vec(),
                        (_, x) => f64::from(x as f32).to_le_bytes().to_vec(),
                    })
                    .collect();
                let sample = Sample::new(&array, &&*bytes, f64::INFINITY, Size::SMALL).expect("sample");
                let pipeline = preset_within("exact", array.dtype(), "lossless", 0.0).expect("preset");
                let options =
                    Options { container: Container::Compact, checksum: false, ..Options::default() };
                let real = compress(&pipeline, &array, &options, &bytes).expect("container").len();
                let (least, bits) = (least_bits(&sample), 8.0 * real as f64 / array.elements() as f64);
                assert!(least <= bits, "{dims:?} {kind} {noise}: {least} of {bits}");
                assert!(least >= 0.5 * bits - 6.0, "{dims:?} {kind} {noise}: {least} of {bits}");
            }
        }
    }

    #[test]
    fn values_that_repeat_have_no_least_size() {
        let array = Array::new(DType::F32, &[100_000]).expect("dims");
        let levels = |n: u64| -> Vec<u8> {
            let mut state = 1u64;
            (0..100_000)
                .flat_map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (((state >> 33) % n) as f32 + 0.37).to_le_bytes()
                })
                .collect()
        };
        for n in [1, 100, 50_000] {
            let sample = Sample::new(&array, &&*levels(n), f64::INFINITY, Size::SMALL).expect("sample");
            assert_eq!(least_bits(&sample), 0.0, "{n}");
        }
    }
}
