//! From arrays to containers.

use super::device::{self, GpuEncoder, LazyEncoder};
use super::{Container, Decoder, Device, Options, on_host};
use crate::array::Array;
use crate::backend::cpu::{self, ArrayBinding};
use crate::environment::in_default_environment;
use crate::error::{Error, Result};
use crate::format::{self, Report, Template};
use crate::kernel::Threads;
use crate::launch::{Place, Val};
use crate::pipeline::{Node, Pipeline};
use crate::plan::{Graph, Making, Plan};
use crate::stage::{Generation, Rules};
use crate::workspace::Workspace;
use std::sync::Arc;

/// Compresses arrays of one type and shape. Immutable; any number of threads may share it, each with a
/// workspace of its own.
pub struct Encoder {
    pub(super) plan: Plan,
    template: Template,
    /// What is written when the pipeline does not make the array smaller.
    pub(super) stored: Option<(Plan, Template)>,
    /// Bytes of all segments at most, the outlier lists as long as a call may make them.
    payload: u64,
    pub(super) options: Options,
    /// The plan for GPUs.
    gpu: Arc<LazyEncoder>,
}

impl Encoder {
    /// Plans a pipeline for an array.
    ///
    /// # Errors
    /// Everything that is wrong with the pipeline, its parameters or its fit to the array is said here.
    pub fn new(pipeline: &Pipeline, array: &Array, options: &Options) -> Result<Encoder> {
        in_default_environment(|| {
            let options = &options.with(pipeline.rules);
            let make =
                |pipeline: &Pipeline| make(pipeline, array, options, options.checksum, options.on_cpu());
            let (plan, template) = make(pipeline)?;
            check(&plan, options)?;
            let payload = payload_bound(&plan);
            // A file in the exact form of the reference is never replaced by a stage that only we read.
            let may_store = options.store_incompressible && !options.is_literal();
            let stored = if may_store { Some(make(&stored_pipeline()?)?) } else { None };
            let gpu = LazyEncoder::new(&plan.pipeline, array, options, stored.is_some());
            let encoder = Encoder { plan, template, stored, payload, options: options.clone(), gpu };
            if let Device::Cuda(index) = options.device {
                device::reachable(index)?;
                encoder.gpu()?;
            }
            Ok(encoder)
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
    /// [`Error::Unsupported`].
    pub fn device_plan(&self) -> Result<(&Plan, u64)> {
        self.gpu().map(|gpu| (&gpu.prepared.plan, gpu.prepared.bytes()))
    }

    /// The plan for GPUs.
    pub(super) fn gpu(&self) -> Result<&GpuEncoder> {
        self.gpu.get()
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// No container of this encoder is longer: what does not compress is stored as it is.
    pub fn max_compressed_bytes(&self) -> u64 {
        // Count ports of four bytes: at most one per stage.
        let own = self.template.head_bound() + self.payload + 4 * self.plan.pipeline.nodes.len() as u64;
        self.stored
            .as_ref()
            .map_or(own, |(plan, template)| own.min(template.head_bound() + plan.array().bytes()))
    }

    /// Bytes of a workspace: of device memory with a device of CUDA, else of host memory.
    pub fn workspace_bytes(&self) -> u64 {
        let on_cpu = self.plan.workspace_bytes() + self.template.head_bound();
        match self.options.device {
            Device::Cuda(_) => self.gpu().map_or(on_cpu, |gpu| gpu.prepared.bytes()),
            Device::Auto | Device::Cpu => on_cpu,
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
            Device::Auto | Device::Cpu => {
                Workspace::new(&self.plan, self.template.head_bound(), self.options.threads)
            }
        })
    }

    /// The same in `memory`, at any address and at least [`Encoder::workspace_bytes`] long. Calls on the CPU then take
    /// no other for arrays, whatever those hold: too many outliers end with [`Error::OutlierCapacity`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for less memory, or for a plan of a GPU, which takes memory of its own.
    pub fn workspace_in(&self, memory: &'static mut [u8]) -> Result<Workspace> {
        in_default_environment(|| {
            on_host(self.options.device)?;
            Workspace::within(memory, &self.plan, self.template.head_bound(), self.options.threads)
        })
    }

    /// Compresses `src` into `dst` and returns the length of the container. When the outlier lists turn out
    /// too short, the call plans anew with longer ones, in memory of its own.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] for another length of `src` or a workspace that is too small,
    /// [`Error::DstTooSmall`]. `dst` is only written when the call succeeds.
    pub fn compress(&self, ws: &mut Workspace, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        in_default_environment(|| {
            self.takes(src.len() as u64)?;
            if let Device::Cuda(index) = self.options.device {
                return self.compress_on(index, ws, device::Memory::Host(src), device::Memory::Host(dst));
            }
            ws.serves(&self.plan)?;
            cpu::prime(&self.plan, ws);
            match cpu::run(&self.plan, ws, ArrayBinding::Read(src)) {
                Ok(()) => self.seal(ws, src, dst),
                Err(Error::OutlierCapacity { needed, capacity, .. })
                    if needed > capacity && ws.may_grow() =>
                {
                    let larger = self.with_outliers(needed)?;
                    larger.compress(&mut larger.workspace()?, src, dst)
                }
                Err(e) => Err(e),
            }
        })
    }

    /// Refuses an array of another length than the plan's.
    pub(super) fn takes(&self, bytes: u64) -> Result<()> {
        let want = self.plan.array().bytes();
        if bytes == want {
            return Ok(());
        }
        Err(Error::PlanMismatch(format!("the plan is for an array of {want} bytes, {bytes} were given")))
    }

    /// The same encoder with room for so many outliers.
    pub(super) fn with_outliers(&self, needed: u64) -> Result<Encoder> {
        let elements =
            self.plan.value(self.plan.graph.source).flow.max_bytes() / self.plan.array().dtype().bytes();
        // Clearly more, because the room is reckoned in f32; every step is at least a doubling, so few are needed.
        let capacity = (needed as f64 / elements.max(1) as f64 * 1.01 + 1e-6).min(1.0);
        let mut pipeline = self.plan.pipeline.clone();
        // Where all values had room, more cannot help, and the next plan would ask the same.
        let full = |node: &Node| node.args.real("outlier_capacity").is_ok_and(|c| c >= 1.0);
        if pipeline.nodes.iter().filter(|n| n.args.has("outlier_capacity")).all(full) {
            return Err(Error::Internal("there are no more outliers than values"));
        }
        pipeline.set_everywhere("outlier_capacity", |args| {
            let now = args.real("outlier_capacity")?;
            args.set_real("outlier_capacity", (2.0 * now).max(capacity).min(1.0))
        })?;
        Encoder::new(&pipeline, self.plan.array(), &self.options)
    }

    fn seal(&self, ws: &mut Workspace, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let Workspace { arena, words, head, threads, .. } = ws;
        let threads = Threads(threads.pool());
        let run = Run { plan: &self.plan, words, arena: arena.bytes(), array: src };
        let own = run.head(&self.template, head)?;
        match &self.stored {
            Some((plan, template)) if own > template.head_bound() + src.len() as u64 => {
                let words: Vec<u64> = plan.graph.values.iter().map(|v| v.flow.max_bytes()).collect();
                let run = Run { plan, words: &words, arena: &[], array: src };
                let bytes = run.head(template, head)?;
                run.seal(template, head, bytes, dst, threads)
            }
            _ => run.seal(&self.template, head, own, dst, threads),
        }
    }

    /// The decoder of what this encoder writes, planned without any container. Files in the exact form of the
    /// reference (strict off, generation 2026-05) do not say what the array was: theirs is one padded dimension.
    ///
    /// # Errors
    /// [`Error::MemoryLimit`], if the options state a limit.
    pub fn decoder(&self) -> Result<Decoder> {
        in_default_environment(|| {
            let seen = format::as_read(self.plan.blueprint(), self.options.container)?;
            let padded = self.plan.value(self.plan.graph.source).flow.max_bytes();
            let rules = Rules { generation: Generation::G2026_08, ..self.plan.rules };
            let plan = Plan::decode(&seen.pipeline, seen.array, padded, rules, None, self.options.on_cpu())?;
            let mut decoder = Decoder::within_limit(plan, padded, &self.options, false)?;
            decoder.encoder = Some(self.gpu.clone());
            Ok(decoder)
        })
    }
}

/// The plan of a pipeline, and the template of what it writes.
pub(super) fn make(
    pipeline: &Pipeline,
    array: &Array,
    options: &Options,
    checksum: bool,
    making: Making,
) -> Result<(Plan, Template)> {
    let rules = Rules { strict: options.strict, generation: options.generation };
    let pipeline = &pipeline.bound_to(array)?;
    let padded = match options.container {
        Container::Fzm => pipeline.padded(array.bytes())?,
        Container::Compact => array.bytes(),
    };
    let width = array.dtype().bytes();
    if padded % width != 0 {
        return Err(Error::InvalidPipeline(format!(
            "its chunk and block sizes pad {} bytes to {padded}, which is no whole number of {} elements; take multiples of {width}",
            array.bytes(),
            array.dtype()
        )));
    }
    let plan = Plan::encode(pipeline, *array, padded, rules, making)?;
    let template = format::template(plan.blueprint(), options.container, checksum)?;
    Ok((plan, template))
}

/// Refuses what could be written but not read back, and bounds that would not be those of the array.
fn check(plan: &Plan, options: &Options) -> Result<()> {
    let seen = format::as_read(plan.blueprint(), options.container)?;
    let padded = plan.value(plan.graph.source).flow.max_bytes();
    match Graph::new(&seen.pipeline, seen.array, padded, plan.rules) {
        Ok(_) => {}
        // A reader assumes outlier lists of maximum length.
        Err(e @ Error::TooLarge { .. }) => return Err(e),
        Err(_) => {
            let what = "its first stage does not say what the elements are, and files of 2026-05 with strict off say it nowhere else; use strict or generation 2026-08";
            return Err(Error::Unsupported { stage: "fzm", what: what.into() });
        }
    }
    match plan.pipeline.recoded_bound() {
        Some(stage) if options.strict => Err(Error::InvalidPipeline(format!(
            "the bound of {stage} would be one of recoded values and not of the array; let it read the array, or turn strict off"
        ))),
        _ => Ok(()),
    }
}

/// The longest payload of a pipeline, with outlier lists that hold every element: a call may enlarge them.
fn payload_bound(plan: &Plan) -> u64 {
    let sinks = |g: &Graph| g.sinks.iter().map(|s| g.flow(s.value).max_bytes()).sum();
    let mut pipeline = plan.pipeline.clone();
    let full = pipeline.set_everywhere("outlier_capacity", |args| args.set_real("outlier_capacity", 1.0));
    let padded = plan.value(plan.graph.source).flow.max_bytes();
    match full.and_then(|()| Graph::new(&pipeline, plan.array, padded, plan.rules)) {
        Ok(full) => sinks(&full),
        // No such parameter, or lists that no stage behind them can take: then they never grow so far.
        Err(_) => sinks(&plan.graph),
    }
}

/// What a run of an encoder's plan left behind.
#[derive(Clone, Copy)]
struct Run<'a> {
    plan: &'a Plan,
    words: &'a [u64],
    arena: &'a [u8],
    array: &'a [u8],
}

impl<'a> Run<'a> {
    fn bytes(&self, v: Val) -> Option<&'a [u8]> {
        let bytes = cpu::length(self.plan, self.words, v);
        match self.plan.place(v) {
            Place::Array => self.array.get(..bytes as usize),
            Place::Arena { offset } => self.arena.get(offset as usize..(offset + bytes) as usize),
            Place::Segment(_) | Place::Dead => Some(&[]),
        }
    }

    fn with<R>(&self, f: impl FnOnce(&Report<'_>) -> R) -> R {
        let length = |v: Val| cpu::length(self.plan, self.words, v);
        let bytes = |v: Val| self.bytes(v);
        f(&Report { length: &length, bytes: &bytes })
    }

    /// Fills the head in; returns the length of the container.
    fn head(&self, template: &Template, head: &mut Vec<u8>) -> Result<u64> {
        self.with(|report| {
            template.head(report, head)?;
            Ok(head.len() as u64 + template.payload_bytes(report))
        })
    }

    fn seal(
        &self,
        template: &Template,
        head: &[u8],
        bytes: u64,
        dst: &mut [u8],
        threads: Threads<'_>,
    ) -> Result<usize> {
        let have = dst.len() as u64;
        let dst = usize::try_from(bytes).ok().and_then(|n| dst.get_mut(..n));
        let dst = dst.ok_or(Error::DstTooSmall { need: bytes, have })?;
        self.with(|report| template.seal(head, report, dst, threads))?;
        Ok(dst.len())
    }
}

pub(super) fn stored_pipeline() -> Result<Pipeline> {
    let mut p = Pipeline::new();
    p.add("stored")?;
    Ok(p)
}
