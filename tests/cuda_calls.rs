//! The driver calls of asynchronous calls, counted by the emulator. This is a separate program because it
//! counts for all threads.
#![allow(clippy::unwrap_used, clippy::panic, unsafe_code, clippy::undocumented_unsafe_blocks)]

#[allow(dead_code, unreachable_pub)]
mod common;

use common::corpus::chain;
use common::fixture::{self, Fixture};
use common::gpu::{Block, PinnedBytes, Registered, TestStream, cuda, device};
use common::samples::Content;
use fzgm::{
    Array, DType, Decoder, Device, DeviceSlice, Encoder, Options, PRESETS, Pipeline, Stream, StridedSlice,
    compress, decompress,
};
use std::sync::{Mutex, PoisonError};

/// One test at a time, on the emulator.
fn counting() -> Option<impl Drop> {
    static ALONE: Mutex<()> = Mutex::new(());
    if device().is_none() {
        eprintln!("SKIPPED: FZGM_REQUIRE_GPU is not set");
        return None;
    }
    if cuda().count("launch").is_none() {
        // A real device does not count; there a call that returns while a long kernel still runs shows the same.
        eprintln!("SKIPPED: this is not the emulator");
        return None;
    }
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    cuda();
    Some(alone)
}

/// Driver calls that an asynchronous call must not make.
fn counts() -> [u64; 6] {
    ["sync", "alloc", "free", "load", "copy_host", "memset"].map(|what| cuda().count(what).unwrap())
}

fn launches() -> u64 {
    cuda().count("launch").unwrap()
}

#[test]
fn a_call_neither_waits_nor_allocates_nor_loads() {
    let Some(_alone) = counting() else { return };
    // Every preset, and the modes that resolve their bounds otherwise.
    let all = PRESETS.iter().zip([DType::F32, DType::F64].into_iter().cycle());
    let all = all.map(|(p, dtype)| (p.name, "noa", if p.lossless { DType::U16 } else { dtype }));
    let others = [
        ("pfpl", "abs", DType::F64),
        ("pfpl", "rel", DType::F32),
        ("fz", "prel", DType::F64),
        ("cusz_ans", "abs", DType::F64),
    ];
    for (name, mode, dtype) in all.chain(others) {
        let mut pipeline = fixture::lossy(name, dtype);
        let _ = pipeline.set_everywhere("mode", |args| args.set_text("mode", mode));
        let array = Array::new(dtype, &[10_000]).unwrap();
        let mut fixture = Fixture::new(&pipeline, &array, &fixture::options());
        let src = fixture.data(Content::Walk, 1);
        fixture.src.put(0, &src);
        let stream = fixture.stream.raw();
        // The decoder of the encoder, and one that was opened; both have made their workspace ready.
        let opened = Decoder::open(&fixture.expected(&src).0, &fixture::options()).unwrap();
        let mut opened_ws = opened.workspace().unwrap();
        opened.preload(&mut opened_ws, stream).unwrap();
        let (before, launched, early) = (counts(), launches(), cuda().count("overlap").unwrap());
        fixture.compress(stream);
        fixture.decompress(stream);
        assert_eq!(counts(), before, "{name} {dtype}: sync, alloc, free, load, copy_host, memset");
        let (launched, early) = (launches() - launched, cuda().count("overlap").unwrap() - early);
        assert!(launched >= 3, "{name} {dtype}: nothing was launched");
        // All but the first one of a call.
        assert_eq!(early, launched - 2, "{name} {dtype}: launches that start before the one ahead has ended");
        fixture.stream.wait();
        fixture.check(&src);

        (fixture.decoder, fixture.decoding) = (opened, opened_ws);
        fixture.restored.put(0, &vec![0; fixture.restored.bytes]);
        let (before, launched) = (counts(), launches());
        fixture.decompress(stream);
        fixture.decompress(stream);
        assert_eq!(counts(), before, "{name} {dtype}, opened: sync, alloc, free, load, copy_host, memset");
        assert!(launches() >= launched + 2, "{name} {dtype}, opened: nothing was launched");
        fixture.stream.wait();
        fixture.check(&src);
        // NULL, legacy and per-thread, which need no care of their own.
        for stream in 0..3 {
            let before = counts();
            fixture.compress(Stream::from_raw(stream));
            fixture.decompress(Stream::from_raw(stream));
            assert_eq!(counts(), before, "{name} {dtype}, stream {stream}");
            // SAFETY: a plain call of the driver.
            assert_eq!(unsafe { (cuda().cuStreamSynchronize)(stream) }, 0);
            fixture.check(&src);
        }
    }
}

