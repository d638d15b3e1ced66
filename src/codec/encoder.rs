//! From arrays to containers.

use super::device::{self, GpuEncoder, LazyEncoder};
use super::{Container, Decoder, Device, Options, on_host};
use crate::base::array::Array;
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::base::param::OUTLIER_CAPACITY;
use crate::format::{self, Template};
use crate::ir::stage::Rules;
use crate::pipeline::{Node, Pipeline, Source};
use crate::plan::{BoundPipeline, Direction, Plan};
use crate::runtime::cpu::{self, ArrayBinding};
use crate::runtime::workspace::Workspace;
use std::sync::{Arc, OnceLock};

/// Compresses arrays of one type and shape. Immutable; any number of threads may share it, each with a
/// workspace of its own.
pub struct Encoder {
    form: Arc<EncoderForm>,
    template: Template,
    /// The same of a stored array, if one may take the place of the container.
    stored_template: Option<Template>,
    /// Bytes of all segments at most, the outlier lists as long as a call may make them.
    payload: u64,
    /// The bound pipeline as a reader of the containers sees it.
    view: BoundPipeline,
    pub(super) options: Options,
    workspace_bytes: u64,
    /// The plan for the CPU, compiled when it is first needed.
    cpu: OnceLock<Result<Plan>>,
    /// The plan for GPUs, compiled when it is first needed.
    gpu: Arc<LazyEncoder>,
}

/// The input of the compilation of an encoder's plans.
pub(super) struct EncoderForm {
    pub(super) bound: BoundPipeline,
    /// The form of arrays that the pipeline does not make smaller. A file in the exact form of the reference
    /// is never replaced by a stage that only this library reads.
    pub(super) stored: Option<BoundPipeline>,
    pub(super) options: Options,
}

impl Encoder {
    /// Plans a pipeline for an array.
    ///
    /// # Errors
    /// Everything that is wrong with the pipeline, its parameters or its fit to the array.
    pub fn new(pipeline: &Pipeline, array: &Array, options: &Options) -> Result<Encoder> {
        in_default_environment(|| {
            let options = options.with(pipeline.rules);
            let bound = bind(pipeline, array, &options)?;
            let template = format::template(&bound, options.container, options.checksum)?;
            let mut workspace_bytes = 0;
            let cpu = OnceLock::new();
            if !matches!(options.device, Device::Cuda(_)) {
                // Lowering the stages finds forms that can be read but not written.
                let plan = Plan::compile(&bound, Direction::Encode, options.on_cpu())?;
                workspace_bytes = plan.workspace_bytes() + template.header_bound();
                let _ = cpu.set(Ok(plan));
            }
            let view = format::decoder_view(&bound, options.container)?;
            check(&bound, &options)?;
            let payload = payload_bound(&bound)?;
            let stored = may_store(&options).then(|| bind_stored(array, &options)).transpose()?;
            let form = Arc::new(EncoderForm { bound, stored, options: options.clone() });
            let stored_template = form.stored.as_ref();
            let stored_template = stored_template
                .map(|s| format::template(s, options.container, options.checksum))
                .transpose()?;
            let gpu = LazyEncoder::new(form.clone());
            if let Device::Cuda(index) = options.device {
                workspace_bytes = gpu.get()?.prepared.bytes();
                device::reachable(index)?;
            }
            Ok(Encoder { form, template, stored_template, payload, view, options, workspace_bytes, cpu, gpu })
        })
    }

    /// The array that goes in.
    pub fn array(&self) -> &Array {
        &self.form.bound.array
    }

    /// The pipeline, with the parameters that were left to the shape of the array.
    pub fn pipeline(&self) -> &Pipeline {
        &self.form.bound.pipeline
    }

