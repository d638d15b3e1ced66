//! The size of a container, predicted from the sample.

use super::candidates::Candidate;
use super::codes::Multiples;
use super::sample::Sample;
use super::{Aim, Wish, lossless};
use crate::base::array::Array;
use crate::base::error::{Error, Result};
use crate::codec::{Container, Device, Encoder, Options, compress};
use crate::stages::lattice::FoundLattice;
use std::cell::OnceCell;

pub(super) struct Trial<'a> {
    sample: &'a Sample,
    pub(super) array: &'a Array,
    wish: &'a Wish<'a>,
    /// The bound in the unit of the data.
    bound: f64,
    options: Options,
    /// The multiples of the first blocks and of the whole sample.
    multiples: [OnceCell<Multiples>; 2],
}

/// A part of the sample.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    First,
    Whole,
}

/// A candidate with the bytes of the first blocks, without those of any length.
pub(super) struct Tried {
    pub(super) first: f64,
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
        Trial { sample, array, wish, bound, options, multiples: Default::default() }
    }

    /// The shape of the first blocks.
    pub(super) fn first(&self) -> &Array {
        &self.sample.first
    }

    /// [`lossless::least_bits`] of the sample.
    pub(super) fn least_bits(&self, lattice: Option<FoundLattice>) -> f64 {
        lossless::least_bits(self.sample, lattice)
    }

    /// Tries candidates with the first blocks. Those that are not for this array are left out.
    pub(super) fn tried(&self, candidates: Vec<Candidate>) -> Result<Vec<Tried>> {
        let mut all = vec![];
        for candidate in candidates {
            let bytes = self.bytes_of(&candidate, Part::First)?;
            all.extend(bytes.map(|first| Tried { first, candidate }));
        }
        Ok(all)
    }

    /// Bytes of a container of the whole array, from the whole sample.
    pub(super) fn predicted(&self, tried: &Tried) -> Result<Option<f64>> {
        let [first, some, all] = self.elements();
        if some <= first && !tried.candidate.is_computed() {
            return Ok(Some(self.extrapolated(tried)));
        }
        let candidate = &tried.candidate;
        if candidate.mode != "lossless" {
            return self.bytes(candidate);
        }
        // Tables grow more slowly than the array, so only the bytes that the other blocks add to the first ones are multiplied.
        let bytes = self.bytes_of(candidate, Part::Whole)?;
        let slope = |bytes: f64| (bytes - tried.first).max(0.0) / (some - first);
        Ok(bytes.map(|bytes| candidate.fixed_bytes() + bytes + slope(bytes) * (all - some)))
    }

    /// Bytes of the whole array that most presets with a bound need at most, from the whole sample: those of `fz`.
    pub(super) fn bytes_of_multiples(&self) -> f64 {
        self.multiples(Part::Whole).fz(0, self.array.elements())
    }

    /// Bytes of a container of the whole array, from the first blocks.
    pub(super) fn extrapolated(&self, tried: &Tried) -> f64 {
        let [first, _, all] = self.elements();
        tried.candidate.fixed_bytes() + tried.first * all / first
    }

    /// Bytes of a container of the whole array of a candidate with a bound, from the whole sample. `None`: it is not for this array.
    pub(super) fn bytes(&self, candidate: &Candidate) -> Result<Option<f64>> {
        let [_, some, all] = self.elements();
        let bytes = match candidate.preset {
            "fz" => Some(self.multiples(Part::Whole).fz(candidate.axes, self.array.elements())),
            "cusz" => Some(self.multiples(Part::Whole).cusz(candidate.axes, self.array.elements())),
            _ => self.bytes_of(candidate, Part::Whole)?.map(|bytes| bytes * all / some),
        };
        Ok(bytes.map(|bytes| candidate.fixed_bytes() + bytes))
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

    fn array_of(&self, part: Part) -> &Array {
        if part == Part::First { &self.sample.first } else { &self.sample.array }
    }

    fn multiples(&self, part: Part) -> &Multiples {
        // The first blocks may be all of them.
        let part = if self.sample.first == self.sample.array { Part::Whole } else { part };
        let new = || Multiples::new(self.sample, self.array_of(part), self.bound);
        self.multiples[part as usize].get_or_init(new)
    }

    /// Bytes of a container of a part of the sample, without those of any length.
    fn bytes_of(&self, candidate: &Candidate, part: Part) -> Result<Option<f64>> {
        let array = self.array_of(part);
        match candidate.preset {
            "fz" => return Ok(Some(self.multiples(part).fz(candidate.axes, array.elements()))),
            "cusz" => return Ok(Some(self.multiples(part).cusz(candidate.axes, array.elements()))),
            _ => {}
        }
        let bytes = &self.sample.bytes[..array.bytes() as usize];
        match compress(&candidate.within(self.bound, self.wish)?, array, &self.options, bytes) {
            Ok(container) => Ok(Some((container.len() as f64 - candidate.fixed_bytes()).max(0.0))),
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
