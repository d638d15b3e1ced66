//! The bytes of a container that are read for a region.

use super::*;
use crate::base::array::Array;
use crate::base::dtype::DType;
use crate::codec::{Container, Options, compress, decompress};
use crate::pipeline::Pipeline;
use std::cell::RefCell;
use std::ops::Range;

/// A container in memory that pretends not to be, with a record of the bytes that were read.
struct Watched {
    bytes: Vec<u8>,
    read: RefCell<Vec<Range<usize>>>,
}

impl Source for Watched {
    fn name(&self) -> String {
        "a container".into()
    }

    fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn fill(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let range = at as usize..at as usize + into.len();
        into.copy_from_slice(&self.bytes[range.clone()]);
        self.read.borrow_mut().push(range);
        Ok(())
    }
}

impl Watched {
    /// Restores a region; returns the ranges that were read for it, without the header.
    fn restore(&self, origin: &[u64], extent: &[u64], dst: &mut [u8]) -> Vec<Range<usize>> {
        let header = read_from(self).unwrap();
        let first = self.read.take();
        assert!(first.iter().all(|r| r.end <= header.bytes.len().max(4096)), "{first:?}");
        restore_region(&header, self, (origin, extent), dst).unwrap();
        self.read.take().into_iter().filter(|r| !r.is_empty()).collect()
    }
}

fn noise(n: usize, seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed;
    (0..n).map(move |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64
    })
}

fn made(dtype: DType, dims: &[u64], bound: f64, container: Container) -> (Watched, Vec<u8>) {
    let array = Array::new(dtype, dims).unwrap();
    // A third is constant, and has no words.
    let n = array.elements() as usize;
    let values = noise(n, 5).enumerate().map(|(i, x)| if i < n / 3 { 7.0 } else { x });
    let src: Vec<u8> = match dtype {
        DType::F32 => values.flat_map(|x| (x as f32).to_le_bytes()).collect(),
        _ => values.flat_map(f64::to_le_bytes).collect(),
    };
    let mut pipeline = Pipeline::new();
    let node = pipeline.add("fast").unwrap();
    pipeline.args_mut(node).unwrap().set_real("error_bound", bound).unwrap();
    let options = Options { container, ..Options::default() };
    let bytes = compress(&pipeline, &array, &options, &src).unwrap();
    let (_, whole) = decompress(&bytes, &options).unwrap();
    (Watched { bytes, read: RefCell::default() }, whole)
}

/// The same array with the words of every other chunk behind those of the others, which readers take too.
fn shuffled(watched: &mut Watched, chunks: usize) {
    let segment = read_from(watched).unwrap().segments[0].clone();
    let (table, words) = watched.bytes[segment].split_at_mut(8 * chunks);
    let old = words.to_vec();
    let mut next = 0;
    for k in (0..chunks).step_by(2).chain((1..chunks).step_by(2)) {
        let entry = &mut table[8 * k..8 * k + 8];
        let bits = u64::from_le_bytes(entry.try_into().unwrap());
        if bits >> 63 == 0 {
            let (first, count) = (bits as usize & ((1 << 44) - 1), (bits >> 44) as usize & 0xffff);
            words[4 * next..4 * (next + count)].copy_from_slice(&old[4 * first..4 * (first + count)]);
            entry.copy_from_slice(&(bits >> 44 << 44 | next as u64).to_le_bytes());
            next += count;
        }
    }
    assert_eq!(4 * next, words.len());
}

/// For each byte, whether a region takes it: of each chunk that it touches the entry and the words, from the page of the stage.
fn taken(watched: &Watched, dims: &[u64], origin: &[u64], extent: &[u64]) -> Vec<bool> {
    let chunk: [u64; 3] = [[8192, 1, 1], [32, 256, 1], [32, 32, 8]][dims.len() - 1];
    let of = |v: &[u64], d: usize, none: u64| v.get(d).copied().unwrap_or(none);
    let counts = [0, 1, 2].map(|d| of(dims, d, 1).div_ceil(chunk[d]));
    let segment = read_from(watched).unwrap().segments[0].clone();
    watched.read.take();
    let words = segment.start + 8 * counts.iter().product::<u64>() as usize;
    let mut all = vec![false; watched.bytes.len()];
    for k in 0..counts.iter().product() {
        let at = [k % counts[0], k / counts[0] % counts[1], k / counts[0] / counts[1]];
        let touched = (0..3).all(|d| {
            let (first, end) = (of(origin, d, 0), of(origin, d, 0) + of(extent, d, 1));
            at[d] * chunk[d] < end && (at[d] + 1) * chunk[d] > first
        });
        if touched {
            let entry = segment.start + 8 * k as usize;
            all[entry..entry + 8].fill(true);
            let bits = u64::from_le_bytes(watched.bytes[entry..entry + 8].try_into().unwrap());
            if bits >> 63 == 0 {
                let (first, count) = (bits as usize & ((1 << 44) - 1), (bits >> 44) as usize & 0xffff);
                all[words + 4 * first..words + 4 * (first + count)].fill(true);
            }
        }
    }
    all
}

