//! A number of bits that an array needs at least, without loss.

use super::sample::Sample;
use crate::base::dtype::DType;
use crate::stages::lattice::FoundLattice;

/// Values that are compared, and one of how many of them has its differences measured.
const VALUES: usize = 2048;
const MEASURED: usize = 4;
/// Values repeat if one of this number equals another one: a table of 65,536 values is found.
const REPEATED: usize = 256;
/// One of this number of values is a hole if all of them are equal.
const HOLE: usize = 16;

/// Bits of an element in a lossless pipeline, at least. Holes need none. Values on a lattice are coded as its levels or as numbers of its
/// values; other values that repeat are coded as numbers of a table.
pub(super) fn least_bits(sample: &Sample, lattice: Option<FoundLattice>) -> f64 {
    match (sample.array.dtype(), lattice) {
        (DType::F32, None) => of_integers(
            sample,
            |i| integer(read::<i32>(&sample.bytes, i).into(), u64::from(u32::MAX >> 1)),
            false,
        ),
        (DType::F64, None) => {
            of_integers(sample, |i| integer(read::<i64>(&sample.bytes, i), u64::MAX >> 1), false)
        }
        (DType::F32, Some(lattice)) => {
            of_integers(sample, |i| lattice.level(read::<f32>(&sample.bytes, i).into()), true)
        }
        (DType::F64, Some(lattice)) => {
            of_integers(sample, |i| lattice.level(read::<f64>(&sample.bytes, i)), true)
        }
        _ => 0.0,
    }
}

/// Bits of an element of an array of these integers, at least.
fn of_integers(sample: &Sample, at: impl Fn(usize) -> i64, levels: bool) -> f64 {
    let [x, y, z] = sample.array.volume().map(|n| n as usize);
    // Distances to neighbors; 0 along dimensions that do not exist.
    let (row, plane) = (if y > 1 { x } else { 0 }, if z > 1 { x * y } else { 0 });
    let (border, count) = (plane + row + ORDERS - 1, sample.array.elements() as usize);
    let step = (count.saturating_sub(border) / VALUES).max(1) | 1;
    let places: Vec<usize> = (border..count).step_by(step).collect();
    let mut values: Vec<i64> = places.iter().map(|&i| at(i)).collect();
    let all = values.len();
    values.sort_unstable();
    let hole = if levels { None } else { frequent(&values) };
    values.retain(|&o| Some(o) != hole);
    if values.is_empty() {
        return 0.0;
    }
    let first = values[0];
    // Magnitudes of floats, which have a common divisor on both sides of 0.
    let magnitude = |o: i64| if o < 0 && !levels { -1 - o } else { o };
    let difference = |o: i64| magnitude(o).abs_diff(magnitude(first));
    let divisor = values.iter().fold(0, |all, &o| if all == 1 { 1 } else { common(all, difference(o)) });
    let (mut bits, mut measured) = ([0; 4 * ORDERS], 0);
    for &i in places.iter().step_by(MEASURED) {
        let lines = [0, 1, 2, 3].map(|k| corner(&at, i - k, row, plane));
        // Differences to holes are not those of values.
        let back = [0, row, plane, plane + row];
        if hole.is_some_and(|hole| (0..ORDERS).any(|k| back.iter().any(|&back| at(i - k - back) == hole))) {
            continue;
        }
        measured += 1;
        for (axes, bits) in bits.chunks_exact_mut(ORDERS).enumerate() {
            let mut d = lines.map(|corner| corner[axes]);
            for bits in bits {
                *bits += u64::from(u64::BITS - (d[0] << 1 ^ d[0] >> 63).leading_zeros());
                // The next order.
                d = [d[0].wrapping_sub(d[1]), d[1].wrapping_sub(d[2]), d[2].wrapping_sub(d[3]), 0];
            }
        }
    }
    if measured == 0 {
        return 0.0;
    }
    let mut least = bits.into_iter().fold(u64::MAX, u64::min) as f64 / f64::from(measured);
    // The highest bit is known, and so are the bits of a common divisor.
    let mut known = f64::from(1 + divisor.checked_ilog2().unwrap_or(0));
    let repeated = values.windows(2).filter(|w| w[0] == w[1]).count();
    let in_table = levels || REPEATED * repeated >= values.len();
    if let (true, Some(distinct)) = (in_table, distinct(&values)) {
        // Numbers of values are smaller than levels if most levels have no value.
        let span = values[values.len() - 1].abs_diff(first);
        known += f64::from((span / distinct).checked_ilog2().unwrap_or(0));
        // Frequent values may have short numbers.
        let short = if levels { f64::INFINITY } else { f64::from(distinct.ilog2()) };
        least = least.min(known + short);
    }
    (least - known).max(0.0) * (values.len() as f64 / all as f64)
}