    /// The plan for the CPU. An encoder for a GPU compiles it on the first call.
    ///
    /// # Errors
    /// [`Error::Internal`] only.
    pub fn plan(&self) -> Result<&Plan> {
        let compile = || Plan::compile(&self.form.bound, Direction::Encode, self.options.on_cpu());
        self.cpu.get_or_init(compile).as_ref().map_err(Error::clone)
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

    /// The largest length of a container of this encoder; an array that does not compress is stored without
    /// coding.
    pub fn max_compressed_bytes(&self) -> u64 {
        // Count ports of four bytes: at most one per stage.
        let own = self.template.header_bound() + self.payload + 4 * self.pipeline().nodes.len() as u64;
        self.stored_template
            .as_ref()
            .map_or(own, |stored| own.min(stored.header_bound() + self.array().bytes()))
    }

    /// The longest header of a container.
    pub(super) fn header_bound(&self) -> u64 {
        self.template.header_bound()
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
            Device::Auto | Device::Cpu => {
                Workspace::new(self.plan()?, self.template.header_bound(), self.options.threads)
            }
        })
    }

    /// A workspace in `memory`, at any address and at least [`Encoder::workspace_bytes`] long. Calls on the
    /// CPU then allocate no other memory for arrays of any contents: too many outliers end with
    /// [`Error::OutlierCapacity`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for less memory, or for a plan of a GPU, which allocates its memory itself.
    pub fn workspace_in(&self, memory: &'static mut [u8]) -> Result<Workspace> {
        in_default_environment(|| {
            on_host(self.options.device)?;
            Workspace::within(memory, self.plan()?, self.template.header_bound(), self.options.threads)
        })
    }

    /// Compresses `src` into `dst` and returns the length of the container. If the outlier lists turn out to
    /// be too short, the call plans again with longer ones, in memory of its own.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] for another length of `src` or a workspace that is too small,
    /// [`Error::DstTooSmall`]. These leave `dst` as it was; after an error of a device, its contents are undefined.
    pub fn compress(&self, ws: &mut Workspace, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        self.compress_into(ws, src, |_| Ok(dst))
    }

    /// The same into memory that `dst` returns for a length, which on the CPU is that of the container and on a GPU
    /// [`Encoder::max_compressed_bytes`]. The call writes nothing beyond the container.
    ///
    /// # Errors
    /// As [`Encoder::compress`], and those of `dst`.
    pub fn compress_into<'d>(
        &self,
        ws: &mut Workspace,
        src: &[u8],
        dst: impl FnOnce(u64) -> Result<&'d mut [u8]>,
    ) -> Result<usize> {
        in_default_environment(|| {
            self.takes(src.len() as u64)?;
            if let Device::Cuda(index) = self.options.device {
                let dst = dst(self.max_compressed_bytes())?;
                return self.compress_on(index, ws, device::Elements::host(src), device::Memory::Host(dst));
            }
            let mut run = cpu::Run { plan: self.plan()?, ws, array: ArrayBinding::Read(src) };
            run.open(None)?;
            match run.run() {
                Ok(()) => run.seal(&self.template, self.stored().as_ref(), dst),
                Err(Error::OutlierCapacity { needed, capacity, .. })
                    if needed > capacity && run.ws.may_grow() =>
                {
                    let larger = self.with_outliers(needed)?;
                    larger.compress_into(&mut larger.workspace()?, src, dst)
                }
                Err(e) => Err(e),
            }
        })
    }

    /// Rejects an array of another length than the plan's.
    pub(super) fn takes(&self, bytes: u64) -> Result<()> {
        let want = self.array().bytes();
        if bytes == want {
            return Ok(());
        }
        Err(Error::PlanMismatch(format!("the array has {bytes} bytes, but the plan is for {want}")))
    }

    /// An encoder with the same options and room for `needed` outliers.
    pub(super) fn with_outliers(&self, needed: u64) -> Result<Encoder> {
        let elements = self.form.bound.padded_bytes() / self.array().dtype().bytes();
        // Clearly more, because the room is reckoned in f32; every step is at least a doubling, so few are needed.
        let capacity = (needed as f64 / elements.max(1) as f64 * 1.01 + 1e-6).min(1.0);
        let mut pipeline = self.pipeline().clone();
        // Where all values had room, more cannot help, and the next plan would end the same.
        let full = |node: &Node| node.args.real(OUTLIER_CAPACITY).is_ok_and(|c| c >= 1.0);
        if pipeline.nodes.iter().filter(|n| n.args.has(OUTLIER_CAPACITY)).all(full) {
            return Err(Error::Internal("there are no more outliers than values"));
        }
        pipeline.set_everywhere(OUTLIER_CAPACITY, |args| {
            let now = args.real(OUTLIER_CAPACITY)?;
            args.set_real(OUTLIER_CAPACITY, (2.0 * now).max(capacity).min(1.0))
        })?;
        Encoder::new(&pipeline, self.array(), &self.options)
    }

    fn stored(&self) -> Option<cpu::StoredForm<'_>> {
        let (template, bound) = (self.stored_template.as_ref()?, self.form.stored.as_ref()?);
        Some(cpu::StoredForm { template, graph: &bound.graph })
    }

    /// The decoder for the containers of this encoder, planned without a container. Files in the exact form
    /// of the reference (strict off, generation 2026-05) do not contain type and shape of the array: their
    /// decoder restores one padded dimension.
    ///
    /// # Errors
    /// [`Error::MemoryLimit`], if the options state a limit.
    pub fn decoder(&self) -> Result<Decoder> {
        in_default_environment(|| Decoder::of_encoder(self.view.clone(), self.gpu.clone(), &self.options))
    }
}

