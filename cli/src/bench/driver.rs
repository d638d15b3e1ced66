//! The functions of the CUDA driver that the benchmark itself calls: memory, a stream, device times, and graphs.
//!
//! Types and signatures come from `cudarc`, but none of its functions is called: they panic without a driver, and they return an
//! enum, which cannot hold the error codes of a newer driver. The caller must call [`fzgm::device_info`] first, which starts the
//! driver.
#![allow(unsafe_code)]

use cudarc::driver::sys::{self, CUcontext, CUdeviceptr, CUevent, CUgraphExec, CUresult, CUstream};
use fzgm::{CallResult, DeviceSlice, Error, Result};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

/// The status that a driver function returns.
type Code = c_int;
/// The address of a function.
type Address = unsafe extern "C" fn();

const _: () = assert!(size_of::<Code>() == size_of::<CUresult>());

/// The type of a function that `cudarc` declares.
trait Declaration {
    /// The C function with the same parameters and an integer as result.
    type Call;

    /// # Safety
    /// The declaration `self` must describe the function at `address`.
    unsafe fn at(self, address: Address) -> Self::Call;
}

macro_rules! declarations {
    ($($($parameter:ident)*;)*) => {$(
        impl<$($parameter),*> Declaration for unsafe fn($($parameter),*) -> CUresult {
            type Call = unsafe extern "C" fn($($parameter),*) -> Code;

            unsafe fn at(self, address: Address) -> Self::Call {
                // SAFETY: the caller guarantees the parameters; `Code` has the size of `CUresult`.
                unsafe { std::mem::transmute::<Address, Self::Call>(address) }
            }
        }
    )*};
}

declarations! {
    A;
    A B;
    A B C;
    A B C D;
}

/// Calls a driver function. The first call looks up its address.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        static FOUND: OnceLock<Option<Address>> = OnceLock::new();
        let declaration: unsafe fn($(call!(_ $argument)),*) -> _ = sys::$function;
        match FOUND.get_or_init(|| find(concat!(stringify!($function), "\0"))) {
            Some(address) => check(stringify!($function), declaration.at(*address)($($argument),*)),
            None => Err(Error::NoDevice(
                concat!("the driver has no function ", stringify!($function), "; update the NVIDIA driver").into(),
            )),
        }
    }};
    (_ $argument:expr) => { _ };
}

fn find(name: &str) -> Option<Address> {
    /// The name that the library opens, so that both use the same driver.
    const NAME: &str = "libcuda.so.1";
    static DRIVER: OnceLock<Option<Library>> = OnceLock::new();
    // SAFETY: the library has loaded the driver, and it is never unloaded.
    let driver = DRIVER.get_or_init(|| unsafe { Library::new(NAME) }.ok()).as_ref()?;
    // SAFETY: the symbol is a function, and callers use it only with its declared signature.
    unsafe { driver.get::<Address>(name.as_bytes()) }.ok().map(|address| *address)
}

fn check(call: &'static str, code: Code) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let mut text = null();
    if let Some(address) = find("cuGetErrorString\0") {
        // SAFETY: the signature is that of cuGetErrorString, with an integer for the enum, because a newer driver has codes that
        // the enum lacks. `text` is valid for the call.
        unsafe {
            let get = std::mem::transmute::<Address, unsafe extern "C" fn(Code, *mut *const c_char) -> Code>(
                address,
            );
            get(code, &mut text);
        }
    }
    let text = match text.is_null() {
        true => "the driver has no name for it".into(),
        // SAFETY: the driver returns a string with a terminating zero and never frees it.
        false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
    };
    Err(Error::Device { call, code, text })
}

/// Converts the driver's error for exhausted memory to `OutOfMemory` with the number of requested bytes.
fn out_of(bytes: u64) -> impl Fn(Error) -> Error {
    const OUT_OF_MEMORY: Code = CUresult::CUDA_ERROR_OUT_OF_MEMORY as Code;
    move |e| match e {
        Error::Device { code: OUT_OF_MEMORY, .. } => Error::OutOfMemory(bytes),
        e => e,
    }
}

/// A handle of the driver, which is freed on drop.
struct Owned<T: Copy> {
    handle: T,
    free: fn(T),
}

