//! A part of an array from a container.

use crate::base::byte_source::{Segment, Source};
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::format::{Header, read_from};
use crate::ir::stage::Region;

#[cfg(test)]
mod tests;

/// Restores the region of `extent` elements from element `origin` on, both with as many numbers as the array has dimensions, x
/// first, into the beginning of `dst`: an array of its own, x fastest. Returns its length in bytes.
///
/// Of stage `fast` the function reads the header and the chunks that the region touches, with their entries in the table. Of stage `multilevel` it
/// decodes the whole array in memory of its own. Checksums, which cover the whole container, are not compared.
///
/// # Errors
/// [`Error::InvalidArgument`] for a region that is not inside of the array, [`Error::DstTooSmall`], [`Error::Unsupported`] where neither stage `fast`
/// nor stage `multilevel` is the whole pipeline, and what a container can have wrong.
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
    let (mut first, mut count, mut shape) = ([0; 3], [1; 3], [1; 3]);
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
        (first[d], count[d], shape[d]) = (origin[d] as usize, extent[d] as usize, length);
    }
    // Not above the bytes of the array.
    let need = count.iter().product::<usize>() * dtype.bytes() as usize;
    let have = dst.len();
    let dst = dst.get_mut(..need).ok_or(Error::DstTooSmall { need: need as u64, have: have as u64 })?;
    let range =
        header.segments.first().ok_or_else(|| Error::corrupt("segments", "the container has none"))?;
    let [node] = &header.bound.pipeline.nodes[..] else {
        let stages: Vec<&str> = header.bound.pipeline.nodes.iter().map(|n| n.stage()).collect();
        return Err(whole_only(&stages.join(" > ")));
    };
    let segment = Segment::new(node.stage(), source, range);
    let metadata = header.metadata.first().ok_or(Error::Internal("a stage has metadata"))?;
    let reader = node.stage.region_reader().ok_or_else(|| whole_only(node.stage()))?;
    if need > 0 {
        reader.read_region(&node.args, metadata, &segment, &Region { dtype, shape, first, count }, dst)?;
    }
    Ok(need)
}

fn whole_only(stages: &str) -> Error {
    let what = format!(
        "regions are restored from stage fast or multilevel alone, not from {stages}; decompress all of it"
    );
    Error::Unsupported { stage: "region", what }
}
