//! The calls of encoders and decoders that take addresses instead of slices.
#![allow(unsafe_code)]

use super::{CallResult, DeviceSlice, Elements, Memory, context_of, gpu_of};
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::base::parallel::Parallel;
use crate::codec::{Decoder, Device, Encoder, Options};
use crate::format::{self, Header, Info};
use crate::gpu::{Context, Stream};
use crate::pipeline::Pipeline;
use crate::runtime::workspace::Workspace;

impl Encoder {
    /// Loads device code and makes the workspace ready for asynchronous calls on `stream`, so that those do nothing but
    /// put launches, memsets and copies on the stream.
    ///
    /// # Errors
    /// [`Error::NoDevice`], [`Error::Unsupported`] for a pipeline that has no device code, [`Error::OutOfMemory`].
    pub fn preload(&self, ws: &mut Workspace, stream: Stream) -> Result<()> {
        in_default_environment(|| self.gpu()?.prepared.ready(&context_of(self.options.device, stream)?, ws))
    }

    /// Device memory of a workspace whose contents do not affect the next call, for tests.
    #[doc(hidden)]
    pub fn device_scratch(&self, ws: &Workspace) -> Vec<DeviceSlice> {
        self.gpu().map_or_else(|_| vec![], |gpu| gpu.prepared.scratch(ws))
    }

    /// Compresses on a stream without waiting. `result` is the address of a [`super::CallResult`] in device
    /// or mapped memory, or 0. The stream always writes it, and it is valid after the call has completed on
    /// the stream.
    ///
    /// # Errors
    /// Errors that can be found before anything runs. Errors that depend on the data are in the result:
    /// [`Error::DstTooSmall`], [`Error::OutlierCapacity`] with the required room.
    ///
    /// # Safety
    /// `src` and `dst` must be memory of the stream's device and must not overlap. Both, the workspace, and
    /// the result must remain valid and unmodified until the call has completed on the stream.
    pub unsafe fn compress_async(
        &self,
        ws: &mut Workspace,
        src: DeviceSlice,
        dst: DeviceSlice,
        result: u64,
        stream: Stream,
    ) -> Result<()> {
        in_default_environment(|| {
            self.takes(src.bytes)?;
            let context = context_of(self.options.device, stream)?;
            self.gpu()?.enqueue(&context, ws, (src, dst), result, stream, self.options.checksum_async)
        })
    }

    /// Bytes of the container that a call of [`Encoder::compress_async`] has made, of the `result` that it has left. `dst_bytes` are
    /// those of its destination.
    ///
    /// # Errors
    /// What the call has failed with: [`Error::DstTooSmall`], [`Error::OutlierCapacity`], [`Error::InvalidArgument`].
    pub fn outcome(&self, result: CallResult, dst_bytes: u64) -> Result<u64> {
        result.of(&self.gpu()?.prepared.plan, dst_bytes)
    }

    /// Compresses memory of any kind and waits: host, pinned, managed, or device memory, as the driver
    /// reports it.
    ///
    /// # Errors
    /// As [`Encoder::compress`], and for memory on the wrong device.
    ///
    /// # Safety
    /// Both must be memory of the stated lengths, must not overlap, and no other code may use them during the
    /// call.
    pub unsafe fn compress_at(
        &self,
        ws: &mut Workspace,
        src: DeviceSlice,
        dst: DeviceSlice,
    ) -> Result<usize> {
        in_default_environment(|| {
            self.takes(src.bytes)?;
            match gpu_of(self.options.device, &[("src", src), ("dst", dst)])? {
                // SAFETY: the caller's promise; both are host memory.
                None => self.compress(ws, unsafe { src.host() }, unsafe { dst.host_mut() }),
                Some(index) => {
                    // SAFETY: the caller's promise.
                    let (src, dst) = unsafe { (src.memory()?, dst.memory_mut()?) };
                    self.compress_on(index, ws, Elements::Packed(src), dst)
                }
            }
        })
    }

