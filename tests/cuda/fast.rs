//! Stage fast: units, lanes and chunks, and what is cut off at the end of an array, with every kind of value in them.

use crate::bricks::{Rare, agrees, field, stage};
use crate::common::rng::Rng;
use crate::need_gpu;
use fzgm::{Array, Container, DType, Options};

/// Whole chunks, units that are cut off, lanes of one value, and more chunks than a group has.
const SHAPES: [&[u64]; 16] = [
    &[1],
    &[31],
    &[1024],
    &[8192],
    &[100_003],
    &[32, 256],
    &[33, 300],
    &[1, 700],
    &[132, 31],
    &[32, 32, 8],
    &[64, 32, 17],
    &[36, 40, 9],
    &[33, 35, 3],
    &[130, 3, 10],
    &[1, 1, 100],
    &[256, 128, 72],
];

const SHIFTS: [[usize; 2]; 5] = [[0, 0], [4, 0], [0, 4], [8, 8], [3, 1]];

fn three(dims: &[u64]) -> [u64; 3] {
    [0, 1, 2].map(|d| dims.get(d).copied().unwrap_or(1))
}

#[test]
fn streams_and_values_are_those_of_the_cpu() {
    need_gpu!();
    let mut rng = Rng(0x6a09_e667);
    for dims in SHAPES {
        let small = dims.iter().product::<u64>() < 40_000;
        for dtype in [DType::F32, DType::F64] {
            for which in [Rare::No, Rare::Edges, Rare::Many, Rare::All] {
                // Of large fields one kind each.
                if !small && rng.below(3) != 0 {
                    continue;
                }
                let (bound, threshold) =
                    (*rng.pick(&["0.5", "0.3", "1e-3", "1e-9"]), *rng.pick(&["inf", "1e19", "30"]));
                let sets = [
                    ("mode", *rng.pick(&["abs", "abs", "noa", "prel"])),
                    ("error_bound", bound),
                    ("outlier_threshold", threshold),
                    ("fixed_step", *rng.pick(&["false", "true"])),
                ];
                let b: f64 = bound.parse().unwrap();
                let step = *rng.pick(&[1.0, 1e-3, 700.0])
                    * if dtype == DType::F32 { (2.0 * b as f32).into() } else { 2.0 * b };
                let src = field(dtype, three(dims), (step, 1e4), which, rng.word());
                let form = Options {
                    container: *rng.pick(&[Container::Fzm, Container::Compact]),
                    store_incompressible: false,
                    ..Options::default()
                };
                let what = format!("{dtype} {dims:?} {which:?} {sets:?}");
                let array = Array::new(dtype, dims).unwrap();
                agrees(&stage("fast", &sets), &array, &src, &form, *rng.pick(&SHIFTS), &what);
            }
        }
    }
}

/// Units that are one value, fills of one value among others, far from zero and close to it, and constants between them.
#[test]
fn units_of_one_kind() {
    need_gpu!();
    let mut rng = Rng(0xbb67_ae85);
    for dims in [&[20_000][..], &[64, 512], &[64, 64, 16], &[40, 44, 17]] {
        for dtype in [DType::F32, DType::F64] {
            for far in [0.0, 3e6, -4.5e9, 1e18] {
                let n = dims.iter().product::<u64>();
                let kinds: Vec<_> = (0..n.div_ceil(512)).map(|_| rng.below(6)).collect();
                let mut src = vec![];
                for i in 0..n {
                    let x = match kinds[(i / 512) as usize] {
                        0 => far,
                        1 => 1e30,
                        2 => {
                            if i % 3 == 0 {
                                1e30
                            } else {
                                far + (i % 50) as f64
                            }
                        }
                        3 => {
                            if rng.below(40) == 0 {
                                f64::NAN
                            } else {
                                far
                            }
                        }
                        4 => far + rng.unit() * 1e5,
                        _ => far + (i as f64 * 0.01).sin() * 300.0,
                    };
                    match dtype {
                        DType::F32 => src.extend_from_slice(&(x as f32).to_le_bytes()),
                        _ => src.extend_from_slice(&x.to_le_bytes()),
                    }
                }
                let sets = [("mode", "abs"), ("error_bound", "0.25"), ("outlier_threshold", "1e25")];
                let array = Array::new(dtype, dims).unwrap();
                let what = format!("{dtype} {dims:?} from {far}");
                let form = Options { store_incompressible: false, ..Options::default() };
                agrees(&stage("fast", &sets), &array, &src, &form, *rng.pick(&SHIFTS), &what);
            }
        }
    }
}

/// Chunks of one value, close to zero and so far from it that its code counts from an anchor, before others.
#[test]
fn chunks_of_one_value() {
    need_gpu!();
    for dims in [&[20_000][..], &[64, 512], &[64, 64, 16]] {
        for far in [0.0, 7.0, -4.5e9, 3e13] {
            let (n, last) = (dims.iter().product::<u64>(), if far == 0.0 { 5.0 } else { far + 100.0 });
            let values = (0..n).map(|i| if i < n - 9 { far } else { last });
            let src: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
            let array = Array::new(DType::F64, dims).unwrap();
            let sets = [("mode", "abs"), ("error_bound", "0.25")];
            agrees(
                &stage("fast", &sets),
                &array,
                &src,
                &Options::default(),
                [0, 0],
                &format!("{dims:?} {far}"),
            );
        }
    }
}
