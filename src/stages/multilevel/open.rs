//! Opened sections of a decoder: masks, runs, and tables.

use super::bits::BitReader;
use super::code::{CODES, EXACT};
use super::known::room;
use super::masks::MaskLayout;
use super::params::{EXACT as EXACT_TOKEN, FREQUENCY_BITS, STEP};
use super::rans::{LANES, RunDecoder};
use super::section::{Form, Kind, MASKS};
use super::steps::Layout;
use super::stream::per_run;
use super::tables::{SYMBOLS, Set};
use super::token;
#[cfg(target_arch = "x86_64")]
use super::wide_decode;
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
#[cfg(target_arch = "x86_64")]
use crate::stages::wide::available;

const SLOTS: usize = 1 << FREQUENCY_BITS;

/// Exact values as bits, in ascending order of their places.
pub(super) type Exact = Vec<(usize, u64)>;

/// The tables of a set, by slots.
pub(super) struct Lookup {
    pub(super) map: [u8; 16],
    /// The symbol of each slot of each table, and 3 more bytes: `wide_decode` loads 4 bytes at a slot.
    pub(super) symbols: Vec<u8>,
    /// The frequency of each symbol of each table, and the sum of the frequencies before it.
    pub(super) of: Vec<[u16; 2]>,
}

impl Lookup {
    pub(super) fn new(set: &Set) -> Result<Lookup, Fault> {
        if set.map.iter().any(|&k| usize::from(k) >= set.tables.len()) {
            return Err(Fault::Corrupt);
        }
        let mut symbols = room::<u8>(SLOTS * set.tables.len() + 3)?;
        let mut of = vec![];
        for (slots, table) in symbols.chunks_exact_mut(SLOTS).zip(&set.tables) {
            for s in 0..SYMBOLS {
                let (f, before) = (table.of[s], table.before[s]);
                let from = usize::from(before);
                slots[from..from + usize::from(f)].fill(s as u8);
                of.push([f, before]);
            }
        }
        Ok(Lookup { map: set.map, symbols, of })
    }

    /// Decodes the codes of a step; `contexts` has an entry for each point. Exact values are appended to `exact`, at the place `at`
    /// plus the lane.
    #[inline(always)]
    pub(super) fn step(
        &self,
        run: &mut RunDecoder<'_>,
        contexts: &[u8],
        bits: u32,
        codes: &mut [u32; LANES],
        exact: &mut Exact,
        at: usize,
    ) -> Result<(), Fault> {
        if self.any_step(run, contexts, codes) {
            return Ok(());
        }
        raw(run, contexts.len(), bits, codes, exact, at)
    }

    /// Decodes a step with the widest registers of the machine. Returns true if `codes` are codes, and false if they are tokens.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn any_step(&self, run: &mut RunDecoder<'_>, contexts: &[u8], codes: &mut [u32; LANES]) -> bool {
        #[cfg(target_arch = "x86_64")]
        if available() {
            // SAFETY: `available` is true.
            return unsafe { wide_decode::step(self, run, contexts, codes) };
        }
        self.plain_step(run, contexts, codes)
    }

    /// Decodes the tokens of a step. Returns true if all of them are codes.
    pub(super) fn plain_step(
        &self,
        run: &mut RunDecoder<'_>,
        contexts: &[u8],
        codes: &mut [u32; LANES],
    ) -> bool {
        let mut most = 0;
        for (l, &context) in contexts.iter().enumerate() {
            let x = run.states[l];
            let slot = x as usize % SLOTS;
            let table = usize::from(self.map[usize::from(context & 15)]);
            let s = self.symbols[table * SLOTS + slot];
            let [f, before] = self.of[table * SYMBOLS + usize::from(s)];
            let low = slot as u32 - u32::from(before);
            run.states[l] = u32::from(f) * (x >> FREQUENCY_BITS) + low;
            codes[l] = s.into();
            most = most.max(s);
        }
        run.refill(u32::MAX >> (STEP - contexts.len() as u32));
        most < 16
    }
}

