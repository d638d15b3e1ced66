//! Finds the object in this process that called the plugin. A process may contain several HDF5 libraries, and ids of
//! one library have no meaning in another.
//!
//! Debian gives the symbols of its builds different versions, and wheels of h5py and netCDF4 contain renamed
//! libraries with hidden symbols. A plugin that is linked to one HDF5 library, or uses the first one found, works
//! only with that library.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{null, null_mut};

unsafe extern "C" {
    fn _Unwind_Backtrace(
        step: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// Data that the steps of a walk share.
struct Walk {
    /// Address at which the plugin is loaded.
    own: *mut c_void,
    found: Option<libc::Dl_info>,
    steps: u32,
}

/// `_URC_END_OF_STACK`, which ends a walk, and `_URC_NO_REASON`, which continues it.
const STOP: c_int = 5;
const ON: c_int = 0;
/// Limit of the walk. Only a few frames of the plugin are between a callback and this function.
const MAX_STEPS: u32 = 64;

fn object(address: *const c_void) -> Option<libc::Dl_info> {
    let mut info =
        libc::Dl_info { dli_fname: null(), dli_fbase: null_mut(), dli_sname: null(), dli_saddr: null_mut() };
    // SAFETY: any address may be queried; the function writes only to memory of this function.
    let known = unsafe { libc::dladdr(address, &mut info) } != 0;
    known.then_some(info)
}

extern "C" fn step(context: *mut c_void, argument: *mut c_void) -> c_int {
    // SAFETY: the argument is the `Walk` in `outside`, which outlives the walk, and no other code uses it during the
    // walk.
    let walk = unsafe { &mut *argument.cast::<Walk>() };
    // SAFETY: the unwinder passes this context.
    let ip = unsafe { _Unwind_GetIP(context) };
    walk.steps += 1;
    // A return address may be the first address of the next function.
    let Some(info) = ip.checked_sub(1).and_then(|ip| object(ip as *const c_void)) else { return STOP };
    if info.dli_fbase == walk.own {
        return if walk.steps < MAX_STEPS { ON } else { STOP };
    }
    walk.found = Some(info);
    STOP
}

/// The object of the first frame outside the plugin.
fn outside() -> Option<libc::Dl_info> {
    let own = object(step as *const c_void)?.dli_fbase;
    let mut walk = Walk { own, found: None, steps: 0 };
    // SAFETY: `step` casts its argument to the type that is passed here, and does not unwind.
    unsafe { _Unwind_Backtrace(step, (&raw mut walk).cast()) };
    walk.found
}

/// Symbols of an object.
pub(crate) struct Symbols(*mut c_void);

impl Symbols {
    /// Global symbols of the process.
    pub(crate) fn of_process() -> Symbols {
        Symbols(libc::RTLD_DEFAULT)
    }

    /// The address of a symbol.
    pub(crate) fn get(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is from `dlopen` or is `RTLD_DEFAULT`, and the name ends with a zero.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

/// The result of `f` for the symbols of the object that called the plugin; if it is `None`, for the global symbols of
/// the process.
pub(crate) fn with_symbols<T>(f: impl Fn(&Symbols) -> Option<T>) -> Option<T> {
    if let Some(info) = outside() {
        let flags = libc::RTLD_LAZY | libc::RTLD_LOCAL | libc::RTLD_NOLOAD;
        // SAFETY: the name is that of a loaded object, in the loader's own memory.
        let mut handle = unsafe { libc::dlopen(info.dli_fname, flags) };
        if handle.is_null() {
            // The program itself, which may contain HDF5 and is not loaded by name.
            // SAFETY: a null name means the program.
            handle = unsafe { libc::dlopen(null(), libc::RTLD_LAZY) };
        }
        if !handle.is_null() {
            let made = f(&Symbols(handle));
            // SAFETY: the handle is open, and is closed once. The caller stays loaded, because its code is on the stack.
            unsafe { libc::dlclose(handle) };
            if made.is_some() {
                return made;
            }
        }
    }
    f(&Symbols::of_process())
}
