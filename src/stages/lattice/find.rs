//! The lattice of a sample of values: distance and offset of evenly spaced levels, and the formula that makes the very bits of them.

use super::FORMULAS;
use super::fit::{self, Line};
use super::params::{FORMULA_DIVIDE, FORMULA_F32, FORMULA_F64, LatticeParams};
use super::value::LatticeValue;
use crate::base::dtype::DType;
use crate::base::error::Result;
use crate::base::param::Args;

/// Levels of a lattice that is worth it, at most: coders tell that many apart.
pub(super) const MOST_LEVELS: f64 = 1_048_576.0;
/// Values that formulas are tried with.
const PROBES: usize = 512;
/// Bits of rests that a value may have on average.
const MOST_BITS: usize = 4;
/// One of 32 values may have other low bits than the power of two.
const ODD: usize = 32;

/// A lattice that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FoundLattice {
    pub(crate) scale: f64,
    pub(crate) offset: f64,
    /// Index of the word of parameter `formula`.
    formula: u32,
    /// The smallest and the largest level of the sample.
    pub(crate) levels: (f64, f64),
}

impl FoundLattice {
    /// Sets the parameters of a stage.
    pub(crate) fn apply(&self, args: &mut Args) -> Result<()> {
        args.set_text("formula", FORMULAS.get(self.formula as usize).copied().unwrap_or("f64"))?;
        args.set_real("scale", self.scale)?;
        args.set_real("offset", self.offset)
    }

    /// The level that is nearest to a value; 0 of NaN.
    pub(crate) fn level(&self, x: f64) -> i64 {
        let distance = x - self.offset;
        (if self.formula == FORMULA_DIVIDE { distance * self.scale } else { distance / self.scale }).round()
            as i64
    }

    /// Distance of two levels in data units.
    pub(crate) fn step(&self) -> f64 {
        if self.formula == FORMULA_DIVIDE { 1.0 / self.scale } else { self.scale }
    }
}

impl std::fmt::Display for FoundLattice {
    /// Such as `int16 unpacking: scale 0.01, offset 273.15, computed in f64`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FoundLattice { scale, offset, formula, levels } = *self;
        if formula == FORMULA_DIVIDE {
            return write!(f, "decimal numbers: whole numbers over {scale}");
        }
        let what = match levels.1 - levels.0 {
            span if (scale.to_bits() << 12) == 0 && offset == 0.0 => {
                return write!(f, "multiples of {scale:?}, {} levels", span + 1.0);
            }
            span if span <= 255.0 => "int8 unpacking",
            span if span <= 65535.0 => "int16 unpacking",
            _ => "evenly spaced levels",
        };
        write!(
            f,
            "{what}: scale {scale:?}, offset {offset:?}, computed in {}",
            FORMULAS.get(formula as usize).unwrap_or(&"f64")
        )
    }
}

/// The lattice of most of these values, if they have one.
pub(crate) fn find(dtype: DType, values: &[f64]) -> Option<FoundLattice> {
    // Integers in the order of the values, which are sorted without a branch for each comparison.
    let turned = |bits: i64| bits ^ ((bits >> 63) as u64 >> 1) as i64;
    let finite = values.iter().filter(|x| x.is_finite());
    let mut distinct: Vec<i64> = finite.map(|x| turned(x.to_bits() as i64)).collect();
    distinct.sort_unstable();
    let mut distinct: Vec<f64> = distinct.into_iter().map(|key| f64::from_bits(turned(key) as u64)).collect();
    distinct.dedup_by(|a, b| a == b);
    if distinct.len() < 3 {
        return None;
    }
    match dtype {
        DType::F32 => Search::<f32>::new(dtype, &distinct).run(),
        DType::F64 => Search::<f64>::new(dtype, &distinct).run(),
        _ => None,
    }
}

struct Search<'a, T> {
    dtype: DType,
    /// Ascending.
    distinct: &'a [f64],
    probes: Vec<T>,
    /// With the bits of the rests of all probes.
    best: Option<(usize, FoundLattice)>,
}

impl<'a, T: LatticeValue> Search<'a, T> {
    fn new(dtype: DType, distinct: &'a [f64]) -> Self {
        let step = distinct.len().div_ceil(PROBES);
        let probes = distinct.iter().step_by(step).map(|&x| T::from_f64(x)).collect();
        Search { dtype, distinct, probes, best: None }
    }

    fn run(mut self) -> Option<FoundLattice> {
        self.binary();
        self.decimal();
        if !self.is_dense() {
            self.affine();
        }
        self.best.map(|(_, found)| found)
    }

    fn is_complete(&self) -> bool {
        self.best.is_some_and(|(bits, _)| bits == 0)
    }

    /// True if one of 64 levels has a value: a lattice with fewer levels is unlikely.
    fn is_dense(&self) -> bool {
        let dense = |found: FoundLattice| found.levels.1 - found.levels.0 < 64.0 * self.distinct.len() as f64;
        self.best.is_some_and(|(bits, found)| bits == 0 && dense(found))
    }

