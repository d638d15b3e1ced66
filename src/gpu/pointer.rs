//! Where an address of the caller's lives.
//!
//! The question is put to libcuda itself and only where the process has it: whoever holds a device pointer has loaded it, and
//! an array in host memory never starts CUDA. So it is answered also where this build or this driver cannot run anything:
//! then a device pointer is an error and not an access to memory that is not there.
#![allow(unsafe_code)]

use super::driver::{Handle, library};
use crate::error::{Error, Result};
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

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

/// CU_POINTER_ATTRIBUTE_MEMORY_TYPE
const MEMORY_TYPE: c_int = 2;

/// Where the memory at an address is.
pub(crate) fn home(address: u64) -> Result<Home> {
    /// CU_POINTER_ATTRIBUTE_IS_MANAGED, _DEVICE_ORDINAL
    const IS_MANAGED: c_int = 8;
    const DEVICE_ORDINAL: c_int = 9;
    /// CU_MEMORYTYPE_DEVICE
    const DEVICE: u32 = 2;
    let address = address as Handle;
    // SAFETY: the attributes are an unsigned int, an int that serves as a flag, and an int.
    unsafe {
        let Some(kind) = attribute::<u32>(MEMORY_TYPE, address)? else { return Ok(Home::Host) };
        if attribute::<u32>(IS_MANAGED, address)?.is_some_and(|flag| flag != 0) {
            return Ok(Home::Managed);
        }
        if kind != DEVICE {
            return Ok(Home::Host);
        }
        let ordinal = attribute::<i32>(DEVICE_ORDINAL, address)?.unwrap_or(0);
        Ok(Home::Device(u32::try_from(ordinal).unwrap_or(0)))
    }
}

/// Whether the driver knows an address: pinned memory of the host, among others.
pub(super) fn pinned(address: u64) -> Result<bool> {
    // SAFETY: the attribute is an unsigned int.
    Ok(unsafe { attribute::<u32>(MEMORY_TYPE, address as Handle)? }.is_some_and(|kind| kind != 0))
}

/// The context that device memory belongs to; `None`: the driver no longer knows the address.
pub(super) fn context_of(address: Handle) -> Result<Option<Handle>> {
    /// CU_POINTER_ATTRIBUTE_CONTEXT
    const CONTEXT: c_int = 1;
    // SAFETY: the attribute is a handle.
    unsafe { attribute::<Handle>(CONTEXT, address) }
}

/// cuPointerGetAttribute
type Ask = unsafe extern "C" fn(*mut c_void, c_int, Handle) -> c_int;

/// An attribute of an address; `None`: the driver does not know the address, or is not running.
///
/// # Safety
/// The attribute is of type `T`.
unsafe fn attribute<T: Default>(attribute: c_int, address: Handle) -> Result<Option<T>> {
    /// CUDA_ERROR_INVALID_VALUE, _NOT_INITIALIZED, _DEINITIALIZED
    const UNKNOWN: [c_int; 3] = [1, 3, 4];
    static ASK: OnceLock<Ask> = OnceLock::new();
    let ask = match ASK.get() {
        Some(ask) => *ask,
        None => {
            let Some(found) = library::find(c"cuPointerGetAttribute") else { return Ok(None) };
            // SAFETY: the function of that name has this signature since it exists.
            *ASK.get_or_init(|| unsafe { std::mem::transmute::<*mut c_void, Ask>(found) })
        }
    };
    let mut value = T::default();
    // SAFETY: the place for the result is live and of its type, by the caller's promise.
    match unsafe { ask(std::ptr::from_mut(&mut value).cast(), attribute, address) } {
        0 => Ok(Some(value)),
        code if UNKNOWN.contains(&code) => Ok(None),
        code => Err(Error::Device {
            call: "cuPointerGetAttribute",
            code,
            text: format!("the driver cannot say where {address:#x} is"),
        }),
    }
}