/// A graph of both directions of every preset: neither its capture nor its launches wait or allocate, for any
/// data.
#[test]
fn a_graph_neither_waits_nor_allocates() {
    let Some(_alone) = counting() else { return };
    for preset in PRESETS {
        let dtype = if preset.lossless { DType::I32 } else { DType::F32 };
        let array = Array::new(dtype, &[70, 90]).unwrap();
        let mut fixture = Fixture::new(&fixture::lossy(preset.name, dtype), &array, &fixture::options());
        let stream = TestStream::new();
        fixture.encoder.preload(&mut fixture.encoding, stream.raw()).unwrap();
        fixture.decoder.preload(&mut fixture.decoding, stream.raw()).unwrap();
        let before = counts();
        let graph = stream.capture(|| {
            fixture.compress(stream.raw());
            fixture.decompress(stream.raw());
        });
        assert_eq!(counts(), before, "{}, captured: sync, alloc, free, load, copy_host, memset", preset.name);
        for content in [Content::Walk, Content::Constant, Content::Random, Content::Sparse, Content::Zeros] {
            let src = fixture.data(content, 4);
            fixture.src.put(0, &src);
            let before = (counts(), cuda().count("graph").unwrap());
            graph.launch(&stream);
            let after = (before.0, before.1 + 1);
            assert_eq!((counts(), cuda().count("graph").unwrap()), after, "{} {content:?}", preset.name);
            stream.wait();
            fixture.check(&src);
        }
    }
}

/// A call with a strided array has one launch more than the call with the packed array.
#[test]
fn a_call_with_a_view_neither_waits_nor_allocates_nor_loads() {
    let Some(_alone) = counting() else { return };
    for (name, dtype) in [("fast", DType::F32), ("pfpl", DType::F64), ("bits", DType::U8)] {
        let array = Array::new(dtype, &[100, 90]).unwrap();
        let mut fixture = Fixture::new(&fixture::lossy(name, dtype), &array, &fixture::options());
        let stream = fixture.stream.raw();
        fixture.encoder.preload(&mut fixture.encoding, stream).unwrap();
        fixture.decoder.preload(&mut fixture.decoding, stream).unwrap();
        let src = fixture.data(Content::Walk, 1);
        fixture.src.put(0, &src);
        let launched = launches();
        fixture.compress(stream);
        fixture.decompress(stream);
        fixture.stream.wait();
        let packed = launches() - launched;
        let grid = Block::new(2 * src.len());
        let view = StridedSlice::new(&array, grid.slice(0, grid.bytes).address, &[1, 200]).unwrap();
        let whole = |block: &Block| block.slice(0, block.bytes);
        let (scratch, container) = (whole(&fixture.restored), whole(&fixture.container));
        let places = [0, 1].map(|k| whole(&fixture.results[k]).address);
        let (before, launched) = (counts(), launches());
        // SAFETY: the blocks and the workspaces live until the test has waited for the stream.
        unsafe {
            let ws = &mut fixture.encoding;
            fixture.encoder.compress_view_async(ws, &view, scratch, container, places[0], stream).unwrap();
            let ws = &mut fixture.decoding;
            fixture.decoder.decompress_view_async(ws, container, &view, scratch, places[1], stream).unwrap();
        }
        assert_eq!(counts(), before, "{name} {dtype}: sync, alloc, free, load, copy_host, memset");
        assert_eq!(launches() - launched, packed + 2, "{name} {dtype}");
        fixture.stream.wait();
        assert_eq!(fixture.results[1].result().bytes, array.bytes(), "{name} {dtype}");
    }
}

