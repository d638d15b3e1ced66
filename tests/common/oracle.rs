//! The judge of the error bound, in exact integer arithmetic. It shares no code with the encoder and no
//! assumption about floats beyond the meaning of their bits: every finite float is an integer times a power
//! of two.

use fzgm::DType;
use num_bigint::BigInt;
use num_traits::Signed;

/// The bound as the user gave it.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// |x - x'| <= eb.
    Abs(f64),
    /// |x - x'| <= eb (max - min) of the bounded values.
    Noa(f64),
    /// |x - x'| <= eb max |x| of the bounded values.
    Prel(f64),
    /// |x - x'| <= eb base.
    NoaOf(f64, f64),
    /// |x - x'| <= eb |x|.
    Rel(f64),
}

impl Bound {
    /// The bound of a mode of the quantizer, by its name.
    pub fn of(mode: &str, eb: f64) -> Bound {
        match mode {
            "abs" => Bound::Abs(eb),
            "noa" => Bound::Noa(eb),
            "rel" => Bound::Rel(eb),
            "prel" => Bound::Prel(eb),
            other => panic!("no mode {other}"),
        }
    }
}

/// The measurements of the judge in an array that keeps its promise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Values that the bound is for.
    pub bounded: usize,
    /// Largest error over the bound, rounded; 0 where the bound is 0.
    pub worst: f64,
}

/// `m` times two to the power of `e`.
#[derive(Clone, Debug)]
pub struct Dyadic {
    m: BigInt,
    e: i64,
}

