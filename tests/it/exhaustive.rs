//! The quantizer over every f32 there is, and over 2^32 random f64: no violation of the bound, and everything that has no
//! bin bit for bit. Every 401st slab in an ordinary run, all of them with `FZGM_LONG`; in release mode that takes minutes a
//! bound, of all cores, so one test at a time:
//!
//! ```sh
//! FZGM_LONG=1 cargo test --release --test it -- exhaustive::every_f32_rel --nocapture --test-threads=1
//! ```
//!
//! With a GPU (`FZGM_REQUIRE_GPU=1`) each slab goes through that too, and has to give the same bytes both ways.

use crate::common::gpu;
use crate::common::oracle::{Bound, judge};
use crate::common::rng::Rng;
use fzgm::{Array, Container, DType, Decoder, Encoder, Options, Pipeline, Workspace};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Bits of a value that count through a slab.
const SLAB: u32 = 20;
/// Slabs that an ordinary run leaves out between two; prime, so that signs, exponents and mantissas all vary.
const STRIDE: u64 = 401;
/// The oracle also judges a part of one slab in this number of slabs.
const JUDGED: u64 = 5;

/// The smallest possible limit of the error of a value, in f64. eb is lowered by more than the two roundings
/// of the product and of the difference that it is compared with, 2^-53 of each, can account for: if the
/// computed difference is not above the computed product, the true one is not above the true product. Values
/// between the two go to the oracle.
#[derive(Clone, Copy)]
enum Fast {
    Abs(f64),
    Rel(f64),
}

impl Fast {
    fn new(bound: Bound) -> Fast {
        let lower = |eb: f64| eb * (1.0 - 2f64.powi(-50));
        match bound {
            Bound::Abs(eb) => Fast::Abs(lower(eb)),
            Bound::Rel(eb) => Fast::Rel(lower(eb)),
            other => panic!("{other:?} is not for every float"),
        }
    }

    /// Of which error a value may be.
    fn allowed(self, x: f64) -> f64 {
        match self {
            Fast::Abs(eb) => eb,
            Fast::Rel(eb) => eb * x.abs(),
        }
    }

    /// True if `y` certainly keeps the bound of `x`. Below 2^-960 the product could be subnormal, and then
    /// its rounding is not relative: only equality is certain there.
    fn keeps(self, x: f64, y: f64) -> bool {
        let allowed = self.allowed(x);
        ((x - y).abs() <= allowed) & (allowed >= 1e-289)
    }
}

/// A float type as bits.
trait Word: Copy + PartialEq + std::fmt::LowerHex {
    const DTYPE: DType;
    fn value(self) -> f64;
    fn at(bytes: &[u8]) -> impl Iterator<Item = Self>;
}

macro_rules! word {
    ($U:ty, $T:ty, $dtype:expr) => {
        impl Word for $U {
            const DTYPE: DType = $dtype;
            fn value(self) -> f64 {
                <$T>::from_bits(self).into()
            }
            fn at(bytes: &[u8]) -> impl Iterator<Item = Self> {
                bytes.chunks_exact(size_of::<$U>()).map(|b| <$U>::from_le_bytes(b.try_into().unwrap()))
            }
        }
    };
}
word!(u32, f32, DType::F32);
word!(u64, f64, DType::F64);

#[derive(Default)]
struct Count {
    values: u64,
    rounded: u64,
    doubtful: u64,
    judged: u64,
    /// Largest error over the bound, rounded.
    worst: f64,
}

impl Count {
    fn add(&mut self, other: &Count) {
        self.values += other.values;
        self.rounded += other.rounded;
        self.doubtful += other.doubtful;
        self.judged += other.judged;
        self.worst = self.worst.max(other.worst);
    }
}

/// A slab through the stage: everything that is not the same bit for bit keeps the bound.
fn check<W: Word>(x: &[u8], y: &[u8], bound: Bound, count: &mut Count) {
    let fast = Fast::new(bound);
    let (mut same, mut bad) = (0u64, 0u64);
    for (a, b) in W::at(x).zip(W::at(y)) {
        let equal = a == b;
        same += u64::from(equal);
        let (a, b) = (a.value(), b.value());
        let kept = fast.keeps(a, b);
        bad += u64::from(!equal & !kept);
        let share = (a - b).abs() / fast.allowed(a);
        count.worst = if kept & (share > count.worst) { share } else { count.worst };
    }
    count.values += x.len() as u64 / W::DTYPE.bytes();
    count.rounded += x.len() as u64 / W::DTYPE.bytes() - same;
    if bad == 0 {
        return;
    }
    count.doubtful += bad;
    for (a, b) in W::at(x).zip(W::at(y)).filter(|(a, b)| a != b && !fast.keeps(a.value(), b.value())) {
        // Zeros of either sign are one number, which an absolute bound does not tell apart.
        let one = |w: W| match W::DTYPE {
            DType::F32 => (w.value() as f32).to_le_bytes().to_vec(),
            _ => w.value().to_le_bytes().to_vec(),
        };
        let finite = a.value().is_finite();
        let kept = finite && judge(W::DTYPE, &one(a), &one(b), bound, f64::INFINITY).is_ok();
        assert!(kept, "{bound:?}: {:?} ({a:#x}) came back as {:?} ({b:#x})", a.value(), b.value());
    }
}

