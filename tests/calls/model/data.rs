//! Arrays, and the promises for arrays in containers.

use super::oracle::{Bound, judge};
use super::source::Source;
use fzgm::DType;
use std::rc::Rc;

/// A shape and the elements.
#[derive(Clone, PartialEq)]
pub struct Shape {
    pub dtype: DType,
    pub dims: Vec<u64>,
}

impl Shape {
    pub fn bytes(&self) -> usize {
        (self.dims.iter().product::<u64>() * self.dtype.bytes()) as usize
    }

    /// Small ones, some without elements.
    pub fn dims_of(source: &mut Source) -> Vec<u64> {
        match source.below(8) {
            0 => vec![*source.pick(&[0, 1, 7, 64, 2047, 2048, 2049, 4097])],
            1 => source.pick(&[[3, 0, 5], [17, 1, 9], [33, 9, 2]]).to_vec(),
            2 | 3 => vec![1 + u64::from(source.byte())],
            4 | 5 => vec![1 + u64::from(source.byte()), 1 + source.below(32) as u64],
            6 => vec![1 + source.below(32) as u64, 1 + source.below(16) as u64, 1 + source.below(8) as u64],
            _ => vec![16 * (1 + u64::from(source.byte()))],
        }
    }
}

/// An array of one of several kinds.
pub fn array(source: &mut Source, shape: &Shape) -> Rc<Vec<u8>> {
    let (kind, mut seed) = (source.below(6), u64::from(source.byte()));
    let width = shape.dtype.bytes() as usize;
    let mut walk = 0.0f64;
    let mut bytes = Vec::with_capacity(shape.bytes());
    for i in 0..shape.bytes() / width {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let random = seed >> 11;
        walk += random as f64 * 2f64.powi(-53) - 0.5;
        let special = [f64::NAN, f64::INFINITY, -0.0, 5e-324, 1e-39, 1e20, -1e20, 3e38];
        let value = match kind {
            0 => 3.25,
            1 => (i as f64 * 0.01).sin(),
            2 if random % 50 != 0 => 0.0,
            3 if random % 20 == 0 => special[random as usize / 20 % special.len()],
            4 => f64::from_bits(seed),
            _ => walk,
        };
        let bits = match shape.dtype {
            DType::F32 if kind == 4 => seed >> 32,
            DType::F32 => (value as f32).to_bits().into(),
            DType::F64 => value.to_bits(),
            _ if kind == 4 => seed >> 7,
            _ => (value * 16.0) as i64 as u64,
        };
        bytes.extend_from_slice(&bits.to_le_bytes()[..width]);
    }
    Rc::new(bytes)
}

/// The array that must be restored.
#[derive(Clone, Copy, Debug)]
pub enum Promise {
    /// Every byte.
    Exact,
    /// Values within a bound; those at the threshold and above exactly.
    Within(Bound, f64),
    /// The same from every call.
    Same,
}

impl Promise {
    pub fn check(self, shape: &Shape, original: &[u8], restored: &[u8]) {
        match self {
            Promise::Exact => assert!(original == restored, "a lossless pipeline loses something"),
            Promise::Within(bound, threshold) => {
                judge(shape.dtype, original, restored, bound, threshold).unwrap_or_else(|e| panic!("{e}"));
            }
            Promise::Same => {}
        }
    }
}

/// The properties of a container of this library.
#[derive(Clone)]
pub struct Container {
    pub bytes: Vec<u8>,
    /// The identity of the encoder.
    pub family: u64,
    pub shape: Shape,
    pub array: Rc<Vec<u8>>,
    pub promise: Promise,
    /// The restored array, if it has been restored.
    pub restored: Option<Rc<Vec<u8>>>,
    /// Bytes were changed after it had been written.
    pub damaged: bool,
    /// True for the form that contains neither shape nor length.
    pub padded: bool,
}

impl Container {
    /// Stores the restored array, and compares it with an earlier one.
    pub fn comes_back(&mut self, restored: &[u8]) {
        if self.damaged {
            return;
        }
        if let Some(before) = &self.restored {
            assert!(**before == restored, "a container comes back in two ways");
            return;
        }
        self.promise.check(&self.shape, &self.array, restored);
        self.restored = Some(Rc::new(restored.to_vec()));
    }

    /// A copy with a few bytes changed, cut off or put in.
    pub fn damage(&self, source: &mut Source) -> Container {
        let mut c = Container { damaged: true, restored: None, ..self.clone() };
        for _ in 0..1 + source.below(3) {
            let at = (usize::from(source.byte()) << 8 | usize::from(source.byte())) % c.bytes.len().max(1);
            match source.below(8) {
                _ if c.bytes.is_empty() => {}
                0 => c.bytes.truncate(at),
                1 => c.bytes.insert(at, source.byte()),
                2 => drop(c.bytes.remove(at)),
                3 => c.bytes[at] = source.byte(),
                _ => c.bytes[at] ^= 1 << source.below(8),
            }
        }
        c.damaged = self.damaged || c.bytes != self.bytes;
        c
    }
}
