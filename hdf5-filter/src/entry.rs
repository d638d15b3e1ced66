//! The functions that HDF5 calls. No panic leaves them.
#![allow(unsafe_code)]

use crate::hdf5::{Hdf5, report};
use crate::sys::{
    H5PL_TYPE_FILTER, H5PL_type_t, H5Z_CLASS_T_VERS, H5Z_FLAG_REVERSE, H5Z_class2_t, herr_t, hid_t, htri_t,
};
use crate::words::ID;
use crate::{Answer, filter, local};
use fzgm::in_default_environment;
use std::ffi::{CStr, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

static CLASS: H5Z_class2_t = H5Z_class2_t {
    version: H5Z_CLASS_T_VERS,
    id: ID,
    encoder_present: 1,
    decoder_present: 1,
    name: c"fzgm".as_ptr(),
    can_apply: Some(can_apply),
    set_local: Some(set_local),
    filter: Some(run),
};

/// The kind of plugin.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn H5PLget_plugin_type() -> H5PL_type_t {
    H5PL_TYPE_FILTER
}

/// The filter; also the argument of `H5Zregister`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn H5PLget_plugin_info() -> *const c_void {
    (&raw const CLASS).cast()
}

/// The result of `body`, which runs in the default floating-point environment. On failure, puts the reason on the error
/// stack and returns `None`.
fn wall<T>(function: &CStr, body: impl FnOnce() -> Answer<T>) -> Option<T> {
    in_default_environment(|| caught(function, body))
}

fn caught<T>(function: &CStr, body: impl FnOnce() -> Answer<T>) -> Option<T> {
    let reason = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(done)) => return Some(done),
        Ok(Err(reason)) => reason,
        Err(payload) => {
            // A payload may panic when it is dropped.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
            "internal error, please report it".into()
        }
    };
    let _ = catch_unwind(AssertUnwindSafe(|| report(function, &reason)));
    None
}

/// False for heaps of groups, which are not chunks and have no type and no space. `set_local` decides all other cases, because HDF5 ignores
/// a 0 of this function for optional filters.
extern "C" fn can_apply(_: hid_t, kind: hid_t, space: hid_t) -> htri_t {
    htri_t::from(kind >= 0 && space >= 0)
}

extern "C" fn set_local(list: hid_t, kind: hid_t, space: hid_t) -> herr_t {
    let done = wall(c"set_local", || match Hdf5::of_caller() {
        Some(hdf5) => local::complete(&hdf5, list, kind, space),
        // A program that hides the functions of HDF5. `filter` reports incomplete cd_values.
        None => Ok(()),
    });
    if done.is_some() { 0 } else { -1 }
}

/// # Safety
/// `values` has `count` cd_values, and `*buffer` is a block of `malloc` with `*size` bytes, of which `bytes` are in use. On success,
/// another block replaces it.
unsafe extern "C" fn run(
    flags: c_uint,
    count: usize,
    values: *const c_uint,
    bytes: usize,
    size: *mut usize,
    buffer: *mut *mut c_void,
) -> usize {
    let done = wall(c"filter", || {
        if size.is_null() || buffer.is_null() {
            return Err("the chunk that HDF5 passes is null; pass a buffer and its size".into());
        }
        // SAFETY: a requirement of the caller, see above.
        let cd = if values.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(values, count) } };
        // SAFETY: as above.
        let start = unsafe { *buffer }.cast::<u8>();
        // SAFETY: as above.
        let chunk = if start.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(start, bytes) } };
        if flags & H5Z_FLAG_REVERSE == 0 { filter::compress(cd, chunk) } else { filter::restore(cd, chunk) }
    });
    let Some(block) = done else { return 0 };
    let (start, len) = block.into_raw();
    // SAFETY: `malloc` or `calloc` returned both blocks; `buffer` and `size` are not null, as checked above.
    unsafe {
        libc::free(*buffer);
        *buffer = start;
        *size = len;
    }
    len
}
