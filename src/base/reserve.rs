//! A reserve of memory for small requests, used when the system has no memory left.
//!
//! Rust aborts the process when a small allocation fails, and a simulation must not end because an array
//! could not be compressed. A shared library of this crate therefore has [`ReserveAllocator`]: it allocates
//! from the system, and from a fixed reserve if the system refuses. The call then completes, and the C
//! interface returns `FZ_OUT_OF_MEMORY` instead of a handle that would keep memory of the reserve. The
//! reserve does not cover large requests, because the code that makes them handles the refusal itself.
#![allow(unsafe_code)]

use super::pages::advise;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::ptr::{copy_nonoverlapping, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

/// Requests of at most 16 KiB, by far the most.
static SMALL: Pool<256, 64> = Pool::new();
/// Larger ones, of at most 1 MiB, such as a long text.
static LARGE: Pool<16384, 4> = Pool::new();
/// Requests that the reserve has served since the process began.
static SERVED: AtomicU64 = AtomicU64::new(0);

/// True if the system grants a request of this number of bytes now, not counting the reserve.
pub(crate) fn system_has(bytes: usize) -> bool {
    let Ok(layout) = Layout::array::<u8>(bytes.max(1)) else { return false };
    // SAFETY: the size is not 0; the block is freed at once with the same layout.
    unsafe {
        // Hidden from the compiler, which may remove an allocation that is never used.
        let block = black_box(System.alloc(layout));
        if !block.is_null() {
            System.dealloc(block, layout);
        }
        !block.is_null()
    }
}

/// The allocator of the system with a reserve of 5 MiB for requests that the system refuses. Requests of up to 1 MiB are served
/// from it, as long as it lasts. The pages of the reserve take no memory before the first such request. On Linux, blocks of 4 MiB
/// and more are of large pages, if the system has any.
///
/// It is the allocator of `libfzgm`, of the HDF5 plugin and of the command line. A program in Rust may take it for its own:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: fzgm::ReserveAllocator = fzgm::ReserveAllocator;
/// ```
pub struct ReserveAllocator;

impl ReserveAllocator {
    /// The number of requests that the reserve has granted since the process began. Objects that are made
    /// while this number grows may use memory of the reserve, and should not be kept.
    pub fn served() -> u64 {
        SERVED.load(Ordering::Relaxed)
    }
}

// SAFETY: every block belongs either to the system's allocator or to a pool, which hands out each byte once
// at a time and aligned as the layout requires. The address of a block determines its owner, so each block is
// returned to its owner. Nothing unwinds.
unsafe impl GlobalAlloc for ReserveAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc(layout) };
        advise(block, layout.size());
        if block.is_null() { take(layout) } else { block }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            advise(block, layout.size());
            return block;
        }
        let block = take(layout);
        if !block.is_null() {
            // SAFETY: the block has `layout.size()` bytes and no other owner.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !(SMALL.give(block, layout.size()) || LARGE.give(block, layout.size())) {
            // SAFETY: the caller's promise; the block is none of a pool.
            unsafe { System.dealloc(block, layout) };
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let of_reserve = SMALL.has(block) || LARGE.has(block);
        if !of_reserve {
            // SAFETY: the caller's promise; the block is none of a pool.
            let moved = unsafe { System.realloc(block, layout, bytes) };
            if !moved.is_null() {
                advise(moved, bytes);
                return moved;
            }
        }
        // SAFETY: the caller promises that the size, rounded up to the alignment, is a possible one.
        let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        // SAFETY: a size of 0 is excluded by the caller's promise.
        let moved = if of_reserve { unsafe { self.alloc(wanted) } } else { take(wanted) };
        if !moved.is_null() {
            // SAFETY: both blocks have at least that many bytes, and two live blocks do not overlap. The old one is not used again.
            unsafe {
                copy_nonoverlapping(block, moved, layout.size().min(bytes));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}

/// A block of the reserve, or null.
fn take(layout: Layout) -> *mut u8 {
    let mut block = SMALL.take(layout);
    if block.is_null() {
        block = LARGE.take(layout);
    }
    if !block.is_null() {
        SERVED.fetch_add(1, Ordering::Relaxed);
    }
    block
}

/// `WORDS` times 64 grains of `GRAIN` bytes. A block is a run of grains that one word of flags covers, so that a single atomic
/// exchange takes it: there is no lock that a forked child could find closed.
#[repr(C, align(16384))]
struct Pool<const GRAIN: usize, const WORDS: usize> {
    memory: UnsafeCell<[[[u8; GRAIN]; 64]; WORDS]>,
    /// A bit is set while its grain is part of a block.
    used: [AtomicU64; WORDS],
}

// SAFETY: the memory is reached through blocks alone, and the flags see to it that a grain is part of one block at a time.
unsafe impl<const GRAIN: usize, const WORDS: usize> Sync for Pool<GRAIN, WORDS> {}

impl<const GRAIN: usize, const WORDS: usize> Pool<GRAIN, WORDS> {
    const fn new() -> Self {
        let memory = UnsafeCell::new([[[0; GRAIN]; 64]; WORDS]);
        Pool { memory, used: [const { AtomicU64::new(0) }; WORDS] }
    }

    /// Which grains of a word a block of `bytes` bytes at grain `at` has; nothing for more than a word has.
    fn grains(bytes: usize, at: usize) -> Option<u64> {
        let count = bytes.div_ceil(GRAIN).max(1);
        (at + count <= 64).then(|| (u64::MAX >> (64 - count)) << at)
    }

    fn take(&self, layout: Layout) -> *mut u8 {
        if layout.align() > GRAIN {
            return null_mut();
        }
        for (word, used) in self.used.iter().enumerate() {
            let mut now = used.load(Ordering::Relaxed);
            let gap = |now: u64| {
                (0..64).find_map(|at| Some((at, Self::grains(layout.size(), at).filter(|g| g & now == 0)?)))
            };
            while let Some((at, grains)) = gap(now) {
                match used.compare_exchange_weak(now, now | grains, Ordering::Acquire, Ordering::Relaxed) {
                    // The offset is inside the memory: `word` and `at` are the indices of a grain.
                    Ok(_) => return self.memory.get().cast::<u8>().wrapping_add((64 * word + at) * GRAIN),
                    Err(other) => now = other,
                }
            }
        }
        null_mut()
    }

    fn has(&self, block: *mut u8) -> bool {
        (block as usize).wrapping_sub(self.memory.get() as usize) < 64 * WORDS * GRAIN
    }

    /// Takes a block back, if it is one of this pool.
    fn give(&self, block: *mut u8, bytes: usize) -> bool {
        if !self.has(block) {
            return false;
        }
        let grain = (block as usize - self.memory.get() as usize) / GRAIN;
        if let (Some(used), Some(grains)) = (self.used.get(grain / 64), Self::grains(bytes, grain % 64)) {
            used.fetch_and(!grains, Ordering::Release);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn layout(bytes: usize, align: usize) -> Layout {
        Layout::from_size_align(bytes, align).expect("a layout")
    }

    #[test]
    fn blocks_are_aligned_apart_and_used_again() {
        static POOL: Pool<256, 2> = Pool::new();
        for _ in 0..3 {
            let mut blocks: Vec<(usize, usize)> = vec![];
            for bytes in (1..).map(|k| k * 97 % 2000 + 1) {
                let block = POOL.take(layout(bytes, 256));
                if block.is_null() {
                    break;
                }
                assert!(POOL.has(block) && block as usize % 256 == 0);
                let at = block as usize;
                assert!(blocks.iter().all(|&(b, n)| at + bytes <= b || b + n <= at), "two blocks overlap");
                blocks.push((at, bytes));
            }
            assert!(blocks.len() > 20, "{} blocks", blocks.len());
            for (at, bytes) in blocks {
                assert!(POOL.give(at as *mut u8, bytes));
            }
            assert!(POOL.used.iter().all(|u| u.load(Ordering::Relaxed) == 0));
        }
    }

    #[test]
    fn requests_beyond_the_room_are_refused() {
        static POOL: Pool<256, 1> = Pool::new();
        assert!(POOL.take(layout(64 * 256 + 1, 1)).is_null());
        assert!(POOL.take(layout(8, 512)).is_null());
        let all = POOL.take(layout(64 * 256, 1));
        assert!(!all.is_null() && POOL.take(layout(1, 1)).is_null());
        assert!(POOL.give(all, 64 * 256) && !POOL.take(layout(1, 1)).is_null());
        let mut other = 0u8;
        assert!(!POOL.give(&raw mut other, 1));
    }

    #[test]
    fn a_block_of_the_reserve_grows_and_keeps_its_bytes() {
        let a = ReserveAllocator;
        let old = layout(300, 8);
        let block = take(old);
        assert!(!block.is_null());
        // SAFETY: the block has 300 bytes; afterwards the new one has 5000, of which 300 were written. It goes back once.
        unsafe {
            (0..300).for_each(|i| block.add(i).write(i as u8));
            let moved = a.realloc(block, old, 5000);
            assert!(!moved.is_null() && !SMALL.has(moved), "the system has memory now");
            assert!((0..300).all(|i| moved.add(i).read() == i as u8));
            a.dealloc(moved, layout(5000, 8));
        }
    }

    #[test]
    fn threads_never_share_a_grain() {
        static POOL: Pool<256, 1> = Pool::new();
        thread::scope(|scope| {
            for k in 0..4u8 {
                scope.spawn(move || {
                    for round in 0..2000 {
                        let bytes = 1 + (round * 131) % 3000;
                        let block = POOL.take(layout(bytes, 8));
                        if block.is_null() {
                            continue;
                        }
                        // SAFETY: the block has that many bytes and is this thread's.
                        unsafe {
                            block.write_bytes(k, bytes);
                            assert!((0..bytes).all(|i| block.add(i).read() == k));
                        }
                        assert!(POOL.give(block, bytes));
                    }
                });
            }
        });
    }
}
