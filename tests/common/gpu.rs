//! A GPU for tests, or the emulator of tests/emu in its place: memory, streams and graphs by the driver's own calls.
//!
//! `FZGM_REQUIRE_GPU=1` makes every test that compresses do the same on device 0; without it nothing here runs.
// Calls of the driver as its manual has them, with places for results that are live: one reason for all.
#![allow(unsafe_code, non_snake_case, clippy::undocumented_unsafe_blocks)]

use super::samples::Sample;
use fzgm::{CallResult, Decoder, Device, DeviceSlice, Encoder, Options, Pipeline, Setting, Stream};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write;
use std::sync::OnceLock;

/// The device that tests use besides the CPU.
pub fn device() -> Option<Device> {
    std::env::var_os("FZGM_REQUIRE_GPU").is_some_and(|v| v != "0").then_some(Device::Cuda(0))
}

/// True if the device of the tests is the emulator.
pub fn is_emulated() -> bool {
    device().is_some() && !cuda().is_real()
}

/// True if this run includes case `k` of a list of similar cases. On the emulator, forward order includes all
/// cases. The sanitizers and numbered orders include one case in four; reverse order and late streams include
/// two others. With `FZGM_LONG` the sanitizers include every second case, and reverse order and late streams
/// three in four. On a GPU `FZGM_PART=i/n` includes every n-th case from the i-th on, so that slow tools can run
/// side by side.
pub fn mine(k: usize) -> bool {
    let is = |name: &str| std::env::var_os(name).is_some();
    if !is_emulated() {
        let Ok(part) = std::env::var("FZGM_PART") else { return true };
        let numbers = part.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        let (i, n): (usize, usize) = numbers.expect("FZGM_PART is a number below n, a slash and n");
        return k % n == i;
    }
    let long = is("FZGM_LONG");
    match std::env::var("FZ_EMU_ORDER").as_deref() {
        _ if is("ASAN_OPTIONS") => k % if long { 2 } else { 4 } == 1,
        _ if is("FZ_EMU_DEFER") => k % 4 > 1 || long && k % 4 == 0,
        Ok("rev") => k % 4 > 1 || long && k % 4 == 0,
        Ok("fwd") | Err(_) => true,
        Ok(_) => k % 4 == 1,
    }
}

type Handle = usize;

macro_rules! table {
    ($($call:ident($($arg:ty),*);)*) => {
        pub struct Cuda {
            library: usize,
            $(pub $call: unsafe extern "C" fn($($arg),*) -> c_int,)*
        }
        impl Cuda {
            unsafe fn load(library: *mut c_void) -> Cuda {
                Cuda { library: library as usize, $($call: {
                    let name = CStr::from_bytes_with_nul(concat!(stringify!($call), "\0").as_bytes()).unwrap();
                    let f = unsafe { libc::dlsym(library, name.as_ptr()) };
                    assert!(!f.is_null(), "the driver lacks {}", stringify!($call));
                    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> c_int>(f) }
                },)* }
            }
        }
    };
}

table! {
    cuInit(u32);
    cuDeviceGet(*mut c_int, c_int);
    cuDevicePrimaryCtxRetain(*mut Handle, c_int);
    cuCtxSetCurrent(Handle);
    cuCtxGetCurrent(*mut Handle);
    cuMemAlloc_v2(*mut Handle, usize);
    cuMemFree_v2(Handle);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAllocManaged(*mut Handle, usize, u32);
    cuMemHostAlloc(*mut *mut c_void, usize, u32);
    cuMemFreeHost(*mut c_void);
    cuMemHostRegister_v2(*mut c_void, usize, u32);
    cuMemHostUnregister(*mut c_void);
    cuMemcpyHtoD_v2(Handle, *const c_void, usize);
    cuMemcpyDtoH_v2(*mut c_void, Handle, usize);
    cuMemcpyDtoHAsync_v2(*mut c_void, Handle, usize, Handle);
    cuMemsetD8_v2(Handle, u8, usize);
    cuMemsetD8Async(Handle, u8, usize, Handle);
    cuStreamCreate(*mut Handle, u32);
    cuStreamDestroy_v2(Handle);
    cuStreamSynchronize(Handle);
    cuStreamBeginCapture_v2(Handle, c_int);
    cuStreamEndCapture(Handle, *mut Handle);
    cuGraphInstantiateWithFlags(*mut Handle, Handle, u64);
    cuGraphLaunch(Handle, Handle);
    cuGraphExecDestroy(Handle);
    cuGraphDestroy(Handle);
}

