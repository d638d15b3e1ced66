//! Batches on a GPU: the arrays of each plan form a group. The launches of a group have a grid row for each array, or
//! are repeated for each array if a device function has no batched version.
#![allow(unsafe_code)]

use super::prepared::Prepared;
use super::{GpuDecoder, context_of};
use crate::base::arena::ALIGN;
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::codec::{Batch, BatchWorkspace, Decoder, Device, Encoder};
use crate::gpu::abi::{ContainerArgs, IN_ARRAY, IN_CONTAINER};
use crate::gpu::{Context, DeviceMemory, OwnStream, Stream};
use crate::runtime::cuda::{BatchRun, BatchTables, Grouping, Run, Span, WorkspaceLayout, grouping, preload};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tables of an asynchronous call for a batch: addresses of device memory, with an entry for each array.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchAddresses {
    /// Addresses of the memory to read, of 64 bits.
    pub src: u64,
    /// Its bytes: the length of a container, or more. Not used by a compression.
    pub src_bytes: u64,
    /// Addresses of the memory to write.
    pub dst: u64,
    /// Its bytes.
    pub dst_bytes: u64,
    /// A [`super::CallResult`] for each array.
    pub results: u64,
}

/// The device memory of a batch.
pub(in crate::codec) struct BatchMemory {
    block: DeviceMemory,
    /// The identity of the batch.
    batch: u64,
    groups: Vec<Group>,
}

/// Arrays of one plan.
struct Group {
    /// The number of the first of them.
    member: usize,
    members: Members,
    /// Where their workspaces start.
    origin: u64,
    layout: WorkspaceLayout,
}

/// The arrays of a group.
enum Members {
    /// Rows of a grid. `numbers`: their place among the numbers at the start of the memory; None: their numbers are
    /// consecutive.
    Rows { numbers: Option<u32>, count: u32 },
    /// One after the other, by their numbers.
    OneByOne(Vec<u32>),
}

/// The groups of a batch, the numbers of their arrays, and the bytes of all.
struct Arranged {
    groups: Vec<Group>,
    numbers: Vec<u32>,
    bytes: u64,
}

/// The numbers of the arrays of each plan, in the order of the first of them.
fn lists<P>(plans: &[Arc<P>]) -> Result<Vec<Vec<u32>>> {
    let (mut places, mut lists) = (BTreeMap::new(), Vec::<Vec<u32>>::new());
    for (i, plan) in plans.iter().enumerate() {
        let number = u32::try_from(i).map_err(|_| {
            Error::argument("the number of arrays", plans.len(), "at most 2^32 in asynchronous calls")
        })?;
        let place = *places.entry(Arc::as_ptr(plan) as usize).or_insert(lists.len());
        match lists.get_mut(place) {
            Some(list) => list.push(number),
            None => lists.push(vec![number]),
        }
    }
    Ok(lists)
}

impl Arranged {
    fn new<P>(plans: &[Arc<P>], prepared: impl Fn(&P) -> Result<&Prepared>) -> Result<Arranged> {
        let bytes = (4 * plans.len() as u64).next_multiple_of(ALIGN);
        let mut all = Arranged { groups: vec![], numbers: vec![], bytes };
        let mut one_by_one = vec![];
        for list in lists(plans)? {
            let Some(plan) = list.first().and_then(|&first| plans.get(first as usize)) else { continue };
            let prepared = prepared(plan)?;
            match grouping(&prepared.plan) {
                Grouping::Rows => all.add_rows(prepared, &list),
                Grouping::OneByOne => one_by_one.push((prepared, list)),
            }
        }
        all.add_one_by_one(one_by_one);
        Ok(all)
    }

    /// Groups with a workspace for each array.
    fn add_rows(&mut self, prepared: &Prepared, list: &[u32]) {
        /// Rows of a grid.
        const ROWS: usize = 65535;
        for part in list.chunks(ROWS) {
            let (&first, count) = (part.first().unwrap_or(&0), part.len() as u32);
            let layout = prepared.layout.batched(&prepared.plan, count);
            let consecutive = part.last().is_some_and(|&last| last - first + 1 == count);
            let numbers = (!consecutive).then_some(self.numbers.len() as u32);
            let members = Members::Rows { numbers, count };
            self.groups.push(Group { member: first as usize, members, origin: self.bytes, layout });
            self.numbers.extend_from_slice(part);
            let tables = prepared.tables.bytes.len() as u64;
            self.bytes = (self.bytes + layout.bytes * u64::from(count) + tables).next_multiple_of(ALIGN);
        }
    }

    /// Groups with one workspace each. All share the arena, since only one array is under way at a time.
    fn add_one_by_one(&mut self, lists: Vec<(&Prepared, Vec<u32>)>) {
        let before = |prepared: &Prepared| prepared.layout.tables().end;
        let arena = self.bytes + lists.iter().map(|(prepared, _)| before(prepared)).sum::<u64>();
        let longest = lists.iter().map(|(prepared, _)| prepared.plan.arena_bytes).max();
        for (prepared, list) in lists {
            let (origin, member) = (self.bytes, list.first().map_or(0, |&first| first as usize));
            let layout = prepared.layout.one_by_one(arena - origin);
            self.groups.push(Group { member, members: Members::OneByOne(list), origin, layout });
            self.bytes += before(prepared);
        }
        self.bytes += longest.unwrap_or(0);
    }
}

