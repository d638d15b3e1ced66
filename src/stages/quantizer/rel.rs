//! Mode rel: uniform bins of log2, so that the error of a value is in proportion to the value.

use super::bind::BoundQuantizer;
use super::bins::{ELEMENTS, restore, tile_of};
use super::config::finite_f32;
use super::lists;
use super::params::{BoundMetadata, QuantizerRelParams, STRICT};
use super::power::{exp2, integer, log2, round};
use super::real::{BinCode, Real, floor_f32, toward_zero_sum};
use crate::base::error::Fault;
use crate::base::tile::{at, load, loaded, store};
use crate::ir::kernel::HostCall;
use std::sync::atomic::{AtomicBool, Ordering};

/// 1 + b as the decoder computes it.
fn one_and(bound: f32) -> f32 {
    1.0 + bound
}

/// L, as encoder and decoder derive it from the bound in the config.
fn step(bound: f32) -> f32 {
    2.0 * log2(one_and(bound).into()) as f32
}

/// The bound of the config under strict: not above `error_bound`, and up to 2^24 the largest one that loses nothing
/// when 1 is added. 0: no float is between 1 and 1 + `error_bound`.
fn strict_bound(error_bound: f64) -> f32 {
    let most = floor_f32(toward_zero_sum(1.0, error_bound));
    (most - 1.0).min(floor_f32(error_bound))
}

/// The bound in the config, from which everything else is derived: never 0.
pub(super) fn wire_bound(error_bound: f64, strict: bool) -> f32 {
    let nearest = finite_f32(error_bound);
    let bound = if strict { strict_bound(error_bound) } else { nearest };
    if bound > 0.0 { bound } else { nearest }
}

impl QuantizerRelParams {
    pub(super) fn new(p: &BoundQuantizer, strict: bool) -> QuantizerRelParams {
        let bound = wire_bound(p.error_bound, strict);
        let (step, high) = (step(bound), one_and(bound));
        QuantizerRelParams {
            // The margin is more than all roundings of the comparison.
            promise: p.error_bound * (1.0 - f64::EPSILON * 4.0),
            threshold: p.threshold,
            step,
            inverse: 1.0 / step,
            low: 1.0 / high,
            high,
            bound,
            radius: if strict && strict_bound(p.error_bound) <= 0.0 { 0 } else { p.radius },
            switches: if strict { STRICT } else { 0 },
            value: p.value.bytes() as u32,
            code: p.code.bytes() as u32,
            elements: p.n as u32,
        }
    }

    /// Bytes of a value and of a code.
    pub(super) fn widths(&self) -> (u32, u32) {
        (self.value, self.code)
    }
}

/// Kernel `quantizer_rel_bound`: the fields of the bound in the config. They do not depend on the values.
pub(super) fn resolve(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<QuantizerRelParams>();
    let metadata = BoundMetadata {
        bound: p.bound.into(),
        bound_f32: p.bound,
        base: 0.0,
        radius: p.radius,
        outliers: 0,
        promise: p.promise,
    };
    let out = call.output(0)?;
    out.get_mut(..size_of::<BoundMetadata>())
        .ok_or(Fault::BadLaunch)?
        .copy_from_slice(bytemuck::bytes_of(&metadata));
    Ok(())
}

/// The arithmetic of one call.
struct Logs {
    launch: QuantizerRelParams,
    threshold: f64,
    radius: f64,
    /// The largest code.
    most: u64,
}

impl Logs {
    fn new<T: Real, C: BinCode>(launch: QuantizerRelParams) -> Logs {
        let strict = launch.switches & STRICT != 0;
        let threshold =
            if strict { T::from_f64(launch.threshold).to_f64() } else { (launch.threshold as f32).into() };
        Logs { launch, threshold, radius: launch.radius.into(), most: C::MOST }
    }

    /// The bin of a magnitude.
    #[inline(always)]
    fn bin(&self, magnitude: f32) -> f64 {
        round((log2(magnitude.into()) as f32 * self.launch.inverse).into())
    }

    /// The value that the decoder restores from a bin, without the sign.
    #[inline(always)]
    fn restored(&self, bin: f64) -> f32 {
        restored(bin as f32, self.launch.step)
    }