#[test]
fn entries_and_words_of_the_touched_chunks_are_read_and_nothing_else() {
    for (dtype, dims, regions) in [
        (
            DType::F32,
            &[100_000][..],
            &[(&[0][..], &[100_000][..]), (&[50_000], &[1]), (&[8191], &[60_000])][..],
        ),
        (
            DType::F64,
            &[200, 1500],
            &[(&[0, 0], &[200, 1500]), (&[40, 300], &[100, 900]), (&[199, 1499], &[1, 1])],
        ),
        (
            DType::F32,
            &[130, 100, 50],
            &[
                (&[0, 0, 0], &[130, 100, 50]),
                (&[0, 0, 9], &[130, 100, 30]),
                (&[40, 40, 20], &[20, 50, 20]),
                (&[31, 31, 7], &[2, 2, 2]),
                (&[64, 64, 47], &[1, 1, 1]),
            ],
        ),
    ] {
        for (container, mixed) in
            [(Container::Fzm, false), (Container::Compact, false), (Container::Fzm, true)]
        {
            let (mut watched, whole) = made(dtype, dims, 4.0, container);
            if mixed {
                let chunks = [[8192, 1, 1], [32, 256, 1], [32, 32, 8]][dims.len() - 1];
                shuffled(
                    &mut watched,
                    dims.iter().zip(chunks).map(|(d, c)| d.div_ceil(c) as usize).product(),
                );
                let options = Options { checksum: false, ..Options::default() };
                assert!(decompress(&watched.bytes, &options).unwrap().1 == whole);
            }
            for (origin, extent) in regions {
                let mut dst = vec![0; (extent.iter().product::<u64>() * dtype.bytes()) as usize];
                let read = watched.restore(origin, extent, &mut dst);
                let mut seen = vec![false; watched.bytes.len()];
                for range in read {
                    let bytes = &mut seen[range.clone()];
                    assert!(
                        !bytes.contains(&true),
                        "{range:?} is read twice, {dims:?} {origin:?} {extent:?}"
                    );
                    bytes.fill(true);
                }
                let want = taken(&watched, dims, origin, extent);
                let wrong = seen.iter().zip(&want).position(|(seen, want)| seen != want);
                assert!(wrong.is_none(), "{dims:?} {origin:?} {extent:?}: byte {wrong:?}");
                let mut same = vec![0; dst.len()];
                decompress_region(&watched.bytes, origin, extent, &mut same).unwrap();
                assert!(same == dst, "{dims:?} {origin:?} {extent:?}");
            }
        }
    }
}

/// Words in pieces of 1 MiB at most, and not many more pieces than that takes.
#[test]
fn adjacent_parts_are_read_together_and_in_pieces() {
    let dims = [256, 256, 128];
    let (watched, whole) = made(DType::F32, &dims, 4.0, Container::Fzm);
    let mut dst = vec![0; whole.len()];
    let read = watched.restore(&[0; 3], &dims, &mut dst);
    assert!(dst == whole);
    let longest = read.iter().map(Range::len).max().unwrap();
    assert!(longest <= 1 << 20, "{longest}");
    let total: usize = read.iter().map(Range::len).sum();
    assert!(
        total > 8 << 20 && read.len() <= 2 + total.div_ceil((1 << 20) - (1 << 16)),
        "{} {total}",
        read.len()
    );
    // A plane of chunks of a third of the rows: for each row of them one read of entries and one of words.
    let mut dst = vec![0; 4 * 256 * 80];
    assert_eq!(watched.restore(&[0, 90, 70], &[256, 80, 1], &mut dst).len(), 2);
    let mut dst = vec![0; 4 * 100 * 80];
    assert_eq!(watched.restore(&[90, 90, 70], &[100, 80, 1], &mut dst).len(), 2 * 4);
}

/// 10,000 entries, of chunks that have no words.
#[test]
fn a_long_table_is_read_in_pieces() {
    let dims = [2, 2, 8 * 10_000];
    let array = Array::new(DType::F32, &dims).unwrap();
    let mut pipeline = Pipeline::new();
    pipeline.add("fast").unwrap();
    let src = vec![0; array.bytes() as usize];
    let bytes = compress(&pipeline, &array, &Options::default(), &src).unwrap();
    let watched = Watched { bytes, read: RefCell::default() };
    let mut dst = vec![1; array.bytes() as usize];
    let read = watched.restore(&[0; 3], &dims, &mut dst);
    assert!(dst == src);
    assert_eq!(read.iter().map(Range::len).collect::<Vec<_>>(), [32768, 32768, 80_000 - 65_536]);
}

#[test]
fn stored_arrays_are_read_row_by_row_or_whole() {
    let dims = [9, 8, 5];
    let (watched, _) = made(DType::F64, &dims, 1e-9, Container::Fzm);
    let header = read_from(&watched).unwrap();
    assert_eq!(header.bound.pipeline.nodes[0].stage(), "stored");
    let begin = header.segments[0].start;
    for (origin, extent, reads) in [
        ([0, 0, 0], [9, 8, 5], vec![(0, 360)]),
        ([0, 0, 1], [9, 8, 2], vec![(72, 144)]),
        ([0, 3, 1], [9, 2, 2], vec![(99, 18), (171, 18)]),
        ([2, 3, 1], [6, 2, 2], vec![(101, 6), (110, 6), (173, 6), (182, 6)]),
        ([8, 7, 4], [1, 1, 1], vec![(359, 1)]),
    ] {
        let mut dst = vec![0; 8 * extent.iter().product::<u64>() as usize];
        let read = watched.restore(&origin, &extent, &mut dst);
        let want: Vec<_> = reads.iter().map(|(at, n)| begin + 8 * at..begin + 8 * (at + n)).collect();
        assert_eq!(read, want);
        let want: Vec<u8> = want.into_iter().flat_map(|r| watched.bytes[r].to_vec()).collect();
        assert!(dst == want);
    }
}