impl BatchMemory {
    /// Device memory for the batch of this identity, with the tables of its plans, unless `kept` is that.
    fn ready<P>(
        kept: &mut Option<BatchMemory>,
        (batch, plans): (u64, &[Arc<P>]),
        context: &Context,
        prepared: impl Fn(&P) -> Result<&Prepared>,
    ) -> Result<()> {
        if kept.as_ref().is_some_and(|m| m.batch == batch && m.block.belongs(context)) {
            return Ok(());
        }
        *kept = None;
        let Arranged { groups, numbers, bytes } = Arranged::new(plans, &prepared)?;
        let block = DeviceMemory::new(context, bytes)?;
        let stream = OwnStream::new(context)?;
        block.clear(0, bytes, stream.borrow())?;
        stream.borrow().synchronize(context)?;
        block.upload(context, 0, bytemuck::cast_slice(&numbers))?;
        for group in &groups {
            let Some(plan) = plans.get(group.member) else { continue };
            let prepared = prepared(plan)?;
            preload(context, &prepared.plan, Some(group.grouping()))?;
            block.upload(context, group.origin + group.layout.image, &prepared.tables.bytes)?;
        }
        *kept = Some(BatchMemory { block, batch, groups });
        Ok(())
    }

    /// A run of a group.
    fn run<'a>(
        &'a self,
        group: &Group,
        (context, stream): (&'a Context, Stream),
        prepared: &'a Prepared,
        header: u64,
        share: Share,
    ) -> Run<'a> {
        Run {
            context,
            stream,
            plan: &prepared.plan,
            layout: group.layout,
            memory: &self.block,
            array: Span { address: IN_ARRAY, bytes: prepared.plan.bound.array.bytes() },
            // The capacity is that of the caller's table.
            container: Span { address: IN_CONTAINER, bytes: u64::MAX / 4 },
            header,
            begun: Cell::new(share.follows),
            batch: Some(BatchRun {
                grouping: group.grouping(),
                origin: group.origin,
                count: share.count,
                args: share.tables,
            }),
        }
    }
}

impl Group {
    fn grouping(&self) -> Grouping {
        match self.members {
            Members::Rows { .. } => Grouping::Rows,
            Members::OneByOne(_) => Grouping::OneByOne,
        }
    }

    /// Calls `f` for each run. `numbers`: where the numbers of arrays start.
    fn each_run(&self, numbers: u64, tables: BatchTables, f: impl Fn(Share) -> Result<()>) -> Result<()> {
        let rows = |count, tables| f(Share { count, tables, follows: false });
        match &self.members {
            &Members::Rows { numbers: Some(first), count } => {
                rows(count, BatchTables { numbers, first, ..tables })
            }
            &Members::Rows { numbers: None, count } => {
                rows(count, BatchTables { first: self.member as u32, ..tables })
            }
            Members::OneByOne(list) => list.iter().enumerate().try_for_each(|(i, &first)| {
                f(Share { count: 1, tables: BatchTables { first, ..tables }, follows: i > 0 })
            }),
        }
    }
}

/// The arrays of a run.
struct Share {
    count: u32,
    tables: BatchTables,
    /// The previous work on the stream is another run of the group.
    follows: bool,
}

/// The context of a call, if the batch has arrays. Each plan must be one for the device of the stream.
fn context<P>(plans: &[Arc<P>], device: impl Fn(&P) -> Device, stream: Stream) -> Result<Option<Context>> {
    let mut last = None;
    let mut context = None;
    for plan in plans {
        let device = device(plan);
        if last.replace(device) != Some(device) {
            context = Some(context_of(device, stream)?);
        }
    }
    Ok(context)
}

/// Marks parameters of container kernels whose result the device finds in the caller's table.
const RESULT: u64 = 1;

fn of_encoder(encoder: &Encoder) -> Result<&Prepared> {
    encoder.gpu()?.of_batch()
}

fn of_decoder(decoder: &Decoder) -> Result<&Prepared> {
    let gpu = decoder.gpu()?;
    gpu.expect_readable()?;
    Ok(&gpu.prepared)
}

impl Batch<Encoder> {
    /// Device memory of asynchronous calls.
    ///
    /// # Errors
    /// As [`Batch::<Encoder>::preload`], without those of a device.
    pub fn device_bytes(&self) -> Result<u64> {
        Arranged::new(self.plans(), of_encoder).map(|all| all.bytes)
    }

    /// Loads device code and makes the workspace ready for asynchronous calls on `stream`.
    ///
    /// # Errors
    /// [`Error::NoDevice`], [`Error::OutOfMemory`], and [`Error::Unsupported`] for a pipeline that has no
    /// device code.
    pub fn preload(&self, ws: &mut BatchWorkspace, stream: Stream) -> Result<()> {
        in_default_environment(|| self.prepare(ws.device(), stream).map(|_| ()))
    }

