//! Undeclared fill values. A mode that is relative to the values, noa or prel, would treat them as values,
//! and the bound would become so large that the rest of the array is lost. The rule is in
//! `docs/fill-values.md`; it is a function of the values alone, in any order.

use super::values;
use crate::base::byte_source::Source;
use crate::base::dtype::DType;
use crate::base::environment::in_default_environment;
use crate::base::error::Result;
use crate::codec::{DeviceSlice, buffer};
use bytemuck::Pod;

/// Binades that hold no value, between fill values of any kind and the rest.
const GAP: usize = 16;
/// Below this magnitude a value counts as a fill value only if it is a common one.
const LEAST: f64 = 8192.0;
/// From this magnitude on every value above the gap counts.
const HUGE: f64 = 1e15;
/// The largest share of values above the gap is 1 / `RARE`.
const RARE: u64 = 50;
/// How much a common fill value makes the value range larger.
const WIDER: f64 = 4.0;
/// No array has more fill values.
const MOST: usize = 8;

/// Values of a sample, at most.
const SAMPLE: usize = 4096;

/// Magnitudes that are common as fill values.
const COMMON: &[f64] = &[
    99.0,
    99.9,
    99.99,
    999.0,
    999.9,
    999.99,
    9999.0,
    9999.9,
    9999.99,
    99_999.0,
    999_999.0,
    9_999_999.0,
    99_999_999.0,
    32_767.0,
    32_768.0,
    65_535.0,
    2_147_483_647.0,
    2_147_483_648.0,
    1e10,
    1e12,
    1e15,
    1e16,
    1e20,
    9.99e20,
    9.999e20,
    1e30,
    1e31,
    1e32,
    1e33,
    1e34,
    1e35,
    9.96921e36,
    9.969_209_968_386_869e36,
    1e36,
    1e37,
    1e38,
    f32::MAX as f64,
    f64::MAX,
];

/// A value that looks like a fill value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SuspectedFill {
    /// The value.
    pub value: f64,
    /// How many elements have this magnitude.
    pub count: u64,
    /// The smallest magnitude that is as far from the rest: the magnitude of the value, unless other values
    /// are close to it, such as means of values and fill values. This `outlier_threshold` keeps all of them.
    pub threshold: f64,
    /// How many elements have that magnitude or a larger one.
    pub above: u64,
    /// Smallest and largest bounded value of smaller magnitude.
    pub others: (f64, f64),
}

/// Values of one sign and one binade, as the bits of their magnitudes.
#[derive(Clone, Copy)]
struct Bin {
    count: u64,
    least: u64,
    most: u64,
    /// How many have the magnitude `most`.
    of_most: u64,
}

const EMPTY: Bin = Bin { count: 0, least: u64::MAX, most: 0, of_most: 0 };

/// A summary of the bounded values of an array: their range, and the suspected fill values. Values are added
/// in any order and in pieces.
#[derive(Clone)]
pub struct ValueScan {
    dtype: DType,
    threshold: f64,
    zeros: u64,
    /// By exponent; positive and negative values.
    bins: [Vec<Bin>; 2],
}

impl ValueScan {
    /// A scan of an array whose values of magnitude `outlier_threshold` and above are exact. Arrays of
    /// integers have no summary.
    pub fn new(dtype: DType, outlier_threshold: f64) -> ValueScan {
        let exponents = match dtype {
            DType::F32 => 1 << 8,
            DType::F64 => 1 << 11,
            _ => 0,
        };
        let bins = || vec![EMPTY; exponents];
        ValueScan { dtype, threshold: outlier_threshold, zeros: 0, bins: [bins(), bins()] }
    }

    /// Adds elements in little-endian order. Bytes behind the last whole element are not looked at.
    pub fn add(&mut self, bytes: &[u8]) {
        in_default_environment(|| self.elements(bytes));
    }

    fn elements(&mut self, bytes: &[u8]) {
        match self.dtype {
            DType::F32 => {
                let least = threshold_bits(
                    self.threshold,
                    |x| u64::from((x as f32).to_bits()),
                    |b| f64::from(f32::from_bits(b as u32)),
                );
                for bits in values::<u32>(bytes) {
                    self.element(u64::from(bits & 0x7fff_ffff), bits >> 31 != 0, 23, least);
                }
            }
            DType::F64 => {
                let least = threshold_bits(self.threshold, f64::to_bits, f64::from_bits);
                for bits in values::<u64>(bytes) {
                    self.element(bits & (u64::MAX >> 1), bits >> 63 != 0, 52, least);
                }
            }
            _ => {}
        }
    }

