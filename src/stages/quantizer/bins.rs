//! Values to bins and back.

use super::lists;
use super::params::{BoundMetadata, IN_PLACE, QuantizerParams, STRICT, ZIGZAG};
use super::real::{BinCode, Real};
use crate::base::error::Fault;
use crate::base::tile::{TILE, at, load, loaded, store};
use crate::ir::kernel::HostCall;
use crate::stages::wide::{Work, widest};
use std::sync::atomic::{AtomicBool, Ordering};

/// Elements of a tile: of the wider of value and code, so that both fit a tile's buffer.
pub(super) const ELEMENTS: usize = TILE / 8;

/// Elements that are looked at a second time if one of them has no nearest bin.
const GROUP: usize = 64;

/// The arithmetic of one call.
#[derive(Clone, Copy)]
pub(super) struct Bins<T> {
    /// 1 / (2 bound): values are multiplied, never divided.
    inverse: T,
    step: T,
    promise: T,
    radius: T,
    threshold: T,
    zigzag: bool,
    strict: bool,
    /// The reference narrows f64 products to f32.
    narrow: bool,
}

impl<T: Real> Bins<T> {
    pub(super) fn new(p: &QuantizerParams, metadata: &BoundMetadata) -> Bins<T> {
        let bound = T::from_f64(metadata.bound);
        let strict = p.switches & STRICT != 0;
        let two = T::from_f64(2.0);
        Bins {
            inverse: T::from_f64(1.0).div(two.mul(bound)),
            step: two.mul(bound),
            promise: T::from_f64(metadata.promise), // seed: promise
            radius: T::from_f64(metadata.radius.into()),
            threshold: T::from_f64(p.threshold),
            zigzag: p.switches & ZIGZAG != 0,
            strict,
            narrow: !strict && size_of::<T>() == 8,
        }
    }

    /// The bin of `x`, and true if it may represent `x`. The check is the decoder's own expression; the
    /// module's text proves that its rounding cannot hide a violation.
    #[inline(always)]
    fn bin<const FAST: bool>(&self, x: T) -> (i64, bool) {
        let scaled = if self.narrow {
            T::from_f64(f64::from(x.to_f64() as f32 * self.inverse.to_f64() as f32))
        } else {
            x.mul(self.inverse)
        };
        let (k, bin) = if FAST { scaled.bin_fast() } else { scaled.bin() };
        let inside = if FAST { scaled.abs() < T::FAST } else { true };
        let near = !self.strict || x.sub(k.mul(self.step)).abs() <= self.promise; // seed: no-check
        (bin, inside & (k.abs() < self.radius) & (x.abs() < self.threshold) & near) // seed: threshold
    }

    /// The bin on the other side of `x`, if the nearest one does not keep the bound: between two bins,
    /// rounding the other product can keep the error within the bound.
    fn other(&self, x: T) -> Option<i64> {
        let scaled = x.mul(self.inverse);
        let inside = scaled.abs() < self.radius && x.abs() < self.threshold;
        if !self.strict || !inside {
            return None;
        }
        let (k, bin) = scaled.bin();
        let toward = if x.sub(k.mul(self.step)) > T::ZERO { 1 } else { -1 };
        let k = T::from_bin(bin + toward);
        let near = x.sub(k.mul(self.step)).abs() <= self.promise;
        (near && k.abs() < self.radius).then_some(bin + toward) // seed: other-bin
    }

    /// The bin that represents `x`, if any.
    #[inline(always)]
    fn find<const FAST: bool>(&self, x: T) -> Option<i64> {
        let (bin, ok) = self.bin::<FAST>(x);
        if ok { Some(bin) } else { self.other(x) }
    }

    /// The number of these values that no bin represents although a bin for their magnitude exists.
    pub(super) fn misses(&self, x: &[T]) -> usize {
        widest(Misses { bins: self, x })
    }

    /// True if the value has no nearest bin, but a bin of its magnitude exists.
    #[inline(always)]
    fn is_doubtful<const FAST: bool>(&self, x: T) -> bool {
        let inside = (x.mul(self.inverse).abs() < self.radius) & (x.abs() < self.threshold);
        inside & !self.bin::<FAST>(x).1
    }

    /// [`Bins::misses`]. The first pass has no branch; the second one is rare.
    #[inline(always)]
    fn count_misses<const FAST: bool>(&self, x: &[T]) -> usize {
        let any = x.iter().fold(false, |any, &x| any | self.is_doubtful::<FAST>(x));
        if !any {
            return 0;
        }
        x.iter().filter(|&&x| self.is_doubtful::<FAST>(x) && self.other(x).is_none()).count()
    }