/// The most frequent of sorted numbers, if many are equal.
fn frequent(sorted: &[i64]) -> Option<i64> {
    let most = sorted.chunk_by(|a, b| a == b).max_by_key(|equal| equal.len())?;
    (most.len() > 1 && HOLE * most.len() >= sorted.len()).then(|| most.first().copied())?
}

/// True if a table of all differences of neighbors may shorten an array of integers: few differences, and many numbers between them.
pub(super) fn has_few_differences(sample: &Sample) -> bool {
    /// One of this number of differences on either side may be beside the others.
    const BESIDE: usize = 20;
    let dtype = sample.array.dtype();
    let (width, count) = (dtype.bytes() as usize, sample.array.elements() as usize);
    if dtype.is_float() {
        return false;
    }
    // The high bits of a word; wrapping differences of the low bits are right without them.
    let unused = u64::BITS as usize - 8 * width;
    let at = |i: usize| {
        let mut word = [0; 8];
        word[8 - width..].copy_from_slice(&sample.bytes[i * width..][..width]);
        i64::from_le_bytes(word)
    };
    let step = (count / VALUES).max(1) | 1;
    let mut all: Vec<i64> =
        (1..count).step_by(step).map(|i| at(i).wrapping_sub(at(i - 1)) >> unused).collect();
    all.sort_unstable();
    let Some(distinct) = distinct(&all) else { return false };
    // Stage `exact` finds a common divisor.
    let divisor = all.iter().fold(0, |all, d| if all == 1 { 1 } else { common(all, d.unsigned_abs()) });
    let beside = all.len() / BESIDE;
    let numbers = all[all.len() - 1 - beside].abs_diff(all[beside]) / divisor.max(1);
    numbers >= distinct + distinct / 2
}

/// The number of different numbers, of which the sorted ones are a sample: from the share of equal pairs. `None` if there is none.
fn distinct(sorted: &[i64]) -> Option<u64> {
    let same: usize = sorted.chunk_by(|a, b| a == b).map(|same| same.len() * (same.len() - 1) / 2).sum();
    (same > 0).then(|| (sorted.len() * sorted.len() / 2 / same) as u64)
}

/// Differences that stage `exact` compares: orders along x.
const ORDERS: usize = 4;

