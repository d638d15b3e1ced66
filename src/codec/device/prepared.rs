//! A plan for a GPU with its tables, and the memory that both take.

use super::{CallResult, DeviceSlice, Elements, Memory, StridedSlice};
use crate::base::error::{Error, Result};
use crate::base::parallel::Parallel;
use crate::format::Tables;
use crate::gpu::{Context, DeviceMemory, Pinned, PinnedStaging, Stream};
use crate::plan::{Direction, Plan};
use crate::runtime::cuda::{Run, Span, WorkspaceLayout, preload};
use crate::runtime::workspace::{GpuMemory, Workspace};
use std::cell::Cell;
use std::ops::Range;

/// A plan for a GPU.
pub(in crate::codec) struct Prepared {
    pub(in crate::codec) plan: Plan,
    pub(super) layout: WorkspaceLayout,
    pub(super) tables: Tables,
}

impl Prepared {
    pub(super) fn new(plan: Plan, tables: Tables) -> Prepared {
        let layout = WorkspaceLayout::new(&plan, tables.bytes.len() as u64, tables.staged);
        Prepared { plan, layout, tables }
    }

    /// Bytes of device memory of a call.
    pub(in crate::codec) fn bytes(&self) -> u64 {
        self.layout.bytes
    }

    /// Allocates the device memory of the workspace, and loads the tables and all functions, which an
    /// asynchronous call must not do. Afterwards the memory that must be zero at the start of a call is zero, and
    /// the workspace has kept nothing of earlier calls.
    pub(in crate::codec) fn ready(&self, context: &Context, ws: &mut Workspace) -> Result<()> {
        if ws.gpu.as_ref().is_some_and(|m| m.plan == self.plan.id && m.block.belongs(context)) {
            return Ok(());
        }
        preload(context, &self.plan, None)?;
        // Calls of another plan may still use this memory: freeing it waits for them, and the writes below do
        // not. Copies of the caller's memory belong to blocking calls, which have ended.
        let kept = ws.gpu.take().filter(|m| m.block.belongs(context));
        let block = DeviceMemory::new(context, self.bytes())?;
        ws.gpu = Some(match kept {
            Some(memory) => GpuMemory { block, plan: 0, ..memory },
            None => GpuMemory::new(block),
        });
        let memory = memory_mut(&mut ws.gpu)?;
        memory.block.upload(context, 0, &vec![0; self.layout.image as usize])?;
        memory.block.upload(context, self.layout.image, &self.tables.bytes)?;
        memory.plan = self.plan.id;
        Ok(())
    }

    /// The parts of a prepared workspace whose contents do not affect the next call: all but the tables and the memory immediately before
    /// them, which is kept from call to call, and, for an encoder, all memory before the tables.
    pub(super) fn scratch(&self, ws: &Workspace) -> Vec<DeviceSlice> {
        let Some(block) = ws.gpu.as_ref().filter(|m| m.plan == self.plan.id).map(|m| &m.block) else {
            return vec![];
        };
        let tables = self.layout.tables();
        let zeros = if self.plan.direction == Direction::Decode { 0..self.layout.control } else { 0..0 };
        let of = |range: Range<u64>| DeviceSlice {
            address: block.address() + range.start,
            bytes: range.end - range.start,
        };
        [zeros, tables.end..self.layout.bytes].map(of).into_iter().filter(|s| s.bytes > 0).collect()
    }

    /// A run in the memory of a workspace that is ready.
    pub(super) fn run<'a>(
        &'a self,
        context: &'a Context,
        block: &'a DeviceMemory,
        stream: Stream,
        (array, container): (Span, Span),
        header: u64,
    ) -> Run<'a> {
        let begun = Cell::new(false);
        Run {
            context,
            stream,
            plan: &self.plan,
            layout: self.layout,
            memory: block,
            array,
            container,
            header,
            begun,
            batch: None,
        }
    }
}

const NO_MEMORY: Error = Error::Internal("a workspace has no device memory");

