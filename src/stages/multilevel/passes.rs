//! Passes of a decoder: values are restored from predictions and from the codes of runs.

use super::decode::{Decoder, TASK};
use super::grid::{Pass, layout};
use super::known::{Grid, Known, Predicted, room};
use super::open::{Exact, Opened};
use super::params::FILL2;
use super::rans::{LANES, RunDecoder};
use super::section::Kind;
use super::steps::Layout;
use super::value::LevelValue;
use crate::base::error::Fault;
use crate::stages::wide::{Work, widest};
use std::ops::Range;

/// Steps of a row that are predicted at once.
const STRIPS: usize = 64;
/// Steps of a task in a section without runs.
const QUIET: usize = 512;

/// A pass to restore.
#[derive(Clone, Copy)]
pub(super) struct PassWork<'a, T> {
    pub(super) decoder: &'a Decoder<'a, T>,
    pub(super) known: &'a Known<T>,
    pub(super) pass: &'a Pass,
    pub(super) stencil: u8,
}

/// Points of a step and their contexts.
type Strip<'a, T> = (&'a mut [T], &'a [u8]);

impl<T: LevelValue> PassWork<'_, T> {
    fn open<'a>(&self, words: &'a [u16], layout: &Layout) -> Result<Opened<'a>, Fault> {
        let opened = Opened::new(words, layout, Kind::Pass, self.decoder.form, self.decoder.threads)?;
        if opened.rest.is_empty() { Ok(opened) } else { Err(Fault::Corrupt) }
    }

    /// Predictions and contexts of the points. In place of a prediction, a point of context FILL2 has its left neighbor. If `steps` is
    /// given, points of quiet steps are restored.
    pub(super) fn predicted(
        &self,
        steps: Option<(&Opened<'_>, &Layout)>,
    ) -> Result<(Grid<T>, Vec<u8>), Fault> {
        let mut grid = Grid::<T>::new(self.pass.points)?;
        let mut contexts = room::<u8>(self.pass.count())?;
        let n = self.pass.points[0];
        let per_task = (TASK / n).max(1);
        let parts = grid.values.chunks_mut(per_task * n).zip(contexts.chunks_mut(per_task * n));
        let rows = parts.enumerate().map(|(k, (p, contexts))| (k * per_task, p, contexts));
        let each =
            |_: &mut (), (first, p, contexts)| widest(PredictRows { of: *self, steps, first, p, contexts });
        let done = self.decoder.threads.each(rows.collect(), || (), each);
        done.into_iter().collect::<Result<(), Fault>>()?;
        Ok((grid, contexts))
    }

    /// Restores a pass over y or z.
    pub(super) fn lines(&self, words: &[u16]) -> Result<Grid<T>, Fault> {
        let layout = layout(self.pass);
        let opened = self.open(words, &layout)?;
        let (mut grid, contexts) = self.predicted(Some((&opened, &layout)))?;
        let mut strips: Vec<Strip<'_, T>> = vec![];
        let bytes = (opened.steps * size_of::<Strip<'_, T>>()) as u64;
        strips.try_reserve_exact(opened.steps).map_err(|_| Fault::OutOfMemory(bytes))?;
        strips.resize_with(opened.steps, Default::default);
        let n = self.pass.points[0];
        for (row, (p, contexts)) in grid.values.chunks_mut(n).zip(contexts.chunks(n)).enumerate() {
            for (strip, own) in p.chunks_mut(LANES).zip(contexts.chunks(LANES)).enumerate() {
                let (batch, j) = layout.step_of(row, strip);
                if let Some(place) = opened.place(batch, j) {
                    strips[place] = own;
                }
            }
        }
        let runs: Vec<_> = strips.chunks_mut(opened.per_run).zip(&opened.runs).collect();
        let done = self.decoder.threads.each(
            runs,
            || (),
            |(), (strips, run)| widest(LineRun { decoder: self.decoder, opened: &opened, run, strips }),
        );
        done.into_iter().collect::<Result<(), Fault>>()?;
        Ok(grid)
    }

    /// Restores a pass over x into `joined`, together with the other points of the level.
    pub(super) fn rows(&self, words: &[u16], joined: &mut [T]) -> Result<(), Fault> {
        let layout = layout(self.pass);
        let opened = self.open(words, &layout)?;
        let n = self.pass.points[0];
        let (per_row, length) = (n.div_ceil(LANES), n + self.pass.known);
        let (mut tasks, mut rest, mut at) = (vec![], joined, 0);
        for (steps, run) in tasks_of(&opened, layout.steps) {
            let end = steps.end / per_row * length + steps.end % per_row * 2 * LANES;
            let (out, behind) = rest.split_at_mut_checked(end - at).ok_or(Fault::BadLaunch)?;
            tasks.push((steps, run, out));
            (rest, at) = (behind, end);
        }
        let each = |buffer: &mut Buffer<T>, (steps, run, out)| {
            widest(RowRun { of: *self, opened: &opened, steps, run, out, buffer })
        };
        let buffer = || Buffer::new(n.min(STRIPS * LANES));
        self.decoder.threads.each(tasks, buffer, each).into_iter().collect()
    }

    /// Predicts a part of a row.
    #[inline(always)]
    fn row(&self, at: (usize, usize), p: &mut [T], contexts: &mut [u8]) {
        let of = &self.decoder.predictor;
        let out = Predicted { p: &mut *p, contexts: &mut *contexts };
        self.known.predict(of, self.stencil, self.pass, at, out);
        if contexts.iter().fold(0, |most, &c| c.max(most)) == FILL2 as u8 {
            let left = self.known.left(self.pass, at);
            for ((p, &context), &b) in p.iter_mut().zip(&*contexts).zip(left) {
                *p = if context == FILL2 as u8 { b } else { *p };
            }
        }
    }
}

/// For each run the steps from its first one to that of the next run. Quiet steps at the start belong to the first run. Without
/// runs, all steps in parts of `QUIET`.
fn tasks_of<'a>(opened: &Opened<'a>, steps: usize) -> Vec<(Range<usize>, Option<&'a [u16]>)> {
    if opened.runs.is_empty() {
        let parts = (0..steps).step_by(QUIET);
        return parts.map(|first| (first..steps.min(first + QUIET), None)).collect();
    }
    let mut all: Vec<(Range<usize>, Option<&[u16]>)> = vec![];
    for (k, &run) in opened.runs.iter().enumerate() {
        let first = match k {
            0 => 0,
            _ => opened.steps_from(k * opened.per_run).next().map_or(steps, |(batch, j)| 8 * batch + j),
        };
        if let Some((before, _)) = all.last_mut() {
            before.end = first;
        }
        all.push((first..steps, Some(run)));
    }
    all
}

