//! Kernel `ginterp_resolve`: from the bound and the range to the numbers of each level.

use super::code::{Bounded, Coding, Literal, Numbers};
use super::grid::TileGrid;
use super::params::{ABSOLUTE, GinterpMetadata, GinterpParams, MEASURED, OF_MAGNITUDE, STRICT, UNSET};
use super::predict::LevelFlags;
use super::steps::{ALPHA, BETA, HalfStep, most_radius, radius_of, scheduled_alpha, set_steps};
use super::tune::{Sample, Scale, count_pairs};
use super::value::SplineValue;
use crate::base::error::Fault;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;
use crate::stages::quantizer;
use bytemuck::Zeroable;

pub(super) fn resolve(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<GinterpParams>();
    let metadata = match (p.value, p.switches & STRICT != 0) {
        (4, true) => metadata::<Bounded<f32>>(call, &p)?,
        (8, true) => metadata::<Bounded<f64>>(call, &p)?,
        (4, false) => metadata::<Literal<f32>>(call, &p)?,
        (8, false) => metadata::<Literal<f64>>(call, &p)?,
        _ => return Err(Fault::BadLaunch),
    };
    let out = call.output(0)?;
    out.get_mut(..size_of::<GinterpMetadata>())
        .ok_or(Fault::BadLaunch)?
        .copy_from_slice(bytemuck::bytes_of(&metadata));
    Ok(())
}

/// The bound of a call, in the type of the values.
struct Resolved<T> {
    /// Errors are compared with it.
    bound: T,
    finest: HalfStep<T>,
    base: f64,
    low: f64,
    high: f64,
    /// Values have codes.
    coded: bool,
}

fn metadata<C: Coding>(call: &HostCall<'_>, p: &GinterpParams) -> Result<GinterpMetadata, Fault> {
    let bound: quantizer::BoundMetadata = at(call.input(1)?, 0).ok_or(Fault::BadLaunch)?;
    let range: [f64; 2] = at(&call.input(1)?[size_of_val(&bound)..], 0).ok_or(Fault::BadLaunch)?;
    let measured = p.switches & MEASURED != 0 && range[0] <= range[1];
    let range = measured.then_some(range);
    let strict = p.switches & STRICT != 0;
    let of = if strict { bounded::<C::Value>(p, &bound, range) } else { literal::<C::Value>(p, range) };
    let grid = TileGrid::new(p);
    let mut made = GinterpMetadata::zeroed();
    (made.low, made.high) = (of.low, of.high);
    (made.bound, made.bound_f32, made.base) = (of.bound.to_f64(), of.bound.to_f64() as f32, of.base as f32);
    (made.alpha, made.beta) = (ALPHA, BETA);
    set_steps(&mut made, of.finest, grid.levels);
    made.radius = match p.radius {
        0 => match width::<C::Value>(p, of.base, range) {
            Some(width) => radius_of(width, made.step[0], p.code),
            None => most_radius(p.code),
        },
        radius => radius,
    };
    made.limit = if of.coded { made.radius } else { 0 };
    let sample = Sample {
        src: call.input(0)?,
        grid: &grid,
        coding: &C::new(Numbers::new(p, &made)),
        scale: Scale::new(made.bound),
    };
    let flags = tune(p, &sample, &mut made, of.finest, fraction::<C::Value>(p, range));
    set_steps(&mut made, of.finest, grid.levels);
    for (level, flags) in flags.into_iter().enumerate() {
        made.flags[level] = flags.bits();
        for (kind, set) in [flags.md, flags.natural, flags.reverse].into_iter().enumerate() {
            made.reference_flags[6 * kind + level] = set.into();
        }
    }
    Ok(made)
}

/// The limit of residuals that determines the radius.
fn width<T: SplineValue>(p: &GinterpParams, base: f64, range: Option<[f64; 2]>) -> Option<f64> {
    if p.switches & ABSOLUTE != 0 {
        return range.map(difference::<T>);
    }
    Some(if p.switches & OF_MAGNITUDE != 0 { 2.0 * base } else { base })
}

/// The width of a range, rounded to the type of the values.
fn difference<T: SplineValue>([low, high]: [f64; 2]) -> f64 {
    T::from_f64(high).sub(T::from_f64(low)).to_f64()
}

/// The bound as a fraction of the range.
fn fraction<T: SplineValue>(p: &GinterpParams, range: Option<[f64; 2]>) -> f64 {
    let user = user_bound(p);
    match range {
        _ if p.switches & ABSOLUTE == 0 => user,
        Some([low, high]) if high > low => user / difference::<T>([low, high]),
        _ => 0.0,
    }
}

/// The bound that was asked for, as the reference holds it.
fn user_bound(p: &GinterpParams) -> f64 {
    let narrow = p.switches & STRICT == 0 && p.value == 4;
    if narrow { f64::from(p.error_bound as f32) } else { p.error_bound }
}