    /// Compresses on a device and waits; enlarges outlier lists that turn out too short.
    pub(in crate::codec) fn compress_on(
        &self,
        index: u32,
        ws: &mut Workspace,
        src: Elements<&[u8]>,
        mut dst: Memory<&mut [u8]>,
    ) -> Result<usize> {
        let context = Context::on(index)?;
        let again = match &mut dst {
            Memory::Host(bytes) => Memory::Host(&mut **bytes),
            Memory::Device(slice) => Memory::Device(*slice),
        };
        let from = match &src {
            Elements::Packed(Memory::Host(bytes)) => Elements::host(*bytes),
            Elements::Packed(Memory::Device(slice)) => Elements::Packed(Memory::Device(*slice)),
            Elements::Strided(view) => Elements::Strided(view.clone()),
        };
        let room = self.max_compressed_bytes();
        match self.gpu()?.compress(&context, ws, from, again, room, self.options.checksum) {
            Err(Error::OutlierCapacity { needed, capacity, .. }) if needed > capacity && ws.may_grow() => {
                let larger = self.with_outliers(needed)?;
                larger.compress_on(index, &mut Workspace::bare(self.options.threads)?, src, dst)
            }
            done => done,
        }
    }
}

impl Decoder {
    /// [`Decoder::open`] for memory of any kind. From a device only the header is copied.
    ///
    /// # Errors
    /// As [`Decoder::open`], and those of the device.
    ///
    /// # Safety
    /// The memory must have the stated length and must not change during the call.
    pub unsafe fn open_at(container: DeviceSlice, options: &Options) -> Result<Decoder> {
        in_default_environment(|| {
            gpu_of(options.device, &[("container", container)])?;
            // SAFETY: the caller's promise.
            Decoder::of_header(&unsafe { container.header() }?, options)
        })
    }

    /// Loads device code and makes the workspace ready for asynchronous calls on `stream`.
    ///
    /// # Errors
    /// [`Error::NoDevice`], [`Error::Unsupported`] for a pipeline that has no device code, [`Error::OutOfMemory`].
    pub fn preload(&self, ws: &mut Workspace, stream: Stream) -> Result<()> {
        in_default_environment(|| self.gpu()?.prepared.ready(&context_of(self.options.device, stream)?, ws))
    }

    /// As [`Encoder::device_scratch`].
    #[doc(hidden)]
    pub fn device_scratch(&self, ws: &Workspace) -> Vec<DeviceSlice> {
        self.gpu().map_or_else(|_| vec![], |gpu| gpu.prepared.scratch(ws))
    }

    /// Decompresses on a stream without waiting. `container.bytes` may be larger than the container, whose
    /// true length is read from its header. `result` is as in [`Encoder::compress_async`].
    ///
    /// # Errors
    /// Errors that can be found before anything runs: [`Error::DstTooSmall`], and [`Error::Unsupported`] for
    /// a decoder that was opened from a container with a header that this library would write in another
    /// form. Defects of the container are in the result; a container that needs more memory than the opened
    /// one is a mismatch.
    ///
    /// # Safety
    /// As for [`Encoder::compress_async`].
    pub unsafe fn decompress_async(
        &self,
        ws: &mut Workspace,
        container: DeviceSlice,
        dst: DeviceSlice,
        result: u64,
        stream: Stream,
    ) -> Result<()> {
        in_default_environment(|| {
            let dst = self.cut(dst)?;
            let context = context_of(self.options.device, stream)?;
            self.gpu()?.enqueue(&context, ws, (container, dst), result, stream, self.options.checksum)
        })
    }

    /// Bytes of the array that a call of [`Decoder::decompress_async`] has restored, as [`Encoder::outcome`] does.
    ///
    /// # Errors
    /// What the call has failed with: [`Error::Corrupt`], [`Error::NotAContainer`], [`Error::PlanMismatch`].
    pub fn outcome(&self, result: CallResult, dst_bytes: u64) -> Result<u64> {
        result.of(&self.gpu()?.prepared.plan, dst_bytes)
    }

    /// Decompresses memory of any kind and waits.
    ///
    /// # Errors
    /// As [`Decoder::decompress`], and for memory on the wrong device.
    ///
    /// # Safety
    /// As for [`Encoder::compress_at`].
    pub unsafe fn decompress_at(
        &self,
        ws: &mut Workspace,
        container: DeviceSlice,
        dst: DeviceSlice,
    ) -> Result<usize> {
        in_default_environment(|| {
            let Some(index) = gpu_of(self.options.device, &[("container", container), ("dst", dst)])? else {
                // SAFETY: the caller's promise; both are host memory.
                return self.decompress(ws, unsafe { container.host() }, unsafe { dst.host_mut() });
            };
            let dst = self.cut(dst)?;
            // SAFETY: the caller's promise.
            unsafe { self.decompress_into(index, ws, container, || Ok(Elements::Packed(dst.memory_mut()?))) }
        })
    }

