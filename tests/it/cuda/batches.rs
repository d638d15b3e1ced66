//! Batches in device memory: one sequence of launches for the arrays of a plan, equal bytes, and failures of one
//! array that do not affect the others.

use crate::common::fixture::{lossy, options};
use crate::common::gpu::{Block, TestStream, cuda};
use crate::common::rng::Rng;
use crate::common::samples::{self, Content};
use crate::cuda::need_gpu;
use fzgm::{Array, Batch, BatchAddresses, BatchWorkspace, CallResult, DType, Decoder, Encoder};
use fzgm::{Container, Device, Options, Pipeline, Status};
use std::sync::Arc;

/// A batch in both directions, with all memory of its calls.
pub(super) struct Fixture {
    pub(super) encoders: Batch<Encoder>,
    pub(super) decoders: Batch<Decoder>,
    pub(super) encoding: BatchWorkspace,
    pub(super) decoding: BatchWorkspace,
    pub(super) src: Vec<Block>,
    pub(super) containers: Vec<Block>,
    pub(super) restored: Vec<Block>,
    pub(super) tables: Tables,
    results: [Block; 2],
    pub(super) stream: TestStream,
}

/// The entries of a call in device memory.
pub(super) struct Tables {
    pub(super) src: Block,
    pub(super) containers: Block,
    pub(super) rooms: Block,
    pub(super) restored: Block,
    pub(super) lengths: Block,
}

fn table(entries: impl IntoIterator<Item = u64>) -> Block {
    Block::of(&entries.into_iter().flat_map(u64::to_le_bytes).collect::<Vec<u8>>())
}

pub(super) fn set(table: &Block, i: usize, entry: u64) {
    table.put(8 * i, &entry.to_le_bytes());
}

fn addresses(blocks: &[Block]) -> Block {
    table(blocks.iter().map(|block| block.slice(0, 0).address))
}

impl Fixture {
    pub(super) fn new(plans: Vec<Arc<Encoder>>) -> Fixture {
        let encoders = Batch::new(plans, 1).unwrap();
        let decoders = encoders.decoders().unwrap();
        let (encoding, decoding) = (encoders.workspace().unwrap(), decoders.workspace().unwrap());
        let blocks = |bytes: fn(&Encoder) -> u64| -> Vec<Block> {
            encoders.plans().iter().map(|plan| Block::new(bytes(plan) as usize)).collect()
        };
        let src = blocks(|plan| plan.array().bytes());
        let (containers, restored) = (blocks(Encoder::max_compressed_bytes), blocks(|p| p.array().bytes()));
        let tables = Tables {
            src: addresses(&src),
            containers: addresses(&containers),
            rooms: table(containers.iter().map(|block| block.bytes as u64)),
            restored: addresses(&restored),
            lengths: table(restored.iter().map(|block| block.bytes as u64)),
        };
        let results = [(); 2].map(|()| Block::new(24 * encoders.len()));
        let stream = TestStream::new();
        Fixture { encoders, decoders, encoding, decoding, src, containers, restored, tables, results, stream }
    }

    /// Arrays of contents that depend on the seed, also on the device.
    pub(super) fn fill(&self, seed: u64) -> Vec<Vec<u8>> {
        let contents = [Content::Walk, Content::Specials, Content::Constant, Content::Random, Content::Ramp];
        let one = |(i, (plan, block)): (usize, (&Arc<Encoder>, &Block))| {
            let content = contents[(i + seed as usize) % contents.len()];
            let array = plan.array();
            let bytes = samples::make(array.dtype(), array.dims(), content, seed + i as u64).bytes;
            block.put(0, &bytes);
            bytes
        };
        self.encoders.plans().iter().zip(&self.src).enumerate().map(one).collect()
    }

