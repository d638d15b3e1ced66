//! Strided arrays in device memory, against copies of single elements.

use crate::common::fixture::{lossy, options};
use crate::common::gpu::{Block, TestStream, cuda, mine};
use crate::common::rng::Rng;
use crate::common::samples::{self, Content};
use crate::cuda::need_gpu;
use fzgm::{
    Array, CallResult, DType, Decoder, Device, DeviceSlice, Encoder, Error, Options, Pipeline, Status,
    StridedSlice, Workspace,
};

/// The places of an array in memory.
struct Grid {
    array: Array,
    strides: Vec<i64>,
    /// Offset of the first element in bytes.
    origin: usize,
    /// Offsets of all elements in bytes, in the order of the packed array.
    places: Vec<usize>,
    /// Bytes of the memory.
    bytes: usize,
}

impl Grid {
    /// `origin` and `elements` as numbers of elements; all places are `shift` bytes behind theirs.
    fn new(
        dtype: DType,
        dims: &[u64],
        strides: &[i64],
        origin: usize,
        elements: usize,
        shift: usize,
    ) -> Grid {
        let width = dtype.bytes() as usize;
        let place = |mut index: u64| {
            let steps = dims.iter().zip(strides).map(|(d, s)| {
                let i = index % d;
                index /= d;
                i as i64 * s
            });
            (origin as i64 + steps.sum::<i64>()) as usize * width + shift
        };
        Grid {
            array: Array::new(dtype, dims).unwrap(),
            strides: strides.into(),
            origin: origin * width + shift,
            places: (0..dims.iter().product::<u64>()).map(place).collect(),
            bytes: elements * width + shift,
        }
    }

    /// The interior of a volume with a ghost cell on each side.
    fn interior(dtype: DType, [nx, ny, nz]: [u64; 3]) -> Grid {
        let (row, plane) = (nx + 2, (nx + 2) * (ny + 2));
        let origin = (plane + row + 1) as usize;
        let elements = (plane * (nz + 2)) as usize;
        Grid::new(dtype, &[nx, ny, nz], &[1, row as i64, plane as i64], origin, elements, 0)
    }

    fn width(&self) -> usize {
        self.array.dtype().bytes() as usize
    }

    fn packed(&self, memory: &[u8]) -> Vec<u8> {
        self.places.iter().flat_map(|&at| memory[at..at + self.width()].to_vec()).collect()
    }

    fn put(&self, memory: &mut [u8], packed: &[u8]) {
        for (&at, element) in self.places.iter().zip(packed.chunks_exact(self.width())) {
            memory[at..at + element.len()].copy_from_slice(element);
        }
    }

    fn view(&self, memory: DeviceSlice) -> StridedSlice {
        StridedSlice::new(&self.array, memory.address + self.origin as u64, &self.strides).unwrap()
    }

    fn random(&self, seed: u64) -> Vec<u8> {
        let mut rng = Rng(seed);
        (0..self.bytes).map(|_| rng.word() as u8).collect()
    }

    /// Packs, and distributes if `apart`, in blocking calls on the device.
    fn check(&self, apart: bool) {
        let what = format!("{} of {:?}: {:?}", self.array.dtype(), self.array.dims(), self.strides);
        let mut pipeline = Pipeline::new();
        pipeline.add("stored").unwrap();
        let memory = self.random(1);
        let packed = self.packed(&memory);
        let want = fzgm::compress(&pipeline, &self.array, &Options::default(), &packed).unwrap();
        let encoder = Encoder::new(&pipeline, &self.array, &Options::default()).unwrap();
        let (block, mut got) = (Block::of(&memory), vec![0; want.len()]);
        let src = self.view(block.slice(0, self.bytes));
        let ws = &mut encoder.workspace().unwrap();
        let n = unsafe { encoder.compress_view_at(ws, &src, host(&mut got)) };
        assert_eq!(n, Ok(want.len()), "{what}");
        assert!(got == want, "{what} is packed in another way");

        let mut memory = self.random(2);
        block.put(0, &memory);
        let mut container = want;
        let back = |container: &mut [u8]| unsafe {
            Decoder::decompress_view_once_at(host(container), &src, &Options::default())
        };
        if !apart {
            assert!(
                matches!(back(&mut container), Err(Error::InvalidArgument { .. })) && block.get() == memory,
                "{what}"
            );
            return;
        }
        assert_eq!(back(&mut container), Ok(packed.len()), "{what}");
        self.put(&mut memory, &packed);
        assert!(
            block.get() == memory,
            "{what}: other bytes than the elements are written, or others are not"
        );
        if !packed.is_empty() {
            container.truncate(container.len() - 1);
            block.put(0, &self.random(3));
            back(&mut container).unwrap_err();
            assert!(block.get() == self.random(3), "{what}: a failure writes elements");
        }
    }
}

