//! Decompression on a GPU.

use super::encoder::Forms;
use super::prepared::Delivery;
use super::prepared::{self, Prepared};
use super::{DeviceSlice, Elements, GpuEncoder, Memory};
use crate::base::error::{Error, Result, Status};
use crate::base::parallel::Parallel;
use crate::codec::Options;
use crate::codec::encoder::bind_stored;
use crate::format::{Form, Header, Template, image};
use crate::gpu::abi::{ContainerArgs, STATUS_AT};
use crate::gpu::{Context, OwnStream, PinnedStaging, Stream};
use crate::ir::stage::Rules;
use crate::ir::value::Place;
use crate::plan::{BoundPipeline, Plan};
use crate::runtime::cuda::{Run, WorkspaceLayout};
use crate::runtime::workspace::Workspace;

/// A decoder's plan for GPUs.
pub(in crate::codec) struct GpuDecoder {
    pub(in crate::codec) prepared: Prepared,
    /// True if the tables describe the header, so that the device can read it. False for a header that only
    /// other programs write.
    reads_headers: bool,
    /// Bytes of the header of most containers, or 0 where headers have several lengths.
    pub(super) header: u64,
    /// These headers.
    pub(super) headers: Vec<Template>,
}

impl GpuDecoder {
    /// A decoder with a plan for GPUs, for containers of the encoder. `longer`: the status for a header that states a length without
    /// room in the plan.
    pub(in crate::codec) fn of_encoder(plan: Plan, encoder: &GpuEncoder, longer: Status) -> GpuDecoder {
        let image = image(&plan, &encoder.forms.rows(), &encoder.named_like(&plan), longer);
        let header = encoder.forms.fixed_header_bytes();
        GpuDecoder {
            prepared: Prepared::new(plan, image),
            reads_headers: true,
            header,
            headers: encoder.forms.coded(),
        }
    }

    /// A decoder with a plan for GPUs that was made for one container. It decodes this container and others
    /// that need no more room.
    pub(in crate::codec) fn of_container(
        plan: Plan,
        header: &Header,
        options: &Options,
    ) -> Result<GpuDecoder> {
        let Some(origin) = header.canonical() else {
            let template = Template::without_header(plan.bound.graph.sinks.iter().map(|s| s.value));
            let image =
                image(&plan, &[Form { template: &template, stored: false }], &|v| v, Status::PlanMismatch);
            return Ok(GpuDecoder {
                prepared: Prepared::new(plan, image),
                reads_headers: false,
                header: 0,
                headers: vec![],
            });
        };
        let BoundPipeline { array, rules: Rules { strict, generation, .. }, .. } = origin.bound;
        let options = Options { strict, generation, container: origin.container, ..options.clone() };
        let stored = (!options.is_literal()).then(|| bind_stored(&array, &options)).transpose()?;
        let mut forms = Forms::new(&origin.bound, stored.as_ref(), options.container)?;
        forms.adopt_informational(&header.bytes);
        let image = image(&plan, &forms.rows(), &|v| v, Status::PlanMismatch);
        let header = forms.fixed_header_bytes();
        Ok(GpuDecoder {
            prepared: Prepared::new(plan, image),
            reads_headers: true,
            header,
            headers: forms.coded(),
        })
    }

    /// Puts a whole decompression on a stream. Nothing is waited for, nothing of the container is known, which may be shorter than its
    /// memory.
    pub(in crate::codec) fn enqueue(
        &self,
        context: &Context,
        ws: &mut Workspace,
        (container, dst): (DeviceSlice, DeviceSlice),
        result: u64,
        stream: Stream,
        checksum: bool,
    ) -> Result<()> {
        let args = ContainerArgs { result, verify: checksum.into(), ..ContainerArgs::default() };
        self.put(context, ws, (container, dst), stream, args)
    }

    fn put(
        &self,
        context: &Context,
        ws: &mut Workspace,
        (container, dst): (DeviceSlice, DeviceSlice),
        stream: Stream,
        args: ContainerArgs,
    ) -> Result<()> {
        self.expect_readable()?;
        self.prepared.ready(context, ws)?;
        let memory = prepared::memory(&ws.gpu)?;
        let run =
            self.prepared.run(context, &memory.block, stream, (dst.span(), container.span()), self.header);
        let single = &self.prepared.tables.single;
        if !single.is_empty() {
            return run.restore(single, &ContainerArgs { array_bytes: run.array.bytes, ..args });
        }
        GpuDecoder::launch(&run, args)
    }

    /// Rejects a decoder whose containers only the host can read.
    pub(super) fn expect_readable(&self) -> Result<()> {
        if self.reads_headers {
            return Ok(());
        }
        let what = "the header of the opened container is not in the form that fzgm writes, and only the host can read it; use the blocking call";
        Err(Error::Unsupported { stage: "decompress_async", what: what.into() })
    }

    /// Puts the launches of a run on its stream.
    pub(super) fn launch(run: &Run<'_>, args: ContainerArgs) -> Result<()> {
        let args = ContainerArgs { array_bytes: run.array.bytes, ..args };
        run.open(&args)?;
        run.run()?;
        run.seal(&args)
    }

