//! Kernel `multilevel_encode`.

use super::code::{Coder, Symbol};
use super::differences;
use super::grid::{Levels, Pass, layout};
use super::known::{Grid, Known, Predicted, room};
use super::params::{MOST_ROOT, MultilevelMetadata, MultilevelParams, STEP};
use super::section::{Form, Kind, Planned, Symbols};
use super::stencil::Vote;
use super::stream;
use super::value::LevelValue;
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;
use crate::stages::wide::{Work, widest};
use std::borrow::Cow;

/// Points of a task.
const TASK: usize = 1 << 14;

/// The array.
pub(super) struct Source<'a, T> {
    pub(super) values: &'a [T],
}

/// The values of an array, which may be misaligned.
pub(super) fn values<T: LevelValue>(bytes: &[u8], n: usize) -> Result<Cow<'_, [T]>, Fault> {
    let bytes = bytes.get(..n * size_of::<T>()).ok_or(Fault::BadLaunch)?;
    if let Ok(values) = bytemuck::try_cast_slice(bytes) {
        return Ok(Cow::Borrowed(values));
    }
    let mut copy = room::<T>(n)?;
    bytemuck::cast_slice_mut::<T, u8>(&mut copy).copy_from_slice(bytes);
    Ok(Cow::Owned(copy))
}

pub(super) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
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
    let mut metadata: MultilevelMetadata = at(call.input(1)?, 0).ok_or(Fault::BadLaunch)?;
    let src = call.input(0)?;
    let all = values::<T>(src, n)?;
    let (out_metadata, out) = (call.output(0)?, call.output(1)?);
    let mut bytes = 0;
    if n > 0 {
        let coder = Coder::<T>::new(p.threshold, &metadata);
        let source = Source { values: &all };
        let form = Form { exact: T::BITS, wide: n >= 1 << 31 };
        let (sections, differences) = if metadata.differences > 0 {
            let (symbols, differences) =
                differences::code(&source, dims, metadata.differences, &coder, call.threads)?;
            (vec![symbols.plan(call.threads, T::BITS)?], Some(differences))
        } else {
            (interpolate(&source, dims, &coder, call.threads, &mut metadata)?, None)
        };
        let whole = &src[..n * size_of::<T>()];
        bytes = stream::write(&sections, differences.as_ref(), &metadata, form, call.threads, whole, out)?;
    }
    let metadata = bytemuck::bytes_of(&metadata);
    out_metadata.get_mut(..metadata.len()).ok_or(Fault::BadLaunch)?.copy_from_slice(metadata);
    call.publish(1, bytes as u64)
}

fn interpolate<T: LevelValue>(
    source: &Source<'_, T>,
    dims: [usize; 3],
    coder: &Coder<T>,
    threads: Parallel<'_>,
    metadata: &mut MultilevelMetadata,
) -> Result<Vec<Planned>, Fault> {
    let levels = Levels::new(dims, metadata.axes);
    let (coarse, symbols, exact) = roots(source, &levels, coder)?;
    let mut base = Symbols { layout: levels.base_layout(), symbols, exact, kind: levels.base_kind() };
    let mut sections = vec![];
    let mut known = Known::new(&levels, coarse);
    for level in (1..=levels.levels).rev() {
        let stencil =
            widest(Vote { source, levels: &levels, known: &known, level, predictor: &coder.predictor });
        let at = 2 * (level as usize - 1);
        metadata.stencils[at / 8] |= (stencil / 2 - 1) << (at % 8);
        for pass in levels.passes(level) {
            let coded = CodedPass::new(source, &levels, &known, &pass, stencil, coder, threads)?;
            if level > levels.base_ends() {
                let before = base.symbols.len();
                base.symbols.extend(coded.symbols);
                base.exact.extend(coded.exact.iter().map(|&(i, bits)| (i + before, bits)));
            } else {
                let symbols = Symbols {
                    layout: layout(&pass),
                    symbols: coded.symbols,
                    exact: coded.exact,
                    kind: Kind::Pass,
                };
                sections.push(symbols.plan(threads, T::BITS)?);
            }
            known.put(pass.axis, coded.restored);
        }
        if level > 1 {
            let mut joined = Grid::new(levels.grid(1 << (level - 1)))?;
            known.join(joined.points, &mut joined.values, threads);
            known = Known::new(&levels, joined);
        }
    }
    sections.insert(0, base.plan(threads, T::BITS)?);
    Ok(sections)
}

type Coded<T> = (Grid<T>, Vec<Symbol>, Vec<(usize, u64)>);

