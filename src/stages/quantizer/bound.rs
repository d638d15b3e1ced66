//! From the bound that the user asks for to the bound that the codes are made with.

use super::real::{Real, floor_f32, mul_toward_zero, sub_toward_zero};
use super::{ABS, Facts, Launch, PADDED, PREL, STRICT, step};
use crate::error::Fault;
use crate::kernel::HostCall;
use crate::tile::{TILE, load};

/// Kernel `quantizer_bound`: measures the value range where the mode needs it and resolves the bound.
pub(super) fn resolve(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<Launch>();
    let facts = match p.value {
        4 => facts::<f32>(call, &p)?,
        8 => facts::<f64>(call, &p)?,
        _ => return Err(Fault::BadLaunch),
    };
    let out = call.output(0)?;
    out.get_mut(..size_of::<Facts>()).ok_or(Fault::BadLaunch)?.copy_from_slice(bytemuck::bytes_of(&facts));
    Ok(())
}

fn facts<T: Real>(call: &HostCall<'_>, p: &Launch) -> Result<Facts, Fault> {
    let measured = p.mode != ABS && p.value_base == 0.0;
    let range = if measured { Some(range::<T>(call, p)?) } else { None };
    if p.switches & STRICT == 0 {
        return Ok(literal::<T>(p, range));
    }
    let facts = strict::<T>(p, range);
    // A step of f64 data has at most 24 significant bits, so its products with bins are exact as they are.
    let rounds = size_of::<T>() == 4 && facts.radius > 0;
    if rounds { step::choose::<T>(call, p, facts) } else { Ok(facts) }
}

/// Smallest and largest carried value; `low > high` when there is none.
#[derive(Clone, Copy)]
struct Range<T> {
    low: T,
    high: T,
}

/// Strict: finite values below the threshold. Otherwise as the reference scans: everything but NaN, and the
/// padding too.
fn range<T: Real>(call: &HostCall<'_>, p: &Launch) -> Result<Range<T>, Fault> {
    let src = call.input(0)?;
    let strict = p.switches & STRICT != 0;
    let limit = if strict { T::from_f64(p.threshold) } else { T::INFINITY };
    let minus = |x: T| T::ZERO.sub(x);
    let none = Range { low: T::INFINITY, high: minus(T::INFINITY) };
    let join = |a: Range<T>, b: Range<T>| Range {
        low: if b.low < a.low { b.low } else { a.low },
        high: if b.high > a.high { b.high } else { a.high },
    };
    let parts = call.threads.map(src.len().div_ceil(TILE), |k| {
        let mut buffer = None;
        let bytes = &src[k * TILE..src.len().min((k + 1) * TILE)];
        // Eight lanes, so that the comparisons do not wait for each other.
        let mut lanes = [none; 8];
        for group in load::<T>(bytes, &mut buffer).chunks(8) {
            for (lane, &x) in lanes.iter_mut().zip(group) {
                let carried = if strict { x.abs() < limit } else { true };
                let low = if carried { x } else { T::INFINITY };
                let high = if carried { x } else { minus(T::INFINITY) };
                lane.low = if low < lane.low { low } else { lane.low };
                lane.high = if high > lane.high { high } else { lane.high };
            }
        }
        lanes.into_iter().fold(none, join)
    });
    let all = parts.into_iter().fold(none, join);
    Ok(if p.switches & PADDED != 0 { join(all, Range { low: T::ZERO, high: T::ZERO }) } else { all })
}

/// Bounds below this leave no room for a step, and in place their raw values would read as codes.
fn least<T: Real>() -> f64 {
    if size_of::<T>() == 4 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE }
}

/// The largest bound of f32 data: twice of it is finite, and so is one over twice of it.
const MOST: f32 = f32::from_bits(0x7e00_0000);

/// The bound as promised: no operation rounds it up.
fn strict<T: Real>(p: &Launch, range: Option<Range<T>>) -> Facts {
    let exact = Facts { bound: 0.0, bound_f32: 0.0, base: 0.0, radius: 0, outliers: 0, promise: 0.0 };
    let (wanted, base) = match range {
        None if p.mode == ABS => (p.error_bound, 0.0),
        None => (mul_toward_zero(p.error_bound, p.value_base), p.value_base),
        Some(Range { low, high }) if low > high => (p.error_bound, 0.0),
        Some(Range { low, high }) if p.mode == PREL && (low != T::ZERO || high != T::ZERO) => {
            let base = low.abs().to_f64().max(high.abs().to_f64());
            (mul_toward_zero(p.error_bound, base), base)
        }
        Some(Range { low, high }) if low < high => {
            let base = sub_toward_zero(high.to_f64(), low.to_f64());
            (mul_toward_zero(p.error_bound, base), base)
        }
        // A constant: its range allows no error at all. Bins of its own magnitude hit it exactly, where the
        // header can hold half of it; zero needs no care.
        Some(Range { high, .. }) if high == T::ZERO => (p.error_bound, 0.0),
        Some(Range { high, .. }) => {
            let half = high.to_f64().abs() / 2.0;
            let held = f64::from(half as f32) == half && (size_of::<T>() == 8 || half <= MOST.into());
            (if held { half } else { 0.0 }, 0.0)
        }
    };
    let base = floor_f32(base);
    let wide = size_of::<T>() == 8 && p.mode == ABS && wanted < f64::from(f32::MIN_POSITIVE);
    // The step of f32 data is twice the bound and must stay finite; a smaller bound keeps a larger one.
    let bound_f32 = if size_of::<T>() == 4 { floor_f32(wanted).min(MOST) } else { floor_f32(wanted) };
    let bound = if wide { wanted } else { bound_f32.into() };
    let promise = if size_of::<T>() == 4 { floor_f32(wanted).into() } else { wanted };
    let usable = bound >= least::<T>() && (wide || bound_f32 >= f32::MIN_POSITIVE);
    let facts = Facts { base, promise, ..exact };
    if usable { Facts { bound, bound_f32, radius: p.radius, ..facts } } else { facts }
}

/// The reference's arithmetic, with what it loses.
fn literal<T: Real>(p: &Launch, range: Option<Range<T>>) -> Facts {
    let user = T::from_f64((p.error_bound as f32).into());
    let base = match range {
        None if p.mode == ABS => 0.0,
        None => p.value_base as f32,
        Some(Range { low, high }) if p.mode == PREL => low.abs().to_f64().max(high.abs().to_f64()) as f32,
        Some(Range { low, high }) => high.sub(low).to_f64() as f32,
    };
    let (bound, base) = if base > 0.0 { (user.mul(T::from_f64(base.into())), base) } else { (user, 0.0) };
    let bound = bound.to_f64();
    Facts { bound, bound_f32: bound as f32, base, radius: p.radius, outliers: 0, promise: bound }
}
