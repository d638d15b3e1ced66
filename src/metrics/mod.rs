//! Measures the difference of a restored array from the original, and judges it exactly by the bound.
//!
//! Differences are exact: |x - x'| is the unevaluated sum of two f64, because one f64 holds neither every
//! difference of two f64 nor that of a large and a tiny f32. A comparison with the bound is therefore right
//! down to the last bit. The bounds of the modes noa, prel, and rel are products and ranges in f64, each
//! rounded toward zero: never above the promised bound, and below it by at most two units in the last place.
//!
//! Only bounded values have an error: those that are finite and below the outlier threshold. All other values
//! must be restored bit for bit and do not count in ranges and means.

mod fills;
mod gap;
mod tally;

use crate::base::dtype::DType;
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use bytemuck::Pod;
pub use fills::{SuspectedFill, ValueScan, suspected_fills, suspected_fills_at, suspected_fills_in_range};
use gap::{Element, mul_down};
use tally::Tally;

/// The largest absolute error of a bounded value x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// This much.
    Abs(f64),
    /// This fraction of max - min of the bounded values.
    Noa(f64),
    /// This fraction of |x|; zero is exact.
    Rel(f64),
    /// This fraction of max |x| of the bounded values.
    Prel(f64),
}

impl Bound {
    /// The bound of a mode by its name.
    ///
    /// # Errors
    /// [`Error::UnknownName`]; [`Error::InvalidArgument`] for a bound that is negative or not finite.
    pub fn from_name(mode: &str, bound: f64) -> Result<Bound> {
        in_default_environment(|| {
            if !(bound.is_finite() && bound >= 0.0) {
                return Err(Error::argument("error bound", bound, "a finite number of 0 or more"));
            }
            match mode {
                "abs" => Ok(Bound::Abs(bound)),
                "noa" => Ok(Bound::Noa(bound)),
                "rel" => Ok(Bound::Rel(bound)),
                "prel" => Ok(Bound::Prel(bound)),
                other => Err(Error::UnknownName {
                    kind: "mode",
                    name: other.into(),
                    place: String::new(),
                    known: "abs, noa, rel, prel".into(),
                }),
            }
        })
    }
}

/// The result of a comparison. If no value is bounded, range and errors are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// Elements of the array.
    pub elements: u64,
    /// Those that are finite and below the outlier threshold.
    pub bounded: u64,
    /// Smallest bounded value of the original.
    pub min: f64,
    /// Largest bounded value of the original.
    pub max: f64,
    /// max - min, rounded toward zero.
    pub range: f64,
    /// Largest |x - x'|; infinite if a bounded value was restored as NaN or infinity.
    pub max_abs_error: f64,
    /// Largest |x - x'| / |x| over the bounded values other than zero.
    pub max_rel_error: f64,
    /// The largest permitted error; `None` without a bound, and for rel, where it differs from value to
    /// value.
    pub allowed: Option<f64>,
    /// Largest error / bound; at most 1 exactly when no bounded value violates the bound. `None` without one.
    pub worst: Option<f64>,
    /// Bounded values beyond the bound.
    pub violations: u64,
    /// Values that are not bounded and were not restored bit for bit.
    pub exact_mismatches: u64,
    /// Elements whose bits differ and that are NaN or infinite on either side.
    pub non_finite_mismatches: u64,
    /// Root of the mean squared error.
    pub rmse: f64,
    /// `rmse / range`. Range 0: 0 without any error, infinity otherwise.
    pub nrmse: f64,
    /// Peak signal-to-noise ratio in dB, 20 log10(range) - 10 log10(mse). Without any error it is infinite;
    /// otherwise, for range 0, minus infinity.
    pub psnr: f64,
}

impl Metrics {
    /// True if the bound holds for every bounded value, and all others were restored bit for bit.
    pub fn kept(&self) -> bool {
        self.violations == 0 && self.exact_mismatches == 0 && self.non_finite_mismatches == 0
    }
}