fn host(bytes: &mut [u8]) -> DeviceSlice {
    DeviceSlice { address: bytes.as_mut_ptr() as u64, bytes: bytes.len() as u64 }
}

fn whole(block: &Block) -> DeviceSlice {
    block.slice(0, block.bytes)
}

#[test]
fn elements_of_every_type_in_every_order() {
    need_gpu!();
    for (k, dtype) in DType::ALL.into_iter().enumerate() {
        if !mine(k) {
            continue;
        }
        let check = |dims: &[u64], strides: &[i64], origin, elements| {
            Grid::new(dtype, dims, strides, origin, elements, 0).check(true);
        };
        // Ghost cells, a plane of a volume, a column, every second element.
        check(&[5, 4, 3], &[1, 9, 72], 2 + 18 + 144, 9 * 8 * 7);
        check(&[9, 7], &[1, 72], 27, 9 * 8 * 7);
        check(&[8], &[9], 3, 72);
        check(&[36, 7], &[2, 72], 1, 9 * 8 * 7);
        // In Fortran order, back to front, and upside down.
        check(&[70, 40], &[40, 1], 0, 2800);
        check(&[7, 40, 3], &[3, 21, 1], 0, 840);
        // Tiles: a short one in both dimensions, the slowest dimension next to the first, with ghost cells, back to front.
        check(&[16, 16], &[17, 1], 3, 16 * 17 + 3);
        check(&[33, 65, 3], &[70, 1, 2400], 5, 3 * 2400);
        check(&[35, 3, 37], &[39 * 5, 39, 1], 39 * 6 + 1, 39 * 5 * 38);
        check(&[40, 4, 33], &[-140, 35, 1], 39 * 140, 40 * 140);
        check(&[64, 32], &[100, -3], 93, 64 * 100);
        check(&[40, 70], &[-1, -40], 2799, 2800);
        check(&[40, 70], &[1, -40], 2760, 2800);
        if dtype.bytes() == 1 {
            // More tiles than blocks.
            check(&[16, 16, 4100], &[16, 1, 256], 0, 256 * 4100);
        }
        // Rows of one, of all units, and of more than a piece; without gaps; without elements; one element.
        check(&[16, 5], &[1, 32], 0, 160);
        check(&[4, 33], &[1, 8], 4, 264);
        check(&[3, 33], &[1, 4], 0, 132);
        check(&[5003, 3], &[1, 5010], 7, 15_040);
        check(&[40, 70], &[1, 40], 0, 2800);
        check(&[40, 0, 2], &[7, 0, -9], 0, 10);
        check(&[1, 1], &[i64::MAX / 8, i64::MIN / 8], 3, 10);
        // All places of an address.
        for shift in 1..16 {
            Grid::new(dtype, &[17, 3], &[1, 20], 1, 64, shift).check(true);
            Grid::new(dtype, &[7, 2, 2, 2, 2, 2, 2, 2], &[2, 14, 28, 56, 112, 224, 448, 896], 0, 1792, shift)
                .check(true);
        }
        // Elements that share places can be read, and not written.
        for strides in [[1, 0], [0, 1], [1, 1], [0, 0]] {
            Grid::new(dtype, &[5, 4], &strides, 2, 10, 0).check(false);
        }
    }
}

#[test]
fn random_strides_in_device_memory() {
    need_gpu!();
    let mut rng = Rng(5);
    for round in 0..if cuda().is_real() { 200 } else { 40 } {
        let ndim = 1 + rng.below(8);
        let dims: Vec<u64> = (0..ndim).map(|_| 1 + rng.below(if ndim < 4 { 40 } else { 4 }) as u64).collect();
        let mut order: Vec<usize> = (0..ndim).collect();
        (0..ndim).for_each(|k| order.swap(k, k + rng.below(ndim - k)));
        let (mut strides, mut reach, mut origin) = (vec![0; ndim], 1i64, 0);
        for d in order {
            let stride = reach + rng.below(3) as i64;
            let back = rng.below(3) == 0;
            strides[d] = if back { -stride } else { stride };
            origin += if back { stride * (dims[d] as i64 - 1) } else { 0 };
            reach += stride * (dims[d] as i64 - 1);
        }
        let dtype = *rng.pick(&DType::ALL);
        let (before, shift) = (rng.below(5), rng.below(9));
        if reach < 100_000 && mine(round) {
            Grid::new(dtype, &dims, &strides, origin as usize + before, reach as usize + before, shift)
                .check(true);
        }
    }
}

