//! The creation of a dataset: completes the cd_values, or rejects the dataset.
//!
//! Datasets must be rejected here, not later. h5py and netCDF set filters as optional. If `filter` then rejects a
//! chunk, HDF5 stores the chunk uncompressed without a message, and parallel HDF5 1.10 writes a file that cannot be read.

use crate::Answer;
use crate::bound::{Resolved, resolve};
use crate::codec::Plan;
use crate::element::Element;
use crate::form;
use crate::hdf5::Hdf5;
use crate::sys::{H5T_FLOAT, H5T_INTEGER, H5Z_FILTER_SHUFFLE, H5Z_filter_t, hid_t};
use crate::words::{ID, MAX_WORDS, Mode, Stored, User};
use fzgm::DType;

/// Completes the cd_values in the list of a dataset.
pub(crate) fn complete(hdf5: &Hdf5, list: hid_t, kind: hid_t, space: hid_t) -> Answer<()> {
    let (flags, cd) = hdf5.filter(list, ID, MAX_WORDS).ok_or_else(|| {
        format!("H5Pget_filter_by_id2 failed, or returned more than {MAX_WORDS} cd_values; pass only mode, bound, and preset")
    })?;
    let user = User::read(&cd)?;
    let element = element(hdf5, kind)?;
    let lossy = element.dtype.is_float() && user.mode != Mode::Lossless;
    order(hdf5, list, lossy)?;
    let dims = hdf5.dims(space).ok_or(
        "the dimensions of the chunk cannot be read; expected a simple dataspace of at most 32 dimensions",
    )?;
    let fill = if lossy { fill(hdf5, list, kind, element) } else { None };
    let resolved = resolve(user, element, fill);
    let Resolved { bound, threshold, fill: kept } = resolved;
    let stored = Stored { user, element, bound, threshold, fill: kept, dims };
    stored.chunk_bytes()?;
    // Reports errors of the plan now, before the first chunk.
    let frames = if form::applies(&stored) { form::frames(&stored) } else { stored.clone() };
    Plan::new(&frames).map_err(|e| match fill {
        Some(fill) if stored.threshold.is_finite() => {
            format!("{e}; the fill value is {fill:e}, which must be restored bit for bit; choose another fill value or preset")
        }
        _ => e,
    })?;
    if hdf5.set_filter(list, ID, flags, &stored.words()) {
        return Ok(());
    }
    Err(format!("H5Pmodify_filter failed for the {} cd_values of the dataset", stored.words().len()))
}

fn element(hdf5: &Hdf5, kind: hid_t) -> Answer<Element> {
    let class = hdf5.class(kind);
    let bytes = u32::try_from(hdf5.size(kind))
        .ok()
        .filter(|b| *b > 0)
        .ok_or("the element size is 0, or 4 GiB or more; choose another element type")?;
    let signed = match bytes {
        1 => DType::I8,
        2 => DType::I16,
        4 => DType::I32,
        _ => DType::I64,
    };
    let known = match class {
        H5T_FLOAT => hdf5.ieee(kind),
        H5T_INTEGER if u64::from(bytes) != signed.bytes() => None,
        H5T_INTEGER => Some(if hdf5.unsigned(kind) { signed.unsigned() } else { signed }),
        _ => None,
    };
    let number = known.zip(known.and_then(|_| hdf5.swapped(kind)));
    Ok(number.map_or(Element::opaque(bytes), |(dtype, swapped)| Element::number(dtype, swapped)))
}

/// Filters that read chunks as elements of the dataset. scale-offset and nbit read the number of elements of the uncompressed chunk,
/// beyond the end of the compressed bytes. szip does not restore an incomplete last element.
const OF_ELEMENTS: [(H5Z_filter_t, &str); 3] = [(4, "szip"), (5, "nbit"), (6, "scale-offset")];

/// Rejects other filters at places where they would damage chunks, and a second fzgm. HDF5 returns the cd_values of only the first fzgm,
/// so the second fzgm would keep incomplete cd_values and fail with the first chunk.
fn order(hdf5: &Hdf5, list: hid_t, lossy: bool) -> Answer<()> {
    let ids: Vec<H5Z_filter_t> = (0..hdf5.filters(list)).map(|index| hdf5.filter_id(list, index)).collect();
    let parts: Vec<&[H5Z_filter_t]> = ids.split(|id| *id == ID).collect();
    let [before, after] = parts[..] else {
        return Err(match parts.len().saturating_sub(1) {
            0 => "the filter pipeline does not contain fzgm; set filter 32770".into(),
            n => format!(
                "the filter pipeline contains fzgm {n} times; set fzgm once, and change its cd_values with H5Pmodify_filter"
            ),
        });
    };
    // Shuffle is the only filter that never changes the length of a chunk.
    if let Some(id) = before.iter().find(|id| lossy || **id != H5Z_FILTER_SHUFFLE) {
        return Err(if lossy {
            format!(
                "filter {id} precedes fzgm, which must be the first filter in modes abs and rel, because other filters change the bytes of the values; remove filter {id}"
            )
        } else {
            format!(
                "filter {id} precedes fzgm and may change the length of chunks; set fzgm first, or remove filter {id}"
            )
        });
    }
    if let Some((id, name)) = OF_ELEMENTS.iter().find(|(id, _)| after.contains(id)) {
        return Err(format!(
            "filter {id} ({name}) follows fzgm, but it processes elements of the dataset and would damage compressed chunks; remove {name}: of the filters of HDF5, only gzip (1), shuffle (2), and fletcher32 (3) may follow fzgm"
        ));
    }
    Ok(())
}

/// The fill value of the dataset, in its element type.
fn fill(hdf5: &Hdf5, list: hid_t, kind: hid_t, element: Element) -> Option<f64> {
    let mut bytes = [0; 8];
    let value = bytes.get_mut(..element.bytes as usize)?;
    if !hdf5.fill(list, kind, value) {
        return None;
    }
    if element.swapped {
        value.reverse();
    }
    Some(if element.bytes == 4 {
        f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).into()
    } else {
        f64::from_le_bytes(bytes)
    })
}