    pub(super) fn compress(&mut self) {
        let t = &self.tables;
        let at = |block: &Block| block.slice(0, 0).address;
        let (src, dst, dst_bytes) = (at(&t.src), at(&t.containers), at(&t.rooms));
        let tables = BatchAddresses { src, src_bytes: 0, dst, dst_bytes, results: at(&self.results[0]) };
        unsafe { self.encoders.compress_async(&mut self.encoding, tables, self.stream.raw()) }.unwrap();
    }

    pub(super) fn decompress(&mut self) {
        let t = &self.tables;
        let at = |block: &Block| block.slice(0, 0).address;
        let (src, src_bytes) = (at(&t.containers), at(&t.rooms));
        let (dst, dst_bytes) = (at(&t.restored), at(&t.lengths));
        let tables = BatchAddresses { src, src_bytes, dst, dst_bytes, results: at(&self.results[1]) };
        unsafe { self.decoders.decompress_async(&mut self.decoding, tables, self.stream.raw()) }.unwrap();
    }

    pub(super) fn results(&self, direction: usize) -> Vec<CallResult> {
        self.results[direction].get().chunks(24).map(bytemuck::pod_read_unaligned).collect()
    }

    /// The container and the array of calls for array `i` alone, on the CPU.
    fn expected(&self, i: usize, array: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let plan = &self.encoders.plans()[i];
        let own = plan.options();
        let options = Options { device: Device::Cpu, checksum: own.checksum_async, ..own.clone() };
        let container = fzgm::compress(plan.pipeline(), plan.array(), &options, array).unwrap();
        let restored = fzgm::decompress(&container, &options).unwrap().1;
        (container, restored)
    }

    /// Other blocks, with other addresses in the tables.
    pub(super) fn move_arrays(&mut self) {
        let other = Fixture::new(self.encoders.plans().to_vec());
        (self.src, self.containers, self.restored) = (other.src, other.containers, other.restored);
        for (table, blocks) in [
            (&self.tables.src, &self.src),
            (&self.tables.containers, &self.containers),
            (&self.tables.restored, &self.restored),
        ] {
            blocks.iter().enumerate().for_each(|(i, block)| set(table, i, block.slice(0, 0).address));
        }
    }

    /// Array `i` has the bytes of single calls in both directions.
    pub(super) fn check(&self, i: usize, array: &[u8]) {
        let what = format!("array {i}, {:?}", self.encoders.plans()[i].array());
        let (container, restored) = self.expected(i, array);
        let [first, second] = [0, 1].map(|direction| self.results(direction)[i]);
        assert_eq!((first.status, first.bytes), (0, container.len() as u64), "{what}: {first:?}");
        assert!(self.containers[i].first(container.len()) == container, "{what}: another container");
        assert_eq!((second.status, second.bytes), (0, restored.len() as u64), "{what}: {second:?}");
        assert!(self.restored[i].get() == restored, "{what}: another array");
    }

    /// Restores all containers, and compares statuses and values with those of single calls. Returns the number of failures.
    pub(super) fn compare_with_single_calls(&mut self) -> u32 {
        self.decompress();
        self.stream.wait();
        let results = self.results(1);
        let mut failures = 0;
        for (i, decoder) in self.decoders.plans().iter().enumerate() {
            let (dst, result) = (Block::new(self.restored[i].bytes), Block::new(24));
            let (from, to) = (&self.containers[i], result.slice(0, 24).address);
            let (from, into) = (from.slice(0, from.bytes), dst.slice(0, dst.bytes));
            let mut ws = decoder.workspace().unwrap();
            unsafe { decoder.decompress_async(&mut ws, from, into, to, self.stream.raw()) }.unwrap();
            self.stream.wait();
            let single = result.result();
            assert_eq!((results[i].status, results[i].bytes), (single.status, single.bytes), "array {i}");
            assert!(single.status != 0 || self.restored[i].get() == dst.get(), "array {i}");
            failures += u32::from(single.status != 0);
        }
        failures
    }

    pub(super) fn both(&mut self) {
        self.compress();
        self.decompress();
        self.stream.wait();
    }
}

