//! A part of an array from a container.

use crate::base::byte_source::{Segment, Source};
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::base::gather::Places;
use crate::codec::buffer;
use crate::codec::whole::decode_whole;
use crate::format::{Header, read_from};
use crate::ir::stage::{Region, RegionReader};
use crate::pipeline::Node;
use std::ops::Range;

#[cfg(test)]
mod tests;

/// Restores the region of `extent` elements from element `origin` on, both with as many numbers as the array has dimensions, x
/// first, into the beginning of `dst`: an array of its own, x fastest. Returns its length in bytes.
///
/// Of stage `fast` the function reads the header and the chunks that the region touches, with their entries in the table, and of an array that is stored
/// as it is the rows; the checksums, which cover the whole container, are not compared. Of every other pipeline it decodes the whole array in memory of
/// its own; it compares the checksums, except those of stage `multilevel` alone.
///
/// # Errors
/// [`Error::InvalidArgument`] for a region that is not inside of the array, [`Error::DstTooSmall`], and what a container can have wrong.
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
    for (what, given) in [("origin", origin), ("extent", extent)] {
        if given.len() != dims.len() {
            let expected = format!("{}, as many as the array has", dims.len());
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
                format!("inside of the {length} elements that there are"),
            ));
        }
    }
    // Not above the bytes of the array.
    let need = if extent.contains(&0) { 0 } else { extent.iter().product::<u64>() * dtype.bytes() } as usize;
    let have = dst.len();
    let dst = dst.get_mut(..need).ok_or(Error::DstTooSmall { need: need as u64, have: have as u64 })?;
    if need == 0 {
        return Ok(0);
    }
    let at = |numbers: &[u64], d: usize, missing: u64| numbers.get(d).copied().unwrap_or(missing) as usize;
    let region = |planes: Range<usize>| Region {
        dtype,
        shape: header.bound.array.volume(),
        first: [at(origin, 0, 0), at(origin, 1, 0), planes.start],
        count: [at(extent, 0, 1), at(extent, 1, 1), planes.len()],
    };
    let part = Part::new(header, source)?;
    let first = at(origin, 2, 0);
    if dims.len() <= 3 {
        part.read(&region(first..first + at(extent, 2, 1)), dst)?;
        return Ok(need);
    }
    let plane = (extent[0] * extent[1] * dtype.bytes()) as usize;
    if part.decodes_all() && planes(dims, origin, extent).nth(1).is_some() {
        // One call for everything between the first plane and the last one.
        let begin = planes(dims, origin, extent).map(|run| run.start).min().unwrap_or(0);
        let end = planes(dims, origin, extent).map(|run| run.end).max().unwrap_or(0);
        let hull = begin..end;
        let mut all = buffer((hull.len() * plane) as u64)?;
        part.read(&region(hull.clone()), &mut all)?;
        let mut rest = dst;
        for run in planes(dims, origin, extent) {
            let (to, more) = rest.split_at_mut(run.len() * plane);
            to.copy_from_slice(&all[(run.start - hull.start) * plane..][..to.len()]);
            rest = more;
        }
        return Ok(need);
    }
    let mut rest = dst;
    for run in planes(dims, origin, extent) {
        let (to, more) = rest.split_at_mut(run.len() * plane);
        part.read(&region(run), to)?;
        rest = more;
    }
    Ok(need)
}

/// What a region is read from.
enum Part<'a> {
    /// The segment of the only stage, which restores regions.
    Segment { reader: &'a dyn RegionReader, node: &'a Node, metadata: &'a [u8], segment: Segment<'a> },
    /// The decoded array.
    Array(Vec<u8>),
}

impl<'a> Part<'a> {
    fn new(header: &'a Header, source: &'a dyn Source) -> Result<Part<'a>> {
        let reader = match &header.bound.pipeline.nodes[..] {
            [node] => node.stage.region_reader().map(|reader| (node, reader)),
            _ => None,
        };
        let Some((node, reader)) = reader else {
            return Ok(Part::Array(decode_whole(header, source)?));
        };
        let range =
            header.segments.first().ok_or_else(|| Error::corrupt("segments", "the container has none"))?;
        let metadata = header.metadata.first().ok_or(Error::Internal("a stage has metadata"))?;
        Ok(Part::Segment { reader, node, metadata, segment: Segment::new(node.stage(), source, range) })
    }

    /// Whether each call of `read` decodes the whole array.
    fn decodes_all(&self) -> bool {
        matches!(self, Part::Segment { reader, .. } if reader.decodes_all())
    }

    fn read(&self, region: &Region, dst: &mut [u8]) -> Result<()> {
        match self {
            Part::Segment { reader, node, metadata, segment } => {
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

/// The planes of a region of more than 3 dimensions, as ranges of the joined dimension in the order of the array. No extent is 0.
fn planes<'a>(
    dims: &'a [u64],
    origin: &'a [u64],
    extent: &'a [u64],
) -> impl Iterator<Item = Range<usize>> + 'a {
    // As long as a dimension is taken whole, the next slower one continues its range.
    let mut joined = 2;
    while joined + 1 < dims.len() && extent[joined] == dims[joined] {
        joined += 1;
    }
    let inner: u64 = dims[2..joined].iter().product();
    let slow: u64 = extent[joined + 1..].iter().product();
    (0..slow).map(move |index| {
        let (mut index, mut start, mut stride) = (index, origin[joined] * inner, inner * dims[joined]);
        for d in joined + 1..dims.len() {
            start += (origin[d] + index % extent[d]) * stride;
            (index, stride) = (index / extent[d], stride * dims[d]);
        }
        start as usize..(start + extent[joined] * inner) as usize
    })
}
