//! `fzgm compress --verify`: restores the container in memory and compares it with the array before OUT is written.

use crate::failure::Failure;
use crate::memory;
use crate::request;
use fzgm::metrics::{Bound, Metrics, compare};
use fzgm::{Array, Decoder, Info, Options, Pipeline};
use std::path::Path;

/// The bound and the threshold that the restored array must satisfy. The pipeline has their exact values; a container may round them.
fn promised(info: &Info, pipeline: &Pipeline) -> Result<(Option<Bound>, f64), Failure> {
    let eb = request::real(pipeline, "error_bound").unwrap_or(info.bound);
    let base = request::real(pipeline, "value_base").filter(|base| *base > 0.0);
    let bound = match (info.mode, base) {
        ("unbounded", _) => None,
        ("lossless", _) => Some(Bound::Abs(0.0)),
        ("noa" | "prel", Some(base)) => Some(Bound::Abs(eb * base)),
        (mode, _) => Some(Bound::from_name(mode, eb).map_err(|e| Failure::from_error(&e))?),
    };
    let threshold = request::real(pipeline, "outlier_threshold").unwrap_or(f64::INFINITY);
    Ok((bound, threshold))
}

pub(super) fn verify(
    input: &Path,
    pipeline: &Pipeline,
    (array, original): (&Array, &[u8]),
    container: &[u8],
) -> Result<Metrics, Failure> {
    let about = |e| Failure::from_error(&e).about("--verify");
    let info = fzgm::info(container).map_err(about)?;
    let options = Options { max_memory_bytes: u64::MAX, ..Options::default() };
    let decoder = Decoder::open(container, &options).map_err(about)?;
    let mut workspace = decoder.workspace().map_err(about)?;
    let mut restored = memory::zeroed(decoder.array().bytes())?;
    decoder.decompress(&mut workspace, container, &mut restored).map_err(about)?;
    // Files in the exact form of the reference restore the array with padding at its end.
    restored.truncate(original.len());
    let (bound, threshold) = promised(&info, pipeline)?;
    let found = compare(array.dtype(), original, &restored, bound, threshold).map_err(about)?;
    if found.kept() {
        return Ok(found);
    }
    Err(Failure::violation(format!(
        "--verify: {}: {} values violate the bound, {} exact values differ; OUT was not written",
        input.display(),
        found.violations,
        found.exact_mismatches + found.non_finite_mismatches
    )))
}