struct Case {
    mode: &'static str,
    eb: f64,
    in_place: bool,
}

impl Case {
    fn pipeline(&self, dtype: DType) -> Pipeline {
        let mut p = Pipeline::new();
        let q = p.add("quantizer").unwrap();
        let args = p.args_mut(q).unwrap();
        args.set_text("mode", self.mode).unwrap();
        args.set_real("error_bound", self.eb).unwrap();
        args.set_int("inplace_outliers", i64::from(self.in_place)).unwrap();
        let wide = dtype == DType::F64 && (self.in_place || self.mode == "rel");
        args.set_text("code_type", if wide { "u64" } else { "u32" }).unwrap();
        args.set_int("quant_radius", 0).unwrap();
        args.set_real("outlier_capacity", 1.0).unwrap();
        p
    }
}

fn long() -> bool {
    std::env::var_os("FZGM_LONG").is_some()
}

/// An encoder and its decoder with their memory.
struct Coder {
    encoder: Encoder,
    decoder: Decoder,
    encoding: Workspace,
    decoding: Workspace,
    frame: Vec<u8>,
    restored: Vec<u8>,
}

impl Coder {
    fn new(pipeline: &Pipeline, array: &Array, options: &Options) -> Coder {
        let encoder = Encoder::new(pipeline, array, options).unwrap();
        let decoder = encoder.decoder().unwrap();
        let (encoding, decoding) = (encoder.workspace().unwrap(), decoder.workspace().unwrap());
        let frame = vec![0; encoder.max_compressed_bytes() as usize];
        Coder { encoder, decoder, encoding, decoding, frame, restored: vec![0; array.bytes() as usize] }
    }

    /// Container and restored array.
    fn both(&mut self, x: &[u8]) -> (&[u8], &[u8]) {
        let n = self.encoder.compress(&mut self.encoding, x, &mut self.frame).unwrap();
        let bytes = self.decoder.decompress(&mut self.decoding, &self.frame[..n], &mut self.restored);
        assert_eq!(bytes.unwrap(), x.len());
        (&self.frame[..n], &self.restored)
    }
}

/// A worker takes slab after slab, until there is none.
fn work<W: Word>(
    case: &Case,
    slabs: impl Iterator<Item = u64>,
    fill: &impl Fn(u64, &mut Vec<u8>),
    stride: u64,
) -> Count {
    let array = Array::new(W::DTYPE, &[1 << SLAB]).unwrap();
    let options = Options {
        container: Container::Compact,
        checksum: false,
        store_incompressible: false,
        ..Options::default()
    };
    let pipeline = case.pipeline(W::DTYPE);
    let mut cpu = Coder::new(&pipeline, &array, &options);
    // The emulator would take days.
    let device = gpu::device().filter(|_| gpu::cuda().is_real());
    let mut gpu = device.map(|device| Coder::new(&pipeline, &array, &Options { device, ..options }));
    let bytes = array.bytes() as usize;
    let mut x = Vec::with_capacity(bytes);
    let bound = Bound::of(case.mode, case.eb);
    let mut count = Count::default();
    for slab in slabs {
        x.clear();
        fill(slab, &mut x);
        let (container, y) = cpu.both(&x);
        if let Some(gpu) = &mut gpu {
            let (there, restored) = gpu.both(&x);
            assert!(there == container, "slab {slab}: the device writes other bytes");
            assert!(restored == y, "slab {slab}: the device restores other bytes");
        }
        check::<W>(&x, y, bound, &mut count);
        if slab / stride % JUDGED == 0 {
            // The oracle, which has no float arithmetic: values that are not finite must have the same bits.
            let part = slab as usize * 4096 % (bytes - 4096) / 8 * 8;
            let part = part..part + 4096;
            judge(W::DTYPE, &x[part.clone()], &y[part], bound, f64::INFINITY).unwrap();
            count.judged += 4096 / W::DTYPE.bytes();
        }
    }
    count
}

