//! Asynchronous calls put work on the caller's stream and do nothing else.

use crate::common::agreement::stage;
use crate::common::fixture::{Fixture, lossy, options};
use crate::common::gpu::{Block, TestStream, cuda};
use crate::common::samples::Content;
use crate::cuda::need_gpu;
use fzgm::{Array, DType, Encoder, Error, Options, Status, Stream};

#[test]
fn every_kind_of_stream_serves_and_the_context_is_left_alone() {
    need_gpu!();
    let own = TestStream::new();
    let streams = [0, 1, 2, own.0].into_iter().enumerate();
    for (k, stream, name) in
        ["pfpl", "fz"].into_iter().flat_map(|name| streams.clone().map(move |(k, s)| (k, s, name)))
    {
        let mut fixture = Fixture::of(name, DType::F32, 5_000);
        let src = fixture.data(Content::Walk, k as u64);
        fixture.src.put(0, &src);
        let (mut before, mut after) = (0, 0);
        unsafe { (cuda().cuCtxGetCurrent)(&mut before) };
        fixture.compress(Stream::from_raw(stream));
        fixture.decompress(Stream::from_raw(stream));
        unsafe { (cuda().cuCtxGetCurrent)(&mut after) };
        assert_eq!(before, after);
        assert_eq!(unsafe { (cuda().cuStreamSynchronize)(stream) }, 0);
        fixture.check(&src);
    }
}

#[test]
fn a_thread_without_a_context_has_one_during_calls_alone() {
    need_gpu!();
    let mut fixture = Fixture::of("bits", DType::U32, 3_000);
    let src = fixture.data(Content::Sparse, 1);
    fixture.src.put(0, &src);
    unsafe { (cuda().cuCtxSetCurrent)(0) };
    let stream = fixture.stream.raw();
    fixture.compress(stream);
    fixture.decompress(stream);
    let mut after = 1;
    unsafe { (crate::common::gpu::cuda_without_context().cuCtxGetCurrent)(&mut after) };
    assert_eq!(after, 0, "a context was left behind");
    cuda();
    fixture.stream.wait();
    fixture.check(&src);
}

#[test]
fn results_contain_the_required_bytes() {
    need_gpu!();
    let mut fixture = Fixture::of("bits", DType::U32, 20_000);
    let src = fixture.data(Content::Sparse, 1);
    fixture.src.put(0, &src);
    let (container, _) = fixture.expected(&src);
    for room in [0, 1, 100, container.len() - 1] {
        let dst = Block::new(room + 64);
        let stream = fixture.stream.raw();
        let result = fixture.results[0].slice(0, 24).address;
        let (from, to) = (fixture.src.slice(0, src.len()), dst.slice(0, room));
        unsafe { fixture.encoder.compress_async(&mut fixture.encoding, from, to, result, stream) }.unwrap();
        fixture.stream.wait();
        let r = fixture.results[0].result();
        assert_eq!((r.status, r.bytes, r.needed), (Status::DstTooSmall as i32, 0, container.len() as u64));
        assert!(dst.get()[room..].iter().all(|&b| b == 0xee), "bytes behind the destination are touched");
    }
}

/// Entries of the lists of a container.
fn entries(container: &[u8]) -> u64 {
    let info = fzgm::info(container).unwrap();
    info.segments
        .iter()
        .filter(|s| s.port.ends_with("idxs") || s.port.ends_with("indices"))
        .map(|s| s.bytes / 4)
        .sum()
}

/// Entries without room are counted to the last one, also if exact pairs follow the outliers; with the
/// requested room the call succeeds, and a blocking call finds the room itself.
#[test]
fn outliers_that_find_no_room_are_counted() {
    need_gpu!();
    let (abs, rel) = ([("mode", "abs"), ("error_bound", "1e-3")], [("mode", "rel"), ("error_bound", "1e-5")]);
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], DType, &'a [u64]);
    let all: [Case<'_>; 8] = [
        ("quantizer", &abs, DType::F32, &[9_000]),
        ("quantizer", &rel, DType::F32, &[9_000]),
        ("quantizer", &rel, DType::F64, &[9_000]),
        ("lorenzo_quant", &abs, DType::F32, &[9_000]),
        ("lorenzo_quant", &abs, DType::F64, &[90, 70]),
        ("lorenzo_quant", &abs, DType::F32, &[33, 17, 9]),
        ("fz", &abs, DType::F64, &[33, 17, 9]),
        ("fz", &abs, DType::F32, &[64, 128, 2]),
    ];
    for ((name, sets, dtype, dims), content) in
        all.iter().flat_map(|case| [Content::Walk, Content::Specials].map(|content| (case, content)))
    {
        let what = format!("{name} {sets:?} {dtype} {dims:?} {content:?}");
        let radius = if sets[0].1 == "rel" { "200" } else { "2" };
        let mut p = stage(name, sets);
        for (key, value) in [("outlier_capacity", "0.01"), ("quant_radius", radius)] {
            p.args_mut(0).unwrap().set_text(key, value).unwrap();
        }
        let array = Array::new(*dtype, dims).unwrap();
        let options = Options { store_incompressible: false, ..options() };
        let mut fixture = Fixture::new(&p, &array, &options);
        let src = fixture.data(content, 3);
        fixture.src.put(0, &src);
        let need = entries(&fixture.expected(&src).0);
        let stream = fixture.stream.raw();
        fixture.compress(stream);
        fixture.stream.wait();
        let r = fixture.results[0].result();
        let want = (Status::OutlierCapacity as i32, 0, 0, need);
        assert_eq!((r.status, r.bytes, r.stage, r.needed), want, "{what}");
        // A blocking call of the same encoder plans again, with longer lists.
        let room = Block::new(src.len() * 4 + 4096);
        let (from, to) = (fixture.src.slice(0, src.len()), room.slice(0, room.bytes));
        let n = unsafe { fixture.encoder.compress_at(&mut fixture.encoding, from, to) }.unwrap();
        let on_cpu = Options { device: fzgm::Device::Cpu, ..options.clone() };
        assert!(room.first(n) == fzgm::compress(&p, &array, &on_cpu, &src).unwrap(), "{what}: blocking");
        let fraction = (need as f64 / array.elements() as f64 + 1e-3).min(1.0);
        p.args_mut(0).unwrap().set_real("outlier_capacity", fraction).unwrap();
        let mut fixture = Fixture::new(&p, &array, &options);
        fixture.src.put(0, &src);
        let (first, _) = fixture.both();
        assert_eq!(first.status, 0, "{what}");
        fixture.check(&src);
    }
}

