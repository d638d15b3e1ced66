//! Decompression on a GPU.

use super::encoder::{forms, rows};
use super::prepared::{self, Prepared};
use super::{DeviceSlice, GpuEncoder, Memory};
use crate::backend::cuda::{Layout, Run};
use crate::codec::Options;
use crate::device::Border;
use crate::error::{Error, Result, Status};
use crate::format::{Head, Template, image};
use crate::gpu::{Context, Ferry, OwnStream, Stream};
use crate::kernel::Threads;
use crate::launch::Place;
use crate::plan::{Blueprint, Plan};
use crate::stage::Rules;
use crate::workspace::Workspace;

/// A decoder's plan for GPUs.
pub(in crate::codec) struct GpuDecoder {
    pub(in crate::codec) prepared: Prepared,
    /// Whether the tables say how to read a head, so that the device can do it. Not so for one that only others write.
    reads_heads: bool,
    /// Bytes of the head of most containers, or 0 where heads have several lengths.
    head: u64,
}

/// What [`GpuDecoder::head`] has.
fn usual_head(forms: &[(Template, bool)]) -> u64 {
    forms.first().and_then(|(own, _)| own.head_bytes()).unwrap_or(0)
}

impl GpuDecoder {
    /// Of a plan for GPUs, for what the encoder writes.
    pub(in crate::codec) fn of_encoder(plan: Plan, encoder: &GpuEncoder) -> GpuDecoder {
        let image = image(&plan, &rows(&encoder.forms), &encoder.named_like(&plan), Status::Corrupt);
        let head = usual_head(&encoder.forms);
        GpuDecoder { prepared: Prepared::new(plan, image), reads_heads: true, head }
    }

    /// Of a plan for GPUs that was made for one container, for this one and for others that need no more room.
    pub(in crate::codec) fn of_container(plan: Plan, head: &Head, options: &Options) -> Result<GpuDecoder> {
        let Some((origin, graph)) = head.origin() else {
            let template = Template::headless(plan.graph.sinks.iter().map(|s| s.value));
            let image = image(&plan, &rows(&[(template, false)]), &|v| v, Status::PlanMismatch);
            return Ok(GpuDecoder { prepared: Prepared::new(plan, image), reads_heads: false, head: 0 });
        };
        let Head { ref pipeline, array, rules, container, .. } = origin;
        let Rules { strict, generation } = rules;
        let options = Options { strict, generation, container, ..options.clone() };
        let writes = Blueprint { pipeline, array, rules, graph: &graph };
        let mut forms = forms(writes, &options, !options.is_literal())?;
        forms.iter_mut().filter(|(_, stored)| !stored).for_each(|(own, _)| own.quote(&head.bytes));
        let image = image(&plan, &rows(&forms), &|v| v, Status::PlanMismatch);
        let head = usual_head(&forms);
        Ok(GpuDecoder { prepared: Prepared::new(plan, image), reads_heads: true, head })
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
        let border = Border { result, verify: checksum.into(), ..Border::default() };
        self.put(context, ws, (container, dst), stream, border)
    }

    fn put(
        &self,
        context: &Context,
        ws: &mut Workspace,
        (container, dst): (DeviceSlice, DeviceSlice),
        stream: Stream,
        border: Border,
    ) -> Result<()> {
        if !self.reads_heads {
            let what = "the head of the container that was opened is in a form that fzgm does not write, which takes the host to read; use the blocking call";
            return Err(Error::Unsupported { stage: "decompress_async", what: what.into() });
        }
        self.prepared.ready(context, ws)?;
        let memory = prepared::memory(&ws.gpu)?;
        let run =
            self.prepared.run(context, &memory.block, stream, (dst.span(), container.span()), self.head);
        let border = Border { array_bytes: dst.bytes, ..border };
        run.open(&border)?;
        self.rest(&run, &border)
    }

    fn rest(&self, run: &Run<'_>, border: &Border) -> Result<()> {
        run.load(border)?;
        run.steps()?;
        run.close(border)
    }

