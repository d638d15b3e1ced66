//! The quantization step of each level, the radius, and the schedule of alpha.

use super::params::GinterpMetadata;
use super::value::SplineValue;

/// Alpha and beta without tuning.
pub(super) const ALPHA: f64 = 1.75;
pub(super) const BETA: f64 = 4.0;

/// Alpha of mode 5 and of the tuned modes, from the bound as a fraction of the value range: linear between powers of ten.
pub(super) fn scheduled_alpha(fraction: f64) -> f64 {
    const KNOTS: [(f64, f64); 5] = [(1e-1, 2.0), (1e-2, 1.75), (1e-3, 1.5), (1e-4, 1.25), (1e-5, 1.0)];
    if fraction >= KNOTS[0].0 {
        return KNOTS[0].1;
    }
    for (&(high, of_high), &(low, of_low)) in KNOTS.iter().zip(&KNOTS[1..]) {
        if fraction >= low {
            return of_low + (of_high - of_low) * (fraction - low) / (high - low);
        }
    }
    KNOTS[4].1
}

/// Half of a step, and its inverse.
#[derive(Clone, Copy)]
pub(super) struct HalfStep<T> {
    half: T,
    inverse: T,
}

impl<T: SplineValue> HalfStep<T> {
    pub(super) fn new(half: T) -> HalfStep<T> {
        HalfStep { half, inverse: T::from_f64(1.0).div(half) }
    }

    /// No step: a value has a code where its prediction is the value.
    pub(super) fn none() -> HalfStep<T> {
        HalfStep { half: T::ZERO, inverse: T::ZERO }
    }
}

/// Sets the steps of all levels and their inverses. The step of the finest level is divided by alpha for each
/// level, at most by beta.
pub(super) fn set_steps<T: SplineValue>(metadata: &mut GinterpMetadata, finest: HalfStep<T>, levels: usize) {
    let (base, inverse) = (T::from_f64(2.0).mul(finest.half), finest.inverse);
    let (alpha, beta) = (metadata.alpha, metadata.beta);
    let (mut step, mut rcp) = (base, inverse);
    for level in 0..levels {
        if level > 0 {
            rcp = T::from_f64(rcp.to_f64() * alpha);
            step = T::from_f64(step.to_f64() / alpha);
        }
        let least = base.to_f64() / beta;
        let (s, r) = if step.to_f64() < least {
            (T::from_f64(least), T::from_f64(inverse.to_f64() * beta))
        } else {
            (step, rcp)
        };
        (metadata.step[level], metadata.rcp[level]) = (s.to_f64(), r.to_f64());
    }
}

/// The radius for residuals within `range`, in codes of `code` bytes.
pub(super) fn radius_of(range: f64, step: f64, code: u8) -> u32 {
    let most = most_radius(code);
    let needed = (range / (step / 4.0)).ceil();
    if range > 0.0 && needed > 32.0 { needed.min(most.into()) as u32 } else { 32 }
}

/// The largest radius that the run chooses.
pub(super) fn most_radius(code: u8) -> u32 {
    if code == 1 { 127 } else { 32767 }
}
