//! The guard between C and Rust. Every fallible function of the header is `ffi_guard(|| …)`.
//!
//! The guard converts an error of the body into a status and a text. It also catches panics: unwinding into C is undefined
//! behavior, and aborting would end the program of the caller. The body runs in the default floating-point environment.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{Error, ReserveAllocator, Status, in_default_environment};

/// The reason for a failed call: an error of the core, or an argument that is rejected before the core is called.
pub(super) struct FfiError {
    pub(super) status: Status,
    pub(super) text: String,
}

/// The result type of the C interface.
pub(super) type FfiResult<T> = Result<T, FfiError>;

impl FfiError {
    pub(super) fn null(name: &str) -> Self {
        FfiError { status: Status::NullPointer, text: format!("{name} is NULL") }
    }

    pub(super) fn argument(text: impl Into<String>) -> Self {
        FfiError { status: Status::InvalidArgument, text: text.into() }
    }

    pub(super) fn mismatch(text: impl Into<String>) -> Self {
        FfiError { status: Status::PlanMismatch, text: text.into() }
    }
}

impl From<Error> for FfiError {
    fn from(error: Error) -> Self {
        FfiError { status: error.status(), text: error.to_string() }
    }
}

/// The text of an error, a C string in memory of the thread. It requires no allocation, which would fail if the system has no
/// memory left, and no destructor.
struct Text([u8; Text::BYTES]);

impl Text {
    /// Length with the terminating zero. Texts that list names have a few hundred bytes; only a text that quotes the caller is cut.
    const BYTES: usize = 4096;
    const CUT: &str = "…";

    fn set(&mut self, text: &str) {
        let mut end = 0;
        for c in text.chars().map(|c| if c == '\0' { char::REPLACEMENT_CHARACTER } else { c }) {
            // Room remains for the mark of a cut text and for the terminating zero.
            if end + c.len_utf8() + Text::CUT.len() >= Text::BYTES {
                self.0[end..end + Text::CUT.len()].copy_from_slice(Text::CUT.as_bytes());
                end += Text::CUT.len();
                break;
            }
            end += c.encode_utf8(&mut self.0[end..]).len();
        }
        self.0[end] = 0;
    }
}

thread_local! {
    static LAST_ERROR: RefCell<Text> = const { RefCell::new(Text([0; Text::BYTES])) };
    /// Requests that the reserve had served when the current call of this thread began.
    static SERVED_BEFORE: Cell<u64> = const { Cell::new(0) };
}

/// Runs the body of a function of the header.
pub(super) fn ffi_guard(body: impl FnOnce() -> FfiResult<()>) -> i32 {
    in_default_environment(|| {
        SERVED_BEFORE.set(ReserveAllocator::served());
        caught(body)
    })
}

/// Fails if the system refused memory during the call. A handle must not keep memory of the reserve, which other calls require.
pub(super) fn expect_memory() -> FfiResult<()> {
    if ReserveAllocator::served() == SERVED_BEFORE.get() {
        return Ok(());
    }
    Err(Error::OutOfMemory(0).into())
}

fn caught(body: impl FnOnce() -> FfiResult<()>) -> i32 {
    let error = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return Status::Ok as i32,
        Ok(Err(error)) => error,
        Err(payload) => FfiError { status: Status::Internal, text: panic_text(payload) },
    };
    remember(&error.text);
    error.status as i32
}

/// Runs the body of a function that frees and returns no status. Errors only set the text of the last error.
pub(super) fn ffi_guard_drop(body: impl FnOnce() -> FfiResult<()>) {
    let _ = ffi_guard(body);
}

fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => String::new(),
    };
    // A payload may panic when it is dropped.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
    format!("internal error of fzgm, please report it: {text}")
}

fn remember(text: &str) {
    LAST_ERROR.with_borrow_mut(|last| last.set(text));
}

/// The text of this thread's last error.
pub(super) fn last_error() -> *const c_char {
    LAST_ERROR.with_borrow(|last| last.0.as_ptr().cast())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn text() -> String {
        // SAFETY: the pointer refers to the string of this thread, which does not change before it is copied.
        unsafe { CStr::from_ptr(last_error()) }.to_string_lossy().into_owned()
    }

    struct PanicsWhenDropped;
    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            std::panic::panic_any("dropped");
        }
    }

    #[test]
    fn panics_become_a_status_and_a_text() {
        assert_eq!(ffi_guard(|| std::panic::panic_any("static text")), Status::Internal as i32);
        assert!(text().ends_with("static text"));
        assert_eq!(ffi_guard(|| std::panic::panic_any(String::from("made\0text"))), Status::Internal as i32);
        assert!(text().ends_with("made\u{FFFD}text"));
        assert_eq!(ffi_guard(|| std::panic::panic_any(PanicsWhenDropped)), Status::Internal as i32);
        ffi_guard_drop(|| std::panic::panic_any("while freeing"));
        assert!(text().ends_with("while freeing"));
    }

    #[test]
    fn success_leaves_the_text_alone() {
        assert_eq!(ffi_guard(|| Err(FfiError::null("src"))), Status::NullPointer as i32);
        assert_eq!(ffi_guard(|| Ok(())), Status::Ok as i32);
        assert_eq!(text(), "src is NULL");
    }

    #[test]
    fn a_long_text_is_cut_between_two_characters() {
        for (lead, c) in [("", "x"), ("", "é"), ("x", "é"), ("xy", "\u{10000}"), ("", "\0")] {
            let long = lead.to_owned() + &c.repeat(Text::BYTES);
            assert_eq!(ffi_guard(|| Err(FfiError::argument(long.clone()))), Status::InvalidArgument as i32);
            let said = text();
            let kept = said.strip_suffix(Text::CUT).expect("the mark of a cut text");
            assert!(
                long.replace('\0', "\u{FFFD}").starts_with(kept) && said.len() > Text::BYTES - 10,
                "{}",
                said.len()
            );
        }
    }
}
