//! The entry points that touch a GPU, with their setup and the expected results.

use crate::common::samples::Sample;
use crate::walk::{Entry, Held, Home, Trial, World};
use fzgm::{
    Array, CallResult, DType, Decoder, DeviceSlice, Encoder, Options, Pipeline, StridedSlice, Workspace,
    device_count, device_info, info_at, pipeline_at,
};
use std::sync::OnceLock;

/// An entry point.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) entry: Entry,
    /// Current contexts of the calling thread.
    pub(crate) homes: &'static [Home],
    /// An ordinary run fails one driver call in this number of calls.
    pub(crate) share: usize,
    /// An ordinary run with gaps also fails each call of an event.
    pub(crate) events: bool,
}

/// All entry points. `once`: including those that do not depend on the preset.
pub(crate) fn all(once: bool) -> Vec<Row> {
    let row = |name, entry: Entry, homes| Row { name, entry, homes, share: 1, events: false };
    let mut all = vec![
        row("compress from the host", compress_host, Home::ALL),
        row("decompress to the host", decompress_host, Home::ALL),
        row("compress on the device", compress_there, &[Home::Own]),
        row("decompress on the device", decompress_there, Home::ALL),
        row("compress on a stream", compress_async, &[Home::None]),
        row("decompress on a stream", decompress_async, &[Home::None]),
    ];
    if once {
        all.extend([
            row("devices", devices, &[Home::None]),
            row("a container in device memory", look, Home::ALL),
            row("a workspace of another plan", another_plan, &[Home::Own]),
            row("calls without preload", unprepared, &[Home::Own]),
            row("strided arrays on the device", strided, &[Home::None]),
            row("strided arrays on a stream", strided_async, &[Home::None]),
            // Other entry points cover most of its driver calls.
            Row { share: 13, events: true, ..row("large copies", large, &[Home::Own]) },
            Row { share: 11, ..row("copies beside kernels", overlapped, &[Home::Own]) },
        ]);
    }
    all
}

fn whole(block: &Held) -> DeviceSlice {
    block.slice(0, block.bytes)
}

fn host(bytes: &mut [u8]) -> DeviceSlice {
    DeviceSlice { address: bytes.as_mut_ptr() as u64, bytes: bytes.len() as u64 }
}

/// Compares device memory with the expected bytes.
fn is(block: &Held, want: &[u8]) {
    assert!(crate::emulator::quietly(|| block.first(want.len())) == want, "other bytes");
}

fn devices(t: &mut Trial<'_>) -> Option<()> {
    assert_eq!(t.call(true, device_count)?, 1);
    assert!(t.call(true, || device_info(0))?.name.contains("fzemu"));
    Some(())
}

fn encoder(t: &mut Trial<'_>, options: &Options) -> Option<(Encoder, Workspace)> {
    let world = t.world;
    let encoder = t.call(true, || Encoder::new(&world.pipeline, &world.array, options))?;
    let ws = t.call(true, || encoder.workspace())?;
    Some((encoder, ws))
}

fn compress_host(t: &mut Trial<'_>) -> Option<()> {
    let world = t.world;
    let (encoder, mut ws) = encoder(t, &world.on_gpu())?;
    let mut dst = vec![0; encoder.max_compressed_bytes() as usize];
    for _ in 0..2 {
        dst.fill(0);
        let n = t.call(true, || encoder.compress(&mut ws, &world.src, &mut dst))?;
        assert!(dst[..n] == world.summed);
    }
    Some(())
}

fn decompress_host(t: &mut Trial<'_>) -> Option<()> {
    let world = t.world;
    let decoder = t.call(true, || Decoder::open(&world.summed, &world.on_gpu()))?;
    let mut ws = t.call(true, || decoder.workspace())?;
    let mut dst = vec![0; world.restored.len()];
    for _ in 0..2 {
        dst.fill(0);
        let n = t.call(true, || decoder.decompress(&mut ws, &world.summed, &mut dst))?;
        assert!(dst[..n] == world.restored);
    }
    Some(())
}

