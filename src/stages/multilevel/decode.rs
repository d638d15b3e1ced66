//! Kernel `multilevel_decode`.

use super::code::{CODES, EXACT, unzigzag};
use super::differences::Differences;
use super::grid::{Levels, Pass};
use super::known::{Grid, Known, room};
use super::open::{Exact, Opened};
use super::params::{FILL2, MultilevelMetadata, MultilevelParams, PATTERNS};
use super::passes::PassWork;
use super::predict::Predictor;
use super::rans::{LANES, RunDecoder};
use super::section::{Form, Kind};
use super::steps::Layout;
use super::stream::Stream;
use super::value::LevelValue;
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;
use std::borrow::Cow;

/// Points of a task.
pub(super) const TASK: usize = 1 << 14;

pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<MultilevelParams>();
    match p.value {
        4 => run::<f32>(call, &p),
        8 => run::<f64>(call, &p),
        _ => Err(Fault::BadLaunch),
    }
}

fn run<T: LevelValue>(call: &mut HostCall<'_>, p: &MultilevelParams) -> Result<(), Fault> {
    let dims = p.dims.map(|d| d as usize);
    let n: usize = dims.iter().product();
    let metadata: MultilevelMetadata = at(call.input(1)?, 0).ok_or(Fault::BadLaunch)?;
    let (stream, out, threads) = (call.input(0)?, call.output(0)?, call.threads);
    // Elements beyond the shape are restored as 0.
    let (body, rest) = out.split_at_mut_checked(n * size_of::<T>()).ok_or(Fault::Corrupt)?;
    rest.fill(0);
    if n == 0 {
        return if stream.is_empty() { Ok(()) } else { Err(Fault::Corrupt) };
    }
    let form = Form { exact: T::BITS, wide: n >= 1 << 31 };
    let levels = Levels::new(dims, metadata.axes);
    let sections = if metadata.differences > 0 { 1 } else { levels.sections() };
    let (words, patterns, count) = match Stream::open(stream, sections, form)? {
        Stream::Values(values) if values.len() == body.len() => {
            threads.copy(values, body);
            return Ok(());
        }
        Stream::Values(_) => return Err(Fault::Corrupt),
        Stream::Sections { words, patterns, count } => (words, patterns, count),
    };
    let mut copy = vec![];
    let aligned = bytemuck::try_cast_slice_mut::<u8, T>(body).is_ok();
    if !aligned {
        copy = room::<T>(n)?;
    }
    let values = if aligned { bytemuck::cast_slice_mut(body) } else { &mut copy[..] };
    let predictor = Predictor::<T>::new(p.threshold, &metadata);
    let decoder = Decoder { predictor, patterns, count, form, threads };
    if metadata.differences > 0 {
        decoder.differences(words[0], dims, metadata.differences, values)?;
    } else {
        decoder.interpolated(&words, (&levels, 0), &metadata.stencils, values)?;
    }
    if !aligned {
        body.copy_from_slice(bytemuck::cast_slice(&copy));
    }
    Ok(())
}

/// Words of a section, which may be misaligned.
fn words_of(bytes: &[u8]) -> Result<Cow<'_, [u16]>, Fault> {
    if let Ok(words) = bytemuck::try_cast_slice(bytes) {
        return Ok(Cow::Borrowed(words));
    }
    let mut words = room::<u16>(bytes.len() / 2)?;
    bytemuck::cast_slice_mut::<u16, u8>(&mut words).copy_from_slice(bytes);
    Ok(Cow::Owned(words))
}

/// The properties that all sections of a call share.
pub(super) struct Decoder<'a, T> {
    pub(super) predictor: Predictor<T>,
    pub(super) patterns: [u64; PATTERNS as usize],
    pub(super) count: usize,
    pub(super) form: Form,
    pub(super) threads: Parallel<'a>,
}

