//! The sizes of presets `fz` and `cusz`, computed from the codes of stage `lorenzo_quant`, which both presets code.

use super::differences::Codes;
use super::frames::{BITS, CHUNK, Map, byte_map, put_planes, zero_free};
use super::sample::Sample;
use crate::base::array::Array;
use crate::base::dtype::DType;
use crate::stages::wide::{Work, widest};
use std::cell::OnceCell;
use std::marker::PhantomData;

/// Length of the code book of `cusz`.
const SYMBOLS: usize = 1024;
/// Elements of a partition of stage `huffman`.
const PARTITION: f64 = 768.0;

/// Codes that are computed together: they stay in the cache until they are counted.
const PART: usize = 1024;

/// The whole multiples of the step in a sample, modulo 2^32.
pub(super) struct Multiples {
    q: Vec<i32>,
    dims: [usize; 3],
    /// Bytes of the values that are stored bit for bit, with their indices.
    exact: usize,
    /// Bytes of an element with its index.
    pair: usize,
    /// For each number of axes.
    measured: [OnceCell<Measured>; 4],
}

impl Multiples {
    /// The multiples of the first elements of the sample.
    pub(super) fn new(sample: &Sample, array: &Array, bound: f64) -> Multiples {
        let dims = array.volume().map(|n| n as usize);
        let dtype = array.dtype();
        let rank = dims.iter().filter(|&&n| n > 1).count().max(1);
        let guard = (1u64 << (if dtype == DType::F32 { 24 } else { 53 } - rank)) as f64;
        // The step is an f32.
        let inverse = if (bound as f32).is_normal() { 0.5 / bound } else { f64::NAN };
        let mut q = vec![0; array.elements() as usize];
        let bytes = &sample.bytes[..array.bytes() as usize];
        let work = Quantize { bytes, q: &mut q, inverse, guard, threshold: sample.threshold };
        let exact = match dtype {
            DType::F32 => widest((work, PhantomData::<f32>)),
            DType::F64 => widest((work, PhantomData::<f64>)),
            _ => 0,
        };
        let pair = dtype.bytes() as usize + size_of::<u32>();
        Multiples { q, dims, exact: exact * pair, pair, measured: Default::default() }
    }

    fn measured(&self, axes: usize) -> &Measured {
        self.measured[axes].get_or_init(|| widest(Measure(Codes::new(&self.q, self.dims, axes))))
    }

    /// Bytes of a container of `fz` without its header, for an array of `elements` like the sample. Differences are along the fastest
    /// `axes` dimensions; 0: along all.
    pub(super) fn fz(&self, axes: usize, elements: u64) -> f64 {
        let Measured { outliers, chunks, .. } = self.measured(axes);
        // The bits of an incomplete last chunk stay in place.
        let n = self.q.len();
        let mut last = vec![0; ((elements % CHUNK as u64) as usize).min(n)];
        let mut rest = 0;
        if !last.is_empty() {
            Codes::new(&self.q, self.dims, axes).put(n - last.len(), &mut last);
            rest = zero_free(byte_map(&last), last.len());
        }
        let share = elements as f64 / n.max(1) as f64;
        let whole = (n / CHUNK).max(1) as f64;
        let pairs = (self.exact + outliers * self.pair) as f64;
        pairs * share + *chunks as f64 / whole * (elements / CHUNK as u64) as f64 + rest as f64
    }

    /// Bytes of a container of `cusz` without its header and its code book, for an array of `elements` like the sample.
    pub(super) fn cusz(&self, axes: usize, elements: u64) -> f64 {
        // A cell for the length of a partition, one for its place, and half of one that is padding.
        const CELLS: f64 = 2.5;
        let Measured { beyond, counts, .. } = self.measured(axes);
        let partitions = (self.q.len() as f64 / PARTITION).ceil();
        let pairs = self.exact + beyond * self.pair;
        let bytes = (pairs + huffman_bits(counts) / 8) as f64 + 4.0 * CELLS * partitions;
        bytes * (elements as f64 / self.q.len().max(1) as f64)
    }
}

