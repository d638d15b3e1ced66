//! Tables of frequencies: they are computed from counts, united if that reduces the cost, written, and read.

use super::bits::{BitReader, BitWriter};
use super::code::zigzag;
use super::log2::cost;
use super::params::{CONTEXTS, FREQUENCY_BITS, TABLES};
use crate::base::error::Fault;

/// Symbols of a table are below this number.
pub(super) const SYMBOLS: usize = 64;
const ONE: u32 = 1 << FREQUENCY_BITS;
/// The number that the first entries of a table are relative to.
const START: u32 = 40;

/// Counts of one context.
pub(super) type Counts = [u64; SYMBOLS];

/// The frequencies of symbols, and for each symbol the sum of the frequencies before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) of: [u16; SYMBOLS],
    pub(super) before: [u16; SYMBOLS],
    /// Symbols from this number on do not occur.
    entries: usize,
    rest: usize,
}

/// The tables of a set, and the table of each context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Set {
    pub(super) map: [u8; CONTEXTS as usize],
    pub(super) tables: Vec<Table>,
}

/// The number of the frequency nearest to `t` among those that have numbers, or of the largest one that is at most `t`.
fn number(t: u32, nearest: bool) -> u32 {
    if t < 8 {
        return t;
    }
    let e = t.ilog2() - 2;
    let half = if nearest { (1 << e) >> 1 } else { 0 };
    // The sum may be the next power of two, for which the formula is right too.
    4 * e + ((t + half) >> e)
}

fn frequency(number: u32) -> u32 {
    if number < 8 { number } else { (4 + number % 4) << (number / 4 - 1) }
}

/// Numbers of frequencies below 2^14 are below this number.
const NUMBERS: u32 = 52;

/// The number that an entry is relative to: the last one above 0 among the entries of the same parity. Signs alternate with the
/// parity of codes.
struct Expected([u32; 2]);

impl Expected {
    fn new() -> Expected {
        Expected([START; 2])
    }

    fn of(&self, i: usize) -> u32 {
        self.0[i % 2]
    }

    fn learn(&mut self, i: usize, k: u32) {
        if k > 0 {
            self.0[i % 2] = k;
            if i == 0 {
                self.0[1] = k;
            }
        }
    }
}

impl Table {
    fn from_numbers(numbers: &[u32], rest: usize) -> Result<Table, Fault> {
        let mut of = [0; SYMBOLS];
        let mut sum = 0;
        for (i, (of, &k)) in of.iter_mut().zip(numbers).enumerate() {
            if i != rest {
                *of = frequency(k) as u16;
                sum += frequency(k);
            }
        }
        if sum >= ONE {
            return Err(Fault::Corrupt);
        }
        of[rest] = (ONE - sum) as u16;
        let mut before = [0; SYMBOLS];
        let mut sum = 0u32;
        for (before, &of) in before.iter_mut().zip(&of) {
            *before = sum as u16;
            sum += u32::from(of);
        }
        Ok(Table { of, before, entries: numbers.len(), rest })
    }

    fn new(counts: &Counts) -> Result<Table, Fault> {
        let n: u64 = counts.iter().sum();
        let entries = counts.iter().rposition(|&c| c > 0).map_or(1, |i| i + 1);
        let rest = (0..entries).rev().max_by_key(|&i| counts[i]).unwrap_or(0);
        let numbers = |nearest: bool| {
            let half = if nearest { n / 2 } else { 0 };
            let one = |c: u64| match c {
                0 => 0,
                c => number((((c << FREQUENCY_BITS) + half) / n).max(1) as u32, nearest),
            };
            counts[..entries].iter().map(|&c| one(c)).collect::<Vec<u32>>()
        };
        // Rounded down, the frequencies leave at least 1 for the rest. It has the largest of at most 64 counts, so the others have at most
        // 63/64 of 2^14, and raising the smallest ones to 1 adds at most 63.
        Table::from_numbers(&numbers(true), rest)
            .or_else(|_| Table::from_numbers(&numbers(false), rest))
            .map_err(|_| Fault::BadLaunch)
    }

    /// Decodes a symbol below `most` from a state, by search.
    pub(super) fn take(&self, state: &mut u32, most: usize) -> Result<u8, Fault> {
        let slot = (*state & (ONE - 1)) as u16;
        let s = self.before[..self.entries].partition_point(|&b| b <= slot) - 1;
        if s >= most || slot - self.before[s] >= self.of[s] {
            return Err(Fault::Corrupt);
        }
        *state = u32::from(self.of[s]) * (*state >> FREQUENCY_BITS) + u32::from(slot - self.before[s]);
        Ok(s as u8)
    }

    fn number_of(&self, i: usize) -> u32 {
        number(self.of[i].into(), false)
    }

    fn write(&self, bits: &mut BitWriter) {
        bits.put(self.entries as u32 - 1, 6);
        bits.put(self.rest as u32, 6);
        let mut expected = Expected::new();
        for i in (0..self.entries).filter(|&i| i != self.rest) {
            let k = self.number_of(i);
            let d = k as i32 - expected.of(i) as i32;
            let v = if k == 0 { 0 } else { zigzag(d) + 1 };
            bits.put((1 << (v / 4)) - 1, v / 4 + 1);
            bits.put(v % 4, 2);
            expected.learn(i, k);
        }
    }

