//! From containers to arrays.

use super::device::{self, GpuDecoder, LazyEncoder};
use super::{Device, Options, on_host};
use crate::array::Array;
use crate::backend::cpu::{self, ArrayBinding};
use crate::environment::in_default_environment;
use crate::error::{Error, Result};
use crate::format::{self, Head};
use crate::kernel::Threads;
use crate::launch::Place;
use crate::plan::{Making, Plan};
use crate::workspace::Workspace;
use std::sync::{Arc, OnceLock};

/// Decompresses containers of one array and pipeline. Immutable, as an [`super::Encoder`] is.
pub struct Decoder {
    pub(super) plan: Plan,
    pub(super) padded: u64,
    pub(super) options: Options,
    /// The head of the container that the plan was made for, when it was made for one.
    opened: Option<Head>,
    /// The encoder that it was made from, whose containers a GPU reads by itself.
    pub(super) encoder: Option<Arc<LazyEncoder>>,
    /// The plan for GPUs, made when one is first needed.
    pub(super) gpu: OnceLock<Result<GpuDecoder>>,
}

impl Decoder {
    /// Plans the decompression of a container, with memory for just this one.
    ///
    /// # Errors
    /// What is wrong with the container, as far as its head shows it; [`Error::MemoryLimit`].
    pub fn open(container: &[u8], options: &Options) -> Result<Decoder> {
        in_default_environment(|| Decoder::of_head(&format::read(container)?, options))
    }

    pub(super) fn of_head(head: &Head, options: &Options) -> Result<Decoder> {
        let segments = head.segment_bytes();
        let known = Some((&head.lengths[..], &segments[..]));
        let plan =
            Plan::decode(&head.pipeline, head.array, head.padded, head.rules, known, options.on_cpu())?;
        let mut decoder = Decoder::within_limit(plan, head.padded, options, true)?;
        decoder.opened = Some(head.clone());
        if let Device::Cuda(index) = options.device {
            device::reachable(index)?;
            decoder.gpu()?;
        }
        Ok(decoder)
    }

    /// The plan for GPUs.
    pub(super) fn gpu(&self) -> Result<&GpuDecoder> {
        self.gpu.get_or_init(|| self.gpu_plan()).as_ref().map_err(Error::clone)
    }

    fn gpu_plan(&self) -> Result<GpuDecoder> {
        let segments = self.opened.as_ref().map(Head::segment_bytes).unwrap_or_default();
        let known = self.opened.as_ref().map(|head| (&head.lengths[..], &segments[..]));
        let making = Making { straight: false, ..self.options.on_gpu() };
        let plan =
            Plan::decode(&self.plan.pipeline, self.plan.array, self.padded, self.plan.rules, known, making)?;
        let gpu = match (&self.encoder, &self.opened) {
            (Some(encoder), _) => GpuDecoder::of_encoder(plan, encoder.get()?),
            (None, Some(head)) => GpuDecoder::of_container(plan, head, &self.options)?,
            (None, None) => return Err(Error::Internal("a decoder has neither an encoder nor a container")),
        };
        // Memory of a device is memory too, and its plan may need more than the one for the CPU.
        within(&self.options, self.array(), gpu.prepared.bytes(), self.opened.is_some())?;
        Ok(gpu)
    }

    /// The decoder, if its memory is within the limit. `foreign`: a container has asked for it.
    pub(super) fn within_limit(plan: Plan, padded: u64, options: &Options, foreign: bool) -> Result<Decoder> {
        within(options, plan.array(), plan.workspace_bytes(), foreign)?;
        Ok(Decoder {
            plan,
            padded,
            options: options.clone(),
            opened: None,
            encoder: None,
            gpu: OnceLock::new(),
        })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
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
        self.plan.array()
    }