/// The device memory of a workspace that is ready.
pub(super) fn memory(kept: &Option<GpuMemory>) -> Result<&GpuMemory> {
    kept.as_ref().ok_or(NO_MEMORY)
}

/// The same, to be changed.
pub(super) fn memory_mut(kept: &mut Option<GpuMemory>) -> Result<&mut GpuMemory> {
    kept.as_mut().ok_or(NO_MEMORY)
}

/// Device memory of at least this number of bytes, kept from call to call.
pub(super) fn staging<'m>(
    context: &Context,
    kept: &'m mut Option<DeviceMemory>,
    bytes: u64,
) -> Result<&'m DeviceMemory> {
    if kept.as_ref().is_some_and(|m| m.bytes() < bytes) {
        *kept = None;
    }
    match kept {
        Some(memory) => Ok(memory),
        none => Ok(none.insert(DeviceMemory::new(context, bytes)?)),
    }
}

/// An array or a container in device memory: itself, or its copy in staging memory.
pub(super) fn on_device(
    context: &Context,
    kept: &mut Option<DeviceMemory>,
    pinned: &mut Option<PinnedStaging>,
    from: Memory<&[u8]>,
    stream: Stream,
    threads: Parallel<'_>,
) -> Result<DeviceSlice> {
    let host = match from {
        Memory::Device(slice) => return Ok(slice),
        Memory::Host(host) => host,
    };
    let bytes = host.len() as u64;
    let address = staging(context, kept, bytes)?.address();
    PinnedStaging::upload(context, pinned, address, host, stream, threads)?;
    Ok(DeviceSlice { address, bytes })
}

/// The array of a blocking call without gaps in device memory: itself, or its copy in staging memory.
pub(super) fn packed_on_device(
    context: &Context,
    memory: &mut GpuMemory,
    from: Elements<&[u8]>,
    stream: Stream,
    threads: Parallel<'_>,
) -> Result<DeviceSlice> {
    match from {
        Elements::Packed(from) => {
            on_device(context, &mut memory.array, &mut memory.pinned_staging, from, stream, threads)
        }
        Elements::Strided(view) => {
            let bytes = view.array().bytes();
            let address = staging(context, &mut memory.array, bytes)?.address();
            view.pack(context, address, stream)?;
            Ok(DeviceSlice { address, bytes })
        }
    }
}

/// A place for the result of a blocking call.
pub(super) fn result<'m>(context: &Context, kept: &'m mut Option<Pinned>) -> Result<&'m Pinned> {
    match kept {
        Some(pinned) => Ok(pinned),
        none => Ok(none.insert(Pinned::new(context, size_of::<CallResult>() as u64)?)),
    }
}

/// The result of a completed blocking call.
pub(super) fn outcome(ws: &Workspace) -> Result<CallResult> {
    let pinned = ws.gpu.as_ref().and_then(|m| m.result.as_ref());
    let bytes = pinned.map(Pinned::bytes).ok_or(Error::Internal("a call has no place for its result"))?;
    Ok(bytemuck::pod_read_unaligned(&bytes[..size_of::<CallResult>()]))
}

/// The destination of an array that the device restores in staging memory.
pub(super) enum Delivery<'h> {
    /// The device restores the array in its place.
    Done,
    Host(&'h mut [u8]),
    Strided(StridedSlice),
}

/// The address to which the device writes an array: the destination itself, or staging memory.
pub(super) fn restored_to<'h>(
    context: &Context,
    kept: &mut Option<DeviceMemory>,
    dst: Elements<&'h mut [u8]>,
    bytes: u64,
) -> Result<(DeviceSlice, Delivery<'h>)> {
    let rest = match dst {
        Elements::Packed(Memory::Device(slice)) => {
            return Ok((DeviceSlice { bytes, ..slice }, Delivery::Done));
        }
        Elements::Packed(Memory::Host(host)) => Delivery::Host(host),
        Elements::Strided(view) => Delivery::Strided(view),
    };
    let address = staging(context, kept, bytes)?.address();
    Ok((DeviceSlice { address, bytes }, rest))
}
