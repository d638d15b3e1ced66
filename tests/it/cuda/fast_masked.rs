//! Stage fast, planes and volumes of f32 of which fills are named: values that no code stands for are kept in the place of codes.

use crate::common::rng::Rng;
use crate::cuda::lorenzo_3d::{agrees, stage};
use crate::cuda::need_gpu;
use fzgm::{Array, DType, Options};

/// Bins of 1.
const SETS: [(&str, &str); 4] =
    [("mode", "abs"), ("error_bound", "0.5"), ("outlier_threshold", "1e6"), ("fixed_step", "true")];

/// An array of chunks of every kind, a kind a column of units.
fn array([nx, ny, nz]: [u64; 3], seed: u64) -> Vec<u8> {
    let mut rng = Rng(seed);
    let mut src = vec![];
    for i in 0..nx * ny * nz {
        let (x, y, z) = (i % nx, i / nx % ny, i / nx / ny);
        let smooth = (x / 3 + y / 5 + z) as f32 - 40.0;
        let nan = |bits: u32| f32::from_bits(0x7fc0_0000 | bits);
        let value = match x / 32 % 14 {
            0 => smooth,
            // A fill among others: at the start of units, of lanes, of rows, by chance, and everywhere but in one place.
            1 if (x + y) % 64 < 20 => 1e20,
            2 if x % 4 == 0 => 1e20,
            3 if y % 8 != 3 => 1e20,
            4 if rng.below(40) == 0 => 1e20,
            5 if x % 32 != 17 || y % 32 != 9 => 1e20,
            // Nothing but one fill, and nothing but two.
            6 => 1e20,
            7 => [1e20, -1e20][(y / 7 % 2) as usize],
            // Exact values that are not one; some lanes have the same, and others nothing.
            8 if rng.below(30) == 0 => nan(rng.below(3) as u32),
            9 if x % 32 < 8 => nan((x % 32 / 4) as u32),
            // Below the threshold, at it and above; the largest code and those behind it.
            10 => f32::from_bits(1e6f32.to_bits() - 2 + rng.below(4) as u32),
            // One code, and fills around it.
            11 if (x + y) % 3 == 0 => f32::INFINITY,
            11 => 7.0,
            12 => [0.0, -0.0, f32::NEG_INFINITY, 1e-40][rng.below(4)],
            _ => smooth,
        };
        src.extend_from_slice(&value.to_le_bytes());
    }
    src
}

fn all_agree(sets: &[(&str, &str)], value: impl Fn(f32) -> f32) {
    // Wide ones, of so many chunks that blocks copy for each other; units are whole, or none is.
    for dims in [&[8224, 32][..], &[8228, 300], &[8224, 64, 2], &[4128, 35, 9], &[8230, 33]] {
        let three = [0, 1, 2].map(|d| dims.get(d).copied().unwrap_or(1));
        let src: Vec<u8> = array(three, dims[0])
            .chunks_exact(4)
            .flat_map(|b| value(f32::from_le_bytes(b.try_into().unwrap())).to_le_bytes())
            .collect();
        let form = Options { store_incompressible: false, ..Options::default() };
        let array = Array::new(DType::F32, dims).unwrap();
        for shift in [0, 4] {
            agrees(
                &stage("fast", sets),
                &array,
                &src,
                &form,
                [shift, 0],
                &format!("{dims:?} at {shift}, {sets:?}"),
            );
        }
    }
}

#[test]
fn fills_of_every_kind() {
    need_gpu!();
    all_agree(&SETS, |x| x);
}

/// A threshold that no code reaches, and values that lie beyond all codes and are below it.
#[test]
fn values_beyond_all_codes() {
    need_gpu!();
    let mut sets = SETS;
    sets[2].1 = "1e30";
    all_agree(&sets, |x| if x.abs() == 1e20 { x * 1e-13 } else { x });
}
