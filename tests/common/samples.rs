//! Arrays that are hard on encoders: sizes around every border, contents around every special case.

use super::gpu;
use super::rng::Rng;
use fzgm::{Array, DType};

#[derive(Clone)]
pub struct Sample {
    pub name: String,
    pub array: Array,
    pub bytes: Vec<u8>,
}

impl Sample {
    pub fn new(dtype: DType, dims: &[u64], bytes: Vec<u8>) -> Sample {
        Sample { name: format!("{dtype} {dims:?}"), array: Array::new(dtype, dims).unwrap(), bytes }
    }

    /// A sample of these values, rounded to the type.
    pub fn of(dtype: DType, dims: &[u64], values: impl IntoIterator<Item = f64>) -> Sample {
        Sample::new(dtype, dims, bytes(dtype, values))
    }
}

pub const FLOATS: [DType; 2] = [DType::F32, DType::F64];

pub fn bytes(dtype: DType, values: impl IntoIterator<Item = f64>) -> Vec<u8> {
    match dtype {
        DType::F32 => values.into_iter().flat_map(|v| (v as f32).to_le_bytes()).collect(),
        _ => values.into_iter().flat_map(f64::to_le_bytes).collect(),
    }
}

pub fn elements(dims: &[u64]) -> usize {
    dims.iter().product::<u64>() as usize
}

pub fn walk(n: usize, step: f64, rng: &mut Rng) -> Vec<f64> {
    let mut x = 0.0;
    let one = |_| {
        x += (rng.unit() - 0.5) * step;
        x
    };
    (0..n).map(one).collect()
}

/// The float `ulps` units in the last place away from zero.
pub fn beside(dtype: DType, x: f64, ulps: i64) -> f64 {
    match dtype {
        DType::F32 => f32::from_bits((x as f32).to_bits().wrapping_add_signed(ulps as i32)).into(),
        _ => f64::from_bits(x.to_bits().wrapping_add_signed(ulps)),
    }
}

/// A fill value as climate models use it.
pub const FILL: f64 = 1e20;

/// The contents of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Zeros,
    Constant,
    Ones,
    Ramp,
    Random,
    Walk,
    Sparse,
    /// A walk with NaN payloads, infinities, -0 and denormals where tiles meet.
    Specials,
    Fills,
}

pub const CONTENTS: [Content; 9] = [
    Content::Zeros,
    Content::Constant,
    Content::Ones,
    Content::Ramp,
    Content::Random,
    Content::Walk,
    Content::Sparse,
    Content::Specials,
    Content::Fills,
];

/// Elements: nothing, little, odd, and one to each side of the tiles of every width.
pub const SIZES: [usize; 17] =
    [0, 1, 7, 31, 1000, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193, 16383, 16384, 16385];

/// Bytes of sixteen tiles: where threads share an array.
const SHARED: usize = 16 * 16384;

pub fn make(dtype: DType, dims: &[u64], content: Content, seed: u64) -> Sample {
    let n = dims.iter().product::<u64>() as usize;
    let mut rng = Rng(seed ^ (n as u64) << 20 ^ (dtype as u64) << 8 ^ content as u64);
    let mut walk = 0.0f64;
    let mut bytes = Vec::with_capacity(n * dtype.bytes() as usize);
    for i in 0..n {
        walk += rng.unit() - 0.5;
        let random = rng.word();
        // Real values for floats, the same idea as integers for the rest.
        let value = match content {
            Content::Zeros => Element::Real(0.0),
            Content::Constant => Element::Real(3.25),
            Content::Ones => Element::Bits(u64::MAX),
            Content::Ramp => Element::Real(i as f64 * 0.5 - 100.0),
            Content::Random => Element::Bits(random),
            Content::Walk => Element::Real(walk),
            Content::Sparse if random % 50 != 0 => Element::Real(0.0),
            Content::Sparse => Element::Real(walk * 10.0),
            Content::Specials => special(i, n, random).unwrap_or(Element::Real(walk)),
            Content::Fills if random % 10 == 0 || i == 0 || i + 1 == n => Element::Real(FILL),
            Content::Fills => Element::Real(walk),
        };
        value.write(dtype, &mut bytes);
    }
    let name = format!("{dtype} {dims:?} {content:?}");
    Sample { name, array: Array::new(dtype, dims).unwrap(), bytes }
}