impl<T: Copy> Drop for Owned<T> {
    fn drop(&mut self) {
        (self.free)(self.handle);
    }
}

/// Makes the primary context of a device current in this thread. The context is never released.
pub(super) fn enter(index: u32) -> Result<()> {
    let (mut device, mut context): (c_int, CUcontext) = (0, null_mut());
    // SAFETY: the places for results are valid for the calls; the context is never released.
    unsafe {
        call!(cuDeviceGet(&mut device, index as c_int))?;
        call!(cuDevicePrimaryCtxRetain(&mut context, device))?;
        call!(cuCtxSetCurrent(context))
    }
}

/// A stream that synchronizes with the NULL stream. Dropping it waits for all work on it.
pub(super) struct Stream(Owned<CUstream>);

impl Stream {
    pub(super) fn new() -> Result<Stream> {
        let mut handle = null_mut();
        // SAFETY: the place for the result is valid for the call.
        unsafe { call!(cuStreamCreate(&mut handle, sys::CUstream_flags::CU_STREAM_DEFAULT as _)) }?;
        let free = |handle| {
            // SAFETY: the handle was created above, and nothing uses it afterwards.
            let _ = unsafe { call!(cuStreamSynchronize(handle)) };
            // SAFETY: as before.
            let _ = unsafe { call!(cuStreamDestroy_v2(handle)) };
        };
        Ok(Stream(Owned { handle, free }))
    }

    /// The stream as calls of the library accept it.
    pub(super) fn get(&self) -> fzgm::Stream {
        fzgm::Stream::from_raw(self.0.handle as usize)
    }

    pub(super) fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream exists until `self` is dropped.
        unsafe { call!(cuStreamSynchronize(self.0.handle)) }
    }

    /// Enqueues `calls` between two events and returns the device time between the events in seconds.
    pub(super) fn time(&self, calls: impl FnOnce() -> Result<()>) -> Result<f64> {
        let [start, end] = [Event::new()?, Event::new()?];
        let mut milliseconds = 0.0;
        // SAFETY: the stream, the events, and the place for the result are valid until the calls return.
        unsafe {
            call!(cuEventRecord(start.0.handle, self.0.handle))?;
            calls()?;
            call!(cuEventRecord(end.0.handle, self.0.handle))?;
            call!(cuEventSynchronize(end.0.handle))?;
            call!(cuEventElapsedTime(&mut milliseconds, start.0.handle, end.0.handle))?;
        }
        Ok(f64::from(milliseconds) / 1e3)
    }

    /// Captures the work that `calls` enqueues as a graph, without running it.
    pub(super) fn capture(&self, calls: impl FnOnce() -> Result<()>) -> Result<Graph> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        let (mut graph, mut handle) = (null_mut(), null_mut());
        // SAFETY: the stream and the places for results are valid until the calls return; the graph is destroyed once.
        unsafe {
            call!(cuStreamBeginCapture_v2(self.0.handle, mode))?;
            let recorded = calls();
            // The capture must end even if `calls` failed: otherwise the stream remains unusable.
            call!(cuStreamEndCapture(self.0.handle, &mut graph))?;
            let made = recorded.and_then(|()| call!(cuGraphInstantiateWithFlags(&mut handle, graph, 0)));
            let _ = call!(cuGraphDestroy(graph));
            made?;
        }
        let free = |handle| {
            // SAFETY: the handle was created above, and nothing uses it afterwards.
            let _ = unsafe { call!(cuGraphExecDestroy(handle)) };
        };
        Ok(Graph(Owned { handle, free }))
    }
}

struct Event(Owned<CUevent>);

impl Event {
    fn new() -> Result<Event> {
        let mut handle = null_mut();
        // SAFETY: the place for the result is valid for the call.
        unsafe { call!(cuEventCreate(&mut handle, sys::CUevent_flags::CU_EVENT_DEFAULT as _)) }?;
        let free = |handle| {
            // SAFETY: the handle was created above, and nothing uses it afterwards.
            let _ = unsafe { call!(cuEventDestroy_v2(handle)) };
        };
        Ok(Event(Owned { handle, free }))
    }
}

/// A graph that can be launched.
pub(super) struct Graph(Owned<CUgraphExec>);

