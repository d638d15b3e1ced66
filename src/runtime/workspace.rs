//! The only thing that changes while a plan runs.

use crate::base::arena::{ALIGN, Arena};
use crate::base::error::{Error, Result};
use crate::base::thread_pool::ThreadPool;
use crate::gpu::{CallStreams, DeviceMemory, Pinned, PinnedStaging};
use crate::pipeline::MAX_STAGES;
use crate::plan::Plan;

/// Memory, lengths and threads of one call in flight. It serves every plan that needs no more of each, one
/// call at a time.
pub struct Workspace {
    pub(crate) arena: Arena,
    /// Length in bytes of every value of the plan.
    pub(crate) words: Vec<u64>,
    /// The header of the container while it is made.
    pub(crate) header: Vec<u8>,
    pub(crate) threads: ThreadPool,
    /// Numbers of the stages of the last plan, kept for its next call on the CPU.
    pub(crate) kept: Kept,
    /// Memory on a device, once a call has needed it.
    pub(crate) gpu: Option<GpuMemory>,
}

/// A number for each stage of a plan.
#[derive(Default)]
pub(crate) struct Kept {
    plan: u64,
    numbers: [f64; MAX_STAGES],
}

impl Kept {
    /// The number of a stage of the plan; 0 if the plan has not set it, or another plan has.
    pub(crate) fn of(&self, plan: u64, node: usize) -> f64 {
        if self.plan == plan { self.numbers.get(node).copied().unwrap_or(0.0) } else { 0.0 }
    }

    pub(crate) fn set(&mut self, plan: u64, node: usize, number: f64) {
        if self.plan != plan {
            *self = Kept { plan, ..Kept::default() };
        }
        if let Some(own) = self.numbers.get_mut(node) {
            *own = number;
        }
    }
}

/// The part of a workspace that lies on a device.
pub(crate) struct GpuMemory {
    pub(crate) block: DeviceMemory,
    /// The plan whose tables lie in the block.
    pub(crate) plan: u64,
    /// Copies of the caller's host memory.
    pub(crate) array: Option<DeviceMemory>,
    pub(crate) container: Option<DeviceMemory>,
    /// How those copies are made, when they are large.
    pub(crate) pinned_staging: Option<PinnedStaging>,
    /// The result of blocking calls.
    pub(crate) result: Option<Pinned>,
    /// The streams of calls that overlap copies and kernels.
    pub(crate) streams: Option<CallStreams>,
}

impl GpuMemory {
    /// With nothing but this block, which is for no plan yet.
    pub(crate) fn new(block: DeviceMemory) -> GpuMemory {
        GpuMemory {
            block,
            plan: 0,
            array: None,
            container: None,
            pinned_staging: None,
            result: None,
            streams: None,
        }
    }
}

/// The host memory of calls on the CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    arena: u64,
    values: usize,
    header: u64,
}

impl Room {
    /// For a plan, and headers of at most this number of bytes.
    pub(crate) fn of(plan: &Plan, header: u64) -> Room {
        Room { arena: plan.arena_bytes, values: plan.bound.graph.values.len(), header }
    }

    /// For calls that fit one or the other.
    pub(crate) fn max(self, other: Room) -> Room {
        Room {
            arena: self.arena.max(other.arena),
            values: self.values.max(other.values),
            header: self.header.max(other.header),
        }
    }

    /// Its number of bytes.
    pub(crate) fn bytes(self) -> u64 {
        self.arena + ALIGN + 8 * self.values as u64 + self.header
    }
}

impl Workspace {
    /// Memory of this size, with no other thread than the calling one.
    pub(crate) fn with_room(room: Room) -> Result<Workspace> {
        Workspace::around(Arena::new(room.arena)?, room, 1)
    }

    /// Memory for `plan`. If `threads` is 0, all cores are used; if it is 1, no thread is started.
    pub(crate) fn new(plan: &Plan, header_bytes: u64, threads: u32) -> Result<Workspace> {
        Workspace::around(Arena::new(plan.arena_bytes)?, Room::of(plan, header_bytes), threads)
    }

    fn around(arena: Arena, room: Room, threads: u32) -> Result<Workspace> {
        Ok(Workspace {
            arena,
            words: vec![0; room.values],
            header: Vec::with_capacity(room.header as usize),
            threads: ThreadPool::new(threads)?,
            kept: Kept::default(),
            gpu: None,
        })
    }

    /// A workspace in memory of the caller, of [`Plan::workspace_bytes`] bytes. The memory that is allocated
    /// in addition does not grow with the array.
    pub(crate) fn within(
        memory: &'static mut [u8],
        plan: &Plan,
        header_bytes: u64,
        threads: u32,
    ) -> Result<Workspace> {
        let (have, need) = (memory.len() as u64, plan.workspace_bytes() + header_bytes);
        if have < need {
            let have = format!("{have} bytes long");
            return Err(Error::argument("the memory of a workspace", have, format!("at least {need} bytes")));
        }
        let arena = Arena::within(memory, plan.arena_bytes);
        let arena = arena.ok_or(Error::Internal("a workspace needs more than its stated size"))?;
        Workspace::around(arena, Room::of(plan, header_bytes), threads)
    }

    /// Threads for the child of a fork, which has none of its parent's; the memory stays.
    #[cfg(feature = "capi")]
    pub(crate) fn restart(&mut self, threads: u32) -> Result<()> {
        self.threads = ThreadPool::new(threads)?;
        Ok(())
    }

    /// True if a call may allocate memory when the workspace has too little. A workspace in the caller's
    /// memory cannot grow.
    pub(crate) fn may_grow(&self) -> bool {
        !self.arena.is_lent()
    }

    /// No memory on the host, for calls that run on a device.
    pub(crate) fn bare(threads: u32) -> Result<Workspace> {
        Ok(Workspace {
            arena: Arena::new(0)?,
            words: vec![],
            header: vec![],
            threads: ThreadPool::new(threads)?,
            kept: Kept::default(),
            gpu: None,
        })
    }

    pub(crate) fn serves(&self, plan: &Plan) -> Result<()> {
        let have = self.arena.bytes().len() as u64;
        if have >= plan.arena_bytes && self.words.len() >= plan.bound.graph.values.len() {
            return Ok(());
        }
        Err(Error::PlanMismatch(format!(
            "the workspace has {have} bytes for {} values, but the plan requires {} for {}; create the workspace from this plan",
            self.words.len(),
            plan.arena_bytes,
            plan.bound.graph.values.len()
        )))
    }

    /// Overwrites all memory, so that a test can show that no call depends on the contents that an earlier
    /// call left.
    #[doc(hidden)]
    pub fn poison(&mut self, byte: u8) {
        self.arena.bytes_mut().fill(byte);
        self.words.fill(u64::from(byte));
    }
}
