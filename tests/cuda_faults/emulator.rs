//! The emulator where its calls fail: which one, what is alive, and the state of the calling thread.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};

type Handle = usize;

/// A function of the emulator, or of the driver that it stands in for.
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

/// Lets the nth call from now on fail, of that name or any; 0: as that call may. `gone`: so does every later one.
pub fn fail(call: Option<&str>, nth: usize, code: c_int, gone: bool) {
    let name = call.map(|call| CString::new(call).unwrap());
    let name = name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr());
    unsafe {
        ask!("fzemu_fail": fn(*const c_char, c_long, c_int, c_int), name, nth as c_long, code, gone.into())
    }
}

/// The call that failed. From here on none does, and the device is back.
pub fn failed() -> Option<String> {
    unsafe {
        let name = ask!("fzemu_failed": fn() -> *const c_char,);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_str().unwrap().to_owned())
    }
}

/// Calls of the test's own, which do not fail and leave the thread's context as it was.
pub fn quietly<R>(f: impl FnOnce() -> R) -> R {
    let exempt = |on: c_int| unsafe { ask!("fzemu_exempt": fn(c_int), on) };
    exempt(1);
    let before = current();
    let result = f();
    set_current(before);
    exempt(0);
    result
}

/// What there is of everything that somebody has to give back.
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

/// Operations that are still to run.
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

/// In place of the current one; 0: none.
pub fn set_current(context: Handle) {
    if current() != context {
        assert_eq!(unsafe { ask!("cuCtxSetCurrent": fn(Handle) -> c_int, context) }, 0);
    }
}

/// How this thread's calls are taken while somebody captures: 0 unless somebody left it otherwise.
pub fn capture_mode() -> c_int {
    let mut mode = 0;
    assert_eq!(unsafe { ask!("cuThreadExchangeStreamCaptureMode": fn(*mut c_int) -> c_int, &mut mode) }, 0);
    mode
}

/// A context of the test's own, in which no function has been looked up. Its memory ends with it.
pub struct OwnContext(pub Handle);

impl OwnContext {
    /// Leaves the thread without a context.
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
    /// Contexts that a lost device kept from being popped go too.
    fn drop(&mut self) {
        let mut context = 0;
        while unsafe { ask!("cuCtxPopCurrent_v2": fn(*mut Handle) -> c_int, &mut context) } == 0 {}
        capture_mode();
        assert_eq!(unsafe { ask!("cuCtxDestroy_v2": fn(Handle) -> c_int, self.0) }, 0);
    }
}
