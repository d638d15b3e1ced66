//! libcuda as a file. Nothing is linked: a machine without a driver runs the same library.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};

const NAME: &CStr = c"libcuda.so.1";
const NOT_FOUND: &str = "libcuda.so.1 is not found: there is no NVIDIA driver";

/// The address of a function of libcuda if the process has loaded libcuda, else null.
pub(in crate::gpu) fn find(name: &CStr) -> *mut c_void {
    // SAFETY: the name is a string; nothing is loaded. The handle's count stays raised: the driver is never unloaded.
    let handle = unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    if handle.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: the handle is that of an open library and the name is a string.
    unsafe { libc::dlsym(handle, name.as_ptr()) }
}

/// Opens it, for ever.
pub(super) fn open() -> Result<impl Fn(&CStr) -> *mut c_void, &'static str> {
    // SAFETY: the name is a string; the initialisers of the driver are trusted.
    let handle = unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(NOT_FOUND);
    }
    // SAFETY: the handle is that of an open library and the name is a string.
    Ok(move |name: &CStr| unsafe { libc::dlsym(handle, name.as_ptr()) })
}
