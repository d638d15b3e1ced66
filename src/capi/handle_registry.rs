//! The list of valid handles, in debug builds. A handle that was freed, or has another type, is rejected before it is read.
//!
//! The list contains addresses, because an unchecked pointer must not be read. It cannot detect a freed handle if a newer handle
//! of the same type has its address. Release builds keep no list.

use super::ffi_guard::{FfiError, FfiResult};

/// A type that C holds by pointer and returns to the library to free it.
pub(super) trait Handle {
    const NAME: &'static str;
}

#[cfg(debug_assertions)]
mod list {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    static HANDLES: Mutex<BTreeMap<usize, &'static str>> = Mutex::new(BTreeMap::new());

    /// No code panics while it holds the lock, so the list is valid even if the lock is poisoned.
    pub(super) fn handles() -> MutexGuard<'static, BTreeMap<usize, &'static str>> {
        HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds a handle that is passed to C.
pub(super) fn register<T: Handle>(pointer: *const T) {
    #[cfg(debug_assertions)]
    list::handles().insert(pointer as usize, T::NAME);
    #[cfg(not(debug_assertions))]
    let _ = pointer;
}

/// Rejects a pointer that is not a handle of this type.
pub(super) fn expect<T: Handle>(pointer: *const T, name: &str) -> FfiResult<()> {
    #[cfg(debug_assertions)]
    let found = list::handles().get(&(pointer as usize)).copied();
    #[cfg(not(debug_assertions))]
    let found = Some(T::NAME);
    check::<T>(pointer, found, name)
}

/// Removes a handle that C returns. Rejects a pointer that is not a handle of this type.
pub(super) fn unregister<T: Handle>(pointer: *const T, name: &str) -> FfiResult<()> {
    expect(pointer, name)?;
    #[cfg(debug_assertions)]
    list::handles().remove(&(pointer as usize));
    Ok(())
}

fn check<T: Handle>(pointer: *const T, found: Option<&str>, name: &str) -> FfiResult<()> {
    let what = match found {
        Some(kind) if kind == T::NAME => return Ok(()),
        Some(kind) => format!("an {kind}"),
        None => "not a handle: it was freed, or never created".into(),
    };
    Err(FfiError::argument(format!("{name} is {pointer:p}, {what}; expected an {}", T::NAME)))
}
