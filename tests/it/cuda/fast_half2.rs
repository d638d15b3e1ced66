//! Stage fast, volumes whose range has few bins: codes that are near each other, two to a register, and chunks that turn out not to be.

use crate::common::rng::Rng;
use crate::cuda::lorenzo_3d::{agrees, stage};
use crate::cuda::need_gpu;
use fzgm::{Array, DType, Options};

/// Bins of 1: of the range that is given there are 500.
const SETS: [(&str, &str); 4] =
    [("mode", "noa"), ("error_bound", "1e-3"), ("value_base", "500"), ("fixed_step", "true")];

/// A volume of chunks of every kind, a kind a column of chunks.
fn volume([nx, ny, nz]: [u64; 3], seed: u64) -> Vec<u8> {
    let mut rng = Rng(seed);
    let noise: Vec<f64> = (0..nx * ny).map(|_| rng.below(1001) as f64 - 500.0).collect();
    let mut src = vec![];
    for i in 0..nx * ny * nz {
        let (x, y, z) = (i % nx, i / nx % ny, i / nx / ny);
        let odd = |n: u64| if n % 2 == 0 { 1.0 } else { -1.0 };
        let value = match x / 32 % 14 {
            // One code, far away.
            0 => 3e5,
            // Codes are smaller than differences, and the other way round.
            1 => rng.below(3) as f64,
            2 => (7 * x + 3 * y) as f64 - 100.0 + z as f64,
            // As far apart as they may be, and one farther.
            3 => f64::from(rng.below(2) as u32) * 511.0,
            4 if rng.below(2000) == 0 => 512.0,
            4 => 0.0,
            // More than eight bits, of codes and of differences.
            5 => rng.below(400) as f64,
            6 => 300.0 * odd(x + y) + rng.below(2) as f64,
            // The plane before, but for a patch of which differences come to odd numbers of 13 bits. Codes count from the first one.
            7 if x % 32 / 2 == 5 && y % 32 / 2 == 5 => {
                500.0 * odd(x + y + z) + if x % 2 == 1 && y % 2 == 1 && z % 2 == 1 { 1.0 } else { 0.0 }
            }
            7 if x % 32 == 0 && y % 32 == 0 => 0.0,
            7 => noise[(y * nx + x) as usize],
            // Exceptions: in most chunks the first value is one.
            8 if rng.below(50) == 0 => f64::NAN,
            8 => 1e4 + (x + y) as f64,
            9 if (x + y + z) % 64 < 40 => 1e30,
            9 => 2e4 + (x * y % 50) as f64,
            10 => 1e30,
            // Near each other, and some of them beyond the largest code, or all but the first.
            11 => 2_097_000.0 + rng.below(300) as f64,
            12 => 2_097_151.0 + ((x + y) % 32) as f64,
            // Never near.
            _ => rng.unit() * 1e5,
        };
        src.extend_from_slice(&(value as f32).to_le_bytes());
    }
    src
}

#[test]
fn chunks_are_near_or_not() {
    need_gpu!();
    for dims in [[8224, 32, 2], [4128, 35, 9], [4200, 64, 5]] {
        let array = Array::new(DType::F32, &dims).unwrap();
        let src = volume(dims, dims[0]);
        let form = Options { store_incompressible: false, ..Options::default() };
        for shift in [0, 4] {
            agrees(&stage("fast", &SETS), &array, &src, &form, [shift, 0], &format!("{dims:?} at {shift}"));
        }
    }
}

/// NaN of both kinds have no part in the range, wherever they stand in a tile that is looked at as a whole.
#[test]
fn nan_leave_the_range_alone() {
    need_gpu!();
    let array = Array::new(DType::F32, &[8192]).unwrap();
    for nan in [0x7f80_0001u32, 0xff80_0001, 0x7fc0_0001] {
        let mut values: Vec<u32> = (0..8192).map(|i| ((i % 97) as f32 * 0.25).to_bits()).collect();
        (values[0], values[1], values[4096]) = ((-100f32).to_bits(), nan, nan);
        let src: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let sets = [("mode", "noa"), ("error_bound", "1e-3")];
        agrees(&stage("fast", &sets), &array, &src, &Options::default(), [0, 0], &format!("{nan:x}"));
    }
}
