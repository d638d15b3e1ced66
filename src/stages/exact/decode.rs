//! Kernel `exact_decode`.

use super::batch::{Scale, long_bits, low_words, restore};
use super::choose::Form;
use super::low::take;
use super::params::ExactParams;
use super::predict::{Orders, Shape, sum};
use super::stream::{HEAD, Opened, Section};
use super::word::{Map, Word};
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;
use crate::stages::multilevel::classed::{OpenedClasses, POINTS, room};
use std::borrow::Cow;

/// Batches of a task.
const TASK: usize = 64;

pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<ExactParams>();
    match p.width {
        1 => run::<u8>(call, &p),
        2 => run::<u16>(call, &p),
        4 => run::<u32>(call, &p),
        8 => run::<u64>(call, &p),
        _ => Err(Fault::BadLaunch),
    }
}

fn run<W: Word>(call: &mut HostCall<'_>, p: &ExactParams) -> Result<(), Fault> {
    let dims = p.dims.map(|d| d as usize);
    let n: usize = dims.iter().product();
    let (stream, out, threads) = (call.input(0)?, call.output(0)?, call.threads);
    let body = out.get_mut(..n * size_of::<W>()).ok_or(Fault::Corrupt)?;
    if n == 0 {
        return if stream.is_empty() { Ok(()) } else { Err(Fault::Corrupt) };
    }
    if at::<u16>(stream, 0).ok_or(Fault::Corrupt)? == 0 {
        let values = &stream[HEAD..];
        if values.len() != body.len() {
            return Err(Fault::Corrupt);
        }
        threads.copy(values, body);
        return Ok(());
    }
    let words = words_of(stream)?;
    let opened = Opened::<W>::new(&words, dims, p.kind)?;
    let mut table = vec![];
    if let Some((values, form, section)) = opened.table {
        table = room::<W>(values)?;
        let orders = Orders { x: 1, ..Orders::default() };
        array(section, [values, 1, 1], orders, (None, form), &mut table, threads)?;
    }
    // In place where the memory is aligned.
    let mut copy = vec![];
    let aligned = bytemuck::try_cast_slice_mut::<u8, W>(body).is_ok();
    if !aligned {
        copy = room::<W>(n)?;
    }
    let o = if aligned { bytemuck::cast_slice_mut(body) } else { &mut copy[..] };
    array(opened.array, dims, opened.orders, (opened.hole, opened.form), o, threads)?;
    elements(o, opened.table.is_some().then_some(&table[..]), opened.map, threads)?;
    if !aligned {
        body.copy_from_slice(bytemuck::cast_slice(&copy));
    }
    Ok(())
}

/// The words of a stream, which may be misaligned.
fn words_of(bytes: &[u8]) -> Result<Cow<'_, [u16]>, Fault> {
    if bytes.len() % 2 != 0 {
        return Err(Fault::Corrupt);
    }
    if let Ok(words) = bytemuck::try_cast_slice(bytes) {
        return Ok(Cow::Borrowed(words));
    }
    let mut words = room::<u16>(bytes.len() / 2)?;
    bytemuck::cast_slice_mut::<u16, u8>(&mut words).copy_from_slice(bytes);
    Ok(Cow::Owned(words))
}

/// The integers of a section, with holes if these have an integer.
fn array<W: Word>(
    section: Section<'_>,
    dims: [usize; 3],
    orders: Orders,
    (hole, form): (Option<W>, Form<W>),
    o: &mut [W],
    threads: Parallel<'_>,
) -> Result<(), Fault> {
    let opened = OpenedClasses::read(section.codes, o.len(), long_bits(W::BITS), threads)?;
    let mut low = vec![];
    let bytes = (opened.batches() * size_of::<&[u16]>()) as u64;
    low.try_reserve(opened.batches()).map_err(|_| Fault::OutOfMemory(bytes))?;
    let mut rest = section.low;
    for batch in 0..opened.batches() {
        let points = POINTS.min(o.len() - batch * POINTS);
        let of = opened.batch(batch);
        low.push(take(&mut rest, low_words(&of, points, section.scale, W::BITS, hole.is_some()))?);
    }
    if !rest.is_empty() {
        return Err(Fault::Corrupt);
    }
    if let Some(hole) = hole {
        with_holes(&opened, section.scale, &low, (hole, orders.x > 0, form), o);
        return Ok(());
    }
    let parts: Vec<_> = o.chunks_mut(TASK * POINTS).enumerate().collect();
    threads.each(
        parts,
        || (),
        |(), (task, part)| {
            for (batch, part) in (task * TASK..).zip(part.chunks_mut(POINTS)) {
                restore(&opened.batch(batch), section.scale, low[batch], part, None);
                part.iter_mut().for_each(|u| *u = form.difference(*u));
            }
        },
    );
    sum(o, Shape::new(dims), orders);
    Ok(())
}

/// The same with holes, whose neighbors are the last elements that are none.
fn with_holes<W: Word>(
    opened: &OpenedClasses,
    scale: Scale,
    low: &[&[u16]],
    (hole, differs, form): (W, bool, Form<W>),
    o: &mut [W],
) {
    let (mut holes, mut fill) = ([false; POINTS], W::ZERO);
    for (batch, (part, low)) in o.chunks_mut(POINTS).zip(low).enumerate() {
        restore(&opened.batch(batch), scale, low, part, Some(&mut holes[..part.len()]));
        for (x, &is_hole) in part.iter_mut().zip(&holes) {
            if is_hole {
                *x = hole;
            } else {
                let d = form.difference(*x);
                *x = if differs { fill.add(d) } else { d };
                fill = *x;
            }
        }
    }
}

/// Elements in place of integers, or of ranks.
fn elements<W: Word>(
    o: &mut [W],
    table: Option<&[W]>,
    map: Map<W>,
    threads: Parallel<'_>,
) -> Result<(), Fault> {
    let parts: Vec<_> = o.chunks_mut(TASK * POINTS).collect();
    let done = threads.each(
        parts,
        || (),
        |(), part| {
            if let Some(table) = table {
                for x in part.iter_mut() {
                    let rank = usize::try_from(x.wide()).map_err(|_| Fault::Corrupt)?;
                    *x = *table.get(rank).ok_or(Fault::Corrupt)?;
                }
            }
            part.iter_mut().for_each(|x| *x = map.element(*x));
            Ok(())
        },
    );
    done.into_iter().collect()
}
