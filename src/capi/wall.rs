//! The wall between C and Rust. Every fallible function of the header is `wall(|| …)`: what the body returns as an error
//! becomes a status and a text, and what it panics with stops here, because unwinding into C is undefined behaviour and
//! aborting would take a whole simulation down for one array.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{Error, Status};

/// Why a call was refused: an error of the core, or a pointer that the core never gets to see.
pub(super) struct Refusal {
    pub(super) status: Status,
    pub(super) text: String,
}

/// The result of everything on this side of the border.
pub(super) type Answer<T> = Result<T, Refusal>;

impl Refusal {
    pub(super) fn null(name: &str) -> Self {
        Refusal { status: Status::NullPointer, text: format!("{name} is NULL") }
    }

    pub(super) fn argument(text: impl Into<String>) -> Self {
        Refusal { status: Status::InvalidArgument, text: text.into() }
    }

    pub(super) fn mismatch(text: impl Into<String>) -> Self {
        Refusal { status: Status::PlanMismatch, text: text.into() }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal { status: error.status(), text: error.to_string() }
    }
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs the body of a function of the header.
pub(super) fn wall(body: impl FnOnce() -> Answer<()>) -> i32 {
    let refusal = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return Status::Ok as i32,
        Ok(Err(refusal)) => refusal,
        Err(payload) => Refusal { status: Status::Internal, text: panic_text(payload) },
    };
    remember(&refusal.text);
    refusal.status as i32
}

/// Runs the body of a function that frees: there is no status to return, and nothing is let through.
pub(super) fn quiet_wall(body: impl FnOnce() -> Answer<()>) {
    let _ = wall(body);
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
    let text = CString::new(text.replace('\0', "\u{FFFD}")).unwrap_or_default();
    // A thread that is ending may have no storage left; its text is lost, the status is not.
    let _ = LAST_ERROR.try_with(|last| *last.borrow_mut() = text);
}

/// The text of this thread's last refusal.
pub(super) fn last_error() -> *const c_char {
    const NOTHING: &CStr = c"";
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).unwrap_or(NOTHING.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> String {
        // SAFETY: the pointer is that of the thread's own string, which nothing changes before it is copied.
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
        assert_eq!(wall(|| std::panic::panic_any("static text")), Status::Internal as i32);
        assert!(text().ends_with("static text"));
        assert_eq!(wall(|| std::panic::panic_any(String::from("made\0text"))), Status::Internal as i32);
        assert!(text().ends_with("made\u{FFFD}text"));
        assert_eq!(wall(|| std::panic::panic_any(PanicsWhenDropped)), Status::Internal as i32);
        quiet_wall(|| std::panic::panic_any("while freeing"));
        assert!(text().ends_with("while freeing"));
    }

    #[test]
    fn success_leaves_the_text_alone() {
        assert_eq!(wall(|| Err(Refusal::null("src"))), Status::NullPointer as i32);
        assert_eq!(wall(|| Ok(())), Status::Ok as i32);
        assert_eq!(text(), "src is NULL");
    }
}