/// Compares an array with its restored values. Values of magnitude `outlier_threshold` and above must be
/// exact; infinity means no threshold. Without a bound, errors are measured and not judged.
///
/// # Errors
/// [`Error::InvalidArgument`] for arrays of different lengths, a length that is no whole number of elements,
/// or a threshold that is not positive.
pub fn compare(
    dtype: DType,
    original: &[u8],
    restored: &[u8],
    bound: Option<Bound>,
    outlier_threshold: f64,
) -> Result<Metrics> {
    in_default_environment(|| {
        let (a, b) = (original.len(), restored.len());
        if a != b {
            return Err(Error::argument(
                "restored array",
                format!("{b} bytes"),
                format!("the original's {a}"),
            ));
        }
        if a as u64 % dtype.bytes() != 0 {
            let expected = format!("a multiple of the {} bytes of {dtype}", dtype.bytes());
            return Err(Error::argument("array", format!("{a} bytes"), expected));
        }
        if outlier_threshold.is_nan() || outlier_threshold <= 0.0 {
            return Err(Error::argument("outlier threshold", outlier_threshold, "a number above 0"));
        }
        let of = match dtype {
            DType::U8 => measure::<u8>,
            DType::U16 => measure::<u16>,
            DType::U32 => measure::<u32>,
            DType::U64 => measure::<u64>,
            DType::I8 => measure::<i8>,
            DType::I16 => measure::<i16>,
            DType::I32 => measure::<i32>,
            DType::I64 => measure::<i64>,
            DType::F32 => measure::<f32>,
            DType::F64 => measure::<f64>,
        };
        Ok(of(original, restored, bound, outlier_threshold))
    })
}

fn values<T: Pod>(bytes: &[u8]) -> impl Iterator<Item = T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned)
}

/// The bounded values of the original.
struct Bounded<T> {
    count: u64,
    ends: Option<(T, T)>,
    /// max - min and max |x|, rounded toward zero.
    range: f64,
    peak: f64,
}

fn bounded<T: Element>(original: &[u8], threshold: f64) -> Bounded<T> {
    let mut count = 0;
    let mut ends: Option<(T, T)> = None;
    for x in values::<T>(original).filter(|x| x.bounded(threshold)) {
        count += 1;
        let (low, high) = ends.unwrap_or((x, x));
        ends = Some((if x < low { x } else { low }, if x > high { x } else { high }));
    }
    let range = ends.map_or(0.0, |(low, high)| high.gap(low).toward_zero());
    let peak = ends.map_or(0.0, |(low, high)| low.magnitude().max(high.magnitude()));
    Bounded { count, ends, range, peak }
}

/// Elements whose squares are summed apart, so that the sum of billions keeps its digits.
const BLOCK: usize = 4096;

fn measure<T: Element>(original: &[u8], restored: &[u8], bound: Option<Bound>, threshold: f64) -> Metrics {
    let Bounded { count, ends, range, peak } = bounded::<T>(original, threshold);
    let allowed = match bound {
        None | Some(Bound::Rel(_)) => None,
        Some(Bound::Abs(eb)) => Some(eb),
        Some(Bound::Noa(eb)) => Some(mul_down(eb, range)),
        Some(Bound::Prel(eb)) => Some(mul_down(eb, peak)),
    };
    // Squares of errors relative to the range neither overflow nor vanish where those of the errors would.
    let scale = if range > 0.0 { range } else { 1.0 };
    let mut tally = Tally { bound, allowed, scale, ..Tally::default() };
    let block = BLOCK * size_of::<T>();
    for (original, restored) in original.chunks(block).zip(restored.chunks(block)) {
        let mut squares = 0.0;
        for (x, y) in values::<T>(original).zip(values::<T>(restored)) {
            squares += tally.element(x, y, threshold);
        }
        tally.squares += squares;
    }
    let mean = if count == 0 { 0.0 } else { tally.squares / count as f64 };
    let relative = if range > 0.0 || mean == 0.0 { mean } else { f64::INFINITY };
    Metrics {
        elements: (original.len() / size_of::<T>()) as u64,
        bounded: count,
        min: ends.map_or(0.0, |(low, _)| low.real()),
        max: ends.map_or(0.0, |(_, high)| high.real()),
        range,
        max_abs_error: tally.max_abs.high,
        max_rel_error: tally.max_rel,
        allowed,
        worst: bound.map(|_| tally.worst),
        violations: tally.violations,
        exact_mismatches: tally.exact_mismatches,
        non_finite_mismatches: tally.non_finite_mismatches,
        rmse: scale * mean.sqrt(),
        nrmse: relative.sqrt(),
        psnr: -10.0 * relative.log10(),
    }
}

#[cfg(test)]
mod tests;
