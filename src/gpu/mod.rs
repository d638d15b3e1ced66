//! The CUDA driver, as far as plans need it: functions by name, memory, streams, and contexts that are left
//! unchanged.
//!
//! libcuda is opened at run time, when a device is first requested, so the library also runs on machines
//! without it.
// Without the feature, no memory belongs to a device and nothing is launched.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

pub(crate) mod abi;
#[cfg(not(feature = "cuda"))]
mod absent;
mod call_streams;
mod context;
mod copy_stream;
#[cfg(feature = "cuda")]
mod driver;
mod functions;
mod images;
mod memory;
mod pinned_staging;
#[cfg(feature = "cuda")]
mod pointer;
pub(crate) mod single;
mod stream;
mod view;

pub(crate) use call_streams::CallStreams;
pub(crate) use context::Context;
pub(crate) use functions::{LaunchAttrs, batched, function};
pub(crate) use memory::{DeviceMemory, Pinned, download, upload};
pub(crate) use pinned_staging::PinnedStaging;
pub(crate) use pointer::{home, mapped};
pub(crate) use stream::OwnStream;
pub use stream::Stream;
pub(crate) use view::ViewArgs;

use crate::base::error::Result;
#[cfg(not(feature = "cuda"))]
use absent::{self as driver, self as pointer};
use driver::Driver;

/// The kind of memory, as far as a call needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// The processor reads and writes it.
    Host,
    /// The device of this index does; the processor must not.
    Device(u32),
    /// Both do.
    Managed,
}

/// The properties of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Name, as the driver gives it.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (i32, i32),
    /// Bytes of its memory.
    pub memory_bytes: u64,
    /// CUDA version of the driver, 1000 x major + 10 x minor.
    pub driver: i32,
}

/// How many devices there are.
///
/// # Errors
/// [`crate::Error::NoDevice`], with the reason.
pub fn device_count() -> Result<u32> {
    Ok(Driver::get()?.devices())
}

/// Asks about device `index`.
///
/// # Errors
/// [`crate::Error::NoDevice`], [`crate::Error::InvalidArgument`] for an index that is not there.
pub fn device_info(index: u32) -> Result<DeviceInfo> {
    Driver::get()?.info(index)
}

/// Names of the device functions in this build.
#[doc(hidden)]
pub fn device_functions() -> Vec<&'static str> {
    images::functions().collect()
}

/// The reason why this process has no GPU, for any driver.
fn ruled_out() -> Option<&'static str> {
    if std::env::var_os("FZGM_DISABLE_CUDA").is_some_and(|v| v != "0") {
        return Some("FZGM_DISABLE_CUDA is set");
    }
    (!images::exist()).then_some(
        "this build of fzgm contains no GPU kernels; rebuild it with nvcc of the CUDA Toolkit in PATH",
    )
}