    /// The code of `x` in this bin, 0 if the bin may not represent it. NaN fails every comparison, and zeros,
    /// subnormal numbers, and infinities fail the first two.
    #[inline(always)]
    fn code<const STRICT: bool>(&self, x: f64, bin: f64) -> u64 {
        let magnitude = x.abs();
        let narrow = magnitude as f32;
        let back = self.restored(bin);
        let normal = |x: f32| (f32::MIN_POSITIVE..=f32::MAX).contains(&x);
        let limited = if STRICT { magnitude } else { narrow.into() };
        let near = if STRICT {
            normal(back) & ((magnitude - f64::from(back)).abs() <= self.launch.promise * magnitude) // seed: no-check-rel
        } else {
            (self.launch.low * narrow <= back) & (back <= self.launch.high * narrow)
        };
        let code = (integer(bin.abs()) << 2 | u64::from(bin < 0.0) << 1 | x.to_bits() >> 63).wrapping_add(1);
        let held = (bin.abs() < self.radius) & (code <= self.most);
        if normal(narrow) & (limited < self.threshold) & near & held { code } else { 0 }
    }

    /// The code of the nearest bin.
    #[inline(always)]
    fn first<const STRICT: bool>(&self, x: f64) -> u64 {
        self.code::<STRICT>(x, self.bin(x.abs() as f32))
    }

    /// The code of the bin on the other side of `x`, where the nearest one does not keep the bound.
    fn other(&self, x: f64) -> u64 {
        let magnitude = x.abs();
        let bin = self.bin(magnitude as f32);
        let toward = if f64::from(self.restored(bin)) < magnitude { 1.0 } else { -1.0 };
        self.code::<true>(x, bin + toward)
    }

    /// Codes of a tile, 0 for values without a code; true if no value belongs to the lists. The first pass
    /// has no branch; the second one is rare.
    fn fill<T: Real, C: BinCode>(&self, x: &[T], out: &mut [C]) -> bool {
        if self.launch.switches & STRICT == 0 {
            return fill_by(x, out, |x| self.first::<false>(x));
        }
        if fill_by(x, out, |x| self.first::<true>(x)) {
            return true;
        }
        let mut all = true;
        for (o, &x) in out.iter_mut().zip(x).filter(|(o, x)| o.raw() == 0 && !plus_zero(**x)) {
            *o = C::from_raw(self.other(x.to_f64()));
            all &= o.raw() != 0;
        }
        all
    }
}

/// The value that code 0 restores under strict, without an entry in the lists.
fn plus_zero<T: Real>(x: T) -> bool {
    x.to_f64().to_bits() == 0 // seed: minus-zero
}

/// True when every code is above 0.
#[inline(always)]
fn fill_by<T: Real, C: BinCode>(x: &[T], out: &mut [C], code: impl Fn(f64) -> u64) -> bool {
    let mut all = true;
    for (o, x) in out.iter_mut().zip(x) {
        let code = code(x.to_f64());
        *o = C::from_raw(code);
        all &= code != 0;
    }
    all
}

/// 2^(bin L): the product in f32, the power in f64 and rounded once.
#[inline(always)]
fn restored(bin: f32, step: f32) -> f32 {
    exp2((bin * step).into()) as f32
}

/// Kernel `quantizer_rel_encode`.
pub(super) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<QuantizerRelParams>();
    match (p.value, p.code) {
        (4, 2) => listed::<f32, u16>(call, p),
        (4, 4) => listed::<f32, u32>(call, p),
        (8, 2) => listed::<f64, u16>(call, p),
        (8, 4) => listed::<f64, u32>(call, p),
        (8, 8) => listed::<f64, u64>(call, p),
        _ => Err(Fault::BadLaunch),
    }
}

