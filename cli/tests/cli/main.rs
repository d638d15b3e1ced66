//! Tests of the command line as a process: exit codes, streams, and files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chosen;
mod devices;
#[cfg(target_os = "linux")]
mod drivers;
mod failures;
mod fills;
mod fixture;
mod hdf5;
mod keys;
mod numpy;
mod page;
mod pictures;
mod previews;
mod regions;
mod results;
mod series;
mod slabs;
#[cfg(target_os = "linux")]
mod streams;