/// Replaces the tokens of a step by codes, and reads their raw bits.
pub(super) fn raw(
    run: &mut RunDecoder<'_>,
    points: usize,
    bits: u32,
    codes: &mut [u32; LANES],
    exact: &mut Exact,
    at: usize,
) -> Result<(), Fault> {
    let (mut counts, mut most) = ([0u32; LANES], 0);
    for (code, count) in codes[..points].iter_mut().zip(&mut counts) {
        if *code > EXACT_TOKEN {
            return Err(Fault::Corrupt);
        }
        (*code, *count) = token::code(*code as u8, bits);
        most = most.max(*count);
    }
    let mut values = [0u64; LANES];
    for group in 0..most.div_ceil(16) {
        let mut own = [0; LANES];
        own.iter_mut().zip(&counts).for_each(|(own, n)| *own = n.saturating_sub(16 * group).min(16));
        let part = run.bits(&own);
        values.iter_mut().zip(part).for_each(|(v, p)| *v |= u64::from(p) << (16 * group));
    }
    for (l, (code, v)) in codes[..points].iter_mut().zip(values).enumerate() {
        if *code == EXACT {
            exact.push((at + l, v));
        } else if counts[l] > 0 {
            *code |= v as u32;
        }
    }
    Ok(())
}

/// An opened section.
pub(super) struct Opened<'a> {
    pub(super) lookup: Lookup,
    /// For each batch the mask of its steps that are in runs, and the number of such steps in all batches before it.
    pub(super) busy: Vec<u8>,
    pub(super) before: Vec<usize>,
    pub(super) steps: usize,
    pub(super) per_run: usize,
    pub(super) runs: Vec<&'a [u16]>,
    /// The class of each batch; empty in a section without classes.
    pub(super) classes: Vec<u8>,
    /// The words after the runs.
    pub(super) rest: &'a [u16],
}

fn take<'a>(rest: &mut &'a [u16], n: usize) -> Result<&'a [u16], Fault> {
    let (own, behind) = rest.split_at_checked(n).ok_or(Fault::Corrupt)?;
    *rest = behind;
    Ok(own)
}