fn preset_with_bound(name: &str, bound: f64) -> Pipeline {
    let mut pipeline = lossy(name, DType::F32);
    pipeline.set_everywhere("error_bound", |args| args.set_real("error_bound", bound)).unwrap();
    pipeline
}

pub(super) fn plan(name: &str, dtype: DType, dims: &[u64], options: &Options) -> Arc<Encoder> {
    let array = Array::new(dtype, dims).unwrap();
    Arc::new(Encoder::new(&lossy(name, dtype), &array, options).unwrap())
}

/// Shapes of presets fast and pfpl in an order in which the arrays of no plan are consecutive.
fn mixed(options: &Options) -> Vec<Arc<Encoder>> {
    let plans = [
        plan("fast", DType::F32, &[16, 16, 16], options),
        plan("pfpl", DType::F32, &[32, 32, 32], options),
        plan("fast", DType::F32, &[33, 17, 9], options),
        plan("fast", DType::F64, &[40, 41], options),
        plan("pfpl", DType::F32, &[5001], options),
        plan("fast", DType::F64, &[9, 8, 7], options),
        plan("fast", DType::F32, &[9000], options),
        plan("fast", DType::F32, &[70, 30], options),
        plan("fast", DType::F64, &[3000], options),
    ];
    (0..2 * plans.len()).map(|i| plans[i % plans.len()].clone()).collect()
}

/// Arrays with these plans have the bytes of single calls, in every form of container.
pub(super) fn equal_bytes(plans: impl Fn(&Options) -> Vec<Arc<Encoder>>) {
    let (checked, compact) = (
        Options { checksum_async: true, ..options() },
        Options { container: Container::Compact, ..options() },
    );
    for options in [options(), checked, compact] {
        let mut fixture = Fixture::new(plans(&options));
        // The second call relies on the zeros that the first one leaves.
        for seed in [1, 2] {
            let arrays = fixture.fill(seed);
            fixture.both();
            arrays.iter().enumerate().for_each(|(i, array)| fixture.check(i, array));
        }
    }
}

#[test]
fn every_array_has_the_bytes_of_a_single_call() {
    need_gpu!();
    equal_bytes(mixed);
}

/// Edges in groups of four values or fewer, a bound too fine for f16, an array of many blocks, unaligned addresses.
#[test]
fn patches_of_any_shape_and_address() {
    need_gpu!();
    let options = options();
    let fine = Array::new(DType::F32, &[36, 20, 12]).unwrap();
    let fine = Encoder::new(&preset_with_bound("fast", 1e-5), &fine, &options).unwrap();
    let plans = [
        plan("fast", DType::F32, &[36, 20, 44], &options),
        Arc::new(fine),
        plan("fast", DType::F64, &[20, 12, 10], &options),
        plan("fast", DType::F32, &[44, 300], &options),
        plan("fast", DType::F32, &[300_000], &options),
        plan("pfpl", DType::F32, &[64, 40, 33], &options),
    ];
    let mut fixture = Fixture::new((0..3 * plans.len()).map(|i| plans[i % plans.len()].clone()).collect());
    for shift in [0, 4] {
        let arrays = fixture.fill(shift as u64);
        for (i, bytes) in arrays.iter().enumerate() {
            let block = Block::new(bytes.len() + shift);
            block.put(shift, bytes);
            set(&fixture.tables.src, i, block.slice(shift, 0).address);
            fixture.src[i] = block;
        }
        fixture.both();
        arrays.iter().enumerate().for_each(|(i, array)| fixture.check(i, array));
    }
}