impl Dyadic {
    /// The value of a finite float, from its bits.
    pub fn of(x: f64) -> Dyadic {
        let bits = x.to_bits();
        let (field, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
        assert!(field != 0x7ff, "{x} has no value");
        let (m, e) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
        let m = BigInt::from(m);
        Dyadic { m: if bits >> 63 == 1 { -m } else { m }, e }
    }

    /// Both mantissas at the smaller of the two exponents.
    fn aligned(&self, other: &Dyadic) -> (BigInt, BigInt, i64) {
        let e = self.e.min(other.e);
        (&self.m << (self.e - e) as usize, &other.m << (other.e - e) as usize, e)
    }

    pub fn minus(&self, other: &Dyadic) -> Dyadic {
        let (a, b, e) = self.aligned(other);
        Dyadic { m: a - b, e }
    }

    pub fn times(&self, other: &Dyadic) -> Dyadic {
        Dyadic { m: &self.m * &other.m, e: self.e + other.e }
    }

    pub fn magnitude(&self) -> Dyadic {
        Dyadic { m: self.m.abs(), e: self.e }
    }

    pub fn at_most(&self, other: &Dyadic) -> bool {
        let (a, b, _) = self.aligned(other);
        a <= b
    }
}

/// A float type, seen as f64 values (every f32 is one) and bits.
trait Float: Copy {
    /// The values of an array.
    fn all(bytes: &[u8]) -> impl Iterator<Item = Self>;
    fn value(self) -> f64;
    fn bits(self) -> u64;
    /// The threshold in the type of the array.
    fn round(threshold: f64) -> f64;
}

impl Float for f32 {
    fn all(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.chunks_exact(size_of::<f32>()).map(|b| f32::from_le_bytes(b.try_into().unwrap()))
    }
    fn value(self) -> f64 {
        self.into()
    }
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
    fn round(threshold: f64) -> f64 {
        (threshold as f32).into()
    }
}

impl Float for f64 {
    fn all(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.chunks_exact(size_of::<f64>()).map(|b| f64::from_le_bytes(b.try_into().unwrap()))
    }
    fn value(self) -> f64 {
        self
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn round(threshold: f64) -> f64 {
        threshold
    }
}

/// Judges `restored` against `original`. The error names the first value that breaks the promise.
pub fn judge(
    dtype: DType,
    original: &[u8],
    restored: &[u8],
    bound: Bound,
    threshold: f64,
) -> Result<Verdict, String> {
    if original.len() != restored.len() {
        return Err(format!("{} bytes came back from {}", restored.len(), original.len()));
    }
    match dtype {
        DType::F32 => judge_values::<f32>(original, restored, bound, threshold),
        DType::F64 => judge_values::<f64>(original, restored, bound, threshold),
        other => Err(format!("there is no bound for {other}")),
    }
}

/// Bytes that are worth a thread.
const PART: usize = 1 << 24;

/// `f` of pieces of both arrays and the index of their first byte, in order.
fn in_parts<R: Send>(a: &[u8], b: &[u8], f: impl Fn(usize, &[u8], &[u8]) -> R + Sync) -> Vec<R> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let part = a.len().div_ceil(workers).next_multiple_of(8).max(PART);
    let pieces = a.chunks(part).zip(b.chunks(part)).enumerate();
    if a.len() <= part {
        return pieces.map(|(k, (a, b))| f(k * part, a, b)).collect();
    }
    let f = &f;
    std::thread::scope(|s| {
        let running: Vec<_> = pieces.map(|(k, (a, b))| s.spawn(move || f(k * part, a, b))).collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    })
}

fn judge_values<T: Float>(
    original: &[u8],
    restored: &[u8],
    bound: Bound,
    threshold: f64,
) -> Result<Verdict, String> {
    let limit = T::round(threshold);
    let bounded = |x: f64| x.is_finite() && x.abs() < limit;
    let extremes = in_parts(original, original, |_, part, _| {
        extremes(T::all(part).map(T::value).filter(|&x| bounded(x)))
    });
    let extremes = extremes.into_iter().flatten().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let (exact, clear) = (allowed(extremes, bound), clearly_below(extremes, bound));
    let verdicts = in_parts(original, restored, |at, a, b| {
        let first = at / size_of::<T>();
        judge_part(first, T::all(a).zip(T::all(b)), bound, bounded, (&exact, clear))
    });
    let mut verdict = Verdict::default();
    for part in verdicts {
        let part = part?;
        verdict.bounded += part.bounded;
        verdict.worst = verdict.worst.max(part.worst);
    }
    Ok(verdict)
}

fn judge_part<T: Float>(
    first: usize,
    pairs: impl Iterator<Item = (T, T)>,
    bound: Bound,
    bounded: impl Fn(f64) -> bool,
    (exact, clear): (&Dyadic, f64),
) -> Result<Verdict, String> {
    let mut verdict = Verdict::default();
    for (i, (a, b)) in (first..).zip(pairs) {
        let (x, y) = (a.value(), b.value());
        if !bounded(x) {
            if a.bits() != b.bits() {
                return Err(format!(
                    "value {i}: {x:?} ({:#x}) came back as {y:?} ({:#x})",
                    a.bits(),
                    b.bits()
                ));
            }
            continue;
        }
        verdict.bounded += 1;
        // A difference is never rounded to zero.
        let error = (x - y).abs();
        if error == 0.0 {
            continue;
        }
        let clear = if let Bound::Rel(eb) = bound { clear_of(eb * x.abs()) } else { clear };
        verdict.worst = verdict.worst.max(if clear > 0.0 { error / clear } else { 0.0 });
        if error < clear {
            continue;
        }
        let exact_error = || Dyadic::of(x).minus(&Dyadic::of(y)).magnitude();
        let of_value = |eb: f64| Dyadic::of(eb).times(&Dyadic::of(x)).magnitude();
        let keeps = || match bound {
            Bound::Rel(eb) => exact_error().at_most(&of_value(eb)),
            _ => exact_error().at_most(exact),
        };
        if !y.is_finite() || !keeps() {
            return Err(format!(
                "value {i}: {x:?} came back as {y:?}, beyond the bound {bound:?} (about {clear:?})"
            ));
        }
    }
    Ok(verdict)
}

/// The bound as a number, exactly; under rel there is none for all values.
fn allowed(extremes: Option<(f64, f64)>, bound: Bound) -> Dyadic {
    match bound {
        Bound::Abs(eb) => Dyadic::of(eb),
        Bound::NoaOf(eb, base) => Dyadic::of(eb).times(&Dyadic::of(base)),
        Bound::Noa(eb) => match extremes {
            Some((low, high)) => Dyadic::of(eb).times(&Dyadic::of(high).minus(&Dyadic::of(low))),
            None => Dyadic::of(0.0),
        },
        Bound::Prel(eb) => Dyadic::of(eb).times(&Dyadic::of(peak(extremes))),
        Bound::Rel(_) => Dyadic::of(0.0),
    }
}

fn peak(extremes: Option<(f64, f64)>) -> f64 {
    extremes.map_or(0.0, |(low, high)| low.abs().max(high.abs()))
}

fn extremes(bounded: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    bounded.fold(None, |e, x| Some(e.map_or((x, x), |(low, high): (f64, f64)| (low.min(x), high.max(x)))))
}

/// A float below the bound by more than the rounding of the comparison: an error that is smaller needs no big
/// integers. Two or three operations make the bound and one makes the error, each off by at most 2^-53 of its
/// result as long as nothing overflows or is subnormal, so a margin of 2^-49 is more than all of them. 0, which
/// decides nothing, outside that range.
fn clearly_below(extremes: Option<(f64, f64)>, bound: Bound) -> f64 {
    let about = match bound {
        Bound::Abs(eb) => eb,
        Bound::NoaOf(eb, base) => eb * base,
        Bound::Noa(eb) => extremes.map_or(0.0, |(low, high)| eb * (high - low)),
        Bound::Prel(eb) => eb * peak(extremes),
        Bound::Rel(_) => 0.0,
    };
    clear_of(about)
}

fn clear_of(about: f64) -> f64 {
    let margin = 1.0 - 2f64.powi(-49);
    if about.is_finite() && about > 1e-290 { about * margin } else { 0.0 }
}
