//! The bound that values are compressed with. It depends only on the dataset, and not on the values of a chunk.
//! So if a chunk is restored, changed in part, and compressed again, its other values do not change.

use crate::element::Element;
use crate::presets::Preset;
use crate::words::{Mode, User};
use fzgm::DType;

/// The bound, and the storage of the fill value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Resolved {
    pub(crate) bound: f64,
    /// Values of this magnitude and above are stored exactly; infinity if there are none.
    pub(crate) threshold: f64,
    /// The fill value, if the form of the chunks stores it.
    pub(crate) fill: Option<f64>,
}

/// The bound of a dataset. A fill value must be restored bit for bit, because programs compare elements with it.
pub(crate) fn resolve(user: User, element: Element, fill: Option<f64>) -> Resolved {
    let exact_from = |bound, threshold| Resolved { bound, threshold, fill: None };
    let size = fill.map(f64::abs).filter(|f| f.is_finite() && *f > 0.0);
    let kept = size.unwrap_or(f64::INFINITY);
    let dtype = element.dtype;
    match user.mode {
        _ if !dtype.is_float() => exact_from(0.0, f64::INFINITY),
        Mode::Lossless => exact_from(0.0, f64::INFINITY),
        // Bins of logarithms do not represent fill values exactly, except 0.
        Mode::Rel(bound) => exact_from(bound, kept),
        Mode::Abs(bound) if user.preset.has_form() => Resolved {
            // The step, twice the bound, must be finite.
            bound: if user.preset == Preset::High { plain(dtype, bound.min(f64::MAX / 4.0)) } else { bound },
            threshold: f64::INFINITY,
            fill: fill.filter(|f| !f.is_nan()),
        },
        Mode::Abs(bound) => match size.map(|f| with_fill(dtype, user.preset, bound, f)) {
            None => exact_from(plain(dtype, bound), f64::INFINITY),
            Some(Some(bound)) => exact_from(bound, f64::INFINITY),
            Some(None) => exact_from(plain(dtype, bound), kept),
        },
    }
}

/// The bound without a fill value. For f32, it has six significant bits: then multiples up to 2^18 of the step do not
/// round, and each value is within the bound of one of its two neighboring bins. For f64, the bound is rounded down to
/// an f32, the type in containers.
fn plain(dtype: DType, bound: f64) -> f64 {
    let dropped = if dtype == DType::F32 { 52 - 5 } else { 52 - 23 };
    let rounded = f64::from_bits(bound.to_bits() >> dropped << dropped);
    if rounded < f64::from(f32::MIN_POSITIVE) { bound } else { rounded }
}