fn listed<T: Real, C: BinCode>(call: &mut HostCall<'_>, p: QuantizerRelParams) -> Result<(), Fault> {
    let (src, codes) = (call.input(0)?, call.output(0)?);
    let (logs, strict) = (Logs::new::<T, C>(p), p.switches & STRICT != 0);
    let any = AtomicBool::new(false);
    call.threads.tiles(codes, ELEMENTS * size_of::<C>(), |k, out| {
        let mut all = true;
        let mut fill = |x: &[T], out: &mut [C]| {
            let (out, padding) = out.split_at_mut(x.len().min(out.len()));
            // Zeros of the padding are codes under strict, and values like any other for the reference.
            all = logs.fill(x, out) & (strict | padding.is_empty()); // seed: padding-rel
            padding.fill(C::ZERO);
        };
        loaded::<T, _>(tile_of::<T>(src, k), |x| store::<C>(out, |out| fill(x, out)));
        if !all {
            any.store(true, Ordering::Relaxed);
        }
        Ok(())
    })?;
    let codes = &*codes;
    let tiles = if any.into_inner() { codes.len().div_ceil(ELEMENTS * size_of::<C>()) } else { 0 };
    lists::write(call, tiles, |k| {
        let (mut buffer, mut other) = (None, None);
        let x = load::<T>(tile_of::<T>(src, k), &mut buffer);
        let codes = load::<C>(tile_of::<C>(codes, k), &mut other);
        let value = |i: usize| x.get(i).copied().unwrap_or(T::ZERO);
        // Code 0 restores 0 itself, so only -0 and values without a bin need an entry in the lists.
        let out = |i: &usize| codes[*i].raw() == 0 && !(strict && plus_zero(value(*i)));
        let first = (k * ELEMENTS) as u32;
        (0..codes.len()).filter(out).map(|i| (first + i as u32, value(i))).collect()
    })
}

/// Kernel `quantizer_rel_decode`.
pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<QuantizerRelParams>();
    match (p.value, p.code) {
        (4, 2) => unlisted::<f32, u16>(call, &p),
        (4, 4) => unlisted::<f32, u32>(call, &p),
        (8, 2) => unlisted::<f64, u16>(call, &p),
        (8, 4) => unlisted::<f64, u32>(call, &p),
        (8, 8) => unlisted::<f64, u64>(call, &p),
        _ => Err(Fault::BadLaunch),
    }
}

fn unlisted<T: Real, C: BinCode>(call: &mut HostCall<'_>, p: &QuantizerRelParams) -> Result<(), Fault> {
    let metadata: BoundMetadata = at(call.input(3)?, 0).ok_or(Fault::BadLaunch)?;
    let (codes, out) = (call.input(0)?, call.output(0)?);
    let step = p.step;
    restore::<T, C>(call, codes, &mut *out, |c| {
        let (bin, low, negative) = c.logarithm();
        let bin = f32::from_bits(bin.to_bits() ^ low << 31);
        let back = restored(bin, step);
        let back = if c.raw() == 0 { 0.0 } else { f32::from_bits(back.to_bits() | negative << 31) };
        T::from_f64(back.into())
    })?;
    lists::scatter(call, out, size_of::<T>(), codes.len() / size_of::<C>(), metadata.outliers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_bounds_are_floats_next_to_one_and_not_above_the_bound() {
        let mut x = 1u64;
        for _ in 0..20_000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let eb = f64::from_bits((x >> 1).clamp(1, f64::MAX.to_bits()));
            let near_one = f64::from_bits((x >> 12) | 0x3ff0 << 48) - 1.0;
            for eb in [eb, near_one, near_one * 1e-3, near_one * 1e-6] {
                let b = strict_bound(eb);
                assert!(b >= 0.0 && b.is_finite() && f64::from(b) <= eb, "{eb:e}: {b:e}");
                assert!(eb < 2f64.powi(-23) || f64::from(b) > eb * 0.5 || eb > 1e38, "{eb:e}: {b:e}");
                assert!(b > 1e7 || one_and(b) - 1.0 == b, "{eb:e}: 1 + {b:e} is no float");
            }
        }
        assert_eq!(strict_bound(2f64.powi(-20)), 2f32.powi(-20));
        assert_eq!(strict_bound(2f64.powi(-23).next_down()), 0.0);
        assert_eq!(wire_bound(1e-300, true), f32::from_bits(1));
    }

    #[test]
    fn steps_of_easy_bounds() {
        assert_eq!(step(1.0), 2.0);
        assert_eq!(step(3.0), 4.0);
        assert_eq!(step(1e-30), 0.0);
    }
}
