//! Memory of callers by its address: the parts that the processor reads, and the way it reads them.
#![allow(unsafe_code)]

use super::{DeviceSlice, Memory};
use crate::base::byte_source::Source;
use crate::base::error::{Error, Result, Status};
use crate::base::strided::Layout;
use crate::codec::buffer;
use crate::format::{self, Header};
use crate::gpu::{Context, DeviceMemory, Home, OwnStream, ViewArgs, download, upload};
use std::borrow::Cow;

/// Copies memory of any kind to the host and waits.
///
/// # Errors
/// [`Error::DstTooSmall`]; [`Error::Device`].
///
/// # Safety
/// `from` must be memory of the stated length that does not change during the call.
pub unsafe fn copy_to_host(from: DeviceSlice, dst: &mut [u8]) -> Result<()> {
    let (need, have) = (from.bytes, dst.len() as u64);
    let dst = usize::try_from(need).ok().and_then(|n| dst.get_mut(..n));
    let dst = dst.ok_or(Error::DstTooSmall { need, have })?;
    match from.home()? {
        Home::Device(index) => {
            let context = Context::on(index)?;
            download(&context, dst, from.address, OwnStream::new(&context)?.borrow())
        }
        Home::Host | Home::Managed => {
            // SAFETY: the caller's promise.
            dst.copy_from_slice(unsafe { from.host() });
            Ok(())
        }
    }
}

/// True if the device or the system failed, and not the container.
fn failed(error: &Error) -> bool {
    matches!(error.status(), Status::Device | Status::NoDevice | Status::OutOfMemory)
}

/// A container in device memory.
struct OnDevice(DeviceSlice, Context);

impl Source for OnDevice {
    fn name(&self) -> String {
        "the container".into()
    }

    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    fn fill(&self, at: u64, into: &mut [u8]) -> Result<()> {
        download(&self.1, into, self.0.address + at, OwnStream::new(&self.1)?.borrow())
    }

    fn pack(&self, parts: &[(u64, Layout)], into: &mut [u8]) -> Result<()> {
        if into.is_empty() {
            return Ok(());
        }
        let (OnDevice(slice, context), stream) = (self, OwnStream::new(&self.1)?);
        let packed = DeviceMemory::new(context, into.len() as u64)?;
        let mut to = packed.address();
        for (first, layout) in parts.iter().filter(|(_, layout)| layout.bytes() > 0) {
            ViewArgs::new(layout, slice.address + first, to).pack(context, stream.borrow())?;
            to += layout.bytes();
        }
        download(context, into, packed.address(), stream.borrow())
    }
}

impl DeviceSlice {
    /// The header of a container. From a device only the header is copied, unless the container is damaged.
    ///
    /// # Safety
    /// The memory must have the stated length and must not change during the call.
    pub(super) unsafe fn header(self) -> Result<Header> {
        if let Home::Device(index) = self.home()? {
            let front = OnDevice(self, Context::on(index)?);
            match format::read_from(&front) {
                Ok(header) => return Ok(header),
                Err(e) if failed(&e) => return Err(e),
                // The defect can only be determined from the whole container.
                Err(_) => {}
            }
        }
        // SAFETY: the caller's promise.
        format::read(&unsafe { self.on_host() }?)
    }

    /// The bytes where the processor can read them: the memory itself, or a copy of memory on a device.
    ///
    /// # Safety
    /// The memory must have the stated length and must not change during the call.
    pub(super) unsafe fn on_host<'a>(self) -> Result<Cow<'a, [u8]>> {
        let Home::Device(index) = self.home()? else {
            // SAFETY: the caller's promise.
            return Ok(Cow::Borrowed(unsafe { self.host() }));
        };
        let context = Context::on(index)?;
        let mut bytes = buffer(self.bytes)?;
        download(&context, &mut bytes, self.address, OwnStream::new(&context)?.borrow())?;
        Ok(Cow::Owned(bytes))
    }

    /// Calls `f` with a container as a source. From a device it copies only the bytes that `f` reads.
    ///
    /// # Safety
    /// The memory has this length, and nothing changes it during the call.
    pub(crate) unsafe fn read<R>(self, f: impl FnOnce(&dyn Source) -> Result<R>) -> Result<R> {
        match self.home()? {
            Home::Device(index) => f(&OnDevice(self, Context::on(index)?)),
            // SAFETY: the caller's promise.
            Home::Host | Home::Managed => f(&unsafe { self.host() }),
        }
    }

    /// Calls `f`, which writes at most `most` bytes from the first one on and returns their number. Memory on
    /// a device receives a copy of them.
    ///
    /// # Safety
    /// The memory must have this length, and no other code may use it during the call.
    pub(crate) unsafe fn write(self, most: u64, f: impl FnOnce(&mut [u8]) -> Result<usize>) -> Result<usize> {
        let Home::Device(index) = self.home()? else {
            // SAFETY: the caller's promise.
            return f(unsafe { self.host_mut() });
        };
        let context = Context::on(index)?;
        let mut copy = buffer(self.bytes.min(most))?;
        let bytes = f(&mut copy)?;
        upload(&context, self.address, &copy[..bytes], OwnStream::new(&context)?.borrow())?;
        Ok(bytes)
    }

    /// The bytes of host memory.
    ///
    /// # Safety
    /// The memory is host memory of this length, and nothing changes it while the slice lives.
    pub(crate) unsafe fn host<'a>(self) -> &'a [u8] {
        match self.bytes {
            0 => &[],
            // SAFETY: the caller's promise.
            n => unsafe { std::slice::from_raw_parts(self.address as *const u8, n as usize) },
        }
    }

    /// # Safety
    /// It must be host memory of the stated length that no other code uses during the call.
    pub(super) unsafe fn host_mut<'a>(self) -> &'a mut [u8] {
        match self.bytes {
            0 => &mut [],
            // SAFETY: the caller's promise.
            n => unsafe { std::slice::from_raw_parts_mut(self.address as *mut u8, n as usize) },
        }
    }

    /// # Safety
    /// As for [`DeviceSlice::host`], where it is host memory.
    pub(super) unsafe fn memory<'a>(self) -> Result<Memory<&'a [u8]>> {
        Ok(match self.home()? {
            // SAFETY: the caller's promise.
            Home::Host => Memory::Host(unsafe { self.host() }),
            Home::Device(_) | Home::Managed => Memory::Device(self),
        })
    }

    /// # Safety
    /// As for [`DeviceSlice::host_mut`], where it is host memory.
    pub(super) unsafe fn memory_mut<'a>(self) -> Result<Memory<&'a mut [u8]>> {
        Ok(match self.home()? {
            // SAFETY: the caller's promise.
            Home::Host => Memory::Host(unsafe { self.host_mut() }),
            Home::Device(_) | Home::Managed => Memory::Device(self),
        })
    }
}
