//! Running sums of differences.

use super::params::{DifferenceParams, NEGABINARY, ZIGZAG};
use super::{one_nan_f32, one_nan_f64, runs};
use crate::base::dtype::by_width;
use crate::base::error::Fault;
use crate::base::tile::{TILE, loaded, store};
use crate::ir::kernel::HostCall;
use crate::stages::wide::{LANES, Work, widest};
use crate::stages::words::{Word, copy_tail};
use bytemuck::Pod;
use std::ops::Range;

/// Kernel `difference_decode`.
pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<DifferenceParams>();
    let chunk = p.chunk as usize;
    match (p.width, p.floats, p.code) {
        // -0.0 is the neutral element of float addition: the first value of a chunk keeps its sign.
        (4, 1, _) => {
            sums::<f32>(call, chunk, -0.0, |d, sum, out| one_by_one(d, sum, out, |a, b| one_nan_f32(a + b)))
        }
        (8, 1, _) => {
            sums::<f64>(call, chunk, -0.0, |d, sum, out| one_by_one(d, sum, out, |a, b| one_nan_f64(a + b)))
        }
        (w, _, NEGABINARY) => {
            by_width!(w, T => of_words::<T>(call, chunk, Word::unnegabinary), else Err(Fault::BadLaunch))
        }
        (w, _, ZIGZAG) => {
            by_width!(w, T => of_words::<T>(call, chunk, Word::unzigzag), else Err(Fault::BadLaunch))
        }
        (w, ..) => by_width!(w, T => of_words::<T>(call, chunk, |d| d), else Err(Fault::BadLaunch)),
    }
}

/// Sums in the order of the elements: those of floats round. Returns the last one.
fn one_by_one<T: Pod>(d: &[T], mut sum: T, out: &mut [T], add: impl Fn(T, T) -> T) -> T {
    for (o, &d) in out.iter_mut().zip(d) {
        sum = add(sum, d);
        *o = sum;
    }
    sum
}

fn of_words<T: Word>(
    call: &mut HostCall<'_>,
    chunk: usize,
    decode: impl Fn(T) -> T + Sync,
) -> Result<(), Fault> {
    sums::<T>(call, chunk, T::zeroed(), |d, sum, out| widest(WordSums { d, sum, out, decode: &decode }))
}

/// The sums of a run of coded differences, and the last one.
struct WordSums<'a, T, F> {
    d: &'a [T],
    sum: T,
    out: &'a mut [T],
    decode: &'a F,
}

impl<T: Word, F: Fn(T) -> T> Work for WordSums<'_, T, F> {
    type Result = T;

    #[inline(always)]
    fn run(self) -> T {
        let WordSums { d, mut sum, out, decode } = self;
        let (mut all, mut others) = (out.chunks_exact_mut(LANES), d.chunks_exact(LANES));
        for (out, d) in (&mut all).zip(&mut others) {
            let mut v = [T::zeroed(); LANES];
            for (v, &d) in v.iter_mut().zip(d) {
                *v = decode(d);
            }
            for distance in [1, 2, 4] {
                let old = v;
                for i in distance..LANES {
                    v[i] = old[i].add(old[i - distance]);
                }
            }
            let total = v[LANES - 1];
            for v in &mut v {
                *v = v.add(sum);
            }
            sum = sum.add(total);
            out.copy_from_slice(&v);
        }
        one_by_one(others.remainder(), sum, all.into_remainder(), |sum, d| sum.add(decode(d)))
    }
}

/// A running sum, which only a chunk start interrupts. `sum_up(d, sum, out)` continues it.
fn sums<T: Pod + Send + Sync>(
    call: &mut HostCall<'_>,
    chunk: usize,
    zero: T,
    sum_up: impl Fn(&[T], T, &mut [T]) -> T + Sync,
) -> Result<(), Fault> {
    let (src, dst) = call.byte_for_byte()?;
    let width = size_of::<T>();
    // Whole chunks are independent; without chunks there is one task. Small chunks share a task.
    let task = match chunk {
        0 => dst.len().next_multiple_of(TILE).max(TILE),
        c => c * width * (TILE / (c * width)).max(1),
    };
    call.threads.tiles(dst, task, |k, out| {
        let mut sum = zero;
        for (j, out) in out.chunks_mut(TILE).enumerate() {
            let from = k * task + j * TILE;
            let bytes = src.get(from..from + out.len()).ok_or(Fault::BadLaunch)?;
            let mut run = |d: &[T], out: &mut [T], r: Range<usize>, fresh: bool| {
                sum = if fresh { zero } else { sum }; // seed: chunk-reset
                sum = sum_up(&d[r.clone()], sum, &mut out[r]);
            };
            loaded::<T, _>(bytes, |d| {
                store::<T>(out, |out| runs(from / width, d.len(), chunk, |r, fresh| run(d, out, r, fresh)));
            });
            copy_tail(bytes, out, width);
        }
        Ok(())
    })
}
