//! Tables whose first values are frequent ones, in the order of their frequencies.

use super::word::Word;
use std::cmp::Reverse;

/// The frequent ranks of a table in ascending order, and the new rank of each.
pub(super) struct Frequent(Vec<(u64, u64)>);

impl Frequent {
    /// The ranks that occur more than once in a sorted sample. The most frequent ones are first; equals are in ascending order.
    pub(super) fn new<W: Word>(sorted: &[W]) -> Frequent {
        let equals = sorted.chunk_by(|a, b| a == b).filter(|equals| equals.len() > 1);
        let mut all: Vec<_> = equals.map(|equals| (Reverse(equals.len()), equals[0].wide())).collect();
        all.sort_unstable();
        let mut ranks: Vec<_> = (0..).zip(&all).map(|(new, &(_, rank))| (rank, new)).collect();
        ranks.sort_unstable();
        Frequent(ranks)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The new rank; other values follow the frequent ones in their order.
    pub(super) fn rank<W: Word>(&self, rank: W) -> W {
        let rank = rank.wide();
        let before = self.0.partition_point(|&(other, _)| other < rank);
        match self.0.get(before) {
            Some(&(same, new)) if same == rank => W::cut(new),
            _ => W::cut(rank + (self.0.len() - before) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_ranks_are_an_order_of_all_values() {
        let sorted = [1u8, 1, 3, 5, 5, 5, 6, 8, 8];
        let ranks: Vec<u8> = (0..10).map(|rank| Frequent::new(&sorted).rank(rank)).collect();
        assert_eq!(ranks, [3, 1, 4, 5, 6, 0, 7, 8, 2, 9]);
    }
}