/// The driver, with the primary context of device 0 current in the calling thread.
pub fn cuda() -> &'static Cuda {
    let (cuda, context) = opened();
    assert_eq!(unsafe { (cuda.cuCtxSetCurrent)(*context) }, 0);
    cuda
}

/// The driver, with the context of the calling thread, if any.
pub fn cuda_without_context() -> &'static Cuda {
    &opened().0
}

fn opened() -> &'static (Cuda, Handle) {
    static CUDA: OnceLock<(Cuda, Handle)> = OnceLock::new();
    CUDA.get_or_init(|| unsafe {
        let library = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null(), "FZGM_REQUIRE_GPU is set and there is no libcuda.so.1");
        let cuda = Cuda::load(library);
        let (mut device, mut context) = (0, 0);
        assert_eq!((cuda.cuInit)(0), 0);
        assert_eq!((cuda.cuDeviceGet)(&mut device, 0), 0);
        assert_eq!((cuda.cuDevicePrimaryCtxRetain)(&mut context, device), 0);
        (cuda, context)
    })
}

impl Cuda {
    /// Bytes of free device memory.
    pub fn free_bytes(&self) -> u64 {
        let (mut free, mut total) = (0, 0);
        assert_eq!(unsafe { (self.cuMemGetInfo_v2)(&mut free, &mut total) }, 0);
        free as u64
    }

    /// True if this is a real device. Tests that would run for minutes on the emulator run only there.
    pub fn is_real(&self) -> bool {
        self.count("launch").is_none()
    }

    /// A counter of the emulator; `None` on a real device.
    pub fn count(&self, what: &str) -> Option<u64> {
        let f = unsafe { libc::dlsym(self.library as *mut c_void, c"fzemu_count".as_ptr()) };
        let what = std::ffi::CString::new(what).unwrap();
        (!f.is_null()).then(|| unsafe {
            let f = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_char) -> u64>(f);
            f(what.as_ptr())
        })
    }
}

/// Pinned memory of the host.
pub struct PinnedBytes {
    at: *mut c_void,
    bytes: usize,
}

impl PinnedBytes {
    /// Filled with 0xee.
    pub fn new(bytes: usize) -> PinnedBytes {
        let mut at = std::ptr::null_mut();
        assert_eq!(
            unsafe { (cuda().cuMemHostAlloc)(&mut at, bytes, 0) },
            0,
            "{bytes} bytes of pinned memory"
        );
        unsafe { at.cast::<u8>().write_bytes(0xee, bytes) };
        PinnedBytes { at, bytes }
    }

    pub fn of(bytes: &[u8]) -> PinnedBytes {
        let mut pinned = PinnedBytes::new(bytes.len());
        pinned.bytes().copy_from_slice(bytes);
        pinned
    }

    pub fn bytes(&mut self) -> &mut [u8] {
        unsafe { std::slice::from_raw_parts_mut(self.at.cast(), self.bytes) }
    }

    /// The first `n` bytes.
    pub fn front(&self, n: usize) -> &[u8] {
        assert!(n <= self.bytes);
        unsafe { std::slice::from_raw_parts(self.at.cast(), n) }
    }

    /// Copies a block to the front, as an operation of the NULL stream.
    pub fn receive(&self, block: &Block) {
        assert!(block.bytes <= self.bytes);
        assert_eq!(unsafe { (cuda().cuMemcpyDtoHAsync_v2)(self.at, block.at, block.bytes, 0) }, 0);
    }

    pub fn slice(&self, bytes: usize) -> DeviceSlice {
        assert!(bytes <= self.bytes);
        DeviceSlice { address: self.at as u64, bytes: bytes as u64 }
    }
}

