//! Memory for callers that have no allocator of a GPU: arrays, containers, and results of asynchronous calls.

use super::{CallResult, DeviceSlice};
use crate::base::environment::in_default_environment;
use crate::base::error::Result;
use crate::gpu::{Context, DeviceMemory, Home, Pinned, Stream, home};

/// Device memory, freed when it is dropped. No operation of a stream may use it then.
pub struct DeviceBuffer {
    device: u32,
    memory: DeviceMemory,
}

impl DeviceBuffer {
    /// Memory on the GPU of this index. Its contents are unspecified.
    ///
    /// # Errors
    /// [`crate::Error::NoDevice`], [`crate::Error::InvalidArgument`] for an index that does not exist,
    /// [`crate::Error::OutOfMemory`].
    pub fn new(device: u32, bytes: u64) -> Result<DeviceBuffer> {
        Ok(DeviceBuffer { device, memory: DeviceMemory::new(&Context::on(device)?, bytes)? })
    }

    /// Where it is.
    pub fn slice(&self) -> DeviceSlice {
        DeviceSlice { address: self.memory.address(), bytes: self.memory.bytes() }
    }

    /// The index of its GPU.
    pub fn device(&self) -> u32 {
        self.device
    }

    /// Copies the front of `from`, a buffer of the same GPU, to the front of this buffer, and waits for the copy.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] for more bytes than a buffer has; [`crate::Error::Device`].
    pub fn copy_front(&self, from: &DeviceBuffer, bytes: u64) -> Result<()> {
        self.memory.copy_front(&Context::on(self.device)?, &from.memory, bytes)
    }
}

/// A place for the result of an asynchronous call, in pinned memory. It must not be dropped before the stream has passed the call.
pub struct ResultBuffer(Pinned);

impl ResultBuffer {
    /// A place that GPUs can write. Its status is one that no call leaves, until a call has ended.
    ///
    /// # Errors
    /// As [`DeviceBuffer::new`].
    pub fn new(device: u32) -> Result<ResultBuffer> {
        let mut place = ResultBuffer(Pinned::new(&Context::on(device)?, size_of::<CallResult>() as u64)?);
        place.clear();
        Ok(place)
    }

    /// Forgets the result of the last call, which must have ended.
    pub fn clear(&mut self) {
        self.0.bytes_mut().fill(0xff);
    }

    /// The argument `result` of an asynchronous call.
    pub fn address(&self) -> u64 {
        self.0.address()
    }

    /// The result of the last call; `None` if no call has ended since the place was made or cleared. Valid
    /// after the call has completed on the stream.
    pub fn get(&self) -> Option<CallResult> {
        let result: CallResult = bytemuck::pod_read_unaligned(self.0.bytes().get(..size_of::<CallResult>())?);
        (result.status != -1).then_some(result)
    }
}

/// The GPU of the memory at an address; `None`: the host reads and writes it.
///
/// # Errors
/// [`crate::Error::Device`] if the driver does not answer.
pub fn device_of(address: u64) -> Result<Option<u32>> {
    Ok(match home(address)? {
        Home::Device(index) => Some(index),
        Home::Host | Home::Managed => None,
    })
}

/// Runs `f` with a context of a GPU current in the calling thread: the context of the thread if it is of that GPU, or else the primary one.
/// Special streams (NULL, legacy, per-thread) are those of the current context.
///
/// # Errors
/// [`crate::Error::NoDevice`], [`crate::Error::InvalidArgument`] for an index that does not exist, and those of `f`.
pub fn on_device<R>(device: u32, f: impl FnOnce() -> Result<R>) -> Result<R> {
    let _context = Context::on(device)?;
    f()
}

impl Stream {
    /// Waits until everything on the stream is done.
    ///
    /// # Errors
    /// [`crate::Error::NoDevice`]; [`crate::Error::Device`], also if an earlier operation on the device failed.
    pub fn wait(self) -> Result<()> {
        in_default_environment(|| self.synchronize(&Context::of(self, None)?))
    }
}