    /// Decompresses a container whose header was read on the host, and waits.
    pub(in crate::codec) fn decompress(
        &self,
        context: &Context,
        ws: &mut Workspace,
        header: &Header,
        lengths: &[u64],
        container: Memory<&[u8]>,
        dst: Elements<&mut [u8]>,
    ) -> Result<usize> {
        self.prepared.ready(context, ws)?;
        let stream = OwnStream::new(context)?;
        let s = stream.borrow();
        let bytes = self.prepared.plan.bound.array.bytes();
        let memory = prepared::memory_mut(&mut ws.gpu)?;
        let container = prepared::on_device(
            context,
            &mut memory.container,
            &mut memory.pinned_staging,
            container,
            s,
            Parallel(ws.threads.pool()),
        )?;
        let (slice, rest) = prepared::restored_to(context, &mut memory.array, dst, bytes)?;
        let result = prepared::result(context, &mut memory.result)?.address();
        let memory = prepared::memory(&ws.gpu)?;
        let run = self.prepared.run(context, &memory.block, s, (slice.span(), container.span()), 0);
        run.clear()?;
        s.synchronize(context)?;
        self.place(&run, header, lengths)?;
        let args = ContainerArgs { result, array_bytes: bytes, ..ContainerArgs::default() };
        run.load(&args)?;
        run.run()?;
        run.seal(&args)?;
        s.synchronize(context)?;
        prepared::outcome(ws)?.of(&self.prepared.plan, slice.bytes)?;
        deliver(context, ws, rest, slice, s)
    }

    /// Decompresses a container whose header the device reads, and waits. `None`: only the host can read this
    /// container or report its defect.
    pub(in crate::codec) fn decompress_there(
        &self,
        context: &Context,
        ws: &mut Workspace,
        container: Memory<&[u8]>,
        mut dst: Elements<&mut [u8]>,
        checksum: bool,
    ) -> Result<Option<usize>> {
        if !self.reads_headers {
            return Ok(None);
        }
        self.prepared.ready(context, ws)?;
        if let (Memory::Host(container), Elements::Packed(Memory::Host(dst))) = (&container, &mut dst) {
            if let Some(bytes) = self.restore_overlapped(context, ws, (container, dst), checksum)? {
                return Ok(Some(bytes));
            }
        }
        let stream = OwnStream::new(context)?;
        let s = stream.borrow();
        let memory = prepared::memory_mut(&mut ws.gpu)?;
        let container = prepared::on_device(
            context,
            &mut memory.container,
            &mut memory.pinned_staging,
            container,
            s,
            Parallel(ws.threads.pool()),
        )?;
        let bytes = self.prepared.plan.bound.array.bytes();
        let (slice, rest) = prepared::restored_to(context, &mut memory.array, dst, bytes)?;
        let result = prepared::result(context, &mut memory.result)?.address();
        let args = ContainerArgs { result, verify: checksum.into(), whole: 1, ..ContainerArgs::default() };
        self.put(context, ws, (container, slice), s, args)?;
        s.synchronize(context)?;
        if prepared::outcome(ws)?.status != Status::Ok as i32 {
            return Ok(None);
        }
        deliver(context, ws, rest, slice, s).map(Some)
    }

    /// Puts lengths, segment places and metadata where `fz_open` puts them in asynchronous calls.
    fn place(&self, run: &Run<'_>, header: &Header, lengths: &[u64]) -> Result<()> {
        let plan = &self.prepared.plan;
        let mut control = vec![0; WorkspaceLayout::words_end(plan) as usize];
        let mut put = |at: u64, word: u64| {
            let slot = control.get_mut(at as usize..at as usize + 8);
            slot.map(|s| s.copy_from_slice(&word.to_le_bytes()))
                .ok_or(Error::Internal("a word lies outside of its block"))
        };
        for (i, &bytes) in lengths.iter().enumerate() {
            let root = plan.root(crate::ir::value::Val(i as u32));
            if root.index() == i {
                put(WorkspaceLayout::word(root), bytes)?;
            }
        }
        for (sink, range) in plan.bound.graph.sinks.iter().zip(&header.segments) {
            put(WorkspaceLayout::start(plan, plan.root(sink.value)), range.start as u64)?;
        }
        run.memory.upload(run.context, 0, &control)?;
        for (node, metadata) in plan.bound.graph.nodes.iter().zip(&header.metadata) {
            if let Place::Arena { offset } = plan.place(node.metadata) {
                run.memory.upload(run.context, self.prepared.layout.in_arena(offset), metadata)?;
            }
        }
        Ok(())
    }
}

/// Copies a restored array to its destination if the device has restored it elsewhere, and waits.
fn deliver(
    context: &Context,
    ws: &mut Workspace,
    rest: Delivery<'_>,
    from: DeviceSlice,
    stream: Stream,
) -> Result<usize> {
    let bytes = from.bytes as usize;
    let Workspace { gpu, threads, .. } = ws;
    let memory = prepared::memory_mut(gpu)?;
    match rest {
        Delivery::Done => {}
        Delivery::Host(host) => {
            let to =
                host.get_mut(..bytes).ok_or(Error::Internal("a destination is shorter than was checked"))?;
            PinnedStaging::download(
                context,
                &mut memory.pinned_staging,
                to,
                from.address,
                stream,
                Parallel(threads.pool()),
            )?;
        }
        Delivery::Strided(view) => {
            let status = memory.block.address() + STATUS_AT;
            view.unpack(context, from.address, stream, status, false)?;
            stream.synchronize(context)?;
        }
    }
    Ok(bytes)
}
