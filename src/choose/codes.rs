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
        let mut exact = 0;
        let mut multiple = |x: f64| {
            let q = x * inverse;
            let near = q.abs() <= guard && x.abs() < sample.threshold;
            exact += usize::from(!near);
            if near { (q + ROUND).to_bits() as i32 } else { 0 }
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

    /// Bytes of a container of `fz` without its header.
    pub(super) fn fz(&self, axes: usize) -> usize {
        let codes = self.codes(axes);
        let outliers = codes.iter().filter(|&&code| code >> BITS != 0).count();
        self.exact + outliers * self.pair + codes.chunks(CHUNK).map(zero_free).sum::<usize>()
    }

    /// Bytes of a container of `cusz` without its header and its code book.
    pub(super) fn cusz(&self, axes: usize) -> usize {
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
        self.exact + outliers * self.pair + huffman_bits(&counts) / 8 + (4.0 * CELLS * partitions) as usize
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

/// Bytes of at most [`CHUNK`] codes after stages `bitshuffle` and `rze`. A byte is one bit of eight consecutive codes.
fn zero_free(codes: &[u32]) -> usize {
    /// Number of stored bytes and their length; the last bitmap, if a byte is stored.
    const FRAME: usize = 6;
    const LAST: usize = 4;
    const ROW: usize = CHUNK / 64;
    let mut map = [0u8; BITS * ROW];
    let mut bytes = 0;
    for (j, part) in codes.chunks(64).enumerate() {
        let mut any = [0u32; 8];
        for (any, eight) in any.iter_mut().zip(part.chunks(8)) {
            let bits = eight.iter().fold(0, |any, &code| any | if code >> BITS == 0 { code } else { 0 });
            bytes += bits.count_ones() as usize;
            *any = bits;
        }
        let all = any.iter().fold(0, |all, any| all | any);
        for bit in 0..(u32::BITS - all.leading_zeros()) as usize {
            let byte = any.iter().rev().fold(0, |byte, any| byte << 1 | any >> bit & 1);
            map[bit * ROW + j] = byte as u8;
        }
    }
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
