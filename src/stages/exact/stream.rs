//! The stream: a first word with numbers, then the sections of the table and of the array.

use super::batch::Scale;
use super::choose::{Choice, Form};
use super::low::{take, take_number};
use super::params::{FLOAT, HEAD_BYTES, TABLE};
use super::predict::Orders;
use super::word::{Map, Word};
use crate::base::error::Fault;

/// Fields of the first word. A word of 0 is followed by the values.
const X: u16 = 3;
const Y: u16 = 1 << 2;
const Z: u16 = 1 << 3;
const HOLE: u16 = 1 << 4;
const TABLED: u16 = 1 << 5;
const GAP: u16 = 1 << 6;
const CENTER: u16 = 1 << 7;
const PLAIN: u16 = 1 << 8;
const FACTOR: u16 = 1 << 9;
/// The values of the table are not in ascending order.
const ORDERED: u16 = 1 << 10;
const KNOWN: u16 = CODED | X | Y | Z | HOLE | TABLED | GAP | CENTER | PLAIN | FACTOR | ORDERED;
const CODED: u16 = 1 << 15;
/// Bytes before the values.
pub(super) const HEAD: usize = HEAD_BYTES as usize;
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

/// The first words. `table`: its number of values, and if they are in ascending order.
pub(super) fn head<W: Word>(choice: Choice<W>, map: Map<W>, table: Option<(usize, bool)>) -> Vec<u16> {
    let Choice { orders: Orders { x, y, z }, hole, form, .. } = choice;
    let numbers = [
        (GAP, Some(map.gap).filter(|gap| *gap != W::ZERO)),
        (FACTOR, Some(map.factor).filter(|factor| *factor != W::ONE)),
        (HOLE, hole),
        (CENTER, Some(form.center).filter(|center| *center != W::ZERO)),
    ];
    let is_ordered = table.is_some_and(|(_, is_ascending)| !is_ascending);
    let flags = [(Y, y), (Z, z), (TABLED, table.is_some()), (PLAIN, form.plain), (ORDERED, is_ordered)];
    let flags = flags.into_iter().chain(numbers.map(|(flag, number)| (flag, number.is_some())));
    let set = flags.filter(|(_, is_set)| *is_set).fold(CODED | u16::from(x), |all, (flag, _)| all | flag);
    let mut words = vec![set];
    if let Some((values, _)) = table {
        put(&mut words, values as u64, COUNT);
    }
    for number in numbers.into_iter().filter_map(|(_, number)| number) {
        put(&mut words, number.wide(), value_words(W::BITS));
    }
    words
}

/// The words of a section before its codes: its scale, and the numbers of words of codes and of low bits.
pub(super) fn section_head(scale: Scale, codes: &[Vec<u16>], low: usize) -> Vec<u16> {
    let mut head = vec![scale.word()];
    put(&mut head, codes.iter().map(Vec::len).sum::<usize>() as u64, LENGTH);
    put(&mut head, low as u64, LENGTH);
    head
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
    pub(super) form: Form<W>,
    pub(super) map: Map<W>,
    /// The number of values, the form of their differences, and their section.
    pub(super) table: Option<(usize, Form<W>, Section<'a>)>,
    pub(super) array: Section<'a>,
}

/// A value in front, or another one if it is not there.
fn value<W: Word>(rest: &mut &[u16], is_there: bool, other: W) -> Result<W, Fault> {
    let wide = if is_there { take_number(rest, value_words(W::BITS))? } else { other.wide() };
    if W::cut(wide).wide() == wide { Ok(W::cut(wide)) } else { Err(Fault::Corrupt) }
}

fn section<'a>(rest: &mut &'a [u16], bits: u32) -> Result<Section<'a>, Fault> {
    let length =
        |rest: &mut &'a [u16]| usize::try_from(take_number(rest, LENGTH)?).map_err(|_| Fault::Corrupt);
    let scale = Scale::read(take_number(rest, 1)? as u16, bits)?;
    let (codes, low) = (length(rest)?, length(rest)?);
    Ok(Section { scale, codes: take(rest, codes)?, low: take(rest, low)? })
}

impl<'a, W: Word> Opened<'a, W> {
    /// Opens a stream without values bit for bit, of elements of a kind.
    pub(super) fn new(words: &'a [u16], dims: [usize; 3], kind: u32) -> Result<Opened<'a, W>, Fault> {
        let mut rest = words;
        let head = take_number(&mut rest, 1)? as u16;
        let has = |flag: u16| head & flag != 0;
        let orders = Orders { x: (head & X) as u8, y: has(Y), z: has(Z) };
        let no_such_axis = orders.y && dims[1] == 1 || orders.z && dims[2] == 1;
        if !has(CODED)
            || head & !KNOWN != 0
            || no_such_axis
            || has(ORDERED) && !has(TABLED)
            || has(HOLE) && (orders.x > 1 || orders.y || orders.z)
        {
            return Err(Fault::Corrupt);
        }
        let values = if has(TABLED) { take_number(&mut rest, COUNT)? } else { 1 };
        let most = u64::from(TABLE).min(dims.iter().product::<usize>() as u64);
        if !(1..=most).contains(&values) {
            return Err(Fault::Corrupt);
        }
        let gap = value(&mut rest, has(GAP), W::ZERO)?;
        let factor = value(&mut rest, has(FACTOR), W::ONE)?;
        if kind == FLOAT && gap != gap & W::LOW || has(FACTOR) && factor.wide() < 2 {
            return Err(Fault::Corrupt);
        }
        let hole = has(HOLE).then(|| value(&mut rest, true, W::ZERO)).transpose()?;
        let center = value(&mut rest, has(CENTER), W::ZERO)?;
        let table = if has(TABLED) {
            Some((values as usize, Form::of_table(!has(ORDERED)), section(&mut rest, W::BITS)?))
        } else {
            None
        };
        let array = section(&mut rest, W::BITS)?;
        if !rest.is_empty() {
            return Err(Fault::Corrupt);
        }
        let (form, map) = (Form { center, plain: has(PLAIN) }, Map { kind, gap, factor });
        Ok(Opened { orders, hole, form, map, table, array })
    }
}
