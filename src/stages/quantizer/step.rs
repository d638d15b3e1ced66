//! The step of the bins of f32 data, at most twice the bound.
//!
//! The product of a bin and the step is rounded. If a value lies halfway between two bins, that rounding can
//! move both of them out of reach: the value is then stored exactly, which costs a hundred times a code. A
//! step that is a multiple of the spacing of floats at the largest values has exact products, and so no such
//! values, but it is smaller. The best step depends on the values, so a sample decides. Steps are the
//! encoder's choice: decoders read them from the header.

use super::bins::Bins;
use super::params::{self, BoundMetadata, QuantizerParams, SHRINK_BITS};
use super::real::Real;
use crate::base::error::Fault;
use crate::base::tile::{TILE, load};
use crate::ir::kernel::HostCall;

/// Neighboring values that are sampled together.
const GROUP: usize = params::SAMPLE_GROUP as usize;
/// Values to sample at least, if there are as many, and the largest share of the array to leave out.
const SAMPLE: usize = params::SAMPLE_VALUES as usize;
const SPARSE: usize = params::SAMPLE_STRIDE as usize;
/// The cost of an exact value of the quantizer in bits: bits in all planes, twice because differences follow.
pub(super) const EXACT_BITS: u32 = 256;

/// The groups of a sample of `values` values, and the distance between sampled groups.
pub(super) fn sample(values: usize) -> (usize, usize) {
    let stride = (values / SAMPLE).clamp(1, SPARSE);
    ((values / GROUP).div_ceil(stride), stride)
}

/// The metadata with the step that promises the shortest result.
pub(super) fn choose<T: Real>(
    call: &HostCall<'_>,
    p: &QuantizerParams,
    metadata: BoundMetadata,
) -> Result<BoundMetadata, Fault> {
    let src = call.input(0)?;
    let (sampled, stride) = sample(src.len() / 4);
    let misses = |metadata: &BoundMetadata| -> f64 {
        let bins = Bins::<T>::new(p, metadata);
        let per_task = TILE / (GROUP * 4);
        let counts = call.threads.map(sampled.div_ceil(per_task), |task| {
            let mut count = 0;
            for group in (task * per_task..sampled.min((task + 1) * per_task)).map(|k| k * stride) {
                let mut buffer = None;
                let from = group * GROUP * 4;
                count += bins.misses(load::<T>(&src[from..from + GROUP * 4], &mut buffer));
            }
            count
        });
        counts.into_iter().sum::<usize>() as f64
    };
    let exact = f64::from(p.exact_bits);
    let mut best = (misses(&metadata) * exact, metadata);
    for bound in candidates(metadata.promise, metadata.bound_f32) {
        // Candidates shrink, so no later candidate costs less than its shrinking.
        let shrink = (1.0 - f64::from(bound) / metadata.bound) * SHRINK_BITS * (sampled * GROUP) as f64;
        if shrink >= best.0 {
            break;
        }
        let metadata = BoundMetadata { bound: bound.into(), bound_f32: bound, ..metadata };
        let cost = misses(&metadata) * exact + shrink;
        if cost < best.0 {
            best = (cost, metadata);
        }
    }
    Ok(best.1)
}

/// Bounds in descending order, each with a step that has exact products, or products whose rounding cannot
/// matter, for values up to some power of two of bins.
fn candidates(promise: f64, whole: f32) -> Vec<f32> {
    let mut all: Vec<f32> = (8..=22).step_by(2).map(|bits| aligned(promise, bits)).collect();
    all.retain(|b| *b >= f32::MIN_POSITIVE && *b < whole);
    all.sort_by(|a, b| b.total_cmp(a));
    all.dedup();
    all
}

/// The largest such bound for values of up to 2^`bits` bins. Among floats of spacing u a bin reaches floor(b/u)
/// floats to each side, so gaps between bins of up to 2 floor(b/u) + 1 of them leave none out, however products
/// round; and with a step that is a multiple of u all products are exact, here and where floats are denser.
fn aligned(promise: f64, bits: u32) -> f32 {
    let twice = 2.0 * promise;
    let exponent = (twice.to_bits() >> 52) as i32 - 1023;
    let (mut step, mut widest) = (0.0f64, twice);
    for below in 0..24 {
        let u = power_of_two(exponent + bits as i32 - 23 - below);
        step = step.max((widest / u).floor() * u);
        let reach = (promise / u).floor();
        if reach >= 1.0 {
            widest = widest.min((2.0 * reach + 1.0) * u);
        }
        if u <= power_of_two(exponent - 23) {
            break;
        }
    }
    // Its significant bits are at most 24: twice the header's bound is the step itself.
    (step / 2.0) as f32
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023).clamp(1, 2046) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_steps_are_floats_not_above_twice_the_bound() {
        let mut x = 1u64;
        for _ in 0..20_000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let promise = f64::from(f32::from_bits((x >> 33) as u32 % 0x7e00_0000).max(f32::MIN_POSITIVE));
            for bits in (8..=22).step_by(2) {
                let bound = aligned(promise, bits);
                assert!(f64::from(bound) <= promise, "{promise:e} {bits}");
                assert!(f64::from(bound) > promise / 2.0, "{promise:e} {bits}: {bound:e}");
            }
        }
    }

    #[test]
    fn products_of_an_aligned_step_are_exact_or_reach_every_float() {
        // 2 x 1e-4 is 13.1 spacings of the floats around 200: steps of 13 are exact there.
        let promise = f64::from(1e-4f32);
        let step = 2.0 * f64::from(aligned(promise, 20));
        assert_eq!(step, 13.0 * power_of_two(-16));
        // Candidates begin with the least that is given up.
        let all = candidates(promise, 1e-4);
        assert!(all.windows(2).all(|w| w[0] > w[1]) && all[0] < 1e-4);
    }
}
