//! A line through values that are nearly at whole multiples of an unknown distance.

use super::find::MOST_LEVELS;
use super::value::nearest_integer;
use crate::stages::wide::{Work, widest};

/// Level n is at n · scale + offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) scale: f64,
    pub(super) offset: f64,
}

/// Distances below 8 spacings of the type are noise.
const RESOLVED: f64 = 8.0;
/// Distances that are sorted first.
const FEW: usize = 64;
/// Levels of unpacked 16-bit integers.
const SHORT: f64 = 65535.0;

/// The line through ascending values, each of which is off by at most `noise`, the spacing of its type. `None`: their distances
/// have no common measure, or there are too many levels.
pub(super) fn line(values: &[f64], noise: f64) -> Option<Line> {
    let mut distances: Vec<f64> = values.windows(2).map(|w| w[1] - w[0]).collect();
    // Most values that are on no lattice have neighbors.
    let mut scale = distances.iter().copied().reduce(f64::min)?;
    if scale <= RESOLVED * noise {
        return None;
    }
    // The smallest distances reject most scales.
    let mut sorted = distances.len();
    if sorted > FEW {
        distances.select_nth_unstable_by(FEW, f64::total_cmp);
        sorted = FEW;
    }
    distances[..sorted].sort_unstable_by(f64::total_cmp);
    // Each pass that fails makes the scale at most half as large.
    let refined = loop {
        if scale <= RESOLVED * noise {
            return None;
        }
        match measure(scale, &distances[..sorted], noise) {
            Ok(_) if sorted < distances.len() => {
                distances.sort_unstable_by(f64::total_cmp);
                sorted = distances.len();
            }
            Ok(refined) => break refined,
            Err(smaller) => scale = smaller,
        }
    };
    // The distances from the first value tell the scale to the last bits.
    let (first, last) = (values[0], values[values.len() - 1]);
    let from_first: Vec<f64> = values[1..].iter().map(|x| x - first).collect();
    let scale = measure(refined, &from_first, noise).ok()?;
    let count = ((last - first) / scale).round();
    // Some searches visit every level.
    if !(1.0..=MOST_LEVELS).contains(&count) {
        return None;
    }
    Some(Line { scale: (last - first) / count, offset: first })
}

/// The scale that ascending distances are multiples of, starting from a value that is right for the smallest one. Otherwise the
/// remainder of a distance that is no multiple.
fn measure(mut scale: f64, distances: &[f64], noise: f64) -> Result<f64, f64> {
    let mut largest = 1.0;
    for &distance in distances {
        let multiple = (distance / scale).round();
        let rest = (distance - multiple * scale).abs();
        // The scale itself is off by the noise over the largest multiple so far.
        let tolerance = 2.0 * noise * (1.0 + multiple / largest);
        if rest > tolerance.min(scale / 4.0) {
            return Err(rest);
        }
        if multiple > largest {
            (largest, scale) = (multiple, distance / multiple);
        }
    }
    Ok(scale)
}

impl Line {
    /// Lines to try: with few digits, then through the middle of the permitted range. Each has its offset in the places in which
    /// programs that unpack integers put it.
    pub(super) fn candidates(self, values: &[f64], spacing: fn(f64) -> f64) -> impl Iterator<Item = Line> {
        let fitted = self.least_squares(values);
        let count = ((values[values.len() - 1] - values[0]) / self.scale).round();
        let scales = [short(fitted.scale, fitted.scale / count / 64.0), fitted.scale];
        // At the first value, at zero or next to it, in the middle, and where the first level is the lowest one of 16 bits.
        let places = move |scale: f64| {
            let near_zero = (fitted.offset / scale).round();
            let shifts = [0.0, -near_zero, (count / 2.0).round(), (SHORT / 2.0).floor()];
            shifts.map(|shift| Line { scale, offset: fitted.offset + shift * scale })
        };
        let forms = move |at: Line| {
            let digits = Line { offset: short(at.offset, at.scale / 64.0), ..at };
            // Most searches end before the slow ones.
            (0..4).map(move |form| match form {
                0 => digits,
                1 => at,
                2 => at.settled(values, spacing),
                _ => digits.settled(values, spacing),
            })
        };
        scales.into_iter().flat_map(places).flat_map(forms)
    }

    /// Lines with an offset of few digits, the fewest first, that is the value of a level between the lowest and the highest one.
    pub(super) fn offsets_with_few_digits(self, values: &[f64], noise: f64) -> impl Iterator<Item = Line> {
        const MOST: usize = 8;
        let fitted = self.least_squares(values);
        let count = ((values[values.len() - 1] - values[0]) / self.scale).round() as u64;
        let scale = short(fitted.scale, noise / count as f64);
        let powers = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5];
        let near = powers.into_iter().flat_map(move |power| {
            let first_ones = (0..=count).step_by(BLOCK as usize);
            let may_be = move |&first: &u64| widest(NearDigits { line: fitted, noise, power, first });
            let levels = move |first: u64| first..=count.min(first + BLOCK - 1);
            first_ones.filter(may_be).flat_map(levels).filter_map(move |level| {
                let offset = fitted.offset + level as f64 * fitted.scale;
                let nearest = (offset * power).round() / power;
                ((nearest - offset).abs() <= 2.0 * noise).then_some(Line { scale, offset: nearest })
            })
        });
        near.take(MOST)
    }

    /// Least squares of values over their levels.
    fn least_squares(self, values: &[f64]) -> Line {
        let level = |x: f64| ((x - self.offset) / self.scale).round();
        let n = values.len() as f64;
        let (x0, n0) = (values.iter().sum::<f64>() / n, values.iter().map(|&x| level(x)).sum::<f64>() / n);
        let (mut covariance, mut variance) = (0.0, 0.0);
        for &x in values {
            let d = level(x) - n0;
            covariance += d * (x - x0);
            variance += d * d;
        }
        let scale = if variance > 0.0 { covariance / variance } else { self.scale };
        Line { scale, offset: x0 - n0 * scale }
    }

    /// Moved until every value is within half a spacing of its type, as far as that can be had.
    fn settled(mut self, values: &[f64], spacing: fn(f64) -> f64) -> Line {
        const ROUNDS: usize = 16;
        for _ in 0..ROUNDS {
            let mut moved = false;
            for &x in values {
                let level = ((x - self.offset) / self.scale).round();
                let error = level * self.scale + self.offset - x;
                let allowed = 0.49 * spacing(x.abs());
                if error.abs() > allowed {
                    let part = (error - allowed.copysign(error)) / (1.0 + level * level);
                    self.scale -= part * level;
                    self.offset -= part;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        self
    }
}

/// Levels that are looked at together.
const BLOCK: u64 = 512;

/// Asks whether a level from `first` on may be near a whole number over `power`.
struct NearDigits {
    line: Line,
    noise: f64,
    power: f64,
    first: u64,
}

impl Work for NearDigits {
    type Result = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let NearDigits { line, noise, power, first } = self;
        let (first, most) = (first as f64, 4.0 * noise * power);
        (0..BLOCK as i32).fold(false, |any, i| {
            let scaled = (line.offset + (first + f64::from(i)) * line.scale) * power;
            // Beyond the numbers that this rounds, the result is 0, which is near.
            any | ((scaled - nearest_integer(scaled)).abs() <= most)
        })
    }
}

/// The number with the fewest decimal digits that is this near.
fn short(x: f64, near: f64) -> f64 {
    if x.abs() <= near {
        return 0.0;
    }
    (0..17)
        .find_map(|digits| format!("{x:.digits$e}").parse().ok().filter(|s: &f64| (s - x).abs() <= near))
        .unwrap_or(x)
}
