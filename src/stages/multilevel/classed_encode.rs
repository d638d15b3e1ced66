//! Encoder of a section of codes with a class for each batch. Its codes are computed twice, to count them and to write them, and never
//! stored for the whole array: fresh memory costs more than the codes.

use super::classed::{LONG, POINTS, form};
use super::code::{INDICES, Symbol};
use super::known::room;
use super::log2::BIT;
use super::masks::{MASK_SYMBOLS, MaskLayout};
use super::params::{BATCH, CONTEXTS};
use super::rans::{LANES, RunEncoder};
use super::section::{Form, Front, Shares, StepShares, raw, shares};
use super::stream::alone;
use super::tables::{SYMBOLS, Set};
use super::token;
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::stages::wide::{Work, widest};
use std::ops::Range;

const STEPS: usize = BATCH as usize;
/// Batches that a task counts.
const TASK: usize = 128;

/// The batches of a section. Calls with equal arguments must have equal results.
pub(in crate::stages) trait Batches: Sync {
    /// Working memory of a thread, which contains the batch that was computed last.
    type Room;

    fn room(&self) -> Self::Room;
    /// Writes the codes of a batch and returns its class. Class 0 has codes of 0 alone.
    fn code(&self, room: &mut Self::Room, batch: usize, codes: &mut [u32]) -> u8;
    /// The value of code `i` of the batch, which is [`LONG`].
    fn long(&self, room: &Self::Room, i: usize) -> u64;
    /// The number of words of 16 bits that the batch has besides its codes.
    fn low_words(&self, room: &Self::Room) -> usize;
    /// Writes these words.
    fn put_low(&self, room: &Self::Room, out: &mut [u8]);
}

/// A section with its tables.
pub(in crate::stages) struct Plan<'a, B> {
    of: &'a B,
    points: usize,
    classes: Vec<u8>,
    /// The batches that are in runs, each with the number of low words before it, and an end.
    busy: Vec<(usize, usize)>,
    /// Steps in runs, steps of each run, and the code of the steps of each run.
    steps: usize,
    per_run: usize,
    code: u8,
    set: Set,
    masks: (Set, MaskLayout),
    form: Form,
}

/// Counts of some batches.
struct Tally {
    /// By context and token; without batches of class 0.
    counts: Vec<u32>,
    classes: Vec<u8>,
    low: Vec<usize>,
}

/// Counts the codes of batches.
struct Count<'a, B> {
    of: &'a B,
    points: usize,
    batches: Range<usize>,
}

impl<B: Batches> Work for Count<'_, B> {
    type Result = Tally;

    #[inline(always)]
    fn run(self) -> Tally {
        // Neighboring codes are counted in different tables: an addition to a count that was just written would wait for it.
        let mut counts = [[0u32; INDICES]; 4];
        let (mut classes, mut low) = (vec![], vec![]);
        let (mut room, mut codes, mut indices) = (self.of.room(), [0; POINTS], [0; POINTS]);
        for batch in self.batches {
            let n = POINTS.min(self.points - batch * POINTS);
            let (codes, indices) = (&mut codes[..n], &mut indices[..n]);
            let class = self.of.code(&mut room, batch, codes);
            classes.push(class);
            low.push(self.of.low_words(&room));
            if class == 0 {
                continue;
            }
            let first = u32::from(class) * SYMBOLS as u32;
            for (index, &code) in indices.iter_mut().zip(&*codes) {
                *index = first + token::token(code);
            }
            let mut fours = indices.chunks_exact(4);
            for four in &mut fours {
                counts[0][four[0] as usize % INDICES] += 1;
                counts[1][four[1] as usize % INDICES] += 1;
                counts[2][four[2] as usize % INDICES] += 1;
                counts[3][four[3] as usize % INDICES] += 1;
            }
            fours.remainder().iter().for_each(|&index| counts[0][index as usize % INDICES] += 1);
        }
        let counts = (0..INDICES).map(|i| counts.iter().map(|counts| counts[i]).sum()).collect();
        Tally { counts, classes, low }
    }
}

