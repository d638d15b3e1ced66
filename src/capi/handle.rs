//! Pointers of C turned into references of Rust, each checked as far as it can be: not null, aligned, of a length that an
//! object can have. That a pointer points to what its type says, for as long as the call runs, is the caller's promise and
//! the only thing that the functions here rely on unchecked.

use std::ffi::{CStr, c_char, c_void};
use std::slice;

use super::ffi_guard::{FfiError, FfiResult, expect_memory};
use super::handle_registry::{self, Handle};
use super::status::FZ_MAX_DIMS;
use crate::DeviceSlice;

fn usable<T>(pointer: *const T, name: &str) -> FfiResult<()> {
    if pointer.is_null() {
        return Err(FfiError::null(name));
    }
    if !pointer.is_aligned() {
        let align = align_of::<T>();
        return Err(FfiError::argument(format!(
            "{name} is {pointer:p}; it must be aligned to {align} bytes"
        )));
    }
    Ok(())
}

/// What `pointer` points to, to be read.
///
/// # Safety
/// `pointer` is null or points to a `T` that nobody changes while the reference lives.
unsafe fn shared<'a, T>(pointer: *const T, name: &str) -> FfiResult<&'a T> {
    usable(pointer, name)?;
    // SAFETY: not null, aligned; the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// What `pointer` points to, or nothing for null.
///
/// # Safety
/// As for [`shared`].
pub(super) unsafe fn optional<'a, T>(pointer: *const T, name: &str) -> FfiResult<Option<&'a T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise, passed on.
    unsafe { shared(pointer, name) }.map(Some)
}

/// A handle, to be looked at.
///
/// # Safety
/// As for [`shared`].
pub(super) unsafe fn handle<'a, T: Handle>(pointer: *const T, name: &str) -> FfiResult<&'a T> {
    usable(pointer, name)?;
    handle_registry::expect(pointer, name)?;
    // SAFETY: not null, aligned; the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// A handle, to be looked at, or nothing for null.
///
/// # Safety
/// As for [`shared`].
pub(super) unsafe fn optional_handle<'a, T: Handle>(
    pointer: *const T,
    name: &str,
) -> FfiResult<Option<&'a T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise, passed on.
    unsafe { handle(pointer, name) }.map(Some)
}

/// A handle, to be changed, or nothing for null.
///
/// # Safety
/// As for [`exclusive`].
pub(super) unsafe fn optional_mut<'a, T: Handle>(
    pointer: *mut T,
    name: &str,
) -> FfiResult<Option<&'a mut T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise, passed on.
    unsafe { exclusive(pointer, name) }.map(Some)
}

/// A handle, to be changed.
///
/// # Safety
/// `pointer` is null or points to a `T` that nobody else uses while the reference lives.
pub(super) unsafe fn exclusive<'a, T: Handle>(pointer: *mut T, name: &str) -> FfiResult<&'a mut T> {
    usable(pointer, name)?;
    handle_registry::expect(pointer, name)?;
    // SAFETY: not null, aligned; the rest is the caller's promise.
    Ok(unsafe { &mut *pointer })
}

