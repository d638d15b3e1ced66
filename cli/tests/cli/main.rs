//! The command line as scripts see it: exit codes, streams, files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod boxes;
mod desk;
mod devices;
#[cfg(target_os = "linux")]
mod drivers;
mod failures;
mod page;
mod pictures;
mod results;
mod slabs;
#[cfg(target_os = "linux")]
mod streams;
