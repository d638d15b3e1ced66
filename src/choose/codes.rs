//! The sizes of presets `fz` and `cusz`, computed from the codes of stage `lorenzo_quant`, which both presets code.

use super::sample::Sample;
use crate::base::dtype::DType;
use std::cell::OnceCell;

/// Elements of a chunk of stages `bitshuffle` and `rze`.
const CHUNK: usize = 8192;
/// Bits of a code.
const BITS: usize = 16;
/// Length of the code book of `cusz`.
const SYMBOLS: usize = 1024;
/// Elements of a partition of stage `huffman`.
const PARTITION: f64 = 768.0;

/// The whole multiples of the step in a sample, modulo 2^32.
pub(super) struct Multiples {
    q: Vec<i32>,
    dims: [usize; 3],
    /// Bytes of the values that are stored bit for bit, with their indices.
    exact: usize,
    /// Bytes of an element with its index.
    pair: usize,
    /// For each number of axes, when they are first needed.
    codes: [OnceCell<Vec<u32>>; 4],
}

impl Multiples {
    pub(super) fn new(sample: &Sample, bound: f64) -> Multiples {
        let dims = sample.array.volume().map(|n| n as usize);
        let dtype = sample.array.dtype();
        let rank = dims.iter().filter(|&&n| n > 1).count().max(1);
        let guard = (1u64 << (if dtype == DType::F32 { 24 } else { 53 } - rank)) as f64;
        // The step is an f32.
        let inverse = if (bound as f32).is_normal() { 0.5 / bound } else { f64::NAN };
        // The sum with this number has the integer in its lowest bits.
        const ROUND: f64 = (3u64 << 51) as f64;
        let (mut exact, mut before) = (0, 0);
        let mut multiple = |x: f64| {
            let q = x * inverse;
            let near = q.abs() <= guard && x.abs() < sample.threshold;
            exact += usize::from(!near);
            // An exact value counts as the neighbor before it.
            before = if near { (q + ROUND).to_bits() as i32 } else { before };
            before
        };
        let q = match dtype {
            DType::F32 => values::<f32>(&sample.bytes).map(|x| multiple(x.into())).collect(),
            DType::F64 => values::<f64>(&sample.bytes).map(multiple).collect(),
            _ => vec![],
        };
        let pair = dtype.bytes() as usize + size_of::<u32>();
        Multiples { q, dims, exact: exact * pair, pair, codes: Default::default() }
    }

    /// The codes of differences along the fastest dimensions; 0: along all.
    fn codes(&self, axes: usize) -> &[u32] {
        self.codes[axes].get_or_init(|| self.differences(axes))
    }

    fn differences(&self, axes: usize) -> Vec<u32> {
        let [x, y, z] = self.dims;
        let rank = match self.dims {
            [_, 1, 1] => 1,
            [_, _, 1] => 2,
            _ => 3,
        };
        let (dims, tile) = match if axes == 0 { rank } else { axes.min(rank) } {
            1 => ([x * y * z, 1, 1], [1024, 1, 1]),
            2 => ([x, y * z, 1], [32, 32, 1]),
            _ => (self.dims, [8, 8, 8]),
        };
        let mut d = self.q.clone();
        let mut stride = 1;
        for (&n, &tile) in dims.iter().zip(&tile) {
            if tile > 1 {
                subtract(&mut d, n, stride, tile);
            }
            stride *= n;
        }
        d.into_iter().map(|d| ((d << 1) ^ (d >> 31)) as u32).collect()
    }

    /// Bytes of a container of `fz` without its header, for an array of `elements` like the sample.
    pub(super) fn fz(&self, axes: usize, elements: u64) -> f64 {
        let codes = self.codes(axes);
        let outliers = codes.iter().filter(|&&code| code >> BITS != 0).count();
        let share = elements as f64 / codes.len().max(1) as f64;
        // The bits of an incomplete last chunk stay in place.
        let rest = (elements % CHUNK as u64) as usize;
        let rest = &codes[codes.len().saturating_sub(rest)..];
        let chunks = codes.chunks_exact(CHUNK);
        let whole = chunks.len().max(1) as f64;
        let chunks = chunks.map(|chunk| zero_free(chunk, plane_map)).sum::<usize>() as f64;
        let rest = if rest.is_empty() { 0 } else { zero_free(rest, byte_map) };
        let pairs = (self.exact + outliers * self.pair) as f64;
        pairs * share + chunks / whole * (elements / CHUNK as u64) as f64 + rest as f64
    }

