//! The distinct values of an array, and ranks in place of values.

use super::frequent::Frequent;
use super::integers::Integers;
use super::params::TABLE;
use super::word::Word;
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::stages::multilevel::classed::room;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Distinct values in ascending order or with the frequent ones first, and the rank of each element.
pub(super) struct Table<W> {
    pub(super) values: Vec<W>,
    pub(super) ranks: Vec<W>,
    pub(super) is_ascending: bool,
}

/// Integers that are searched at once.
const PART: usize = 256;
/// A search looks at every part of this distance first, then at those behind these, and so on: an array that has too many distinct
/// values seldom has them in each of its regions.
const SWEEPS: usize = 16;
/// A search has few values more than a table.
const MOST_SLOTS: usize = 2 * TABLE as usize;
/// Ranks of a task.
const TASK: usize = 1 << 14;

/// Distinct values, with numbers in the order in which they were found. The number of slots is a power of two, and about twice that of
/// the values at least.
struct Distinct<W> {
    /// One more than the number of a value; 0: none.
    slots: Vec<u32>,
    values: Vec<W>,
}

impl<W: Word> Distinct<W> {
    /// The slot where the search for a value begins.
    #[inline(always)]
    fn first_slot(&self, value: W) -> usize {
        let bits = self.slots.len().ilog2();
        (value.wide().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
    }

    fn slot(&self, value: W) -> usize {
        let mut slot = self.first_slot(value);
        while let Some(number) = self.slots[slot].checked_sub(1) {
            if self.values[number as usize] == value {
                break;
            }
            slot = (slot + 1) % self.slots.len();
        }
        slot
    }

    /// The number of a value, which is new or not.
    fn number(&mut self, value: W) -> Result<u32, Fault> {
        let slot = self.slot(value);
        if let Some(number) = self.slots[slot].checked_sub(1) {
            return Ok(number);
        }
        let number = self.values.len() as u32;
        self.values.push(value);
        self.slots[slot] = number + 1;
        if 2 * self.values.len() > self.slots.len() && self.slots.len() < MOST_SLOTS {
            self.slots = room((8 * self.slots.len()).min(MOST_SLOTS))?;
            for i in 0..self.values.len() {
                let slot = self.slot(self.values[i]);
                self.slots[slot] = i as u32 + 1;
            }
        }
        Ok(number)
    }

    /// Puts numbers in place of at most `PART` values. A number of a value has no more bits than the values.
    fn numbers(&mut self, values: &mut [W]) -> Result<(), Fault> {
        // Most values are in the first slot. The loads of all of them wait for memory together.
        let (mut likely, mut found) = ([0; PART], [W::ZERO; PART]);
        for (likely, &value) in likely.iter_mut().zip(&*values) {
            *likely = self.slots[self.first_slot(value)];
        }
        for (found, &likely) in found.iter_mut().zip(&likely) {
            *found = self.values.get((likely as usize).wrapping_sub(1)).copied().unwrap_or(W::ZERO);
        }
        for ((value, &likely), &found) in values.iter_mut().zip(&likely).zip(&found) {
            let number = if likely > 0 && found == *value { likely - 1 } else { self.number(*value)? };
            *value = W::cut(number.into());
        }
        Ok(())
    }
}

/// The most values of a table of `n` elements.
fn most(n: usize) -> usize {
    (n / 4).min(TABLE as usize)
}

/// The distinct values among the integers from `first` on, and their numbers, one for each of `numbers`. Ends early if `is_full`, which it
/// sets if it finds more than `most`.
fn distinct<W: Word>(
    o: &(impl Integers<W> + ?Sized),
    first: usize,
    numbers: &mut [W],
    (most, is_full): (usize, &AtomicBool),
) -> Result<Distinct<W>, Fault> {
    let mut found = Distinct { slots: room(1 << 12)?, values: vec![] };
    for sweep in 0..SWEEPS {
        for (k, part) in numbers.chunks_mut(PART).enumerate().skip(sweep).step_by(SWEEPS) {
            o.load(first + k * PART, part);
            found.numbers(part)?;
            if found.values.len() > most {
                is_full.store(true, Relaxed);
            }
            if is_full.load(Relaxed) {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// The table of an array, unless it has too many distinct values.
pub(super) fn find<W: Word>(
    o: &(impl Integers<W> + ?Sized),
    kind: u32,
    threads: Parallel<'_>,
) -> Result<Option<Table<W>>, Fault> {
    let (most, is_full) = (most(o.len()), AtomicBool::new(false));
    let mut ranks = room::<W>(o.len())?;
    // A segment for each thread.
    let length = o.len().div_ceil(threads.count()).next_multiple_of(PART);
    let segments = ranks.chunks_mut(length).enumerate().collect();
    let search = |(): &mut (), (k, numbers)| distinct(o, k * length, numbers, (most, &is_full));
    let found = threads.each(segments, || (), search);
    if is_full.into_inner() {
        return Ok(None);
    }
    let found = found.into_iter().collect::<Result<Vec<_>, Fault>>()?;
    // The values of all segments, with their places in this order.
    let all = || found.iter().flat_map(|of| &of.values);
    let mut sorted = room::<(u64, usize)>(all().count())?;
    for (place, (sorted, value)) in sorted.iter_mut().zip(all()).enumerate() {
        *sorted = (value.rank_key(kind), place);
    }
    threads.sort(&mut sorted);
    let (mut values, mut rank_of) = (vec![], room::<W>(sorted.len())?);
    for equals in sorted.chunk_by(|a, b| a.0 == b.0) {
        equals.iter().for_each(|&(_, place)| rank_of[place] = W::cut(values.len() as u64));
        values.push(W::of_rank_key(equals[0].0, kind));
    }
    if values.len() > most {
        return Ok(None);
    }
    let (mut segments, mut rest) = (vec![], &rank_of[..]);
    for (ranks, of) in ranks.chunks_mut(length).zip(&found) {
        let (own, behind) = rest.split_at(of.values.len());
        segments.push((ranks, own));
        rest = behind;
    }
    let renumber = |(): &mut (), (ranks, rank_of): (&mut [W], &[W])| {
        ranks.iter_mut().for_each(|number| *number = rank_of[number.wide() as usize]);
    };
    threads.each(segments, || (), renumber);
    Ok(Some(Table { values, ranks, is_ascending: true }))
}

impl<W: Word> Table<W> {
    /// Estimated quarters of bits of the values.
    pub(super) fn cost(&self) -> u64 {
        let of = |w: &[W]| 4 * u64::from(w[1].sub(w[0]).length() + 1);
        self.values.windows(2).map(of).sum()
    }

    /// Estimated quarters of bits of frequent values besides those of [`Table::cost`].
    pub(super) fn cost_of(&self, frequent: &Frequent) -> u64 {
        let (first, last) = (self.values.first(), self.values.last());
        let range = first.zip(last).map_or(0, |(first, last)| last.sub(*first).length());
        4 * u64::from(range + 1) * frequent.len() as u64
    }

    /// Moves frequent values to the front.
    pub(super) fn reorder(&mut self, frequent: &Frequent, threads: Parallel<'_>) -> Result<(), Fault> {
        let mut new_ranks = room::<W>(self.values.len())?;
        let mut values = room::<W>(self.values.len())?;
        for (rank, (&value, new)) in self.values.iter().zip(&mut new_ranks).enumerate() {
            *new = frequent.rank(W::cut(rank as u64));
            values[new.wide() as usize] = value;
        }
        let parts = self.ranks.chunks_mut(TASK).collect();
        let renumber = |rank: &mut W| *rank = new_ranks[rank.wide() as usize];
        threads.each(parts, || (), |(), part| part.iter_mut().for_each(renumber));
        (self.values, self.is_ascending) = (values, false);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::params::{SIGNED, UNSIGNED};
    use super::*;
    use std::collections::BTreeSet;

    /// Values of `distinct` kinds, which are spread over the range of the type.
    fn array(n: u32, distinct: u32) -> Vec<u32> {
        (0..n)
            .map(|i| (i.wrapping_mul(0x9e37_79b9) >> 7) % distinct)
            .map(|k| k.wrapping_mul(0x85eb_ca6b))
            .collect()
    }

    #[test]
    fn tables_do_not_depend_on_threads() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
        for (n, distinct) in [(4, 1), (700, 170), (100_000, 20), (100_003, 20_000), (100_000, 24_900)] {
            let o = array(n, distinct);
            for kind in [SIGNED, UNSIGNED] {
                let keys: BTreeSet<u64> = o.iter().map(|x| x.rank_key(kind)).collect();
                for threads in [Parallel(None), Parallel(Some(&pool))] {
                    let table = find(&o[..], kind, threads).expect("memory").expect("few values");
                    let own: Vec<u64> = table.values.iter().map(|x| x.rank_key(kind)).collect();
                    assert_eq!(own, keys.iter().copied().collect::<Vec<_>>());
                    let restored = table.ranks.iter().map(|&rank| table.values[rank as usize]);
                    assert!(restored.eq(o.iter().copied()), "{n} elements");
                }
            }
        }
    }

    #[test]
    fn too_many_values_have_no_table() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
        for n in [3, 4000, 100_000] {
            let o: Vec<u32> = (0..n).map(|i: u32| i % (n / 4 + 1)).collect();
            for threads in [Parallel(None), Parallel(Some(&pool))] {
                assert!(find(&o[..], SIGNED, threads).expect("memory").is_none(), "{n} elements");
            }
        }
    }
}
