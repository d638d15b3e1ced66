//! The functions that HDF5 calls. Nothing unwinds out of them.
#![allow(unsafe_code)]

use crate::hdf5::{FilterClass, Hdf5, Hid, report};
use crate::words::ID;
use crate::{Answer, filter, local};
use fzgm::in_default_environment;
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

static CLASS: FilterClass = FilterClass {
    version: 1,
    id: ID,
    encoder_present: 1,
    decoder_present: 1,
    name: c"fzgm".as_ptr(),
    can_apply: Some(can_apply),
    set_local: Some(set_local),
    filter: Some(run),
};

/// `H5PL_TYPE_FILTER`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn H5PLget_plugin_type() -> c_int {
    0
}

/// The filter; also what `H5Zregister` takes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn H5PLget_plugin_info() -> *const c_void {
    (&raw const CLASS).cast()
}

/// What `body` returns, or nothing, with the reason on the error stack. It runs in the default floating-point environment.
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

/// Heaps of groups, which come without type and space, are no chunks. All else is decided by `set_local`: for optional filters
/// HDF5 takes no heed of a 0 from here.
extern "C" fn can_apply(_: Hid, kind: Hid, space: Hid) -> c_int {
    c_int::from(kind >= 0 && space >= 0)
}

extern "C" fn set_local(list: Hid, kind: Hid, space: Hid) -> c_int {
    let done = wall(c"set_local", || match Hdf5::of_caller() {
        Some(hdf5) => local::complete(&hdf5, list, kind, space),
        // A program without names of its functions; `filter` says so if its cd_values are not complete.
        None => Ok(()),
    });
    if done.is_some() { 0 } else { -1 }
}

/// `H5Z_FLAG_REVERSE`.
const REVERSE: c_uint = 0x100;

/// # Safety
/// As HDF5 calls it: `count` cd_values, and a block of `malloc` with `bytes` of `*size` bytes in use, which is exchanged on success.
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
            return Err("there is no chunk".into());
        }
        // SAFETY: of the caller, see above.
        let cd = if values.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(values, count) } };
        // SAFETY: as above.
        let start = unsafe { *buffer }.cast::<u8>();
        // SAFETY: as above.
        let chunk = if start.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(start, bytes) } };
        if flags & REVERSE == 0 { filter::compress(cd, chunk) } else { filter::restore(cd, chunk) }
    });
    let Some(block) = done else { return 0 };
    let (start, len) = block.into_raw();
    // SAFETY: the old block is one of `malloc`, as ours is; both places were read above.
    unsafe {
        libc::free(*buffer);
        *buffer = start;
        *size = len;
    }
    len
}
