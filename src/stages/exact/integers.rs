//! Integers of an array, which are stored, or computed from its elements where they are used.

use super::word::{Divisor, Map, Word};

/// An array of integers.
pub(super) trait Integers<W>: Sync {
    fn len(&self) -> usize;
    /// Writes the integers from `first` on.
    fn load(&self, first: usize, out: &mut [W]);

    fn at(&self, i: usize) -> W;
}

impl<W: Word> Integers<W> for [W] {
    fn len(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn load(&self, first: usize, out: &mut [W]) {
        out.copy_from_slice(&self[first..first + out.len()]);
    }

    #[inline(always)]
    fn at(&self, i: usize) -> W {
        self[i]
    }
}

/// The elements of an array, which may be misaligned.
pub(super) struct Elements<'a, W> {
    bytes: &'a [u8],
    map: Map<W>,
    factor: Divisor,
}

impl<'a, W: Word> Elements<'a, W> {
    pub(super) fn new(bytes: &'a [u8], map: Map<W>) -> Elements<'a, W> {
        Elements { bytes, map, factor: Divisor::new(map.factor.wide()) }
    }
}

impl<W: Word> Integers<W> for Elements<'_, W> {
    fn len(&self) -> usize {
        self.bytes.len() / size_of::<W>()
    }

    #[inline(always)]
    fn load(&self, first: usize, out: &mut [W]) {
        let range = first * size_of::<W>()..(first + out.len()) * size_of::<W>();
        self.map.integers(&self.bytes[range], self.factor, out);
    }

    #[inline(always)]
    fn at(&self, i: usize) -> W {
        let mut own = [W::ZERO];
        self.load(i, &mut own);
        own[0]
    }
}