/// The first of several bounds with a bin that equals the fill value; `None` if no bound has such a bin.
fn with_fill(dtype: DType, preset: Preset, bound: f64, fill: f64) -> Option<f64> {
    let plain = plain(dtype, bound);
    // Values beyond these numbers of bins are always stored exactly.
    let bins = match (dtype, preset) {
        (DType::F32, Preset::Auto | Preset::Pfpl) => 1u64 << 22,
        (DType::F32, Preset::Fast) => 1 << 21,
        (DType::F32, _) => 1 << 23,
        (_, Preset::Auto | Preset::Pfpl) => 1 << 31,
        (_, Preset::Fast) => 1 << 51,
        _ => 1 << 52,
    };
    if fill / (2.0 * plain) > bins as f64 * 1.001 {
        return Some(plain);
    }
    let least = (fill / (2.0 * bound)).ceil().max(1.0);
    // Division by a power of two does not round, so the last candidate is right for every fill value of 24 bits.
    let below = f64::from_bits(least.to_bits() >> 52 << 52);
    let power = if below < least { 2.0 * below } else { below };
    let near = (0..4096).map(|k| least + f64::from(k)).take_while(|k| *k < 2.0 * least);
    near.chain([power]).find_map(|bins| {
        let tried = (fill / (2.0 * bins)) as f32;
        let tried = if f64::from(tried) > bound { f32::from_bits(tried.to_bits() - 1) } else { tried };
        let hit = if dtype == DType::F32 {
            f64::from(bins as f32 * (2.0 * tried)) == fill
        } else {
            bins * (2.0 * f64::from(tried)) == fill
        };
        (hit && tried.is_normal() && f64::from(tried) <= bound).then_some(f64::from(tried))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A logarithm would round the exponent of 2^49 + 1 down.
    #[test]
    fn the_last_candidate_is_a_power_of_two_of_at_least_the_first() {
        let (fill, first) = (2f64.powi(50), 2f64.powi(49) + 1.0);
        let bound = fill / (2.0 * first);
        assert_eq!((fill / (2.0 * bound)).ceil(), first);
        assert_eq!(with_fill(DType::F64, Preset::Fast, bound, fill), Some(0.5));
    }

    fn abs(dtype: DType, bound: f64, fill: Option<f64>) -> Resolved {
        let user = User { mode: Mode::Abs(bound), preset: Preset::Auto };
        resolve(user, Element::number(dtype, false), fill)
    }

    #[test]
    fn bounds_are_rounded_down_and_not_far() {
        let mut x = 1u64;
        for _ in 0..10_000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let bound = f64::from_bits((0x390 << 52) + (x >> 3) % (0x80 << 52));
            for (dtype, least) in [(DType::F32, 1.0 - 1.0 / 32.0), (DType::F64, 1.0 - 2.0 / 16_777_216.0)] {
                let r = abs(dtype, bound, None).bound;
                assert!(r <= bound && r >= bound * least, "{dtype} {bound:e} {r:e}");
                assert_eq!(f64::from(r as f32), r);
            }
        }
        // No f32 is near: the library stores everything, or keeps an f64 of its own.
        assert_eq!(abs(DType::F64, 1e-50, None).bound, 1e-50);
    }

    #[test]
    fn a_fill_value_is_a_bin_or_a_threshold() {
        for fill in [-9999.0f32, -1.0, 0.1, 3.0e-4, 1e20, 12345.678] {
            for bound in [1e-2, 0.7, 1e-6, 5000.0] {
                let r = abs(DType::F32, bound, Some(fill.into()));
                let step = 2.0 * r.bound as f32;
                let bins = (fill.abs() / step).round_ties_even();
                let kept = f64::from(fill.abs()) >= r.threshold || bins > 4_194_304.0;
                assert!(r.bound <= bound && r.bound > bound / 2.01 || bins == 1.0, "{fill} {bound} {r:?}");
                assert!(kept || bins * step == fill.abs(), "{fill} {bound} {r:?}");
            }
        }
        // 24 bits are a bin of an f64 too; more of them are no product of an f32.
        assert_eq!(abs(DType::F64, 1e-2, Some(-9999.0)).threshold, f64::INFINITY);
        assert_eq!(abs(DType::F64, 1e-2, Some(0.1)).threshold, 0.1);
        assert_eq!(abs(DType::F32, 1e-2, Some(f64::NAN)), abs(DType::F32, 1e-2, None));
        assert_eq!(abs(DType::F32, 1e-2, Some(-0.0)), abs(DType::F32, 1e-2, None));
        let rel = User { mode: Mode::Rel(1e-3), preset: Preset::Auto };
        assert_eq!(resolve(rel, Element::number(DType::F32, false), Some(-5.0)).threshold, 5.0);
        // The form of the chunks has a place for any fill value, so it costs no bound.
        let high = User { mode: Mode::Abs(0.1), preset: Preset::High };
        let kept = |fill| resolve(high, Element::number(DType::F64, false), Some(fill));
        let plain = plain(DType::F64, 0.1);
        assert_eq!(kept(0.1), Resolved { bound: plain, threshold: f64::INFINITY, fill: Some(0.1) });
        assert_eq!(kept(0.0).fill, Some(0.0));
        let huge = User { mode: Mode::Abs(f64::MAX), preset: Preset::High };
        assert!((2.0 * resolve(huge, Element::number(DType::F64, false), None).bound).is_finite());
        assert_eq!(kept(f64::NAN), Resolved { bound: plain, threshold: f64::INFINITY, fill: None });
        let int = Element::number(DType::I32, false);
        assert_eq!(resolve(rel, int, None), Resolved { bound: 0.0, threshold: f64::INFINITY, fill: None });
    }
}
