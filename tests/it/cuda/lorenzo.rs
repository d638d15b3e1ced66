//! lorenzo_quant in calls on device memory: lists from call to call, numbers and bounds in headers that the device reads, and plans.

use crate::common::agreement::stage;
use crate::common::fixture::{Fixture, lossy, options};
use crate::common::rare::{Rare, field};
use crate::common::samples::{self, Content};
use crate::cuda::need_gpu;
use fzgm::{Array, DType, Device, Encoder, Options, Status, decompress};

/// Headers that the device or the host reads: a number of exact values that the lists do not hold is damage,
/// and so is a number whose bits mark a missing field.
#[test]
fn numbers_of_exact_values_are_checked() {
    need_gpu!();
    let array = Array::new(DType::F32, &[40, 50]).unwrap();
    let mut fixture =
        Fixture::new(&lossy("fz", DType::F32), &array, &Options { checksum: false, ..options() });
    let src = fixture.data(Content::Specials, 6);
    fixture.src.put(0, &src);
    let (compressed, _) = fixture.both();
    fixture.check(&src);
    let file = fixture.container.get()[..compressed.bytes as usize].to_vec();
    let at = 80 + 232;
    let pairs = u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    assert!(pairs > 0);
    for (number, ok) in
        [(pairs, true), (pairs - 1, true), (pairs + 1, false), (1 << 40, false), (u64::MAX, false)]
    {
        fixture.container.put(at, &number.to_le_bytes());
        fixture.decompress(fixture.stream.raw());
        fixture.stream.wait();
        let want = if ok { Status::Ok } else { Status::Corrupt };
        assert_eq!(fixture.results[1].result().status, want as i32, "{number} pairs");
        let other = [&file[..at], &number.to_le_bytes(), &file[at + 8..]].concat();
        for device in [Device::Cpu, options().device] {
            let plain = Options { device, checksum: false, ..options() };
            let status = decompress(&other, &plain).map_or_else(|e| e.status(), |_| Status::Ok);
            assert_eq!(status, want, "{number} pairs on {device}");
        }
    }
}

/// With means a header contains the bound twice, and the device reads it as the host does: the f64 counts,
/// and an f64 that is none, or that the f32 contradicts, is damage.
#[test]
fn both_bounds_of_a_header_with_means_are_checked() {
    need_gpu!();
    let sample = samples::make(DType::F64, &[3000], Content::Walk, 7);
    let p =
        stage("lorenzo_quant", &[("error_bound", "0.25"), ("centering", "true"), ("outlier_capacity", "1")]);
    let mut fixture = Fixture::new(&p, &sample.array, &Options { checksum: false, ..options() });
    fixture.src.put(0, &sample.bytes);
    let (compressed, _) = fixture.both();
    let file = fixture.container.get()[..compressed.bytes as usize].to_vec();
    let config = file.windows(4).position(|w| w == 0.25f32.to_le_bytes()).unwrap();
    assert_eq!(file[config + 48..config + 56], 0.25f64.to_le_bytes());
    let (mut read, mut refused) = (0, 0);
    let f64s = [0.25, 0.3, 1e-300, 0.0, -0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN];
    for (narrow, wide) in
        [0.25f32, 0.0, -0.0, -1.0, f32::INFINITY, f32::NAN].into_iter().flat_map(|n| f64s.map(|w| (n, w)))
    {
        let mut other = file.clone();
        // The record of the stage and those of its ports.
        let mut at = config;
        while let Some(next) = (at..other.len() - 4).find(|&i| file[i..].starts_with(&0.25f32.to_le_bytes()))
        {
            at = next + 4;
            if file.get(next + 48..next + 56) == Some(&0.25f64.to_le_bytes()) {
                other[next..next + 4].copy_from_slice(&narrow.to_le_bytes());
                other[next + 48..next + 56].copy_from_slice(&wide.to_le_bytes());
            }
        }
        let on_cpu = decompress(&other, &Options { checksum: false, ..Options::default() });
        fixture.container.put(0, &other);
        fixture.decompress(fixture.stream.raw());
        fixture.stream.wait();
        let status = fixture.results[1].result().status;
        match on_cpu {
            Ok((_, restored)) => {
                read += 1;
                assert_eq!(status, Status::Ok as i32, "{narrow:?} {wide:?}");
                assert!(fixture.restored.get() == restored, "{narrow:?} {wide:?}");
            }
            Err(e) => {
                refused += 1;
                assert_eq!(
                    (e.status(), status),
                    (Status::Corrupt, Status::Corrupt as i32),
                    "{narrow:?} {wide:?}: {e}"
                );
            }
        }
    }
    assert!(read > 8 && refused > 20, "{read} read, {refused} refused");
}

/// One layer of bricks after the other: a workspace remembers nothing of the lists of the call before.
#[test]
fn one_workspace_for_fields_with_lists_and_without() {
    need_gpu!();
    for (dtype, dims) in [(DType::F32, [16, 512, 9]), (DType::F32, [130, 17, 9]), (DType::F64, [33, 9, 10])] {
        let array = Array::new(dtype, &dims).unwrap();
        let mut fixture = Fixture::new(&lossy("fz", dtype), &array, &options());
        for (k, which) in [Rare::Many, Rare::No, Rare::All, Rare::Edges, Rare::No].into_iter().enumerate() {
            let src = field(dtype, &dims, (0.25, 32768.0), which, k as u64).bytes;
            fixture.src.put(0, &src);
            let (first, second) = fixture.both();
            assert_eq!((first.status, second.status), (Status::Ok as i32, Status::Ok as i32));
            fixture.check(&src);
        }
    }
}

#[test]
fn plans_state_the_codes_that_are_counted_during_encoding() {
    need_gpu!();
    let plan = |sets: &[(&str, &str)], dtype, dims: &[u64], fuse| {
        let mut p = stage("cusz", sets);
        if dtype == DType::F64 {
            p = fzgm::preset("cusz", DType::F64).unwrap();
        }
        let form = Options { fuse, ..options() };
        let encoder = Encoder::new(&p, &Array::new(dtype, dims).unwrap(), &form).unwrap();
        encoder.device_plan().unwrap().0.to_string()
    };
    let along = "lorenzo_quant_encode + huffman_count";
    let cube: &[u64] = &[64, 64, 64];
    let made = plan(&[], DType::F32, cube, true);
    assert!(made.contains(along), "{made}");
    // Off; codes that are no symbols; two dimensions; other values.
    assert!(!plan(&[], DType::F32, cube, false).contains(along));
    assert!(!plan(&[("quant_radius", "513")], DType::F32, cube, true).contains(along));
    assert!(!plan(&[("zigzag_codes", "false")], DType::F32, cube, true).contains(along));
    assert!(!plan(&[], DType::F32, &[512, 512], true).contains(along));
    assert!(!plan(&[], DType::F64, cube, true).contains(along));
}
