//! The size of a container, predicted by compressing the sample.

use super::candidates::Candidate;
use super::sample::Sample;
use super::{Aim, Wish};
use crate::base::array::Array;
use crate::base::error::{Error, Result};
use crate::codec::{Container, Device, Encoder, Options, compress};
use crate::pipeline::Pipeline;

/// The part of the sample that is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    First,
    All,
}

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

    /// Bytes of a container of the whole array, predicted by the sample or its first block. `None`: the candidate is not for this array.
    pub(super) fn bytes(&self, candidate: &Candidate, wish: &Wish<'_>, part: Part) -> Result<Option<f64>> {
        let bound = match wish.aim {
            Aim::Bound(mode, bound) => self.sample.base(mode).map(|base| base * bound),
            _ => Some(1.0),
        };
        // Without a bounded value, or with a range of 0, any bound does.
        let bound = bound.filter(|bound| bound.is_normal()).unwrap_or(f64::MIN_POSITIVE);
        let pipeline = candidate.within(bound, wish)?;
        match self.bytes_of(&pipeline, part) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(
                Error::Unsupported { .. }
                | Error::TooLarge { .. }
                | Error::OutlierCapacity { .. }
                | Error::InvalidArgument { .. },
            ) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn bytes_of(&self, pipeline: &Pipeline, part: Part) -> Result<f64> {
        // The array has its own limits.
        Encoder::new(pipeline, self.array, &self.options)?;
        let sample = if part == Part::First { &self.sample.first } else { &self.sample.array };
        let bytes = &self.sample.bytes[..sample.bytes() as usize];
        let all = compress(pipeline, sample, &self.options, bytes)?.len() as f64;
        // Headers and tables do not grow with the array.
        let width = self.array.dtype().bytes() as usize;
        let one = Array::new(self.array.dtype(), &vec![1; self.array.joined_dims().len()])?;
        let fixed = compress(pipeline, &one, &self.options, &vec![0; width])?.len() as f64;
        let grown = self.array.elements() as f64 / sample.elements().max(1) as f64;
        Ok((all - fixed).max(0.0) * grown + fixed)
    }
}