impl Drop for PinnedBytes {
    fn drop(&mut self) {
        unsafe { (cuda().cuMemFreeHost)(self.at) };
    }
}

/// A part of the memory of the program, pinned while this lives.
pub struct Registered {
    at: *mut c_void,
}

impl Registered {
    pub fn new(bytes: &[u8]) -> Registered {
        let at = bytes.as_ptr().cast_mut().cast();
        assert_eq!(unsafe { (cuda().cuMemHostRegister_v2)(at, bytes.len(), 0) }, 0);
        Registered { at }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        unsafe { (cuda().cuMemHostUnregister)(self.at) };
    }
}

/// Device memory.
pub struct Block {
    at: Handle,
    pub bytes: usize,
}

impl Block {
    /// Filled with 0xee.
    pub fn new(bytes: usize) -> Block {
        let mut at = 0;
        assert_eq!(
            unsafe { (cuda().cuMemAlloc_v2)(&mut at, bytes.max(1)) },
            0,
            "{bytes} bytes of device memory"
        );
        assert_eq!(unsafe { (cuda().cuMemsetD8_v2)(at, 0xee, bytes.max(1)) }, 0);
        assert_eq!(unsafe { (cuda().cuStreamSynchronize)(0) }, 0);
        // The host does not wait for it, and streams that do not wait for the NULL stream would not either.
        assert_eq!(unsafe { (cuda().cuStreamSynchronize)(0) }, 0);
        Block { at, bytes }
    }

    pub fn of(bytes: &[u8]) -> Block {
        let block = Block::new(bytes.len());
        block.put(0, bytes);
        block
    }

    /// The call returns when the bytes are on their way: streams that do not wait for the NULL stream could run before they
    /// arrive.
    pub fn put(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.bytes);
        if !bytes.is_empty() {
            assert_eq!(
                unsafe { (cuda().cuMemcpyHtoD_v2)(self.at + at, bytes.as_ptr().cast(), bytes.len()) },
                0
            );
            assert_eq!(unsafe { (cuda().cuStreamSynchronize)(0) }, 0);
        }
    }

    pub fn get(&self) -> Vec<u8> {
        self.first(self.bytes)
    }

    /// The first `bytes` bytes.
    pub fn first(&self, bytes: usize) -> Vec<u8> {
        let mut out = vec![0; bytes];
        self.read(&mut out);
        out
    }

    /// Copies from its start.
    pub fn read(&self, to: &mut [u8]) {
        assert!(to.len() <= self.bytes);
        if !to.is_empty() {
            assert_eq!(unsafe { (cuda().cuMemcpyDtoH_v2)(to.as_mut_ptr().cast(), self.at, to.len()) }, 0);
        }
    }

    /// From `at` on, `bytes` long.
    pub fn slice(&self, at: usize, bytes: usize) -> DeviceSlice {
        assert!(at + bytes <= self.bytes);
        DeviceSlice { address: (self.at + at) as u64, bytes: bytes as u64 }
    }

    pub fn result(&self) -> CallResult {
        bytemuck::pod_read_unaligned(&self.get()[..size_of::<CallResult>()])
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        unsafe { (cuda().cuMemFree_v2)(self.at) };
    }
}

/// A stream of the test's own.
pub struct TestStream(pub Handle);

impl TestStream {
    pub fn new() -> TestStream {
        let mut s = 0;
        assert_eq!(unsafe { (cuda().cuStreamCreate)(&mut s, 1) }, 0);
        TestStream(s)
    }

    pub fn raw(&self) -> Stream {
        Stream::from_raw(self.0)
    }

    pub fn wait(&self) {
        assert_eq!(unsafe { (cuda().cuStreamSynchronize)(self.0) }, 0);
    }

