//! The sizes of presets `fz` and `cusz`, computed from the codes of stage `lorenzo_quant`, which both presets code.

use super::sample::Sample;
use crate::base::array::Array;
use crate::base::dtype::DType;
use crate::stages::wide::{Work, widest};
use std::cell::OnceCell;
use std::marker::PhantomData;

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
        let mut d = differences_of_rows(&self.q, dims[0], tile[0]);
        let mut stride = dims[0];
        for (&n, &tile) in dims.iter().zip(&tile).skip(1) {
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

/// Differences along rows of length `n`, within tiles.
fn differences_of_rows(q: &[i32], n: usize, tile: usize) -> Vec<i32> {
    let mut d = Vec::with_capacity(q.len());
    d.extend(q.first());
    d.extend(q.iter().zip(q.iter().skip(1)).map(|(before, own)| own.wrapping_sub(*before)));
    for (d, q) in d.chunks_mut(n.max(1)).zip(q.chunks(n.max(1))) {
        d.iter_mut().step_by(tile).zip(q.iter().step_by(tile)).for_each(|(d, q)| *d = *q);
    }
    d
}

/// Differences along a dimension of length `n`, within tiles.
fn subtract(d: &mut [i32], n: usize, stride: usize, tile: usize) {
    for part in d.chunks_mut((n * stride).max(1)).flat_map(|line| line.chunks_mut(tile * stride)) {
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
        let mut short = [0u16; 64];
        for (short, &code) in short.iter_mut().zip(part) {
            *short = if code >> BITS == 0 { code as u16 } else { 0 };
        }
        // The low and the high bytes of the disjunctions of eight codes each.
        let (mut low, mut high) = (0, 0);
        for (k, eight) in short.chunks_exact(8).enumerate() {
            let any = eight.iter().fold(0, |any, code| any | code);
            low |= u64::from(any & 0xff) << (8 * k);
            high |= u64::from(any >> 8) << (8 * k);
        }
        for (first, bytes) in [(0, low), (8, high)].into_iter().filter(|(_, bytes)| *bytes != 0) {
            for (bit, byte) in transposed(bytes).to_le_bytes().into_iter().enumerate() {
                map[(first + bit) * (CHUNK / 64) + j] = byte;
            }
        }
    }
}

/// Bit i of byte k becomes bit k of byte i.
fn transposed(mut x: u64) -> u64 {
    for (distance, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let t = (x ^ x >> distance) & mask;
        x ^= t ^ t << distance;
    }
    x
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
    fn planes_have_a_bit_of_every_eight_codes() {
        let mut random = numbers();
        let codes: Vec<u32> = (0..1000).map(|i| (random() * f64::from(1 << (i % 18))) as u32).collect();
        let mut map: Map = [0; 2 * CHUNK / 8];
        plane_map(&codes, &mut map);
        for (i, eight) in codes.chunks(8).enumerate() {
            for bit in 0..BITS {
                let is_set = eight.iter().any(|code| code >> BITS == 0 && code >> bit & 1 > 0);
                assert_eq!(map[bit * (CHUNK / 64) + i / 8] >> (i % 8) & 1 > 0, is_set, "{i} {bit}");
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
