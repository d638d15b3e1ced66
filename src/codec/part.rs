//! A part of an array from a container.

use crate::environment::in_default_environment;
use crate::error::{Error, Result};
use crate::format::{Head, read_from};
use crate::source::{Segment, Source};
use crate::stages::fast;

#[cfg(test)]
mod tests;

/// Restores the box of `extent` elements from element `origin` on, both with as many numbers as the array has dimensions, x
/// first, into the beginning of `dst`: an array of its own, x fastest. Returns its length in bytes.
///
/// Of the container no more is read than its head and, of stage `fast`, the chunks that the box touches with their entries in the table; so
/// checksums, which are of all of it, are not compared. Pipelines of other stages have no such table.
///
/// # Errors
/// [`Error::InvalidArgument`] for a box that is not inside of the array, [`Error::DstTooSmall`], [`Error::Unsupported`] where stage `fast` is not
/// the whole pipeline, and what a container can have wrong.
pub fn decompress_box(container: &[u8], origin: &[u64], extent: &[u64], dst: &mut [u8]) -> Result<usize> {
    in_default_environment(|| restore_box(&read_from(&container)?, &container, (origin, extent), dst))
}

/// The same from wherever the container lies whose head this is.
pub(crate) fn restore_box(
    head: &Head,
    source: &dyn Source,
    (origin, extent): (&[u64], &[u64]),
    dst: &mut [u8],
) -> Result<usize> {
    let (dtype, dims) = (head.array.dtype(), head.array.dims());
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
                "box",
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
    let range = head.segments.first().ok_or_else(|| Error::corrupt("segments", "the container has none"))?;
    let [node] = &head.pipeline.nodes[..] else {
        let stages: Vec<&str> = head.pipeline.nodes.iter().map(|n| n.stage()).collect();
        return Err(whole_only(&stages.join(" > ")));
    };
    let segment = Segment::new(node.stage(), source, range);
    let facts = head.facts.first().ok_or(Error::Internal("a stage has facts"))?;
    match node.stage() {
        _ if need == 0 => {}
        "fast" => fast::restore((&node.args, facts), (dtype, shape), &segment, (first, count), dst)?,
        // What did not compress.
        "stored" => stored(&segment, (dtype.bytes(), shape), (first, count), dst)?,
        other => return Err(whole_only(other)),
    }
    Ok(need)
}

/// Copies a box that is not empty.
fn stored(
    segment: &Segment<'_>,
    (width, shape): (u64, [u64; 3]),
    (first, count): ([usize; 3], [usize; 3]),
    dst: &mut [u8],
) -> Result<()> {
    // Rows that are whole follow each other, and so do planes.
    let whole = (0..2).take_while(|&d| count[d] as u64 == shape[d]).count();
    let together: usize = count[1..=whole].iter().product();
    for (k, rows) in dst.chunks_exact_mut(together * count[0] * width as usize).enumerate() {
        let row = k * together;
        let [x, y, z] = [first[0], first[1] + row % count[1], first[2] + row / count[1]].map(|i| i as u64);
        segment.fill(((z * shape[1] + y) * shape[0] + x) * width, rows)?;
    }
    Ok(())
}

fn whole_only(stages: &str) -> Error {
    let what = format!("parts are restored from stage fast alone, not from {stages}; decompress all of it");
    Error::Unsupported { stage: "box", what }
}
