//! A part of an array from a container.

use crate::error::{Error, Result};
use crate::format;
use crate::stages::fast;

/// Restores the box of `extent` elements from element `origin` on, both with as many numbers as the array has dimensions, x
/// first, into the beginning of `dst`: an array of its own, x fastest. Returns its length in bytes.
///
/// Of the container no more is read than its head, the table of stage `fast` and the chunks that the box touches, so checksums, which
/// are of all of it, are not compared. Pipelines of other stages have no such table.
///
/// # Errors
/// [`Error::InvalidArgument`] for a box that is not inside of the array, [`Error::DstTooSmall`], [`Error::Unsupported`] where stage `fast` is not
/// the whole pipeline, and what a container can have wrong.
pub fn decompress_box(container: &[u8], origin: &[u64], extent: &[u64], dst: &mut [u8]) -> Result<usize> {
    let head = format::read(container)?;
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
    let width = dtype.bytes() as usize;
    let need = count.iter().product::<usize>() * width;
    let have = dst.len();
    let dst = dst.get_mut(..need).ok_or(Error::DstTooSmall { need: need as u64, have: have as u64 })?;
    let segment = |k: usize| head.segments.get(k).and_then(|r| container.get(r.clone()));
    let segment = segment(0).ok_or_else(|| Error::corrupt("segments", "the container has none"))?;
    let [node] = &head.pipeline.nodes[..] else {
        let stages: Vec<&str> = head.pipeline.nodes.iter().map(|n| n.stage()).collect();
        return Err(whole_only(&stages.join(" > ")));
    };
    let facts = head.facts.first().ok_or(Error::Internal("a stage has facts"))?;
    match node.stage() {
        _ if need == 0 => {}
        "fast" => fast::restore((&node.args, facts), (dtype, shape), segment, (first, count), dst)?,
        // What did not compress.
        "stored" => {
            for (k, row) in dst.chunks_exact_mut(count[0] * width).enumerate() {
                let [x, y, z] = [first[0], first[1] + k % count[1], first[2] + k / count[1]];
                let at = ((z * shape[1] as usize + y) * shape[0] as usize + x) * width;
                let from = segment.get(at..at + row.len());
                row.copy_from_slice(
                    from.ok_or_else(|| Error::corrupt("stored", "its segment is shorter than the array"))?,
                );
            }
        }
        other => return Err(whole_only(other)),
    }
    Ok(need)
}

fn whole_only(stages: &str) -> Error {
    let what = format!("parts are restored from stage fast alone, not from {stages}; decompress all of it");
    Error::Unsupported { stage: "box", what }
}
