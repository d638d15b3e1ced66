//! The GPU backend: the steps of a plan as launches on a stream, and the functions that write and read
//! containers.
//!
//! No function here waits for the device. A workspace is one block: status, words, and zeroed memory, which
//! are zero between calls; the tables of the plan; the arena. A memset would cost as much as a kernel, so the
//! last function of a compression leaves zeros for the next call, and the first function of a decompression,
//! which has little work, writes its own.

mod batch;
mod parts;
mod preload;
mod single;

pub(crate) use batch::{BatchRun, BatchTables, Grouping, grouping};
pub(crate) use preload::preload;

use crate::base::arena::ALIGN;
use crate::base::error::{Error, Result};
use crate::gpu::abi::{CONTAINER_BLOCK, ContainerArgs, LaunchArgs, Operand, STATUS_AT, WORDS_AT};
use crate::gpu::{Context, DeviceMemory, LaunchAttrs, Stream, batched, function};
use crate::ir::device::{KEPT_BYTES, KernelLaunch, MAX_FUSED, MAX_OPERANDS, PARAM_BYTES};
use crate::ir::step::Step;
use crate::ir::value::{Place, Val};
use crate::plan::{Direction, Plan};
use batch::{NOT_BATCHED, ONE_BY_ONE};
use std::cell::Cell;
use std::ops::Range;

/// Where the parts of a workspace lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkspaceLayout {
    /// Zeroed memory of the steps.
    zeroed: u64,
    /// Up to here everything is zero when a call starts. Behind it are the bytes that are kept from call to call.
    pub(crate) control: u64,
    /// The tables start there.
    pub(crate) image: u64,
    /// The number of their bytes that are copied to shared memory.
    staged: u64,
    arena: u64,
    /// Bytes of all.
    pub(crate) bytes: u64,
}

impl WorkspaceLayout {
    pub(crate) fn new(plan: &Plan, image_bytes: u64, staged: u64) -> WorkspaceLayout {
        let zeroed = WorkspaceLayout::words_end(plan).next_multiple_of(ALIGN);
        let control = (zeroed + plan.zeroed_bytes).next_multiple_of(ALIGN);
        let image = (control + plan.kept_bytes() + single::state_bytes(plan)).next_multiple_of(ALIGN);
        let arena = (image + image_bytes).next_multiple_of(ALIGN);
        WorkspaceLayout { zeroed, control, image, staged, arena, bytes: arena + plan.arena_bytes }
    }

    /// Where the words end.
    pub(crate) fn words_end(plan: &Plan) -> u64 {
        WORDS_AT + 2 * 8 * plan.bound.graph.values.len() as u64
    }

    /// The offset of the length of a value.
    pub(crate) fn word(v: Val) -> u64 {
        WORDS_AT + 8 * v.index() as u64
    }

    /// The offset of the number that is the offset of a value in the container.
    pub(crate) fn start(plan: &Plan, v: Val) -> u64 {
        WorkspaceLayout::word(v) + 8 * plan.bound.graph.values.len() as u64
    }

    /// The tables, which calls only read.
    pub(crate) fn tables(&self) -> Range<u64> {
        self.image..self.arena
    }

    /// For the arrays of a batch, one after the other, with an arena at this offset.
    pub(crate) fn one_by_one(self, arena: u64) -> WorkspaceLayout {
        WorkspaceLayout { arena, bytes: self.arena, ..self }
    }

    /// For the workspaces of a batch of `rows` arrays, in sequence: their tables follow them.
    pub(crate) fn batched(self, plan: &Plan, rows: u32) -> WorkspaceLayout {
        let arena = self.control;
        let bytes = (arena + plan.arena_bytes).next_multiple_of(ALIGN);
        WorkspaceLayout { image: bytes * u64::from(rows), arena, bytes, ..self }
    }

    /// Where a byte of the arena lies.
    pub(crate) fn in_arena(&self, offset: u64) -> u64 {
        self.arena + offset
    }
}

/// A range of device memory of the caller's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

