//! Driver calls in a context: streams, events, device code, memory.
#![allow(unsafe_code)]

use super::table::call;
use super::{Code, Driver, Handle, OUT_OF_MEMORY};
use crate::base::error::{Error, Result};
use crate::gpu::LaunchAttrs;
use cudarc::driver::sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CUevent_flags, CUfunction_attribute,
    CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig, CUresult, CUstream_flags,
};
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::ptr::null_mut;

impl Driver {
    // Streams and events.

    pub(in crate::gpu) fn create_stream(&self) -> Result<Handle> {
        const DEFAULT: c_uint = CUstream_flags::CU_STREAM_DEFAULT as c_uint;
        let mut stream = null_mut();
        // SAFETY: the place for the result is live.
        self.check(unsafe { call!(self.table, cuStreamCreate(&mut stream, DEFAULT)) })?;
        Ok(stream as Handle)
    }

    pub(in crate::gpu) fn destroy_stream(&self, stream: Handle) {
        // SAFETY: the caller made it and forgets it.
        let _ = unsafe { call!(self.table, cuStreamDestroy_v2(stream as _)) };
    }

    pub(in crate::gpu) fn synchronize(&self, stream: Handle) -> Result<()> {
        // SAFETY: the stream is live by the promise of whoever handed it over.
        self.check(unsafe { call!(self.table, cuStreamSynchronize(stream as _)) })
    }

    pub(in crate::gpu) fn create_event(&self) -> Result<Handle> {
        const UNTIMED: c_uint = CUevent_flags::CU_EVENT_DISABLE_TIMING as c_uint;
        let mut event = null_mut();
        // SAFETY: the place for the result is live.
        self.check(unsafe { call!(self.table, cuEventCreate(&mut event, UNTIMED)) })?;
        Ok(event as Handle)
    }

    pub(in crate::gpu) fn destroy_event(&self, event: Handle) {
        // SAFETY: the caller made it and forgets it.
        let _ = unsafe { call!(self.table, cuEventDestroy_v2(event as _)) };
    }

    pub(in crate::gpu) fn record(&self, event: Handle, stream: Handle) -> Result<()> {
        // SAFETY: both are live.
        self.check(unsafe { call!(self.table, cuEventRecord(event as _, stream as _)) })
    }

    /// Waits until an event has passed.
    pub(in crate::gpu) fn wait(&self, event: Handle) -> Result<()> {
        // SAFETY: it is live and recorded.
        self.check(unsafe { call!(self.table, cuEventSynchronize(event as _)) })
    }

    /// Later operations of a stream wait until an event has passed.
    pub(in crate::gpu) fn follow(&self, stream: Handle, event: Handle) -> Result<()> {
        // SAFETY: both are live.
        self.check(unsafe { call!(self.table, cuStreamWaitEvent(stream as _, event as _, 0)) })
    }

    // Device code.

    /// Loads a fat binary, for all contexts.
    pub(in crate::gpu) fn load(&self, image: &'static [u8]) -> Result<Handle> {
        const INVALID: Code = CUresult::CUDA_ERROR_INVALID_IMAGE as Code;
        const OTHER_DEVICE: Code = CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU as Code;
        const NEWER: Code = CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION as Code;
        let (mut library, image) = (null_mut(), image.as_ptr().cast());
        // SAFETY: the image is a whole fat binary, aligned, and is never freed.
        let loaded = self.check(unsafe {
            call!(
                self.table,
                cuLibraryLoadData(&mut library, image, null_mut(), null_mut(), 0, null_mut(), null_mut(), 0)
            )
        });
        match loaded {
            Ok(()) => Ok(library as Handle),
            Err(Error::Device { code: INVALID | OTHER_DEVICE | NEWER, text, .. }) => {
                Err(Error::NoDevice(format!(
                    "this device or driver cannot run the kernels of this build ({text}); required are compute capability 8.0 or later, and driver 580 or later for kernels of nvcc 13, 525 or later for kernels of nvcc 12; this build has {}",
                    env!("FZGM_BACKENDS")
                )))
            }
            Err(other) => Err(other),
        }
    }

    /// A function of a library in the current context.
    pub(in crate::gpu) fn function(&self, library: Handle, name: &CStr) -> Result<Handle> {
        let (mut kernel, mut function) = (null_mut(), null_mut());
        // SAFETY: the library is live; the places for results are.
        unsafe {
            self.check(call!(self.table, cuLibraryGetKernel(&mut kernel, library as _, name.as_ptr())))?;
            self.check(call!(self.table, cuKernelGetFunction(&mut function, kernel)))?;
        }
        Ok(function as Handle)
    }

    /// The compute capability that its code was compiled for, ten times: not that of a device which runs it from PTX.
    pub(in crate::gpu) fn made_for(&self, function: Handle) -> Result<c_int> {
        const PTX_VERSION: CUfunction_attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION;
        let mut version = 0;
        // SAFETY: the place for the result is live, and so is the function.
        self.check(unsafe {
            call!(self.table, cuFuncGetAttribute(&mut version, PTX_VERSION, function as _))
        })?;
        Ok(version)
    }

