//! Stage fast: units, lanes and chunks, and what is cut off at the end of an array, with every kind of value in them.

use crate::common::fixture::options;
use crate::common::gpu::{Block, TestStream};
use crate::common::rng::Rng;
use crate::cuda::lorenzo_3d::{Rare, agrees, field, stage};
use crate::cuda::need_gpu;
use fzgm::{Array, Container, DType, Device, Encoder, Options, Status};

/// Whole chunks, units that are cut off, lanes of one value, and more chunks than a group has. Thin ones have 256 chunks, which
/// other functions encode than 257, and more than there are slots.
const SHAPES: [&[u64]; 24] = [
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
    &[8192, 2],
    &[8193, 3],
    &[8190, 2, 2],
    &[8193, 2, 2],
    &[8196, 2, 3],
    &[66_000, 2],
    &[140_000, 2],
    &[2_097_153],
];

pub(super) const SHIFTS: [[usize; 2]; 5] = [[0, 0], [4, 0], [0, 4], [8, 8], [3, 1]];

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
            // Of large fields one kind each.
            let one = rng.below(3);
            for (k, which) in [Rare::No, Rare::Edges, Rare::Many, Rare::All].into_iter().enumerate() {
                if !small && k != one {
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
                let kinds: Vec<_> = (0..n.div_ceil(512)).map(|_| rng.below(7)).collect();
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
                        // Quiet where a line begins and ends.
                        5 => far + if (130..380).contains(&(i % 512)) { 5.0 } else { 0.0 },
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

/// Chunks of one value, close to zero and so far from it that its code counts from a reference value, before others.
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

/// Every kind of chunk in turn: constant, also far from zero, packed, with exceptions, raw, and one fill.
fn mixed(dtype: DType, dims: &[u64], seed: u64) -> Vec<u8> {
    let mut rng = Rng(seed);
    let mut src = vec![];
    for i in 0..dims.iter().product::<u64>() {
        let column = i % dims[0] / if dims.len() == 1 { 8192 } else { 32 };
        let x = match column % 6 {
            0 => 4.0,
            1 => -4.5e9,
            2 => rng.unit() * f64::from(1u32 << rng.below(12)),
            3 if rng.below(30) == 0 => f64::NAN,
            3 => 3e6 + (i % 70) as f64,
            4 => {
                let word = rng.word().to_le_bytes();
                src.extend_from_slice(if dtype == DType::F32 { &word[..4] } else { &word });
                continue;
            }
            _ => 1e30,
        };
        match dtype {
            DType::F32 => src.extend_from_slice(&(x as f32).to_le_bytes()),
            _ => src.extend_from_slice(&x.to_le_bytes()),
        }
    }
    src
}

/// On both sides of the number of chunks that is few: containers anywhere, and destinations that end within the header, the table,
/// and any kind of chunk.
#[test]
fn places_of_containers_and_room_for_them() {
    need_gpu!();
    let stream = TestStream::new();
    for (dims, dtype, container) in [
        (&[100_003][..], DType::F32, Container::Compact),
        (&[200, 20], DType::F64, Container::Fzm),
        (&[201, 3, 10], DType::F32, Container::Fzm),
        (&[8192, 2], DType::F32, Container::Compact),
        (&[8200, 2], DType::F64, Container::Compact),
        (&[8224, 2, 2], DType::F32, Container::Fzm),
    ] {
        let p = stage("fast", &[("mode", "abs"), ("error_bound", "0.25"), ("outlier_threshold", "1e25")]);
        let array = Array::new(dtype, dims).unwrap();
        let src = mixed(dtype, dims, 0x3c6e_f372);
        let form = Options { container, store_incompressible: false, checksum: false, ..options() };
        let on_cpu = Options { device: Device::Cpu, ..form.clone() };
        let want = fzgm::compress(&p, &array, &on_cpu, &src).unwrap();
        let encoder = Encoder::new(&p, &array, &form).unwrap();
        let mut ws = encoder.workspace().unwrap();
        let (from, result) = (Block::of(&src), Block::new(24));
        let mut call = |at: usize, room: usize| {
            let to = Block::new(at + room + 4096);
            let place = result.slice(0, 24).address;
            let (a, b) = (from.slice(0, src.len()), to.slice(at, room));
            unsafe { encoder.compress_async(&mut ws, a, b, place, stream.raw()) }.unwrap();
            stream.wait();
            let bytes = to.get();
            let around = bytes[..at].iter().chain(&bytes[at + room..]).all(|&b| b == 0xee);
            assert!(around, "{dtype} {dims:?} {container:?}: bytes around {room} at {at} are touched");
            (result.result(), bytes[at..at + room].to_vec())
        };
        for at in [0, 1, 2] {
            let (r, made) = call(at, want.len());
            assert_eq!((r.status, r.bytes), (0, want.len() as u64), "{dtype} {dims:?} at {at}");
            let other = made.iter().zip(&want).position(|(a, b)| a != b);
            assert!(other.is_none(), "{dtype} {dims:?} {container:?} at {at}: another byte {other:?}");
        }
        let rooms = (0..6).map(|i| want.len() * i / 6).chain([1, 100, 108, 200, want.len() - 1]);
        for room in rooms.filter(|&room| room < want.len()) {
            let (r, _) = call(0, room);
            let wanted = (Status::DstTooSmall as i32, 0, want.len() as u64);
            assert_eq!((r.status, r.bytes, r.needed), wanted, "{dtype} {dims:?} {container:?} in {room}");
        }
    }
}
