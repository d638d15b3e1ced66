//! Where an address of the caller's lives.
#![allow(unsafe_code)]

use super::driver::Driver;
use crate::error::Result;

/// Where memory is, as far as a call has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// The processor reads and writes it.
    Host,
    /// The device of this index does; the processor must not.
    Device(u32),
    /// Both do.
    Managed,
}

/// Asks the driver about an address, if this process has one: an array in host memory never starts CUDA.
pub(crate) fn home(address: u64) -> Result<Home> {
    /// CU_POINTER_ATTRIBUTE_MEMORY_TYPE, _IS_MANAGED, _DEVICE_ORDINAL
    const MEMORY_TYPE: i32 = 2;
    const IS_MANAGED: i32 = 8;
    const DEVICE_ORDINAL: i32 = 9;
    /// CU_MEMORYTYPE_DEVICE
    const DEVICE: u32 = 2;
    let Some(driver) = Driver::present() else { return Ok(Home::Host) };
    let address = address as usize;
    // SAFETY: the attributes are an unsigned int, an int that serves as a flag, and an int.
    let (kind, managed, ordinal) = unsafe {
        (
            driver.attribute::<u32>(MEMORY_TYPE, address)?,
            driver.attribute::<u32>(IS_MANAGED, address)?,
            driver.attribute::<i32>(DEVICE_ORDINAL, address)?,
        )
    };
    Ok(match (kind, managed) {
        (_, Some(1..)) => Home::Managed,
        (Some(DEVICE), _) => Home::Device(u32::try_from(ordinal.unwrap_or(0)).unwrap_or(0)),
        _ => Home::Host,
    })
}