    /// An element of magnitude `bits`, which is bounded if it is below `threshold`.
    #[inline]
    fn element(&mut self, bits: u64, negative: bool, mantissa: u32, threshold: u64) {
        if bits >= threshold {
            return;
        }
        if bits == 0 {
            self.zeros += 1;
            return;
        }
        let Some(bin) = self.bins[usize::from(negative)].get_mut((bits >> mantissa) as usize) else { return };
        bin.count += 1;
        bin.least = bin.least.min(bits);
        if bits > bin.most {
            (bin.most, bin.of_most) = (bits, 1);
        } else if bits == bin.most {
            bin.of_most += 1;
        }
    }

    /// Smallest and largest bounded value; `None` if there is none.
    pub fn range(&self) -> Option<(f64, f64)> {
        in_default_environment(|| self.range_below(self.bins[0].len()))
    }

    /// The suspected fill values, largest magnitude first.
    pub fn suspects(&self) -> Vec<SuspectedFill> {
        in_default_environment(|| self.search())
    }

    fn search(&self) -> Vec<SuspectedFill> {
        let (mut found, mut end) = (vec![], self.bins[0].len());
        while let Some((suspect, rest)) = self.common(end).or_else(|| self.apart(end)) {
            found.push(suspect);
            end = rest;
            if found.len() == MOST {
                break;
            }
        }
        found
    }

