//! What the driver does in a context: streams, events, device code, memory.
#![allow(unsafe_code)]

use super::{Driver, Handle, OUT_OF_MEMORY, SUCCESS};
use crate::error::{Error, Result};
use crate::gpu::Way;
use std::ffi::{CStr, c_int, c_uint, c_void};

/// CUlaunchConfig.
#[repr(C)]
pub(super) struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: Handle,
    attributes: *const LaunchAttribute,
    attribute_count: c_uint,
}

/// CUlaunchAttribute; its value is a union of which the numbers stand at the start.
#[derive(Clone, Copy)]
#[repr(C)]
struct LaunchAttribute {
    id: c_uint,
    pad: c_uint,
    value: [u64; 8],
}

impl Driver {
    // Streams and events.

    pub(in crate::gpu) fn create_stream(&self) -> Result<Handle> {
        /// CU_STREAM_DEFAULT
        const DEFAULT: c_uint = 0;
        let mut stream = 0;
        // SAFETY: the place for the result is live.
        self.check("cuStreamCreate", unsafe { (self.table.cuStreamCreate)(&mut stream, DEFAULT) })
            .map(|()| stream)
    }

    pub(in crate::gpu) fn destroy_stream(&self, stream: Handle) {
        // SAFETY: the caller made it and forgets it.
        let _ = unsafe { (self.table.cuStreamDestroy_v2)(stream) };
    }

    pub(in crate::gpu) fn synchronize(&self, stream: Handle) -> Result<()> {
        // SAFETY: the stream is live by the promise of whoever handed it over.
        self.check("cuStreamSynchronize", unsafe { (self.table.cuStreamSynchronize)(stream) })
    }

    pub(in crate::gpu) fn create_event(&self) -> Result<Handle> {
        let mut event = 0;
        // SAFETY: the place for the result is live.
        self.check("cuEventCreate", unsafe { (self.table.cuEventCreate)(&mut event, 0) }).map(|()| event)
    }

    pub(in crate::gpu) fn destroy_event(&self, event: Handle) {
        // SAFETY: the caller made it and forgets it.
        let _ = unsafe { (self.table.cuEventDestroy_v2)(event) };
    }

    pub(in crate::gpu) fn record(&self, event: Handle, stream: Handle) -> Result<()> {
        // SAFETY: both are live.
        self.check("cuEventRecord", unsafe { (self.table.cuEventRecord)(event, stream) })
    }

    /// Waits until an event has passed.
    pub(in crate::gpu) fn wait(&self, event: Handle) -> Result<()> {
        // SAFETY: it is live and recorded.
        self.check("cuEventSynchronize", unsafe { (self.table.cuEventSynchronize)(event) })
    }

    /// Milliseconds between two events, once the second one has passed.
    pub(in crate::gpu) fn elapsed(&self, from: Handle, to: Handle) -> Result<f32> {
        let mut ms = 0.0;
        self.wait(to)?;
        // SAFETY: both are live and recorded; the place for the result is live.
        let code = unsafe { (self.table.cuEventElapsedTime)(&mut ms, from, to) };
        self.check("cuEventElapsedTime", code).map(|()| ms)
    }

    // Device code.

    /// Loads a fat binary, for all contexts.
    pub(in crate::gpu) fn load(&self, image: &'static [u8]) -> Result<Handle> {
        let (mut library, null) = (0, std::ptr::null_mut());
        // SAFETY: the image is a whole fat binary, aligned, and lives for ever.
        let code = unsafe {
            (self.table.cuLibraryLoadData)(&mut library, image.as_ptr().cast(), null, null, 0, null, null, 0)
        };
        self.check("cuLibraryLoadData", code).map(|()| library)
    }

