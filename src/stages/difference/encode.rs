//! Differences of neighbors.

use super::params::{DifferenceParams, NEGABINARY, ZIGZAG};
use super::{one_nan_f32, one_nan_f64, runs};
use crate::base::dtype::by_width;
use crate::base::error::Fault;
use crate::base::tile::{TILE, at, loaded, store};
use crate::ir::kernel::HostCall;
use crate::stages::wide::{Work, widest};
use crate::stages::words::{Word, copy_tail};
use bytemuck::Pod;
use std::ops::Range;

/// Kernel `difference_encode`.
pub(super) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<DifferenceParams>();
    let chunk = p.chunk as usize;
    match (p.width, p.floats, p.code) {
        (4, 1, _) => differences::<f32>(call, chunk, |x, before| one_nan_f32(x - before)),
        (8, 1, _) => differences::<f64>(call, chunk, |x, before| one_nan_f64(x - before)),
        (w, _, NEGABINARY) => {
            by_width!(w, T => differences::<T>(call, chunk, |x, b| x.sub(b).negabinary()), else Err(Fault::BadLaunch))
        }
        (w, _, ZIGZAG) => {
            by_width!(w, T => differences::<T>(call, chunk, |x, b| x.sub(b).zigzag()), else Err(Fault::BadLaunch))
        }
        (w, ..) => by_width!(w, T => differences::<T>(call, chunk, Word::sub), else Err(Fault::BadLaunch)),
    }
}

/// The differences of a run of elements; `left` is the element before the first one, or zero.
struct Differences<'a, T, F> {
    x: &'a [T],
    left: T,
    out: &'a mut [T],
    code: &'a F,
}

impl<T: Pod, F: Fn(T, T) -> T> Work for Differences<'_, T, F> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let Differences { x, left, out, code } = self;
        out[0] = code(x[0], left);
        for (o, w) in out[1..].iter_mut().zip(x.windows(2)) {
            *o = code(w[1], w[0]);
        }
    }
}

/// Element-wise over tiles, each of which sees the element before it.
fn differences<T: Pod + Send + Sync>(
    call: &mut HostCall<'_>,
    chunk: usize,
    code: impl Fn(T, T) -> T + Sync,
) -> Result<(), Fault> {
    let (src, dst) = call.byte_for_byte()?;
    call.threads.tiles(dst, TILE, |k, out| {
        let bytes = src.get(k * TILE..k * TILE + out.len()).ok_or(Fault::BadLaunch)?;
        let first = k * TILE / size_of::<T>();
        let before = first.checked_sub(1).and_then(|i| at::<T>(src, i)).unwrap_or(T::zeroed()); // seed: tile-border
        let run = |x: &[T], out: &mut [T], r: Range<usize>, fresh: bool| {
            let left = if fresh { T::zeroed() } else { r.start.checked_sub(1).map_or(before, |i| x[i]) };
            widest(Differences { x: &x[r.clone()], left, out: &mut out[r], code: &code });
        };
        loaded::<T, _>(bytes, |x| {
            store::<T>(out, |out| runs(first, x.len(), chunk, |r, fresh| run(x, out, r, fresh)));
        });
        copy_tail(bytes, out, size_of::<T>());
        Ok(())
    })
}