    /// Bytes of a container of `cusz` without its header and its code book, for an array of `elements` like the sample.
    pub(super) fn cusz(&self, axes: usize, elements: u64) -> f64 {
        let codes = self.codes(axes);
        // A cell for the length of a partition, one for its place, and half of one that is padding.
        const CELLS: f64 = 2.5;
        let mut counts = [0; SYMBOLS];
        let mut outliers = 0;
        for &code in codes {
            let is_code = (code as usize) < SYMBOLS;
            counts[if is_code { code as usize } else { 0 }] += 1;
            outliers += usize::from(!is_code);
        }
        let partitions = (codes.len() as f64 / PARTITION).ceil();
        let pairs = self.exact + outliers * self.pair;
        let bytes = (pairs + huffman_bits(&counts) / 8) as f64 + 4.0 * CELLS * partitions;
        bytes * (elements as f64 / codes.len().max(1) as f64)
    }
}

fn values<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> impl Iterator<Item = T> + '_ {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned)
}

/// Differences along a dimension of length `n`, within tiles.
fn subtract(d: &mut [i32], n: usize, stride: usize, tile: usize) {
    for part in d.chunks_mut((n * stride).max(1)).flat_map(|line| line.chunks_mut(tile * stride)) {
        if stride == 1 {
            let mut before = 0;
            for own in part {
                (*own, before) = (own.wrapping_sub(before), *own);
            }
            continue;
        }
        for i in (1..part.len() / stride).rev() {
            let (before, own) = part.split_at_mut(i * stride);
            for (own, before) in own[..stride].iter_mut().zip(&before[(i - 1) * stride..]) {
                *own = own.wrapping_sub(*before);
            }
        }
    }
}

/// A bit for each byte of a chunk.
type Map = [u8; 2 * CHUNK / 8];

/// Marks the bytes of the codes that are not 0.
fn byte_map(codes: &[u32], map: &mut Map) {
    for (marks, four) in map.iter_mut().zip(codes.chunks(4)) {
        for (k, code) in four.iter().enumerate().filter(|(_, code)| **code >> BITS == 0) {
            *marks |= u8::from(code & 0xff != 0) << (2 * k) | u8::from(code >> 8 != 0) << (2 * k + 1);
        }
    }
}

/// The same after stage `bitshuffle`: a byte is one bit of eight consecutive codes.
fn plane_map(codes: &[u32], map: &mut Map) {
    for (j, part) in codes.chunks(64).enumerate() {
        let mut any = [0u32; 8];
        for (any, eight) in any.iter_mut().zip(part.chunks(8)) {
            *any = eight.iter().fold(0, |any, &code| any | if code >> BITS == 0 { code } else { 0 });
        }
        let all = any.iter().fold(0, |all, any| all | any);
        for bit in 0..(u32::BITS - all.leading_zeros()) as usize {
            let byte = any.iter().rev().fold(0, |byte, any| byte << 1 | any >> bit & 1);
            map[bit * (CHUNK / 64) + j] = byte as u8;
        }
    }
}

/// Bytes of at most [`CHUNK`] codes after stage `rze`.
fn zero_free(codes: &[u32], marks: impl Fn(&[u32], &mut Map)) -> usize {
    /// Number of stored bytes and their length; the last bitmap, if a byte is stored.
    const FRAME: usize = 6;
    const LAST: usize = 4;
    let mut map: Map = [0; 2 * CHUNK / 8];
    marks(codes, &mut map);
    let mut bytes: usize = map.iter().map(|marks| marks.count_ones() as usize).sum();
    if bytes == 0 {
        return FRAME;
    }
    // Three times: a byte is stored if it differs from the one before it, and a bitmap marks these bytes.
    let mut len = map.len();
    for _ in 0..3 {
        let mut before = 0;
        for i in 0..len / 8 {
            let mut marks = 0;
            for k in 0..8 {
                let own = map[8 * i + k];
                marks |= u8::from(own != before) << k;
                before = own;
            }
            bytes += marks.count_ones() as usize;
            map[i] = marks;
        }
        len /= 8;
    }
    (bytes + FRAME + LAST).min(2 * codes.len() + FRAME)
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
    use crate::base::array::Array;
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
                    let multiples = Multiples::new(&sample, bound);
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
