//! The size of a container, predicted from the sample.

use super::candidates::Candidate;
use super::codes::Multiples;
use super::sample::Sample;
use super::{Aim, Wish};
use crate::base::array::Array;
use crate::base::error::{Error, Result};
use crate::codec::{Container, Device, Encoder, Options, compress};
use std::cell::OnceCell;

pub(super) struct Trial<'a> {
    sample: &'a Sample,
    array: &'a Array,
    wish: &'a Wish<'a>,
    /// The bound in the unit of the data.
    bound: f64,
    options: Options,
    multiples: OnceCell<Multiples>,
}

/// A candidate with its sizes as far as they were tried.
#[derive(Clone)]
pub(super) struct Tried {
    /// Bytes of the first blocks, without those of any length.
    pub(super) first: f64,
    /// Bytes of the whole array, if the whole sample was tried.
    pub(super) whole: Option<f64>,
    pub(super) candidate: Candidate,
}

impl<'a> Trial<'a> {
    pub(super) fn new(sample: &'a Sample, array: &'a Array, wish: &'a Wish<'a>) -> Trial<'a> {
        let options = Options {
            container: Container::Compact,
            checksum: false,
            store_incompressible: false,
            device: Device::Cpu,
            ..Options::default()
        };
        let bound = match wish.aim {
            Aim::Bound(mode, bound) => sample.base(mode).map(|base| base * bound),
            _ => Some(1.0),
        };
        // Without a bounded value, or with a range of 0, any bound does.
        let bound = bound.filter(|bound| bound.is_normal()).unwrap_or(f64::MIN_POSITIVE);
        Trial { sample, array, wish, bound, options, multiples: OnceCell::new() }
    }

    /// Tries a candidate with a bound with the whole sample, and others with the first blocks, because tables of few values mislead.
    /// `None`: it is not for this array.
    pub(super) fn tried(&self, candidate: &Candidate) -> Result<Option<Tried>> {
        let fixed = candidate.fixed_bytes();
        let multiples = || self.multiples.get_or_init(|| Multiples::new(self.sample, self.bound));
        let [first, some, all] = self.elements();
        let n = self.array.elements();
        let sizes = match (candidate.preset, candidate.mode) {
            ("fz", _) => Some(multiples().fz(candidate.axes, n)),
            ("cusz", _) => Some(multiples().cusz(candidate.axes, n)),
            (_, mode) if mode != "lossless" => {
                let bytes = self.bytes_of(candidate, &self.sample.array)?;
                bytes.map(|bytes| (bytes - fixed).max(0.0) * all / some)
            }
            _ => {
                let first =
                    self.bytes_of(candidate, &self.sample.first)?.map(|bytes| (bytes - fixed).max(0.0));
                return Ok(first.map(|first| Tried { first, whole: None, candidate: candidate.clone() }));
            }
        };
        Ok(sizes.map(|bytes| Tried {
            first: bytes * first / all,
            whole: Some(fixed + bytes),
            candidate: candidate.clone(),
        }))
    }

    /// Bytes of a container of the whole array. Tables grow more slowly than the array, so only the bytes that the other blocks add
    /// to the first ones are multiplied.
    pub(super) fn predicted(&self, tried: &Tried) -> Result<Option<f64>> {
        if tried.whole.is_some() {
            return Ok(tried.whole);
        }
        let [first, some, all] = self.elements();
        let fixed = tried.candidate.fixed_bytes();
        if some <= first {
            return Ok(Some(fixed + tried.first * all / some));
        }
        let bytes = self.bytes_of(&tried.candidate, &self.sample.array)?;
        Ok(bytes.map(|bytes| bytes + (bytes - fixed - tried.first).max(0.0) * (all - some) / (some - first)))
    }

    /// [`Trial::predicted`] of a candidate. `None`: it is not for this array.
    pub(super) fn bytes(&self, candidate: &Candidate) -> Result<Option<f64>> {
        match self.tried(candidate)? {
            Some(tried) => self.predicted(&tried),
            None => Ok(None),
        }
    }

    /// True if the candidate is for the whole array, which has its own limits.
    pub(super) fn accepts(&self, candidate: &Candidate) -> Result<bool> {
        let pipeline = candidate.within(self.bound, self.wish)?;
        match Encoder::new(&pipeline, self.array, &self.options) {
            Ok(_) => Ok(true),
            Err(e) => not_for_this(e).map(|_| false),
        }
    }

    /// Elements of the first blocks, of the sample, and of the array.
    fn elements(&self) -> [f64; 3] {
        [&self.sample.first, &self.sample.array, self.array].map(|a| a.elements().max(1) as f64)
    }

    /// Bytes of a container of the first elements of the sample.
    fn bytes_of(&self, candidate: &Candidate, part: &Array) -> Result<Option<f64>> {
        let bytes = &self.sample.bytes[..part.bytes() as usize];
        match compress(&candidate.within(self.bound, self.wish)?, part, &self.options, bytes) {
            Ok(container) => Ok(Some(container.len() as f64)),
            Err(e) => not_for_this(e),
        }
    }
}

/// `None` for an error that another candidate may not have.
fn not_for_this(e: Error) -> Result<Option<f64>> {
    match e {
        Error::Unsupported { .. }
        | Error::TooLarge { .. }
        | Error::OutlierCapacity { .. }
        | Error::InvalidArgument { .. } => Ok(None),
        e => Err(e),
    }
}