    /// A function of a library in the current context.
    pub(in crate::gpu) fn function(&self, library: Handle, name: &CStr) -> Result<Handle> {
        let (mut kernel, mut function) = (0, 0);
        // SAFETY: the library is live; the places for results are.
        unsafe {
            self.check(
                "cuLibraryGetKernel",
                (self.table.cuLibraryGetKernel)(&mut kernel, library, name.as_ptr()),
            )?;
            self.check("cuKernelGetFunction", (self.table.cuKernelGetFunction)(&mut function, kernel))?;
        }
        Ok(function)
    }

    /// The compute capability that its code was compiled for, ten times: not that of a device which runs it from PTX.
    pub(in crate::gpu) fn made_for(&self, function: Handle) -> Result<c_int> {
        /// CU_FUNC_ATTRIBUTE_PTX_VERSION
        const PTX_VERSION: c_int = 5;
        let mut version = 0;
        // SAFETY: the place for the result is live, and so is the function.
        let code = unsafe { (self.table.cuFuncGetAttribute)(&mut version, PTX_VERSION, function) };
        self.check("cuFuncGetAttribute", code).map(|()| version)
    }

    /// Launches a function whose only argument is `argument`, which the driver copies.
    ///
    /// Where launches are short, it counts that a multiprocessor whose on-chip memory is divided otherwise than the next function has it takes
    /// no block of that before it is idle, and that early blocks crowd on the few which are free. With the division that is asked for here
    /// those of a few megabytes fit, and only so many of them that they are spread evenly.
    pub(in crate::gpu) fn launch<A>(
        &self,
        function: Handle,
        grid: u32,
        block: u32,
        stream: Handle,
        way: Way,
        argument: &A,
    ) -> Result<()> {
        /// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        const EARLY: c_uint = 6;
        /// CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, which drivers of CUDA 13 know, and percent: 64 KiB of 228.
        const SHARED: c_uint = 14;
        const PERCENT: u64 = 28;
        let attribute = |id, value| LaunchAttribute { id, pad: 0, value: [value, 0, 0, 0, 0, 0, 0, 0] };
        let wishes = [(way.follows, EARLY, 1), (way.short && self.version >= 13000, SHARED, PERCENT)];
        let (mut attributes, mut count) = ([attribute(0, 0); 2], 0);
        for (_, id, value) in wishes.into_iter().filter(|wish| wish.0) {
            attributes[count as usize] = attribute(id, value);
            count += 1;
        }
        let config = LaunchConfig {
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            shared_bytes: 0,
            stream,
            attributes: attributes.as_ptr(),
            attribute_count: count,
        };
        let mut arguments = [std::ptr::from_ref(argument).cast_mut().cast::<c_void>()];
        let none = std::ptr::null_mut();
        // SAFETY: every device function takes one block of the type of `argument`; addresses in it are the planner's; the
        // driver reads configuration and attribute before it returns.
        let code = unsafe {
            (self.table.cuLaunchKernelEx)(&raw const config, function, arguments.as_mut_ptr(), none)
        };
        self.check("cuLaunchKernelEx", code)
    }

    // Memory.

    pub(in crate::gpu) fn allocate(&self, bytes: u64) -> Result<Handle> {
        let mut address = 0;
        // SAFETY: the place for the result is live.
        match unsafe { (self.table.cuMemAlloc_v2)(&mut address, (bytes as usize).max(1)) } {
            OUT_OF_MEMORY => Err(Error::OutOfMemory(bytes)),
            code => self.check("cuMemAlloc", code).map(|()| address),
        }
    }

    pub(in crate::gpu) fn free(&self, address: Handle) {
        // SAFETY: the caller allocated it and forgets it.
        let _ = unsafe { (self.table.cuMemFree_v2)(address) };
    }

    pub(in crate::gpu) fn allocate_host(&self, bytes: u64) -> Result<*mut u8> {
        /// CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP
        const FLAGS: c_uint = 1 | 2;
        let mut address = std::ptr::null_mut();
        // SAFETY: the place for the result is live.
        match unsafe { (self.table.cuMemHostAlloc)(&mut address, (bytes as usize).max(1), FLAGS) } {
            OUT_OF_MEMORY => Err(Error::OutOfMemory(bytes)),
            code => self.check("cuMemHostAlloc", code).map(|()| address.cast()),
        }
    }

