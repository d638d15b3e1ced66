//! The distinct values of an array, and ranks in place of values.

use super::frequent::Frequent;
use super::integers::Integers;
use super::params::TABLE;
use super::word::Word;
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::stages::multilevel::classed::room;

/// Distinct values in ascending order or with the frequent ones first, and the rank of each element.
pub(super) struct Table<W> {
    pub(super) values: Vec<W>,
    pub(super) ranks: Vec<W>,
    pub(super) is_ascending: bool,
}

/// Integers that are loaded at once.
const PART: usize = 256;
/// Ranks of a task.
const TASK: usize = 1 << 14;

/// Slots of the search are a power of two, and twice the values at least.
struct Search<W> {
    /// One more than the number of a value; 0: none.
    slots: Vec<u32>,
    values: Vec<W>,
}

impl<W: Word> Search<W> {
    fn slot(&self, value: W) -> usize {
        let bits = self.slots.len().ilog2();
        let mut slot = (value.wide().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize;
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
        if 2 * self.values.len() > self.slots.len() {
            self.slots = room(2 * self.slots.len())?;
            for i in 0..self.values.len() {
                let slot = self.slot(self.values[i]);
                self.slots[slot] = i as u32 + 1;
            }
        }
        Ok(number)
    }
}

/// The most values of a table of `n` elements.
fn most(n: usize) -> usize {
    (n / 4).min(TABLE as usize)
}

/// The table of an array, unless it has too many distinct values.
pub(super) fn find<W: Word>(o: &impl Integers<W>, kind: u32) -> Result<Option<Table<W>>, Fault> {
    let most = most(o.len());
    let mut search = Search { slots: room(1 << 12)?, values: vec![] };
    let mut numbers = room::<u32>(o.len())?;
    let mut last = None;
    let mut part = [W::ZERO; PART];
    for (k, numbers) in numbers.chunks_mut(PART).enumerate() {
        let part = &mut part[..numbers.len()];
        o.load(k * PART, part);
        for (number, &value) in numbers.iter_mut().zip(&*part) {
            *number = match last {
                Some((same, number)) if same == value => number,
                _ => search.number(value)?,
            };
            last = Some((value, *number));
            if search.values.len() > most {
                return Ok(None);
            }
        }
    }
    let mut order: Vec<u32> = (0..search.values.len() as u32).collect();
    order.sort_unstable_by_key(|&i| search.values[i as usize].rank_key(kind));
    let mut rank_of = room::<W>(order.len())?;
    for (rank, &i) in order.iter().enumerate() {
        rank_of[i as usize] = W::cut(rank as u64);
    }
    let mut ranks = room::<W>(o.len())?;
    ranks.iter_mut().zip(&numbers).for_each(|(rank, &i)| *rank = rank_of[i as usize]);
    let values = order.iter().map(|&i| search.values[i as usize]).collect();
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