/// An element, and its differences along y, along z, and along both. Axes that do not exist have a distance of 0.
fn corner(at: &impl Fn(usize) -> i64, i: usize, row: usize, plane: usize) -> [i64; 4] {
    let own = at(i);
    let y = if row > 0 { own.wrapping_sub(at(i - row)) } else { own };
    if plane == 0 {
        return [own, y, own, y];
    }
    let behind = at(i - plane);
    let y_behind = if row > 0 { behind.wrapping_sub(at(i - plane - row)) } else { behind };
    [own, y, own.wrapping_sub(behind), y.wrapping_sub(y_behind)]
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
                let (least, bits) = (least_bits(&sample, None), 8.0 * real as f64 / array.elements() as f64);
                assert!(least <= bits, "{dims:?} {kind} {noise}: {least} of {bits}");
                assert!(least >= 0.5 * bits - 6.0, "{dims:?} {kind} {noise}: {least} of {bits}");
            }
        }
    }

    /// Smooth levels with noise, all levels and few of them.
    #[test]
    fn containers_of_levels_are_not_shorter() {
        let array = Array::new(DType::F32, &[250, 200]).expect("dims");
        let mut state = 3u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for (levels, noise, apart) in
            [(2000.0, 0.0, 1.0), (2000.0, 0.05, 1.0), (300.0, 1.0, 1.0), (40.0, 1.0, 97.0)]
        {
            let mut value = |i: u64| {
                let [a, b] = [i % 250, i / 250].map(|n| n as f64);
                let level = levels * ((0.02 * a).sin() + (0.01 * b).cos() + noise * random());
                (level.round() * apart * 0.01 + 5.0) as f32
            };
            let bytes: Vec<u8> = (0..array.elements()).flat_map(|i| value(i).to_le_bytes()).collect();
            let sample = Sample::new(&array, &&*bytes, f64::INFINITY, Size::SMALL).expect("sample");
            let lattice = sample.lattice();
            assert!(lattice.is_some(), "{levels} {noise}");
            let pipeline = preset_within("exact", DType::F32, "lossless", 0.0).expect("preset");
            let options = Options { container: Container::Compact, checksum: false, ..Options::default() };
            let real = compress(&pipeline, &array, &options, &bytes).expect("container").len();
            let (least, bits) = (least_bits(&sample, lattice), 8.0 * real as f64 / array.elements() as f64);
            assert!(least <= bits, "{levels} {noise} {apart}: {least} of {bits}");
            assert!(least >= 0.5 * bits - 4.0, "{levels} {noise} {apart}: {least} of {bits}");
        }
    }

    #[test]
    fn few_differences_are_between_many_others() {
        let ask = |dtype: DType, differences: &[i64]| {
            let array = Array::new(dtype, &[50_000]).expect("dims");
            let (mut state, mut at) = (1u64, 0i64);
            let bytes: Vec<u8> = (0..50_000)
                .flat_map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    at = at.wrapping_add(differences[(state >> 33) as usize % differences.len()]);
                    at.to_le_bytes()[..dtype.bytes() as usize].to_vec()
                })
                .collect();
            has_few_differences(&Sample::new(&array, &&*bytes, f64::INFINITY, Size::SMALL).expect("sample"))
        };
        for dtype in [DType::U8, DType::I16, DType::U32, DType::I64] {
            assert!(ask(dtype, &[1, 100]) && ask(dtype, &[-90, 0, 35]), "{dtype}");
            // A common divisor, which stage `exact` finds, and all numbers.
            assert!(!ask(dtype, &[-60, -40, -20, 0, 20, 40, 60]), "{dtype}");
            assert!(!ask(dtype, &(-50..50).collect::<Vec<_>>()), "{dtype}");
        }
        assert!(!ask(DType::F32, &[1, 100]) && !ask(DType::I64, &[7]));
    }

    /// Numbers of few values, alone and with holes.
    #[test]
    fn containers_of_values_that_repeat_are_not_shorter() {
        let array = Array::new(DType::F32, &[100_000]).expect("dims");
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        for (n, holes) in
            [(1, 0), (3, 0), (100, 0), (50_000, 0), (100, 2), (50_000, 5), (1 << 30, 2), (1 << 30, 30)]
        {
            let mut hole = false;
            let bytes: Vec<u8> = (0..100_000)
                .flat_map(|i| {
                    // Holes are runs.
                    hole = if i % 50 == 0 { random() % 32 < holes } else { hole };
                    let value = (random() % n) as f32 * 0.77 + 0.37;
                    if hole { 0.0 } else { value }.to_le_bytes()
                })
                .collect();
            let sample = Sample::new(&array, &&*bytes, f64::INFINITY, Size::SMALL).expect("sample");
            let pipeline = preset_within("exact", DType::F32, "lossless", 0.0).expect("preset");
            let options = Options { container: Container::Compact, checksum: false, ..Options::default() };
            let real = compress(&pipeline, &array, &options, &bytes).expect("container").len();
            let (least, bits) = (least_bits(&sample, None), 8.0 * real as f64 / array.elements() as f64);
            assert!(least <= bits, "{n} {holes}: {least} of {bits}");
            assert!(n < 1 << 30 || least >= 0.5 * bits - 4.0, "{n} {holes}: {least} of {bits}");
        }
    }
}
