//! Strided arrays by their address, in memory of any kind.
#![allow(unsafe_code)]

use super::{DeviceSlice, Elements, context_of, gpu_of, prepared};
use crate::base::array::Array;
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::base::strided::{Layout, Row};
use crate::codec::{Decoder, Device, Encoder, Options, buffer};
use crate::gpu::abi::STATUS_AT;
use crate::gpu::{Context, Home, Stream, ViewArgs};
use crate::runtime::workspace::Workspace;
use std::ops::Range;

/// A strided array by the address of its first element: in host memory, or in memory of a device. Memory between the elements, such as
/// ghost cells, does not belong to the array.
#[derive(Clone, Debug)]
pub struct StridedSlice {
    array: Array,
    layout: Layout,
    origin: u64,
}

impl StridedSlice {
    /// Parameters: `origin` is the address of element (0, 0, …), of any alignment; `strides` has a number for each dimension, in elements,
    /// x first.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another number of strides, and if an element lies outside of the address space.
    pub fn new(array: &Array, origin: u64, strides: &[i64]) -> Result<StridedSlice> {
        let layout = Layout::new(array, strides)?;
        let span = layout.span();
        let end =
            |offset: i64| origin.checked_add_signed(offset).filter(|at| *at > 0 && *at <= isize::MAX as u64);
        if array.bytes() > 0 && (end(span.start).is_none() || end(span.end).is_none()) {
            let got = format!(
                "{origin:#x}, with elements from byte {} to byte {} relative to it",
                span.start, span.end
            );
            return Err(Error::argument(
                "the origin of a strided array",
                got,
                "elements within the address space",
            ));
        }
        Ok(StridedSlice { array: *array, layout, origin })
    }

    /// Element type and lengths.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// The memory from the first to the last element, with all gaps.
    pub fn span(&self) -> DeviceSlice {
        let span = self.layout.span();
        let bytes = (span.end - span.start) as u64;
        DeviceSlice { address: self.origin.wrapping_add_signed(span.start), bytes }
    }

    /// Rejects an array in which two elements could share a place, which cannot be written.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the rule.
    pub fn expect_apart(&self) -> Result<()> {
        self.layout.expect_apart()
    }

    fn bytes(&self) -> u64 {
        self.layout.bytes()
    }

    fn expect_array(&self, other: &Array, name: &str) -> Result<()> {
        if self.array == *other {
            return Ok(());
        }
        let text = |a: &Array| format!("{} of {:?}", a.dtype(), a.dims());
        Err(Error::PlanMismatch(format!(
            "the view is {}, but {name} is for {}",
            text(&self.array),
            text(other)
        )))
    }

    /// The front of `scratch`, of the length of the packed array.
    fn packed_in(&self, scratch: DeviceSlice) -> Result<DeviceSlice> {
        let bytes = self.bytes();
        if scratch.bytes < bytes {
            let expected = format!("at least {bytes}, the length of the array");
            return Err(Error::argument("the length of scratch", scratch.bytes, expected));
        }
        Ok(DeviceSlice { bytes, ..scratch })
    }

    /// The GPU that packs or distributes the elements in a call with another region of memory; `None`: the host does.
    fn gpu(&self, option: Device, own: &str, other: (&str, DeviceSlice)) -> Result<Option<u32>> {
        let index = gpu_of(option, &[(own, self.span()), other])?;
        Ok(if index.is_some() && self.span().home()? != Home::Host { index } else { None })
    }

    /// Puts the launch that packs the elements on a stream.
    pub(super) fn pack(&self, context: &Context, to: u64, stream: Stream) -> Result<()> {
        match self.bytes() {
            0 => Ok(()),
            _ => ViewArgs::new(&self.layout, self.origin, to).pack(context, stream),
        }
    }

    /// Puts the launch that writes the elements on a stream, if the decompression with this status block has succeeded.
    pub(super) fn unpack(
        &self,
        context: &Context,
        from: u64,
        stream: Stream,
        status: u64,
        follows: bool,
    ) -> Result<()> {
        match self.bytes() {
            0 => Ok(()),
            _ => ViewArgs::new(&self.layout, self.origin, from).unpack(context, stream, status, follows),
        }
    }