/// `count` elements.
///
/// # Safety
/// `pointer` is null or points to `count` elements that nobody changes while the slice lives.
pub(super) unsafe fn elements<'a, T>(pointer: *const T, count: u64, name: &str) -> FfiResult<&'a [T]> {
    usable(pointer, name)?;
    let count = possible::<T>(count, name)?;
    // SAFETY: not null, aligned, no longer than an object can be; the rest is the caller's promise.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// Bytes to read and bytes to write; null stands for no bytes when there are none.
///
/// They stay addresses: one of a device must never become a slice, and only the core, which asks the driver, can tell.
pub(super) fn regions(
    src: Bytes<*const c_void>,
    dst: Bytes<*mut c_void>,
) -> FfiResult<(DeviceSlice, DeviceSlice)> {
    // Rust builds on it that what is written overlaps with nothing, so that is settled before there is a slice.
    let (src, dst) = ((src.region(src.at as usize)?, src.name), (dst.region(dst.at as usize)?, dst.name));
    if src.0.overlaps(dst.0) {
        let (low, high) = if dst.0.address < src.0.address { (dst, src) } else { (src, dst) };
        return Err(FfiError::argument(format!(
            "{} and {} overlap: {} begins {} bytes before {}, and its length is {}; pass separate memory, and its actual lengths",
            src.1,
            dst.1,
            low.1,
            high.0.address - low.0.address,
            high.1,
            low.0.bytes
        )));
    }
    Ok((src.0, dst.0))
}

/// Bytes to read alone.
pub(super) fn region(at: *const c_void, count: u64, name: &'static str) -> FfiResult<DeviceSlice> {
    Bytes::new(at, count, name).region(at as usize)
}

/// Bytes at an address, which may be null; `name` returns their name.
pub(super) fn region_at(start: usize, count: u64, name: impl Fn() -> String) -> FfiResult<DeviceSlice> {
    let length = usize::try_from(count).ok().filter(|n| isize::try_from(*n).is_ok());
    match length.and_then(|n| start.checked_add(n)) {
        Some(_) => Ok(DeviceSlice { address: start as u64, bytes: count }),
        None => Err(FfiError::argument(format!(
            "{} extends beyond the address space; correct its length",
            name()
        ))),
    }
}

/// `count` places, which are not touched.
pub(super) fn places<T>(pointer: *mut T, count: u64, name: &str) -> FfiResult<*mut T> {
    usable(pointer, name)?;
    possible::<T>(count, name)?;
    Ok(pointer)
}

/// Memory as C names it.
pub(super) struct Bytes<P> {
    at: P,
    count: u64,
    name: &'static str,
}

impl<P> Bytes<P> {
    pub(super) fn new(at: P, count: u64, name: &'static str) -> Self {
        Bytes { at, count, name }
    }

    fn region(&self, start: usize) -> FfiResult<DeviceSlice> {
        let count = possible::<u8>(self.count, self.name)?;
        if start == 0 && count > 0 {
            return Err(FfiError::null(self.name));
        }
        if start.checked_add(count).is_none() {
            return Err(FfiError::argument(format!(
                "{} extends beyond the address space; correct its length",
                self.name
            )));
        }
        Ok(DeviceSlice { address: start as u64, bytes: count as u64 })
    }
}

/// A text with a zero at its end, cut where it is too long.
pub(super) fn letters<const N: usize>(text: &str) -> [c_char; N] {
    let mut letters = [0; N];
    for (to, from) in letters[..N - 1].iter_mut().zip(text.bytes()) {
        *to = from as c_char;
    }
    letters
}

/// A number for each dimension, when there are as many as an array can have.
///
/// # Safety
/// As for [`elements`].
pub(super) unsafe fn numbers<'a>(numbers: *const u64, ndim: u32, name: &str) -> FfiResult<&'a [u64]> {
    if !(1..=FZ_MAX_DIMS).contains(&ndim) {
        return Err(FfiError::argument(format!("ndim is {ndim}; expected 1 to {FZ_MAX_DIMS}")));
    }
    // SAFETY: the caller's promise, passed on; the length was checked above.
    unsafe { elements(numbers, ndim.into(), name) }
}

/// Bytes of a text at most. The largest pipeline has a quarter of it, and what is made of a text on the way must fit into the
/// reserve of memory.
const MOST_TEXT: usize = 1 << 16;

/// A string that ends with a zero, of at most [`MOST_TEXT`] bytes.
///
/// # Safety
/// `pointer` is null or points to a string with a terminating zero that nobody changes while the reference lives.
pub(super) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> FfiResult<&'a str> {
    usable(pointer, name)?;
    // SAFETY: not null; the rest is the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    let bytes = text.count_bytes();
    if bytes > MOST_TEXT {
        return Err(FfiError::argument(format!(
            "{name} has {bytes} bytes; a text may have at most {MOST_TEXT}"
        )));
    }
    text.to_str().map_err(|_| FfiError::argument(format!("{name} is not UTF-8: {text:?}")))
}