#[test]
fn wrong_lengths_are_refused_before_anything_runs() {
    need_gpu!();
    let mut fixture = Fixture::of("pfpl", DType::F32, 1_000);
    let stream = fixture.stream.raw();
    let (short, dst) = (fixture.src.slice(0, 3_996), fixture.container.slice(0, 100));
    let e =
        unsafe { fixture.encoder.compress_async(&mut fixture.encoding, short, dst, 0, stream) }.unwrap_err();
    assert!(matches!(e, Error::PlanMismatch(_)), "{e}");
    let (container, short) = (fixture.container.slice(0, 100), fixture.restored.slice(0, 3_999));
    let e = unsafe { fixture.decoder.decompress_async(&mut fixture.decoding, container, short, 0, stream) }
        .unwrap_err();
    assert_eq!(e, Error::DstTooSmall { need: 4_000, have: 3_999 });
}

/// The destination of a stored array has other contents before the call: those of a new block, then those of the array before.
#[test]
fn arrays_that_do_not_compress_are_stored_on_the_device_too() {
    need_gpu!();
    let kinds = [("bits", DType::U32), ("fast", DType::F32), ("pfpl", DType::F32)];
    for ((name, dtype), container) in
        kinds.into_iter().flat_map(|k| [fzgm::Container::Fzm, fzgm::Container::Compact].map(|c| (k, c)))
    {
        for checksum_async in [false, true] {
            let options = Options { container, checksum_async, ..options() };
            let array = Array::new(dtype, &[7_001]).unwrap();
            let mut pipeline = lossy(name, dtype);
            // Stage bits has no bound.
            let _ = pipeline.set_everywhere("mode", |args| args.set_text("mode", "abs"));
            let _ = pipeline.set_everywhere("error_bound", |args| args.set_real("error_bound", 1e-30));
            let mut fixture = Fixture::new(&pipeline, &array, &options);
            for content in [Content::Random, Content::Walk, Content::Random] {
                let src = fixture.data(content, 5);
                fixture.src.put(0, &src);
                let (first, second) = fixture.both();
                let on_cpu =
                    Options { device: fzgm::Device::Cpu, checksum: checksum_async, ..options.clone() };
                let want = fzgm::compress(fixture.encoder.pipeline(), &array, &on_cpu, &src).unwrap();
                assert!(want.len() > src.len() || content == Content::Walk, "{name}: not stored");
                assert_eq!((first.status, first.bytes), (0, want.len() as u64), "{name}, {content:?}");
                assert!(
                    fixture.container.get()[..want.len()] == want[..],
                    "{name}, {content:?}, {container:?}"
                );
                assert_eq!((second.status, second.bytes), (0, src.len() as u64));
                let restored = fzgm::decompress(&want, &on_cpu).unwrap().1;
                assert!(fixture.restored.get() == restored, "{name}, {content:?}, {container:?}");
            }
        }
    }
}

#[test]
fn device_memory_is_that_of_the_plan() {
    need_gpu!();
    let fixture = Fixture::of("pfpl", DType::F32, 1 << 20);
    let array = fixture.array.bytes();
    let (encode, decode) = (fixture.encoder.workspace_bytes(), fixture.decoder.workspace_bytes());
    // The stream is written where it belongs, and nothing passes between chained kernels.
    assert!(encode < array / 8 && decode < array / 8, "{encode} and {decode} for {array}");
    let unfused =
        Encoder::new(fixture.encoder.pipeline(), &fixture.array, &Options { fuse: false, ..options() })
            .unwrap();
    assert!(unfused.workspace_bytes() > array);
}

/// At the default room of the lists, for any shape. Nothing is allocated: the numbers come from the plan.
#[test]
fn device_memory_is_at_most_three_times_the_array() {
    need_gpu!();
    for dtype in [DType::F32, DType::F64] {
        for dims in [&[1 << 20][..], &[1 << 10, 1 << 10], &[128, 64, 128], &[127, 63, 129], &[3, 3, 100_000]]
        {
            for name in ["pfpl", "fz"] {
                let array = Array::new(dtype, dims).unwrap();
                let encoder = Encoder::new(&fzgm::preset(name, dtype).unwrap(), &array, &options()).unwrap();
                let (encode, decode) =
                    (encoder.workspace_bytes(), encoder.decoder().unwrap().workspace_bytes());
                let most = 3 * array.bytes();
                assert!(encode <= most && decode <= most, "{name} {dtype} {dims:?}: {encode} and {decode}");
            }
        }
    }
}
