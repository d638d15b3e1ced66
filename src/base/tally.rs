//! Counts of bindings, compilations, and parsings of a call, for tests. Each thread has separate counts.

use std::cell::Cell;

/// The counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Pipelines bound to an array.
    pub(crate) graphs: u32,
    /// Plans compiled for the CPU.
    pub(crate) cpu_plans: u32,
    /// Plans compiled for a GPU.
    pub(crate) gpu_plans: u32,
    /// Container headers parsed.
    pub(crate) parses: u32,
}

thread_local!(static TALLY: Cell<Tally> = const { Cell::new(Tally { graphs: 0, cpu_plans: 0, gpu_plans: 0, parses: 0 }) });

/// Counts one more.
pub(crate) fn count(one: impl FnOnce(&mut Tally)) {
    let mut tally = TALLY.get();
    one(&mut tally);
    TALLY.set(tally);
}

/// The counts of `call` on this thread.
pub(crate) fn of<R>(call: impl FnOnce() -> R) -> (R, Tally) {
    TALLY.set(Tally::default());
    let result = call();
    (result, TALLY.get())
}
