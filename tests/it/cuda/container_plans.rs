//! Asynchronous calls with plans from a single container.

use crate::common::fixture::{Fixture, lossy, options};
use crate::common::gpu::{Block, TestStream};
use crate::common::samples::Content;
use crate::cuda::need_gpu;
use fzgm::{
    Array, CallResult, Container, DType, Decoder, Device, Encoder, Error, Options, Status, Stream, Workspace,
};

/// A decoder that was opened, with the memory of its calls.
struct Opened {
    decoder: Decoder,
    ws: Workspace,
    restored: Block,
    result: Block,
    stream: TestStream,
}

impl Opened {
    fn of(container: &[u8]) -> Opened {
        Opened::with(Decoder::open(container, &options()).unwrap())
    }

    fn with(decoder: Decoder) -> Opened {
        let ws = decoder.workspace().unwrap();
        let restored = Block::new(decoder.array().bytes() as usize);
        Opened { decoder, ws, restored, result: Block::new(24), stream: TestStream::new() }
    }

    /// The result for a container, which may be longer than its own bytes.
    fn restore(&mut self, container: &[u8], behind: usize) -> CallResult {
        let from = Block::new(container.len() + behind);
        from.put(0, container);
        let (from, to) = (from.slice(0, from.bytes), self.restored.slice(0, self.restored.bytes));
        let (place, stream) = (self.result.slice(0, 24).address, self.stream.raw());
        unsafe { self.decoder.decompress_async(&mut self.ws, from, to, place, stream) }.unwrap();
        self.stream.wait();
        self.result.result()
    }
}

fn on_cpu(fixture: &Fixture, content: Content, seed: u64, checksum: bool) -> (Vec<u8>, Vec<u8>) {
    let options = Options { device: Device::Cpu, checksum, ..fixture.encoder.options().clone() };
    let container =
        fzgm::compress(fixture.encoder.pipeline(), &fixture.array, &options, &fixture.data(content, seed))
            .unwrap();
    let restored = fzgm::decompress(&container, &options).unwrap().1;
    (container, restored)
}

fn status(r: CallResult) -> (i32, u64) {
    (r.status, r.bytes)
}

#[test]
fn other_containers_of_the_pipeline_are_served_as_far_as_they_need_no_more_room() {
    need_gpu!();
    let kinds = [
        ("pfpl", DType::F32),
        ("fz", DType::F64),
        ("bits", DType::U32),
        ("cusz", DType::F32),
        ("cusz_ans", DType::F32),
    ];
    for ((name, dtype), container) in
        kinds.into_iter().flat_map(|k| [Container::Fzm, Container::Compact].map(|c| (k, c)))
    {
        let array = Array::new(dtype, &[20_000]).unwrap();
        let fixture = Fixture::new(&lossy(name, dtype), &array, &Options { container, ..options() });
        let mut small = on_cpu(&fixture, Content::Zeros, 1, true);
        let mut large = on_cpu(&fixture, Content::Walk, 2, false);
        assert!(small.0.len() < large.0.len());
        let fits = (Status::Ok as i32, array.bytes());

        let mut opened = Opened::of(&large.0);
        // With checksums and without; and after another container again.
        for (container, restored) in [&large, &small, &large] {
            assert_eq!(status(opened.restore(container, 7)), fits, "{name} {dtype}");
            assert!(opened.restored.get() == *restored, "{name} {dtype}: another array");
        }
        // The same encoder stores an array that does not compress.
        let (stored, random) = on_cpu(&fixture, Content::Random, 3, true);
        if fzgm::info(&stored).unwrap().stages[0].name == "stored" {
            assert_eq!(status(opened.restore(&stored, 0)), fits, "{name} {dtype}");
            assert!(opened.restored.get() == random, "{name} {dtype}: another stored array");
        }

        let mut opened = Opened::of(&small.0);
        let refused = (Status::PlanMismatch as i32, 0);
        assert_eq!(
            status(opened.restore(&large.0, 0)),
            refused,
            "{name} {dtype}: more than there is room for"
        );
        assert_eq!(status(opened.restore(&small.0, 0)), fits, "{name} {dtype}");
        assert!(opened.restored.get() == small.1, "{name} {dtype}: another array");
        // The checksum counts.
        let last = small.0.len() - 1;
        small.0[last] ^= 1;
        assert_eq!(status(opened.restore(&small.0, 0)), (Status::Checksum as i32, 0), "{name} {dtype}");
        large.0.truncate(3);
        assert_eq!(status(opened.restore(&large.0, 0)), (Status::NotAContainer as i32, 0), "{name} {dtype}");
    }
}