impl<'a> Opened<'a> {
    pub(super) fn new(
        words: &'a [u16],
        layout: &Layout,
        kind: Kind,
        form: Form,
        threads: Parallel<'_>,
    ) -> Result<Opened<'a>, Fault> {
        let mut rest = words;
        let &[head, table_words] = take(&mut rest, 2)? else { return Err(Fault::Corrupt) };
        let (width, has_masks, code) = (u32::from(head & 31), head & MASKS != 0, (head >> 8) as u8);
        let wrong = match kind {
            Kind::Serial => has_masks || code != 0,
            Kind::Pass => false,
            Kind::Differences => !has_masks,
        };
        if wrong || head & 0xc0 != 0 {
            return Err(Fault::Corrupt);
        }
        let mut steps = layout.steps;
        let masks = MaskLayout::new(layout.batches, kind == Kind::Differences);
        if has_masks {
            let number = take(&mut rest, if form.wide { 4 } else { 2 })?;
            let number = number.iter().rev().fold(0u64, |all, &w| all << 16 | u64::from(w));
            steps = usize::try_from(number).ok().filter(|&n| n <= steps).ok_or(Fault::Corrupt)?;
        }
        let per_run = if kind == Kind::Serial { steps.max(1) } else { per_run(code) };
        let mask_runs = if has_masks { masks.runs } else { 0 };
        let count = mask_runs + steps.div_ceil(per_run);
        let sizes = take(&mut rest, (count * width as usize).div_ceil(16))?;
        let mut tables = BitReader::new(take(&mut rest, table_words.into())?);
        let set = Set::read(&mut tables)?;
        let mask_set = if has_masks { Some(Set::read(&mut tables)?) } else { None };
        if !tables.is_at_end() {
            return Err(Fault::Corrupt);
        }
        let mut sizes = BitReader::new(sizes);
        let mut runs = vec![];
        runs.try_reserve(count).map_err(|_| Fault::OutOfMemory(16 * count as u64))?;
        for _ in 0..count {
            runs.push(take(&mut rest, sizes.take(width)? as usize)?);
        }
        let own = runs.split_off(mask_runs);
        let mut classes = vec![];
        let mut busy = room::<u8>(layout.batches)?;
        match mask_set {
            None => busy.iter_mut().enumerate().for_each(|(b, mask)| *mask = layout.mask(b)),
            Some(set) => {
                let parts: Vec<_> =
                    busy.chunks_mut(masks.batches_of(0).len().max(1)).zip(runs).enumerate().collect();
                let done =
                    threads.each(parts, || (), |(), (k, (part, run))| masks.decode(run, &set, k, part));
                done.into_iter().collect::<Result<(), Fault>>()?;
                if kind == Kind::Differences {
                    classes = busy.clone();
                    let of = |(b, mask): (usize, &mut u8)| *mask = if *mask > 0 { layout.mask(b) } else { 0 };
                    busy.iter_mut().enumerate().for_each(of);
                }
            }
        }
        let mut before = room::<usize>(layout.batches)?;
        let mut sum = 0;
        for (b, (before, &mask)) in before.iter_mut().zip(&busy).enumerate() {
            if mask & !layout.mask(b) != 0 {
                return Err(Fault::Corrupt);
            }
            *before = sum;
            sum += mask.count_ones() as usize;
        }
        if sum != steps {
            return Err(Fault::Corrupt);
        }
        let lookup = Lookup::new(&set)?;
        Ok(Opened { lookup, busy, before, steps, per_run, runs: own, classes, rest })
    }

    /// Batch and place in the batch of step `first` of the runs, and of all steps of the runs after it.
    pub(super) fn steps_from(&self, first: usize) -> impl Iterator<Item = (usize, usize)> + use<'_, 'a> {
        let batch = self.before.partition_point(|&b| b <= first).saturating_sub(1);
        let bits = move |b: usize| (0..8).filter(move |j| self.busy[b] >> j & 1 == 1).map(move |j| (b, j));
        (batch..self.busy.len()).flat_map(bits).skip(first - self.before.get(batch).copied().unwrap_or(0))
    }

    /// Decodes all runs. Each step has as many codes as the layout is wide. The places of exact values count 32 for each step.
    pub(super) fn codes(
        &self,
        layout: &Layout,
        contexts: impl Fn(usize, std::ops::Range<usize>, &mut [u8; LANES]) + Sync,
        bits: u32,
        threads: Parallel<'_>,
    ) -> Result<(Vec<u32>, Exact), Fault> {
        let width = layout.width();
        let mut codes = room::<u32>(self.steps * width)?;
        let parts: Vec<_> = codes.chunks_mut(self.per_run * width).zip(&self.runs).enumerate().collect();
        let done = threads.each(
            parts,
            || (),
            |(), (k, (codes, run))| {
                let mut run = RunDecoder::new(run)?;
                let mut exact = vec![];
                let steps = self.steps_from(k * self.per_run);
                for (i, ((batch, j), codes)) in steps.zip(codes.chunks_exact_mut(width)).enumerate() {
                    let range = layout.step(batch, j).ok_or(Fault::Corrupt)?;
                    let mut own = [0; LANES];
                    let points = range.len();
                    contexts(batch, range, &mut own);
                    let at = (k * self.per_run + i) * LANES;
                    if width == LANES {
                        let codes = codes.try_into().map_err(|_| Fault::BadLaunch)?;
                        self.lookup.step(&mut run, &own[..points], bits, codes, &mut exact, at)?;
                    } else {
                        let mut all = [0; LANES];
                        self.lookup.step(&mut run, &own[..points], bits, &mut all, &mut exact, at)?;
                        codes.copy_from_slice(&all[..width]);
                    }
                }
                run.is_finished()?;
                Ok(exact)
            },
        );
        let mut parts = done.into_iter().collect::<Result<Vec<Exact>, Fault>>()?;
        if parts.len() == 1 {
            return Ok((codes, parts.remove(0)));
        }
        let (count, mut exact): (usize, Exact) = (parts.iter().map(Vec::len).sum(), vec![]);
        let bytes = (count as u64).saturating_mul(size_of::<(usize, u64)>() as u64);
        exact.try_reserve_exact(count).map_err(|_| Fault::OutOfMemory(bytes))?;
        parts.into_iter().for_each(|part| exact.extend(part));
        Ok((codes, exact))
    }

    /// True if a step is in a run.
    #[inline(always)]
    pub(super) fn is_busy(&self, batch: usize, j: usize) -> bool {
        self.busy[batch] >> j & 1 == 1
    }

    /// The number of a step among those of the runs; `None` if it is quiet.
    #[inline(always)]
    pub(super) fn place(&self, batch: usize, j: usize) -> Option<usize> {
        let mask = self.busy[batch];
        if mask >> j & 1 == 0 {
            return None;
        }
        Some(self.before[batch] + (mask & ((1 << j) - 1)).count_ones() as usize)
    }
}

const _: () = assert!(CODES + 4 == EXACT);