    /// Calls `copy` with the address of each element and its place in the packed array, or with those of a whole row without gaps.
    fn each(&self, mut copy: impl FnMut(usize, Range<usize>)) {
        let width = self.layout.width() as usize;
        self.layout.rows(|Row { at, stride, packed }| {
            // The addresses are inside of the span, which does not wrap.
            let first = self.origin.wrapping_add_signed(at) as usize;
            if stride == width as i64 {
                return copy(first, packed);
            }
            let mut address = first;
            for start in packed.step_by(width) {
                copy(address, start..start + width);
                address = address.wrapping_add_signed(stride as isize);
            }
        });
    }

    /// The packed elements of an array in host memory.
    ///
    /// # Safety
    /// The elements are in host memory that does not change during the call.
    unsafe fn packed(&self) -> Result<Vec<u8>> {
        let mut packed = buffer(self.bytes())?;
        self.each(|address, range| {
            let to = &mut packed[range];
            // SAFETY: the caller's promise; `to` is memory of this call.
            unsafe { std::ptr::copy_nonoverlapping(address as *const u8, to.as_mut_ptr(), to.len()) }
        });
        Ok(packed)
    }

    /// Restores a packed array with `restore`, and writes the elements in host memory if that succeeds.
    ///
    /// # Safety
    /// The elements are in host memory that no other code uses during the call, and share no place.
    unsafe fn restore(&self, restore: impl FnOnce(DeviceSlice) -> Result<usize>) -> Result<usize> {
        let mut packed = buffer(self.bytes())?;
        let to = DeviceSlice { address: packed.as_mut_ptr() as u64, bytes: self.bytes() };
        let restored = restore(to)?;
        if restored as u64 != self.bytes() {
            return Err(Error::Internal("a container restores another length than it states"));
        }
        self.each(|address, range| {
            let from = &packed[range];
            // SAFETY: the caller's promise; `from` is memory of this call.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), address as *mut u8, from.len()) }
        });
        Ok(restored)
    }
}

impl Encoder {
    /// Compresses a strided array in memory of any kind and waits. The container is that of the packed array, for which the call
    /// allocates memory, or uses that of the workspace on a device.
    ///
    /// # Errors
    /// As [`Encoder::compress_at`], and [`Error::PlanMismatch`] for another element type or shape than the plan's.
    ///
    /// # Safety
    /// As for [`Encoder::compress_at`], with the elements of `src`.
    pub unsafe fn compress_view_at(
        &self,
        ws: &mut Workspace,
        src: &StridedSlice,
        dst: DeviceSlice,
    ) -> Result<usize> {
        in_default_environment(|| {
            src.expect_array(self.array(), "the plan")?;
            if let Some(index) = src.gpu(self.options.device, "src", ("dst", dst))? {
                // SAFETY: the caller's promise.
                let dst = unsafe { dst.memory_mut() }?;
                return self.compress_on(index, ws, Elements::Strided(src.clone()), dst);
            }
            // SAFETY: the caller's promise; the elements are in memory that the host reads.
            let packed = unsafe { src.packed() }?;
            let from = DeviceSlice { address: packed.as_ptr() as u64, bytes: packed.len() as u64 };
            // SAFETY: the caller's promise; the other memory belongs to this call.
            unsafe { self.compress_at(ws, from, dst) }
        })
    }

    /// Compresses a strided array on a stream without waiting, as [`Encoder::compress_async`] does. `scratch` is memory of the stream's
    /// device for the packed array.
    ///
    /// # Errors
    /// As [`Encoder::compress_async`]; [`Error::PlanMismatch`] for another element type or shape than the plan's;
    /// [`Error::InvalidArgument`] if `scratch` is shorter than the array.
    ///
    /// # Safety
    /// As for [`Encoder::compress_async`], with the elements of `src`, and with `scratch`.
    pub unsafe fn compress_view_async(
        &self,
        ws: &mut Workspace,
        src: &StridedSlice,
        scratch: DeviceSlice,
        dst: DeviceSlice,
        result: u64,
        stream: Stream,
    ) -> Result<()> {
        in_default_environment(|| {
            src.expect_array(self.array(), "the plan")?;
            let packed = src.packed_in(scratch)?;
            let context = context_of(self.options.device, stream)?;
            let gpu = self.gpu()?;
            gpu.prepared.ready(&context, ws)?;
            src.pack(&context, packed.address, stream)?;
            gpu.enqueue(&context, ws, (packed, dst), result, stream, self.options.checksum_async)
        })
    }
}

