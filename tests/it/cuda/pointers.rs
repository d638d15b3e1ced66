//! Blocking calls take memory of any kind.

use crate::common::fixture::{lossy, options};
use crate::common::gpu::{Block, TestStream, cuda};
use crate::common::samples::{self, Content};
use crate::cuda::need_gpu;
use fzgm::metrics::{suspected_fills, suspected_fills_at};
use fzgm::{DType, Decoder, Device, DeviceSlice, Encoder, Error, Options};

fn host(bytes: &mut [u8]) -> DeviceSlice {
    DeviceSlice { address: bytes.as_mut_ptr() as u64, bytes: bytes.len() as u64 }
}

fn managed(bytes: usize) -> DeviceSlice {
    let mut at = 0;
    assert_eq!(unsafe { (cuda().cuMemAllocManaged)(&mut at, bytes, 1) }, 0);
    DeviceSlice { address: at as u64, bytes: bytes as u64 }
}

fn view(slice: DeviceSlice) -> &'static mut [u8] {
    unsafe { std::slice::from_raw_parts_mut(slice.address as *mut u8, slice.bytes as usize) }
}

#[test]
fn host_managed_and_device_memory_in_every_combination() {
    need_gpu!();
    let sample = samples::make(DType::F32, &[77, 41], Content::Specials, 3);
    let pipeline = lossy("pfpl", DType::F32);
    let want = fzgm::compress(&pipeline, &sample.array, &Options::default(), &sample.bytes).unwrap();
    let back = fzgm::decompress(&want, &Options::default()).unwrap().1;
    for device in [Device::Auto, options().device] {
        let options = Options { device, ..Options::default() };
        let encoder = Encoder::new(&pipeline, &sample.array, &options).unwrap();
        let decoder = encoder.decoder().unwrap();
        let (mut ews, mut dws) = (encoder.workspace().unwrap(), decoder.workspace().unwrap());
        let most = encoder.max_compressed_bytes() as usize;
        let mut on_host = sample.bytes.clone();
        let shared = managed(sample.bytes.len());
        view(shared).copy_from_slice(&sample.bytes);
        let block = Block::of(&sample.bytes);
        for src in [host(&mut on_host), shared, block.slice(0, sample.bytes.len())] {
            let (mut host_dst, managed_dst, device_dst) = (vec![0; most], managed(most), Block::new(most));
            for (kind, dst) in
                [host(&mut host_dst), managed_dst, device_dst.slice(0, most)].into_iter().enumerate()
            {
                let n = unsafe { encoder.compress_at(&mut ews, src, dst) }.unwrap();
                let got = match kind {
                    0 => host_dst[..n].to_vec(),
                    1 => view(managed_dst)[..n].to_vec(),
                    _ => device_dst.get()[..n].to_vec(),
                };
                assert!(got == want, "{device} {kind}");
                let container = DeviceSlice { bytes: n as u64, ..dst };
                let (mut to_host, to_device) = (vec![0; back.len()], Block::new(back.len()));
                unsafe { decoder.decompress_at(&mut dws, container, host(&mut to_host)) }.unwrap();
                unsafe { decoder.decompress_at(&mut dws, container, to_device.slice(0, back.len())) }
                    .unwrap();
                assert!(to_host == back && to_device.get() == back, "{device} {kind}");
            }
            unsafe { (cuda().cuMemFree_v2)(managed_dst.address as usize) };
        }
        unsafe { (cuda().cuMemFree_v2)(shared.address as usize) };
    }
}

/// From host and device memory to both, of pipelines that restore parts and of one that does not.
#[test]
fn regions_and_previews_in_every_combination() {
    need_gpu!();
    let sample = samples::make(DType::F32, &[40, 17, 5, 3], Content::Walk, 3);
    let (origin, extent) = ([3, 2, 1, 1], [20, 9, 3, 2]);
    for pipeline in ["fast", "high", "fz"].map(|name| fzgm::preset(name, DType::F32).unwrap()) {
        let mut made = fzgm::compress(&pipeline, &sample.array, &Options::default(), &sample.bytes).unwrap();
        let (mut region, mut preview) = (vec![0; 4 * 20 * 9 * 6], vec![0; 4 * 10 * 5 * 2]);
        fzgm::decompress_region(&made, &origin, &extent, &mut region).unwrap();
        assert_eq!(fzgm::decompress_preview(&made, 4, &mut preview), Ok(preview.len()));
        let on_device = Block::of(&made);
        let bytes = made.len();
        for container in [host(&mut made), on_device.slice(0, bytes)] {
            let get_region = |dst| unsafe { fzgm::decompress_region_at(container, &origin, &extent, dst) };
            let get_preview = |dst| unsafe { fzgm::decompress_preview_at(container, 4, dst) };
            for (want, get) in [
                (&region, &get_region as &dyn Fn(DeviceSlice) -> fzgm::Result<usize>),
                (&preview, &get_preview),
            ] {
                let n = want.len();
                let (mut to_host, to_device) = (vec![0x5a; n + 8], Block::of(&vec![0x5a; n + 8]));
                assert_eq!(get(host(&mut to_host)), Ok(n));
                assert_eq!(get(to_device.slice(0, n + 8)), Ok(n));
                assert!(to_host[..n] == want[..] && to_host[n..] == [0x5a; 8], "{pipeline:?}");
                assert!(to_device.get() == to_host, "{pipeline:?}");
                let short = get(to_device.slice(0, n - 1));
                assert_eq!(short, Err(fzgm::Error::DstTooSmall { need: n as u64, have: n as u64 - 1 }));
            }
        }
    }
}

