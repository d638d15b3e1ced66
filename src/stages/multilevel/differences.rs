//! Differences of rounded values along the axes, which replace an interpolation.

use super::code::{CODES, Coder, Codes, put, zigzag};
use super::encode::Source;
use super::known::room;
use super::params::{BATCH, MOST_DIFFERENCE, STEP};
use super::section::{Form, Kind, Symbols};
use super::steps::Layout;
use super::value::LevelValue;
use crate::base::error::Fault;
use crate::base::parallel::Parallel;

/// Points of a step and of a batch.
const LANES: usize = STEP as usize;
const POINTS: usize = LANES * BATCH as usize;
/// Points of a task.
const TASK: usize = 64 * POINTS;

/// The exact values of an array, with their indices.
pub(super) struct Differences {
    exact: Vec<(usize, u64)>,
}

/// The class of a batch whose differences have this sum of magnitudes.
fn class(sum: u64) -> u8 {
    if sum == 0 { 0 } else { (sum.ilog2() as i32 - 3).clamp(1, 15) as u8 }
}

/// Writes the quotients of steps and returns the exact values. An exact value has the quotient of the element before it in its step.
fn quotients<T: LevelValue>(x: &[T], first: usize, coder: &Coder<T>, q: &mut [i32]) -> Vec<(usize, u64)> {
    let mut exact = vec![];
    for (k, (x, q)) in x.chunks(LANES).zip(q.chunks_mut(LANES)).enumerate() {
        let mut last = 0;
        for (i, (x, q)) in x.iter().zip(q).enumerate() {
            let (own, _, coded) = coder.quotient(*x, coder.predictor.center, MOST_DIFFERENCE);
            if coded {
                last = own;
            } else {
                exact.push((first + k * LANES + i, x.bits()));
            }
            *q = last;
        }
    }
    exact
}

/// The difference at index `i` along the first `axes` axes.
fn difference(q: &[i32], dims: [usize; 3], axes: u8, i: usize) -> i32 {
    let has = [i % dims[0] > 0, axes > 1 && i / dims[0] % dims[1] > 0, axes > 2 && i / dims[0] / dims[1] > 0];
    let strides = [1, dims[0], dims[0] * dims[1]];
    let mut sum = 0;
    for corner in 0..8usize {
        let on = |d: usize| corner >> d & 1 == 1;
        if (0..3).all(|d| has[d] || !on(d)) {
            let back: usize = (0..3).filter(|&d| on(d)).map(|d| strides[d]).sum();
            sum += if corner.count_ones() % 2 == 0 { q[i - back] } else { -q[i - back] };
        }
    }
    sum
}

/// The symbols and the exact values of an array.
pub(super) fn code<T: LevelValue>(
    source: &Source<'_, T>,
    dims: [usize; 3],
    axes: u8,
    coder: &Coder<T>,
    threads: Parallel<'_>,
) -> Result<(Symbols, Differences), Fault> {
    let n = source.values.len();
    let mut q = room::<i32>(n)?;
    let parts: Vec<_> = source.values.chunks(TASK).zip(q.chunks_mut(TASK)).enumerate().collect();
    let exact = threads.each(parts, || (), |(), (k, (x, q))| quotients(x, k * TASK, coder, q)).concat();
    let mut codes = Codes::new(n)?;
    let parts = codes.symbols.chunks_mut(POINTS).zip(codes.large.chunks_mut(POINTS));
    let parts: Vec<_> = parts.enumerate().collect();
    threads.each(
        parts,
        || (),
        |(), (batch, (symbols, large))| {
            let (mut sum, mut most, mut own) = (0, 0, [0; POINTS]);
            let own = &mut own[..symbols.len()];
            for (k, code) in own.iter_mut().enumerate() {
                let d = difference(&q, dims, axes, batch * POINTS + k);
                sum += u64::from(d.unsigned_abs());
                *code = zigzag(d);
                most = most.max(*code);
            }
            put(own, &[class(sum); POINTS], most, symbols, large);
        },
    );
    let symbols = Symbols { layout: Layout::rows(n, 1), codes, exact: vec![], kind: Kind::Differences };
    Ok((symbols, Differences { exact }))
}

impl Differences {
    /// Appends the exact values to the words of the section.
    pub(super) fn write(&self, form: Form, words: &mut Vec<u16>) {
        let number =
            |words: &mut Vec<u16>, x: u64, n: u32| words.extend((0..n).map(|k| (x >> (16 * k)) as u16));
        let width = if form.wide { 4 } else { 2 };
        number(words, self.exact.len() as u64, width);
        self.exact.iter().for_each(|&(i, _)| number(words, i as u64, width));
        self.exact.iter().for_each(|&(_, bits)| number(words, bits, form.exact / 16));
    }

    /// Reads the exact values of an array of `n` elements from the words after the runs.
    pub(super) fn read(words: &[u16], form: Form, n: usize) -> Result<Differences, Fault> {
        let mut rest = words;
        let mut number = |n: u32| {
            let (own, behind) = rest.split_at_checked(n as usize).ok_or(Fault::Corrupt)?;
            rest = behind;
            Ok(own.iter().rev().fold(0u64, |all, &w| all << 16 | u64::from(w)))
        };
        let width = if form.wide { 4 } else { 2 };
        let count = number(width)?;
        let each = u64::from(width + form.exact / 16);
        if count.checked_mul(each) != Some(rest_len(words, width)) {
            return Err(Fault::Corrupt);
        }
        let mut exact = vec![];
        for _ in 0..count {
            exact.push((usize::try_from(number(width)?).map_err(|_| Fault::Corrupt)?, 0));
        }
        for e in &mut exact {
            e.1 = number(form.exact / 16)?;
        }
        let ordered = exact.windows(2).all(|w| w[0].0 < w[1].0) && exact.last().is_none_or(|e| e.0 < n);
        if ordered { Ok(Differences { exact }) } else { Err(Fault::Corrupt) }
    }

    /// Sums the differences of an array in place, and writes the restored values and the exact ones.
    pub(super) fn restore<T: LevelValue>(
        &self,
        d: &mut [i32],
        dims: [usize; 3],
        axes: u8,
        numbers: (T, T),
        out: &mut [T],
    ) {
        let [nx, ny, _] = dims;
        let plane = nx * ny;
        for i in 0..d.len() {
            if i % nx > 0 {
                d[i] = d[i].wrapping_add(d[i - 1]);
            }
        }
        for i in if axes > 1 { nx } else { d.len() }..d.len() {
            if i % plane >= nx {
                d[i] = d[i].wrapping_add(d[i - nx]);
            }
        }
        for i in if axes > 2 { plane } else { d.len() }..d.len() {
            d[i] = d[i].wrapping_add(d[i - plane]);
        }
        let (step, center) = numbers;
        out.iter_mut().zip(d).for_each(|(x, q)| *x = T::from_int(*q).fma(step, center));
        self.exact.iter().for_each(|&(i, bits)| out[i] = T::from_bits(bits));
    }
}

fn rest_len(words: &[u16], head: u32) -> u64 {
    words.len() as u64 - u64::from(head)
}

const _: () = assert!(8 * (MOST_DIFFERENCE - 1) < CODES / 2);