    /// Decompresses on a device and waits. `dst` returns the destination, as often as it is called.
    ///
    /// # Safety
    /// As for [`Encoder::compress_at`].
    pub(super) unsafe fn decompress_into<'d>(
        &self,
        index: u32,
        ws: &mut Workspace,
        container: DeviceSlice,
        dst: impl Fn() -> Result<Elements<&'d mut [u8]>>,
    ) -> Result<usize> {
        // SAFETY: the caller's promise.
        let from = unsafe { container.memory() }?;
        let context = Context::on(index)?;
        if let Some(bytes) =
            self.gpu()?.decompress_there(&context, ws, from, dst()?, self.options.checksum)?
        {
            return Ok(bytes);
        }
        // SAFETY: the caller's promise.
        let bytes = &*unsafe { container.on_host() }?;
        let header = format::read(bytes)?;
        // SAFETY: the caller's promise.
        let container = unsafe { container.memory() }?;
        match self.serving(&header, true)? {
            None => self.decompress_read(index, ws, (&header, bytes), container, dst()?),
            Some(stored) => {
                let ws = &mut Workspace::bare(self.options.threads)?;
                stored.decompress_read(index, ws, (&header, bytes), container, dst()?)
            }
        }
    }

    /// Decompresses memory of any kind in one call, in memory of its own, and waits. The container is read once.
    ///
    /// # Errors
    /// As [`Decoder::open_at`] and [`Decoder::decompress_at`].
    ///
    /// # Safety
    /// As for [`Encoder::compress_at`].
    pub unsafe fn decompress_once_at(
        container: DeviceSlice,
        dst: DeviceSlice,
        options: &Options,
    ) -> Result<usize> {
        in_default_environment(|| {
            let index = gpu_of(options.device, &[("container", container), ("dst", dst)])?;
            // SAFETY: the caller's promise.
            let header = unsafe { container.header() }?;
            let (need, have) = (header.bound.array.bytes(), dst.bytes);
            // Before memory is allocated: the length is a number from a container that may come from anywhere.
            if need > have {
                return Err(Error::DstTooSmall { need, have });
            }
            let device = index.map_or(options.device, Device::Cuda);
            let decoder = Decoder::of_header(&header, &Options { device, ..options.clone() })?;
            let ws = &mut decoder.workspace()?;
            match index {
                // SAFETY: the caller's promise; both are host memory.
                None => decoder.run(&header, ws, unsafe { container.host() }, unsafe { dst.host_mut() }),
                // SAFETY: the caller's promise.
                Some(_) => unsafe { decoder.decompress_at(ws, container, dst) },
            }
        })
    }

    /// Decompresses a container whose header was read on the host, after its checksums were compared.
    fn decompress_read(
        &self,
        index: u32,
        ws: &mut Workspace,
        (header, bytes): (&Header, &[u8]),
        container: Memory<&[u8]>,
        dst: Elements<&mut [u8]>,
    ) -> Result<usize> {
        if self.options.checksum {
            header.verify(bytes, Parallel(ws.threads.pool()))?;
        }
        self.decompress_on(index, ws, header, container, dst)
    }

    pub(in crate::codec) fn decompress_on(
        &self,
        index: u32,
        ws: &mut Workspace,
        header: &Header,
        container: Memory<&[u8]>,
        dst: Elements<&mut [u8]>,
    ) -> Result<usize> {
        let gpu = self.gpu()?;
        let lengths = Decoder::lengths(&gpu.prepared.plan, header)?;
        gpu.decompress(&Context::on(index)?, ws, header, &lengths, container, dst)
    }

    fn cut(&self, dst: DeviceSlice) -> Result<DeviceSlice> {
        let (need, have) = (self.array().bytes(), dst.bytes);
        if have < need {
            Err(Error::DstTooSmall { need, have })
        } else {
            Ok(DeviceSlice { bytes: need, ..dst })
        }
    }
}

/// [`crate::info`] for memory of any kind. From a device only the header is copied.
///
/// # Errors
/// As [`crate::info`], and those of the device.
///
/// # Safety
/// The memory must have the stated length and must not change during the call.
pub unsafe fn info_at(container: DeviceSlice) -> Result<Info> {
    in_default_environment(|| {
        // SAFETY: the caller's promise.
        format::describe(&unsafe { container.header() }?)
    })
}

/// [`crate::pipeline_of`] for memory of any kind. From a device the container is copied.
///
/// # Errors
/// As [`crate::pipeline_of`], and those of the device.
///
/// # Safety
/// As for [`info_at`].
pub unsafe fn pipeline_at(container: DeviceSlice) -> Result<Pipeline> {
    in_default_environment(|| {
        // SAFETY: the caller's promise.
        format::pipeline_of(&unsafe { container.on_host() }?)
    })
}
