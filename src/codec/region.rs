//! A part of an array from a container.

use crate::base::array::{Array, MAX_DIMS};
use crate::base::byte_source::Source;
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::base::gather::Places;
use crate::codec::buffer;
use crate::codec::only_stage::OnlyStage;
use crate::codec::whole::decode_whole;
use crate::format::{Header, read_from};
use crate::ir::stage::{Region, RegionReader};
use std::ops::Range;

#[cfg(test)]
mod tests;

/// Restores the region of `extent` elements from element `origin` on, both with one number for each dimension
/// of the array, x first, into the beginning of `dst`: an array of its own, x fastest. Returns its length in
/// bytes.
///
/// Stage `fast`, and arrays that are stored without compression: the function reads the header and the
/// chunks, with their table entries, or the rows of the region. It does not compare checksums, because a
/// checksum covers the whole container. Other pipelines: the function allocates memory for the whole array
/// and decodes it. It compares the checksums, except for stage `multilevel` alone.
///
/// # Errors
/// [`Error::InvalidArgument`] for a region that is not inside the array, [`Error::DstTooSmall`], and the
/// errors of a damaged container.
pub fn decompress_region(container: &[u8], origin: &[u64], extent: &[u64], dst: &mut [u8]) -> Result<usize> {
    in_default_environment(|| restore_region(&read_from(&container)?, &container, (origin, extent), dst))
}

/// The same from wherever the container lies whose header this is.
pub(crate) fn restore_region(
    header: &Header,
    source: &dyn Source,
    (origin, extent): (&[u64], &[u64]),
    dst: &mut [u8],
) -> Result<usize> {
    let (dtype, dims) = (header.bound.array.dtype(), header.bound.array.dims());
    let need = region_bytes(&header.bound.array, origin, extent)?;
    let have = dst.len();
    let dst = dst.get_mut(..need).ok_or(Error::DstTooSmall { need: need as u64, have: have as u64 })?;
    if need == 0 {
        return Ok(0);
    }
    let padded = |numbers: &[u64], missing| {
        let mut all = [missing; MAX_DIMS];
        all[..numbers.len()].copy_from_slice(numbers);
        all
    };
    let (dims, origin, extent) = (padded(dims, 1), padded(origin, 0), padded(extent, 1));
    let runs = || planes(dims, origin, extent);
    let region = |planes: Range<usize>| Region {
        dtype,
        shape: header.bound.array.volume(),
        first: [origin[0] as usize, origin[1] as usize, planes.start],
        count: [extent[0] as usize, extent[1] as usize, planes.len()],
    };
    let plane = (extent[0] * extent[1] * dtype.bytes()) as usize;
    let part = Part::new(header, source)?;
    // If each call decodes the whole array, one call reads all planes from the first one to the last one.
    let mut hull = None;
    if part.decodes_all() && runs().nth(1).is_some() {
        let begin = runs().map(|run| run.start).min().unwrap_or(0);
        let end = runs().map(|run| run.end).max().unwrap_or(0);
        let mut planes = buffer(((end - begin) * plane) as u64)?;
        part.read(&region(begin..end), &mut planes)?;
        hull = Some((begin, planes));
    }
    let mut rest = dst;
    for run in runs() {
        let (to, more) = rest.split_at_mut(run.len() * plane);
        match &hull {
            Some((begin, planes)) => to.copy_from_slice(&planes[(run.start - begin) * plane..][..to.len()]),
            None => part.read(&region(run), to)?,
        }
        rest = more;
    }
    Ok(need)
}

/// Bytes of a region, which must be inside the array.
pub(crate) fn region_bytes(array: &Array, origin: &[u64], extent: &[u64]) -> Result<usize> {
    let (dtype, dims) = (array.dtype(), array.dims());
    for (what, given) in [("origin", origin), ("extent", extent)] {
        if given.len() != dims.len() {
            let expected = format!("{}, that of the array", dims.len());
            return Err(Error::argument(
                format!("number of dimensions of the {what}"),
                given.len(),
                expected,
            ));
        }
    }
    for (d, &length) in dims.iter().enumerate() {
        let end = origin[d].checked_add(extent[d]).filter(|end| *end <= length);
        if end.is_none() {
            let got = format!("{} elements from {} on in dimension {d}", extent[d], origin[d]);
            return Err(Error::argument(
                "region",
                got,
                format!("a range within the {length} elements of the dimension"),
            ));
        }
    }
    // Not above the bytes of the array.
    Ok(if extent.contains(&0) { 0 } else { extent.iter().product::<u64>() * dtype.bytes() } as usize)
}

/// The source of a region.
enum Part<'a> {
    /// The container, whose only stage restores regions.
    Stage(OnlyStage<'a>, &'a dyn RegionReader),
    /// The decoded array.
    Array(Vec<u8>),
}

impl<'a> Part<'a> {
    fn new(header: &'a Header, source: &'a dyn Source) -> Result<Part<'a>> {
        match OnlyStage::with(header, source, |stage| stage.region_reader())? {
            Some((stage, reader)) => Ok(Part::Stage(stage, reader)),
            None => Ok(Part::Array(decode_whole(header, source)?)),
        }
    }

    /// True if each call of [`Part::read`] decodes the whole array.
    fn decodes_all(&self) -> bool {
        matches!(self, Part::Stage(_, reader) if reader.decodes_all())
    }

    fn read(&self, region: &Region, dst: &mut [u8]) -> Result<()> {
        match self {
            Part::Stage(OnlyStage { node, metadata, segment }, reader) => {
                reader.read_region(&node.args, metadata, segment, region, dst)
            }
            Part::Array(array) => {
                let places = Places { first: region.first, count: region.count, step: [1; 3] };
                places.copy(array, region.shape.map(|n| n as usize), region.dtype.bytes() as usize, dst);
                Ok(())
            }
        }
    }
}

/// The planes of a region, as ranges of the joined dimension in the order of the array. No extent is 0.
fn planes(
    dims: [u64; MAX_DIMS],
    origin: [u64; MAX_DIMS],
    extent: [u64; MAX_DIMS],
) -> impl Iterator<Item = Range<usize>> {
    // As long as a dimension is taken whole, the next slower one continues its range.
    let mut joined = 2;
    while joined + 1 < MAX_DIMS && extent[joined] == dims[joined] {
        joined += 1;
    }
    let inner: u64 = dims[2..joined].iter().product();
    let slow: u64 = extent[joined + 1..].iter().product();
    (0..slow).map(move |index| {
        let (mut index, mut start, mut stride) = (index, origin[joined] * inner, inner * dims[joined]);
        for d in joined + 1..MAX_DIMS {
            start += (origin[d] + index % extent[d]) * stride;
            (index, stride) = (index / extent[d], stride * dims[d]);
        }
        start as usize..(start + extent[joined] * inner) as usize
    })
}