/// The work of measuring codes for `fz` and `cusz`.
struct Measure<'a>(Codes<'a>);

struct Measured {
    /// Outliers of `fz`, and the bytes of its whole chunks.
    outliers: usize,
    chunks: usize,
    /// Outliers of `cusz`, and the counts of its symbols.
    beyond: usize,
    counts: [usize; SYMBOLS],
}

impl Work for Measure<'_> {
    type Result = Measured;

    #[inline(always)]
    fn run(self) -> Measured {
        /// Equal neighbors are counted in different tables: a counter is slow to increment twice in a row.
        const TABLES: usize = 4;
        let codes = self.0;
        let n = codes.len();
        let mut tables = [[0u32; SYMBOLS + 1]; TABLES];
        let mut room = [0; PART];
        let (mut outliers, mut chunks) = (0, 0);
        for first in (0..n).step_by(CHUNK) {
            let end = n.min(first + CHUNK);
            let mut map: Map = [0; 2 * CHUNK / 8];
            for at in (first..end).step_by(PART) {
                let part = &mut room[..PART.min(end - at)];
                codes.put(at, part);
                outliers += part.iter().map(|&code| u32::from(code >> BITS != 0)).sum::<u32>() as usize;
                put_planes(part, (at - first) / 64, &mut map);
                for four in part.chunks(TABLES) {
                    for (table, &code) in tables.iter_mut().zip(four) {
                        table[(code as usize).min(SYMBOLS)] += 1;
                    }
                }
            }
            if end - first == CHUNK {
                chunks += zero_free(map, CHUNK);
            }
        }
        let count = |symbol: usize| tables.iter().map(|table| table[symbol]).sum::<u32>() as usize;
        let (beyond, mut counts) = (count(SYMBOLS), std::array::from_fn(count));
        // An outlier has code 0.
        counts[0] += beyond;
        Measured { outliers, chunks, beyond, counts }
    }
}

/// Values that become multiples of a step.
struct Quantize<'a> {
    bytes: &'a [u8],
    q: &'a mut [i32],
    inverse: f64,
    guard: f64,
    threshold: f64,
}

impl<T: bytemuck::AnyBitPattern + Into<f64>> Work for (Quantize<'_>, PhantomData<T>) {
    /// The number of exact values.
    type Result = usize;

    #[inline(always)]
    fn run(self) -> usize {
        /// Values that are looked at a second time if one of them is exact.
        const GROUP: usize = 64;
        // The sum with this number has the integer in its lowest bits.
        const ROUND: f64 = (3u64 << 51) as f64;
        let Quantize { bytes, q, inverse, guard, threshold } = self.0;
        let multiple = |x: &[u8]| {
            let x: f64 = bytemuck::pod_read_unaligned::<T>(x).into();
            let q = x * inverse;
            ((q + ROUND).to_bits() as i32, (q.abs() <= guard) & (x.abs() < threshold))
        };
        let (mut exact, mut before) = (0, 0);
        for (x, q) in bytes.chunks(GROUP * size_of::<T>()).zip(q.chunks_mut(GROUP)) {
            let mut all = true;
            for (x, q) in x.chunks_exact(size_of::<T>()).zip(&mut *q) {
                let (own, near) = multiple(x);
                *q = own;
                all &= near;
            }
            if !all {
                // An exact value counts as the neighbor before it.
                for (x, q) in x.chunks_exact(size_of::<T>()).zip(&mut *q) {
                    let near = multiple(x).1;
                    *q = if near { *q } else { before };
                    before = *q;
                    exact += usize::from(!near);
                }
            }
            before = q.last().copied().unwrap_or(before);
        }
        exact
    }
}

