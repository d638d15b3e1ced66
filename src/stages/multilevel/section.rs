//! A section of an encoder: its symbols, their costs, and its words.

use super::bits::BitWriter;
use super::code::{Codes, INDICES, LARGE, Symbol};
use super::log2::BIT;
use super::masks::{MASK_SYMBOLS, MaskLayout};
use super::params::{BATCH, CONTEXTS, EXACT};
use super::rans::{LANES, RunEncoder, Share};
use super::steps::Layout;
use super::tables::{SYMBOLS, Set, Table};
use super::token;
#[cfg(target_arch = "x86_64")]
use super::wide_encode;
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
#[cfg(target_arch = "x86_64")]
use crate::stages::wide::available;

/// The bit of the first word that is set if there are masks.
pub(super) const MASKS: u16 = 1 << 5;
/// Steps of a batch.
const STEPS: usize = BATCH as usize;
/// Batches that a task counts.
const TASK: usize = 256;

/// The properties that all sections of a stream share.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// Bits of an exact value.
    pub(super) exact: u32,
    /// Numbers of words and steps have 64 bits.
    pub(super) wide: bool,
}

/// The symbols of a section. Codes are in the order of its points, exact values in ascending order of their points.
pub(super) struct Symbols {
    pub(super) layout: Layout,
    pub(super) codes: Codes,
    pub(super) exact: Vec<(usize, u64)>,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One run without masks.
    Serial,
    /// Runs, and masks if they reduce the cost.
    Pass,
    /// Runs and classes.
    Differences,
}

/// A section with its tables.
pub(super) struct Planned {
    of: Symbols,
    set: Set,
    /// The tables of the masks and their layout, and for each batch its mask or class.
    masks: Option<(Set, MaskLayout)>,
    busy: Vec<u8>,
    /// Steps in the runs.
    pub(super) steps: usize,
    /// The cost in units of 2^-16 bits.
    pub(super) cost: u64,
    pub(super) kind: Kind,
}

/// The largest number of raw bits of a code below [`LARGE`].
pub(super) const MOST_LOW: u32 = LARGE.ilog2() - 3;

/// Shares of all symbols, by context and token.
pub(super) type Shares = [Share; INDICES];

/// The shares of the tokens of a step, and the number of raw bits of each.
#[derive(Default, Debug, PartialEq)]
pub(super) struct StepShares {
    pub(super) shares: [Share; LANES],
    pub(super) bits: [u32; LANES],
    /// The raw bits of codes below [`LARGE`].
    pub(super) values: [u32; LANES],
    pub(super) has_bits: bool,
    /// True if some code is not below [`LARGE`].
    pub(super) has_large: bool,
}

impl StepShares {
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn look_up(&mut self, of: &Shares, symbols: &[Symbol], exact: u32) {
        #[cfg(target_arch = "x86_64")]
        if available() {
            // SAFETY: `available` is true.
            return unsafe { wide_encode::shares(of, symbols, exact, self) };
        }
        self.plain_look_up(of, symbols, exact);
    }

    pub(super) fn plain_look_up(&mut self, of: &Shares, symbols: &[Symbol], exact: u32) {
        *self = StepShares::default();
        for (l, s) in symbols.iter().enumerate() {
            let n = token::code(s.token(), exact).1;
            (self.shares[l], self.bits[l]) = (of[s.index()], n);
            self.values[l] = s.low() & u32::MAX.checked_shl(n).map_or(u32::MAX, |above| !above);
            self.has_bits |= n > 0;
            self.has_large |= n > MOST_LOW;
        }
    }
}

/// The counts of some batches.
struct Tally {
    /// Counts of steps that are not quiet, by context and token.
    busy: Vec<u32>,
    /// Counts of quiet steps by context; all of their tokens are 0.
    quiet: [u64; CONTEXTS as usize],
    masks: Vec<u8>,
}

