//! The size of a container, predicted by compressing the sample.

use super::candidates::Candidate;
use super::sample::Sample;
use super::{Aim, Wish};
use crate::base::array::Array;
use crate::base::error::{Error, Result};
use crate::codec::{Container, Device, Encoder, Options, compress};
use crate::pipeline::Pipeline;

pub(super) struct Trial<'a> {
    sample: &'a Sample,
    array: &'a Array,
    options: Options,
}

impl<'a> Trial<'a> {
    pub(super) fn new(sample: &'a Sample, array: &'a Array) -> Trial<'a> {
        let options = Options {
            container: Container::Compact,
            checksum: false,
            store_incompressible: false,
            device: Device::Cpu,
            ..Options::default()
        };
        Trial { sample, array, options }
    }

    /// Bytes of a container of the whole array, predicted by the sample. `None`: the candidate is not for this array.
    pub(super) fn bytes(&self, candidate: &Candidate, wish: &Wish<'_>) -> Result<Option<f64>> {
        match self.first(candidate, wish)? {
            Some(first) => self.predicted(candidate, wish, first),
            None => Ok(None),
        }
    }

    /// The candidates for this array, with the lengths of their containers of the first block.
    pub(super) fn firsts(&self, all: &[Candidate], wish: &Wish<'_>) -> Result<Vec<(f64, Candidate)>> {
        let mut firsts = vec![];
        for candidate in all {
            firsts.extend(self.first(candidate, wish)?.map(|bytes| (bytes, candidate.clone())));
        }
        Ok(firsts)
    }

    /// [`Trial::bytes`] if a container of the first block has `first` bytes. Headers and tables grow more slowly than the array,
    /// so only the bytes that the other blocks add are multiplied.
    pub(super) fn predicted(
        &self,
        candidate: &Candidate,
        wish: &Wish<'_>,
        first: f64,
    ) -> Result<Option<f64>> {
        let sample = self.sample;
        if sample.is_one_block() {
            return Ok(Some(first));
        }
        let [one, some, all] = [&sample.first, &sample.array, self.array].map(|a| a.elements() as f64);
        let bytes = self.bytes_of(candidate, wish, &sample.array)?;
        Ok(bytes.map(|bytes| bytes + (bytes - first).max(0.0) * (all - some) / (some - one)))
    }

    fn first(&self, candidate: &Candidate, wish: &Wish<'_>) -> Result<Option<f64>> {
        // The array has its own limits.
        match Encoder::new(&self.pipeline(candidate, wish)?, self.array, &self.options) {
            Ok(_) => self.bytes_of(candidate, wish, &self.sample.first),
            Err(e) => not_for_this(e),
        }
    }

    fn pipeline(&self, candidate: &Candidate, wish: &Wish<'_>) -> Result<Pipeline> {
        let bound = match wish.aim {
            Aim::Bound(mode, bound) => self.sample.base(mode).map(|base| base * bound),
            _ => Some(1.0),
        };
        // Without a bounded value, or with a range of 0, any bound does.
        let bound = bound.filter(|bound| bound.is_normal()).unwrap_or(f64::MIN_POSITIVE);
        candidate.within(bound, wish)
    }

    /// Bytes of a container of the first elements of the sample.
    fn bytes_of(&self, candidate: &Candidate, wish: &Wish<'_>, part: &Array) -> Result<Option<f64>> {
        let bytes = &self.sample.bytes[..part.bytes() as usize];
        match compress(&self.pipeline(candidate, wish)?, part, &self.options, bytes) {
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
