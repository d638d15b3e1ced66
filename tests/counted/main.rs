//! Tests of memory. A process of its own: the allocator counts for all threads, so that one test runs at a time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, unreachable_pub)]
#[path = "../common/mod.rs"]
mod common;

#[allow(unreachable_pub)]
mod alloc;
mod corrupt;
mod memory;
mod multilevel;
mod regions;
mod series;

use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

/// The right to be measured.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