impl Decoder {
    /// Restores a strided array in memory of any kind and waits. On failure no element is written.
    ///
    /// # Errors
    /// As [`Decoder::decompress_at`]; [`Error::PlanMismatch`] for another element type or shape than the plan's;
    /// [`Error::InvalidArgument`] if two elements could share a place.
    ///
    /// # Safety
    /// As for [`Decoder::decompress_at`], with the elements of `dst`.
    pub unsafe fn decompress_view_at(
        &self,
        ws: &mut Workspace,
        container: DeviceSlice,
        dst: &StridedSlice,
    ) -> Result<usize> {
        in_default_environment(|| {
            dst.expect_apart()?;
            dst.expect_array(self.array(), "the plan")?;
            match dst.gpu(self.options.device, "dst", ("container", container))? {
                // SAFETY: the caller's promise.
                Some(index) => unsafe {
                    self.decompress_into(index, ws, container, || Ok(Elements::Strided(dst.clone())))
                },
                // SAFETY: the caller's promise; the elements are in memory that the host writes.
                None => unsafe { dst.restore(|to| self.decompress_at(ws, container, to)) },
            }
        })
    }

    /// Restores a strided array in memory of any kind in one call, in memory of its own, and waits. On failure no element is written.
    ///
    /// # Errors
    /// As [`Decoder::decompress_once_at`], and as [`Decoder::decompress_view_at`].
    ///
    /// # Safety
    /// As for [`Decoder::decompress_view_at`].
    pub unsafe fn decompress_view_once_at(
        container: DeviceSlice,
        dst: &StridedSlice,
        options: &Options,
    ) -> Result<usize> {
        in_default_environment(|| {
            dst.expect_apart()?;
            let index = dst.gpu(options.device, "dst", ("container", container))?;
            // SAFETY: the caller's promise.
            let header = unsafe { container.header() }?;
            dst.expect_array(&header.bound.array, "the container")?;
            let Some(index) = index else {
                // SAFETY: the caller's promise; the elements are in memory that the host writes.
                return unsafe { dst.restore(|to| Decoder::decompress_once_at(container, to, options)) };
            };
            let device = Device::Cuda(index);
            let decoder = Decoder::of_header(&header, &Options { device, ..options.clone() })?;
            // SAFETY: the caller's promise.
            unsafe { decoder.decompress_view_at(&mut decoder.workspace()?, container, dst) }
        })
    }

    /// Restores a strided array on a stream without waiting, as [`Decoder::decompress_async`] does. `scratch` is memory of the stream's
    /// device for the packed array. The elements are written only if the decompression succeeds.
    ///
    /// # Errors
    /// As [`Decoder::decompress_async`]; [`Error::PlanMismatch`] for another element type or shape than the plan's;
    /// [`Error::InvalidArgument`] if two elements could share a place, or `scratch` is shorter than the array.
    ///
    /// # Safety
    /// As for [`Decoder::decompress_async`], with the elements of `dst`, and with `scratch`.
    pub unsafe fn decompress_view_async(
        &self,
        ws: &mut Workspace,
        container: DeviceSlice,
        dst: &StridedSlice,
        scratch: DeviceSlice,
        result: u64,
        stream: Stream,
    ) -> Result<()> {
        in_default_environment(|| {
            dst.expect_apart()?;
            dst.expect_array(self.array(), "the plan")?;
            let packed = dst.packed_in(scratch)?;
            let context = context_of(self.options.device, stream)?;
            self.gpu()?.enqueue(&context, ws, (container, packed), result, stream, self.options.checksum)?;
            let status = prepared::memory(&ws.gpu)?.block.address() + STATUS_AT;
            dst.unpack(&context, packed.address, stream, status, true)
        })
    }
}
