//! Bounds for a ratio or a peak signal-to-noise ratio: from the sample first, then corrected with the whole array.

use super::candidates::Candidate;
use super::sample::{Sample, Size};
use super::trial::Trial;
use super::{Aim, Choice, Goal, Wish};
use crate::base::array::Array;
use crate::base::byte_source::Source;
use crate::base::error::{Error, Result};
use crate::codec::{Container, Device, Options, buffer, compress, decompress};
use crate::metrics;
use std::borrow::Cow;

/// Bounds that are looked at, as fractions of the value range.
const SMALLEST: f64 = 1e-9;
const LARGEST: f64 = 0.5;
/// How often the whole array is compressed at most.
const CORRECTIONS: usize = 3;

/// An array with a request for it.
struct Task<'a> {
    array: &'a Array,
    wish: &'a Wish<'a>,
    bytes: Cow<'a, [u8]>,
    sample: Sample,
}

impl<'a> Task<'a> {
    fn new(array: &'a Array, src: &'a dyn Source, wish: &'a Wish<'a>) -> Result<Task<'a>> {
        let bytes = match src.memory() {
            Some(bytes) => Cow::Borrowed(bytes),
            None => {
                let mut all = buffer(src.bytes())?;
                src.fill(0, &mut all)?;
                Cow::Owned(all)
            }
        };
        let sample = Sample::new(array, &&*bytes, wish.outlier_threshold, Size::LARGE)?;
        Ok(Task { array, wish, sample, bytes })
    }

    /// The preset of the goal with a bound.
    fn within(&self, bound: f64) -> Result<Candidate> {
        let preset = if self.wish.goal == Goal::Ratio { "high" } else { "fast" };
        Candidate::preset(preset, self.array.dtype(), "noa", bound)
    }

    /// The ratio that the sample promises.
    fn expected_ratio(&self, bound: f64) -> Result<f64> {
        let wish = Wish { aim: Aim::Bound("noa", bound), ..*self.wish };
        let bytes = Trial::new(&self.sample, self.array, &wish).bytes(&self.within(bound)?)?;
        let bytes = bytes.ok_or(Error::Internal("the presets of targets take any array of floats"))?;
        Ok(self.array.bytes() as f64 / bytes.max(1.0))
    }

    /// A container of the whole array.
    fn container(&self, bound: f64) -> Result<Vec<u8>> {
        let options =
            Options { container: Container::Compact, device: Device::Cpu, threads: 0, ..Options::default() };
        compress(
            &self.within(bound)?.chosen(self.wish, 0.0, None)?.pipeline,
            self.array,
            &options,
            &self.bytes,
        )
    }

    /// Moves a bound until a number that depends on it is within a tolerance of its target. `slope` is roughly the derivative of
    /// the number by the logarithm of the bound.
    fn corrected(
        &self,
        first: f64,
        target: f64,
        tolerance: f64,
        slope: f64,
        number: impl Fn(&Self, f64) -> Result<f64>,
    ) -> Result<f64> {
        let (mut bound, mut slope, mut before) = (first, slope, None::<(f64, f64)>);
        let (mut best, mut least) = (first, f64::INFINITY);
        for _ in 0..CORRECTIONS {
            let number = number(self, bound)?;
            let miss = target - number;
            // Without an error there is nothing to correct.
            if !number.is_finite() {
                return Ok(bound);
            }
            if miss.abs() < least {
                (best, least) = (bound, miss.abs());
            }
            if miss.abs() <= tolerance {
                break;
            }
            if let Some((b, n)) = before {
                let measured = (number - n) / (bound / b).ln();
                slope = if measured / slope > 0.2 { measured } else { slope };
            }
            before = Some((bound, number));
            let next = rounded(bound * (miss / slope).clamp(-3.0, 3.0).exp());
            if next == bound {
                break;
            }
            bound = next;
        }
        Ok(best)
    }
}

/// A bound within the limits, to four digits: exponentials differ in their last bits between systems, and choices do not.
fn rounded(bound: f64) -> f64 {
    format!("{bound:.3e}").parse().unwrap_or(bound).clamp(SMALLEST, LARGEST)
}

/// The bound with which the preset of the goal makes containers of this ratio.
pub(super) fn ratio(array: &Array, src: &dyn Source, wish: &Wish<'_>, target: f64) -> Result<Choice> {
    const ROUNDS: usize = 14;
    let task = Task::new(array, src, wish)?;
    let (mut low, mut high) = (SMALLEST, LARGEST);
    for _ in 0..ROUNDS {
        let middle = (low * high).sqrt();
        if task.expected_ratio(middle)? < target { low = middle } else { high = middle }
    }
    let high = rounded(high);
    let (below, above) = (task.expected_ratio(high / 1.5)?, task.expected_ratio(high * 1.5)?);
    let slope = ((above / below).ln() / 2.25f64.ln()).max(0.1);
    let real = |task: &Task<'_>, bound: f64| {
        Ok((task.array.bytes() as f64 / task.container(bound)?.len().max(1) as f64).ln())
    };
    let bound = task.corrected(high, target.ln(), 0.02, slope, real)?;
    task.within(bound)?.chosen(wish, task.expected_ratio(bound)?, None)
}

/// The bound with which restored values have this peak signal-to-noise ratio.
pub(super) fn psnr(array: &Array, src: &dyn Source, wish: &Wish<'_>, target: f64) -> Result<Choice> {
    let task = Task::new(array, src, wish)?;
    // Errors that are evenly distributed within the bound; double the bound has 6 dB less.
    let per_db = 10f64.ln() / 20.0;
    let first = rounded((-target * per_db).exp() * 3f64.sqrt());
    let real = |task: &Task<'_>, bound: f64| {
        let (_, restored) = decompress(&task.container(bound)?, &Options::default())?;
        let (dtype, threshold) = (task.array.dtype(), task.wish.outlier_threshold);
        Ok(metrics::compare(dtype, &task.bytes, &restored, None, threshold)?.psnr * per_db)
    };
    let bound = task.corrected(first, target * per_db, 0.2 * per_db, -1.0, real)?;
    task.within(bound)?.chosen(wish, task.expected_ratio(bound)?, None)
}