/// A call with a device, or with memory of one, that runs on the CPU instead would write the same bytes: only
/// the number of launches shows it.
#[test]
fn blocking_calls_run_on_the_device() {
    let Some(_alone) = counting() else { return };
    for (name, dtype) in [("pfpl", DType::F32), ("fz", DType::F64), ("bits", DType::U8)] {
        let array = Array::new(dtype, &[20_000]).unwrap();
        let pipeline = fixture::lossy(name, dtype);
        let fixture =
            Fixture::new(&pipeline, &array, &Options { device: Device::Auto, ..fixture::options() });
        let src = fixture.data(Content::Walk, 2);
        for fuse in [true, false] {
            let options = Options { fuse, ..fixture::options() };
            let before = launches();
            let container = compress(&pipeline, &array, &options, &src).unwrap();
            let between = launches();
            decompress(&container, &options).unwrap();
            let what = format!("{name} {dtype} fuse {fuse}");
            // At least the stages and the functions that write the container.
            assert!(between >= before + 2, "{what}: compress launches {}", between - before);
            assert!(launches() > between, "{what}: decompress launches nothing");
            let on_cpu = Options { device: Device::Cpu, ..options };
            let after = launches();
            decompress(&compress(&pipeline, &array, &on_cpu, &src).unwrap(), &on_cpu).unwrap();
            assert_eq!(launches(), after, "{what}: told to run on the CPU");
        }
        fixture.src.put(0, &src);
        let (mut ews, mut dws) = (fixture.encoder.workspace().unwrap(), fixture.decoder.workspace().unwrap());
        let (from, to) =
            (fixture.src.slice(0, src.len()), fixture.container.slice(0, fixture.container.bytes));
        let before = launches();
        // SAFETY: the blocks are those of the device and live on.
        let n = unsafe { fixture.encoder.compress_at(&mut ews, from, to) }.unwrap();
        let between = launches();
        let (from, to) = (fixture.container.slice(0, n), fixture.restored.slice(0, src.len()));
        // SAFETY: the blocks are those of the device and live on.
        unsafe { fixture.decoder.decompress_at(&mut dws, from, to) }.unwrap();
        assert!(before < between && between < launches(), "{name} {dtype}: memory of a device");
    }
}

#[test]
fn of_a_container_on_a_device_only_the_header_is_copied() {
    let Some(_alone) = counting() else { return };
    let array = Array::new(DType::F32, &[1_000_000]).unwrap();
    let pipeline = fixture::lossy("fast", DType::F32);
    let fixture = Fixture::new(&pipeline, &array, &fixture::options());
    let src = fixture.data(Content::Random, 1);
    let want = compress(&pipeline, &array, &fixture::options(), &src).unwrap();
    assert!(want.len() > 50_000, "{} bytes", want.len());
    let (block, restored) = (Block::of(&want), Block::new(src.len()));
    let (container, dst) = (block.slice(0, want.len()), restored.slice(0, src.len()));
    let calls: [&dyn Fn() -> fzgm::Result<()>; 3] = [
        &|| unsafe { fzgm::info_at(container) }.map(|_| ()),
        &|| unsafe { Decoder::open_at(container, &fixture::options()) }.map(|_| ()),
        &|| unsafe { Decoder::decompress_once_at(container, dst, &fixture::options()) }.map(|_| ()),
    ];
    for call in calls {
        let before = cuda().count("bytes_to_host").unwrap();
        call().unwrap();
        let copied = cuda().count("bytes_to_host").unwrap() - before;
        assert!(copied <= 4096, "{copied} bytes");
    }
    assert!(restored.get() == decompress(&want, &Options::default()).unwrap().1);
    // Defects of a container are reported as for one on the host.
    for wrong in [&want[..want.len() - 1], &want[..50], &[7; 5000][..]] {
        let block = Block::of(wrong);
        let there = unsafe { fzgm::info_at(block.slice(0, wrong.len())) }.unwrap_err();
        assert_eq!(there.to_string(), fzgm::info(wrong).unwrap_err().to_string());
    }
}