/// The kind of memory of the view, and of the container, selects where the call runs, and nothing else.
#[test]
fn views_in_memory_of_every_kind() {
    need_gpu!();
    let grid = Grid::interior(DType::F32, [21, 9, 5]);
    let pipeline = lossy("pfpl", DType::F32);
    let mut memory = vec![0x5a; grid.bytes];
    let sample = samples::make(DType::F32, grid.array.dims(), Content::Specials, 3);
    grid.put(&mut memory, &sample.bytes);
    let want = fzgm::compress(&pipeline, &grid.array, &Options::default(), &sample.bytes).unwrap();
    let (_, back) = fzgm::decompress(&want, &Options::default()).unwrap();
    let mut restored = memory.clone();
    grid.put(&mut restored, &back);
    let (mut at, bytes) = (0, grid.bytes);
    assert_eq!(unsafe { (cuda().cuMemAllocManaged)(&mut at, bytes, 1) }, 0);
    let shared = unsafe { std::slice::from_raw_parts_mut(at as *mut u8, bytes) };
    for device in [Device::Auto, options().device] {
        let options = Options { device, ..Options::default() };
        let encoder = Encoder::new(&pipeline, &grid.array, &options).unwrap();
        let decoder = encoder.decoder().unwrap();
        let (mut ews, mut dws) = (encoder.workspace().unwrap(), decoder.workspace().unwrap());
        for kind in 0..6 {
            let mut on_host = memory.clone();
            let on_device = Block::of(&memory);
            shared.copy_from_slice(&memory);
            let view = grid.view([host(&mut on_host), whole(&on_device), host(shared)][kind % 3]);
            let (mut to_host, to_device) = (vec![0; want.len()], Block::new(want.len()));
            let container = [host(&mut to_host), whole(&to_device)][kind / 3];
            let n = unsafe { encoder.compress_view_at(&mut ews, &view, container) };
            assert_eq!(n, Ok(want.len()), "{device} {kind}");
            let made = if kind < 3 { to_host } else { to_device.get() };
            assert!(made == want, "{device} {kind}");
            to_device.put(0, &want);
            let mut kept = want.clone();
            let container = if kind < 3 { host(&mut kept) } else { whole(&to_device) };
            for plan in [true, false] {
                let n = match plan {
                    true => unsafe { decoder.decompress_view_at(&mut dws, container, &view) },
                    false => unsafe { Decoder::decompress_view_once_at(container, &view, &options) },
                };
                assert_eq!(n, Ok(back.len()), "{device} {kind} {plan}");
                let got = [&on_host, &on_device.get(), &shared.to_vec()][kind % 3].clone();
                assert!(got == restored, "{device} {kind} {plan}");
            }
        }
    }
    assert_eq!(unsafe { (cuda().cuMemFree_v2)(at) }, 0);
}

