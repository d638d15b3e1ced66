//! Launches for the arrays of a batch.

use super::Run;
use super::preload::steps_of;
use crate::base::error::{Error, Result};
use crate::gpu::abi::{BatchArgs, ContainerArgs, LaunchArgs, Operand};
use crate::gpu::batched;
use crate::plan::Plan;

/// The way in which the arrays of a plan share memory and launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grouping {
    /// The launches of one run have a grid row for each array, and each array has a workspace.
    Rows,
    /// Each array has a run of its own, with the functions for one array, and all use one workspace.
    OneByOne,
}

/// Tag of the container kernels of a run of [`Grouping::OneByOne`], as in kernels/common/batch.cuh.
pub(super) const ONE_BY_ONE: u32 = 1;

/// The way that the device functions of a plan support: rows, if each of them has a batched version.
pub(crate) fn grouping(plan: &Plan) -> Grouping {
    let rows = steps_of(plan, true).all(|name| batched(name).is_some());
    if rows { Grouping::Rows } else { Grouping::OneByOne }
}

/// The arrays of a batch that a run is for.
#[derive(Clone, Copy)]
pub(crate) struct BatchRun {
    pub(crate) grouping: Grouping,
    /// Where the first workspace starts in the memory of the run.
    pub(crate) origin: u64,
    /// The number of arrays of the run.
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

impl BatchRun {
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

impl Run<'_> {
    /// True if the launches have a grid row for each array.
    pub(super) fn has_rows(&self) -> bool {
        self.batch.is_some_and(|batch| batch.grouping == Grouping::Rows)
    }

    /// The tables, if the run is for one array of a batch.
    pub(super) fn one_by_one(&self) -> Option<BatchTables> {
        self.batch.filter(|batch| batch.grouping == Grouping::OneByOne).map(|batch| batch.args)
    }

    /// The array as an operand of a step.
    pub(super) fn array_operand(&self) -> Operand {
        let max = self.array.bytes;
        match self.one_by_one() {
            // The device adds the entry of the table to a base of 0.
            Some(tables) => {
                Operand { base: 0, offset: tables.arrays + 8 * u64::from(tables.first), bytes: 0, max }
            }
            None => Operand { base: self.array.address, offset: 0, bytes: 0, max },
        }
    }

    /// The start of a compression of one array of a batch: the following functions learn whether the array has memory. A
    /// decompression learns it in [`Run::open`].
    pub(crate) fn admit(&self) -> Result<()> {
        match self.one_by_one() {
            Some(_) => self.container_kernel("fz_admit", 1, super::OPEN, &ContainerArgs::default()),
            None => Ok(()),
        }
    }
}