impl<T: LevelValue> Decoder<'_, T> {
    /// Restores the points of a step that is in a run.
    #[inline(always)]
    fn run_step(
        &self,
        opened: &Opened<'_>,
        run: &mut RunDecoder<'_>,
        exact: &mut Exact,
        (p, contexts): (&mut [T], &[u8]),
    ) -> Result<(), Fault> {
        let mut codes = [0; LANES];
        exact.clear();
        opened.lookup.step(run, contexts, self.form.exact, &mut codes, exact, 0)?;
        self.restore(p, contexts, &codes, |l| exact.iter().find(|e| e.0 == l).map(|e| e.1))
    }
}

struct PredictRows<'a, 'b, T> {
    of: PassWork<'a, T>,
    steps: Option<(&'a Opened<'a>, &'a Layout)>,
    first: usize,
    p: &'b mut [T],
    contexts: &'b mut [u8],
}

impl<T: LevelValue> Work for PredictRows<'_, '_, T> {
    type Result = Result<(), Fault>;

    #[inline(always)]
    fn run(self) -> Result<(), Fault> {
        let n = self.of.pass.points[0];
        let rows = self.p.chunks_exact_mut(n).zip(self.contexts.chunks_exact_mut(n));
        for (k, (p, contexts)) in rows.enumerate() {
            let row = self.first + k;
            self.of.row((row, 0), p, contexts);
            let Some((opened, layout)) = self.steps else { continue };
            for (strip, (p, contexts)) in p.chunks_mut(LANES).zip(contexts.chunks(LANES)).enumerate() {
                let (batch, j) = layout.step_of(row, strip);
                if !opened.is_busy(batch, j) {
                    self.of.decoder.restore(p, contexts, &[0; LANES], |_| None)?;
                }
            }
        }
        Ok(())
    }
}

/// The work of restoring the steps of a run, of a pass over y or z.
struct LineRun<'a, 'b, T> {
    decoder: &'a Decoder<'a, T>,
    opened: &'a Opened<'a>,
    run: &'a [u16],
    strips: &'b mut [Strip<'a, T>],
}