    pub(in crate::gpu) fn free_host(&self, address: *mut u8) {
        // SAFETY: the caller allocated it and forgets it.
        let _ = unsafe { (self.table.cuMemFreeHost)(address.cast()) };
    }

    /// # Safety
    /// `src` stays as it is until the stream has passed; `to` has as many bytes.
    pub(in crate::gpu) unsafe fn upload(&self, to: Handle, src: &[u8], stream: Handle) -> Result<()> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.table.cuMemcpyHtoDAsync_v2)(to, src.as_ptr().cast(), src.len(), stream) };
        self.check("cuMemcpyHtoDAsync", code)
    }

    /// # Safety
    /// Nobody touches `dst` until the stream has passed; `from` has as many bytes.
    pub(in crate::gpu) unsafe fn download(&self, dst: &mut [u8], from: Handle, stream: Handle) -> Result<()> {
        // SAFETY: the caller's promise.
        let code =
            unsafe { (self.table.cuMemcpyDtoHAsync_v2)(dst.as_mut_ptr().cast(), from, dst.len(), stream) };
        self.check("cuMemcpyDtoHAsync", code)
    }

    /// Copies within the device, as an operation of the stream.
    pub(in crate::gpu) fn copy(&self, to: Handle, from: Handle, bytes: u64, stream: Handle) -> Result<()> {
        // SAFETY: both ranges lie in memory of the caller's.
        self.check("cuMemcpyDtoDAsync", unsafe {
            (self.table.cuMemcpyDtoDAsync_v2)(to, from, bytes as usize, stream)
        })
    }

    pub(in crate::gpu) fn clear(&self, address: Handle, bytes: u64, stream: Handle) -> Result<()> {
        // SAFETY: the range lies in memory of the caller's.
        self.check("cuMemsetD8Async", unsafe {
            (self.table.cuMemsetD8Async)(address, 0, bytes as usize, stream)
        })
    }

    // Graphs.

    /// Makes a graph of what this thread puts on the stream from now on.
    pub(in crate::gpu) fn begin_capture(&self, stream: Handle) -> Result<()> {
        /// CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        const THREAD_LOCAL: c_int = 1;
        // SAFETY: the stream is live by the promise of whoever handed it over.
        self.check("cuStreamBeginCapture", unsafe {
            (self.table.cuStreamBeginCapture_v2)(stream, THREAD_LOCAL)
        })
    }

    /// The graph that was captured, ready to be launched.
    pub(in crate::gpu) fn end_capture(&self, stream: Handle) -> Result<Handle> {
        let (mut graph, mut executable) = (0, 0);
        // SAFETY: the stream is live by the promise of whoever handed it over; the places for results are live; the
        // graph is destroyed once, and what was made of it does not need it.
        unsafe {
            let ended = (self.table.cuStreamEndCapture)(stream, &mut graph);
            // A second try, because a stream in capture is unusable.
            if ended != SUCCESS && (self.table.cuStreamEndCapture)(stream, &mut graph) == SUCCESS {
                let _ = (self.table.cuGraphDestroy)(graph);
            }
            self.check("cuStreamEndCapture", ended)?;
            let code = (self.table.cuGraphInstantiateWithFlags)(&mut executable, graph, 0);
            let _ = (self.table.cuGraphDestroy)(graph);
            self.check("cuGraphInstantiateWithFlags", code).map(|()| executable)
        }
    }

    pub(in crate::gpu) fn launch_graph(&self, executable: Handle, stream: Handle) -> Result<()> {
        // SAFETY: both are live.
        self.check("cuGraphLaunch", unsafe { (self.table.cuGraphLaunch)(executable, stream) })
    }

    pub(in crate::gpu) fn destroy_graph(&self, executable: Handle) {
        // SAFETY: the caller made it and forgets it.
        let _ = unsafe { (self.table.cuGraphExecDestroy)(executable) };
    }
}
