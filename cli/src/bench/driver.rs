//! What the benchmark itself takes from the CUDA driver: memory, a stream, times of the device, and graphs.
//!
//! Types and signatures are those of `cudarc`, of which no code runs: its functions panic without a driver, and return an enum, which
//! the code of a newer driver is no value of. The caller has asked [`fzgm::device_info`] before, so the driver is there and started.
#![allow(unsafe_code)]

use cudarc::driver::sys::{self, CUcontext, CUdeviceptr, CUevent, CUgraphExec, CUresult, CUstream};
use fzgm::{CallResult, DeviceSlice, Error, Result};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

/// What the driver returns.
type Code = c_int;
/// The address of a function.
type Address = unsafe extern "C" fn();

const _: () = assert!(size_of::<Code>() == size_of::<CUresult>());

/// A declaration of `cudarc`.
trait Declaration {
    /// The C function of the same parameters that returns an integer.
    type Call;

    /// # Safety
    /// `self` declares the function at `address`.
    unsafe fn at(self, address: Address) -> Self::Call;
}

macro_rules! declarations {
    ($($($parameter:ident)*;)*) => {$(
        impl<$($parameter),*> Declaration for unsafe fn($($parameter),*) -> CUresult {
            type Call = unsafe extern "C" fn($($parameter),*) -> Code;

            unsafe fn at(self, address: Address) -> Self::Call {
                // SAFETY: the caller's promise; `Code` is as large as `CUresult`.
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

/// Calls a function of the driver, which is looked up at the first call.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        static FOUND: OnceLock<Option<Address>> = OnceLock::new();
        let declaration: unsafe fn($(call!(_ $argument)),*) -> _ = sys::$function;
        match FOUND.get_or_init(|| find(concat!(stringify!($function), "\0"))) {
            Some(address) => check(stringify!($function), declaration.at(*address)($($argument),*)),
            None => Err(Error::NoDevice(concat!("the driver has no function ", stringify!($function)).into())),
        }
    }};
    (_ $argument:expr) => { _ };
}

fn find(name: &str) -> Option<Address> {
    /// As the library calls it, and so the same driver.
    const NAME: &str = "libcuda.so.1";
    static DRIVER: OnceLock<Option<Library>> = OnceLock::new();
    // SAFETY: the driver is loaded already; it is never unloaded.
    let driver = DRIVER.get_or_init(|| unsafe { Library::new(NAME) }.ok()).as_ref()?;
    // SAFETY: the symbol is a function, which is called by its declaration alone.
    unsafe { driver.get::<Address>(name.as_bytes()) }.ok().map(|address| *address)
}

fn check(call: &'static str, code: Code) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let mut text = null();
    if let Some(address) = find("cuGetErrorString\0") {
        // SAFETY: cuGetErrorString, with an integer for the code, which may be none of the enum; the place for the result is live.
        unsafe {
            let get = std::mem::transmute::<Address, unsafe extern "C" fn(Code, *mut *const c_char) -> Code>(
                address,
            );
            get(code, &mut text);
        }
    }
    let text = match text.is_null() {
        true => "the driver has no name for it".into(),
        // SAFETY: a string of the driver's, which lives for ever.
        false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
    };
    Err(Error::Device { call, code, text })
}

/// The number of bytes that could not be had, where that is what a call says.
fn out_of(bytes: u64) -> impl Fn(Error) -> Error {
    const OUT_OF_MEMORY: Code = CUresult::CUDA_ERROR_OUT_OF_MEMORY as Code;
    move |e| match e {
        Error::Device { code: OUT_OF_MEMORY, .. } => Error::OutOfMemory(bytes),
        e => e,
    }
}

/// Something of the driver's, given back on drop.
struct Owned<T: Copy> {
    handle: T,
    free: fn(T),
}

impl<T: Copy> Drop for Owned<T> {
    fn drop(&mut self) {
        (self.free)(self.handle);
    }
}

/// Makes the primary context of a device the one of this thread. It is kept until the program ends.
pub(super) fn enter(index: u32) -> Result<()> {
    let (mut device, mut context): (c_int, CUcontext) = (0, null_mut());
    // SAFETY: the places for results are live; the context is never released.
    unsafe {
        call!(cuDeviceGet(&mut device, index as c_int))?;
        call!(cuDevicePrimaryCtxRetain(&mut context, device))?;
        call!(cuCtxSetCurrent(context))
    }
}

/// A stream, which waits for the NULL stream and makes it wait. Dropping it waits for everything on it.
pub(super) struct Stream(Owned<CUstream>);

impl Stream {
    pub(super) fn new() -> Result<Stream> {
        let mut handle = null_mut();
        // SAFETY: the place for the result is live.
        unsafe { call!(cuStreamCreate(&mut handle, sys::CUstream_flags::CU_STREAM_DEFAULT as _)) }?;
        let free = |handle| {
            // SAFETY: it was made here and is forgotten.
            let _ = unsafe { call!(cuStreamSynchronize(handle)) };
            // SAFETY: as before.
            let _ = unsafe { call!(cuStreamDestroy_v2(handle)) };
        };
        Ok(Stream(Owned { handle, free }))
    }

    /// For calls of the library.
    pub(super) fn get(&self) -> fzgm::Stream {
        fzgm::Stream::from_raw(self.0.handle as usize)
    }

    pub(super) fn synchronize(&self) -> Result<()> {
        // SAFETY: it is live.
        unsafe { call!(cuStreamSynchronize(self.0.handle)) }
    }

    /// Seconds between two events around what `calls` puts on the stream, on the device.
    pub(super) fn time(&self, calls: impl FnOnce() -> Result<()>) -> Result<f64> {
        let [start, end] = [Event::new()?, Event::new()?];
        let mut milliseconds = 0.0;
        // SAFETY: all of them are live, and so is the place for the result.
        unsafe {
            call!(cuEventRecord(start.0.handle, self.0.handle))?;
            calls()?;
            call!(cuEventRecord(end.0.handle, self.0.handle))?;
            call!(cuEventSynchronize(end.0.handle))?;
            call!(cuEventElapsedTime(&mut milliseconds, start.0.handle, end.0.handle))?;
        }
        Ok(f64::from(milliseconds) / 1e3)
    }

    /// Records what `calls` puts on the stream; nothing of it runs.
    pub(super) fn capture(&self, calls: impl FnOnce() -> Result<()>) -> Result<Graph> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        let (mut graph, mut handle) = (null_mut(), null_mut());
        // SAFETY: the stream is live, and so are the places for results; the graph is destroyed once.
        unsafe {
            call!(cuStreamBeginCapture_v2(self.0.handle, mode))?;
            let recorded = calls();
            // In any case, or the stream stays unusable.
            call!(cuStreamEndCapture(self.0.handle, &mut graph))?;
            let made = recorded.and_then(|()| call!(cuGraphInstantiateWithFlags(&mut handle, graph, 0)));
            let _ = call!(cuGraphDestroy(graph));
            made?;
        }
        let free = |handle| {
            // SAFETY: it was made here and is forgotten.
            let _ = unsafe { call!(cuGraphExecDestroy(handle)) };
        };
        Ok(Graph(Owned { handle, free }))
    }
}

struct Event(Owned<CUevent>);

impl Event {
    fn new() -> Result<Event> {
        let mut handle = null_mut();
        // SAFETY: the place for the result is live.
        unsafe { call!(cuEventCreate(&mut handle, sys::CUevent_flags::CU_EVENT_DEFAULT as _)) }?;
        let free = |handle| {
            // SAFETY: it was made here and is forgotten.
            let _ = unsafe { call!(cuEventDestroy_v2(handle)) };
        };
        Ok(Event(Owned { handle, free }))
    }
}

/// A graph that can be launched.
pub(super) struct Graph(Owned<CUgraphExec>);

impl Graph {
    pub(super) fn launch(&self, stream: &Stream) -> Result<()> {
        // SAFETY: both are live.
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
        // SAFETY: the place for the result is live.
        let made = unsafe { call!(cuMemAlloc_v2(&mut handle, bytes.max(1) as usize)) };
        made.map_err(out_of(bytes))?;
        let free = |handle| {
            // SAFETY: it was allocated here and is forgotten.
            let _ = unsafe { call!(cuMemFree_v2(handle)) };
        };
        Ok(Memory { address: Owned { handle, free }, bytes })
    }

    /// For calls of the library.
    pub(super) fn slice(&self) -> DeviceSlice {
        DeviceSlice { address: self.address.handle, bytes: self.bytes }
    }

    /// As much as both have, within the device.
    pub(super) fn copy(&self, from: &Memory, stream: &Stream) -> Result<()> {
        let (to, from, bytes) = (self.address.handle, from.address.handle, self.bytes.min(from.bytes));
        // SAFETY: both have as many bytes.
        unsafe { call!(cuMemcpyDtoDAsync_v2(to, from, bytes as usize, stream.0.handle)) }
    }

    /// Copies `src`, which is as long, and waits.
    pub(super) fn upload(&self, src: &[u8], stream: &Stream) -> Result<()> {
        let bytes = src.len().min(self.bytes as usize);
        // SAFETY: both have as many bytes; `src` is borrowed until the stream has passed.
        unsafe {
            call!(cuMemcpyHtoDAsync_v2(self.address.handle, src.as_ptr().cast(), bytes, stream.0.handle))
        }?;
        stream.synchronize()
    }

    /// Fills `dst`, which is as long, and waits.
    pub(super) fn download(&self, dst: &mut [u8], stream: &Stream) -> Result<()> {
        let bytes = dst.len().min(self.bytes as usize);
        // SAFETY: both have as many bytes; `dst` is borrowed until the stream has passed.
        unsafe {
            call!(cuMemcpyDtoHAsync_v2(dst.as_mut_ptr().cast(), self.address.handle, bytes, stream.0.handle))
        }?;
        stream.synchronize()
    }
}

/// The result of a call, in pinned memory, which the device writes.
pub(super) struct Outcome(Owned<*mut c_void>);

impl Outcome {
    pub(super) fn new() -> Result<Outcome> {
        const FLAGS: u32 = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        let (mut handle, bytes) = (null_mut(), size_of::<CallResult>());
        // SAFETY: the place for the result is live.
        let made = unsafe { call!(cuMemHostAlloc(&mut handle, bytes, FLAGS)) };
        made.map_err(out_of(bytes as u64))?;
        let free = |handle| {
            // SAFETY: it was allocated here and is forgotten.
            let _ = unsafe { call!(cuMemFreeHost(handle)) };
        };
        Ok(Outcome(Owned { handle, free }))
    }

    /// The device's name of it: the same, wherever addresses are unified.
    pub(super) fn address(&self) -> u64 {
        self.0.handle as u64
    }

    /// Makes it what no call leaves. No call may be under way.
    pub(super) fn clear(&mut self) {
        let none = CallResult { bytes: u64::MAX, needed: u64::MAX, status: -1, stage: u32::MAX };
        // SAFETY: allocated, aligned to a page, and borrowed alone.
        unsafe { self.0.handle.cast::<CallResult>().write_volatile(none) };
    }

    /// What the last call has left, once the stream has passed.
    pub(super) fn get(&self) -> CallResult {
        // SAFETY: allocated, aligned to a page, and set by `clear`.
        unsafe { self.0.handle.cast::<CallResult>().read_volatile() }
    }
}
