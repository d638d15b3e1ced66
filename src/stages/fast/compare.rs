//! The two bodies against each other: the same words from any values, the same values from any words.

use super::chunk::{ChunkDecoder, ChunkEncoder};
use super::entry::Entry;
use super::grid::ChunkGrid;
use super::params::FastParams;
use super::plain::Plain;
use super::unit::Body;
use super::value::{FastQuantize, FastValue};
use super::wide::Wide;
use crate::base::dtype::DType;
use crate::base::error::Fault;
use crate::stages::quantizer::BoundMetadata;
use crate::stages::wide::available;
use bytemuck::Zeroable;

struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
    }

    fn below(&mut self, n: u64) -> u64 {
        self.word() % n
    }
}

type Restored = (Result<(), Fault>, Vec<u8>);

fn decode<T: FastValue, B: Body>(grid: &ChunkGrid, step: T, entry: Entry, words: &[u8]) -> Restored {
    let c = grid.chunk(0);
    let mut all = vec![];
    let made = ChunkDecoder::<T, B>::new(step).decode(grid, &c, entry, words, |at, row| {
        all.extend(at.iter().map(|&i| i as u8));
        all.extend_from_slice(row);
        Ok(())
    });
    (made, all)
}

fn agree<T: FastValue>(dtype: DType, rng: &mut Random) {
    const SHAPES: [[u64; 3]; 6] =
        [[8192, 1, 1], [2077, 1, 1], [32, 256, 1], [19, 77, 1], [32, 32, 8], [31, 9, 5]];
    let dims = SHAPES[rng.below(6) as usize];
    let launch = FastParams::new(1e20, dims, dtype);
    let grid = ChunkGrid::new(&launch);
    let mut metadata = BoundMetadata::zeroed();
    // The inverse of the second one is rounded, so that it matters how products with it are.
    let bound = [0.25, f64::from(0.3f32)][rng.below(2) as usize];
    (metadata.bound, metadata.promise) = (bound, bound);
    let q = FastQuantize::<T>::new(launch.threshold, &metadata);
    let (size, exact) = (1u64 << rng.below(30), 1 << rng.below(14));
    let offset = [0.0, 1e3, 3e8, 1e15][rng.below(4) as usize];
    let mut x = offset;
    let values: Vec<T> = (0..grid.values())
        .map(|i| {
            x = if i % 64 == 0 { offset } else { x } + rng.below(size) as f64 - (size / 2) as f64;
            T::from_f64(if rng.below(exact) == 0 { f64::NAN } else { x })
        })
        .collect();
    let src = bytemuck::cast_slice(&values);
    let (mut plain, mut wide) = (ChunkEncoder::<T, Plain>::new(), ChunkEncoder::<T, Wide>::new());
    let entry = plain.encode(src, &grid, 0, &q).unwrap();
    assert_eq!(wide.encode(src, &grid, 0, &q).unwrap(), entry);
    assert!(wide.out == plain.out, "{dims:?} {size} {exact} {offset}");
    // As they are, and damaged.
    let mut words = bytemuck::cast_slice::<u16, u8>(&plain.out.0).to_vec();
    for _ in 0..4 {
        let [a, b] = [
            decode::<T, Plain>(&grid, q.step, entry, &words),
            decode::<T, Wide>(&grid, q.step, entry, &words),
        ];
        assert!(a == b, "{dims:?} {size} {exact} {offset}: {:?} {:?}", a.0, b.0);
        if words.is_empty() {
            return;
        }
        let i = rng.below(words.len().min(200) as u64) as usize;
        words[i] ^= 1 << rng.below(8);
    }
}

#[test]
fn bodies_agree() {
    if !available() {
        return;
    }
    let mut rng = Random(5);
    for _ in 0..300 {
        agree::<f32>(DType::F32, &mut rng);
        agree::<f64>(DType::F64, &mut rng);
    }
}