    /// The work that `f` puts on the stream, as a graph to be launched again and again.
    pub fn capture(&self, f: impl FnOnce()) -> Graph {
        let (mut graph, mut exec) = (0, 0);
        // 1: thread-local, so that tests beside this one may allocate.
        assert_eq!(unsafe { (cuda().cuStreamBeginCapture_v2)(self.0, 1) }, 0);
        f();
        assert_eq!(unsafe { (cuda().cuStreamEndCapture)(self.0, &mut graph) }, 0);
        assert_eq!(unsafe { (cuda().cuGraphInstantiateWithFlags)(&mut exec, graph, 0) }, 0);
        Graph { graph, exec }
    }
}

impl Drop for TestStream {
    fn drop(&mut self) {
        unsafe { (cuda().cuStreamDestroy_v2)(self.0) };
    }
}

pub struct Graph {
    graph: Handle,
    exec: Handle,
}

impl Graph {
    pub fn launch(&self, stream: &TestStream) {
        assert_eq!(unsafe { (cuda().cuGraphLaunch)(self.exec, stream.0) }, 0);
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        unsafe {
            (cuda().cuGraphExecDestroy)(self.exec);
            (cuda().cuGraphDestroy)(self.graph);
        }
    }
}

/// The device runs one array in this number: 1 with `FZGM_LONG` and on a GPU, else `emulated`.
fn share(emulated: u32) -> u32 {
    let given = std::env::var("FZGM_SHARE").ok().map(|n| n.parse().unwrap());
    let usual = if cuda().is_real() || std::env::var_os("FZGM_LONG").is_some() { 1 } else { emulated };
    given.unwrap_or(usual)
}

/// True if a slow device runs case `k` of a long list of similar cases: it runs a few of them.
pub fn shared(k: usize) -> bool {
    device().is_some() && k % (share(4) as usize).pow(2) == 0
}

/// Compresses and decompresses the array on the device, in blocking calls from host memory and in asynchronous calls
/// from and to odd addresses in device memory, with chains and without; panics where bytes differ from those of the CPU.
pub fn agrees(
    pipeline: &Pipeline,
    sample: &Sample,
    options: &Options,
    (container, restored): (&[u8], &[u8]),
) {
    let Some(device) = device() else { return };
    // The emulator is slow: it runs arrays of up to 64 KiB, and one in 16 of them. The checksum of the container selects
    // the array, so every run selects the same arrays. With FZGM_LONG the emulator runs all of them. FZGM_SHARE=n selects
    // one array in n, for sanitizers on a GPU.
    let small = sample.bytes.len() <= 1 << 16;
    let share = share(16);
    if crc32fast::hash(container) % share != 0 || !(small || share == 1 && cuda().is_real()) {
        return;
    }
    if std::env::var_os("FZGM_SHARE").is_some() {
        // How many there were: a share of few may be none.
        let _ = std::io::stderr().write_all(format!("ON THE DEVICE {}\n", sample.name).as_bytes());
    }
    let encoder = Encoder::new(pipeline, &sample.array, &Options { device, ..options.clone() })
        .unwrap_or_else(|e| panic!("{}: on the device: {e}", sample.name));
    blocking(&encoder, sample, container, restored);
    agrees_at(pipeline, sample, options, (container, restored), [1; 3]);
}

/// The asynchronous calls alone, with the array, the container and the restored array at these places behind aligned addresses.
pub fn agrees_at(
    pipeline: &Pipeline,
    sample: &Sample,
    options: &Options,
    made: (&[u8], &[u8]),
    places: [usize; 3],
) {
    // Of one stage there are no chains.
    for &fuse in if pipeline.nodes().len() == 1 { &[true][..] } else { &[true, false] } {
        asynchronous(pipeline, sample, &Options { fuse, ..options.clone() }, made, places);
    }
}

fn differ(a: &[u8], b: &[u8]) -> String {
    let at = a.iter().zip(b).position(|(x, y)| x != y);
    format!("{} and {} bytes, first difference at {at:?}", a.len(), b.len())
}