/// A blocking call enlarges outlier lists that are too short. An FZM file records their capacity.
#[test]
fn decoders_of_an_encoder_restore_containers_with_enlarged_lists() {
    need_gpu!();
    for (name, dtype) in [("fz", DType::F32), ("cusz", DType::F64)] {
        let mut pipeline = lossy(name, dtype);
        pipeline.set_everywhere("outlier_capacity", |args| args.set_real("outlier_capacity", 1e-6)).unwrap();
        let array = Array::new(dtype, &[20_000]).unwrap();
        for container in [Container::Fzm, Container::Compact] {
            let fixture = Fixture::new(&pipeline, &array, &Options { container, ..options() });
            let short = one_run(&fixture, Content::Specials, 2);
            assert!(matches!(short, Err(Error::OutlierCapacity { .. })), "{name} {dtype}: {short:?}");
            let enlarged = on_cpu(&fixture, Content::Specials, 2, true);
            let ordinary = on_cpu(&fixture, Content::Zeros, 1, true);
            let mut opened = Opened::with(fixture.encoder.decoder().unwrap());
            for (container, restored) in [&enlarged, &ordinary, &enlarged] {
                assert_eq!(
                    status(opened.restore(container, 7)),
                    (Status::Ok as i32, array.bytes()),
                    "{name}"
                );
                assert!(opened.restored.get() == *restored, "{name} {dtype}: another array");
            }
        }
    }
}

/// If the lists feed another stage, asynchronous calls have memory for the lists of the encoder, and blocking calls for all lists.
#[test]
fn enlarged_lists_that_feed_a_stage_are_restored_by_blocking_calls() {
    need_gpu!();
    for (name, dims) in [("lc_cr", &[20_000][..]), ("lc_tp", &[40, 20, 25]), ("cusz_hi_cr", &[40, 20, 25])] {
        let mut pipeline = lossy(name, DType::F32);
        pipeline.set_everywhere("outlier_capacity", |args| args.set_real("outlier_capacity", 1e-3)).unwrap();
        let array = Array::new(DType::F32, dims).unwrap();
        let fixture = Fixture::new(&pipeline, &array, &options());
        let short = one_run(&fixture, Content::Specials, 2);
        assert!(matches!(short, Err(Error::OutlierCapacity { .. })), "{name}: {short:?}");
        let enlarged = on_cpu(&fixture, Content::Specials, 2, true);
        let ordinary = on_cpu(&fixture, Content::Zeros, 1, true);
        let mut opened = Opened::with(fixture.encoder.decoder().unwrap());
        let (fits, longer) = ((Status::Ok as i32, array.bytes()), (Status::PlanMismatch as i32, 0));
        for (container, outcome) in [(&enlarged, longer), (&ordinary, fits), (&enlarged, longer)] {
            assert_eq!(status(opened.restore(&container.0, 7)), outcome, "{name}");
        }
        let mut ws = opened.decoder.workspace().unwrap();
        for (container, restored) in [&enlarged, &ordinary] {
            let mut dst = vec![0; restored.len()];
            opened.decoder.decompress(&mut ws, container, &mut dst).unwrap();
            assert!(dst == *restored, "{name}: another array");
            let from = Block::of(container);
            let (from, to) = (from.slice(0, container.len()), opened.restored.slice(0, restored.len()));
            unsafe { opened.decoder.decompress_at(&mut ws, from, to) }.unwrap();
            assert!(opened.restored.get() == *restored, "{name}: another array in device memory");
        }
        // Room for all lists, if the pipeline requires it.
        pipeline.set_everywhere("outlier_capacity", |args| args.set_real("outlier_capacity", 1.0)).unwrap();
        let roomy = Encoder::new(&pipeline, &array, &options()).unwrap();
        let mut opened = Opened::with(roomy.decoder().unwrap());
        assert_eq!(status(opened.restore(&enlarged.0, 0)), fits, "{name}");
        assert!(opened.restored.get() == enlarged.1, "{name}: another array of a decoder with room");
    }
}

/// Compression in memory of the caller, which enlarges no lists.
fn one_run(fixture: &Fixture, content: Content, seed: u64) -> Result<usize, Error> {
    let options = Options { device: Device::Cpu, ..fixture.encoder.options().clone() };
    let encoder = Encoder::new(fixture.encoder.pipeline(), &fixture.array, &options)?;
    let mut ws = encoder.workspace_in(vec![0; encoder.workspace_bytes() as usize].leak())?;
    let mut dst = vec![0; encoder.max_compressed_bytes() as usize];
    encoder.compress(&mut ws, &fixture.data(content, seed), &mut dst)
}

