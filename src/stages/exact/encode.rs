//! Kernel `exact_encode`.

use super::batch::{Numbers, Scale, long_bits};
use super::choose::{Choice, Form, Sample, repeats};
use super::frequent::Frequent;
use super::integers::{Elements, Integers};
use super::low;
use super::params::{ExactParams, MOST_ORDER};
use super::predict::{Lines, Orders, Shape, differences};
use super::stream::{self, HEAD};
use super::table::{self, Table};
use super::word::Word;
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;
use crate::stages::multilevel::classed::{Batches, POINTS, Plan};

/// Batches of the sample for a scale.
const SAMPLED: usize = 64;
/// Elements of a batch and those before it that its differences need.
const LENGTH: usize = POINTS + MOST_ORDER as usize;

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
    let out = out.get_mut(..HEAD + src.len()).ok_or(Fault::BadLaunch)?;
    let coded = coded::<W>(src, dims, p.kind, out, threads)?;
    if coded.is_none() {
        out[..HEAD].fill(0);
        threads.copy(src, &mut out[HEAD..]);
    }
    let bytes = coded.unwrap_or(out.len());
    call.publish(0, bytes as u64)
}

/// Writes the coded elements and returns their bytes, unless these are not fewer than those of `out`.
fn coded<W: Word>(
    src: &[u8],
    dims: [usize; 3],
    kind: u32,
    out: &mut [u8],
    threads: Parallel<'_>,
) -> Result<Option<usize>, Fault> {
    let n = src.len() / size_of::<W>();
    let sample = Sample::new(n);
    let map = sample.map(|i| at::<W>(src, i).unwrap_or(W::ZERO), (n, kind), threads);
    let o = Elements::new(src, map);
    let sorted = sample.sorted(&o);
    let mut choice = sample.choose(&o, &sorted, dims);
    let mut found = if repeats(&sorted) { table::find(&o, kind, threads)? } else { None };
    if let Some(table) = &mut found {
        match with_table(&sample, table, dims, choice.cost, threads)? {
            Some(of_ranks) => choice = of_ranks,
            None => found = None,
        }
    }
    let values = found.as_ref().map(|table| (table.values.len(), table.is_ascending));
    let head = stream::head(choice, map, values);
    let of = |dims| Section { dims, orders: choice.orders, hole: choice.hole, form: choice.form };
    match &found {
        None => of(dims).coder(&o, threads).put(vec![head], out, threads),
        Some(table) => {
            let orders = Orders { x: 1, ..Orders::default() };
            let form = Form::of_table(table.is_ascending);
            let section = Section { dims: [table.values.len(), 1, 1], orders, hole: None, form };
            let parts = section.coder(&table.values[..], threads).append(head, threads)?;
            of(dims).coder(&table.ranks[..], threads).put(parts, out, threads)
        }
    }
}

/// The choice for the ranks of a table, unless it costs `most` or more. Orders the table.
fn with_table<W: Word>(
    sample: &Sample,
    table: &mut Table<W>,
    dims: [usize; 3],
    most: u64,
    threads: Parallel<'_>,
) -> Result<Option<Choice<W>>, Fault> {
    let sorted = sample.sorted(&table.ranks[..]);
    let ascending = sample.choose(&table.ranks[..], &sorted, dims);
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

/// How an array of integers is coded.
#[derive(Clone, Copy)]
struct Section<W> {
    dims: [usize; 3],
    orders: Orders,
    hole: Option<W>,
    form: Form<W>,
}

impl<W: Word> Section<W> {
    fn coder<'a, I: Integers<W> + ?Sized>(self, o: &'a I, threads: Parallel<'_>) -> Coder<'a, W, I> {
        let fills = match self.hole {
            Some(hole) if self.orders.x > 0 => fills(o, hole, threads),
            _ => vec![],
        };
        let mut coder = Coder { o, of: self, fills: vec![], scale: Scale::new(vec![]) };
        coder.scale = coder.sample();
        Coder { fills, ..coder }
    }
}

/// The batches of an array.
struct Coder<'a, W, I: ?Sized> {
    o: &'a I,
    of: Section<W>,
    scale: Scale,
    /// For differences of elements that are no holes the last of them before each batch; otherwise empty.
    fills: Vec<W>,
}

/// A batch.
struct Room<W> {
    lines: Lines<W, LENGTH>,
    u: [W; POINTS],
    holes: [bool; POINTS],
    points: usize,
    /// Low bits of a number.
    shift: u32,
}

