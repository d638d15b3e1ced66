//! The stream: a first word with numbers, then the sections of the table and of the array.

use super::batch::Scale;
use super::choose::Choice;
use super::low::{take, take_number};
use super::params::TABLE;
use super::predict::Orders;
use super::word::Word;
use crate::base::error::Fault;

/// Fields of the first word. A word of 0 is followed by the values.
const X: u16 = 3;
const Y: u16 = 1 << 2;
const Z: u16 = 1 << 3;
const HOLE: u16 = 1 << 4;
const TABLED: u16 = 1 << 5;
const GAP: u16 = 1 << 6;
const CODED: u16 = 1 << 15;
/// Bytes before the values.
pub(super) const HEAD: usize = 2;
/// Words of a length, and of the number of values of a table.
const LENGTH: usize = 4;
const COUNT: usize = 2;

fn put(words: &mut Vec<u16>, number: u64, count: usize) {
    words.extend((0..count).map(|k| (number >> (16 * k)) as u16));
}

/// Words of a value of `bits`.
fn value_words(bits: u32) -> usize {
    bits.div_ceil(16) as usize
}

pub(super) fn head<W: Word>(choice: Choice<W>, gap: W, table: Option<usize>) -> Vec<u16> {
    let flag = |set: bool, bit: u16| if set { bit } else { 0 };
    let Orders { x, y, z } = choice.orders;
    let flags = flag(gap != W::ZERO, GAP) | flag(choice.hole.is_some(), HOLE) | flag(table.is_some(), TABLED);
    let mut words = vec![CODED | u16::from(x) | flag(y, Y) | flag(z, Z) | flags];
    if let Some(values) = table {
        put(&mut words, values as u64, COUNT);
    }
    if gap != W::ZERO {
        put(&mut words, gap.wide(), value_words(W::BITS));
    }
    if let Some(hole) = choice.hole {
        put(&mut words, hole.wide(), value_words(W::BITS));
    }
    words
}

/// The words of a section: its scale, those of codes, and those of low bits by tasks.
pub(super) struct Coded {
    pub(super) scale: Scale,
    pub(super) codes: Vec<u16>,
    pub(super) low: Vec<Vec<u16>>,
}

impl Coded {
    /// Appends the section to the parts of a stream.
    pub(super) fn append(self, parts: &mut Vec<Vec<u16>>) {
        let mut head = vec![self.scale.word()];
        put(&mut head, self.codes.len() as u64, LENGTH);
        put(&mut head, self.low.iter().map(Vec::len).sum::<usize>() as u64, LENGTH);
        parts.extend([head, self.codes]);
        parts.extend(self.low);
    }
}

/// The scale, and the words of codes and of low bits.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    pub(super) scale: Scale,
    pub(super) codes: &'a [u16],
    pub(super) low: &'a [u16],
}

/// A stream that has been opened.
pub(super) struct Opened<'a, W> {
    pub(super) orders: Orders,
    pub(super) hole: Option<W>,
    pub(super) gap: W,
    /// The number of values, and their section.
    pub(super) table: Option<(usize, Section<'a>)>,
    pub(super) array: Section<'a>,
}

impl<'a, W: Word> Opened<'a, W> {
    /// Opens a stream without values bit for bit.
    pub(super) fn new(words: &'a [u16], dims: [usize; 3]) -> Result<Opened<'a, W>, Fault> {
        let mut rest = words;
        let &[head] = take(&mut rest, 1)? else { return Err(Fault::Corrupt) };
        let orders = Orders { x: (head & X) as u8, y: head & Y != 0, z: head & Z != 0 };
        let (has_hole, has_table) = (head & HOLE != 0, head & TABLED != 0);
        let known = CODED | X | Y | Z | HOLE | TABLED | GAP;
        let no_such_axis = orders.y && dims[1] == 1 || orders.z && dims[2] == 1;
        if head & CODED == 0
            || head & !known != 0
            || no_such_axis
            || has_hole && (orders.x > 1 || orders.y || orders.z)
        {
            return Err(Fault::Corrupt);
        }
        let values = if has_table { take_number(&mut rest, COUNT)? } else { 0 };
        if has_table && !(1..=u64::from(TABLE)).contains(&values) {
            return Err(Fault::Corrupt);
        }
        let mut value = |is_there: bool| {
            let wide = if is_there { take_number(&mut rest, value_words(W::BITS))? } else { 0 };
            if W::cut(wide).wide() == wide { Ok(W::cut(wide)) } else { Err(Fault::Corrupt) }
        };
        let gap = value(head & GAP != 0)?;
        let hole = has_hole.then(|| value(true)).transpose()?;
        if gap.is_negative() {
            return Err(Fault::Corrupt);
        }
        let mut section = || {
            let length = |rest: &mut &'a [u16]| {
                usize::try_from(take_number(rest, LENGTH)?).map_err(|_| Fault::Corrupt)
            };
            let scale = Scale::read(take_number(&mut rest, 1)? as u16, W::BITS)?;
            let (codes, low) = (length(&mut rest)?, length(&mut rest)?);
            Ok(Section { scale, codes: take(&mut rest, codes)?, low: take(&mut rest, low)? })
        };
        let table = if has_table { Some((values as usize, section()?)) } else { None };
        let array = section()?;
        if !rest.is_empty() {
            return Err(Fault::Corrupt);
        }
        Ok(Opened { orders, hole, gap, table, array })
    }
}