    fn fast(&self) -> bool {
        self.radius <= T::FAST
    }

    /// Codes with raw bits among them. The first pass has no branch; the second one is rare.
    #[inline(always)]
    fn fill<const FAST: bool, C: BinCode>(&self, x: &[T], out: &mut [C])
    where
        T: Real<Bits = C>,
    {
        let mut all = true;
        for (o, &x) in out.iter_mut().zip(x) {
            let (bin, ok) = self.bin::<FAST>(x);
            *o = if ok { C::from_bin(bin, true) } else { x.to_bits() };
            all &= ok;
        }
        if all || !self.strict {
            return;
        }
        for (o, &x) in out.iter_mut().zip(x) {
            if !self.bin::<FAST>(x).1 {
                *o = self.other(x).map_or(x.to_bits(), |bin| C::from_bin(bin, true));
            }
        }
    }
}

/// Values whose misses are counted.
struct Misses<'a, T> {
    bins: &'a Bins<T>,
    x: &'a [T],
}

impl<T: Real> Work for Misses<'_, T> {
    type Result = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let bins = *self.bins;
        if bins.fast() { bins.count_misses::<true>(self.x) } else { bins.count_misses::<false>(self.x) }
    }
}

/// Values and the place of their codes, with raw bits among them.
struct Fill<'a, T, C> {
    bins: &'a Bins<T>,
    x: &'a [T],
    out: &'a mut [C],
}

impl<T: Real<Bits = C>, C: BinCode> Work for Fill<'_, T, C> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        // A copy is not aliased by `out`, so its numbers stay in registers.
        let bins = *self.bins;
        for (x, out) in self.x.chunks(GROUP).zip(self.out.chunks_mut(GROUP)) {
            if bins.fast() { bins.fill::<true, C>(x, out) } else { bins.fill::<false, C>(x, out) }
        }
    }
}

/// Codes and the place of their values.
struct Restore<'a, T, C, F> {
    codes: &'a [C],
    out: &'a mut [T],
    value: F,
}

impl<T: Real, C: BinCode, F: Fn(C) -> T> Work for Restore<'_, T, C, F> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let value = self.value;
        for (o, &c) in self.out.iter_mut().zip(self.codes) {
            *o = value(c);
        }
    }
}

/// Kernel `quantizer_encode`.
pub(super) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<QuantizerParams>();
    let metadata: BoundMetadata = at(call.input(1)?, 0).ok_or(Fault::BadLaunch)?;
    match (p.value, p.code, p.switches & IN_PLACE != 0) {
        (4, 4, true) => in_place::<f32, u32>(call, &Bins::new(&p, &metadata)),
        (8, 8, true) => in_place::<f64, u64>(call, &Bins::new(&p, &metadata)),
        (4, 2, false) => listed::<f32, u16>(call, &Bins::new(&p, &metadata)),
        (4, 4, false) => listed::<f32, u32>(call, &Bins::new(&p, &metadata)),
        (8, 2, false) => listed::<f64, u16>(call, &Bins::new(&p, &metadata)),
        (8, 4, false) => listed::<f64, u32>(call, &Bins::new(&p, &metadata)),
        _ => Err(Fault::BadLaunch),
    }
}

/// The bytes of tile `k` of an array that may be shorter than in the plan.
pub(super) fn tile_of<T>(src: &[u8], k: usize) -> &[u8] {
    let w = ELEMENTS * size_of::<T>();
    src.get(k * w..).map_or(&[], |rest| &rest[..rest.len().min(w)])
}

/// Outliers among the codes, as their own bits.
fn in_place<T: Real<Bits = C>, C: BinCode>(call: &mut HostCall<'_>, b: &Bins<T>) -> Result<(), Fault> {
    let (src, codes) = (call.input(0)?, call.output(0)?);
    call.threads.tiles(codes, ELEMENTS * size_of::<C>(), |k, out| {
        let fill = |x: &[T], out: &mut [C]| {
            let (out, padding) = out.split_at_mut(x.len().min(out.len()));
            padding.fill(C::ZERO); // seed: code-padding
            widest(Fill { bins: b, x, out });
        };
        loaded::<T, _>(tile_of::<T>(src, k), |x| store::<C>(out, |out| fill(x, out)));
        Ok(())
    })
}