/// The memory selects the device.
fn compress_there(t: &mut Trial<'_>) -> Option<()> {
    let world = t.world;
    let (encoder, mut ws) = encoder(t, &Options::default())?;
    let (src, dst) = (t.block(&world.src), t.block(&vec![0; encoder.max_compressed_bytes() as usize]));
    let n = t.call(true, || unsafe { encoder.compress_at(&mut ws, whole(&src), whole(&dst)) })?;
    assert_eq!(n, world.summed.len());
    is(&dst, &world.summed);
    Some(())
}

/// Device to device, device to host, and host to device.
fn decompress_there(t: &mut Trial<'_>) -> Option<()> {
    let world = t.world;
    let container = t.block(&world.summed);
    let dst = t.block(&vec![0; world.restored.len()]);
    let (encoder, _) = encoder(t, &Options::default())?;
    let decoder = t.call(true, || encoder.decoder())?;
    let mut ws = t.call(true, || decoder.workspace())?;
    t.call(true, || unsafe { decoder.decompress_at(&mut ws, whole(&container), whole(&dst)) })?;
    is(&dst, &world.restored);
    let mut on_host = vec![0; world.restored.len()];
    t.call(true, || unsafe { decoder.decompress_at(&mut ws, whole(&container), host(&mut on_host)) })?;
    assert!(on_host == world.restored);
    let mut summed = world.summed.clone();
    t.call(true, || unsafe { decoder.decompress_at(&mut ws, host(&mut summed), whole(&dst)) })?;
    is(&dst, &world.restored);
    Some(())
}

/// Waits for an asynchronous call and checks its result.
fn passed(t: &Trial<'_>, result: &Held, bytes: usize) {
    t.wait();
    let said = crate::emulator::quietly(|| result.result());
    assert_eq!(said, CallResult { bytes: bytes as u64, ..CallResult::default() });
}

fn compress_async(t: &mut Trial<'_>) -> Option<()> {
    let (world, stream) = (t.world, t.stream());
    let (encoder, mut ws) = encoder(t, &Options { checksum_async: true, ..world.on_gpu() })?;
    t.call(true, || encoder.preload(&mut ws, stream))?;
    let (src, result) = (t.block(&world.src), t.block(&[0; 24]));
    let dst = t.block(&vec![0; encoder.max_compressed_bytes() as usize]);
    for _ in 0..2 {
        let place = whole(&result).address;
        t.call(false, || unsafe {
            encoder.compress_async(&mut ws, whole(&src), whole(&dst), place, stream)
        })?;
        passed(t, &result, world.summed.len());
        is(&dst, &world.summed);
    }
    Some(())
}

fn decompress_async(t: &mut Trial<'_>) -> Option<()> {
    let (world, stream) = (t.world, t.stream());
    let (container, result) = (t.block(&world.plain), t.block(&[0; 24]));
    let dst = t.block(&vec![0; world.restored.len()]);
    let decoder = t.call(true, || Decoder::open(&world.plain, &world.on_gpu()))?;
    let mut ws = t.call(true, || decoder.workspace())?;
    t.call(true, || decoder.preload(&mut ws, stream))?;
    for _ in 0..2 {
        let place = whole(&result).address;
        t.call(false, || unsafe {
            decoder.decompress_async(&mut ws, whole(&container), whole(&dst), place, stream)
        })?;
        passed(t, &result, world.restored.len());
        is(&dst, &world.restored);
    }
    Some(())
}

/// Functions that copy a container from the device to read its header.
fn look(t: &mut Trial<'_>) -> Option<()> {
    let world = t.world;
    let container = t.block(&world.summed);
    let info = t.call(true, || unsafe { info_at(whole(&container)) })?;
    assert_eq!(info.array, world.array);
    t.call(true, || unsafe { pipeline_at(whole(&container)) })?;
    let decoder = t.call(true, || unsafe { Decoder::open_at(whole(&container), &Options::default()) })?;
    let (mut ws, mut dst) = (t.call(true, || decoder.workspace())?, vec![0; world.restored.len()]);
    t.call(true, || unsafe { decoder.decompress_at(&mut ws, whole(&container), host(&mut dst)) })?;
    assert!(dst == world.restored);
    Some(())
}

