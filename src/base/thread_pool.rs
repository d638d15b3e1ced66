//! The threads of a workspace.

use crate::base::error::{Error, Result};
use crate::base::reserve::system_has;
use std::io::ErrorKind;
use std::thread::{self, JoinHandle};
use std::{mem, process};

/// More threads than any machine of today has cores for one array; beyond, a typing error would swamp it.
pub const MAX_THREADS: u32 = 1024;

/// Bytes that the system must have before a thread is started, many times the allocations of a thread before
/// its first task.
const STARTING: usize = 16 << 10;

/// A pool of threads, none for one thread. They end with it and not some time after it: whoever forks or unloads
/// the library once everything is freed relies on that.
pub(crate) struct ThreadPool {
    pool: Option<rayon::ThreadPool>,
    threads: Vec<JoinHandle<()>>,
    process: u32,
}

impl ThreadPool {
    /// A pool of `count` threads. 0 means all cores; 1 starts no thread.
    pub(crate) fn new(count: u32) -> Result<ThreadPool> {
        if count > MAX_THREADS {
            return Err(Error::argument("threads", count, format!("0 (all cores) to {MAX_THREADS}")));
        }
        let count = ThreadPool::count_of(count);
        let mut workers = ThreadPool { pool: None, threads: vec![], process: process::id() };
        if count > 1 {
            // Every caller is in the default floating-point environment, which a new thread inherits.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(count).spawn_handler(|worker| {
                // The standard library and the C library end the process if a thread finds no memory while it starts.
                if !system_has(STARTING) {
                    return Err(ErrorKind::OutOfMemory.into());
                }
                workers.threads.push(thread::Builder::new().name("fzgm".into()).spawn(|| worker.run())?);
                Ok(())
            });
            let refused = |e: rayon::ThreadPoolBuildError| Error::NoThreads {
                threads: count as u64, // seed: no-threads
                why: e.to_string(),
            };
            let pool = pool.build().map_err(refused)?;
            // Each thread has started, with all memory that this takes, before the first call relies on it.
            pool.broadcast(|_| ());
            workers.pool = Some(pool);
        }
        Ok(workers)
    }

    /// The number of threads for an option `threads`.
    pub(crate) fn count_of(option: u32) -> usize {
        match option {
            0 => thread::available_parallelism().map_or(1, std::num::NonZero::get),
            n => n as usize,
        }
    }

    /// The number of threads, at least the calling one.
    pub(crate) fn count(&self) -> usize {
        self.threads.len().max(1)
    }

    pub(crate) fn pool(&self) -> Option<&rayon::ThreadPool> {
        self.pool.as_ref()
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        drop(self.pool.take());
        for thread in self.threads.drain(..) {
            if self.process == process::id() {
                // The panic of a thread is not an error of the pool.
                let _ = thread.join();
            } else {
                // A child of fork() has the handles but not the threads, so joining them would never return.
                mem::forget(thread);
            }
        }
    }
}
