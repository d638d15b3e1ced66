//! Counts of bytes as weights that sum to one.

use super::ONE;

/// The weight of each byte, and the sum of those before it.
pub(super) struct Weights {
    pub(super) of: [u32; 256],
    pub(super) before: [u32; 256],
}

impl Weights {
    /// The weights for these counts, of which `n` is the sum.
    pub(super) fn new(counts: &[u32; 256], n: u32) -> Weights {
        let mut of = [0u32; 256];
        for (weight, &count) in of.iter_mut().zip(counts) {
            // Both conversions and the quotient round to nearest; the product is exact.
            let share = ONE as f32 * (count as f32 / n as f32);
            *weight = (share as u32).max(u32::from(count > 0));
        }
        let mut order: [usize; 256] = std::array::from_fn(|i| i);
        order.sort_unstable_by_key(|&s| std::cmp::Reverse((of[s], s))); // seed: ans-order
        let mut sum: u32 = of.iter().sum();
        // Missing weight goes to the smallest bytes, which may not occur.
        while sum < ONE {
            let some = (ONE - sum).min(256);
            of[..some as usize].iter_mut().for_each(|w| *w += 1);
            sum += some;
        }
        // Excess weight is subtracted from the smallest weights that are above one.
        while sum > ONE {
            let above = order.iter().filter(|&&s| of[s] > 1).count();
            let some = ((sum - ONE) as usize).min(above);
            order[above - some..above].iter().for_each(|&s| of[s] -= 1);
            sum -= some as u32;
        }
        Weights::sums(of)
    }

    /// With the sums of the weights before each.
    pub(super) fn sums(of: [u32; 256]) -> Weights {
        let mut before = [0; 256];
        for s in 1..256 {
            before[s] = before[s - 1] + of[s - 1];
        }
        Weights { of, before }
    }
}
