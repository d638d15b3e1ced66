//! Stage fast: places of containers in device memory.

use crate::common::agreement::stage;
use crate::common::fixture::options;
use crate::common::gpu::{Block, TestStream, mine};
use crate::common::rng::Rng;
use crate::cuda::need_gpu;
use fzgm::{Array, Container, DType, Device, Encoder, Options, Status};

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
    let cases = [
        (&[100_003][..], DType::F32, Container::Compact),
        (&[200, 20], DType::F64, Container::Fzm),
        (&[201, 3, 10], DType::F32, Container::Fzm),
        (&[8192, 2], DType::F32, Container::Compact),
        (&[8200, 2], DType::F64, Container::Compact),
        (&[8224, 2, 2], DType::F32, Container::Fzm),
    ];
    for (_, (dims, dtype, container)) in cases.into_iter().enumerate().filter(|(k, _)| mine(*k)) {
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