#[test]
fn wrong_views_are_refused() {
    need_gpu!();
    let grid = Grid::interior(DType::F32, [6, 5, 4]);
    let pipeline = lossy("pfpl", DType::F32);
    let (block, scratch) = (Block::of(&grid.random(1)), Block::new(480));
    let view = grid.view(whole(&block));
    let mut dst = vec![0; 4096];
    let cpu = Options { device: Device::Cpu, ..Options::default() };
    let encoder = Encoder::new(&pipeline, &grid.array, &cpu).unwrap();
    let ws = &mut encoder.workspace().unwrap();
    let e = unsafe { encoder.compress_view_at(ws, &view, host(&mut dst)) }.unwrap_err();
    assert!(matches!(e, Error::InvalidArgument { .. }) && e.to_string().contains("src"), "{e}");
    let container = fzgm::compress(&pipeline, &grid.array, &cpu, &vec![0; 480]).unwrap();
    let place = host(&mut container.clone());
    let e = unsafe { Decoder::decompress_view_once_at(place, &view, &cpu) }.unwrap_err();
    assert!(matches!(e, Error::InvalidArgument { .. }) && e.to_string().contains("dst"), "{e}");

    let encoder = Encoder::new(&pipeline, &grid.array, &options()).unwrap();
    let decoder = encoder.decoder().unwrap();
    let (mut ews, mut dws) = (encoder.workspace().unwrap(), decoder.workspace().unwrap());
    let (stream, to) = (TestStream::new(), Block::new(4096));
    let short = scratch.slice(0, 479);
    let there = unsafe { encoder.compress_view_async(&mut ews, &view, short, whole(&to), 0, stream.raw()) };
    let back = unsafe { decoder.decompress_view_async(&mut dws, whole(&to), &view, short, 0, stream.raw()) };
    for refused in [there, back] {
        let e = refused.unwrap_err();
        assert!(matches!(e, Error::InvalidArgument { .. }) && e.to_string().contains("480"), "{e}");
    }
    let other = Grid::interior(DType::F32, [5, 6, 4]);
    let other = other.view(whole(&block));
    let (s, t) = (whole(&scratch), whole(&to));
    for refused in [
        unsafe { encoder.compress_view_at(&mut ews, &other, t) }.map(|_| ()),
        unsafe { decoder.decompress_view_at(&mut dws, t, &other) }.map(|_| ()),
        unsafe { encoder.compress_view_async(&mut ews, &other, s, t, 0, stream.raw()) },
        unsafe { decoder.decompress_view_async(&mut dws, t, &other, s, 0, stream.raw()) },
    ] {
        let e = refused.unwrap_err();
        assert!(matches!(e, Error::PlanMismatch(_)) && e.to_string().contains("[5, 6, 4]"), "{e}");
    }
    assert!(block.get() == grid.random(1));
}

/// Both directions of a strided array on a stream.
struct Views {
    grid: Grid,
    encoder: Encoder,
    decoder: Decoder,
    spaces: (Workspace, Workspace),
    src: Block,
    dst: Block,
    /// At an odd address.
    scratch: Block,
    container: Block,
    results: [Block; 2],
    stream: TestStream,
}

impl Views {
    fn new(grid: Grid, pipeline: &Pipeline, checksum: bool) -> Views {
        let options = Options { checksum_async: checksum, ..options() };
        let encoder = Encoder::new(pipeline, &grid.array, &options).unwrap();
        let decoder = encoder.decoder().unwrap();
        let spaces = (encoder.workspace().unwrap(), decoder.workspace().unwrap());
        Views {
            src: Block::new(grid.bytes),
            dst: Block::new(grid.bytes),
            scratch: Block::new(grid.array.bytes() as usize + 1),
            container: Block::new(encoder.max_compressed_bytes() as usize),
            results: [Block::new(24), Block::new(24)],
            stream: TestStream::new(),
            grid,
            encoder,
            decoder,
            spaces,
        }
    }

    /// Elements are aligned in it, so that they can be copied in tiles, unless rows have no gaps.
    fn scratch(&self) -> DeviceSlice {
        let at = usize::from(self.grid.strides[0] == 1);
        self.scratch.slice(at, self.scratch.bytes - at)
    }

    fn compress(&mut self) {
        let (view, scratch) = (self.grid.view(whole(&self.src)), self.scratch());
        let (to, place) = (whole(&self.container), whole(&self.results[0]).address);
        let ws = &mut self.spaces.0;
        unsafe { self.encoder.compress_view_async(ws, &view, scratch, to, place, self.stream.raw()) }
            .unwrap();
    }

    fn decompress(&mut self, place: u64) {
        let (view, scratch) = (self.grid.view(whole(&self.dst)), self.scratch());
        let (from, ws) = (whole(&self.container), &mut self.spaces.1);
        unsafe { self.decoder.decompress_view_async(ws, from, &view, scratch, place, self.stream.raw()) }
            .unwrap();
    }

    /// Both directions.
    fn both(&mut self) {
        self.compress();
        self.decompress(whole(&self.results[1]).address);
    }

    fn fill(&self, array: &[u8]) {
        let mut memory = self.grid.random(7);
        self.grid.put(&mut memory, array);
        self.src.put(0, &memory);
        self.dst.put(0, &self.grid.random(8));
    }

    /// The results are those of the CPU for the packed array. Returns the container.
    fn expect(&self, array: &[u8]) -> Vec<u8> {
        let options = Options {
            device: Device::Cpu,
            checksum: self.encoder.options().checksum_async,
            ..self.encoder.options().clone()
        };
        let container = fzgm::compress(self.encoder.pipeline(), &self.grid.array, &options, array).unwrap();
        let (_, restored) = fzgm::decompress(&container, &options).unwrap();
        let lengths = [container.len() as u64, restored.len() as u64];
        for (result, bytes) in self.results.iter().zip(lengths) {
            assert_eq!(result.result(), CallResult { bytes, ..CallResult::default() });
        }
        assert!(self.container.first(container.len()) == container, "another container");
        let mut memory = self.grid.random(8);
        self.grid.put(&mut memory, &restored);
        assert!(self.dst.get() == memory, "other elements, or ghost cells are written");
        container
    }
}