impl Graph {
    pub(super) fn launch(&self, stream: &Stream) -> Result<()> {
        // SAFETY: graph and stream exist until they are dropped.
        unsafe { call!(cuGraphLaunch(self.0.handle, stream.0.handle)) }
    }
}

/// Device memory.
pub(super) struct Memory {
    address: Owned<CUdeviceptr>,
    bytes: u64,
}

impl Memory {
    pub(super) fn new(bytes: u64) -> Result<Memory> {
        let mut handle = 0;
        // SAFETY: the place for the result is valid for the call.
        let made = unsafe { call!(cuMemAlloc_v2(&mut handle, bytes.max(1) as usize)) };
        made.map_err(out_of(bytes))?;
        let free = |handle| {
            // SAFETY: the memory was allocated above, and nothing uses it afterwards.
            let _ = unsafe { call!(cuMemFree_v2(handle)) };
        };
        Ok(Memory { address: Owned { handle, free }, bytes })
    }

    /// The memory as calls of the library accept it.
    pub(super) fn slice(&self) -> DeviceSlice {
        DeviceSlice { address: self.address.handle, bytes: self.bytes }
    }

    /// Enqueues a copy within the device, as long as the shorter memory.
    pub(super) fn copy(&self, from: &Memory, stream: &Stream) -> Result<()> {
        let (to, from, bytes) = (self.address.handle, from.address.handle, self.bytes.min(from.bytes));
        // SAFETY: both have at least this number of bytes.
        unsafe { call!(cuMemcpyDtoDAsync_v2(to, from, bytes as usize, stream.0.handle)) }
    }

    /// Copies `src`, which has the length of the memory, to the device and waits.
    pub(super) fn upload(&self, src: &[u8], stream: &Stream) -> Result<()> {
        let bytes = src.len().min(self.bytes as usize);
        // SAFETY: both have at least this number of bytes; `src` is borrowed until the stream has completed the copy.
        unsafe {
            call!(cuMemcpyHtoDAsync_v2(self.address.handle, src.as_ptr().cast(), bytes, stream.0.handle))
        }?;
        stream.synchronize()
    }

    /// Fills `dst`, which has the length of the memory, from the device and waits.
    pub(super) fn download(&self, dst: &mut [u8], stream: &Stream) -> Result<()> {
        let bytes = dst.len().min(self.bytes as usize);
        // SAFETY: both have at least this number of bytes; `dst` is borrowed until the stream has completed the copy.
        unsafe {
            call!(cuMemcpyDtoHAsync_v2(dst.as_mut_ptr().cast(), self.address.handle, bytes, stream.0.handle))
        }?;
        stream.synchronize()
    }
}

/// The result of a call, in pinned host memory that the device writes.
pub(super) struct Outcome(Owned<*mut c_void>);

impl Outcome {
    pub(super) fn new() -> Result<Outcome> {
        const FLAGS: u32 = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        let (mut handle, bytes) = (null_mut(), size_of::<CallResult>());
        // SAFETY: the place for the result is valid for the call.
        let made = unsafe { call!(cuMemHostAlloc(&mut handle, bytes, FLAGS)) };
        made.map_err(out_of(bytes as u64))?;
        let free = |handle| {
            // SAFETY: the memory was allocated above, and nothing uses it afterwards.
            let _ = unsafe { call!(cuMemFreeHost(handle)) };
        };
        Ok(Outcome(Owned { handle, free }))
    }

    /// The device address, which equals the host address with unified addressing.
    pub(super) fn address(&self) -> u64 {
        self.0.handle as u64
    }

    /// Sets the result to a value that no call writes. No call that writes it may be running.
    pub(super) fn clear(&mut self) {
        let none = CallResult { bytes: u64::MAX, needed: u64::MAX, status: -1, stage: u32::MAX };
        // SAFETY: the memory is allocated and aligned to a page, and `self` is borrowed exclusively.
        unsafe { self.0.handle.cast::<CallResult>().write_volatile(none) };
    }

    /// The result of the last call. The stream must have completed that call.
    pub(super) fn get(&self) -> CallResult {
        // SAFETY: the memory is allocated, aligned to a page, and initialized by `clear`.
        unsafe { self.0.handle.cast::<CallResult>().read_volatile() }
    }
}