/// A place for a result. It may hold anything, so it is written, never read or referred to.
pub(super) struct Out<T>(*mut T);

/// A place for a result at `pointer`.
///
/// # Safety
/// `pointer` is null or points to memory for a `T` that nobody else uses while the place lives.
pub(super) unsafe fn out<T>(pointer: *mut T, name: &str) -> FfiResult<Out<T>> {
    usable(pointer, name)?;
    Ok(Out(pointer))
}

impl<T> Out<T> {
    /// Refuses a place inside of bytes that the call works on: the result would damage them.
    pub(super) fn apart_from(self, bytes: DeviceSlice, name: &str) -> FfiResult<Self> {
        if self.region().overlaps(bytes) {
            return Err(FfiError::argument(format!("the result overlaps {name}; pass separate memory")));
        }
        Ok(self)
    }

    /// The bytes of the place.
    pub(super) fn region(&self) -> DeviceSlice {
        DeviceSlice { address: self.address(), bytes: size_of::<T>() as u64 }
    }

    /// Where it is.
    pub(super) fn address(&self) -> u64 {
        self.0 as u64
    }
}

impl<T: Copy> Out<T> {
    /// Writes the result.
    pub(super) fn put(self, value: T) {
        // SAFETY: aligned and not null, as `out` saw; memory for a T by the promise made there.
        unsafe { self.0.write(value) }
    }
}

impl<T: Handle> Out<*mut T> {
    /// Hands `value` over to C, which gives it back to [`release`].
    pub(super) fn give(self, value: T) -> FfiResult<()> {
        let handle = Box::new(value);
        expect_memory()?;
        let handle = Box::into_raw(handle);
        handle_registry::register(handle);
        self.put(handle);
        Ok(())
    }
}

/// A place for a structure that begins with its own length, as C set it.
///
/// # Safety
/// As for [`out`]; the first field of `T` is that length, a u32, and has been written.
pub(super) unsafe fn place_for<T>(pointer: *mut T, place: &str, name: &str) -> FfiResult<Out<T>> {
    // SAFETY: the caller's promise, passed on.
    let out = unsafe { out(pointer, place) }?;
    // SAFETY: `out` saw that the pointer is neither null nor misaligned; the first field is there by the promise.
    let given = unsafe { pointer.cast::<u32>().read() };
    expect_struct_bytes::<T>(place, name, given)?;
    Ok(out)
}

/// Refuses a structure of another length than this library's. `given` is its first field, as C set it.
pub(super) fn expect_struct_bytes<T>(place: &str, name: &str, given: u32) -> FfiResult<()> {
    let want = size_of::<T>();
    if given as usize == want {
        return Ok(());
    }
    Err(FfiError::argument(format!("{place}->struct_bytes is {given}; expected {want}, sizeof({name})")))
}

/// Takes back what [`Out::give`] handed out; null is nothing.
///
/// # Safety
/// `pointer` is null or came from [`Out::give`] for the same type and was not released before.
pub(super) unsafe fn release<T: Handle>(pointer: *mut T, name: &str) -> FfiResult<()> {
    if !pointer.is_null() {
        handle_registry::unregister(pointer, name)?;
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(pointer) });
    }
    Ok(())
}

fn possible<T>(count: u64, name: &str) -> FfiResult<usize> {
    usize::try_from(count)
        .ok()
        .filter(|n| n.checked_mul(size_of::<T>()).is_some_and(|bytes| isize::try_from(bytes).is_ok()))
        .ok_or_else(|| {
            FfiError::argument(format!("the length of {name} is {count}, which exceeds the address space"))
        })
}