    /// Compresses the arrays on a stream without waiting, each as [`Encoder::compress_async`] does. A result
    /// is written for every array. An array without an address is skipped, with
    /// [`crate::Status::NullPointer`] in its result.
    ///
    /// # Errors
    /// As [`Batch::<Encoder>::preload`]. Errors that depend on an array are in its result.
    ///
    /// # Safety
    /// The tables must be device memory with an entry for each array. The tables, the memory at the addresses
    /// in them, and the workspace must remain valid and unmodified until the call has completed on the stream.
    /// No memory to write may overlap other memory of the call.
    pub unsafe fn compress_async(
        &self,
        ws: &mut BatchWorkspace,
        tables: BatchAddresses,
        stream: Stream,
    ) -> Result<()> {
        in_default_environment(|| {
            let kept = ws.device();
            let Some(context) = self.prepare(kept, stream)? else { return Ok(()) };
            let tables = BatchTables {
                arrays: tables.src,
                containers: tables.dst,
                container_capacities: tables.dst_bytes,
                results: tables.results,
                ..BatchTables::default()
            };
            let put = enqueue(kept, self.plans(), tables, |memory, group, encoder, share| {
                let (gpu, checksum) = (encoder.gpu()?, encoder.options.checksum_async);
                let header = gpu.header_bytes(checksum);
                let run = memory.run(group, (&context, stream), gpu.of_batch()?, header, share);
                gpu.launch(&run, RESULT, checksum)
            });
            if put.is_err() {
                // The last launch leaves zeros for the next call. Without it this memory is not fit for one.
                *kept = None;
            }
            put
        })
    }

    fn prepare(&self, kept: &mut Option<BatchMemory>, stream: Stream) -> Result<Option<Context>> {
        let context = context(self.plans(), |plan| plan.options.device, stream)?;
        if let Some(context) = &context {
            BatchMemory::ready(kept, (self.identity(), self.plans()), context, of_encoder)?;
        }
        Ok(context)
    }
}

impl Batch<Decoder> {
    /// Device memory of asynchronous calls.
    ///
    /// # Errors
    /// As [`Batch::<Decoder>::preload`], without those of a device.
    pub fn device_bytes(&self) -> Result<u64> {
        Arranged::new(self.plans(), of_decoder).map(|all| all.bytes)
    }

    /// Loads device code and makes the workspace ready for asynchronous calls on `stream`.
    ///
    /// # Errors
    /// As [`Batch::<Encoder>::preload`].
    pub fn preload(&self, ws: &mut BatchWorkspace, stream: Stream) -> Result<()> {
        in_default_environment(|| self.prepare(ws.device(), stream).map(|_| ()))
    }

    /// Decompresses the containers on a stream without waiting, each as [`Decoder::decompress_async`] does.
    /// A result is written for every array. An array without an address is skipped, with
    /// [`crate::Status::NullPointer`] in its result; one without room has [`crate::Status::DstTooSmall`].
    ///
    /// # Errors
    /// As [`Batch::<Decoder>::preload`]. Errors that depend on a container are in its result.
    ///
    /// # Safety
    /// As for [`Batch::<Encoder>::compress_async`].
    pub unsafe fn decompress_async(
        &self,
        ws: &mut BatchWorkspace,
        tables: BatchAddresses,
        stream: Stream,
    ) -> Result<()> {
        in_default_environment(|| {
            let kept = ws.device();
            let Some(context) = self.prepare(kept, stream)? else { return Ok(()) };
            let tables = BatchTables {
                arrays: tables.dst,
                array_capacities: tables.dst_bytes,
                containers: tables.src,
                container_capacities: tables.src_bytes,
                results: tables.results,
                ..BatchTables::default()
            };
            enqueue(kept, self.plans(), tables, |memory, group, decoder, share| {
                let gpu = decoder.gpu()?;
                let run = memory.run(group, (&context, stream), &gpu.prepared, gpu.header, share);
                let verify = decoder.options.checksum.into();
                GpuDecoder::launch(&run, ContainerArgs { result: RESULT, verify, ..ContainerArgs::default() })
            })
        })
    }

    fn prepare(&self, kept: &mut Option<BatchMemory>, stream: Stream) -> Result<Option<Context>> {
        let context = context(self.plans(), |plan| plan.options.device, stream)?;
        if let Some(context) = &context {
            BatchMemory::ready(kept, (self.identity(), self.plans()), context, of_decoder)?;
        }
        Ok(context)
    }
}

/// Puts the launches of each run of each group on the stream.
fn enqueue<P>(
    kept: &Option<BatchMemory>,
    plans: &[Arc<P>],
    tables: BatchTables,
    launch: impl Fn(&BatchMemory, &Group, &P, Share) -> Result<()>,
) -> Result<()> {
    let Some(memory) = kept else { return Ok(()) };
    memory.groups.iter().try_for_each(|group| match plans.get(group.member) {
        Some(plan) => {
            group.each_run(memory.block.address(), tables, |share| launch(memory, group, plan, share))
        }
        None => Ok(()),
    })
}
