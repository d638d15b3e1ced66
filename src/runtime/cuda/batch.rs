//! Launches for the arrays of a batch.

use super::Run;
use crate::base::error::Error;
use crate::gpu::abi::{BatchArgs, LaunchArgs};

/// Arrays of a batch that have one plan: a row of the grid for each.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    /// Where the first workspace starts in the memory of the run.
    pub(crate) origin: u64,
    /// The number of arrays.
    pub(crate) count: u32,
    /// The argument without the part for one array.
    pub(crate) args: BatchTables,
}

/// The tables of a call for a batch: addresses in device memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct BatchTables {
    /// As in [`BatchArgs`].
    pub(crate) arrays: u64,
    pub(crate) array_capacities: u64,
    pub(crate) containers: u64,
    pub(crate) container_capacities: u64,
    pub(crate) results: u64,
    pub(crate) numbers: u64,
    pub(crate) first: u32,
}

pub(super) const NOT_BATCHED: Error = Error::Internal("a device function has no batched version");

impl Rows {
    /// The argument of a launch.
    pub(super) fn argument(
        &self,
        run: &Run<'_>,
        args: &LaunchArgs,
        (container, last): (bool, bool),
    ) -> BatchArgs {
        let tables = self.args;
        BatchArgs {
            args: *args,
            workspace: run.at(0),
            stride: run.layout.bytes,
            arrays: tables.arrays,
            array_capacities: tables.array_capacities,
            containers: tables.containers,
            container_capacities: tables.container_capacities,
            results: tables.results,
            numbers: tables.numbers,
            array_bytes: run.array.bytes,
            first: tables.first,
            container: container.into(),
            last: last.into(),
            pad: 0,
        }
    }
}