/// The launches depend on the plans, not on the number of arrays.
#[test]
fn arrays_of_a_plan_share_their_launches() {
    need_gpu!();
    let mut launches = vec![];
    for count in [1, 7] {
        let patch = plan("fast", DType::F32, &[16, 16, 16], &options());
        let mut fixture = Fixture::new(vec![patch; count]);
        let arrays = fixture.fill(count as u64);
        fixture.encoders.preload(&mut fixture.encoding, fixture.stream.raw()).unwrap();
        fixture.decoders.preload(&mut fixture.decoding, fixture.stream.raw()).unwrap();
        let before = cuda().count("launch");
        fixture.both();
        launches.push(cuda().count("launch").zip(before).map(|(after, before)| after - before));
        arrays.iter().enumerate().for_each(|(i, array)| fixture.check(i, array));
    }
    // Other tests may launch at the same time.
    assert!(launches[0].is_none_or(|n| n >= 6), "{launches:?}");
}

/// A captured graph reads addresses, capacities, and contents when it is launched.
pub(super) fn launched_again(plans: Vec<Arc<Encoder>>) {
    let mut fixture = Fixture::new(plans);
    let stream = TestStream(fixture.stream.0);
    fixture.encoders.preload(&mut fixture.encoding, stream.raw()).unwrap();
    fixture.decoders.preload(&mut fixture.decoding, stream.raw()).unwrap();
    let graph = stream.capture(|| {
        fixture.compress();
        fixture.decompress();
    });
    std::mem::forget(stream);
    for round in 0..3 {
        fixture.move_arrays();
        let arrays = fixture.fill(10 * round);
        graph.launch(&fixture.stream);
        fixture.stream.wait();
        arrays.iter().enumerate().for_each(|(i, array)| fixture.check(i, array));
    }
}

#[test]
fn a_graph_is_launched_again_on_other_arrays() {
    need_gpu!();
    launched_again(mixed(&options()));
}

/// Arrays of a batch with these plans, at least nine, that fail in every way.
pub(super) fn failures_stay_apart(plans: Vec<Arc<Encoder>>) {
    let mut fixture = Fixture::new(plans);
    let arrays = fixture.fill(3);
    let room = fixture.expected(1, &arrays[1]).0.len() as u64 - 1;
    set(&fixture.tables.src, 0, 0);
    set(&fixture.tables.rooms, 1, room);
    set(&fixture.tables.containers, 2, 0);
    set(&fixture.tables.rooms, 3, 0);
    fixture.compress();
    fixture.stream.wait();
    let (null, small) = (Status::NullPointer as i32, Status::DstTooSmall as i32);
    let failed = |r: CallResult| (r.status, r.bytes, r.needed);
    let results = fixture.results(0);
    assert_eq!(failed(results[0]), (null, 0, 0));
    assert_eq!(failed(results[1]), (small, 0, room + 1));
    assert_eq!(failed(results[2]), (null, 0, 0));
    assert_eq!(failed(results[3]), (small, 0, fixture.expected(3, &arrays[3]).0.len() as u64));
    assert!(results[4..].iter().all(|r| r.status == 0), "{results:?}");
    assert!(fixture.containers[1].get()[room as usize..].iter().all(|&b| b == 0xee), "behind the capacity");
    assert!(fixture.containers[3].get().iter().all(|&b| b == 0xee), "a container without room");

    // The same workspace afterwards: all arrays are good, and then other containers are bad.
    let tables = Fixture::new(fixture.encoders.plans().to_vec());
    (fixture.tables, fixture.containers, fixture.src, fixture.restored) =
        (tables.tables, tables.containers, tables.src, tables.restored);
    let arrays = fixture.fill(4);
    fixture.both();
    arrays.iter().enumerate().for_each(|(i, array)| fixture.check(i, array));
    fixture.restored.iter().for_each(|block| block.put(0, &vec![0xee; block.bytes]));
    fixture.containers[4].put(0, b"none");
    fixture.containers[5].put(20, &[0xff; 8]);
    set(&fixture.tables.rooms, 6, 11);
    set(&fixture.tables.lengths, 7, fixture.restored[7].bytes as u64 - 1);
    set(&fixture.tables.restored, 8, 0);
    fixture.decompress();
    fixture.stream.wait();
    let results = fixture.results(1);
    assert_eq!(failed(results[4]), (Status::NotAContainer as i32, 0, 0));
    assert!([5, 6].iter().all(|&i| results[i].status != 0), "{results:?}");
    assert_eq!(failed(results[7]), (small, 0, fixture.restored[7].bytes as u64));
    assert_eq!(failed(results[8]), (null, 0, 0));
    assert!([4, 5, 6, 7].iter().all(|&i| fixture.restored[i].get().iter().all(|&b| b == 0xee)));
    for i in (0..4).chain(9..arrays.len()) {
        fixture.check(i, &arrays[i]);
    }
}