/// Bits of all symbols in a Huffman code.
fn huffman_bits(counts: &[usize]) -> usize {
    let mut leaves: Vec<usize> = counts.iter().copied().filter(|&n| n > 0).collect();
    if let [only] = leaves[..] {
        return only;
    }
    leaves.sort_unstable();
    let count = leaves.len();
    // Sums are made in ascending order.
    let mut sums = Vec::with_capacity(leaves.len());
    let (mut leaf, mut sum, mut bits) = (0, 0, 0);
    let mut least = |sums: &[usize]| match (leaves.get(leaf), sums.get(sum)) {
        (Some(&a), b) if b.is_none_or(|&b| a <= b) => {
            leaf += 1;
            a
        }
        (_, b) => {
            sum += 1;
            b.copied().unwrap_or(0)
        }
    };
    for _ in 1..count {
        let both = least(&sums) + least(&sums);
        bits += both;
        sums.push(both);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::super::sample::Size;
    use super::*;
    use crate::codec::{Container, Options, compress};
    use crate::pipeline::presets::preset_within;

    /// Numbers from 0 to 1 that look random.
    fn numbers() -> impl FnMut() -> f64 {
        let mut state = 5u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    /// A smooth field with noise of this amplitude, and some fill values.
    fn field(dtype: DType, dims: &[u64], noise: f64) -> (Array, Vec<u8>) {
        let array = Array::new(dtype, dims).expect("dims");
        let [x, y, _] = array.volume();
        let mut random = numbers();
        let mut bytes = vec![];
        for i in 0..array.elements() {
            let [a, b, c] = [i % x, i / x % y, i / (x * y)].map(|n| n as f64);
            let smooth = (0.05 * a).sin() + (0.03 * b + 0.07 * c).cos() + noise * random();
            let value = if random() < 0.001 { 1e30 } else { smooth };
            match dtype {
                DType::F32 => bytes.extend((value as f32).to_le_bytes()),
                _ => bytes.extend(value.to_le_bytes()),
            }
        }
        (array, bytes)
    }

    #[test]
    fn sizes_are_those_of_containers() {
        let all: [&[u64]; 3] = [&[60_000], &[300, 200], &[48, 40, 32]];
        for dims in all {
            for (dtype, noise) in [(DType::F32, 0.0), (DType::F64, 0.01), (DType::F32, 0.3)] {
                let (array, bytes) = field(dtype, dims, noise);
                let sample = Sample::new(&array, &&*bytes, 1e20, Size::SMALL).expect("sample");
                for bound in [0.3, 1e-2, 1e-3] {
                    let multiples = Multiples::new(&sample, &sample.array, bound);
                    for (axes, (name, fixed)) in
                        (0..=dims.len()).flat_map(|axes| [("fz", 100), ("cusz", 2600)].map(|n| (axes, n)))
                    {
                        let mut pipeline = preset_within(name, dtype, "abs", bound).expect("preset");
                        let set = |args: &mut crate::base::param::Args| args.set_int("axes", axes as i64);
                        pipeline.set_everywhere("axes", set).expect("axes");
                        let set =
                            |args: &mut crate::base::param::Args| args.set_real("outlier_threshold", 1e20);
                        pipeline.set_everywhere("outlier_threshold", set).expect("threshold");
                        let options = Options {
                            container: Container::Compact,
                            checksum: false,
                            store_incompressible: false,
                            ..Options::default()
                        };
                        let real = compress(&pipeline, &array, &options, &bytes).expect("container").len();
                        let n = array.elements();
                        let own = if name == "fz" { multiples.fz(axes, n) } else { multiples.cusz(axes, n) };
                        let own = fixed + own as usize;
                        let what = format!("{name} {axes} {dims:?} {dtype} {noise} {bound}: {own}, {real}");
                        assert!(own.abs_diff(real) <= real / 30 + 300, "{what}");
                    }
                }
            }
        }
    }

    #[test]
    fn codes_of_few_symbols_have_known_lengths() {
        assert_eq!(huffman_bits(&[]), 0);
        assert_eq!(huffman_bits(&[0, 7, 0]), 7);
        assert_eq!(huffman_bits(&[3, 0, 4]), 7);
        assert_eq!(huffman_bits(&[1, 1, 2, 4, 8]), 8 + 2 * 4 + 3 * 2 + 4 + 4);
        // Equal counts have codes of equal lengths.
        assert_eq!(huffman_bits(&[5; 256]), 5 * 256 * 8);
    }
}