#[test]
fn a_graph_of_views_is_replayed_on_changing_data() {
    need_gpu!();
    let cases = [("fast", DType::F32), ("pfpl", DType::F64), ("fz", DType::F32), ("bits", DType::U16)];
    for (k, (name, dtype)) in cases.into_iter().enumerate() {
        if !mine(k) {
            continue;
        }
        let mut views = Views::new(Grid::interior(dtype, [18, 11, 7]), &lossy(name, dtype), k % 2 == 0);
        let stream = TestStream(views.stream.0);
        views.encoder.preload(&mut views.spaces.0, stream.raw()).unwrap();
        views.decoder.preload(&mut views.spaces.1, stream.raw()).unwrap();
        let graph = stream.capture(|| views.both());
        // Random bytes are stored without coding.
        for content in [Content::Walk, Content::Random, Content::Constant, Content::Specials] {
            let sample = samples::make(dtype, views.grid.array.dims(), content, 3);
            views.fill(&sample.bytes);
            graph.launch(&stream);
            stream.wait();
            views.expect(&sample.bytes);
        }
        std::mem::forget(stream);
    }
}

/// A stored array is a success, although no step has work. A failure of any kind leaves the elements.
#[test]
fn elements_are_written_only_after_success() {
    need_gpu!();
    written_only_after_success(Grid::interior(DType::F32, [18, 11, 7]));
    // In tiles.
    written_only_after_success(Grid::new(DType::F32, &[18, 17, 4], &[20, 1, 400], 3, 1600, 0));
}

fn written_only_after_success(grid: Grid) {
    let mut pipeline = Pipeline::new();
    pipeline.add("rze").unwrap();
    let mut views = Views::new(grid, &pipeline, true);
    let array = views.grid.random(11)[..views.grid.array.bytes() as usize].to_vec();
    views.fill(&array);
    views.both();
    views.stream.wait();
    let container = views.expect(&array);
    assert_ne!(&fzgm::pipeline_of(&container).unwrap(), views.encoder.pipeline(), "nothing is stored");

    let walk = samples::make(DType::F32, views.grid.array.dims(), Content::Constant, 3).bytes;
    views.fill(&walk);
    views.both();
    views.stream.wait();
    let container = views.expect(&walk);
    let last = container.len() - 1;
    for (damaged, status) in [
        (0, Status::NotAContainer),
        (9, Status::PlanMismatch),
        (last, Status::Checksum),
        (usize::MAX, Status::Ok),
    ] {
        let mut bytes = container.clone();
        if let Some(byte) = bytes.get_mut(damaged) {
            *byte ^= 0x40;
        }
        for place in [whole(&views.results[1]).address, 0] {
            views.container.put(0, &bytes);
            views.dst.put(0, &views.grid.random(9));
            views.decompress(place);
            views.stream.wait();
            let written = views.dst.get() != views.grid.random(9);
            assert_eq!(written, status == Status::Ok, "byte {damaged}");
            if place != 0 {
                let said = views.results[1].result().status;
                assert_eq!(said, status as i32, "byte {damaged}");
            }
        }
    }
}

/// A failure of a compression is that of the packed array, and the next call with the workspace and the scratch memory succeeds.
#[test]
fn a_failed_compression_of_a_view_can_be_repeated() {
    need_gpu!();
    let mut views = Views::new(Grid::interior(DType::F32, [18, 11, 7]), &lossy("pfpl", DType::F32), false);
    let array = samples::make(DType::F32, views.grid.array.dims(), Content::Walk, 3).bytes;
    views.fill(&array);
    let (view, scratch) = (views.grid.view(whole(&views.src)), whole(&views.scratch));
    let (small, place) = (views.container.slice(0, 100), whole(&views.results[0]).address);
    let (ws, stream) = (&mut views.spaces.0, views.stream.raw());
    unsafe { views.encoder.compress_view_async(ws, &view, scratch, small, place, stream) }.unwrap();
    views.stream.wait();
    assert_eq!(views.results[0].result().status, Status::DstTooSmall as i32);
    views.both();
    views.stream.wait();
    views.expect(&array);
}