impl<T: LevelValue> Work for LineRun<'_, '_, T> {
    type Result = Result<(), Fault>;

    #[inline(always)]
    fn run(self) -> Result<(), Fault> {
        let mut run = RunDecoder::new(self.run)?;
        let mut exact = vec![];
        for (p, contexts) in self.strips {
            self.decoder.run_step(self.opened, &mut run, &mut exact, (p, contexts))?;
        }
        run.is_finished()
    }
}

/// Working memory for a part of a row.
struct Buffer<T> {
    p: Vec<T>,
    contexts: Vec<u8>,
}

impl<T: LevelValue> Buffer<T> {
    fn new(n: usize) -> Buffer<T> {
        Buffer { p: vec![T::ZERO; n], contexts: vec![0; n] }
    }
}

/// The work of restoring consecutive steps of a pass over x.
struct RowRun<'a, 'b, T> {
    of: PassWork<'a, T>,
    opened: &'a Opened<'a>,
    steps: Range<usize>,
    run: Option<&'a [u16]>,
    out: &'b mut [T],
    buffer: &'b mut Buffer<T>,
}

impl<T: LevelValue> Work for RowRun<'_, '_, T> {
    type Result = Result<(), Fault>;

    #[inline(always)]
    fn run(self) -> Result<(), Fault> {
        let RowRun { of, opened, steps, run, out, buffer } = self;
        let (n, decoder) = (of.pass.points[0], of.decoder);
        let (per_row, length) = (n.div_ceil(LANES), n + of.pass.known);
        let mut run = run.map(RunDecoder::new).transpose()?;
        let (mut exact, mut out, mut step) = (vec![], out, steps.start);
        while step < steps.end {
            let (row, strip) = (step / per_row, step % per_row);
            let strips = (per_row - strip).min(steps.end - step).min(STRIPS);
            let first = strip * LANES;
            let count = (strips * LANES).min(n - first);
            let (p, contexts) = (&mut buffer.p[..count], &mut buffer.contexts[..count]);
            of.row((row, first), p, contexts);
            for (k, own) in p.chunks_mut(LANES).zip(contexts.chunks(LANES)).enumerate() {
                let step = step + k;
                match &mut run {
                    Some(run) if opened.is_busy(step / 8, step % 8) => {
                        decoder.run_step(opened, run, &mut exact, own)?;
                    }
                    _ => decoder.restore(own.0, own.1, &[0; LANES], |_| None)?,
                }
            }
            let to = if strip + strips == per_row { length - 2 * first } else { 2 * count };
            let (own, behind) = std::mem::take(&mut out).split_at_mut_checked(to).ok_or(Fault::BadLaunch)?;
            of.known.join_row(of.pass, (row, first), p, own);
            (out, step) = (behind, step + strips);
        }
        run.map_or(Ok(()), |run| run.is_finished())
    }
}