/// The workspace serves an encoder, a decoder, and another context in turn.
fn another_plan(t: &mut Trial<'_>) -> Option<()> {
    let (world, stream) = (t.world, t.stream());
    let (encoder, mut ws) = encoder(t, &world.on_gpu())?;
    let decoder = t.call(true, || encoder.decoder())?;
    let (mut container, mut dst) =
        (vec![0; encoder.max_compressed_bytes() as usize], vec![0; world.restored.len()]);
    let n = t.call(true, || encoder.compress(&mut ws, &world.src, &mut container))?;
    t.call(true, || decoder.decompress(&mut ws, &container[..n], &mut dst))?;
    assert!(dst == world.restored);
    t.call(true, || encoder.preload(&mut ws, stream))?;
    let n = t.call(true, || encoder.compress(&mut ws, &world.src, &mut container))?;
    assert!(container[..n] == world.summed);
    Some(())
}

/// The first asynchronous call prepares the workspace.
fn unprepared(t: &mut Trial<'_>) -> Option<()> {
    let (world, stream) = (t.world, t.stream());
    let (encoder, mut ws) = encoder(t, &Options::default())?;
    let decoder = t.call(true, || encoder.decoder())?;
    let mut decoding = t.call(true, || decoder.workspace())?;
    let (src, results) = (t.block(&world.src), [t.block(&[0; 24]), t.block(&[0; 24])]);
    let (dst, back) =
        (t.block(&vec![0; encoder.max_compressed_bytes() as usize]), t.block(&vec![0; world.restored.len()]));
    let [first, second] = [whole(&results[0]).address, whole(&results[1]).address];
    t.call(false, || unsafe { encoder.compress_async(&mut ws, whole(&src), whole(&dst), first, stream) })?;
    t.call(false, || unsafe {
        decoder.decompress_async(&mut decoding, whole(&dst), whole(&back), second, stream)
    })?;
    passed(t, &results[0], world.plain.len());
    passed(t, &results[1], world.restored.len());
    is(&dst, &world.plain);
    is(&back, &world.restored);
    Some(())
}

/// Every second element of a block that is twice as long as the array.
fn view(block: &Held, array: &Array) -> StridedSlice {
    StridedSlice::new(array, whole(block).address, &[2]).unwrap()
}

/// A block with the elements of the array at the places of [`view`].
fn spread(t: &Trial<'_>, array: &Array, bytes: &[u8]) -> Held {
    t.block(&spread_bytes(array, bytes))
}

fn spread_bytes(array: &Array, bytes: &[u8]) -> Vec<u8> {
    let width = array.dtype().bytes() as usize;
    bytes.chunks(width).flat_map(|element| [element, &[0x5a; 8][..width]].concat()).collect()
}

fn strided(t: &mut Trial<'_>) -> Option<()> {
    let world = t.world;
    let (encoder, mut ws) = encoder(t, &Options::default())?;
    let src = spread(t, &world.array, &world.src);
    let container = t.block(&vec![0; encoder.max_compressed_bytes() as usize]);
    let from = view(&src, &world.array);
    let n = t.call(true, || unsafe { encoder.compress_view_at(&mut ws, &from, whole(&container)) })?;
    assert_eq!(n, world.summed.len());
    is(&container, &world.summed);
    let decoder = t.call(true, || encoder.decoder())?;
    let mut ws = t.call(true, || decoder.workspace())?;
    let made = container.slice(0, n);
    t.call(true, || unsafe { decoder.decompress_view_at(&mut ws, made, &from) })?;
    is(&src, &spread_bytes(&world.array, &world.restored));
    let once = |made| unsafe { Decoder::decompress_view_once_at(made, &from, &Options::default()) };
    t.call(true, || once(made))?;
    is(&src, &spread_bytes(&world.array, &world.restored));
    Some(())
}