fn blocking(encoder: &Encoder, sample: &Sample, container: &[u8], restored: &[u8]) {
    let mut dst = vec![0xee; encoder.max_compressed_bytes() as usize];
    let mut ws = encoder.workspace().unwrap();
    let n =
        encoder.compress(&mut ws, &sample.bytes, &mut dst).unwrap_or_else(|e| panic!("{}: {e}", sample.name));
    assert!(
        dst[..n] == *container,
        "{}: the device writes other bytes: {}",
        sample.name,
        differ(&dst[..n], container)
    );
    let (_, bytes) = fzgm::decompress(container, encoder.options()).unwrap();
    assert!(
        bytes == restored,
        "{}: the device restores other bytes: {}",
        sample.name,
        differ(&bytes, restored)
    );
}

fn asynchronous(
    pipeline: &Pipeline,
    sample: &Sample,
    options: &Options,
    (container, restored): (&[u8], &[u8]),
    [from, at, back]: [usize; 3],
) {
    // The same form as the blocking calls write.
    let options = Options { device: device().unwrap(), checksum_async: options.checksum, ..options.clone() };
    let encoder = Encoder::new(pipeline, &sample.array, &options)
        .unwrap_or_else(|e| panic!("{}: on the device: {e}", sample.name));
    let planned = encoder.decoder().unwrap();
    let mut ews = encoder.workspace().unwrap();
    let stream = TestStream::new();
    let src = Block::new(from + sample.bytes.len());
    src.put(from, &sample.bytes);
    let room = container.len();
    let dst = Block::new(at + room + 8);
    let result = Block::new(24);
    unsafe {
        let (src, dst) = (src.slice(from, sample.bytes.len()), dst.slice(at, room));
        encoder.compress_async(&mut ews, src, dst, result.slice(0, 24).address, stream.raw()).unwrap();
    }
    stream.wait();
    let report = result.result();
    if report.status == fzgm::Status::OutlierCapacity as i32 {
        // Asynchronous calls do not plan again; the container with longer lists is the same.
        assert!(report.needed > 0 && may_overflow(pipeline), "{}: {report:?}", sample.name);
        return;
    }
    assert_eq!((report.status, report.bytes), (0, container.len() as u64), "{}: {report:?}", sample.name);
    untouched_around(&dst.get(), at, container, &format!("{}, fuse {}", sample.name, options.fuse));
    // The decoder of the encoder, and one that was opened from the container.
    for decoder in [planned, Decoder::open(container, &options).unwrap()] {
        // More room than the container has: its length is in its header.
        restores(&decoder, dst.slice(at, room + 8), sample, restored, back);
    }
}

/// True if some lists have less room than an array can need.
fn may_overflow(pipeline: &Pipeline) -> bool {
    let mut settings = pipeline.nodes().iter().flat_map(|n| n.args().iter());
    settings.any(|(param, value)| param.name == "outlier_capacity" && !matches!(value, Setting::Real(1.0)))
}

/// At `at` lie these bytes, and around them those of the block.
fn untouched_around(block: &[u8], at: usize, want: &[u8], what: &str) {
    let got = &block[at..at + want.len()];
    assert!(got == want, "{what}: the asynchronous call has other bytes: {}", differ(got, want));
    let mut around = block[..at].iter().chain(&block[at + want.len()..]);
    assert!(around.all(|&b| b == 0xee), "{what}: bytes around the result are touched");
}

/// Into a place between guards.
fn restores(decoder: &Decoder, container: DeviceSlice, sample: &Sample, restored: &[u8], at: usize) {
    let bytes = decoder.array().bytes() as usize;
    let (block, result, stream) = (Block::new(at + bytes + 16), Block::new(24), TestStream::new());
    let mut ws = decoder.workspace().unwrap();
    let (to, place) = (block.slice(at, bytes), result.slice(0, 24).address);
    unsafe { decoder.decompress_async(&mut ws, container, to, place, stream.raw()) }
        .unwrap_or_else(|e| panic!("{}: {e}", sample.name));
    stream.wait();
    let report = result.result();
    assert_eq!((report.status, report.bytes), (0, bytes as u64), "{}: {report:?}", sample.name);
    untouched_around(
        &block.get(),
        at,
        restored,
        &format!("{}, fuse {}", sample.name, decoder.options().fuse),
    );
}
