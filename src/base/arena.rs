//! The one block of memory of a workspace, and disjoint views into it.

use crate::base::error::{Error, Result};

/// Alignment of the block and of every value in it.
pub(crate) const ALIGN: u64 = 256;

/// An aligned block.
pub(crate) enum Arena {
    /// The block begins `skip` bytes into the memory.
    Own { memory: Vec<u8>, skip: usize },
    /// Memory of the caller. No call depends on its previous contents.
    Lent(&'static mut [u8]),
}

impl Arena {
    /// Zeroed by the system, so pages that a call never touches cost nothing: a container that is rejected
    /// after its header has been read allocates no memory, even if it states a large size. The alignment is
    /// computed here, because Rust's allocator writes the zeros itself if more alignment than that of
    /// `malloc` is requested.
    pub(crate) fn new(bytes: u64) -> Result<Self> {
        let missing = || Error::OutOfMemory(bytes);
        let room = bytes.checked_next_multiple_of(ALIGN).and_then(|n| n.checked_add(ALIGN - 1));
        let room = room.and_then(|n| usize::try_from(n).ok()).ok_or_else(missing)?;
        let memory: Vec<u8> = bytemuck::allocation::try_zeroed_vec(room).map_err(|()| missing())?;
        // At most ALIGN - 1 for bytes.
        let skip = memory.as_ptr().align_offset(ALIGN as usize).min(room);
        Ok(Arena::Own { memory, skip })
    }

    /// An arena of `bytes` bytes in existing memory; `None` if fewer bytes follow its first aligned address.
    pub(crate) fn within(memory: &'static mut [u8], bytes: u64) -> Option<Self> {
        let skip = memory.as_ptr().align_offset(ALIGN as usize);
        let (_, aligned) = memory.split_at_mut_checked(skip)?;
        let (block, _) = aligned.split_at_mut_checked(usize::try_from(bytes).ok()?)?;
        Some(Arena::Lent(block))
    }

    pub(crate) fn is_lent(&self) -> bool {
        matches!(self, Arena::Lent(_))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Arena::Own { memory, skip } => &memory[*skip..],
            Arena::Lent(block) => block,
        }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Arena::Own { memory, skip } => &mut memory[*skip..],
            Arena::Lent(block) => block,
        }
    }
}

/// A byte range of the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Range {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// Splits `block` into the given ranges, in the order given; `None` if two of them overlap or one lies
/// outside. Empty ranges overlap nothing.
pub(crate) fn carve<'a, const N: usize>(
    mut block: &'a mut [u8],
    ranges: &[Range],
) -> Option<[&'a mut [u8]; N]> {
    let mut out: [&mut [u8]; N] = std::array::from_fn(|_| Default::default());
    let mut order: [usize; N] = std::array::from_fn(|i| i);
    let order = order.get_mut(..ranges.len())?;
    order.sort_unstable_by_key(|&i| ranges[i]);
    let mut base = 0u64;
    for &i in order.iter() {
        let Range { offset, bytes } = ranges[i];
        if bytes == 0 {
            continue;
        }
        let skip = usize::try_from(offset.checked_sub(base)?).ok()?;
        let (_, rest) = std::mem::take(&mut block).split_at_mut_checked(skip)?;
        let (mine, rest) = rest.split_at_mut_checked(usize::try_from(bytes).ok()?)?;
        out[i] = mine;
        block = rest;
        base = offset + bytes;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carve_refuses_overlap_and_leaves_the_rest() {
        let r = |offset, bytes| Range { offset, bytes };
        let mut block = [0u8; 64];
        assert!(carve::<3>(&mut block, &[r(0, 8), r(4, 8)]).is_none());
        assert!(carve::<3>(&mut block, &[r(60, 8)]).is_none());
        assert!(carve::<1>(&mut block, &[r(0, 1), r(1, 1)]).is_none());
        let [a, b, c] = carve::<3>(&mut block, &[r(32, 8), r(0, 32), r(32, 0)]).expect("disjoint");
        (a[0], b[31]) = (1, 2);
        assert!(c.is_empty());
        assert_eq!((block[32], block[31]), (1, 2));
    }

    #[test]
    fn the_block_is_aligned_and_zeroed() {
        let arena = Arena::new(1000).expect("memory");
        assert_eq!(arena.bytes().as_ptr() as u64 % ALIGN, 0);
        assert!(arena.bytes().len() >= 1000 && arena.bytes().iter().all(|&b| b == 0));
    }

    /// Resident bytes of this process.
    #[cfg(target_os = "linux")]
    fn resident() -> u64 {
        let pages = std::fs::read_to_string("/proc/self/statm").expect("statm");
        pages.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).expect("a number") * 4096
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn untouched_memory_costs_nothing() {
        let before = resident();
        let arena = Arena::new(1 << 30).expect("memory");
        assert_eq!(arena.bytes()[1 << 29], 0);
        // Other tests run beside this one.
        assert!(resident() < before + (1 << 29));
    }

    #[test]
    fn memory_of_another_is_taken_from_its_first_aligned_byte() {
        let lend = |skip: usize, bytes: usize| &mut vec![7; 4096].leak()[skip..skip + bytes];
        for skip in 0..300 {
            let mut arena = Arena::within(lend(skip, 1000 + ALIGN as usize - 1), 1000).expect("room");
            assert!(arena.is_lent() && arena.bytes().len() == 1000 && arena.bytes_mut()[999] == 7);
            assert_eq!(arena.bytes().as_ptr() as u64 % ALIGN, 0);
        }
        assert!((0..300).any(|skip| Arena::within(lend(skip, 1000 + ALIGN as usize - 2), 1000).is_none()));
        assert!(Arena::within(&mut [], 1).is_none());
    }
}
