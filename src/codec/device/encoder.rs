//! Compression on a GPU.

use super::prepared::{self, Prepared};
use super::{DeviceSlice, Elements, Memory};
use crate::base::error::{Error, Result, Status};
use crate::base::parallel::Parallel;
use crate::codec::Container;
use crate::codec::encoder::EncoderForm;
use crate::format::{self, Form, Template, image};
use crate::gpu::abi::ContainerArgs;
use crate::gpu::{Context, OwnStream, PinnedStaging, Stream};
use crate::ir::value::{Place, Val};
use crate::plan::{BoundPipeline, CompileOptions, Direction, Plan};
use crate::runtime::cuda::{Grouping, Run, grouping};
use crate::runtime::workspace::Workspace;
use std::sync::{Arc, OnceLock};

/// An encoder's plan for GPUs, compiled when it is first needed. The encoder and its decoders share it.
pub(in crate::codec) struct LazyEncoder {
    form: Arc<EncoderForm>,
    compiled: OnceLock<Result<GpuEncoder>>,
}

impl LazyEncoder {
    pub(in crate::codec) fn new(form: Arc<EncoderForm>) -> Arc<Self> {
        Arc::new(LazyEncoder { form, compiled: OnceLock::new() })
    }

    /// The encoder's pipeline.
    pub(in crate::codec) fn bound(&self) -> &BoundPipeline {
        &self.form.bound
    }

    /// The plan.
    pub(in crate::codec) fn get(&self) -> Result<&GpuEncoder> {
        self.compiled.get_or_init(|| GpuEncoder::new(self.form.clone())).as_ref().map_err(Error::clone)
    }
}

/// The headers that an encoder may write, without and with checksums.
pub(super) struct Forms {
    own: Template,
    own_checked: Template,
    /// The headers of an array that is stored without coding.
    stored: Option<(Template, Template)>,
}

impl Forms {
    /// The forms of a bound pipeline, and of a stored array if one may take its place.
    pub(super) fn new(
        own: &BoundPipeline,
        stored: Option<&BoundPipeline>,
        container: Container,
    ) -> Result<Forms> {
        let form = |of: &BoundPipeline, checksum| format::template(of, container, checksum);
        let stored = stored.map(|of| Ok::<_, Error>((form(of, false)?, form(of, true)?))).transpose()?;
        Ok(Forms { own: form(own, false)?, own_checked: form(own, true)?, stored })
    }

    /// Copies the informational fields of `header`, which may differ from those of an encoder.
    pub(super) fn adopt_informational(&mut self, header: &[u8]) {
        self.own.adopt_informational(header);
        self.own_checked.adopt_informational(header);
    }

    /// The headers of an array that is coded, without and with checksums.
    pub(super) fn coded(&self) -> Vec<Template> {
        vec![self.own.clone(), self.own_checked.clone()]
    }

    /// Index of the encoder's own form among the rows, and that of a stored array.
    fn rows_of(&self, checksum: bool) -> (u32, Option<u32>) {
        let own = u32::from(checksum);
        (own, self.stored.is_some().then_some(2 + own))
    }

    fn own(&self, checksum: bool) -> &Template {
        if checksum { &self.own_checked } else { &self.own }
    }

    fn stored(&self, checksum: bool) -> Option<&Template> {
        self.stored.as_ref().map(|(plain, checked)| if checksum { checked } else { plain })
    }

    /// Bytes of the header that most containers have, or 0 where headers have several lengths.
    pub(super) fn fixed_header_bytes(&self) -> u64 {
        self.own.header_bytes().unwrap_or(0)
    }

    /// The same for the tables of a plan.
    pub(super) fn rows(&self) -> Vec<Form<'_>> {
        let own = [&self.own, &self.own_checked].map(|template| Form { template, stored: false });
        let stored = self.stored.iter().flat_map(|(plain, checked)| [plain, checked]);
        own.into_iter().chain(stored.map(|template| Form { template, stored: true })).collect()
    }
}

/// An encoder's plan for GPUs.
pub(in crate::codec) struct GpuEncoder {
    pub(in crate::codec) prepared: Prepared,
    pub(super) forms: Forms,
    form: Arc<EncoderForm>,
    /// For an array of a batch, if no segment can be written where it belongs: only the last function of a call
    /// reads the capacity of the container.
    indirect: OnceLock<Result<Prepared>>,
}

impl GpuEncoder {
    fn new(form: Arc<EncoderForm>) -> Result<GpuEncoder> {
        let EncoderForm { bound, stored, options } = &*form;
        let forms = Forms::new(bound, stored.as_ref(), options.container)?;
        let prepared = GpuEncoder::prepare(bound, &forms, options.on_gpu())?;
        Ok(GpuEncoder { prepared, forms, form, indirect: OnceLock::new() })
    }

    fn prepare(bound: &BoundPipeline, forms: &Forms, options: CompileOptions) -> Result<Prepared> {
        let plan = Plan::compile(bound, Direction::Encode, options)?;
        let image = image(&plan, &forms.rows(), &|v| v, Status::Corrupt);
        Ok(Prepared::new(plan, image))
    }

    /// The plan for the arrays of a batch.
    pub(super) fn of_batch(&self) -> Result<&Prepared> {
        let plan = &self.prepared.plan;
        let direct = plan.bound.graph.sinks.iter().any(|s| matches!(plan.place(s.value), Place::Segment(_)));
        if !direct || grouping(plan) == Grouping::Rows {
            return Ok(&self.prepared);
        }
        let EncoderForm { bound, options, .. } = &*self.form;
        let options = CompileOptions { direct_output: false, ..options.on_gpu() };
        let indirect = || GpuEncoder::prepare(bound, &self.forms, options);
        self.indirect.get_or_init(indirect).as_ref().map_err(Error::clone)
    }