#[test]
fn an_array_that_fails_does_not_affect_the_others() {
    need_gpu!();
    failures_stay_apart(mixed(&options()));
}

/// Damaged containers have the statuses and the arrays of single calls.
pub(super) fn damaged_as_in_single_calls(plans: Vec<Arc<Encoder>>) {
    let mut fixture = Fixture::new(plans);
    fixture.fill(6);
    fixture.compress();
    fixture.stream.wait();
    let good: Vec<Vec<u8>> = fixture.containers.iter().map(Block::get).collect();
    let lengths: Vec<usize> = fixture.results(0).iter().map(|r| r.bytes as usize).collect();
    let rounds = if cuda().is_real() { 100 } else { 4 };
    let (mut rng, mut failures) = (Rng(7), 0);
    for _ in 0..rounds {
        for (i, block) in fixture.containers.iter().enumerate() {
            let mut container = good[i].clone();
            let at = rng.word() as usize % lengths[i];
            match rng.word() % 4 {
                0 => container[at % 100] ^= 1 << (rng.word() % 8),
                1 => container[at] = rng.word() as u8,
                2 => container[at..].fill(0),
                // A good one between damaged ones.
                _ => {}
            }
            block.put(0, &container);
        }
        failures += fixture.compare_with_single_calls();
    }
    assert!(failures > 10, "{failures} containers fail");
}

#[test]
fn damaged_containers_end_as_in_single_calls() {
    need_gpu!();
    damaged_as_in_single_calls(mixed(&Options { checksum_async: true, ..options() }));
}

/// A blocking call compresses arrays in device memory too.
#[test]
fn blocking_batches_take_memory_of_any_kind() {
    need_gpu!();
    let fixture = Fixture::new(mixed(&options()));
    let arrays = fixture.fill(5);
    let host = |i: usize| i % 2 == 0;
    let mut rooms: Vec<Vec<u8>> = fixture.containers.iter().map(|block| vec![0; block.bytes]).collect();
    let items: Vec<fzgm::BatchItem> = (0..arrays.len())
        .map(|i| {
            let slice = |bytes: &[u8]| fzgm::DeviceSlice {
                address: bytes.as_ptr() as u64,
                bytes: bytes.len() as u64,
            };
            let src = if host(i) { slice(&arrays[i]) } else { fixture.src[i].slice(0, arrays[i].len()) };
            let bytes = rooms[i].len();
            let dst = if host(i) { slice(&rooms[i]) } else { fixture.containers[i].slice(0, bytes) };
            fzgm::BatchItem { array: i, src, dst }
        })
        .collect();
    let mut ws = fixture.encoders.workspace().unwrap();
    let done = unsafe { fixture.encoders.compress_at(&mut ws, &items) }.unwrap();
    for (i, done) in done.into_iter().enumerate() {
        let bytes = done.unwrap();
        if !host(i) {
            rooms[i] = fixture.containers[i].first(bytes);
        }
        let plan = &fixture.encoders.plans()[i];
        let options = Options { device: Device::Cpu, ..plan.options().clone() };
        let want = fzgm::compress(plan.pipeline(), plan.array(), &options, &arrays[i]).unwrap();
        assert!(rooms[i][..bytes] == want[..], "array {i}");
    }
}
