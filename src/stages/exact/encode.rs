//! Kernel `exact_encode`.

use super::batch::{Numbers, Scale, long_bits};
use super::choose::{Choice, Form, Sample, repeats};
use super::frequent::Frequent;
use super::params::{ExactParams, MOST_ORDER};
use super::predict::{Orders, Shape, differences};
use super::stream::{self, Coded, HEAD};
use super::table::{self, Table};
use super::word::{Divisor, Map, Word};
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;
use crate::stages::multilevel::classed::{Classed, POINTS, room};

/// Batches of the sample for a scale.
const SAMPLED: usize = 64;
/// Elements of a task.
const TASK: usize = 64 * POINTS;

pub(super) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
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
    let (src, out, threads) = (call.input(0)?, call.output(0)?, call.threads);
    let src = src.get(..n * size_of::<W>()).ok_or(Fault::BadLaunch)?;
    if n == 0 {
        return call.publish(0, 0);
    }
    let parts = parts::<W>(src, dims, p.kind, threads)?;
    let coded = 2 * parts.iter().map(Vec::len).sum::<usize>();
    let bytes = coded.min(HEAD + src.len());
    let mut out = out.get_mut(..bytes).ok_or(Fault::BadLaunch)?;
    if coded < HEAD + src.len() {
        for part in &parts {
            let (own, rest) = out.split_at_mut(2 * part.len());
            own.copy_from_slice(bytemuck::cast_slice(part));
            out = rest;
        }
    } else {
        out[..HEAD].fill(0);
        threads.copy(src, &mut out[HEAD..]);
    }
    call.publish(0, bytes as u64)
}

/// The words of the stream, in parts.
fn parts<W: Word>(
    src: &[u8],
    dims: [usize; 3],
    kind: u32,
    threads: Parallel<'_>,
) -> Result<Vec<Vec<u16>>, Fault> {
    let sample = Sample::new(src.len() / size_of::<W>());
    let n = src.len() / size_of::<W>();
    let map = sample.map(|i| at::<W>(src, i).unwrap_or(W::ZERO), (n, kind), threads);
    let o = integers::<W>(src, map, threads)?;
    let sorted = sample.sorted(&o);
    let mut choice = sample.choose(&o, &sorted, dims);
    let mut found = if repeats(&sorted) { table::find(&o, kind)? } else { None };
    if let Some(table) = &mut found {
        match with_table(&sample, table, dims, choice.cost, threads)? {
            Some(of_ranks) => choice = of_ranks,
            None => found = None,
        }
    }
    let values = found.as_ref().map(|table| (table.values.len(), table.is_ascending));
    let mut parts = vec![stream::head(choice, map, values)];
    if let Some(table) = &found {
        let orders = Orders { x: 1, ..Orders::default() };
        let dims = [table.values.len(), 1, 1];
        let form = Form::of_table(table.is_ascending);
        let of = Section { o: &table.values, dims, orders, hole: None, form };
        of.code(threads)?.append(&mut parts);
    }
    let o = found.as_ref().map_or(&o, |table| &table.ranks);
    let of = Section { o, dims, orders: choice.orders, hole: choice.hole, form: choice.form };
    of.code(threads)?.append(&mut parts);
    Ok(parts)
}

/// The choice for the ranks of a table, unless it costs `most` or more. Orders the table.
fn with_table<W: Word>(
    sample: &Sample,
    table: &mut Table<W>,
    dims: [usize; 3],
    most: u64,
    threads: Parallel<'_>,
) -> Result<Option<Choice<W>>, Fault> {
    let sorted = sample.sorted(&table.ranks);
    let ascending = sample.choose(&table.ranks, &sorted, dims);
    let order = Frequent::new(&sorted);
    let mut frequent = sample.choose_frequent(&table.ranks, &order);
    frequent.cost += table.cost_of(&order);
    // Both costs are those of a sample, and an order that saves little is not better for all elements.
    let pays = frequent.cost < ascending.cost - ascending.cost / 32;
    let choice = if pays { frequent } else { ascending };
    if choice.cost.saturating_add(table.cost()) >= most {
        return Ok(None);
    }
    if pays {
        table.reorder(&order, threads)?;
    }
    Ok(Some(choice))
}