impl Symbols {
    fn tally(&self, batches: std::ops::Range<usize>) -> Tally {
        // Neighboring symbols are counted in different tables: an addition to a count that was just written would wait for it.
        let mut counts = [[0u32; INDICES]; 4];
        let mut quiet = [0; CONTEXTS as usize];
        let mut masks = Vec::with_capacity(batches.len());
        for batch in batches {
            let mut mask = 0;
            for j in 0..STEPS {
                let Some(range) = self.layout.step(batch, j) else { break };
                let step = &self.codes.symbols[range];
                let busy = Symbol::any(step);
                mask |= u8::from(busy) << j;
                // All steps of a batch of differences are in the runs, unless its class is 0.
                let is_quiet = match self.kind {
                    Kind::Differences => step[0].context() == 0,
                    _ => !busy,
                };
                if !is_quiet {
                    for four in step.chunks(4) {
                        four.iter().zip(&mut counts).for_each(|(s, counts)| counts[s.index() % INDICES] += 1);
                    }
                } else if step.iter().fold(true, |same, s| same & (*s == step[0])) {
                    quiet[step[0].context()] += step.len() as u64;
                } else {
                    step.iter().for_each(|s| quiet[s.context()] += 1);
                }
            }
            if self.kind == Kind::Differences {
                // All points of the batch have its class as their context.
                mask = self.layout.step(batch, 0).map_or(0, |r| self.codes.symbols[r.start].context() as u8);
            }
            masks.push(mask);
        }
        let busy = (0..INDICES).map(|i| counts.iter().map(|counts| counts[i]).sum()).collect();
        Tally { busy, quiet, masks }
    }

    /// Chooses the tables, and whether the section has masks. `exact` is the number of bits of an exact value.
    pub(super) fn plan(self, threads: Parallel<'_>, exact: u32) -> Result<Planned, Fault> {
        let batches = self.layout.batches;
        let parts =
            threads.map(batches.div_ceil(TASK), |k| self.tally(k * TASK..batches.min((k + 1) * TASK)));
        let mut busy = [[0; SYMBOLS]; CONTEXTS as usize];
        let (mut quiet, mut masks) = ([0; CONTEXTS as usize], vec![]);
        for part in &parts {
            for (all, &part) in busy.iter_mut().flatten().zip(&part.busy) {
                *all += u64::from(part);
            }
            quiet.iter_mut().zip(part.quiet).for_each(|(a, b)| *a += b);
            masks.extend_from_slice(&part.masks);
        }
        let mut all = busy;
        all.iter_mut().zip(quiet).for_each(|(counts, quiet)| counts[0] += quiet);
        let bits = |(t, n): (usize, &u64)| n * u64::from(token::code(t as u8, exact).1);
        let raw = BIT * all.iter().flat_map(|counts| counts.iter().enumerate().map(bits)).sum::<u64>();
        let kind = self.kind;
        let every = |layout: &Layout| (0..batches).map(|b| layout.mask(b)).collect::<Vec<u8>>();
        let (set, cost) = Set::new(&all, SYMBOLS)?;
        let plain = |of: Symbols, set: Set| {
            let (busy, steps) = (every(&of.layout), of.layout.steps);
            Planned { of, set, masks: None, busy, steps, cost: cost + raw, kind }
        };
        if kind == Kind::Serial {
            return Ok(plain(self, set));
        }
        let layout = MaskLayout::new(batches, kind == Kind::Differences);
        let (mask_set, mask_cost) = Set::new(&layout.counts(&masks), MASK_SYMBOLS)?;
        let (busy_set, busy_cost) = Set::new(&busy, SYMBOLS)?;
        let busy: Vec<u8> = match kind {
            Kind::Differences => {
                let of = |b: usize| if masks[b] > 0 { self.layout.mask(b) } else { 0 };
                (0..batches).map(of).collect()
            }
            _ => masks.clone(),
        };
        let steps = busy.iter().map(|m| m.count_ones() as usize).sum::<usize>();
        let with = busy_cost + mask_cost;
        let few = 4 * steps <= self.layout.steps && with <= cost + 3 * cost / 8;
        if kind == Kind::Pass && with > cost && !few {
            return Ok(plain(self, set));
        }
        let masks_of = if kind == Kind::Differences { masks } else { busy.clone() };
        let planned = Planned {
            of: self,
            set: busy_set,
            masks: Some((mask_set, layout)),
            busy: masks_of,
            steps,
            cost: with + raw,
            kind,
        };
        Ok(planned)
    }
}

/// The part of a section before its runs.
pub(super) struct Front<'a> {
    pub(super) set: &'a Set,
    pub(super) masks: Option<(&'a Set, &'a MaskLayout)>,
    /// For each batch its mask or class.
    pub(super) busy: &'a [u8],
    /// Steps in the runs.
    pub(super) steps: usize,
}