fn roots<T: LevelValue>(
    source: &Source<'_, T>,
    levels: &Levels,
    coder: &Coder<T>,
) -> Result<Coded<T>, Fault> {
    let mut coarse = Grid::<T>::new(levels.roots())?;
    let (mut symbols, mut exact, mut before) = (vec![], vec![], 0);
    let [nx, ny, _] = levels.dims;
    let [_, my, _] = coarse.points;
    let many = levels.base_kind() == Kind::Pass;
    for (i, restored) in coarse.values.iter_mut().enumerate() {
        if many && i % STEP as usize == 0 {
            before = 0;
        }
        // The axis x is interpolated, so there is one root in a row.
        let x = source.values[(i / my * ny + i % my) * nx];
        let (q, value, coded) = coder.quotient(x, coder.predictor.center, MOST_ROOT);
        *restored = if coded { value } else { x };
        if coded {
            symbols.push(Symbol::new(super::code::zigzag(q - before), 0));
        } else {
            symbols.push(Symbol::new(coder.exact(x), 0));
            exact.push((i, x.bits()));
        }
        before = if coded { q } else { 0 };
    }
    Ok((coarse, symbols, exact))
}

/// The codes of a pass, in the order of its points.
struct CodedPass<T> {
    restored: Grid<T>,
    symbols: Vec<Symbol>,
    exact: Vec<(usize, u64)>,
}

/// Rows of a pass.
struct Rows<'a, T> {
    first: usize,
    restored: &'a mut [T],
    symbols: &'a mut [Symbol],
}

/// The properties that all rows of a pass share.
struct RowCoder<'a, T> {
    source: &'a Source<'a, T>,
    dims: [usize; 3],
    known: &'a Known<T>,
    pass: &'a Pass,
    stencil: u8,
    coder: &'a Coder<T>,
}

impl<T: LevelValue> CodedPass<T> {
    fn new(
        source: &Source<'_, T>,
        levels: &Levels,
        known: &Known<T>,
        pass: &Pass,
        stencil: u8,
        coder: &Coder<T>,
        threads: Parallel<'_>,
    ) -> Result<CodedPass<T>, Fault> {
        let mut restored = Grid::new(pass.points)?;
        let mut symbols = room(pass.count())?;
        let per_task = (TASK / pass.points[0]).max(1);
        let length = per_task * pass.points[0];
        let parts = restored.values.chunks_mut(length).zip(symbols.chunks_mut(length));
        let tasks =
            parts.enumerate().map(|(k, (restored, symbols))| Rows { first: k * per_task, restored, symbols });
        let rows = RowCoder { source, dims: levels.dims, known, pass, stencil, coder };
        let buffer = || Buffer::<T>::new(pass.points[0]);
        let exact = threads
            .each(tasks.collect(), buffer, |buffer, task| widest(RowWork { rows: &rows, task, buffer }));
        Ok(CodedPass { restored, symbols, exact: exact.concat() })
    }
}

/// Working memory for a row.
struct Buffer<T> {
    x: Vec<T>,
    b: Vec<T>,
    contexts: Vec<u8>,
}

impl<T: LevelValue> Buffer<T> {
    fn new(n: usize) -> Buffer<T> {
        Buffer { x: vec![T::ZERO; n], b: vec![T::ZERO; n], contexts: vec![0; n] }
    }
}

struct RowWork<'a, 'b, T> {
    rows: &'a RowCoder<'a, T>,
    task: Rows<'b, T>,
    buffer: &'a mut Buffer<T>,
}

impl<T: LevelValue> Work for RowWork<'_, '_, T> {
    type Result = Vec<(usize, u64)>;

    #[inline(always)]
    fn run(self) -> Vec<(usize, u64)> {
        let RowCoder { source, dims, known, pass, stencil, coder } = *self.rows;
        let (n, Buffer { x, b, contexts }) = (pass.points[0], self.buffer);
        let mut exact = vec![];
        let rows = self.task.restored.chunks_exact_mut(n).zip(self.task.symbols.chunks_exact_mut(n));
        for (k, (p, symbols)) in rows.enumerate() {
            let row = self.task.first + k;
            let (first, next) = pass.row(dims, row);
            let from = &source.values[first..];
            match next {
                1 => x.copy_from_slice(&from[..n]),
                2 => x.iter_mut().zip(from.chunks(2)).for_each(|(x, pair)| *x = pair[0]),
                _ => x.iter_mut().zip(from.iter().step_by(next)).for_each(|(x, v)| *x = *v),
            }
            known.predict(&coder.predictor, stencil, pass, (row, 0), Predicted { p, contexts, b });
            if coder.row(x, b, contexts, p, symbols) {
                let raw = symbols.iter().enumerate().filter(|(_, s)| s.code() == super::code::EXACT);
                exact.extend(raw.map(|(i, _)| (row * n + i, x[i].bits())));
            }
        }
        exact
    }
}