/// A walk on another scale.
pub fn scaled(dtype: DType, dims: &[u64], scale: f64, seed: u64) -> Sample {
    let (mut rng, mut walk) = (Rng(seed), 0.0);
    let mut bytes = vec![];
    for _ in 0..dims.iter().product::<u64>() {
        walk += rng.unit() - 0.5;
        Element::Real(walk * scale).write(dtype, &mut bytes);
    }
    Sample { name: format!("{dtype} {dims:?} times {scale}"), array: Array::new(dtype, dims).unwrap(), bytes }
}

enum Element {
    Real(f64),
    Bits(u64),
    Nan,
    NegativeZero,
    Denormal,
}

impl Element {
    fn write(self, dtype: DType, out: &mut Vec<u8>) {
        let width = dtype.bytes() as usize;
        let bits = match (self, dtype) {
            (Element::Bits(b), _) => b,
            (Element::Real(x), DType::F32) => (x as f32).to_bits().into(),
            (Element::Real(x), DType::F64) => x.to_bits(),
            (Element::Real(x), _) => (x * 4.0) as i64 as u64,
            (Element::Nan, DType::F32) => 0xffa0_1234,
            (Element::Nan, _) => 0xfff4_0000_dead_beef,
            (Element::NegativeZero, DType::F32) => 1 << 31,
            (Element::NegativeZero, _) => 1 << 63,
            (Element::Denormal, DType::F32) => 0x0000_0001,
            (Element::Denormal, _) => 0x0000_0000_0000_0003,
        };
        out.extend_from_slice(&bits.to_le_bytes()[..width]);
    }
}

/// At the first and last element and to both sides of every 2048th: all tile borders of all widths.
fn special(i: usize, n: usize, random: u64) -> Option<Element> {
    let at_edge = i == 0 || i + 1 == n || matches!(i % 2048, 0 | 1 | 2047);
    if !at_edge && random % 97 != 0 {
        return None;
    }
    Some(match (i + random as usize % 3) % 7 {
        0 => Element::Nan,
        1 => Element::Real(f64::INFINITY),
        2 => Element::Real(f64::NEG_INFINITY),
        3 => Element::NegativeZero,
        4 => Element::Denormal,
        5 => Element::Real(f64::from(f32::MAX)),
        _ => Element::Real(-f64::from(f32::MIN_POSITIVE) / 2.0),
    })
}

/// The full set for one type.
pub fn all(dtype: DType) -> Vec<Sample> {
    let mut samples = vec![];
    for n in SIZES {
        samples.push(make(dtype, &[n as u64], Content::Specials, 1));
    }
    for content in CONTENTS {
        samples.push(make(dtype, &[4500], content, 2));
    }
    samples.push(make(dtype, &[13, 7], Content::Walk, 3));
    samples.push(make(dtype, &[61, 67], Content::Specials, 4));
    samples.push(make(dtype, &[5, 3, 11], Content::Walk, 5));
    samples.push(make(dtype, &[17, 1, 129], Content::Fills, 6));
    samples.push(make(dtype, &[3, 0, 5], Content::Walk, 7));
    // The emulator runs no arrays of this size, and the run without a device has them.
    if !gpu::is_emulated() {
        samples.extend(shared(dtype));
    }
    samples
}

/// Long enough that three threads have something to share, with a ragged end.
pub fn shared(dtype: DType) -> Vec<Sample> {
    let n = (SHARED as u64) / dtype.bytes();
    vec![make(dtype, &[n + 1], Content::Sparse, 8), make(dtype, &[2 * n + 4097], Content::Specials, 9)]
}

/// A few of them, for the many combinations of parameters.
pub fn few(dtype: DType) -> Vec<Sample> {
    vec![
        make(dtype, &[31], Content::Walk, 1),
        make(dtype, &[8193], Content::Specials, 1),
        make(dtype, &[4500], Content::Sparse, 2),
        make(dtype, &[33, 9, 10], Content::Specials, 3),
    ]
}