impl<W: Word, I: Integers<W> + ?Sized> Coder<'_, W, I> {
    /// Computes the numbers of a batch.
    #[inline(always)]
    fn numbers<'r>(&self, batch: usize, room: &'r mut Room<W>) -> Numbers<'r, W> {
        let first = batch * POINTS;
        let n = POINTS.min(self.o.len() - first);
        room.points = n;
        let (u, holes) = (&mut room.u[..n], &mut room.holes[..n]);
        let Section { dims, orders, hole, form } = self.of;
        let Some(hole) = hole else {
            let d = differences(self.o, Shape::new(dims), orders, (first, n), &mut room.lines);
            for (u, &d) in u.iter_mut().zip(d) {
                *u = form.number(d);
            }
            return Numbers { u, holes: None };
        };
        let mut fill = self.fills.get(batch).copied().unwrap_or(W::ZERO);
        self.o.load(first, u);
        for (u, is_hole) in u.iter_mut().zip(&mut *holes) {
            let x = *u;
            *is_hole = x == hole;
            if !*is_hole {
                *u = form.number(if orders.x > 0 { x.sub(fill) } else { x });
                fill = x;
            }
        }
        Numbers { u, holes: Some(holes) }
    }

    /// The scale, from a sample of batches.
    fn sample(&self) -> Scale {
        let batches = self.o.len().div_ceil(POINTS);
        let stride = (batches / SAMPLED).max(1) | 1;
        let mut room = self.room();
        let sample = (0..batches).step_by(stride).take(SAMPLED);
        Scale::new(sample.filter_map(|batch| self.numbers(batch, &mut room).length()).collect())
    }

    fn plan(&self, threads: Parallel<'_>) -> Result<Plan<'_, Self>, Fault> {
        let n = self.o.len();
        Plan::new(self, n, long_bits(W::BITS), (n * size_of::<W>()) as u64, threads)
    }

    /// The parts of a stream with this section at its end.
    fn append(&self, head: Vec<u16>, threads: Parallel<'_>) -> Result<Vec<Vec<u16>>, Fault> {
        let plan = self.plan(threads)?;
        let mut low = vec![0u16; plan.low_words()];
        let codes = plan.write(bytemuck::cast_slice_mut(&mut low), threads);
        let mut parts = vec![head, stream::section_head(self.scale, &codes, low.len())];
        parts.extend(codes);
        parts.push(low);
        Ok(parts)
    }

    /// Writes a stream with this section at its end, unless it is not shorter than `out`. Returns its bytes.
    fn put(
        &self,
        mut parts: Vec<Vec<u16>>,
        out: &mut [u8],
        threads: Parallel<'_>,
    ) -> Result<Option<usize>, Fault> {
        let plan = self.plan(threads)?;
        let low = 2 * plan.low_words();
        // The end of `out` has room for the low bits before it is known where they begin.
        let Some(place) = out.len().checked_sub(low) else { return Ok(None) };
        let codes = plan.write(&mut out[place..], threads);
        parts.push(stream::section_head(self.scale, &codes, low / 2));
        parts.extend(codes);
        let before = 2 * parts.iter().map(Vec::len).sum::<usize>();
        if before >= place {
            return Ok(None);
        }
        let mut rest = &mut out[..before];
        for part in &parts {
            let (own, behind) = rest.split_at_mut(2 * part.len());
            own.copy_from_slice(bytemuck::cast_slice(part));
            rest = behind;
        }
        out.copy_within(place.., before);
        Ok(Some(before + low))
    }
}

impl<W: Word, I: Integers<W> + ?Sized> Batches for Coder<'_, W, I> {
    type Room = Room<W>;

    fn room(&self) -> Room<W> {
        Room { lines: Lines::new(), u: [W::ZERO; POINTS], holes: [false; POINTS], points: 0, shift: 0 }
    }

    #[inline(always)]
    fn code(&self, room: &mut Room<W>, batch: usize, codes: &mut [u32]) -> u8 {
        let (class, shift) = self.numbers(batch, room).code(self.scale, codes);
        room.shift = shift;
        class
    }

    fn long(&self, room: &Room<W>, i: usize) -> u64 {
        let one = u64::from(self.of.hole.is_some());
        W::cut(room.u[i].shift_right(room.shift).wide().wrapping_add(one)).wide()
    }

    #[inline(always)]
    fn low_words(&self, room: &Room<W>) -> usize {
        let holes = match self.of.hole {
            Some(_) => room.holes[..room.points].iter().filter(|is_hole| **is_hole).count(),
            None => 0,
        };
        low::words(room.points - holes, room.shift)
    }

    #[inline(always)]
    fn put_low(&self, room: &Room<W>, out: &mut [u8]) {
        let u = &room.u[..room.points];
        if room.shift == 0 {
            return;
        }
        if self.of.hole.is_none() {
            return low::put(u, room.shift, out);
        }
        let (mut others, mut n) = ([W::ZERO; POINTS], 0);
        for (&u, _) in u.iter().zip(&room.holes).filter(|(_, is_hole)| !**is_hole) {
            others[n] = u;
            n += 1;
        }
        low::put(&others[..n], room.shift, out);
    }
}

/// The last element before each batch that is no hole.
fn fills<W: Word>(o: &(impl Integers<W> + ?Sized), hole: W, threads: Parallel<'_>) -> Vec<W> {
    let last = |batch: usize| {
        let mut own = [W::ZERO; POINTS];
        let own = &mut own[..POINTS.min(o.len() - batch * POINTS)];
        o.load(batch * POINTS, own);
        own.iter().rev().find(|&&x| x != hole).copied()
    };
    let mut before = W::ZERO;
    let mut all = vec![];
    for last in threads.map(o.len().div_ceil(POINTS), last) {
        all.push(before);
        before = last.unwrap_or(before);
    }
    all
}