#[test]
fn containers_of_another_pipeline_bound_or_shape_are_another_plans() {
    need_gpu!();
    let fixture = Fixture::of("pfpl", DType::F32, 20_000);
    let (own, restored) = on_cpu(&fixture, Content::Walk, 1, true);
    let mut opened = Opened::of(&own);
    let mut bound = lossy("pfpl", DType::F32);
    bound.set_everywhere("error_bound", |args| args.set_real("error_bound", 1e-2)).unwrap();
    let shape = |dims: &[u64]| Array::new(DType::F32, dims).unwrap();
    let compact = Options { container: Container::Compact, ..options() };
    let others = [
        ("stages", Fixture::of("fz", DType::F32, 20_000), Status::PlanMismatch),
        ("bound", Fixture::new(&bound, &shape(&[20_000]), &options()), Status::PlanMismatch),
        (
            "shape",
            Fixture::new(&lossy("pfpl", DType::F32), &shape(&[200, 100]), &options()),
            Status::PlanMismatch,
        ),
        ("length", Fixture::of("pfpl", DType::F32, 20_001), Status::PlanMismatch),
        ("type", Fixture::of("pfpl", DType::F64, 10_000), Status::PlanMismatch),
        // Its first bytes are those of the other kind of container.
        (
            "container",
            Fixture::new(&lossy("pfpl", DType::F32), &shape(&[20_000]), &compact),
            Status::NotAContainer,
        ),
    ];
    for (what, other, want) in &others {
        let (container, _) = on_cpu(other, Content::Zeros, 1, true);
        assert_eq!(status(opened.restore(&container, 100)), (*want as i32, 0), "another {what}");
    }
    assert_eq!(opened.restore(&own, 0).status, 0);
    assert!(opened.restored.get() == restored);
}

#[test]
fn workspaces_are_made_ready_with_the_memory_of_the_plan() {
    need_gpu!();
    let fixture = Fixture::of("fz", DType::F32, 1 << 18);
    let (container, restored) = on_cpu(&fixture, Content::Walk, 1, false);
    // A plan of no device in particular receives its device memory when it is made ready.
    for device in [options().device, Device::Auto] {
        let opened = Decoder::open(&container, &Options { device, ..options() }).unwrap();
        let mut ws = opened.workspace().unwrap();
        let stream = TestStream::new();
        opened.preload(&mut ws, stream.raw()).unwrap();
        let (from, to, result) = (Block::of(&container), Block::new(restored.len()), Block::new(24));
        let (f, t) = (from.slice(0, from.bytes), to.slice(0, to.bytes));
        unsafe { opened.decompress_async(&mut ws, f, t, result.slice(0, 24).address, stream.raw()) }.unwrap();
        stream.wait();
        assert_eq!(result.result().status, 0);
        assert!(to.get() == restored);
        let (_, bytes) = opened.device_plan().unwrap();
        let expected = if device == Device::Auto { opened.plan().unwrap().workspace_bytes() } else { bytes };
        assert_eq!(opened.workspace_bytes(), expected);
        assert!(bytes <= fixture.decoder.workspace_bytes(), "one container takes no more than all");
    }
}

/// One graph, launched on a container after the other.
#[test]
fn a_graph_of_an_opened_plan_restores_the_container_at_launch() {
    need_gpu!();
    let fixture = Fixture::of("pfpl", DType::F32, 30_000);
    let cases: Vec<_> = [Content::Walk, Content::Zeros, Content::Walk]
        .into_iter()
        .enumerate()
        .map(|(k, content)| on_cpu(&fixture, content, k as u64, k == 1))
        .collect();
    let longest = cases.iter().max_by_key(|c| c.0.len()).unwrap();
    let mut opened = Opened::of(&longest.0);
    let from = Block::new(longest.0.len());
    let Opened { decoder, ws, restored, result, stream } = &mut opened;
    let graph = stream.capture(|| {
        let (from, to) = (from.slice(0, from.bytes), restored.slice(0, restored.bytes));
        let place = result.slice(0, 24).address;
        unsafe { decoder.decompress_async(ws, from, to, place, stream.raw()) }.unwrap();
    });
    for (container, array) in &cases {
        from.put(0, container);
        graph.launch(stream);
        stream.wait();
        let r = result.result();
        // Walks differ in length: one may be too long for the plan of another.
        if r.status != Status::PlanMismatch as i32 {
            assert_eq!(r.status, 0);
            assert!(restored.get() == *array);
        } else {
            assert!(container != &longest.0 && fzgm::info(container).is_ok());
        }
    }
}

/// The reference leaves things in its headers that we would write otherwise.
#[test]
fn headers_in_other_forms_are_read_on_the_host() {
    need_gpu!();
    let fixture = Fixture::of("pfpl", DType::F32, 5_000);
    let (mut container, restored) = on_cpu(&fixture, Content::Walk, 1, false);
    // A reserved byte of the core header that readers do not look at.
    container[50] = 1;
    let opened = Decoder::open(&container, &options()).unwrap();
    let mut ws = opened.workspace().unwrap();
    opened.preload(&mut ws, Stream::from_raw(0)).unwrap();
    let (from, to) = (Block::of(&container), Block::new(restored.len()));
    let (f, t) = (from.slice(0, from.bytes), to.slice(0, to.bytes));
    let e = unsafe { opened.decompress_async(&mut ws, f, t, 0, Stream::from_raw(0)) }.unwrap_err();
    assert!(matches!(e, Error::Unsupported { .. }) && e.to_string().contains("blocking"), "{e}");
    assert_eq!(unsafe { opened.decompress_at(&mut ws, f, t) }, Ok(restored.len()));
    assert!(to.get() == restored);
}
