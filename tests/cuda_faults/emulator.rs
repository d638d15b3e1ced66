//! Controls of the emulator: injected failures, counts of live objects, and the state of the calling thread.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};

type Handle = usize;

/// Calls a function of the emulator by name.
macro_rules! ask {
    ($name:literal: fn($($arg:ty),*) $(-> $result:ty)?, $($given:expr),*) => {{
        let f = libc::dlsym(library(), concat!($name, "\0").as_ptr().cast());
        assert!(!f.is_null(), "the emulator lacks {}", $name);
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) $(-> $result)?>(f)($($given),*)
    }};
}

fn library() -> *mut c_void {
    unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) }
}

/// True if the driver is the emulator. Does not start the driver.
pub fn is_present() -> bool {
    let library = library();
    !library.is_null() && !unsafe { libc::dlsym(library, c"fzemu_fail".as_ptr()) }.is_null()
}

/// Fails the nth call from now on, of that name or of any name. Code 0 selects one that suits the call. `gone`: every later call fails too.
pub fn fail(call: Option<&str>, nth: usize, code: c_int, gone: bool) {
    let name = call.map(|call| CString::new(call).unwrap());
    let name = name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr());
    unsafe {
        ask!("fzemu_fail": fn(*const c_char, c_long, c_int, c_int), name, nth as c_long, code, gone.into())
    }
}

/// The call that failed. Ends the injection and restores the device.
pub fn failed() -> Option<String> {
    unsafe {
        let name = ask!("fzemu_failed": fn() -> *const c_char,);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_str().unwrap().to_owned())
    }
}

/// Runs driver calls of the test itself: they never fail, and the current context is restored.
pub fn quietly<R>(f: impl FnOnce() -> R) -> R {
    let exempt = |on: c_int| unsafe { ask!("fzemu_exempt": fn(c_int), on) };
    exempt(1);
    let before = current();
    let result = f();
    set_current(before);
    exempt(0);
    result
}

/// Counts of objects that need an explicit release.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alive {
    pub memory: i64,
    pub streams: i64,
    pub events: i64,
}

pub fn alive() -> Alive {
    Alive {
        memory: unsafe { ask!("fzemu_live_allocations": fn() -> c_int,) }.into(),
        streams: live(c"streams"),
        events: live(c"events"),
    }
}

/// Operations that have not run yet.
pub fn pending() -> i64 {
    live(c"operations")
}

fn live(what: &CStr) -> i64 {
    unsafe { ask!("fzemu_live": fn(*const c_char) -> c_long, what.as_ptr()) }
}

pub fn current() -> Handle {
    let mut context = 0;
    assert_eq!(unsafe { ask!("cuCtxGetCurrent": fn(*mut Handle) -> c_int, &mut context) }, 0);
    context
}

/// Replaces the current context; 0: none.
pub fn set_current(context: Handle) {
    if current() != context {
        assert_eq!(unsafe { ask!("cuCtxSetCurrent": fn(Handle) -> c_int, context) }, 0);
    }
}

/// The capture mode of the thread, which it resets to 0, the default.
pub fn capture_mode() -> c_int {
    let mut mode = 0;
    assert_eq!(unsafe { ask!("cuThreadExchangeStreamCaptureMode": fn(*mut c_int) -> c_int, &mut mode) }, 0);
    mode
}

/// A fresh context, in which the library has looked up no function. Its memory and streams end with it.
pub struct OwnContext(pub Handle);

impl OwnContext {
    /// The thread has no context afterwards.
    pub fn new() -> OwnContext {
        let mut context = 0;
        set_current(0);
        assert_eq!(
            unsafe { ask!("cuCtxCreate_v2": fn(*mut Handle, u32, c_int) -> c_int, &mut context, 0, 0) },
            0
        );
        set_current(0);
        OwnContext(context)
    }

    pub fn stream(&self) -> Handle {
        set_current(self.0);
        let mut stream = 0;
        assert_eq!(unsafe { ask!("cuStreamCreate": fn(*mut Handle, u32) -> c_int, &mut stream, 1) }, 0);
        set_current(0);
        stream
    }
}

impl Drop for OwnContext {
    /// Also pops contexts that the library could not pop after a loss.
    fn drop(&mut self) {
        let mut context = 0;
        while unsafe { ask!("cuCtxPopCurrent_v2": fn(*mut Handle) -> c_int, &mut context) } == 0 {}
        capture_mode();
        assert_eq!(unsafe { ask!("cuCtxDestroy_v2": fn(Handle) -> c_int, self.0) }, 0);
    }
}
