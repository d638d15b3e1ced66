//! Pointers of C turned into references of Rust, each checked as far as it can be: not null, aligned, of a length that an
//! object can have. That a pointer points to what its type says, for as long as the call runs, is the caller's promise and
//! the only thing that the functions here rely on unchecked.

use std::ffi::{CStr, c_char, c_void};
use std::ops::Range;
use std::slice;

use super::wall::{Answer, Refusal};

fn usable<T>(pointer: *const T, name: &str) -> Answer<()> {
    if pointer.is_null() {
        return Err(Refusal::null(name));
    }
    if !pointer.is_aligned() {
        let align = align_of::<T>();
        return Err(Refusal::argument(format!("{name} is {pointer:p}, not aligned to {align} bytes")));
    }
    Ok(())
}

/// What `pointer` points to, to be read.
///
/// # Safety
/// `pointer` is null or points to a `T` that nobody changes while the reference lives.
pub(super) unsafe fn shared<'a, T>(pointer: *const T, name: &str) -> Answer<&'a T> {
    usable(pointer, name)?;
    // SAFETY: not null, aligned; the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// What `pointer` points to, or nothing for null.
///
/// # Safety
/// As for [`shared`].
pub(super) unsafe fn optional<'a, T>(pointer: *const T, name: &str) -> Answer<Option<&'a T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise, passed on.
    unsafe { shared(pointer, name) }.map(Some)
}

/// What `pointer` points to, to be changed, or nothing for null.
///
/// # Safety
/// As for [`exclusive`].
pub(super) unsafe fn optional_mut<'a, T>(pointer: *mut T, name: &str) -> Answer<Option<&'a mut T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise, passed on.
    unsafe { exclusive(pointer, name) }.map(Some)
}

/// What `pointer` points to, to be changed.
///
/// # Safety
/// `pointer` is null or points to a `T` that nobody else uses while the reference lives.
pub(super) unsafe fn exclusive<'a, T>(pointer: *mut T, name: &str) -> Answer<&'a mut T> {
    usable(pointer, name)?;
    // SAFETY: not null, aligned; the rest is the caller's promise.
    Ok(unsafe { &mut *pointer })
}

/// `count` elements.
///
/// # Safety
/// `pointer` is null or points to `count` elements that nobody changes while the slice lives.
pub(super) unsafe fn elements<'a, T>(pointer: *const T, count: u64, name: &str) -> Answer<&'a [T]> {
    usable(pointer, name)?;
    let count = possible::<T>(count, name)?;
    // SAFETY: not null, aligned, no longer than an object can be; the rest is the caller's promise.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// Bytes to read and bytes to write; null stands for no bytes when there are none.
///
/// # Safety
/// Each pointer is null or points to as many bytes as its length says; nobody changes the first and nobody else uses the
/// second while the slices live.
pub(super) unsafe fn bytes<'a>(
    src: Bytes<*const c_void>,
    dst: Bytes<*mut c_void>,
) -> Answer<(&'a [u8], &'a mut [u8])> {
    // Rust builds on it that what is written overlaps with nothing, so that is settled before there is a slice.
    let (read, written) = (src.addresses(src.at as usize)?, dst.addresses(dst.at as usize)?);
    if !read.is_empty() && !written.is_empty() && read.start < written.end && written.start < read.end {
        return Err(Refusal::argument(format!("{} and {} overlap", src.name, dst.name)));
    }
    let src = match read.len() {
        0 => &[],
        // SAFETY: not null, no longer than an object can be; the rest is the caller's promise.
        count => unsafe { slice::from_raw_parts(src.at.cast(), count) },
    };
    let dst = match written.len() {
        0 => &mut [],
        // SAFETY: as for `src`, and apart from it. Bytes that C never wrote have some value: their memory comes from outside
        // of Rust.
        count => unsafe { slice::from_raw_parts_mut(dst.at.cast(), count) },
    };
    Ok((src, dst))
}

/// Bytes to read alone.
///
/// # Safety
/// As for [`bytes`].
pub(super) unsafe fn input<'a>(at: *const c_void, count: u64, name: &'static str) -> Answer<&'a [u8]> {
    // SAFETY: the caller's promise, passed on.
    unsafe { bytes(Bytes::new(at, count, name), Bytes::new(std::ptr::null_mut(), 0, "dst")) }
        .map(|(src, _)| src)
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

    fn addresses(&self, start: usize) -> Answer<Range<usize>> {
        let count = possible::<u8>(self.count, self.name)?;
        if start == 0 && count > 0 {
            return Err(Refusal::null(self.name));
        }
        let end = start.checked_add(count);
        end.map(|end| start..end)
            .ok_or_else(|| Refusal::argument(format!("{} ends behind the address space", self.name)))
    }
}

/// A string that ends with a zero.
///
/// # Safety
/// `pointer` is null or points to a string with a terminating zero that nobody changes while the reference lives.
pub(super) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Answer<&'a str> {
    usable(pointer, name)?;
    // SAFETY: not null; the rest is the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Refusal::argument(format!("{name} is not UTF-8: {text:?}")))
}

/// A place for a result. It may hold anything, so it is written, never read or referred to.
pub(super) struct Out<T>(*mut T);

/// A place for a result at `pointer`.
///
/// # Safety
/// `pointer` is null or points to memory for a `T` that nobody else uses while the place lives.
pub(super) unsafe fn out<T>(pointer: *mut T, name: &str) -> Answer<Out<T>> {
    usable(pointer, name)?;
    Ok(Out(pointer))
}

impl<T> Out<T> {
    /// Refuses a place inside of the bytes that the call writes: the result would damage them.
    pub(super) fn apart_from(self, bytes: &[u8], name: &str) -> Answer<Self> {
        let (at, range) = (self.0 as usize, bytes.as_ptr_range());
        if !bytes.is_empty() && at < range.end as usize && (range.start as usize) < at + size_of::<T>() {
            return Err(Refusal::argument(format!("the place for the length lies inside of {name}")));
        }
        Ok(self)
    }
}

impl<T: Copy> Out<T> {
    /// Writes the result.
    pub(super) fn put(self, value: T) {
        // SAFETY: aligned and not null, as `out` saw; memory for a T by the promise made there.
        unsafe { self.0.write(value) }
    }
}

impl<T> Out<*mut T> {
    /// Hands `value` over to C, which gives it back to [`release`].
    pub(super) fn give(self, value: T) {
        self.put(Box::into_raw(Box::new(value)));
    }
}

/// Takes back what [`Out::give`] handed out; null is nothing.
///
/// # Safety
/// `pointer` is null or came from [`Out::give`] for the same type and was not released before.
pub(super) unsafe fn release<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(pointer) });
    }
}

fn possible<T>(count: u64, name: &str) -> Answer<usize> {
    usize::try_from(count)
        .ok()
        .filter(|n| n.checked_mul(size_of::<T>()).is_some_and(|bytes| isize::try_from(bytes).is_ok()))
        .ok_or_else(|| {
            Refusal::argument(format!("the length of {name} is {count}, more than an address space holds"))
        })
}