    /// Decompresses a container whose head was read on the host, and waits.
    pub(in crate::codec) fn decompress(
        &self,
        context: &Context,
        ws: &mut Workspace,
        head: &Head,
        lengths: &[u64],
        container: Memory<&[u8]>,
        dst: Memory<&mut [u8]>,
    ) -> Result<usize> {
        self.prepared.ready(context, ws)?;
        let stream = OwnStream::new(context)?;
        let s = stream.borrow();
        let bytes = self.prepared.plan.array.bytes();
        let memory = prepared::memory_mut(&mut ws.gpu)?;
        let container = match container {
            Memory::Device(slice) => slice,
            Memory::Host(host) => {
                let staged = prepared::staging(context, &mut memory.container, host.len() as u64)?.address();
                Ferry::upload(context, &mut memory.ferry, staged, host, s, Threads(ws.threads.pool()))?;
                DeviceSlice { address: staged, bytes: host.len() as u64 }
            }
        };
        let (slice, host) = prepared::restored_to(context, &mut memory.array, dst, bytes)?;
        let result = prepared::result(context, &mut memory.result)?.address();
        let memory = prepared::memory(&ws.gpu)?;
        let run = self.prepared.run(context, &memory.block, s, (slice.span(), container.span()), 0);
        run.clear()?;
        s.synchronize(context)?;
        self.place(&run, head, lengths)?;
        self.rest(&run, &Border { result, array_bytes: bytes, ..Border::default() })?;
        s.synchronize(context)?;
        prepared::outcome(ws)?.of(&self.prepared.plan, slice.bytes)?;
        deliver(context, ws, host, slice, s)
    }

    /// Decompresses a container in device memory, whose head the device reads, and waits. `None`: it takes the host to
    /// read this one, or to say what is wrong with it.
    pub(in crate::codec) fn decompress_there(
        &self,
        context: &Context,
        ws: &mut Workspace,
        container: DeviceSlice,
        dst: Memory<&mut [u8]>,
        checksum: bool,
    ) -> Result<Option<usize>> {
        if !self.reads_heads {
            return Ok(None);
        }
        self.prepared.ready(context, ws)?;
        let stream = OwnStream::new(context)?;
        let s = stream.borrow();
        let memory = prepared::memory_mut(&mut ws.gpu)?;
        let bytes = self.prepared.plan.array.bytes();
        let (slice, host) = prepared::restored_to(context, &mut memory.array, dst, bytes)?;
        let result = prepared::result(context, &mut memory.result)?.address();
        let border = Border { result, verify: checksum.into(), whole: 1, ..Border::default() };
        self.put(context, ws, (container, slice), s, border)?;
        s.synchronize(context)?;
        if prepared::outcome(ws)?.status != Status::Ok as i32 {
            return Ok(None);
        }
        deliver(context, ws, host, slice, s).map(Some)
    }

    /// Puts lengths, segment places and facts where `fz_open` puts them in asynchronous calls.
    fn place(&self, run: &Run<'_>, head: &Head, lengths: &[u64]) -> Result<()> {
        let plan = &self.prepared.plan;
        let mut control = vec![0; Layout::words_end(plan) as usize];
        let mut put = |at: u64, word: u64| {
            let slot = control.get_mut(at as usize..at as usize + 8);
            slot.map(|s| s.copy_from_slice(&word.to_le_bytes()))
                .ok_or(Error::Internal("a word lies outside of its block"))
        };
        for (i, &bytes) in lengths.iter().enumerate() {
            let root = plan.root(crate::launch::Val(i as u32));
            if root.index() == i {
                put(Layout::word(root), bytes)?;
            }
        }
        for (sink, range) in plan.graph.sinks.iter().zip(&head.segments) {
            put(Layout::start(plan, plan.root(sink.value)), range.start as u64)?;
        }
        run.memory.upload(run.context, 0, &control)?;
        for (node, facts) in plan.graph.nodes.iter().zip(&head.facts) {
            if let Place::Arena { offset } = plan.place(node.facts) {
                run.memory.upload(run.context, self.prepared.layout.in_arena(offset), facts)?;
            }
        }
        Ok(())
    }
}

/// Copies a restored array to the host if that is where it belongs.
fn deliver(
    context: &Context,
    ws: &mut Workspace,
    host: Option<&mut [u8]>,
    from: DeviceSlice,
    stream: Stream,
) -> Result<usize> {
    let bytes = from.bytes as usize;
    if let Some(host) = host {
        let to = host.get_mut(..bytes).ok_or(Error::Internal("a destination is shorter than was checked"))?;
        let Workspace { gpu, threads, .. } = ws;
        let memory = prepared::memory_mut(gpu)?;
        Ferry::download(context, &mut memory.ferry, to, from.address, stream, Threads(threads.pool()))?;
    }
    Ok(bytes)
}