impl<'a, B: Batches> Plan<'a, B> {
    /// Chooses the tables of a section of `points` codes. Codes that are [`LONG`] have values of `bits` bits. The array has `bytes` bytes,
    /// from which the number of runs follows.
    pub(in crate::stages) fn new(
        of: &'a B,
        points: usize,
        bits: u32,
        bytes: u64,
        threads: Parallel<'_>,
    ) -> Result<Plan<'a, B>, Fault> {
        let batches = points.div_ceil(POINTS);
        let tally = |k: usize| widest(Count { of, points, batches: k * TASK..batches.min((k + 1) * TASK) });
        let parts = threads.map(batches.div_ceil(TASK), tally);
        let mut counts = [[0; SYMBOLS]; CONTEXTS as usize];
        let mut classes = room::<u8>(batches)?;
        for (part, classes) in parts.iter().zip(classes.chunks_mut(TASK)) {
            counts.iter_mut().flatten().zip(&part.counts).for_each(|(all, &own)| *all += u64::from(own));
            classes.copy_from_slice(&part.classes);
        }
        let mut busy = vec![];
        let count = classes.iter().filter(|class| **class > 0).count();
        let memory = (count as u64).saturating_mul(size_of::<(usize, usize)>() as u64);
        busy.try_reserve_exact(count + 1).map_err(|_| Fault::OutOfMemory(memory))?;
        let mut low = 0;
        let all = classes.iter().zip(parts.iter().flat_map(|part| &part.low));
        for (batch, (_, words)) in all.enumerate().filter(|(_, (class, _))| **class > 0) {
            busy.push((batch, low));
            low += words;
        }
        busy.push((batches, low));
        let in_batch = |batch: usize| POINTS.min(points - batch * POINTS).div_ceil(LANES);
        let steps = busy[..count].iter().map(|(batch, _)| in_batch(*batch)).sum();
        let layout = MaskLayout::new(batches, true);
        let (mask_set, mask_cost) = Set::new(&layout.counts(&classes), MASK_SYMBOLS)?;
        let (set, cost) = Set::new(&counts, SYMBOLS)?;
        let bits_of = |(t, n): (usize, &u64)| n * u64::from(token::code(t as u8, bits).1);
        let raw = BIT * counts.iter().flat_map(|counts| counts.iter().enumerate().map(bits_of)).sum::<u64>();
        let (per_run, code) = alone(cost + mask_cost + raw, steps, bytes);
        let (masks, form) = ((mask_set, layout), form(bits, points));
        Ok(Plan { of, points, classes, busy, steps, per_run, code, set, masks, form })
    }

    pub(in crate::stages) fn low_words(&self) -> usize {
        self.busy.last().map_or(0, |end| end.1)
    }

    /// The words of the section, in parts. Writes the low words of all batches.
    pub(in crate::stages) fn write(&self, low: &mut [u8], threads: Parallel<'_>) -> Vec<Vec<u16>> {
        let shares = shares(&self.set);
        let (mut runs, mut rest) = (vec![], low);
        for first in (0..self.steps).step_by(self.per_run.max(1)) {
            let steps = first..self.steps.min(first + self.per_run);
            let before = |step: usize| self.busy[step.div_ceil(STEPS)].1;
            let (own, behind) = rest.split_at_mut(2 * (before(steps.end) - before(first)));
            runs.push((steps, own));
            rest = behind;
        }
        let room = || (self.of.room(), RunEncoder::new());
        let runs = threads.each(runs, room, |(room, encoder), (steps, low)| {
            widest(Run { plan: self, shares: &shares, steps, low, room, encoder })
        });
        let (set, layout) = &self.masks;
        let front =
            Front { set: &self.set, masks: Some((set, layout)), busy: &self.classes, steps: self.steps };
        let mut parts = vec![front.words(&runs, self.code, self.form, threads)];
        parts.extend(runs);
        parts
    }
}

/// Encodes a run, and writes the low words of the batches whose first step is in it.
struct Run<'a, B: Batches> {
    plan: &'a Plan<'a, B>,
    shares: &'a Shares,
    steps: Range<usize>,
    low: &'a mut [u8],
    room: &'a mut B::Room,
    encoder: &'a mut RunEncoder,
}

impl<B: Batches> Work for Run<'_, B> {
    type Result = Vec<u16>;

    #[inline(always)]
    fn run(self) -> Vec<u16> {
        let Run { plan, shares, steps, low, room, encoder } = self;
        let (mut codes, mut symbols) = ([0; POINTS], [Symbol::default(); POINTS]);
        let mut step = StepShares::default();
        let mut end = low.len();
        for k in (steps.start / STEPS..steps.end.div_ceil(STEPS)).rev() {
            let batch = plan.busy[k].0;
            let n = POINTS.min(plan.points - batch * POINTS);
            let (codes, symbols) = (&mut codes[..n], &mut symbols[..n]);
            let class = plan.of.code(room, batch, codes);
            for (symbol, &code) in symbols.iter_mut().zip(&*codes) {
                *symbol = Symbol::new(code, class);
            }
            let first = k * STEPS;
            for j in (steps.start.max(first)..steps.end.min(first + STEPS)).rev() {
                let at = (j - first) * LANES;
                let own = at..n.min(at + LANES);
                step.look_up(shares, &symbols[own.clone()], plan.form.exact);
                if step.has_large {
                    let long = |l: usize| plan.of.long(room, at + l);
                    large(encoder, &codes[own], &step.bits, long);
                } else if step.has_bits {
                    encoder.bits(&step.bits, &step.values);
                }
                encoder.symbols(&step.shares);
            }
            if first >= steps.start {
                let begin = end - 2 * (plan.busy[k + 1].1 - plan.busy[k].1);
                plan.of.put_low(room, &mut low[begin..end]);
                end = begin;
            }
        }
        encoder.finish()
    }
}

/// Encodes the raw bits of a step of large codes.
#[inline(always)]
fn large(encoder: &mut RunEncoder, codes: &[u32], bits: &[u32; LANES], long: impl Fn(usize) -> u64) {
    let mut most = 0;
    for &n in bits {
        most = n.max(most);
    }
    if most <= 16 {
        let mut values = [0; LANES];
        for ((v, code), n) in values.iter_mut().zip(codes).zip(bits) {
            *v = code & ((1 << (n & 31)) - 1);
        }
        return encoder.bits(bits, &values);
    }
    let mut values = [0; LANES];
    for (l, (v, &code)) in values.iter_mut().zip(codes).enumerate().filter(|(l, _)| bits[*l] > 0) {
        *v = if code == LONG { long(l) } else { u64::from(code) & ((1 << bits[l]) - 1) };
    }
    raw(encoder, bits, &values);
}
