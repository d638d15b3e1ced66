//! Masks or classes of batches: their places in the lanes of runs, and the runs.

use super::params::{CONTEXTS, MASK_RUN, STEP};
use super::rans::{LANES, RunDecoder, RunEncoder, Share};
use super::tables::{Counts, SYMBOLS, Set};
use crate::base::error::Fault;

/// Symbols of masks are below this number.
pub(super) const MASK_SYMBOLS: usize = 16;

/// The distribution of the masks of a section over lanes.
#[derive(Clone, Copy)]
pub(super) struct MaskLayout {
    batches: usize,
    /// Batches of a lane.
    per_lane: usize,
    pub(super) runs: usize,
    /// True if batches have classes instead of masks.
    classes: bool,
}

impl MaskLayout {
    pub(super) fn new(batches: usize, classes: bool) -> MaskLayout {
        let runs = batches.div_ceil(MASK_RUN as usize);
        MaskLayout { batches, per_lane: batches.div_ceil(STEP as usize * runs.max(1)), runs, classes }
    }

    fn rows(&self) -> usize {
        if self.classes { self.per_lane } else { 2 * self.per_lane }
    }

    /// The batch of a lane in a row of a run, and the shift of its symbol in the mask.
    fn place(&self, run: usize, row: usize, lane: usize) -> Option<(usize, u32)> {
        let (i, shift) = if self.classes { (row, 0) } else { (row / 2, (row % 2) as u32 * 4) };
        let batch = (run * LANES + lane) * self.per_lane + i;
        (batch < self.batches).then_some((batch, shift))
    }

    /// The context of the symbol after symbol `before`.
    fn context(&self, before: u8) -> usize {
        if self.classes { before.into() } else { before.count_ones() as usize }
    }

    /// The symbol of a lane in a row, and its context.
    fn symbol(&self, masks: &[u8], run: usize, row: usize, lane: usize) -> Option<(usize, usize)> {
        let at = |row: usize| self.place(run, row, lane).map(|(batch, shift)| masks[batch] >> shift & 15);
        let symbol = at(row)?;
        let before = if row > 0 { at(row - 1)? } else { 0 };
        Some((symbol.into(), self.context(before)))
    }

    pub(super) fn counts(&self, masks: &[u8]) -> [Counts; CONTEXTS as usize] {
        let mut counts = [[0; SYMBOLS]; CONTEXTS as usize];
        for run in 0..self.runs {
            for row in 0..self.rows() {
                for lane in 0..LANES {
                    if let Some((symbol, context)) = self.symbol(masks, run, row, lane) {
                        counts[context][symbol] += 1;
                    }
                }
            }
        }
        counts
    }

    pub(super) fn encode(&self, masks: &[u8], set: &Set, run: usize) -> Vec<u16> {
        let mut encoder = RunEncoder::new();
        for row in (0..self.rows()).rev() {
            let mut shares = [Share::default(); LANES];
            for (lane, share) in shares.iter_mut().enumerate() {
                if let Some((symbol, context)) = self.symbol(masks, run, row, lane) {
                    let table = set.of(context);
                    *share = Share::new(table.of[symbol], table.before[symbol]);
                }
            }
            encoder.symbols(&shares);
        }
        encoder.finish()
    }

    /// Batches of a run.
    pub(super) fn batches_of(&self, run: usize) -> std::ops::Range<usize> {
        let each = LANES * self.per_lane;
        run * each..((run + 1) * each).min(self.batches)
    }

    /// Decodes the masks of a run.
    pub(super) fn decode(&self, words: &[u16], set: &Set, run: usize, masks: &mut [u8]) -> Result<(), Fault> {
        let first = self.batches_of(run).start;
        let mut decoder = RunDecoder::new(words)?;
        let mut contexts = [0usize; LANES];
        for row in 0..self.rows() {
            let mut active = 0;
            for (lane, context) in contexts.iter_mut().enumerate() {
                let Some((batch, shift)) = self.place(run, row, lane) else { continue };
                let table = set.of(*context);
                let symbol = table.take(&mut decoder.states[lane], MASK_SYMBOLS)?;
                *context = self.context(symbol);
                masks[batch - first] |= symbol << shift;
                active |= 1 << lane;
            }
            decoder.refill(active);
        }
        decoder.is_finished()
    }
}