/// True if an encoder with these options stores arrays that do not compress.
pub(super) fn may_store(options: &Options) -> bool {
    options.store_incompressible && !options.is_literal()
}

/// A pipeline bound to an array and padded as in the container.
fn bind(pipeline: &Pipeline, array: &Array, options: &Options) -> Result<BoundPipeline> {
    let Options { strict, generation, previous_base, .. } = *options;
    let rules = Rules { strict, generation, previous_base, own_streams: true };
    let pipeline = pipeline.bound_to(array)?.under(rules);
    let padded = match options.container {
        Container::Fzm => pipeline.padded(array.bytes())?,
        Container::Compact => array.bytes(),
    };
    let width = array.dtype().bytes();
    if padded % width != 0 {
        return Err(Error::InvalidPipeline(format!(
            "its chunk and block sizes pad {} bytes to {padded}, which is not a multiple of {} elements; use multiples of {width}",
            array.bytes(),
            array.dtype()
        )));
    }
    let recoded = pipeline.recoded_bound().filter(|_| strict).map(|stage| pipeline.recoded(stage, ""));
    BoundPipeline::new(pipeline, *array, padded, rules).map_err(|e| match (e, recoded) {
        // The output of the stage before it is not even an array of floats.
        (Error::TypeMismatch { .. }, Some(recoded)) => recoded,
        (e, _) => e,
    })
}

/// The form of an array that is stored without coding.
pub(super) fn bind_stored(array: &Array, options: &Options) -> Result<BoundPipeline> {
    bind(&Pipeline::identity(), array, options)
}

/// Rejects bounds that would not be those of the array, and stages that take elements of others apart.
fn check(bound: &BoundPipeline, options: &Options) -> Result<()> {
    for (i, (node, values)) in bound.pipeline.nodes.iter().zip(&bound.graph.nodes).enumerate() {
        for (source, &input) in node.inputs.iter().zip(&values.inputs) {
            let Source::Port { node: from, port } = *source else { continue };
            let Some(from) = bound.pipeline.nodes.get(from) else { continue };
            let port = from.stage.outputs(&from.args)?.get(port).copied().unwrap_or_default();
            let edge = bound.graph.edge(input);
            let fed = node.stage.check_feed(&node.args, &format!("{}.{port}", from.stage()), edge);
            fed.map_err(|e| bound.pipeline.in_stage(i, e))?;
        }
    }
    match bound.pipeline.recoded_bound() {
        Some(stage) if options.strict => Err(bound.pipeline.recoded(stage, ", or disable strict")),
        _ => Ok(()),
    }
}

/// The longest payload of a pipeline, with outlier lists that hold every element: a call may enlarge them.
fn payload_bound(bound: &BoundPipeline) -> Result<u64> {
    if bound.graph.nodes.iter().all(|n| n.bound.outlier_lists().is_empty()) {
        return Ok(bound.payload_bound());
    }
    let mut pipeline = bound.pipeline.clone();
    pipeline.set_everywhere(OUTLIER_CAPACITY, |args| args.set_real(OUTLIER_CAPACITY, 1.0))?;
    let full = BoundPipeline::new(pipeline, bound.array, bound.padded_bytes(), bound.rules);
    // Lists that no stage behind them can take never grow so far.
    Ok(full.map_or_else(|_| bound.payload_bound(), |full| full.payload_bound()))
}