/// A pipeline whose copies overlap with parts of its kernels, and an array.
fn overlapped() -> (Pipeline, Array, Vec<u8>) {
    const N: u64 = 2_600_000;
    fzgm::overlap_from(9 << 20);
    let value = |i: u64| if i / 30_000 % 11 == 3 { (i as f32 * 1e-3).sin() } else { 0.25 };
    let src = (0..N).flat_map(|i| value(i).to_le_bytes()).collect();
    let settings = &[("mode", "abs"), ("error_bound", "1e-3")];
    (chain(&[("fast", settings)]), Array::new(DType::F32, &[N]).unwrap(), src)
}

/// The host reads a container after earlier work on the NULL stream, which writes it, so that a decompression needs no second attempt.
#[test]
fn containers_of_earlier_work_are_awaited() {
    let Some(_alone) = counting() else { return };
    let (pipeline, array, src) = overlapped();
    let want = compress(&pipeline, &array, &Options::default(), &src).unwrap();
    let back = decompress(&want, &Options::default()).unwrap().1;
    let decoder = Decoder::open(&want, &fixture::options()).unwrap();
    let mut ws = decoder.workspace().unwrap();
    let (there, to) = (Block::of(&want), PinnedBytes::new(back.len()));
    let mut launched = vec![];
    for awaits in [false, true] {
        let container = PinnedBytes::new(want.len());
        container.receive(&there);
        if !awaits {
            // Waits for the NULL stream.
            there.read(&mut [0]);
        }
        let before = launches();
        let (from, into) = (container.slice(want.len()), to.slice(back.len()));
        assert_eq!(unsafe { decoder.decompress_at(&mut ws, from, into) }, Ok(back.len()));
        assert!(to.front(back.len()) == back);
        launched.push(launches() - before);
    }
    assert!(launched[0] > 6 && launched[0] == launched[1], "{launched:?}");
}

/// Memory of the program that is registered as a whole is pinned. If a part of it is not, copies do not overlap.
#[test]
fn memory_that_is_pinned_in_part_is_not_pinned() {
    let Some(_alone) = counting() else { return };
    let (pipeline, array, src) = overlapped();
    let want = compress(&pipeline, &array, &Options::default(), &src).unwrap();
    let encoder = Encoder::new(&pipeline, &array, &fixture::options()).unwrap();
    let (mut ws, most) = (encoder.workspace().unwrap(), encoder.max_compressed_bytes() as usize);
    let from = DeviceSlice { address: src.as_ptr() as u64, bytes: src.len() as u64 };
    let (front, rest) = src.split_at(1 << 20);
    let (_, end) = src.split_at(src.len() - (1 << 20));
    for parts in [vec![&src[..]], vec![front, end], vec![front, rest], vec![end], vec![]] {
        let registered: Vec<_> = parts.iter().map(|part| Registered::new(part)).collect();
        let dst = PinnedBytes::new(most);
        let before = launches();
        assert_eq!(unsafe { encoder.compress_at(&mut ws, from, dst.slice(most)) }, Ok(want.len()));
        let launched = launches() - before;
        drop(registered);
        assert!(dst.front(want.len()) == want);
        let whole = parts.iter().any(|part| part.len() == src.len());
        assert_eq!(launched > 6, whole, "{launched} launches");
    }
}
