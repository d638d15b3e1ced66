//! The kind of memory at an address of the caller.
//!
//! The query goes to libcuda, and only if the process has loaded it: a process with a device pointer has
//! loaded it, and an array in host memory never starts CUDA. The query therefore also works if this build or
//! this driver cannot run kernels: a device pointer is then an error and not an invalid memory access.
#![allow(unsafe_code)]

use super::Home;
use super::driver::table::Function;
use super::driver::{Code, Handle, SUCCESS, library};
use crate::base::error::{Error, Result};
use cudarc::driver::sys::CUpointer_attribute::{
    self, CU_POINTER_ATTRIBUTE_CONTEXT as CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL as DEVICE_ORDINAL,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER as DEVICE_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED as IS_MANAGED,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE as MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE as RANGE_SIZE,
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR as RANGE_START,
};
use cudarc::driver::sys::{CUmemorytype, CUresult, cuPointerGetAttribute};
use std::sync::OnceLock;

/// Where the memory at an address is.
pub(crate) fn home(address: u64) -> Result<Home> {
    const DEVICE: u32 = CUmemorytype::CU_MEMORYTYPE_DEVICE as u32;
    let address = address as Handle;
    // SAFETY: the attributes are an unsigned int, an int that serves as a flag, and an int.
    unsafe {
        let Some(kind) = attribute::<u32>(MEMORY_TYPE, address)? else {
            return Ok(Home::Host);
        };
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

/// True if the driver has a record of an address: pinned memory of the host, among others.
pub(super) fn pinned(address: u64) -> Result<bool> {
    // SAFETY: the attribute is an unsigned int.
    Ok(unsafe { attribute::<u32>(MEMORY_TYPE, address as Handle)? }.is_some_and(|kind| kind != 0))
}

/// True if kernels read all of this memory of the host at the addresses of the host, as they do if it is pinned.
/// Memory that only a part of is registered, or whose parts are registered one by one, is not.
pub(crate) fn mapped(bytes: &[u8]) -> Result<bool> {
    let at = bytes.as_ptr() as Handle;
    // SAFETY: the attributes are two addresses and a number of bytes.
    unsafe {
        if attribute::<Handle>(DEVICE_POINTER, at)? != Some(at) {
            return Ok(false);
        }
        let (Some(start), Some(length)) =
            (attribute::<Handle>(RANGE_START, at)?, attribute::<usize>(RANGE_SIZE, at)?)
        else {
            return Ok(false);
        };
        Ok((at - start).checked_add(bytes.len()).is_some_and(|end| end <= length))
    }
}

/// The context that device memory belongs to; `None`: the driver has no record of the address.
pub(super) fn context_of(address: Handle) -> Result<Option<Handle>> {
    // SAFETY: the attribute is a handle.
    unsafe { attribute::<Handle>(CONTEXT, address) }
}

/// An attribute of an address; `None`: the driver has no record of the address, or is not running.
///
/// # Safety
/// The attribute must be of type `T`.
unsafe fn attribute<T: Default>(attribute: CUpointer_attribute, address: Handle) -> Result<Option<T>> {
    const INVALID: Code = CUresult::CUDA_ERROR_INVALID_VALUE as Code;
    const NOT_STARTED: Code = CUresult::CUDA_ERROR_NOT_INITIALIZED as Code;
    const ENDED: Code = CUresult::CUDA_ERROR_DEINITIALIZED as Code;
    static ASK: OnceLock<Function> = OnceLock::new();
    let ask = match ASK.get() {
        Some(ask) => *ask,
        None => {
            // SAFETY: the driver is never unloaded.
            let found = unsafe { Function::at(library::find(c"cuPointerGetAttribute")) };
            let Some(found) = found else { return Ok(None) };
            *ASK.get_or_init(|| found)
        }
    };
    let mut value = T::default();
    let place = (&raw mut value).cast();
    let declaration = || -> unsafe fn(_, _, _) -> _ { cuPointerGetAttribute };
    // SAFETY: the place for the result is live and of its type, by the caller's promise.
    match unsafe { ask.declared(declaration)(place, attribute, address as _) } {
        SUCCESS => Ok(Some(value)),
        INVALID | NOT_STARTED | ENDED => Ok(None),
        code => Err(Error::Device {
            call: "cuPointerGetAttribute",
            code,
            text: format!("the driver cannot determine the memory of {address:#x}"),
        }),
    }
}
