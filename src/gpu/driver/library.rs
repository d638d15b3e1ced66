//! libcuda as a file. Nothing is linked: a machine without a driver runs the same library.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

const NAME: &CStr = c"libcuda.so.1";
const NOT_FOUND: &str = "libcuda.so.1 was not found; install an NVIDIA driver";

/// The address of a function of libcuda if the process has loaded libcuda, else null.
pub(in crate::gpu) fn find(name: &CStr) -> *mut c_void {
    // The search for a library that is not loaded reads folders each time, about 30 us: once for each number of loaded libraries is enough.
    static WITHOUT: AtomicU64 = AtomicU64::new(0);
    let loaded = loaded();
    if loaded != 0 && WITHOUT.load(Ordering::Relaxed) == loaded {
        return std::ptr::null_mut();
    }
    // SAFETY: the name is a string; nothing is loaded. The handle's count stays raised: the driver is never unloaded.
    let handle = unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    if handle.is_null() {
        WITHOUT.store(loaded, Ordering::Relaxed);
        return std::ptr::null_mut();
    }
    // SAFETY: the handle is that of an open library and the name is a string.
    unsafe { libc::dlsym(handle, name.as_ptr()) }
}

/// The number of libraries that the process has loaded so far; 0: the C library does not report it.
fn loaded() -> u64 {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        bytes: libc::size_t,
        count: *mut c_void,
    ) -> i32 {
        if bytes >= std::mem::offset_of!(libc::dl_phdr_info, dlpi_adds) + size_of::<u64>() {
            // SAFETY: both are valid during the call, and the record has this field.
            unsafe { *count.cast::<u64>() = (*info).dlpi_adds };
        }
        1
    }
    let mut count = 0u64;
    // SAFETY: the function writes the number behind the pointer during this call alone.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut count).cast()) };
    count
}

/// Opens the library permanently.
pub(super) fn open() -> Result<impl Fn(&CStr) -> *mut c_void, &'static str> {
    // SAFETY: the name is a string; the initialisers of the driver are trusted.
    let handle = unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(NOT_FOUND);
    }
    // SAFETY: the handle is that of an open library and the name is a string.
    Ok(move |name: &CStr| unsafe { libc::dlsym(handle, name.as_ptr()) })
}