impl<T: LevelValue> Decoder<'_, T> {
    pub(super) fn differences(
        &self,
        bytes: &[u8],
        dims: [usize; 3],
        axes: u8,
        out: &mut [T],
    ) -> Result<(), Fault> {
        let words = words_of(bytes)?;
        let layout = Layout::rows(out.len(), 1);
        let opened = Opened::new(&words, &layout, Kind::Differences, self.form, self.threads)?;
        let exact = Differences::read(opened.rest, self.form, out.len())?;
        let classes =
            |batch: usize, _: std::ops::Range<usize>, own: &mut [u8; LANES]| own.fill(opened.classes[batch]);
        let (codes, escapes) = opened.codes(&layout, classes, self.form.exact, self.threads)?;
        if !escapes.is_empty() || codes.iter().any(|&c| c >= CODES) {
            return Err(Fault::Corrupt);
        }
        let mut d = room::<i32>(out.len())?;
        for batch in 0..layout.batches {
            for j in 0..8 {
                let (Some(range), Some(place)) = (layout.step(batch, j), opened.place(batch, j)) else {
                    continue;
                };
                let codes = &codes[place * layout.width()..];
                d[range].iter_mut().zip(codes).for_each(|(d, &c)| *d = unzigzag(c));
            }
        }
        exact.restore(&mut d, dims, axes, (self.predictor.step, self.predictor.center), out);
        Ok(())
    }

    /// Restores the levels above `finest`: the points at multiples of 2^finest of the interpolated axes.
    pub(super) fn interpolated(
        &self,
        words: &[&[u8]],
        (levels, finest): (&Levels, u32),
        stencils: &[u8; 16],
        out: &mut [T],
    ) -> Result<(), Fault> {
        let mut sections = words.iter();
        let mut section = || sections.next().ok_or(Fault::Corrupt).and_then(|w| words_of(w));
        let base_words = section()?;
        let base_layout = levels.base_layout();
        let opened = Opened::new(&base_words, &base_layout, levels.base_kind(), self.form, self.threads)?;
        if !opened.rest.is_empty() {
            return Err(Fault::Corrupt);
        }
        let (roots, mut base) = if levels.base_kind() == Kind::Pass {
            (self.many_roots(&opened, &base_layout, levels.roots())?, None)
        } else {
            let &[run] = &opened.runs[..] else { return Err(Fault::Corrupt) };
            let mut base = BaseRun { run: RunDecoder::new(run)?, opened: &opened };
            (self.roots(&mut base, levels.roots())?, Some(base))
        };
        let mut known = Known::new(levels, roots);
        for level in (finest + 1..=levels.levels).rev() {
            let at = 2 * (level as usize - 1);
            let stencil = 2 * (stencils[at / 8] >> (at % 8) & 3) + 2;
            if let Some(base) = base.as_ref().filter(|_| level == levels.base_ends()) {
                base.run.is_finished()?;
            }
            let mut finer = match level > finest + 1 {
                true => Some(Grid::new(levels.grid(1 << (level - 1)))?),
                false => None,
            };
            let joined = finer.as_mut().map_or(&mut *out, |grid| &mut grid.values);
            let mut is_joined = false;
            for pass in levels.passes(level) {
                if let Some(base) = base.as_mut().filter(|_| level > levels.base_ends()) {
                    known.put(pass.axis, self.base_pass(base, &known, &pass, stencil)?);
                    continue;
                }
                let work = PassWork { decoder: self, known: &known, pass: &pass, stencil };
                if pass.axis == 0 {
                    work.rows(&section()?, joined)?;
                    is_joined = true;
                } else {
                    let restored = work.lines(&section()?)?;
                    known.put(pass.axis, restored);
                }
            }
            if !is_joined {
                known.join(levels.grid(1 << (level - 1)), joined, self.threads);
            }
            if let Some(finer) = finer {
                known = Known::new(levels, finer);
            }
        }
        if let Some(base) = base.filter(|_| levels.base_ends() == finest) {
            base.run.is_finished()?;
        }
        if levels.levels == finest {
            out.copy_from_slice(&known.coarse.values);
        }
        Ok(())
    }

    /// The exact value that a code represents; `None` for the code of an integer.
    #[inline(always)]
    pub(super) fn exact(&self, code: u32, raw: impl Fn() -> Option<u64>) -> Result<Option<T>, Fault> {
        if code < CODES {
            return Ok(None);
        }
        let bits = if code == EXACT {
            raw()
        } else {
            self.patterns[..self.count].get((code - CODES) as usize).copied()
        };
        Ok(Some(T::from_bits(bits.ok_or(Fault::Corrupt)?)))
    }

    /// Replaces predictions by restored values. In place of a prediction, a point of context FILL2 has its left neighbor.
    #[inline(always)]
    pub(super) fn restore(
        &self,
        p: &mut [T],
        contexts: &[u8],
        codes: &[u32],
        raw: impl Fn(usize) -> Option<u64>,
    ) -> Result<(), Fault> {
        let (n, step) = (p.len(), self.predictor.step);
        let (contexts, codes) = (&contexts[..n], &codes[..n]);
        let (mut most, mut fill) = (0, 0);
        for i in 0..n {
            most = most.max(codes[i]);
            fill = fill.max(contexts[i]);
        }
        if most < CODES && fill < FILL2 as u8 {
            for i in 0..n {
                p[i] = T::from_int(unzigzag(codes[i])).fma(step, p[i]);
            }
            return Ok(());
        }
        for i in 0..n {
            if let Some(value) = self.exact(codes[i], || raw(i))? {
                p[i] = value;
            } else if contexts[i] == FILL2 as u8 {
                if codes[i] > 0 {
                    p[i] = T::from_int(unzigzag(codes[i] - 1)).fma(step, self.predictor.beside_nothing());
                }
            } else {
                p[i] = T::from_int(unzigzag(codes[i])).fma(step, p[i]);
            }
        }
        Ok(())
    }

    fn base_pass(
        &self,
        base: &mut BaseRun<'_, '_>,
        known: &Known<T>,
        pass: &Pass,
        stencil: u8,
    ) -> Result<Grid<T>, Fault> {
        let work = PassWork { decoder: self, known, pass, stencil };
        let (mut grid, contexts) = work.predicted(None)?;
        for (p, contexts) in grid.values.chunks_mut(LANES).zip(contexts.chunks(LANES)) {
            let (codes, exact) = base.step(contexts, self.form.exact)?;
            self.restore(p, contexts, &codes, |l| exact.iter().find(|e| e.0 == l).map(|e| e.1))?;
        }
        Ok(grid)
    }
}

/// The run of the base section, which continues from pass to pass.
pub(super) struct BaseRun<'a, 'b> {
    run: RunDecoder<'b>,
    opened: &'a Opened<'b>,
}

impl BaseRun<'_, '_> {
    pub(super) fn step(&mut self, contexts: &[u8], bits: u32) -> Result<([u32; LANES], Exact), Fault> {
        let (mut codes, mut exact) = ([0; LANES], vec![]);
        self.opened.lookup.step(&mut self.run, contexts, bits, &mut codes, &mut exact, 0)?;
        Ok((codes, exact))
    }
}