/// Slabs `0..all`, every [`STRIDE`]th of them in an ordinary run, filled by `fill(slab, values)`, on all cores.
fn run<W: Word>(case: &Case, fill: impl Fn(u64, &mut Vec<u8>) + Sync) {
    let started = Instant::now();
    let (all, stride) = (1u64 << (32 - SLAB), if long() { 1 } else { STRIDE });
    let (next, fill) = (&AtomicU64::new(0), &fill);
    let slabs = || std::iter::repeat_with(|| next.fetch_add(stride, Relaxed)).take_while(|slab| *slab < all);
    let mut count = Count::default();
    std::thread::scope(|s| {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let running: Vec<_> =
            (0..workers).map(|_| s.spawn(move || work::<W>(case, slabs(), fill, stride))).collect();
        running.into_iter().for_each(|worker| count.add(&worker.join().unwrap()));
    });
    println!(
        "{} {} {:?}{}: {} values, 0 violations, worst error / bound {:.9}, {} rounded, {} too close to the bound for floats, {} judged by the oracle, {:.0} s",
        W::DTYPE,
        case.mode,
        case.eb,
        if case.in_place { " in place" } else { "" },
        count.values,
        count.worst,
        count.rounded,
        count.doubtful,
        count.judged,
        started.elapsed().as_secs_f64()
    );
}

fn every_f32(case: &Case) {
    run::<u32>(case, |slab, x| {
        let first = (slab as u32) << SLAB;
        (0..1u32 << SLAB).for_each(|k| x.extend_from_slice(&(first | k).to_le_bytes()));
    });
}

/// Nearly all random bits are far beyond the range of codes: every other value has an exponent near that of
/// 1, or of the bound if that is absolute.
fn random_f64(case: &Case) {
    let near = if case.mode == "abs" { case.eb } else { 1.0 };
    let exponent = (near.to_bits() >> 52).clamp(64, 1900);
    run::<u64>(case, |slab, x| {
        let mut rng = Rng(slab << 32 | 0x5eed);
        for k in 0..1u32 << SLAB {
            let word = rng.word();
            let close = (word & !(0x7ff << 52)) | (exponent - 40 + (word >> 52 & 0x7f)) << 52;
            x.extend_from_slice(&(if k % 2 == 0 { word } else { close }).to_le_bytes());
        }
    });
}

macro_rules! tests {
    ($($name:ident: $f:ident $mode:literal $eb:expr, $in_place:expr;)*) => {$(
        #[test]
        fn $name() {
            $f(&Case { mode: $mode, eb: $eb, in_place: $in_place });
        }
    )*};
}

tests! {
    every_f32_abs_thousandth: every_f32 "abs" 1e-3, true;
    every_f32_abs_third: every_f32 "abs" 1.0 / 3.0, true;
    every_f32_abs_tiny: every_f32 "abs" 2f64.powi(-130), false;
    every_f32_rel_tenth: every_f32 "rel" 1e-1, false;
    every_f32_rel_thousandth: every_f32 "rel" 1e-3, false;
    every_f32_rel_millionth: every_f32 "rel" 2f64.powi(-20), false;
    random_f64_abs_thousandth: random_f64 "abs" 1e-3, true;
    random_f64_abs_third: random_f64 "abs" 1.0 / 3.0, false;
    random_f64_abs_tiny: random_f64 "abs" 2f64.powi(-130), true;
    random_f64_rel_tenth: random_f64 "rel" 1e-1, false;
    random_f64_rel_thousandth: random_f64 "rel" 1e-3, false;
    random_f64_rel_millionth: random_f64 "rel" 2f64.powi(-20), false;
}

/// A test of the check of this file: it rejects a value one unit in the last place beyond its bound, and
/// values that it accepts keep the bound by the oracle.
#[test]
fn the_fast_check_is_never_kinder_than_the_oracle() {
    let mut rng = Rng(31);
    let (mut passed, mut refused) = (0, 0);
    for _ in 0..200_000 {
        let eb = [1e-1, 1e-3, 2f64.powi(-20), 1.0 / 3.0, 2f64.powi(-130), rng.unit()][rng.below(6)];
        let x = f64::from_bits(rng.word());
        if !x.is_finite() {
            continue;
        }
        for bound in [Bound::Abs(eb), Bound::Rel(eb)] {
            let off = if matches!(bound, Bound::Abs(_)) { eb } else { eb * x.abs() };
            let y = if rng.below(2) == 0 { x + off } else { x - off };
            let y = f64::from_bits(y.to_bits().wrapping_add_signed(rng.below(9) as i64 - 4));
            if Fast::new(bound).keeps(x, y) {
                judge(DType::F64, &x.to_le_bytes(), &y.to_le_bytes(), bound, f64::INFINITY).unwrap();
                passed += 1;
            } else {
                refused += 1;
            }
        }
    }
    assert!(passed > 10_000 && refused > 10_000, "{passed} passed, {refused} refused");
}

#[test]
#[should_panic(expected = "came back as")]
fn a_violation_is_noticed() {
    let (x, y) = (1000f32, 1000f32 * 1.001f32.next_up());
    check::<u32>(&x.to_le_bytes(), &y.next_up().to_le_bytes(), Bound::Rel(1e-3), &mut Count::default());
}

#[test]
#[should_panic(expected = "came back as")]
fn another_nan_is_noticed() {
    let nan = |payload: u32| (0x7f80_0000 | payload).to_le_bytes();
    check::<u32>(&nan(5), &nan(6), Bound::Abs(1e-3), &mut Count::default());
}
