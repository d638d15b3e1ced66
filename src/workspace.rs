//! The only thing that changes while a plan runs.

use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::plan::Plan;

/// Memory, lengths and threads of one call in flight. It serves every plan that needs no more of each, one
/// call at a time.
pub struct Workspace {
    pub(crate) arena: Arena,
    /// Length in bytes of every value of the plan.
    pub(crate) words: Vec<u64>,
    /// The head of the container while it is made.
    pub(crate) head: Vec<u8>,
    pub(crate) threads: Option<rayon::ThreadPool>,
}

impl Workspace {
    /// Memory for `plan`. `threads` 0 stands for all cores; 1 makes no thread at all.
    pub(crate) fn new(plan: &Plan, head_bytes: u64, threads: u32) -> Result<Workspace> {
        Ok(Workspace {
            arena: Arena::new(plan.arena_bytes)?,
            words: vec![0; plan.graph.values.len()],
            head: Vec::with_capacity(head_bytes as usize),
            threads: pool(threads)?,
        })
    }

    pub(crate) fn serves(&self, plan: &Plan) -> Result<()> {
        let have = self.arena.bytes().len() as u64;
        if have >= plan.arena_bytes && self.words.len() >= plan.graph.values.len() {
            return Ok(());
        }
        Err(Error::PlanMismatch(format!(
            "the workspace has {have} bytes for {} values, the plan needs {} for {}; make the workspace from this plan",
            self.words.len(),
            plan.arena_bytes,
            plan.graph.values.len()
        )))
    }

    /// Overwrites all memory, so that a test can show that no call depends on what an earlier one left.
    #[doc(hidden)]
    pub fn poison(&mut self, byte: u8) {
        self.arena.bytes_mut().fill(byte);
        self.words.fill(u64::from(byte));
    }
}

/// More threads than any machine of today has cores for one array; beyond, a typing error would swamp it.
const MAX_THREADS: u32 = 1024;

fn pool(threads: u32) -> Result<Option<rayon::ThreadPool>> {
    if threads > MAX_THREADS {
        return Err(Error::argument("threads", threads, format!("0 (all cores) to {MAX_THREADS}")));
    }
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        n => n as usize,
    };
    if threads == 1 {
        return Ok(None);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map(Some)
        .map_err(|e| Error::argument("threads", threads, format!("threads that the system grants ({e})")))
}
