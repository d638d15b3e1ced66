//! Memory that a filter passes to HDF5, which frees it.
#![allow(unsafe_code)]

use crate::Answer;
use std::ffi::c_void;

/// Memory of `malloc`.
pub(crate) struct Block {
    start: *mut u8,
    len: usize,
}

impl Block {
    /// A block of zeros.
    pub(crate) fn new(bytes: u64) -> Answer<Block> {
        let refused =
            || format!("the system has no {bytes} bytes of memory; free some, or choose smaller chunks");
        let len = usize::try_from(bytes).map_err(|_| refused())?;
        // SAFETY: any size may be requested. A size of 0 may give a null pointer, so the size is at least 1.
        let start = unsafe { libc::calloc(len.max(1), 1) }.cast::<u8>();
        if start.is_null() { Err(refused()) } else { Ok(Block { start, len }) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `start` has `len` bytes, which were set, and no other pointer to them exists.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }

    /// Frees the end of the block, because HDF5 keeps the block until the chunk is written.
    pub(crate) fn shorten(&mut self, bytes: usize) {
        self.len = bytes.min(self.len);
        // SAFETY: `calloc` returned the block, and it is not freed. If `realloc` fails, the block is unchanged.
        let moved = unsafe { libc::realloc(self.start.cast(), self.len.max(1)) };
        if !moved.is_null() {
            self.start = moved.cast();
        }
    }

    /// Pointer and length of the block, which the caller must free.
    pub(crate) fn into_raw(self) -> (*mut c_void, usize) {
        let raw = (self.start.cast(), self.len);
        std::mem::forget(self);
        raw
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `calloc` returned the block, and no code uses it after this call.
        unsafe { libc::free(self.start.cast()) };
    }
}
