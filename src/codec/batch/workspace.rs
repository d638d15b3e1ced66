//! The memory of a call for a batch.

use super::Batch;
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::base::thread_pool::ThreadPool;
use crate::codec::device::BatchMemory;
use crate::codec::{Decoder, Device, Encoder};
use crate::runtime::workspace::{Room, Workspace};
use std::sync::{Arc, Mutex, PoisonError};

/// Memory and threads of one call for a batch. Each thread has memory for the largest plan of the batch.
pub struct BatchWorkspace {
    threads: ThreadPool,
    /// The memory of each thread.
    lanes: Vec<Mutex<Workspace>>,
    /// Memory on a device, once an asynchronous call has needed it.
    gpu: Option<BatchMemory>,
}

impl BatchWorkspace {
    fn new(room: Room, threads: u32) -> Result<BatchWorkspace> {
        let threads = ThreadPool::new(threads)?;
        let lanes = (0..threads.count())
            .map(|_| Workspace::with_room(room).map(Mutex::new))
            .collect::<Result<_>>()?;
        Ok(BatchWorkspace { threads, lanes, gpu: None })
    }

    /// The memory on a device.
    pub(in crate::codec) fn device(&mut self) -> &mut Option<BatchMemory> {
        &mut self.gpu
    }

    /// Calls `f` for each job, with the memory of the thread that runs it.
    pub(super) fn run<J: Send>(&mut self, jobs: &mut [J], f: impl Fn(&mut Workspace, &mut J) + Sync + Send) {
        let pool = self.threads.pool();
        let lane_of_thread = || pool.and_then(rayon::ThreadPool::current_thread_index).unwrap_or(0);
        let run = |job: &mut J| {
            if let Some(lane) = self.lanes.get(lane_of_thread()) {
                f(&mut lane.lock().unwrap_or_else(PoisonError::into_inner), job);
            }
        };
        crate::base::parallel::Parallel(pool).for_each(jobs, run);
    }
}

/// The memory of the largest plan on the host.
fn largest<P>(plans: &[Arc<P>], room: impl Fn(&P) -> Result<Room>) -> Result<Room> {
    let mut most = Room::default();
    let mut last: Option<&Arc<P>> = None;
    for plan in plans {
        if !last.is_some_and(|last| Arc::ptr_eq(last, plan)) {
            most = most.max(room(plan)?);
        }
        last = Some(plan);
    }
    Ok(most)
}

impl Batch<Encoder> {
    fn room(&self) -> Result<Room> {
        largest(&self.plans, |encoder| match encoder.options().device {
            Device::Cuda(_) => Ok(Room::default()),
            Device::Auto | Device::Cpu => Ok(Room::of(encoder.plan()?, encoder.header_bound())),
        })
    }

    /// Bytes of the host memory of a workspace.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] only.
    pub fn workspace_bytes(&self) -> Result<u64> {
        in_default_environment(|| Ok(ThreadPool::count_of(self.threads) as u64 * self.room()?.bytes()))
    }

    /// Memory for one call in flight.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`], [`crate::Error::NoThreads`], and [`crate::Error::InvalidArgument`] for a plan with option
    /// `previous_base`: the arrays of a batch are not consecutive.
    pub fn workspace(&self) -> Result<BatchWorkspace> {
        if self.plans.iter().any(|encoder| encoder.options().previous_base) {
            return Err(Error::argument(
                "options.previous_base of a plan in a batch",
                "on",
                "off; use one workspace for each array, and calls for single arrays",
            ));
        }
        in_default_environment(|| BatchWorkspace::new(self.room()?, self.threads))
    }
}

impl Batch<Decoder> {
    fn room(&self) -> Result<Room> {
        largest(&self.plans, |decoder| match decoder.options().device {
            Device::Cuda(_) => Ok(Room::default()),
            Device::Auto | Device::Cpu => Ok(Room::of(decoder.plan()?, 0)),
        })
    }

    /// Bytes of the host memory of a workspace.
    ///
    /// # Errors
    /// [`crate::Error::MemoryLimit`].
    pub fn workspace_bytes(&self) -> Result<u64> {
        in_default_environment(|| Ok(ThreadPool::count_of(self.threads) as u64 * self.room()?.bytes()))
    }

    /// Memory for one call in flight.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`], [`crate::Error::NoThreads`].
    pub fn workspace(&self) -> Result<BatchWorkspace> {
        in_default_environment(|| BatchWorkspace::new(self.room()?, self.threads))
    }
}
