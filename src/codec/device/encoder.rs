//! Compression on a GPU.

use super::prepared::{self, Prepared};
use super::{DeviceSlice, Memory};
use crate::array::Array;
use crate::codec::Options;
use crate::codec::encoder::{make, stored_pipeline};
use crate::device::Border;
use crate::error::{Error, Result, Status};
use crate::format::{self, Form, Template, image};
use crate::gpu::{Context, Ferry, OwnStream, Stream};
use crate::kernel::Threads;
use crate::launch::Val;
use crate::pipeline::Pipeline;
use crate::plan::{Blueprint, Plan};
use crate::workspace::Workspace;
use std::sync::{Arc, OnceLock};

/// An encoder's plan for GPUs, made when one is first needed. The encoder and its decoders share it.
pub(in crate::codec) struct LazyEncoder {
    pipeline: Pipeline,
    array: Array,
    options: Options,
    may_store: bool,
    made: OnceLock<Result<GpuEncoder>>,
}

impl LazyEncoder {
    /// Of an encoder with these arguments. `may_store`: whether it stores arrays that do not compress.
    pub(in crate::codec) fn new(
        pipeline: &Pipeline,
        array: &Array,
        options: &Options,
        may_store: bool,
    ) -> Arc<Self> {
        let (pipeline, array, options) = (pipeline.clone(), *array, options.clone());
        Arc::new(LazyEncoder { pipeline, array, options, may_store, made: OnceLock::new() })
    }

    /// The plan.
    pub(in crate::codec) fn get(&self) -> Result<&GpuEncoder> {
        let make = || GpuEncoder::new(&self.pipeline, &self.array, &self.options, self.may_store);
        self.made.get_or_init(make).as_ref().map_err(Error::clone)
    }
}

/// What an encoder with this plan writes: without checksums and with them; then the same of a stored array, if it may be
/// stored.
pub(super) fn forms(own: Blueprint<'_>, options: &Options, may_store: bool) -> Result<Vec<(Template, bool)>> {
    let form = |plan: Blueprint<'_>, checksum| format::template(plan, options.container, checksum);
    let mut forms = vec![(form(own, false)?, false), (form(own, true)?, false)];
    if may_store {
        let (plan, plain) = make(&stored_pipeline()?, &own.array, options, false, options.on_cpu())?;
        forms.extend([(plain, true), (form(plan.blueprint(), true)?, true)]);
    }
    Ok(forms)
}

/// The same for the tables of a plan.
pub(super) fn rows(forms: &[(Template, bool)]) -> Vec<Form<'_>> {
    forms.iter().map(|(template, stored)| Form { template, stored: *stored }).collect()
}

/// An encoder's plan for GPUs.
pub(in crate::codec) struct GpuEncoder {
    pub(in crate::codec) prepared: Prepared,
    /// What it writes, as [`forms`] has it.
    pub(super) forms: Vec<(Template, bool)>,
}

impl GpuEncoder {
    fn new(pipeline: &Pipeline, array: &Array, options: &Options, may_store: bool) -> Result<GpuEncoder> {
        let (plan, _) = make(pipeline, array, options, false, options.on_gpu())?;
        let forms = forms(plan.blueprint(), options, may_store)?;
        let image = image(&plan, &rows(&forms), &|v| v, Status::Corrupt);
        Ok(GpuEncoder { prepared: Prepared::new(plan, image), forms })
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
        let own = u32::from(checksum);
        let head = self.forms[own as usize].0.head_bytes().unwrap_or(0);
        let stored = self.forms.get(2 + own as usize);
        let run = self.prepared.run(context, &memory.block, stream, (src.span(), dst.span()), head);
        run.steps()?;
        let border = Border {
            result,
            stored_limit: stored.map_or(u64::MAX, |(t, _)| t.head_bound() + src.bytes),
            own,
            stored: if stored.is_some() { 2 + own } else { 0 },
            array_bytes: src.bytes,
            ..Border::default()
        };
        if !checksum {
            return run.seal(&border);
        }
        run.seal(&Border { result: 0, more: 1, ..border })?;
        run.sum(&border)
    }

    /// Compresses and waits. `room`: the longest container.
    pub(in crate::codec) fn compress(
        &self,
        context: &Context,
        ws: &mut Workspace,
        src: Memory<&[u8]>,
        dst: Memory<&mut [u8]>,
        room: u64,
        checksum: bool,
    ) -> Result<usize> {
        self.prepared.ready(context, ws)?;
        let stream = OwnStream::new(context)?;
        let s = stream.borrow();
        let memory = prepared::memory_mut(&mut ws.gpu)?;
        let src = match src {
            Memory::Device(slice) => slice,
            Memory::Host(bytes) => {
                let staged = prepared::staging(context, &mut memory.array, bytes.len() as u64)?.address();
                Ferry::upload(context, &mut memory.ferry, staged, bytes, s, Threads(ws.threads.pool()))?;
                DeviceSlice { address: staged, bytes: bytes.len() as u64 }
            }
        };
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
            Ferry::download(context, &mut memory.ferry, to, slice.address, s, Threads(threads.pool()))?;
        }
        Ok(bytes)
    }

    /// The values of the plan in the order of the container's nodes, as another plan of the same container has them.
    pub(in crate::codec) fn named_like<'p>(&'p self, other: &'p Plan) -> impl Fn(Val) -> Val + 'p {
        let (mine, theirs) = (&self.prepared.plan.graph, &other.graph);
        let mut pairs = vec![(Val::ARRAY, Val::ARRAY), (mine.source, theirs.source)];
        for (k, &i) in mine.order.iter().enumerate() {
            let (a, b) = (&mine.nodes[i], &theirs.nodes[k]);
            pairs.extend(a.inputs.iter().copied().zip(b.inputs.iter().copied()));
            pairs.extend(a.outputs.iter().copied().zip(b.outputs.iter().copied()));
            pairs.push((a.facts, b.facts));
        }
        move |v| pairs.iter().find(|p| p.0 == v).map_or(Val::ARRAY, |p| p.1)
    }
}
