//! One element after the other, judged and counted.

use super::Bound;
use super::gap::{Element, Gap, mul_down};

/// The statistics of the elements seen so far.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) bound: Option<Bound>,
    pub(super) allowed: Option<f64>,
    pub(super) scale: f64,
    pub(super) squares: f64,
    pub(super) max_abs: Gap,
    pub(super) max_rel: f64,
    pub(super) worst: f64,
    pub(super) violations: u64,
    pub(super) exact_mismatches: u64,
    pub(super) non_finite_mismatches: u64,
}

impl Tally {
    /// Counts one element; returns the square of its error in units of the scale.
    pub(super) fn element<T: Element>(&mut self, x: T, y: T, threshold: f64) -> f64 {
        let same = bytemuck::bytes_of(&x) == bytemuck::bytes_of(&y);
        if !same && (!x.finite() || !y.finite()) {
            self.non_finite_mismatches += 1;
        }
        if !x.bounded(threshold) {
            self.exact_mismatches += u64::from(!same);
            return 0.0;
        }
        if same {
            return 0.0;
        }
        let gap = x.gap(y);
        if gap > self.max_abs {
            self.max_abs = gap;
        }
        let magnitude = x.magnitude();
        if magnitude > 0.0 {
            self.max_rel = self.max_rel.max(gap.high / magnitude);
        }
        let allowed = match self.bound {
            Some(Bound::Rel(eb)) => Some(mul_down(eb, magnitude)),
            _ => self.allowed,
        };
        if let Some(allowed) = allowed {
            self.worst = self.worst.max(gap.over(allowed));
            self.violations += u64::from(gap.exceeds(allowed));
        }
        let unit = gap.high / self.scale;
        unit * unit
    }
}
