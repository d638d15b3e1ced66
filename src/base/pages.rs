//! Large pages for large blocks: the kernel then clears 2 MiB at a fault and not 4 KiB, which takes most of the time of a fresh block.
#![allow(unsafe_code)]

/// Blocks from this size on are advised. A smaller one may share its pages with many others.
const LEAST: usize = 4 << 20;

/// Asks the kernel for large pages in a block of memory, where it has them. Neither contents nor success of a call depend on it.
/// The advice covers whole pages, so that a block that the allocator maps by itself remains one mapping, which it can move.
pub(super) fn advise(block: *mut u8, bytes: usize) {
    if block.is_null() || bytes < LEAST {
        return;
    }
    #[cfg(target_os = "linux")]
    // SAFETY: the advice changes no contents, and every page has bytes of the block.
    unsafe {
        let page = libc::sysconf(libc::_SC_PAGESIZE).max(1) as usize;
        let before = block as usize % page;
        libc::madvise(
            block.wrapping_sub(before).cast(),
            (before + bytes).next_multiple_of(page),
            libc::MADV_HUGEPAGE,
        );
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use crate::base::reserve::ReserveAllocator;
    use std::alloc::{GlobalAlloc, Layout};
    use std::fs;

    /// True if the mapping of an address has the advice.
    fn advised(at: usize) -> bool {
        let maps = fs::read_to_string("/proc/self/smaps").expect("the mappings of this process");
        let mut inside = false;
        for line in maps.lines() {
            let range = line.split(' ').next().and_then(|word| word.split_once('-'));
            let address = |text| usize::from_str_radix(text, 16).ok();
            if let Some((Some(from), Some(to))) = range.map(|(from, to)| (address(from), address(to))) {
                inside = (from..to).contains(&at);
            } else if inside && line.starts_with("VmFlags:") {
                return line.contains(" hg");
            }
        }
        panic!("no mapping at {at:#x}");
    }

    #[test]
    fn large_blocks_have_the_advice_and_keep_their_bytes() {
        let a = ReserveAllocator;
        let has_large_pages = fs::exists("/sys/kernel/mm/transparent_hugepage").unwrap_or(false);
        let layout = Layout::from_size_align(40 << 20, 8).expect("a layout");
        let longer = Layout::from_size_align(90 << 20, 8).expect("a layout");
        // SAFETY: each block has the bytes of its layout, and goes back once.
        unsafe {
            for zeroed in [false, true] {
                let block = if zeroed { a.alloc_zeroed(layout) } else { a.alloc(layout) };
                assert!(!block.is_null());
                for i in [0, layout.size() / 2, layout.size() - 1] {
                    assert_eq!(advised(block as usize + i), has_large_pages);
                    assert!(!zeroed || *block.add(i) == 0);
                    block.add(i).write(7);
                }
                let longer_block = a.realloc(block, layout, longer.size());
                for i in [0, layout.size() / 2, layout.size() - 1] {
                    assert_eq!(*longer_block.add(i), 7);
                }
                assert_eq!(advised(longer_block as usize + longer.size() - 1), has_large_pages);
                a.dealloc(longer_block, longer);
            }
        }
    }
}