    /// Puts a whole compression on a stream. Nothing is waited for.
    pub(in crate::codec) fn enqueue(
        &self,
        context: &Context,
        ws: &mut Workspace,
        slices: (DeviceSlice, DeviceSlice),
        result: u64,
        stream: Stream,
        checksum: bool,
    ) -> Result<()> {
        self.prepared.ready(context, ws)?;
        let put = self.put(context, ws, slices, result, stream, checksum);
        if put.is_err() {
            // The last launch leaves zeros for the next call. Without it this memory is not fit for one.
            ws.gpu = None;
        }
        put
    }

    fn put(
        &self,
        context: &Context,
        ws: &Workspace,
        (src, dst): (DeviceSlice, DeviceSlice),
        result: u64,
        stream: Stream,
        checksum: bool,
    ) -> Result<()> {
        let memory = prepared::memory(&ws.gpu)?;
        let header = self.header_bytes(checksum);
        let run = self.prepared.run(context, &memory.block, stream, (src.span(), dst.span()), header);
        self.launch(&run, result, checksum)
    }

    /// Bytes of the header of a container, or 0 if they depend on the contents.
    pub(super) fn header_bytes(&self, checksum: bool) -> u64 {
        self.forms.own(checksum).header_bytes().unwrap_or(0)
    }

    /// Puts the launches of a run on its stream.
    pub(super) fn launch(&self, run: &Run<'_>, result: u64, checksum: bool) -> Result<()> {
        run.admit()?;
        run.run()?;
        self.seal(run, result, checksum)
    }

    /// Puts the end of a run on its stream.
    pub(super) fn seal(&self, run: &Run<'_>, result: u64, checksum: bool) -> Result<()> {
        let (own, stored_row) = self.forms.rows_of(checksum);
        let bytes = run.array.bytes;
        run.seal(&ContainerArgs {
            result,
            stored_limit: self.forms.stored(checksum).map_or(u64::MAX, |t| t.header_bound() + bytes),
            own,
            stored: stored_row.unwrap_or(0),
            array_bytes: bytes,
            verify: checksum.into(),
            ..ContainerArgs::default()
        })
    }

    /// Compresses and waits. `room`: the longest container.
    pub(in crate::codec) fn compress(
        &self,
        context: &Context,
        ws: &mut Workspace,
        src: Elements<&[u8]>,
        mut dst: Memory<&mut [u8]>,
        room: u64,
        checksum: bool,
    ) -> Result<usize> {
        self.prepared.ready(context, ws)?;
        if let (Elements::Packed(Memory::Host(src)), Memory::Host(dst)) = (&src, &mut dst) {
            if let Some(divided) = self.divided((src, dst), room, checksum)? {
                let dst = dst.get_mut(..room as usize).ok_or(Error::Internal("a container has no room"))?;
                return self.compress_overlapped(context, ws, &divided, (src, dst), checksum);
            }
        }
        let stream = OwnStream::new(context)?;
        let s = stream.borrow();
        let memory = prepared::memory_mut(&mut ws.gpu)?;
        let src = prepared::packed_on_device(context, memory, src, s, Parallel(ws.threads.pool()))?;
        let (slice, mut host) = match dst {
            Memory::Device(slice) => (slice, None),
            Memory::Host(bytes) => {
                let bytes_staged = room.min(bytes.len() as u64);
                let staged = prepared::staging(context, &mut memory.container, bytes_staged)?.address();
                (DeviceSlice { address: staged, bytes: bytes_staged }, Some(bytes))
            }
        };
        let result = prepared::result(context, &mut memory.result)?.address();
        self.enqueue(context, ws, (src, slice), result, s, checksum)?;
        s.synchronize(context)?;
        let have = host.as_ref().map_or(slice.bytes, |h| h.len() as u64);
        let bytes = prepared::outcome(ws)?.of(&self.prepared.plan, have)? as usize;
        if let Some(host) = &mut host {
            let to = host.get_mut(..bytes).ok_or(Error::Internal("a container is longer than its room"))?;
            let Workspace { gpu, threads, .. } = ws;
            let memory = prepared::memory_mut(gpu)?;
            PinnedStaging::download(
                context,
                &mut memory.pinned_staging,
                to,
                slice.address,
                s,
                Parallel(threads.pool()),
            )?;
        }
        Ok(bytes)
    }

    /// The values of the plan in the order of the container's nodes, as another plan of the same container has them.
    pub(in crate::codec) fn named_like<'p>(&'p self, other: &'p Plan) -> impl Fn(Val) -> Val + 'p {
        let (mine, theirs) = (&self.prepared.plan.bound.graph, &other.bound.graph);
        let mut pairs = vec![(Val::ARRAY, Val::ARRAY), (mine.source, theirs.source)];
        for (k, &i) in mine.order.iter().enumerate() {
            let (a, b) = (&mine.nodes[i], &theirs.nodes[k]);
            pairs.extend(a.inputs.iter().copied().zip(b.inputs.iter().copied()));
            pairs.extend(a.outputs.iter().copied().zip(b.outputs.iter().copied()));
            pairs.push((a.metadata, b.metadata));
        }
        move |v| pairs.iter().find(|p| p.0 == v).map_or(Val::ARRAY, |p| p.1)
    }
}
