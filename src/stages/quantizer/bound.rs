//! The computation of the bound of the codes from the bound of the user.

use super::params::{
    ABS, BoundMetadata, MOST_OF_PREVIOUS, PADDED, PREL, PREVIOUS, QuantizerParams, RANGE, SHARE_KEPT, STRICT,
};
use super::real::{Real, floor_f32, mul_toward_zero, sub_toward_zero};
use super::step;
use crate::base::error::Fault;
use crate::base::tile::{TILE, load};
use crate::ir::kernel::HostCall;
use crate::stages::wide::{Work, widest};

/// Kernel `quantizer_bound`: measures the value range where the mode needs it and resolves the bound.
pub(super) fn resolve(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<QuantizerParams>();
    let (metadata, [low, high]) = match p.value {
        4 => metadata::<f32>(call, &p)?,
        8 => metadata::<f64>(call, &p)?,
        _ => return Err(Fault::BadLaunch),
    };
    let out = call.output(0)?;
    let facts = bytemuck::bytes_of(&metadata);
    out.get_mut(..facts.len()).ok_or(Fault::BadLaunch)?.copy_from_slice(facts);
    if p.switches & RANGE != 0 {
        let range = [low, high];
        let range = bytemuck::bytes_of(&range);
        out.get_mut(facts.len()..facts.len() + range.len()).ok_or(Fault::BadLaunch)?.copy_from_slice(range);
    }
    Ok(())
}

/// The metadata, and the smallest and the largest value where they are measured.
fn metadata<T: Real>(
    call: &mut HostCall<'_>,
    p: &QuantizerParams,
) -> Result<(BoundMetadata, [f64; 2]), Fault> {
    let relative = p.mode != ABS && p.value_base == 0.0;
    let measured = relative || p.switches & RANGE != 0;
    let range = if measured { Some(range::<T>(call, p)?) } else { None };
    let extremes = range.map_or([0.0; 2], |r| [r.low.to_f64(), r.high.to_f64()]);
    let range = range.filter(|_| relative);
    if let Some(range) = range.filter(|_| p.switches & PREVIOUS != 0) {
        let base = base_of(p, range);
        let previous = std::mem::replace(&mut call.kept, SHARE_KEPT * base);
        if suits(previous, base) {
            let given = QuantizerParams { value_base: previous, ..*p };
            return Ok((resolved::<T>(call, &given, None)?, extremes));
        }
    }
    Ok((resolved::<T>(call, p, range)?, extremes))
}

/// True if a kept base keeps the promise for an array with this base, at a bound that is not much smaller.
fn suits(kept: f64, base: f64) -> bool {
    kept > 0.0 && kept <= base && base <= MOST_OF_PREVIOUS * kept
}

/// The number that the bound is a fraction of; 0 if the array has none.
fn base_of<T: Real>(p: &QuantizerParams, range: ValueRange<T>) -> f64 {
    match range {
        ValueRange { low, high } if low > high => 0.0,
        _ if p.mode == PREL => range.peak().to_f64(),
        ValueRange { low, high } => sub_toward_zero(high.to_f64(), low.to_f64()),
    }
}

fn resolved<T: Real>(
    call: &HostCall<'_>,
    p: &QuantizerParams,
    range: Option<ValueRange<T>>,
) -> Result<BoundMetadata, Fault> {
    if p.switches & STRICT == 0 {
        return Ok(literal::<T>(p, range));
    }
    let metadata = strict::<T>(p, range);
    // A step of f64 data has at most 24 significant bits, so its products with bins are exact without
    // rounding.
    let rounds = size_of::<T>() == 4 && metadata.radius > 0;
    if rounds { step::choose::<T>(call, p, metadata) } else { Ok(metadata) }
}

/// Smallest and largest bounded value; `low > high` when there is none.
#[derive(Clone, Copy)]
struct ValueRange<T> {
    low: T,
    high: T,
}

impl<T: Real> ValueRange<T> {
    fn none() -> ValueRange<T> {
        ValueRange { low: T::INFINITY, high: T::ZERO.sub(T::INFINITY) }
    }

    fn join(self, other: ValueRange<T>) -> ValueRange<T> {
        ValueRange {
            low: if other.low < self.low { other.low } else { self.low },
            high: if other.high > self.high { other.high } else { self.high },
        }
    }

    /// The number that the bound of mode prel is a fraction of.
    fn peak(self) -> T {
        let (low, high) = (self.low.abs(), self.high.abs()); // seed: peak
        if low > high { low } else { high } // seed: lorenzo-largest
    }
}

/// Strict: finite values below the threshold. Otherwise as the reference scans: everything but NaN, and the
/// padding too.
fn range<T: Real>(call: &HostCall<'_>, p: &QuantizerParams) -> Result<ValueRange<T>, Fault> {
    let src = call.input(0)?;
    let strict = p.switches & STRICT != 0;
    let limit = if strict { T::from_f64(p.threshold) } else { T::INFINITY };
    let parts = call.threads.map(src.len().div_ceil(TILE), |k| {
        let mut buffer = None;
        let values = load::<T>(&src[k * TILE..src.len().min((k + 1) * TILE)], &mut buffer);
        // Where the extremes of all are bounded, so are the others.
        let all = widest(Extremes(values));
        let bounded = !strict || (all.low > T::ZERO.sub(limit) && all.high < limit); // seed: range-limit
        if bounded { all } else { extremes(values, |x| x.abs() < limit) } // seed: threshold-of-range
    });
    let all = parts.into_iter().fold(ValueRange::none(), ValueRange::join);
    Ok(if p.switches & PADDED != 0 { all.join(ValueRange { low: T::ZERO, high: T::ZERO }) } else { all })
}

