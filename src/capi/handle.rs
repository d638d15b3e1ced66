//! Pointers of C converted to references of Rust. Each pointer is checked as far as possible: not null, aligned, and of a length
//! that an object can have.
//!
//! The functions rely on one unchecked promise of the caller: each pointer refers to memory of its type during the call.

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

/// A reference to the target of `pointer`, for reading.
///
/// # Safety
/// `pointer` must be null or point to a `T` that no code changes while the reference exists.
unsafe fn shared<'a, T>(pointer: *const T, name: &str) -> FfiResult<&'a T> {
    usable(pointer, name)?;
    // SAFETY: `usable` checked that the pointer is aligned and not null; the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// A reference to the target of `pointer`, for reading; `None` for null.
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

/// A handle, for reading.
///
/// # Safety
/// As for [`shared`].
pub(super) unsafe fn handle<'a, T: Handle>(pointer: *const T, name: &str) -> FfiResult<&'a T> {
    usable(pointer, name)?;
    handle_registry::expect(pointer, name)?;
    // SAFETY: `usable` checked that the pointer is aligned and not null; the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// A handle, for reading; `None` for null.
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

/// A handle, for changes; `None` for null.
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

/// A handle, for changes.
///
/// # Safety
/// `pointer` must be null or point to a `T` that no other code uses while the reference exists.
pub(super) unsafe fn exclusive<'a, T: Handle>(pointer: *mut T, name: &str) -> FfiResult<&'a mut T> {
    usable(pointer, name)?;
    handle_registry::expect(pointer, name)?;
    // SAFETY: `usable` checked that the pointer is aligned and not null; the rest is the caller's promise.
    Ok(unsafe { &mut *pointer })
}

/// `count` elements, for reading.
///
/// # Safety
/// `pointer` must be null or point to `count` elements that no code changes while the slice exists.
pub(super) unsafe fn elements<'a, T>(pointer: *const T, count: u64, name: &str) -> FfiResult<&'a [T]> {
    usable(pointer, name)?;
    let count = possible::<T>(count, name)?;
    // SAFETY: `usable` checked the pointer, and `possible` the length; the rest is the caller's promise.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// A region to read and a region to write, which must not overlap. Null is permitted for a region of 0 bytes.
///
/// The regions remain addresses. Device memory must never become a slice, and only the core can detect it, by a query of the
/// driver.
pub(super) fn regions(
    src: Bytes<*const c_void>,
    dst: Bytes<*mut c_void>,
) -> FfiResult<(DeviceSlice, DeviceSlice)> {
    // An exclusive slice must not overlap any other slice, so overlaps are rejected before slices are created.
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

/// A single region. Null is permitted for 0 bytes.
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

/// A region of memory as C passes it: address, length, and name of the parameter.
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

/// A text with a terminating zero; a text of `N` bytes or more is cut.
pub(super) fn letters<const N: usize>(text: &str) -> [c_char; N] {
    let mut letters = [0; N];
    for (to, from) in letters[..N - 1].iter_mut().zip(text.bytes()) {
        *to = from as c_char;
    }
    letters
}

/// One number for each dimension. `ndim` must be 1 to FZ_MAX_DIMS.
///
/// # Safety
/// As for [`elements`].
pub(super) unsafe fn numbers<'a>(numbers: *const u64, ndim: u32, name: &str) -> FfiResult<&'a [u64]> {
    if !(1..=FZ_MAX_DIMS).contains(&ndim) {
        return Err(FfiError::argument(format!("ndim is {ndim}; expected 1 to {FZ_MAX_DIMS}")));
    }
    // SAFETY: the caller's promise, passed on; the length is at most FZ_MAX_DIMS.
    unsafe { elements(numbers, ndim.into(), name) }
}

/// Largest length of a text in bytes. The longest pipeline has a quarter of it, and copies of a text must fit into the reserve of
/// memory.
const MOST_TEXT: usize = 1 << 16;

/// A C string of at most [`MOST_TEXT`] bytes.
///
/// # Safety
/// `pointer` must be null or point to a string with a terminating zero that no code changes while the reference exists.
pub(super) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> FfiResult<&'a str> {
    usable(pointer, name)?;
    // SAFETY: `usable` checked that the pointer is not null; the rest is the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    let bytes = text.count_bytes();
    if bytes > MOST_TEXT {
        return Err(FfiError::argument(format!(
            "{name} has {bytes} bytes; a text may have at most {MOST_TEXT}"
        )));
    }
    text.to_str().map_err(|_| FfiError::argument(format!("{name} is not UTF-8: {text:?}")))
}

/// A place for a result. Its memory may be uninitialized, so it is only written, never read or referenced.
pub(super) struct Out<T>(*mut T);

/// A place for a result at `pointer`.
///
/// # Safety
/// `pointer` must be null or point to memory for a `T` that no other code uses while the place exists.
pub(super) unsafe fn out<T>(pointer: *mut T, name: &str) -> FfiResult<Out<T>> {
    usable(pointer, name)?;
    Ok(Out(pointer))
}

impl<T> Out<T> {
    /// Rejects a place that overlaps `bytes`, a region that the call uses: the result would damage it.
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

    /// The address of the place.
    pub(super) fn address(&self) -> u64 {
        self.0 as u64
    }
}

impl<T: Copy> Out<T> {
    /// Writes the result.
    pub(super) fn put(self, value: T) {
        // SAFETY: `out` checked that the pointer is aligned and not null; its caller promised memory for a T.
        unsafe { self.0.write(value) }
    }
}

impl<T: Handle> Out<*mut T> {
    /// Passes `value` to C, which returns it to [`release`].
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
    // SAFETY: `out` checked that the pointer is aligned and not null; the caller has written the first field.
    let given = unsafe { pointer.cast::<u32>().read() };
    expect_struct_bytes::<T>(place, name, given)?;
    Ok(out)
}

/// Rejects a structure whose length differs from the length in this library. `given` is its first field, as C set it.
pub(super) fn expect_struct_bytes<T>(place: &str, name: &str, given: u32) -> FfiResult<()> {
    let want = size_of::<T>();
    if given as usize == want {
        return Ok(());
    }
    Err(FfiError::argument(format!("{place}->struct_bytes is {given}; expected {want}, sizeof({name})")))
}

/// Frees a handle that [`Out::give`] passed to C. Null has no effect.
///
/// # Safety
/// `pointer` must be null, or come from [`Out::give`] for the same type and not be released yet.
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