/// The elements as integers.
fn integers<W: Word>(src: &[u8], map: Map<W>, threads: Parallel<'_>) -> Result<Vec<W>, Fault> {
    let mut o = room::<W>(src.len() / size_of::<W>())?;
    let parts: Vec<_> = o.chunks_mut(TASK).zip(src.chunks(TASK * size_of::<W>())).collect();
    let factor = Divisor::new(map.factor.wide());
    threads.each(
        parts,
        || (),
        |(), (o, src)| {
            bytemuck::cast_slice_mut(o).copy_from_slice(src);
            o.iter_mut().for_each(|o| *o = map.integer(*o, factor));
        },
    );
    Ok(o)
}

/// An array of integers and how it is coded.
struct Section<'a, W> {
    o: &'a [W],
    dims: [usize; 3],
    orders: Orders,
    hole: Option<W>,
    form: Form<W>,
}

/// The numbers of a batch.
struct Room<W> {
    buffer: [W; POINTS + MOST_ORDER as usize],
    u: [W; POINTS],
    holes: [bool; POINTS],
}

impl<W: Word> Section<'_, W> {
    fn room(&self) -> Room<W> {
        let buffer = [W::ZERO; POINTS + MOST_ORDER as usize];
        Room { buffer, u: [W::ZERO; POINTS], holes: [false; POINTS] }
    }

    /// The numbers of the batch at `first`; `fill` is the last element before it that is no hole.
    fn numbers<'r>(&self, first: usize, fill: &mut W, room: &'r mut Room<W>) -> Numbers<'r, W> {
        let n = POINTS.min(self.o.len() - first);
        let (u, holes) = (&mut room.u[..n], &mut room.holes[..n]);
        let Some(hole) = self.hole else {
            let buffer = &mut room.buffer[..n + usize::from(self.orders.x)];
            let d = differences(self.o, Shape::new(self.dims), self.orders, first, buffer);
            u.iter_mut().zip(d).for_each(|(u, &d)| *u = self.form.number(d));
            return Numbers { u, holes: None };
        };
        for ((&x, u), is_hole) in self.o[first..first + n].iter().zip(&mut *u).zip(&mut *holes) {
            *is_hole = x == hole;
            if !*is_hole {
                *u = self.form.number(if self.orders.x > 0 { x.sub(*fill) } else { x });
                *fill = x;
            }
        }
        Numbers { u, holes: Some(holes) }
    }

    /// The scale, from a sample of batches.
    fn scale(&self) -> Scale {
        let batches = self.o.len().div_ceil(POINTS);
        let stride = (batches / SAMPLED).max(1) | 1;
        let mut room = self.room();
        let lengths = (0..batches).step_by(stride).take(SAMPLED).filter_map(|batch| {
            let mut fill = W::ZERO;
            self.numbers(batch * POINTS, &mut fill, &mut room).length()
        });
        Scale::new(lengths.collect())
    }

    fn code(&self, threads: Parallel<'_>) -> Result<Coded, Fault> {
        let scale = self.scale();
        let n = self.o.len();
        let mut classed = Classed::new(n)?;
        let fills = self.hole.map(|hole| fills(self.o, hole, threads));
        let parts: Vec<_> = classed.parts(TASK).into_iter().enumerate().collect();
        let done = threads.each(
            parts,
            || self.room(),
            |room, (task, mut part)| {
                let (mut low, mut long, mut codes) = (vec![], vec![], [0; POINTS]);
                let mut fill = fills.as_ref().map_or(W::ZERO, |fills| fills[task]);
                for (i, first) in (task * TASK..n.min((task + 1) * TASK)).step_by(POINTS).enumerate() {
                    let codes = &mut codes[..POINTS.min(n - first)];
                    let numbers = self.numbers(first, &mut fill, room);
                    let put_long = |at, value| long.push((first + at, value));
                    let class = numbers.code(scale, codes, &mut low, put_long);
                    part.put(i, codes, class);
                }
                (low, long)
            },
        );
        let (low, long): (Vec<_>, Vec<_>) = done.into_iter().unzip();
        let codes = classed.write(long.concat(), long_bits(W::BITS), size_of_val(self.o) as u64, threads)?;
        Ok(Coded { scale, codes, low })
    }
}

/// The last element before each task that is no hole.
fn fills<W: Word>(o: &[W], hole: W, threads: Parallel<'_>) -> Vec<W> {
    let tasks = o.len().div_ceil(TASK);
    let last =
        |k: usize| o[k * TASK..o.len().min((k + 1) * TASK)].iter().rev().find(|&&x| x != hole).copied();
    let mut before = W::ZERO;
    let mut all = vec![];
    for last in threads.map(tasks, last) {
        all.push(before);
        before = last.unwrap_or(before);
    }
    all
}