    fn read(bits: &mut BitReader<'_>) -> Result<Table, Fault> {
        let entries = bits.take(6)? as usize + 1;
        let rest = bits.take(6)? as usize;
        if rest >= entries {
            return Err(Fault::Corrupt);
        }
        let mut numbers = [0; SYMBOLS];
        let mut expected = Expected::new();
        for (i, number) in numbers[..entries].iter_mut().enumerate().filter(|(i, _)| *i != rest) {
            let mut v = 0;
            while bits.take(1)? == 1 {
                v += 4;
                if v > 4 * NUMBERS {
                    return Err(Fault::Corrupt);
                }
            }
            v += bits.take(2)?;
            let Some(z) = v.checked_sub(1) else { continue };
            *number = expected.of(i).wrapping_add_signed((z >> 1) as i32 ^ -((z & 1) as i32));
            if *number == 0 || *number >= NUMBERS {
                return Err(Fault::Corrupt);
            }
            expected.learn(i, *number);
        }
        Table::from_numbers(&numbers[..entries], rest)
    }
}

impl Set {
    /// Unites tables of neighboring contexts as long as that reduces the cost or there are too many. Returns the set and its cost,
    /// including that of the symbols, which are below `symbols`.
    pub(super) fn new(counts: &[Counts; CONTEXTS as usize], symbols: usize) -> Result<(Set, u64), Fault> {
        struct Group {
            first: usize,
            /// The sum of the counts, and a bit for each symbol that occurs.
            n: u64,
            used: u64,
            cost: u64,
            /// The cost of this group united with the next one.
            both: u64,
        }
        // The counts of a group are those of its first context.
        let mut counts = *counts;
        let group = |(first, c): (usize, &Counts)| {
            let used = c[..symbols].iter().rev().fold(0, |all, &c| all << 1 | u64::from(c > 0));
            let n = c[..symbols].iter().sum();
            Group { first, n, used, cost: cost(n, used, |i| c[i]), both: 0 }
        };
        let mut groups: Vec<Group> = counts.iter().enumerate().map(group).collect();
        let both = |groups: &mut Vec<Group>, counts: &[Counts], i: usize| {
            let (Some(own), Some(next)) = (groups.get(i), groups.get(i + 1)) else { return };
            let (a, b) = (&counts[own.first], &counts[next.first]);
            groups[i].both = cost(own.n + next.n, own.used | next.used, |i| a[i] + b[i]);
        };
        (0..groups.len()).for_each(|i| both(&mut groups, &counts, i));
        loop {
            let gain = |i: usize| (groups[i].cost + groups[i + 1].cost) as i64 - groups[i].both as i64;
            let Some(best) = (0..groups.len() - 1).rev().max_by_key(|&i| gain(i)) else { break };
            if gain(best) <= 0 && groups.len() <= TABLES as usize {
                break;
            }
            let next = groups.remove(best + 1);
            let own = &mut groups[best];
            let (before, behind) = counts.split_at_mut(next.first);
            before[own.first].iter_mut().zip(&behind[0]).for_each(|(own, next)| *own += next);
            (own.n, own.used, own.cost) = (own.n + next.n, own.used | next.used, own.both);
            both(&mut groups, &counts, best);
            if best > 0 {
                both(&mut groups, &counts, best - 1);
            }
        }
        let mut map = [0; CONTEXTS as usize];
        for (k, group) in groups.iter().enumerate() {
            map[group.first..].fill(k as u8);
        }
        let cost = groups.iter().map(|g| g.cost).sum();
        let tables = groups.iter().map(|g| Table::new(&counts[g.first])).collect::<Result<_, Fault>>()?;
        Ok((Set { map, tables }, cost))
    }

    pub(super) fn write(&self, bits: &mut BitWriter) {
        for pair in self.map.windows(2) {
            bits.put((pair[0] != pair[1]).into(), 1);
        }
        self.tables.iter().for_each(|t| t.write(bits));
    }

    pub(super) fn read(bits: &mut BitReader<'_>) -> Result<Set, Fault> {
        let begins = bits.take(CONTEXTS - 1)?;
        let mut map = [0; CONTEXTS as usize];
        for i in 1..map.len() {
            map[i] = map[i - 1] + (begins >> (i - 1) & 1) as u8;
        }
        let count = begins.count_ones() + 1;
        if count > TABLES {
            return Err(Fault::Corrupt);
        }
        let tables = (0..count).map(|_| Table::read(bits)).collect::<Result<_, Fault>>()?;
        Ok(Set { map, tables })
    }

    pub(super) fn of(&self, context: usize) -> &Table {
        &self.tables[usize::from(self.map[context])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_frequencies() {
        for k in 0..NUMBERS {
            assert_eq!(number(frequency(k), false), k);
            assert_eq!(number(frequency(k), true), k);
        }
        assert!(frequency(NUMBERS - 1) < ONE && frequency(NUMBERS) == ONE);
        assert_eq!((number(15, true), number(9, true), number(13, true)), (12, 9, 11));
    }

    #[test]
    fn sets_are_restored() {
        let mut seed = 7u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for round in 0..200 {
            let spread = 1 + random(30);
            let counts: [Counts; 16] = std::array::from_fn(|c| {
                std::array::from_fn(|i| {
                    if round % 3 == 0 || random(4) > 0 {
                        (random(1 << spread) >> i) / (1 + c as u64)
                    } else {
                        0
                    }
                })
            });
            let (set, _) = Set::new(&counts, SYMBOLS).unwrap();
            let mut bits = BitWriter::default();
            set.write(&mut bits);
            let words = bits.finish();
            let mut reader = BitReader::new(&words);
            assert_eq!(Set::read(&mut reader).unwrap(), set);
            assert!(reader.is_at_end());
            for (context, counts) in counts.iter().enumerate() {
                let of = set.of(context).of;
                assert!(counts.iter().zip(of).all(|(c, f)| *c == 0 || f > 0));
                assert_eq!(of.iter().map(|f| u32::from(*f)).sum::<u32>(), ONE);
            }
        }
    }
}
