//! Kernel `multilevel_encode`.

use super::code::{Coder, Codes};
use super::differences;
use super::grid::{Levels, layout};
use super::known::{Grid, Known, room};
use super::params::{MOST_ROOT, MultilevelMetadata, MultilevelParams, STEP};
use super::pass_coder::{PassCoder, Restored};
use super::section::{Form, Kind, Planned, Symbols};
use super::stencil::Vote;
use super::stream;
use super::value::LevelValue;
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;
use std::borrow::Cow;

/// The array that is encoded.
pub(super) struct Source<'a, T> {
    pub(super) values: &'a [T],
}

/// The first `n` values in `bytes`, which may be misaligned.
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
    let (coarse, codes, exact) = roots(source, &levels, coder)?;
    let mut base = Symbols { layout: levels.base_layout(), codes, exact, kind: levels.base_kind() };
    let mut sections = vec![];
    let mut known = Known::new(&levels, coarse);
    for level in (1..=levels.levels).rev() {
        let stencil =
            Vote { source, levels: &levels, known: &known, level, predictor: &coder.predictor }.best(threads);
        let at = 2 * (level as usize - 1);
        metadata.stencils[at / 8] |= (stencil / 2 - 1) << (at % 8);
        let mut finer = match level > 1 {
            true => Some(Grid::new(levels.grid(1 << (level - 1)))?),
            false => None,
        };
        let mut is_joined = level == 1;
        for pass in levels.passes(level) {
            let coder = PassCoder { source, dims: levels.dims, known: &known, pass: &pass, stencil, coder };
            let mut grid = Grid::new(if pass.axis == 0 { [0; 3] } else { pass.points })?;
            let to = match &mut finer {
                _ if pass.axis > 0 => Restored::Apart(&mut grid.values),
                Some(finer) => Restored::Joined(&mut finer.values),
                None => Restored::Nowhere,
            };
            let (codes, exact) = coder.code(to, threads)?;
            if level > levels.base_ends() {
                let before = base.codes.symbols.len();
                base.codes.symbols.extend(codes.symbols);
                base.codes.large.extend(codes.large);
                base.exact.extend(exact.iter().map(|&(i, bits)| (i + before, bits)));
            } else {
                let symbols = Symbols { layout: layout(&pass), codes, exact, kind: Kind::Pass };
                sections.push(symbols.plan(threads, T::BITS)?);
            }
            if pass.axis > 0 {
                known.put(pass.axis, grid);
            } else {
                is_joined = true;
            }
        }
        if let Some(mut finer) = finer {
            if !is_joined {
                known.join(finer.points, &mut finer.values, threads);
            }
            known = Known::new(&levels, finer);
        }
    }
    sections.insert(0, base.plan(threads, T::BITS)?);
    Ok(sections)
}

type Coded<T> = (Grid<T>, Codes, Vec<(usize, u64)>);

fn roots<T: LevelValue>(
    source: &Source<'_, T>,
    levels: &Levels,
    coder: &Coder<T>,
) -> Result<Coded<T>, Fault> {
    let mut coarse = Grid::<T>::new(levels.roots())?;
    let (mut codes, mut exact, mut before) = (Codes::default(), vec![], 0);
    let [nx, ny, _] = levels.dims;
    let [_, my, _] = coarse.points;
    let many = levels.base_kind() == Kind::Pass;
    for (i, restored) in coarse.values.iter_mut().enumerate() {
        if many && i % STEP as usize == 0 {
            before = 0;
        }
        // Axis x is always interpolated, so a row has one root.
        let x = source.values[(i / my * ny + i % my) * nx];
        let (q, value, coded) = coder.quotient(x, coder.predictor.center, MOST_ROOT);
        *restored = if coded { value } else { x };
        if coded {
            codes.push(super::code::zigzag(q - before), 0);
        } else {
            codes.push(coder.exact(x), 0);
            exact.push((i, x.bits()));
        }
        before = if coded { q } else { 0 };
    }
    Ok((coarse, codes, exact))
}