    /// Bytes of a workspace: of device memory with a device of CUDA, else of host memory.
    pub fn workspace_bytes(&self) -> u64 {
        match self.options.device {
            Device::Cuda(_) => self.gpu().map_or(self.plan.workspace_bytes(), |gpu| gpu.prepared.bytes()),
            Device::Auto | Device::Cpu => self.plan.workspace_bytes(),
        }
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
            Device::Auto | Device::Cpu => Workspace::new(&self.plan, 0, self.options.threads),
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
            Workspace::within(memory, &self.plan, 0, self.options.threads)
        })
    }

    /// Restores the array of `container` to the front of `dst`; returns its bytes. What does not compress is
    /// stored by every encoder, so a stored container of the same array is taken as well.
    ///
    /// # Errors
    /// [`Error::DstTooSmall`], [`Error::PlanMismatch`] for a container of another pipeline or array,
    /// [`Error::Checksum`], [`Error::Corrupt`]. After an error that only decoding finds, the contents of
    /// `dst` are unspecified.
    pub fn decompress(&self, ws: &mut Workspace, container: &[u8], dst: &mut [u8]) -> Result<usize> {
        in_default_environment(|| {
            let head = format::read(container)?;
            match self.serving(&head)? {
                None => self.run(&head, ws, container, dst),
                Some(stored) => stored.run(&head, &mut stored.workspace()?, container, dst),
            }
        })
    }

    /// The decoder that a container of this head is for: this one, or one of stored arrays.
    pub(super) fn serving(&self, head: &Head) -> Result<Option<Decoder>> {
        if head.array != *self.array() {
            let (is, be) = (&head.array, self.array());
            return Err(Error::PlanMismatch(format!(
                "the container holds {}x{:?}, the plan is for {}x{:?}",
                is.dtype(),
                is.dims(),
                be.dtype(),
                be.dims()
            )));
        }
        if head.pipeline == self.plan.pipeline && head.padded == self.padded {
            return Ok(None);
        }
        if head.pipeline == format::as_read_stored()? {
            return Decoder::of_head(head, &self.options).map(Some);
        }
        Err(Error::PlanMismatch("the container was written by another pipeline; open it by itself".into()))
    }

    pub(super) fn run(
        &self,
        head: &Head,
        ws: &mut Workspace,
        container: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let need = self.array().bytes();
        let have = dst.len() as u64;
        let dst = usize::try_from(need).ok().and_then(|n| dst.get_mut(..n));
        let dst = dst.ok_or(Error::DstTooSmall { need, have })?;
        if self.options.checksum {
            head.verify(container, Threads(ws.threads.pool()))?;
        }
        let lengths = self.lengths(head)?;
        if let Device::Cuda(index) = self.options.device {
            let (container, dst) = (device::Memory::Host(container), device::Memory::Host(dst));
            return self.decompress_on(index, ws, head, container, dst);
        }
        ws.serves(&self.plan)?;
        ws.words[..lengths.len()].copy_from_slice(&lengths);
        self.load(head, ws, container, dst)?;
        cpu::run(&self.plan, ws, ArrayBinding::Write(dst))?;
        Ok(dst.len())
    }

    /// The lengths of all values, when the plan has room for them.
    pub(super) fn lengths(&self, head: &Head) -> Result<Vec<u64>> {
        let lengths = self.plan.graph.lengths(&head.lengths, &head.segment_bytes());
        lengths.map_err(|damaged| match Decoder::of_head(head, &self.options) {
            Err(_) => damaged,
            Ok(_) => Error::PlanMismatch(
                "the container is longer than the one that the plan was opened from; open it by itself"
                    .into(),
            ),
        })
    }

    /// Puts segments and facts where the plan wants them.
    fn load(&self, head: &Head, ws: &mut Workspace, container: &[u8], dst: &mut [u8]) -> Result<()> {
        let g = &self.plan.graph;
        let segments = g.sinks.iter().zip(&head.segments).map(|(s, r)| (s.value, container.get(r.clone())));
        let facts = g.nodes.iter().zip(&head.facts).map(|(n, f)| (n.facts, Some(&f[..])));
        for (v, bytes) in segments.chain(facts) {
            let bytes = bytes.ok_or(Error::Internal("a segment lies outside of its container"))?;
            let block = match self.plan.place(v) {
                Place::Array => &mut *dst,
                Place::Arena { offset } => &mut ws.arena.bytes_mut()[offset as usize..],
                Place::Segment(_) | Place::Dead => continue,
            };
            let room =
                block.get_mut(..bytes.len()).ok_or(Error::Internal("a segment is longer than its place"))?;
            Threads(ws.threads.pool()).copy(bytes, room);
        }
        Ok(())
    }
}

/// Refuses to need more working memory than the options allow. Unless they say how much, what a container asks for has a limit;
/// what follows from the pipeline of an encoder has none, because the room for its longest lists is the caller's own choice.
fn within(options: &Options, array: &Array, need: u64, foreign: bool) -> Result<()> {
    let limit = match options.max_memory_bytes {
        0 if !foreign => return Ok(()),
        0 => array.bytes().saturating_mul(8).saturating_add(64 << 20),
        limit => limit,
    };
    if need > limit { Err(Error::MemoryLimit { need, limit }) } else { Ok(()) }
}