/// Outliers in two lists, ascending by index.
fn listed<T: Real, C: BinCode>(call: &mut HostCall<'_>, b: &Bins<T>) -> Result<(), Fault> {
    let (src, codes) = (call.input(0)?, call.output(0)?);
    let any = AtomicBool::new(false);
    call.threads.tiles(codes, ELEMENTS * size_of::<C>(), |k, out| {
        let mut all = true;
        let mut fill = |x: &[T], out: &mut [C]| {
            let (out, padding) = out.split_at_mut(x.len().min(out.len()));
            padding.fill(C::ZERO); // seed: code-padding
            for (o, &x) in out.iter_mut().zip(x) {
                let bin = if b.fast() { b.find::<true>(x) } else { b.find::<false>(x) };
                *o = bin.map_or(C::ZERO, |bin| C::from_bin(bin, b.zigzag));
                all &= bin.is_some();
            }
        };
        loaded::<T, _>(tile_of::<T>(src, k), |x| store::<C>(out, |out| fill(x, out)));
        if !all {
            any.store(true, Ordering::Relaxed);
        }
        Ok(())
    })?;
    let tiles = if any.into_inner() { src.len().div_ceil(ELEMENTS * size_of::<T>()) } else { 0 };
    lists::write(call, tiles, |k| {
        let mut buffer = None;
        let x = load::<T>(tile_of::<T>(src, k), &mut buffer);
        let is_out = |x: T| (if b.fast() { b.find::<true>(x) } else { b.find::<false>(x) }).is_none();
        let first = (k * ELEMENTS) as u32;
        x.iter().enumerate().filter(|(_, x)| is_out(**x)).map(|(i, &x)| (first + i as u32, x)).collect()
    })
}

/// Kernel `quantizer_decode`.
pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<QuantizerParams>();
    let metadata: BoundMetadata =
        at(call.input(if p.switches & IN_PLACE != 0 { 1 } else { 3 })?, 0).ok_or(Fault::BadLaunch)?;
    match (p.value, p.code, p.switches & IN_PLACE != 0) {
        (4, 4, true) => restore_in_place::<f32, u32>(call, &metadata),
        (8, 8, true) => restore_in_place::<f64, u64>(call, &metadata),
        (4, 2, false) => restore_listed::<f32, u16>(call, &p, &metadata),
        (4, 4, false) => restore_listed::<f32, u32>(call, &p, &metadata),
        (8, 2, false) => restore_listed::<f64, u16>(call, &p, &metadata),
        (8, 4, false) => restore_listed::<f64, u32>(call, &p, &metadata),
        _ => Err(Fault::BadLaunch),
    }
}

fn step<T: Real>(metadata: &BoundMetadata) -> T {
    T::from_f64(2.0).mul(T::from_f64(metadata.bound))
}

/// Fills `out` from the codes of the same elements.
pub(super) fn restore<T: Real, C: BinCode>(
    call: &HostCall<'_>,
    codes: &[u8],
    out: &mut [u8],
    value: impl Fn(C) -> T + Copy + Sync,
) -> Result<(), Fault> {
    call.threads.tiles(out, ELEMENTS * size_of::<T>(), |k, out| {
        loaded::<C, _>(tile_of::<C>(codes, k), |codes| {
            store::<T>(out, |out| widest(Restore { codes, out, value }));
        });
        Ok(())
    })
}

fn restore_in_place<T: Real<Bits = C>, C: BinCode>(
    call: &mut HostCall<'_>,
    metadata: &BoundMetadata,
) -> Result<(), Fault> {
    let (codes, out) = (call.input(0)?, call.output(0)?);
    let (step, radius) = (step::<T>(metadata), u64::from(metadata.radius));
    restore::<T, C>(call, codes, out, move |c| {
        if c.half() >= radius { T::from_bits(c) } else { T::from_bin(c.to_bin(true)).mul(step) } // seed: sentinel
    })
}

fn restore_listed<T: Real, C: BinCode>(
    call: &mut HostCall<'_>,
    p: &QuantizerParams,
    metadata: &BoundMetadata,
) -> Result<(), Fault> {
    let (codes, out) = (call.input(0)?, call.output(0)?);
    let (step, zigzag) = (step::<T>(metadata), p.switches & ZIGZAG != 0);
    restore::<T, C>(call, codes, &mut *out, move |c| T::from_bin(c.to_bin(zigzag)).mul(step))?;
    lists::scatter(call, out, size_of::<T>(), codes.len() / size_of::<C>(), metadata.outliers)
}
