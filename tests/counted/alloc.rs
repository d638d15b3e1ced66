//! An allocator that counts. A test binary that measures memory makes it the global one.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Allocated bytes minus freed bytes of this thread; bytes that another thread frees still count.
    /// Constant and without a destructor, so that counting allocates nothing itself.
    static HERE: Cell<isize> = const { Cell::new(0) };
}

fn grow(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(live, Relaxed);
    HERE.set(HERE.get().wrapping_add_unsigned(bytes));
}

fn shrink(bytes: usize) {
    LIVE.fetch_sub(bytes, Relaxed);
    HERE.set(HERE.get().wrapping_sub_unsigned(bytes));
}

// SAFETY: every call is passed on to the system's allocator as it came; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the promises of this call.
        let p = unsafe { System.alloc(layout) };
        if !p.is_null() {
            grow(layout.size());
        }
        p
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the promises of this call.
        let p = unsafe { System.alloc_zeroed(layout) };
        if !p.is_null() {
            grow(layout.size());
        }
        p
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        shrink(layout.size());
        // SAFETY: the caller keeps the promises of this call.
        unsafe { System.dealloc(p, layout) }
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, new: usize) -> *mut u8 {
        // SAFETY: the caller keeps the promises of this call.
        let q = unsafe { System.realloc(p, layout, new) };
        if !q.is_null() {
            // The old and the new block may live side by side while bytes move.
            grow(new);
            shrink(layout.size());
        }
        q
    }
}

/// Runs `f`; also returns how much the allocated memory of this thread has grown. Other threads, such as
/// those of the test harness, do not count.
pub fn kept_by<R>(f: impl FnOnce() -> R) -> (R, isize) {
    let before = HERE.get();
    let result = f();
    (result, HERE.get() - before)
}

/// Runs `f`; also returns the largest growth of memory meanwhile, over all threads.
pub fn peak_of<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = f();
    (result, PEAK.load(Relaxed).saturating_sub(before))
}
