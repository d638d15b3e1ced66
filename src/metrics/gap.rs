//! Exact distances between two elements.

use bytemuck::Pod;

/// |x - x'| = high + low exactly, where high is the sum rounded to nearest; infinite beyond f64 and where one
/// of the two is no number.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub(super) struct Gap {
    pub(super) high: f64,
    low: f64,
}

impl Gap {
    const INFINITE: Gap = Gap { high: f64::INFINITY, low: 0.0 };

    fn of_floats(a: f64, b: f64) -> Gap {
        let high = a - b;
        if !high.is_finite() {
            return Gap::INFINITE;
        }
        // Knuth's TwoSum: the part that the subtraction dropped.
        let subtrahend = high - a;
        let low = (a - (high - subtrahend)) + (-b - subtrahend);
        if high < 0.0 { Gap { high: -high, low: -low } } else { Gap { high, low } }
    }

    fn of_integers(a: i128, b: i128) -> Gap {
        let distance = (a - b).abs();
        let high = distance as f64;
        Gap { high, low: (distance - high as i128) as f64 }
    }

    /// True if the distance is above `bound`. high is the nearest f64, so low only decides between equals.
    pub(super) fn exceeds(self, bound: f64) -> bool {
        self.high > bound || (self.high == bound && self.low > 0.0)
    }

    /// The distance in units of `bound`, above 1 exactly when it exceeds it.
    pub(super) fn over(self, bound: f64) -> f64 {
        if self.high == 0.0 {
            return 0.0;
        }
        let ratio = self.high / bound;
        if ratio == 1.0 && self.exceeds(bound) { 1.0 + f64::EPSILON } else { ratio }
    }

    /// The largest f64 that is not above the distance.
    pub(super) fn toward_zero(self) -> f64 {
        match self {
            Gap { high: f64::INFINITY, .. } => f64::MAX,
            Gap { high, low } if low < 0.0 => before(high),
            Gap { high, .. } => high,
        }
    }
}

/// The largest f64 below `x` (x > 0).
fn before(x: f64) -> f64 {
    f64::from_bits(x.to_bits() - 1)
}

/// `a * b` of two numbers that are not negative, rounded toward zero; below 1e-290 to nearest.
pub(super) fn mul_down(a: f64, b: f64) -> f64 {
    let product = a * b;
    if product.is_infinite() {
        return f64::MAX;
    }
    if a.mul_add(b, -product) < 0.0 { before(product) } else { product }
}

/// An element.
pub(super) trait Element: Pod + PartialOrd {
    /// As a number, rounded to nearest.
    fn real(self) -> f64;
    /// Neither NaN nor infinite.
    fn finite(self) -> bool;
    /// |x|, rounded toward zero.
    fn magnitude(self) -> f64;
    /// |x - y|.
    fn gap(self, y: Self) -> Gap;

    /// Has an error rather than being exact.
    fn bounded(self, threshold: f64) -> bool {
        self.finite() && self.magnitude() < threshold
    }
}

macro_rules! float {
    ($($T:ty)*) => {$(
        impl Element for $T {
            fn real(self) -> f64 {
                self.into()
            }
            fn finite(self) -> bool {
                self.is_finite()
            }
            fn magnitude(self) -> f64 {
                self.abs().into()
            }
            fn gap(self, y: Self) -> Gap {
                Gap::of_floats(self.into(), y.into())
            }
        }
    )*};
}
float!(f32 f64);

macro_rules! integer {
    ($($T:ty)*) => {$(
        impl Element for $T {
            fn real(self) -> f64 {
                self as f64
            }
            fn finite(self) -> bool {
                true
            }
            fn magnitude(self) -> f64 {
                self.gap(0).toward_zero()
            }
            fn gap(self, y: Self) -> Gap {
                Gap::of_integers(self.into(), y.into())
            }
        }
    )*};
}
integer!(u8 u16 u32 u64 i8 i16 i32 i64);