/// One run of a plan on a stream.
pub(crate) struct Run<'a> {
    pub(crate) context: &'a Context,
    pub(crate) stream: Stream,
    pub(crate) plan: &'a Plan,
    pub(crate) layout: WorkspaceLayout,
    pub(crate) memory: &'a DeviceMemory,
    pub(crate) array: Span,
    pub(crate) container: Span,
    /// Bytes of the header. Encoding: before the segment that is written in place; decoding: of a header of fixed length, or 0.
    pub(crate) header: u64,
    /// True if a part of the call is on the stream.
    pub(crate) begun: Cell<bool>,
    /// The arrays of a batch; None for one array.
    pub(crate) batch: Option<BatchRun>,
}

/// Positions of launches in a call. After a failure at one position, launches at later positions return at
/// once.
const OPEN: u32 = 0;
const FIRST_STEP: u32 = 8;
const CLOSE: u32 = u32::MAX / 2;

/// Arrays of at most this number of bytes take microseconds.
const SHORT: u64 = 4 << 20;

impl Run<'_> {
    /// Clears the memory that must be zero, if no device function does.
    pub(crate) fn clear(&self) -> Result<()> {
        self.memory.clear(0, self.layout.control, self.stream)
    }

    /// Launches all steps.
    pub(crate) fn run(&self) -> Result<()> {
        let steps = || self.plan.steps.iter().zip(FIRST_STEP..);
        for (step, place) in steps() {
            self.put(step.device.launches(self.has_rows()), &self.args(step, place)?)?;
        }
        for (step, place) in steps().filter(|(step, _)| !step.device.second_try.is_empty()) {
            let zeroed = self.at(self.layout.zeroed + step.device.second_zeroed_at);
            self.put(&step.device.second_try, &LaunchArgs { zeroed, ..self.args(step, place)? })?;
        }
        Ok(())
    }

    fn put(&self, launches: &[KernelLaunch], args: &LaunchArgs) -> Result<()> {
        launches
            .iter()
            .try_for_each(|l| self.launch(l.entry, l.grid, l.block, &LaunchArgs { tag: l.tag, ..*args }))
    }

    fn at(&self, offset: u64) -> u64 {
        self.memory.address() + self.batch.map_or(0, |batch| batch.origin) + offset
    }

    fn args(&self, step: &Step, place: u32) -> Result<LaunchArgs> {
        let mut args = self.blank(place);
        args.params = step.params;
        args.inputs = step.ins.len() as u32;
        for (slot, &v) in args.operands.iter_mut().zip(step.ins.iter().chain(&step.outs)) {
            *slot = self.operand(v);
        }
        args.fused_count = step.fused.len() as u32;
        for (slot, fused_kernel) in args.fused_params.iter_mut().zip(&step.fused) {
            *slot = fused_kernel.params;
        }
        args.passed = step.intermediate.map_or(Operand::default(), |v| self.operand(v));
        args.zeroed = self.at(self.layout.zeroed + step.device.zeroed_at);
        if let Some(Place::Arena { offset }) = step.device.scratch.map(|v| self.plan.place(v)) {
            args.scratch = self.at(self.layout.in_arena(offset));
        }
        args.stage = step.node as u32;
        if self.plan.kept_bytes() > 0 {
            // The launches of two tries share the base of the stage that resolves the bound, which is the first.
            let tries = !step.device.second_try.is_empty();
            let keeper = self.plan.steps.first().filter(|_| tries).unwrap_or(step);
            args.kept = self.at(self.layout.control + KEPT_BYTES * keeper.node as u64);
        }
        let first = step.ins.first().map(|&v| self.plan.place(v));
        let known = |v: Val| !self.plan.value(v).edge.length.is_dynamic();
        if step.intermediate.is_none_or(known) {
            match (self.plan.direction, first) {
                // Functions for one array do not read its addresses early if the device provides them.
                _ if self.one_by_one().is_some() => {}
                (Direction::Encode, Some(Place::Array)) => args.fresh = 1,
                (Direction::Decode, Some(Place::Segment(0)))
                    if self.header > 0
                        && self.container.bytes > self.header
                        && step.outs.iter().copied().all(known) =>
                {
                    args.speculative_payload = self.container.address + self.header;
                    args.speculative_bytes = self.container.bytes - self.header;
                }
                _ => {}
            }
        }
        if step.fused.len() > MAX_FUSED || step.ins.len() + step.outs.len() > MAX_OPERANDS {
            return Err(Error::Internal("a step carries more than a launch"));
        }
        Ok(args)
    }

    fn blank(&self, place: u32) -> LaunchArgs {
        LaunchArgs {
            params: [0; PARAM_BYTES],
            operands: [Operand::default(); MAX_OPERANDS],
            fused_params: [[0; PARAM_BYTES]; MAX_FUSED],
            passed: Operand::default(),
            speculative_payload: 0,
            speculative_bytes: 0,
            zeroed: 0,
            scratch: 0,
            status: self.at(STATUS_AT),
            kept: 0,
            inputs: 0,
            fused_count: 0,
            step: place,
            stage: 0,
            fresh: 0,
            tag: 0,
        }
    }

    fn operand(&self, v: Val) -> Operand {
        let edge = self.plan.value(v).edge;
        let root = self.plan.root(v);
        let bytes = if edge.length.is_dynamic() { self.at(WorkspaceLayout::word(root)) } else { 0 };
        let max = edge.max_bytes();
        match (self.plan.place(v), self.plan.direction) {
            (Place::Arena { offset }, _) => {
                Operand { base: self.at(self.layout.in_arena(offset)), offset: 0, bytes, max }
            }
            (Place::Array, _) => self.array_operand(),
            (Place::Segment(_), Direction::Encode) => {
                let room = self.container.bytes.saturating_sub(self.header);
                Operand { base: self.container.address + self.header, offset: 0, bytes, max: max.min(room) }
            }
            (Place::Segment(_), Direction::Decode) => {
                let offset = self.at(WorkspaceLayout::start(self.plan, root));
                // For an array of a batch, the word holds the address itself.
                let base = self.one_by_one().map_or(self.container.address, |_| 0);
                Operand { base, offset, bytes, max }
            }
            (Place::Dead, _) => Operand { bytes, max, ..Operand::default() },
        }
    }

    /// Launches a container kernel, which reads or writes a container and belongs to no stage.
    fn container_kernel(
        &self,
        entry: &'static str,
        grid: u64,
        place: u32,
        params: &ContainerArgs,
    ) -> Result<()> {
        /// Threads of a block for an array of a batch, of at most this number of bytes.
        const BATCH_BLOCK: u32 = 64;
        const SMALL_OF_BATCH: u64 = 1 << 17;
        let args = self.container_args(place, params);
        let ends = place >= CLOSE && params.more == 0;
        // Smaller blocks: a multiprocessor processes more arrays of a batch at a time.
        let small = self.has_rows() && self.array.bytes <= SMALL_OF_BATCH;
        let block = if small { BATCH_BLOCK } else { CONTAINER_BLOCK };
        self.launch_as((entry, grid, block), &args, (true, ends))
    }

    /// The argument of a container kernel.
    fn container_args(&self, place: u32, params: &ContainerArgs) -> LaunchArgs {
        let mut args = self.blank(place);
        let params = ContainerArgs { words_end: self.layout.zeroed, ..*params };
        args.params[..size_of::<ContainerArgs>()].copy_from_slice(bytemuck::bytes_of(&params));
        args.inputs = 5;
        args.tag = self.one_by_one().map_or(0, |_| ONE_BY_ONE);
        let at = |address: u64, max: u64| Operand { base: address, offset: 0, bytes: 0, max };
        args.operands[0] = at(self.array.address, self.array.bytes);
        args.operands[1] = at(self.container.address, self.container.bytes);
        args.operands[2] = at(self.at(self.layout.image), self.layout.staged);
        args.operands[3] = at(self.at(0), self.layout.control);
        args.operands[4] = at(self.at(self.layout.in_arena(0)), self.plan.arena_bytes);
        args
    }

    fn launch(&self, entry: &'static str, grid: u64, block: u32, args: &LaunchArgs) -> Result<()> {
        self.launch_as((entry, grid, block), args, (false, false))
    }

    /// Launches a function, or its batched version; a container kernel may be the last one of the call.
    ///
    /// The first launch of a call waits for all earlier work on the stream; the others may start early.
    fn launch_as(
        &self,
        (entry, grid, block): (&'static str, u64, u32),
        args: &LaunchArgs,
        (container, last): (bool, bool),
    ) -> Result<()> {
        let follows = self.begun.replace(true);
        // The last kernels of a compression have more shared memory than the first ones, and run best with
        // the default division.
        let suits = self.plan.direction == Direction::Decode || !follows;
        let Some(batch) = self.batch.filter(|_| container || self.has_rows()) else {
            let way = LaunchAttrs { follows, short: suits && self.array.bytes <= SHORT };
            let function = function(self.context, entry)?;
            return function.launch(self.context, (grid, 1), block, self.stream, way, args);
        };
        let entry = batched(entry).ok_or(NOT_BATCHED)?;
        let args = batch.argument(self, args, (container, last));
        let way = LaunchAttrs { follows, short: false };
        function(self.context, entry)?.launch(
            self.context,
            (grid, batch.count),
            block,
            self.stream,
            way,
            &args,
        )
    }

    /// The start of a decompression: reads the header, clears the memory that must be zero, and copies
    /// segments for steps that need copies. A compression begins with its first step.
    pub(crate) fn open(&self, params: &ContainerArgs) -> Result<()> {
        /// Bytes that are worth a block, and the most blocks.
        const PIECE: u64 = 1 << 14;
        const MOST: u64 = 128;
        let blocks = (self.layout.control - self.layout.zeroed).div_ceil(PIECE).clamp(1, MOST);
        self.container_kernel("fz_open", blocks, OPEN, params)?;
        self.load(params)
    }

    /// The part of [`Run::open`] behind the header, for one that the host has read.
    pub(crate) fn load(&self, params: &ContainerArgs) -> Result<()> {
        if self.sinks_in(|place| matches!(place, Place::Arena { .. })) {
            self.container_kernel("fz_load", 64, OPEN + 1, params)?;
        }
        Ok(())
    }

    /// The end of a call: writes a container with its checksums, or closes one that is restored and compares them. Then writes
    /// the result.
    pub(crate) fn seal(&self, params: &ContainerArgs) -> Result<()> {
        match self.plan.direction {
            Direction::Encode if params.verify != 0 => {
                self.write(&ContainerArgs { result: 0, more: 1, verify: 0, ..*params })?;
                self.container_kernel(
                    "fz_sum",
                    self.copy_grid(true),
                    CLOSE + 1,
                    &ContainerArgs { verify: 0, ..*params },
                )
            }
            Direction::Encode => self.write(params),
            Direction::Decode => {
                let copies = self.sinks_in(|place| matches!(place, Place::Array));
                let params = ContainerArgs { copies: copies.into(), opened: OPEN + 1, ..*params };
                self.container_kernel("fz_close", self.copy_grid(copies), CLOSE, &params)
            }
        }
    }

    /// Writes a container; its checksums are still missing.
    fn write(&self, params: &ContainerArgs) -> Result<()> {
        let copies = self.sinks_in(|place| !matches!(place, Place::Segment(_)));
        self.container_kernel(
            "fz_seal",
            self.copy_grid(copies),
            CLOSE,
            &ContainerArgs { copies: copies.into(), ..*params },
        )
    }

    /// True if a segment is stored at such a place.
    fn sinks_in(&self, place: impl Fn(Place) -> bool) -> bool {
        self.plan.bound.graph.sinks.iter().any(|s| place(self.plan.place(s.value)))
    }

    /// Blocks of functions that process the whole array, always or only if it is stored without coding.
    fn copy_grid(&self, always: bool) -> u64 {
        /// Enough for the largest present device, several to a multiprocessor. More blocks would cost time in
        /// the usual case without a copy.
        const MOST: u64 = 512;
        /// Bytes that are worth a block.
        const PIECES: [u64; 2] = [1 << 18, 1 << 16];
        self.array.bytes.div_ceil(PIECES[usize::from(always)]).clamp(1, MOST)
    }
}
