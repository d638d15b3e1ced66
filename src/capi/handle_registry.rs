//! Which handles there are, in debug builds: one that was freed, or is of another kind, is refused there and not followed.
//!
//! A list of addresses, since nothing may be read through a pointer of which one does not know that it is good. It misses
//! a freed handle whose address another one of its kind has got since. Release builds keep no list and look nothing up.

use super::ffi_guard::{FfiError, FfiResult};

/// What C holds by a pointer and gives back.
pub(super) trait Handle {
    const NAME: &'static str;
}

#[cfg(debug_assertions)]
mod list {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    static HANDLES: Mutex<BTreeMap<usize, &'static str>> = Mutex::new(BTreeMap::new());

    /// Nothing panics while it is held, so that it is whole whatever happened.
    pub(super) fn handles() -> MutexGuard<'static, BTreeMap<usize, &'static str>> {
        HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes a handle that goes out to C.
pub(super) fn register<T: Handle>(pointer: *const T) {
    #[cfg(debug_assertions)]
    list::handles().insert(pointer as usize, T::NAME);
    #[cfg(not(debug_assertions))]
    let _ = pointer;
}

/// Refuses what is no handle of this kind.
pub(super) fn expect<T: Handle>(pointer: *const T, name: &str) -> FfiResult<()> {
    #[cfg(debug_assertions)]
    let found = list::handles().get(&(pointer as usize)).copied();
    #[cfg(not(debug_assertions))]
    let found = Some(T::NAME);
    check::<T>(pointer, found, name)
}

/// Strikes a handle that comes back from C off, or refuses it.
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