#[test]
fn large_arrays_in_host_memory_go_through_pinned_halves() {
    need_gpu!();
    // Three and a bit of them, one thread and two.
    let n = (13 << 20) + 77;
    let array = fzgm::Array::new(DType::U8, &[n]).unwrap();
    let src: Vec<u8> = (0..n).map(|i| ((i * i) >> 7) as u8).collect();
    let mut pipeline = fzgm::Pipeline::new();
    pipeline.add("stored").unwrap();
    let want = fzgm::compress(&pipeline, &array, &Options::default(), &src).unwrap();
    for threads in [1, 2] {
        let options = Options { threads, ..options() };
        assert!(fzgm::compress(&pipeline, &array, &options, &src).unwrap() == want);
        assert!(fzgm::decompress(&want, &options).unwrap().1 == src);
    }
}

#[test]
fn a_plan_for_the_cpu_refuses_device_memory() {
    need_gpu!();
    let sample = samples::make(DType::F32, &[100], Content::Walk, 3);
    let options = Options { device: Device::Cpu, ..Options::default() };
    let encoder = Encoder::new(&lossy("pfpl", DType::F32), &sample.array, &options).unwrap();
    let block = Block::of(&sample.bytes);
    let mut dst = vec![0; 4096];
    let mut ws = encoder.workspace().unwrap();
    let e = unsafe { encoder.compress_at(&mut ws, block.slice(0, 400), host(&mut dst)) }.unwrap_err();
    assert!(matches!(e, Error::InvalidArgument { .. }) && e.to_string().contains("src"), "{e}");
}

#[test]
fn a_device_that_is_not_there_is_said_when_the_plan_is_made() {
    need_gpu!();
    let sample = samples::make(DType::F32, &[100], Content::Walk, 3);
    let options = Options { device: Device::Cuda(1000), ..Options::default() };
    let e = Encoder::new(&lossy("pfpl", DType::F32), &sample.array, &options).map(|_| ()).unwrap_err();
    assert!(e.to_string().contains("cuda:1000"), "{e}");
}

#[test]
fn reference_files_decode_on_the_device() {
    need_gpu!();
    // A bundle of tests brings the files along.
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let folder = std::env::var("FZGM_GOLDEN").unwrap_or(here.into());
    let (mut files, mut alone) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|x| x != "fzm") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let on_cpu = fzgm::decompress(&bytes, &Options::default()).unwrap();
        match fzgm::decompress(&bytes, &options()) {
            Ok(on_gpu) => assert!(on_gpu == on_cpu, "{}", path.display()),
            Err(e) => panic!("{}: {e}", path.display()),
        }
        let opened = Decoder::open(&bytes, &options()).unwrap();
        assert_eq!(opened.array(), &on_cpu.0);
        // The device reads those headers that we would write to the same byte.
        let (from, to, result) = (Block::of(&bytes), Block::new(on_cpu.1.len()), Block::new(24));
        let (f, t, place) = (from.slice(0, from.bytes), to.slice(0, to.bytes), result.slice(0, 24).address);
        let (mut ws, stream) = (opened.workspace().unwrap(), TestStream::new());
        match unsafe { opened.decompress_async(&mut ws, f, t, place, stream.raw()) } {
            Ok(()) => {
                stream.wait();
                assert_eq!(result.result().status, 0, "{}", path.display());
                assert!(to.get() == on_cpu.1, "{}", path.display());
                alone += 1;
            }
            Err(e) => {
                assert!(matches!(e, Error::Unsupported { .. }), "{}: {e}", path.display());
                eprintln!("{} takes the host", path.display());
            }
        }
        files += 1;
    }
    assert!(files >= 41 && alone >= 41, "{files} files, of which {alone} without the host");
}

/// An array of more bytes than a piece of the copy, with its only fill value behind the first piece.
#[test]
fn fill_values_are_found_in_memory_of_any_kind() {
    need_gpu!();
    let mut values: Vec<f32> = (0..5_000_000).map(|i| (i as f32 * 0.01).sin()).collect();
    values[4_999_999] = 1e20;
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let want = suspected_fills(DType::F32, &bytes, f64::INFINITY);
    assert_eq!(want.len(), 1);
    let (block, shared) = (Block::of(&bytes), managed(bytes.len()));
    view(shared).copy_from_slice(&bytes);
    let mut on_host = bytes.clone();
    for array in [host(&mut on_host), shared, block.slice(0, bytes.len())] {
        let found = unsafe { suspected_fills_at(DType::F32, array, f64::INFINITY) }.unwrap();
        assert_eq!(found, want);
    }
    let none = unsafe { suspected_fills_at(DType::F32, block.slice(0, 16 << 20), f64::INFINITY) }.unwrap();
    assert!(none.is_empty());
    unsafe { (cuda().cuMemFree_v2)(shared.address as usize) };
}
