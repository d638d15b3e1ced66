//! From containers to arrays.

use super::device::{self, GpuDecoder, LazyEncoder};
use super::{Device, Options, on_host};
use crate::base::array::Array;
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result, Status};
use crate::base::parallel::Parallel;
use crate::format::{self, Header};
use crate::ir::stage::Generation;
use crate::plan::{BoundPipeline, CompileOptions, Direction, Plan};
use crate::runtime::cpu::{self, ArrayBinding};
use crate::runtime::workspace::Workspace;
use std::sync::{Arc, OnceLock};

/// Decompresses containers of one array and pipeline. Immutable, as an [`super::Encoder`] is.
pub struct Decoder {
    /// As a reader of the containers sees it; of one container, with its lengths.
    bound: BoundPipeline,
    pub(super) options: Options,
    /// The header of the container that the plan was made for, when it was made for one.
    opened: Option<Header>,
    /// The encoder that it was made from, whose containers a GPU reads by itself.
    encoder: Option<Arc<LazyEncoder>>,
    workspace_bytes: u64,
    /// The plan for the CPU, compiled when it is first needed.
    cpu: OnceLock<Result<Plan>>,
    /// The plan for GPUs, compiled when it is first needed.
    gpu: OnceLock<Result<GpuDecoder>>,
}

impl Decoder {
    /// Plans the decompression of a container, with memory for just this one.
    ///
    /// # Errors
    /// What is wrong with the container, as far as its header shows it; [`Error::MemoryLimit`].
    pub fn open(container: &[u8], options: &Options) -> Result<Decoder> {
        in_default_environment(|| Decoder::of_header(&format::read(container)?, options))
    }

    pub(super) fn of_header(header: &Header, options: &Options) -> Result<Decoder> {
        let bound = header.bound.narrowed(&header.lengths, &header.segment_bytes())?;
        Decoder::new(bound, options, Some(header.clone()), None)
    }

    /// The decoder for containers of an encoder; `bound` is the view of a reader.
    pub(super) fn of_encoder(
        mut bound: BoundPipeline,
        encoder: Arc<LazyEncoder>,
        options: &Options,
    ) -> Result<Decoder> {
        bound.rules.generation = Generation::G2026_08;
        Decoder::new(bound, options, None, Some(encoder))
    }

    /// Compiles the plan of the device that the options name.
    fn new(
        bound: BoundPipeline,
        options: &Options,
        opened: Option<Header>,
        encoder: Option<Arc<LazyEncoder>>,
    ) -> Result<Decoder> {
        let options = options.clone();
        let (cpu, gpu) = (OnceLock::new(), OnceLock::new());
        let mut decoder = Decoder { bound, options, opened, encoder, workspace_bytes: 0, cpu, gpu };
        decoder.workspace_bytes = match decoder.options.device {
            Device::Auto | Device::Cpu => decoder.plan()?.workspace_bytes(),
            Device::Cuda(_) => decoder.gpu()?.prepared.bytes(),
        };
        if let Device::Cuda(index) = decoder.options.device {
            device::reachable(index)?;
        }
        Ok(decoder)
    }

    /// The plan for the CPU. A decoder for a GPU compiles it on the first call.
    ///
    /// # Errors
    /// [`Error::MemoryLimit`].
    pub fn plan(&self) -> Result<&Plan> {
        let compile = || {
            let plan = Plan::compile(&self.bound, Direction::Decode, self.options.on_cpu())?;
            let own = self.bound.graph.decoder_memory();
            self.within_limit(plan.workspace_bytes().saturating_add(own))?;
            Ok(plan)
        };
        self.cpu.get_or_init(compile).as_ref().map_err(Error::clone)
    }

    /// The plan for GPUs.
    pub(super) fn gpu(&self) -> Result<&GpuDecoder> {
        self.gpu.get_or_init(|| self.gpu_plan()).as_ref().map_err(Error::clone)
    }

    fn gpu_plan(&self) -> Result<GpuDecoder> {
        let compile_options = CompileOptions { direct_output: false, ..self.options.on_gpu() };
        // Only a blocking call enlarges the outlier lists of the encoder. Room for the longest ones would be several times that of the
        // array where they feed another stage.
        let limited = self.encoder.as_ref().and_then(|encoder| self.bound.of_containers(encoder.bound()));
        let plan =
            Plan::compile(limited.as_ref().unwrap_or(&self.bound), Direction::Decode, compile_options)?;
        let longer = if limited.is_some() { Status::PlanMismatch } else { Status::Corrupt };
        let gpu = match (&self.encoder, &self.opened) {
            (Some(encoder), _) => GpuDecoder::of_encoder(plan, encoder.get()?, longer),
            (None, Some(header)) => GpuDecoder::of_container(plan, header, &self.options)?,
            (None, None) => return Err(Error::Internal("a decoder has neither an encoder nor a container")),
        };
        // Memory of a device is memory too, and its plan may need more than the one for the CPU.
        self.within_limit(gpu.prepared.bytes())?;
        Ok(gpu)
    }

    /// Rejects more working memory than the options allow. Without a limit in the options, the memory that a
    /// container requires has a limit. The memory that follows from the pipeline of an encoder has none,
    /// because the caller chose the room for its longest lists.
    fn within_limit(&self, need: u64) -> Result<()> {
        let limit = match self.options.max_memory_bytes {
            0 if self.opened.is_none() => return Ok(()),
            0 => self.array().bytes().saturating_mul(8).saturating_add(64 << 20),
            limit => limit,
        };
        if need > limit { Err(Error::MemoryLimit { need, limit }) } else { Ok(()) }
    }