    /// Multiples of a power of two; one of 32 values may be off.
    fn binary(&mut self) {
        let mut lowest: Vec<i32> =
            self.distinct.iter().filter(|x| **x != 0.0).map(|&x| lowest_bit(x)).collect();
        if lowest.is_empty() {
            return;
        }
        let place = lowest.len() / ODD;
        let (_, &mut exponent, _) = lowest.select_nth_unstable(place);
        if !(-120..=120).contains(&exponent) {
            return;
        }
        let scale = f64::from_bits(((exponent + 1023) as u64) << 52);
        // A quarter of the values may be beside it, at either end.
        let quarter = self.distinct.len() / 4;
        let [low, middle, high] =
            [quarter, 2 * quarter, 3 * quarter].map(|i| (self.distinct[i] / scale).round());
        let offset = if low.abs().max(high.abs()) < MOST_LEVELS { 0.0 } else { middle * scale };
        self.offer(scale, offset, FORMULA_F64);
    }

    /// Numbers with few decimal digits.
    fn decimal(&mut self) {
        let mut power = 1.0;
        for _ in 0..16 {
            self.offer(power, 0.0, FORMULA_DIVIDE);
            power *= 10.0;
        }
    }

    /// Scale and offset from the distances of values.
    fn affine(&mut self) {
        // Values of f64 that came from f32 have the spacing of f32.
        let narrow = self.probes.iter().all(|x| f64::from(x.to_f64() as f32) == x.to_f64());
        let spacing = if narrow { <f32 as LatticeValue>::spacing } else { T::spacing };
        // A value beside the lattice is in one of the parts only.
        let (low, high) = self.distinct.split_at(self.distinct.len() / 2);
        let middle = &self.distinct[self.distinct.len() / 4..][..high.len()];
        let fit = |part: &'a [f64]| {
            let (first, last) = (*part.first()?, *part.last()?);
            let noise = spacing(first.abs().max(last.abs()));
            Some((part, noise, fit::line(part, noise)?))
        };
        let Some((part, noise, line)) = [self.distinct, low, high, middle].into_iter().find_map(fit) else {
            return;
        };
        let values: Vec<f64> = part.iter().step_by(part.len().div_ceil(PROBES)).copied().collect();
        for line in line.candidates(&values, spacing) {
            self.offer_line(line);
            if self.is_complete() {
                return;
            }
        }
        line.offsets_with_few_digits(&values, noise).for_each(|line| self.offer_line(line));
    }

    fn offer_line(&mut self, Line { scale, offset }: Line) {
        self.offer(scale, offset, FORMULA_F64);
        if self.is_complete() {
            return;
        }
        // The formula in f32 has few numbers to choose from; that in f64 may need the last bits of both.
        for i in -2..=2 {
            for j in -2..=2 {
                let near =
                    |x: f64, i: i32| f64::from(f32::from_bits((x as f32).to_bits().wrapping_add_signed(i)));
                self.offer(near(scale, i), near(offset, j), FORMULA_F32);
                if size_of::<T>() == 8 {
                    let near = |x: f64, i: i64| f64::from_bits(x.to_bits().wrapping_add_signed(i));
                    self.offer(near(scale, i64::from(i)), near(offset, i64::from(j)), FORMULA_F64);
                }
            }
        }
    }

    /// Keeps the formula if it leaves shorter rests than the best one, or as long ones with fewer levels.
    fn offer(&mut self, scale: f64, offset: f64, formula: u32) {
        let Ok(p) = LatticeParams::new(scale, offset, formula, self.dtype) else { return };
        let step = if formula == FORMULA_DIVIDE { 1.0 / scale } else { scale };
        let most = match self.best {
            Some((bits, best)) if step > 1.5 * best.step() => bits,
            Some((0, _)) => return,
            Some((bits, _)) => bits - 1,
            None => MOST_BITS * self.probes.len(),
        };
        let mut bits = 0;
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for &x in &self.probes {
            let (level, rest) = p.split(x);
            let (level, rest): (f64, u64) = (level.to_f64(), rest.into());
            if level.abs() < p.limit {
                bits += (u64::BITS - rest.leading_zeros()) as usize;
                (low, high) = (low.min(level), high.max(level));
            } else {
                // It has no level.
                bits += 8 * size_of::<T>();
            }
            if bits > most {
                return;
            }
        }
        if high - low <= MOST_LEVELS {
            self.best = Some((bits, FoundLattice { scale, offset, formula, levels: (low, high) }));
        }
    }
}