/// The smallest and the largest of these values.
struct Extremes<'a, T>(&'a [T]);

impl<T: Real> Work for Extremes<'_, T> {
    type Result = ValueRange<T>;

    #[inline(always)]
    fn run(self) -> ValueRange<T> {
        extremes(self.0, |_| true)
    }
}

/// Smallest and largest of the values that count; NaN never does.
#[inline(always)]
fn extremes<T: Real>(values: &[T], counts: impl Fn(T) -> bool) -> ValueRange<T> {
    /// The number of values at a time, so that comparisons do not wait for each other.
    const LANES: usize = 32;
    let (mut low, mut high) = ([ValueRange::<T>::none().low; LANES], [ValueRange::<T>::none().high; LANES]);
    let mut groups = values.chunks_exact(LANES);
    for group in &mut groups {
        stretch(&mut low, &mut high, group, &counts);
    }
    stretch(&mut low, &mut high, groups.remainder(), &counts);
    let lanes = low.into_iter().zip(high).map(|(low, high)| ValueRange { low, high });
    lanes.fold(ValueRange::none(), ValueRange::join)
}

#[inline(always)]
fn stretch<T: Real>(low: &mut [T], high: &mut [T], values: &[T], counts: &impl Fn(T) -> bool) {
    for ((low, high), &x) in low.iter_mut().zip(high).zip(values) {
        *low = if counts(x) && x < *low { x } else { *low };
        *high = if counts(x) && x > *high { x } else { *high };
    }
}

/// Bounds below this leave no room for a step, and in place their raw values would read as codes.
fn least<T: Real>() -> f64 {
    if size_of::<T>() == 4 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE }
}

/// The largest bound of f32 data: twice of it is finite, and so is one over twice of it.
const MOST: f32 = f32::from_bits(0x7e00_0000);

/// The bound as promised: no operation rounds it up.
fn strict<T: Real>(p: &QuantizerParams, range: Option<ValueRange<T>>) -> BoundMetadata {
    let exact = BoundMetadata { bound: 0.0, bound_f32: 0.0, base: 0.0, radius: 0, outliers: 0, promise: 0.0 };
    let (wanted, base) = match range {
        None if p.mode == ABS => (p.error_bound, 0.0),
        None => (mul_toward_zero(p.error_bound, p.value_base), p.value_base),
        Some(ValueRange { low, high }) if low > high => (p.error_bound, 0.0),
        Some(range) if p.mode == PREL => match range.peak().to_f64() {
            0.0 => (p.error_bound, 0.0),
            peak => (mul_toward_zero(p.error_bound, peak), peak),
        },
        Some(ValueRange { low, high }) if low < high => {
            let base = sub_toward_zero(high.to_f64(), low.to_f64());
            (mul_toward_zero(p.error_bound, base), base)
        }
        // A constant: its range allows no error at all. Bins of its own magnitude hit it exactly, where the
        // header can hold half of it; zero needs no care.
        Some(ValueRange { high, .. }) if high == T::ZERO => (p.error_bound, 0.0),
        Some(ValueRange { high, .. }) => {
            let half = high.to_f64().abs() / 2.0;
            let held = f64::from(half as f32) == half && (size_of::<T>() == 8 || half <= MOST.into()); // seed: large-constant
            (if held { half } else { 0.0 }, 0.0)
        }
    };
    let base = floor_f32(base);
    let wide = size_of::<T>() == 8 && p.mode == ABS && wanted < f64::from(f32::MIN_POSITIVE);
    // The step of f32 data is twice the bound and must stay finite; a smaller bound keeps a larger one.
    let bound_f32 = if size_of::<T>() == 4 { floor_f32(wanted).min(MOST) } else { floor_f32(wanted) }; // seed: no-floor
    let bound = if wide { wanted } else { bound_f32.into() };
    let promise = if size_of::<T>() == 4 { floor_f32(wanted).into() } else { wanted }; // seed: no-floor
    let usable = bound >= least::<T>() && (wide || bound_f32 >= f32::MIN_POSITIVE);
    let metadata = BoundMetadata { base, promise, ..exact };
    if usable { BoundMetadata { bound, bound_f32, radius: p.radius, ..metadata } } else { metadata }
}

/// The reference's arithmetic, with its losses.
fn literal<T: Real>(p: &QuantizerParams, range: Option<ValueRange<T>>) -> BoundMetadata {
    let user = T::from_f64((p.error_bound as f32).into());
    let base = match range {
        None if p.mode == ABS => 0.0,
        None => p.value_base as f32,
        Some(ValueRange { low, high }) if low > high => 0.0,
        Some(range) if p.mode == PREL => range.peak().to_f64() as f32,
        Some(ValueRange { low, high }) => high.sub(low).to_f64() as f32,
    };
    let (bound, base) = if base > 0.0 { (user.mul(T::from_f64(base.into())), base) } else { (user, 0.0) };
    let bound = bound.to_f64();
    BoundMetadata { bound, bound_f32: bound as f32, base, radius: p.radius, outliers: 0, promise: bound }
}