    /// The plan for GPUs, as far as there is device code for the pipeline, and the device memory of a call. No GPU has to
    /// be there.
    ///
    /// # Errors
    /// [`Error::Unsupported`], [`Error::MemoryLimit`].
    pub fn device_plan(&self) -> Result<(&Plan, u64)> {
        self.gpu().map(|gpu| (&gpu.prepared.plan, gpu.prepared.bytes()))
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The array that comes out.
    pub fn array(&self) -> &Array {
        &self.bound.array
    }

    /// Bytes of a workspace: of device memory with a device of CUDA, else of host memory.
    pub fn workspace_bytes(&self) -> u64 {
        self.workspace_bytes
    }

    /// Memory for one call in flight.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::NoThreads`].
    pub fn workspace(&self) -> Result<Workspace> {
        in_default_environment(|| match self.options.device {
            Device::Cuda(index) => device::workspace(index, self.options.threads, |context, ws| {
                self.gpu()?.prepared.ready(context, ws)
            }),
            Device::Auto | Device::Cpu => Workspace::new(self.plan()?, 0, self.options.threads),
        })
    }

    /// The same in `memory`, at any address and at least [`Decoder::workspace_bytes`] long. Calls on the CPU then take
    /// no other for arrays.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for less memory, or for a plan of a GPU, which takes memory of its own.
    pub fn workspace_in(&self, memory: &'static mut [u8]) -> Result<Workspace> {
        in_default_environment(|| {
            on_host(self.options.device)?;
            Workspace::within(memory, self.plan()?, 0, self.options.threads)
        })
    }

    /// Restores the array of `container` to the front of `dst`; returns its bytes. Every encoder stores an
    /// array that does not compress, so a stored container of an array of this type and shape is accepted
    /// too.
    ///
    /// # Errors
    /// [`Error::DstTooSmall`], [`Error::PlanMismatch`] for a container of another pipeline or array,
    /// [`Error::Checksum`], [`Error::Corrupt`]. After an error that only decoding finds, the contents of
    /// `dst` are unspecified.
    pub fn decompress(&self, ws: &mut Workspace, container: &[u8], dst: &mut [u8]) -> Result<usize> {
        in_default_environment(|| {
            let header = format::read(container)?;
            match self.serving(&header, matches!(self.options.device, Device::Cuda(_)))? {
                None => self.run(&header, ws, container, dst),
                Some(stored) => stored.run(&header, &mut stored.workspace()?, container, dst),
            }
        })
    }

    /// The decoder that a container of this header requires: `None` for this one, or a new one for stored arrays and other padded lengths,
    /// and on a GPU for longer outlier lists than the encoder's asynchronous calls write.
    pub(super) fn serving(&self, header: &Header, on_gpu: bool) -> Result<Option<Decoder>> {
        let (is, be) = (&header.bound.array, self.array());
        if is != be {
            return Err(Error::PlanMismatch(format!(
                "the container contains {}x{:?}, but the plan is for {}x{:?}",
                is.dtype(),
                is.dims(),
                be.dtype(),
                be.dims()
            )));
        }
        let same = header.bound.pipeline == self.bound.pipeline;
        if same && header.padded == self.bound.padded_bytes() {
            if !on_gpu
                || self.opened.is_some()
                || Decoder::lengths(&self.gpu()?.prepared.plan, header).is_ok()
            {
                return Ok(None);
            }
            // As for all containers of an encoder, no limit of memory applies unless the options state one.
            let most = match self.options.max_memory_bytes {
                0 => u64::MAX,
                stated => stated,
            };
            let options = Options { max_memory_bytes: most, ..self.options.clone() };
            return Decoder::of_header(header, &options).map(Some);
        }
        // The plan is of one padded length, and containers of the two forms may differ in it.
        if same || header.bound.pipeline.is_identity() {
            return Decoder::of_header(header, &self.options).map(Some);
        }
        Err(Error::PlanMismatch(
            "the container was written by another pipeline; create a plan from the container".into(),
        ))
    }

    pub(super) fn run(
        &self,
        header: &Header,
        ws: &mut Workspace,
        container: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let need = self.array().bytes();
        let have = dst.len() as u64;
        let dst = usize::try_from(need).ok().and_then(|n| dst.get_mut(..n));
        let dst = dst.ok_or(Error::DstTooSmall { need, have })?;
        if self.options.checksum {
            header.verify(container, Parallel(ws.threads.pool()))?;
        }
        if let Device::Cuda(index) = self.options.device {
            let (container, dst) = (device::Memory::Host(container), device::Elements::host(dst));
            return self.decompress_on(index, ws, header, container, dst);
        }
        let plan = self.plan()?;
        let lengths = Decoder::lengths(plan, header)?;
        let mut run = cpu::Run { plan, ws, array: ArrayBinding::Write(dst) };
        run.open(Some((header, &lengths, container)))?;
        run.run()?;
        Ok(need as usize)
    }

    /// The lengths of all values of a plan of this decoder, its temporaries included, when it has room for them.
    pub(super) fn lengths(plan: &Plan, header: &Header) -> Result<Vec<u64>> {
        // The lengths of the container itself were checked when its header was read.
        plan.bound.graph.lengths(&header.lengths, &header.segment_bytes()).map_err(|_| {
            Error::PlanMismatch(
                "the container is longer than the one that the plan was opened from; create a plan from this container"
                    .into(),
            )
        })
    }
}