impl Front<'_> {
    /// The words before the runs; `code` represents the number of steps of a run.
    pub(super) fn words(&self, runs: &[Vec<u16>], code: u8, form: Form, threads: Parallel<'_>) -> Vec<u16> {
        let mask_runs = match self.masks {
            Some((set, layout)) => threads.map(layout.runs, |k| layout.encode(self.busy, set, k)),
            None => vec![],
        };
        let most = mask_runs.iter().chain(runs).map(Vec::len).max().unwrap_or(0);
        let width = usize::BITS - most.leading_zeros();
        let mut tables = BitWriter::default();
        self.set.write(&mut tables);
        if let Some((set, _)) = self.masks {
            set.write(&mut tables);
        }
        let tables = tables.finish();
        let masks = if self.masks.is_some() { MASKS } else { 0 };
        let mut words = vec![width as u16 | masks | u16::from(code) << 8, tables.len() as u16];
        if masks > 0 {
            words.extend((0..if form.wide { 4 } else { 2 }).map(|k| (self.steps >> (16 * k)) as u16));
        }
        let mut sizes = BitWriter::default();
        mask_runs.iter().chain(runs).for_each(|r| sizes.put(r.len() as u32, width));
        words.extend(sizes.finish());
        words.extend(tables);
        mask_runs.iter().for_each(|r| words.extend_from_slice(r));
        words
    }
}

/// The shares of all symbols.
pub(super) fn shares(set: &Set) -> Shares {
    let share = |table: &Table, s: usize| Share::new(table.of[s], table.before[s]);
    std::array::from_fn(|i| share(set.of(i / SYMBOLS), i % SYMBOLS))
}

impl Planned {
    /// The words of the section, with runs of `per_run` steps; `code` represents `per_run` in the first word.
    pub(super) fn write(&self, threads: Parallel<'_>, per_run: usize, code: u8, form: Form) -> Vec<u16> {
        let steps = self.steps_in_runs();
        let shares = shares(&self.set);
        let runs = threads.map(steps.len().div_ceil(per_run.max(1)), |k| {
            self.run(&shares, &steps[k * per_run..steps.len().min((k + 1) * per_run)], form.exact)
        });
        let front = Front {
            set: &self.set,
            masks: self.masks.as_ref().map(|(set, layout)| (set, layout)),
            busy: &self.busy,
            steps: self.steps,
        };
        let mut words = front.words(&runs, code, form, threads);
        runs.iter().for_each(|r| words.extend_from_slice(r));
        words
    }

    /// The steps that are in runs, as numbers 8 · batch + place.
    fn steps_in_runs(&self) -> Vec<usize> {
        let mut all = Vec::with_capacity(self.steps);
        for (batch, &mask) in self.busy.iter().enumerate() {
            let mask = match self.kind {
                Kind::Differences if mask > 0 => self.of.layout.mask(batch),
                _ => mask,
            };
            all.extend((0..STEPS).filter(|j| mask >> j & 1 == 1).map(|j| batch * STEPS + j));
        }
        all
    }

    fn run(&self, shares: &Shares, steps: &[usize], exact: u32) -> Vec<u16> {
        let mut encoder = RunEncoder::new();
        let mut step = StepShares::default();
        for &place in steps.iter().rev() {
            let Some(range) = self.of.layout.step(place / STEPS, place % STEPS) else { continue };
            let symbols = &self.of.codes.symbols[range.clone()];
            step.look_up(shares, symbols, exact);
            if step.has_large {
                self.raw(&mut encoder, range.start, symbols, &step.bits);
            } else if step.has_bits {
                encoder.bits(&step.bits, &step.values);
            }
            encoder.symbols(&step.shares);
        }
        encoder.finish()
    }

    /// Encodes the raw bits of a step.
    fn raw(&self, encoder: &mut RunEncoder, first: usize, symbols: &[Symbol], bits: &[u32; LANES]) {
        let mut value = [0u64; LANES];
        for (l, s) in symbols.iter().enumerate().filter(|(l, _)| bits[*l] > 0) {
            value[l] = if u32::from(s.token()) == EXACT {
                let at = self.of.exact.partition_point(|(i, _)| *i < first + l);
                self.of.exact.get(at).map_or(0, |e| e.1)
            } else {
                let code = if bits[l] > MOST_LOW { self.of.codes.large[first + l] } else { s.low() };
                u64::from(code) & ((1 << bits[l]) - 1)
            };
        }
        raw(encoder, bits, &value);
    }
}

/// Encodes the raw bits of a step in groups of 16.
pub(super) fn raw(encoder: &mut RunEncoder, bits: &[u32; LANES], value: &[u64; LANES]) {
    let most = bits.iter().fold(0, |most, &n| n.max(most));
    for group in (0..most.div_ceil(16)).rev() {
        let (mut count, mut part) = ([0; LANES], [0; LANES]);
        count.iter_mut().zip(bits).for_each(|(own, n)| *own = n.saturating_sub(16 * group).min(16));
        part.iter_mut().zip(value).for_each(|(own, v)| *own = (v >> (16 * group)) as u32 & 0xffff);
        encoder.bits(&count, &part);
    }
}
