//! Memory on the device, and pinned memory on the host.
#![allow(unsafe_code)]

use super::context::Context;
use super::driver::{Driver, Handle};
use super::pointer::context_of;
use super::stream::{OwnStream, Stream};
use crate::base::error::{Error, Result};

/// Device memory of our own.
pub(crate) struct DeviceMemory {
    driver: &'static Driver,
    /// Its context. Others cannot use it, not even on the same device.
    context: Handle,
    id: u64,
    address: Handle,
    bytes: u64,
}

impl DeviceMemory {
    pub(crate) fn new(context: &Context, bytes: u64) -> Result<DeviceMemory> {
        let driver = context.driver();
        let address = context.relaxed(|| driver.allocate(bytes))?;
        Ok(DeviceMemory { driver, context: context.handle, id: context.id, address, bytes })
    }

    pub(crate) fn address(&self) -> u64 {
        self.address as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if the memory belongs to this context.
    pub(crate) fn belongs(&self, context: &Context) -> bool {
        self.id == context.id
    }

    /// Sets bytes to zero, as an operation of the stream.
    pub(crate) fn clear(&self, at: u64, bytes: u64, stream: Stream) -> Result<()> {
        self.inside(at, bytes)?;
        self.driver.clear(self.address + at as usize, bytes, stream.0)
    }

    /// Copies the front of `from` to the front of this memory and waits.
    pub(crate) fn copy_front(&self, context: &Context, from: &DeviceMemory, bytes: u64) -> Result<()> {
        self.inside(0, bytes)?;
        from.inside(0, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let stream = OwnStream::new(context)?;
        let s = stream.borrow();
        context.relaxed(|| {
            self.driver.copy(self.address, from.address, bytes, s.0)?;
            s.synchronize(context)
        })
    }

    /// Copies to the device and waits. Not for streams that are captured.
    pub(crate) fn upload(&self, context: &Context, at: u64, src: &[u8]) -> Result<()> {
        self.inside(at, src.len() as u64)?;
        let stream = OwnStream::new(context)?;
        context.relaxed(|| upload(context, self.address() + at, src, stream.borrow()))
    }

    /// Its context, made current, if that still exists.
    pub(super) fn context(&self) -> Result<Option<Context>> {
        // Without the context there is no memory either: it may have been reset, the driver may be shutting down, this
        // may be the child of a fork. The address may even be another's by now.
        if Driver::get().is_err() || context_of(self.address)? != Some(self.context) {
            return Ok(None);
        }
        Context::holding(self.context, self.id)
    }

    /// Frees the memory if its context still exists.
    fn release(&self) -> Result<()> {
        if let Some(context) = self.context()? {
            context.relaxed(|| self.driver.free(self.address));
        }
        Ok(())
    }

    fn inside(&self, at: u64, bytes: u64) -> Result<()> {
        let inside = at.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        if inside { Ok(()) } else { Err(Error::Internal("a copy leaves its device memory")) }
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // A second try if a query fails. The release itself is not repeated: the reported error may belong to an earlier
        // call, and the address may already belong to a new allocation.
        let _ = self.release().or_else(|_| self.release());
    }
}

/// Copies to a device address and waits.
pub(crate) fn upload(context: &Context, to: u64, src: &[u8], stream: Stream) -> Result<()> {
    if src.is_empty() {
        return Ok(());
    }
    // SAFETY: `src` is borrowed until the stream has passed.
    unsafe { context.driver().upload(to as Handle, src, stream.0)? };
    stream.synchronize(context)
}

/// Copies from a device address and waits.
pub(crate) fn download(context: &Context, dst: &mut [u8], from: u64, stream: Stream) -> Result<()> {
    if dst.is_empty() {
        return Ok(());
    }
    // SAFETY: `dst` is borrowed until the stream has passed.
    let copied = unsafe { context.driver().download(dst, from as Handle, stream.0) };
    stream.synchronize(context).and(copied)
}

/// Pinned memory, which the device can read and write too.
pub(crate) struct Pinned {
    driver: &'static Driver,
    address: *mut u8,
    bytes: usize,
}

// SAFETY: it is plain memory with one owner.
unsafe impl Send for Pinned {}
// SAFETY: shared references only read.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// Zeroed.
    pub(crate) fn new(context: &Context, bytes: u64) -> Result<Pinned> {
        let driver = context.driver();
        let address = context.relaxed(|| driver.allocate_host(bytes))?;
        // SAFETY: as many bytes were allocated.
        unsafe { address.write_bytes(0, bytes as usize) };
        Ok(Pinned { driver, address, bytes: bytes as usize })
    }

    /// The device's name of it: the same, wherever addresses are unified.
    pub(crate) fn address(&self) -> u64 {
        self.address as u64
    }

    /// The contents. No device may write meanwhile.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: allocated, initialized, owned.
        unsafe { std::slice::from_raw_parts(self.address, self.bytes) }
    }

    /// Copies a word of a device to word `i`, as an operation of the stream. Nothing else may use word `i` until the
    /// stream has passed it.
    pub(crate) fn receive(&mut self, i: usize, from: u64, stream: Stream) -> Result<()> {
        let to = self.word_at(i)?.cast();
        // SAFETY: eight bytes of the allocation, which is freed after the blocking call, and that waits for the stream.
        unsafe { self.driver.download(std::slice::from_raw_parts_mut(to, 8), from as Handle, stream.0) }
    }

    /// Word `i`. The stream has passed its copy.
    pub(crate) fn word(&self, i: usize) -> Result<u64> {
        // SAFETY: inside the allocation, which was zeroed; no device writes this word any more.
        Ok(unsafe { self.word_at(i)?.read_volatile() })
    }

    /// The address of word `i`. The allocation is aligned to pages.
    fn word_at(&self, i: usize) -> Result<*mut u64> {
        let inside = (i + 1) * 8 <= self.bytes;
        let at = self.address.cast::<u64>().wrapping_add(i);
        if inside { Ok(at) } else { Err(Error::Internal("a word leaves its memory")) }
    }

    /// The same, to be changed. No device may read or write meanwhile.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: allocated, initialized, owned, borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // In the child of a fork it is the parent's.
        if Driver::get().is_ok() {
            self.driver.free_host(self.address);
        }
    }
}
