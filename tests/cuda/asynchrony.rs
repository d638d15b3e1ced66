//! Asynchronous calls put work on the caller's stream and do nothing else.

use crate::common::gpu::{Block, TestStream, cuda};
use crate::common::samples::Content;
use crate::need_gpu;
use crate::rig::{Rig, lossy, options};
use fzgm::{Array, DType, Encoder, Error, Options, Status, Stream};

#[test]
fn every_kind_of_stream_serves_and_the_context_is_left_alone() {
    need_gpu!();
    let own = TestStream::new();
    let streams = [0, 1, 2, own.0].into_iter().enumerate();
    for (k, stream, name) in
        ["pfpl", "fz"].into_iter().flat_map(|name| streams.clone().map(move |(k, s)| (k, s, name)))
    {
        let mut rig = Rig::of(name, DType::F32, 5_000);
        let src = rig.data(Content::Walk, k as u64);
        rig.src.put(0, &src);
        let (mut before, mut after) = (0, 0);
        unsafe { (cuda().cuCtxGetCurrent)(&mut before) };
        rig.compress(Stream::from_raw(stream));
        rig.decompress(Stream::from_raw(stream));
        unsafe { (cuda().cuCtxGetCurrent)(&mut after) };
        assert_eq!(before, after);
        assert_eq!(unsafe { (cuda().cuStreamSynchronize)(stream) }, 0);
        rig.check(&src);
    }
}

#[test]
fn a_thread_without_a_context_gets_one_and_loses_it_again() {
    need_gpu!();
    let mut rig = Rig::of("bits", DType::U32, 3_000);
    let src = rig.data(Content::Sparse, 1);
    rig.src.put(0, &src);
    unsafe { (cuda().cuCtxSetCurrent)(0) };
    let stream = rig.stream.raw();
    rig.compress(stream);
    rig.decompress(stream);
    let mut after = 1;
    unsafe { (crate::common::gpu::cuda_without_context().cuCtxGetCurrent)(&mut after) };
    assert_eq!(after, 0, "a context was left behind");
    cuda();
    rig.stream.wait();
    rig.check(&src);
}

#[test]
fn results_say_what_is_needed() {
    need_gpu!();
    let mut rig = Rig::of("bits", DType::U32, 20_000);
    let src = rig.data(Content::Sparse, 1);
    rig.src.put(0, &src);
    let (container, _) = rig.expected(&src);
    for room in [0, 1, 100, container.len() - 1] {
        let dst = Block::new(room + 64);
        let stream = rig.stream.raw();
        let result = rig.results[0].slice(0, 24).address;
        let (from, to) = (rig.src.slice(0, src.len()), dst.slice(0, room));
        unsafe { rig.encoder.compress_async(&mut rig.encoding, from, to, result, stream) }.unwrap();
        rig.stream.wait();
        let r = rig.results[0].result();
        assert_eq!((r.status, r.bytes, r.needed), (Status::DstTooSmall as i32, 0, container.len() as u64));
        assert!(dst.get()[room..].iter().all(|&b| b == 0xee), "bytes behind the destination are touched");
    }
}

#[test]
fn outliers_that_find_no_room_are_counted() {
    need_gpu!();
    let mut pipeline = fzgm::Pipeline::new();
    let q = pipeline.add("quantizer").unwrap();
    for (name, value) in [("outlier_capacity", "0.01"), ("quant_radius", "2"), ("error_bound", "1e-3")] {
        pipeline.args_mut(q).unwrap().set_text(name, value).unwrap();
    }
    let array = Array::new(DType::F32, &[9_000]).unwrap();
    let mut rig = Rig::new(&pipeline, &array, &options());
    let src = rig.data(Content::Walk, 3);
    rig.src.put(0, &src);
    let stream = rig.stream.raw();
    rig.compress(stream);
    rig.stream.wait();
    let r = rig.results[0].result();
    assert_eq!((r.status, r.bytes, r.stage), (Status::OutlierCapacity as i32, 0, 0));
    // With the room that it asks for the call succeeds, and a blocking call finds it by itself.
    let fraction = r.needed as f64 / 9_000.0 + 1e-4;
    pipeline.args_mut(q).unwrap().set_real("outlier_capacity", fraction).unwrap();
    let mut rig = Rig::new(&pipeline, &array, &options());
    rig.src.put(0, &src);
    let (first, _) = rig.both();
    assert_eq!(first.status, 0);
    rig.check(&src);
}

#[test]
fn wrong_lengths_are_refused_before_anything_runs() {
    need_gpu!();
    let mut rig = Rig::of("pfpl", DType::F32, 1_000);
    let stream = rig.stream.raw();
    let (short, dst) = (rig.src.slice(0, 3_996), rig.container.slice(0, 100));
    let e = unsafe { rig.encoder.compress_async(&mut rig.encoding, short, dst, 0, stream) }.unwrap_err();
    assert!(matches!(e, Error::PlanMismatch(_)), "{e}");
    let (container, short) = (rig.container.slice(0, 100), rig.restored.slice(0, 3_999));
    let e =
        unsafe { rig.decoder.decompress_async(&mut rig.decoding, container, short, 0, stream) }.unwrap_err();
    assert_eq!(e, Error::DstTooSmall { need: 4_000, have: 3_999 });
}

#[test]
fn arrays_that_do_not_compress_are_stored_on_the_device_too() {
    need_gpu!();
    for container in [fzgm::Container::Fzm, fzgm::Container::Compact] {
        for checksum_async in [false, true] {
            let options = Options { container, checksum_async, ..options() };
            let array = Array::new(DType::U32, &[7_001]).unwrap();
            let mut rig = Rig::new(&lossy("bits", DType::U32), &array, &options);
            for content in [Content::Random, Content::Walk] {
                let src = rig.data(content, 5);
                rig.src.put(0, &src);
                let (first, second) = rig.both();
                let on_cpu =
                    Options { device: fzgm::Device::Cpu, checksum: checksum_async, ..options.clone() };
                let want = fzgm::compress(rig.encoder.plan().pipeline(), &array, &on_cpu, &src).unwrap();
                assert_eq!((first.status, first.bytes), (0, want.len() as u64), "{content:?}");
                assert!(rig.container.get()[..want.len()] == want[..], "{content:?} {container:?}");
                assert_eq!((second.status, second.bytes), (0, src.len() as u64));
                assert!(rig.restored.get() == src);
            }
        }
    }
}

#[test]
fn device_memory_is_what_the_plan_says() {
    need_gpu!();
    let rig = Rig::of("pfpl", DType::F32, 1 << 20);
    let array = rig.array.bytes();
    let (encode, decode) = (rig.encoder.workspace_bytes(), rig.decoder.workspace_bytes());
    // The stream is written where it belongs, and nothing passes between chained kernels.
    assert!(encode < array / 8 && decode < array / 8, "{encode} and {decode} for {array}");
    let unfused =
        Encoder::new(rig.encoder.plan().pipeline(), &rig.array, &Options { fuse: false, ..options() })
            .unwrap();
    assert!(unfused.workspace_bytes() > array);
}