/// The exponent of the lowest bit that is set, of a number other than 0.
fn lowest_bit(x: f64) -> i32 {
    let (bits, exponent) = (x.to_bits() & ((1 << 52) - 1), ((x.to_bits() >> 52) & 0x7ff) as i32);
    let (mantissa, exponent) = if exponent == 0 { (bits, 1) } else { (bits | 1 << 52, exponent) };
    mantissa.trailing_zeros() as i32 + exponent - 1075
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers below `n` that look random.
    fn numbers(n: u64) -> impl Iterator<Item = f64> {
        let mut state = 7u64;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % n) as f64
        })
    }

    fn sample(n: u64, value: impl Fn(f64) -> f64) -> Vec<f64> {
        numbers(n).take(8192).map(value).collect()
    }

    /// Share of the values that a found lattice makes.
    fn share<T: LatticeValue>(dtype: DType, values: &[f64]) -> (f64, FoundLattice) {
        let found =
            find(dtype, values).unwrap_or_else(|| panic!("no lattice in {dtype:?} {:?}", &values[..8]));
        let p = LatticeParams::new(found.scale, found.offset, found.formula, dtype)
            .expect("numbers of the stage");
        let level = |x: f64| ((x - found.offset) * p.rate).round();
        let hits = values.iter().filter(|&&x| p.value_at::<T>(level(x)) == T::from_f64(x)).count();
        (hits as f64 / values.len() as f64, found)
    }

    #[test]
    fn unpacked_integers_have_the_lattice_of_their_formula() {
        for (scale, offset) in
            [(0.01, 0.0), (0.0012345678, 273.15), (3.7e-5, -1.5), (1.7e-3 / 65534.0, 5e-4), (17.3, 1.2e6)]
        {
            let f64s = sample(65000, |n| (n - 32500.0) * scale + offset);
            let (hits, found) = share::<f64>(DType::F64, &f64s);
            // Where the offset has many digits, some values are a unit of the last place off, which is one bit of a rest.
            assert!(
                hits > 0.6 && (found.step() / scale - 1.0).abs() < 1e-6,
                "f64 {scale} {offset}: {hits} {found:?}"
            );
            let f32s: Vec<f64> = f64s.iter().map(|&x| f64::from(x as f32)).collect();
            let (hits, found) = share::<f32>(DType::F32, &f32s);
            assert!(
                hits > 0.9 && (found.step() / scale - 1.0).abs() < 1e-4,
                "f32 {scale} {offset}: {hits} {found:?}"
            );
            let in_f32 = sample(65000, |n| f64::from((n - 32500.0) as f32 * scale as f32 + offset as f32));
            for (hits, found) in [share::<f32>(DType::F32, &in_f32), share::<f64>(DType::F64, &in_f32)] {
                assert!(
                    hits > 0.8 && (found.step() / scale - 1.0).abs() < 1e-4,
                    "in f32 {scale} {offset}: {hits} {found:?}"
                );
            }
        }
    }

    #[test]
    fn powers_and_digits_are_exact() {
        for exponent in [-100, -4, 0, 5, 100] {
            let step = 2f64.powi(exponent);
            let (hits, found) = share::<f32>(DType::F32, &sample(4000, |n| (n - 100.0) * step));
            assert_eq!((hits, found.step()), (1.0, step));
        }
        for digits in 0..6 {
            let power = 10f64.powi(digits);
            let f32s = sample(40000, |n| f64::from(((n - 20000.0) / power) as f32));
            assert_eq!(share::<f32>(DType::F32, &f32s).0, 1.0, "{digits}");
            let (hits, found) = share::<f64>(DType::F64, &sample(40000, |n| (n - 20000.0) / power));
            assert!(hits == 1.0 && (found.step() * power - 1.0).abs() < 1e-12, "{digits}: {found:?}");
        }
    }

    #[test]
    fn gaps_may_all_be_multiples() {
        let values = sample(500, |n| (if n < 250.0 { 16.0 } else { 17.0 } * n) * 0.00047784652 - 17.125);
        let (hits, found) = share::<f64>(DType::F64, &values);
        assert!(hits > 0.6 && (found.step() / 0.00047784652 - 1.0).abs() < 1e-9, "{hits} {found:?}");
    }

    #[test]
    fn some_values_may_be_beside_it() {
        let mut values = sample(5000, |n| f64::from((n * 0.0123 - 17.125) as f32));
        let at = values.len() / 2;
        values[at] = f64::from((values[at] + 1e-3) as f32);
        values.extend([1e20, f64::NAN, -1e30]);
        let (hits, found) = share::<f32>(DType::F32, &values[..values.len() - 3]);
        assert!(hits > 0.99 && (found.step() / 0.0123 - 1.0).abs() < 1e-4, "{hits} {found:?}");
    }

    #[test]
    fn other_values_have_none() {
        assert_eq!(find(DType::F64, &sample(1 << 30, |n| (n * 1e-9).sin())), None);
        assert_eq!(find(DType::F32, &sample(1 << 30, |n| f64::from((n * 1e-9).sin() as f32))), None);
        assert_eq!(find(DType::F32, &sample(2, |n| n)), None);
        assert_eq!(find(DType::F32, &[f64::NAN; 100]), None);
    }

    /// Three values have a common measure with up to 2^50 levels, which no search may visit one by one.
    #[test]
    fn distant_values_have_none() {
        for top in [21, 30, 45, 48] {
            let values = [0.0, 1.0, 3.0, 2f64.powi(top)].map(|n| n * 7.310585786300049e-31 + 1.7e-32);
            assert_eq!(find(DType::F64, &values), None, "2^{top}");
        }
        let largest = [f64::MIN, -1e300, 0.0, 1e300, f64::MAX];
        assert_eq!(find(DType::F64, &largest), None);
    }
}
