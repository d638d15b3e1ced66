//! The CUDA driver, as far as plans need it: functions by name, memory, streams, contexts that are left as found.
//!
//! libcuda is opened at run time and only when somebody asks for a device, so the library runs where there is none.

mod context;
mod driver;
mod ferry;
mod functions;
mod graph;
mod images;
mod memory;
mod pointer;
mod stream;

pub(crate) use context::Context;
pub(crate) use ferry::Ferry;
pub(crate) use functions::{Way, function};
pub(crate) use graph::Graph;
pub(crate) use memory::{DeviceMemory, Pinned, download};
pub(crate) use pointer::{Home, home};
pub use stream::Stream;
pub(crate) use stream::{OwnStream, Timer};

use crate::error::Result;
use driver::Driver;

/// What there is to know about a device.
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
    Ok(Driver::get()?.devices)
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