fn strided_async(t: &mut Trial<'_>) -> Option<()> {
    let (world, stream) = (t.world, t.stream());
    let (encoder, mut ws) = encoder(t, &world.on_gpu())?;
    let decoder = t.call(true, || encoder.decoder())?;
    let mut decoding = t.call(true, || decoder.workspace())?;
    t.call(true, || encoder.preload(&mut ws, stream))?;
    t.call(true, || decoder.preload(&mut decoding, stream))?;
    let (src, scratch) = (spread(t, &world.array, &world.src), t.block(&vec![0; world.src.len()]));
    let container = t.block(&vec![0; encoder.max_compressed_bytes() as usize]);
    let results = [t.block(&[0; 24]), t.block(&[0; 24])];
    let [first, second] = [whole(&results[0]).address, whole(&results[1]).address];
    let (grid, packed, made) = (view(&src, &world.array), whole(&scratch), whole(&container));
    t.call(false, || unsafe { encoder.compress_view_async(&mut ws, &grid, packed, made, first, stream) })?;
    t.call(false, || unsafe {
        decoder.decompress_view_async(&mut decoding, made, &grid, packed, second, stream)
    })?;
    passed(t, &results[0], world.plain.len());
    passed(t, &results[1], world.restored.len());
    is(&container, &world.plain);
    is(&src, &spread_bytes(&world.array, &world.restored));
    Some(())
}

/// Copies through the two pinned buffers.
fn large(t: &mut Trial<'_>) -> Option<()> {
    static LARGE: OnceLock<World> = OnceLock::new();
    let world = LARGE.get_or_init(|| {
        let n = (12 << 20) + 77;
        let mut pipeline = Pipeline::new();
        pipeline.add("stored").unwrap();
        let bytes = (0..n).map(|i: u64| ((i * i) >> 7) as u8).collect();
        let array = Array::new(DType::U8, &[n]).unwrap();
        World::new(pipeline, Sample { name: "large".into(), array, bytes })
    });
    t.world = world;
    compress_host(t)?;
    decompress_host(t)
}

/// Arrays in pinned memory whose copies overlap with kernels.
fn overlapped(t: &mut Trial<'_>) -> Option<()> {
    static LARGE: OnceLock<World> = OnceLock::new();
    const N: u64 = 2_200_000;
    let world = LARGE.get_or_init(|| {
        let mut pipeline = fzgm::preset("fast", DType::F32).unwrap();
        pipeline.set_everywhere("mode", |args| args.set_text("mode", "abs")).unwrap();
        pipeline.set_everywhere("error_bound", |args| args.set_real("error_bound", 1e-3)).unwrap();
        let value = |i: u64| if i / 30_000 % 9 == 3 { (i as f32 * 1e-3).sin() } else { 0.5 };
        let bytes = (0..N).flat_map(|i| value(i).to_le_bytes()).collect();
        let array = Array::new(DType::F32, &[N]).unwrap();
        World::new(pipeline, Sample { name: "overlapped".into(), array, bytes })
    });
    fzgm::overlap_from(world.src.len());
    t.world = world;
    let (encoder, mut ws) = encoder(t, &world.on_gpu())?;
    let decoder = t.call(true, || encoder.decoder())?;
    let mut decoding = t.call(true, || decoder.workspace())?;
    let most = encoder.max_compressed_bytes() as usize;
    let [src, container, back] =
        [&world.src[..], &vec![0; most], &vec![0; world.restored.len()]].map(|bytes| t.pinned(bytes));
    let made = container.slice(most);
    let n = t.call(true, || unsafe { encoder.compress_at(&mut ws, src.slice(world.src.len()), made) })?;
    assert!(container.front(n) == world.summed);
    let into = back.slice(world.restored.len());
    t.call(true, || unsafe { decoder.decompress_at(&mut decoding, container.slice(n), into) })?;
    assert!(back.front(world.restored.len()) == world.restored);
    Some(())
}