    /// Launches a function whose only argument is `argument`, which the driver copies.
    ///
    /// Short launches depend on the division of on-chip memory. A multiprocessor with another division than
    /// the next function accepts no block of that function before it is idle, and early blocks then crowd on
    /// the few free multiprocessors. With the division that is requested here, the blocks of a few megabytes
    /// fit, and they are spread evenly.
    pub(in crate::gpu) fn launch<A>(
        &self,
        function: Handle,
        (grid, rows): (u32, u32),
        block: u32,
        stream: Handle,
        way: LaunchAttrs,
        argument: &A,
    ) -> Result<()> {
        /// Percent: 64 KiB of 228.
        const SHARED: c_uint = 28;
        let none = CUlaunchAttribute {
            id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_IGNORE,
            pad: [0; 4],
            value: CUlaunchAttributeValue { pad: [0; 64] },
        };
        let (mut attributes, mut count) = ([none; 2], 0);
        if way.follows {
            let early = &mut attributes[count];
            early.id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
            early.value.programmaticStreamSerializationAllowed = 1;
            count += 1;
        }
        // Drivers before CUDA 13 do not support this attribute.
        if way.short && self.version >= 13000 {
            let division = &mut attributes[count];
            division.id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
            division.value.sharedMemCarveout = SHARED;
            count += 1;
        }
        let config = CUlaunchConfig {
            gridDimX: grid,
            gridDimY: rows,
            gridDimZ: 1,
            blockDimX: block,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: stream as _,
            attrs: attributes.as_mut_ptr(),
            numAttrs: count as c_uint,
        };
        let mut arguments = [std::ptr::from_ref(argument).cast_mut().cast::<c_void>()];
        // SAFETY: every device function takes one block of the type of `argument`; addresses in it are the planner's; the
        // driver reads configuration and attribute before it returns.
        self.check(unsafe {
            call!(self.table, cuLaunchKernelEx(&config, function as _, arguments.as_mut_ptr(), null_mut()))
        })
    }

    // Memory.

    pub(in crate::gpu) fn allocate(&self, bytes: u64) -> Result<Handle> {
        let mut address = 0;
        // SAFETY: the place for the result is live.
        match unsafe { call!(self.table, cuMemAlloc_v2(&mut address, (bytes as usize).max(1))) } {
            (_, OUT_OF_MEMORY) => Err(Error::OutOfMemory(bytes)),
            returned => self.check(returned).map(|()| address as Handle),
        }
    }

    pub(in crate::gpu) fn free(&self, address: Handle) {
        // SAFETY: the caller allocated it and forgets it.
        let _ = unsafe { call!(self.table, cuMemFree_v2(address as _)) };
    }

    pub(in crate::gpu) fn allocate_host(&self, bytes: u64) -> Result<*mut u8> {
        const FLAGS: c_uint = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
        let mut address = null_mut();
        // SAFETY: the place for the result is live.
        match unsafe { call!(self.table, cuMemHostAlloc(&mut address, (bytes as usize).max(1), FLAGS)) } {
            (_, OUT_OF_MEMORY) => Err(Error::OutOfMemory(bytes)),
            returned => self.check(returned).map(|()| address.cast()),
        }
    }

    pub(in crate::gpu) fn free_host(&self, address: *mut u8) {
        // SAFETY: the caller allocated it and forgets it.
        let _ = unsafe { call!(self.table, cuMemFreeHost(address.cast())) };
    }

    /// # Safety
    /// `src` stays as it is until the stream has passed; `to` has as many bytes.
    pub(in crate::gpu) unsafe fn upload(&self, to: Handle, src: &[u8], stream: Handle) -> Result<()> {
        // SAFETY: the caller's promise.
        self.check(unsafe {
            call!(self.table, cuMemcpyHtoDAsync_v2(to as _, src.as_ptr().cast(), src.len(), stream as _))
        })
    }

    /// # Safety
    /// No other code may use `dst` until the copy has completed on the stream; `from` must have as many bytes
    /// as `dst`.
    pub(in crate::gpu) unsafe fn download(&self, dst: &mut [u8], from: Handle, stream: Handle) -> Result<()> {
        // SAFETY: the caller's promise.
        self.check(unsafe {
            call!(
                self.table,
                cuMemcpyDtoHAsync_v2(dst.as_mut_ptr().cast(), from as _, dst.len(), stream as _)
            )
        })
    }

    /// Copies within the device, as an operation of the stream.
    pub(in crate::gpu) fn copy(&self, to: Handle, from: Handle, bytes: u64, stream: Handle) -> Result<()> {
        // SAFETY: both ranges lie in memory of the caller's.
        self.check(unsafe {
            call!(self.table, cuMemcpyDtoDAsync_v2(to as _, from as _, bytes as usize, stream as _))
        })
    }

    pub(in crate::gpu) fn clear(&self, address: Handle, bytes: u64, stream: Handle) -> Result<()> {
        // SAFETY: the range lies in memory of the caller's.
        self.check(unsafe {
            call!(self.table, cuMemsetD8Async(address as _, 0, bytes as usize, stream as _))
        })
    }
}