fn bounded<T: SplineValue>(
    p: &GinterpParams,
    of: &quantizer::BoundMetadata,
    range: Option<[f64; 2]>,
) -> Resolved<T> {
    let [low, high] = range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
    // Of two zeros the smaller one is +0 as a lower limit and -0 as an upper one: minimum and maximum then have one result.
    let low = if low == 0.0 { 0.0 } else { low };
    let high = if high == 0.0 { -0.0 } else { high };
    let relative = p.switches & (ABSOLUTE | OF_MAGNITUDE) == 0;
    // The range of a constant allows no error. Predictions hit it, since they are within the range.
    let constant = relative && range.is_some_and(|[low, high]| low == high && high != 0.0); // seed: ginterp-constant
    let (bound, finest) = if constant {
        (0.0, HalfStep::none())
    } else {
        (of.promise, HalfStep::new(T::from_f64(of.promise.min(of.bound))))
    };
    let coded = constant || of.radius > 0;
    Resolved { bound: T::from_f64(bound), finest, base: of.base.into(), low, high, coded }
}

fn literal<T: SplineValue>(p: &GinterpParams, range: Option<[f64; 2]>) -> Resolved<T> {
    let user = T::from_f64(user_bound(p));
    let base = match range {
        _ if p.switches & ABSOLUTE != 0 => T::ZERO,
        _ if p.threshold_or_base > 0.0 => T::from_f64(p.threshold_or_base),
        Some([low, high]) if p.switches & OF_MAGNITUDE != 0 => T::from_f64(low.abs().max(high.abs())),
        Some(range) => T::from_f64(difference::<T>(range)),
        None => T::ZERO,
    };
    // Neither a negative zero nor NaN, of which there are several.
    let base = if base > T::ZERO { base } else { T::ZERO };
    let bound = if base > T::ZERO { user.mul(base) } else { user };
    // 0 times infinity; no reader accepts a NaN.
    let bound = if bound.is_nan() { T::ZERO } else { bound };
    Resolved {
        bound,
        finest: HalfStep::new(bound),
        base: base.to_f64(),
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
        coded: true,
    }
}

/// The flags of all levels; sets alpha and beta.
fn tune<T: SplineValue, C: Coding<Value = T>>(
    p: &GinterpParams,
    sample: &Sample<'_, C>,
    made: &mut GinterpMetadata,
    finest: HalfStep<T>,
    fraction: f64,
) -> Vec<LevelFlags> {
    let (levels, flat) = (sample.grid.levels, sample.grid.body[2] == 1);
    let strict = p.switches & STRICT != 0;
    let default = |level: usize| LevelFlags { md: level < 2, ..LevelFlags::default() };
    let mut flags: Vec<LevelFlags> = (0..levels).map(default).collect();
    // The reference does not tune these arrays.
    let mode = if !strict && (p.value == 8 && p.tuning < 5 || flat && p.tuning == 1) { 0 } else { p.tuning };
    if mode > 0 {
        (made.alpha, made.beta) = (scheduled_alpha(fraction), BETA);
    }
    match mode {
        1 => {
            let sums = sample.lines().sums;
            let reverse = sums[1] > 3 * sums[0];
            flags.iter_mut().for_each(|f| f.reverse = reverse);
        }
        2 => {
            let sums = sample.splines().sums;
            let (natural, reverse) = spline_of(&sums, strict, flat);
            flags = vec![LevelFlags { md: false, natural, reverse }; levels];
        }
        3 | 4 => {
            let mut tally = sample.candidates();
            flags = tally.best(levels, strict, flat);
            if mode == 4 {
                // The reference tries pairs with the flags of the finest level alone.
                let tried = if strict { flags.clone() } else { vec![flags[0]; levels] };
                count_pairs(p, sample, made, &tried, finest, &mut tally);
                (made.alpha, made.beta) = tally.pair();
            }
        }
        5 => {
            made.alpha = if p.manual_alpha > 0.0 { p.manual_alpha } else { made.alpha };
            made.beta = if p.manual_beta > 0.0 { p.manual_beta } else { made.beta };
        }
        _ => {}
    }
    for (level, flags) in flags.iter_mut().enumerate() {
        let given = |mask: u8, found: bool| if mask == UNSET { found } else { mask >> level & 1 == 1 };
        *flags = LevelFlags {
            md: given(p.md, flags.md),
            natural: given(p.natural, flags.natural),
            reverse: given(p.reverse, flags.reverse),
        };
    }
    flags
}

/// Mode 2: whether levels have the flag of the natural spline, and whether they go from x on.
fn spline_of(sums: &[u64], strict: bool, flat: bool) -> (bool, bool) {
    let [z, y, x] = [0, 2, 4].map(|i| [sums[i], sums[i + 1]]);
    // The reference has overwritten its sums: those of y are in the place of z, those of x in both others.
    let [z, y] = if strict { [z, y] } else { [y, x] };
    if flat && !strict {
        return (false, false);
    }
    let total = |k: usize| z[k] + y[k] + x[k];
    let better = total(0) > total(1);
    let k = usize::from(better);
    let reverse = if flat { x[k] > 2 * y[k] } else { x[k] > 3 * z[k] };
    // In passes along one axis the flag means the other spline, which the reference overlooks.
    (if strict { !better } else { better }, reverse)
}