    fn value(&self, bits: u64) -> f64 {
        match self.dtype {
            DType::F32 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    }

    /// Values of the binade, both signs.
    fn count(&self, exponent: usize) -> u64 {
        self.bins.iter().map(|bins| bins[exponent].count).sum()
    }

    /// Range of the values of the binades before `end`.
    fn range_below(&self, end: usize) -> Option<(f64, f64)> {
        let ends = |bins: &[Bin]| {
            let mut used = bins[..end].iter().filter(|b| b.count > 0);
            let first = used.next()?;
            let last = used.next_back().unwrap_or(first);
            Some((self.value(first.least), self.value(last.most)))
        };
        let (positive, negative) = (ends(&self.bins[0]), ends(&self.bins[1]));
        let zero = (self.zeros > 0).then_some(0.0);
        let low = negative.map(|n| -n.1).or(zero).or(positive.map(|p| p.0))?;
        let high = positive.map(|p| p.1).or(zero).or(negative.map(|n| -n.0))?;
        Some((low, high))
    }

    /// The largest magnitude before `end`: its binade, its value, and the number of its occurrences.
    fn largest(&self, end: usize) -> Option<(usize, f64, u64)> {
        let top = (0..end).rev().find(|e| self.count(*e) > 0)?;
        let [positive, negative] = [self.bins[0][top], self.bins[1][top]];
        let most = positive.most.max(negative.most);
        let count = [positive, negative].iter().filter(|b| b.most == most).map(|b| b.of_most).sum();
        let value = self.value(most);
        Some((top, if positive.most == most { value } else { -value }, count))
    }

    /// A common fill value that is repeated, alone in its binade, and makes the range much wider.
    fn common(&self, end: usize) -> Option<(SuspectedFill, usize)> {
        let (top, value, count) = self.largest(end)?;
        let known = COMMON.iter().any(|c| self.is(value.abs(), *c)) || value == -1.0;
        if !known || count < 2 || count != self.count(top) {
            return None;
        }
        let (all, others) = (self.range_below(end)?, self.range_below(top)?);
        let rest = others.1 - others.0;
        let wider = rest > 0.0 && all.1 / WIDER - all.0 / WIDER >= rest;
        let suspect = SuspectedFill { value, count, threshold: value.abs(), above: count, others };
        wider.then_some((suspect, top))
    }

    /// True if a magnitude is `common` in this element type, also if it was rounded to f32 before.
    fn is(&self, magnitude: f64, common: f64) -> bool {
        let rounded = f64::from(common as f32);
        magnitude == rounded || self.dtype == DType::F64 && magnitude == common
    }

    /// A value far above the rest, with nothing in between.
    fn apart(&self, end: usize) -> Option<(SuspectedFill, usize)> {
        let (top, value, count) = self.largest(end)?;
        if value.abs() < LEAST {
            return None;
        }
        // The lowest binade above the first gap, with something below that is no zero.
        let (mut low, mut above) = (top, self.count(top));
        for e in (0..top).rev().filter(|e| self.count(*e) > 0) {
            if low - e > GAP {
                break;
            }
            (low, above) = (e, above + self.count(e));
        }
        let below = (0..low).map(|e| self.count(e)).sum::<u64>();
        let others = self.range_below(low).filter(|r| below > 0 && r.0 < r.1)?;
        let rare = above.saturating_mul(RARE) <= below + self.zeros;
        let least = self.bins.iter().map(|bins| bins[low].least).min()?;
        let threshold = self.value(least);
        let fill = value.abs() >= HUGE || 2 * count >= above || rare;
        fill.then_some((SuspectedFill { value, count, threshold, above, others }, low))
    }
}

/// The bits of the smallest magnitude that is not below `threshold`; of infinity, if there is none.
fn threshold_bits(threshold: f64, to: impl Fn(f64) -> u64, from: impl Fn(u64) -> f64) -> u64 {
    let infinity = to(f64::INFINITY);
    if !(threshold > 0.0 && threshold.is_finite()) {
        return infinity;
    }
    let nearest = to(threshold);
    // Rounded to the nearest one, it may be below.
    let least = if from(nearest) < threshold { nearest + 1 } else { nearest };
    least.min(infinity)
}

/// The suspected fill values of an array whose values of magnitude `outlier_threshold` and above are exact,
/// largest magnitude first. Arrays of integers have none.
pub fn suspected_fills(dtype: DType, bytes: &[u8], outlier_threshold: f64) -> Vec<SuspectedFill> {
    let mut scan = ValueScan::new(dtype, outlier_threshold);
    scan.add(bytes);
    scan.suspects()
}

/// [`suspected_fills`] with a given `range`, the value range or a number above it: a sample decides whether
/// all values are read. The result differs from that of [`suspected_fills`] only if the values that are no
/// fill values are rarer than one in 4096.
pub fn suspected_fills_in_range(
    dtype: DType,
    bytes: &[u8],
    outlier_threshold: f64,
    range: f64,
) -> Vec<SuspectedFill> {
    let plain = in_default_environment(|| match dtype {
        DType::F32 => is_plain(&sample::<f32>(bytes, outlier_threshold), range),
        DType::F64 => is_plain(&sample::<f64>(bytes, outlier_threshold), range),
        _ => true,
    });
    if plain { vec![] } else { suspected_fills(dtype, bytes, outlier_threshold) }
}

/// Bounded values at equal distances, an odd number of elements: rows often have an even one, and all values would be from one column.
pub(super) fn sample<T: Pod + Into<f64>>(bytes: &[u8], outlier_threshold: f64) -> Vec<f64> {
    let width = size_of::<T>();
    let distance = ((bytes.len() / width / SAMPLE) | 1) * width;
    let first = bytes.chunks(distance).filter_map(|chunk| values::<T>(chunk.get(..width)?).next());
    first.map(Into::into).filter(|x| x.abs() < outlier_threshold.min(f64::INFINITY)).collect()
}

/// True if a sample shows that no value can be a suspected fill value. If there is one, the other values have
/// at most a quarter of the range: all values of the sample, or those below its largest magnitude, or those
/// below a gap, which counts in arrays with a magnitude of 8192 or more.
pub(super) fn is_plain(sample: &[f64], range: f64) -> bool {
    let most = sample.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    // The range may have been rounded to f32. Both sides are divided once more, so that no difference overflows.
    let is_narrow = |below: f64| {
        let values = || sample.iter().copied().filter(|x| x.abs() < below);
        let (low, high) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        high / WIDER - low / WIDER <= range / WIDER / WIDER * (1.0 + 1e-6)
    };
    let mut binades = [false; 1 << 11];
    sample.iter().filter(|x| **x != 0.0).for_each(|x| binades[(x.abs().to_bits() >> 52) as usize] = true);
    let used: Vec<usize> = (0..binades.len()).filter(|e| binades[*e]).collect();
    let has_gap = used.windows(2).any(|w| w[1] - w[0] > GAP);
    !(is_narrow(f64::INFINITY) || is_narrow(most) || has_gap && range >= LEAST / 2.0)
}

/// [`suspected_fills`] of an array in memory of any kind. The call waits for the device and copies the array
/// from there in pieces.
///
/// # Errors
/// [`Error::Device`](crate::Error::Device), [`Error::OutOfMemory`](crate::Error::OutOfMemory).
///
/// # Safety
/// `array` must be memory of the stated length that does not change during the call.
#[allow(unsafe_code)]
pub unsafe fn suspected_fills_at(
    dtype: DType,
    array: DeviceSlice,
    outlier_threshold: f64,
) -> Result<Vec<SuspectedFill>> {
    /// Bytes of a piece, a multiple of every width.
    const PIECE: u64 = 16 << 20;
    let mut scan = ValueScan::new(dtype, outlier_threshold);
    let pieces = |source: &dyn Source| {
        if let Some(bytes) = source.memory() {
            scan.add(bytes);
            return Ok(());
        }
        let mut piece = buffer(PIECE.min(source.bytes()))?;
        for at in (0..source.bytes()).step_by(PIECE as usize) {
            piece.truncate((source.bytes() - at).min(PIECE) as usize);
            source.fill(at, &mut piece)?;
            scan.add(&piece);
        }
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { array.read(pieces) }?;
    Ok(scan.suspects())
}
