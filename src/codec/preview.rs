//! A coarse array from the front of a container.

use super::buffer;
use super::only_stage::OnlyStage;
use super::whole::decode_whole;
use crate::base::array::Array;
use crate::base::byte_source::Source;
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::base::gather::Places;
use crate::format::{Header, read_front};
use crate::ir::stage::Preview;

/// The array that a preview of `array` is: in each dimension of n elements ⌈n / step⌉.
///
/// # Errors
/// [`Error::InvalidArgument`] for a step that is no power of two.
pub fn preview_array(array: &Array, step: u64) -> Result<Array> {
    if !step.is_power_of_two() {
        return Err(Error::argument("step of the preview", step, "a power of two, such as 4"));
    }
    let dims: Vec<u64> = array.dims().iter().map(|n| n.div_ceil(step)).collect();
    Array::new(array.dtype(), &dims)
}

/// Restores the elements at multiples of `step` in every dimension into the beginning of `dst`: the array
/// that [`preview_array`] describes, x fastest. Returns its length in bytes. The elements have the bits that
/// [`crate::decompress`] restores, so the error bound applies to them.
///
/// For stage `multilevel` the function decodes the front of the container that the step requires, and
/// `container` may end after that front; checksums are not compared. Containers of other stages are decoded
/// completely, and their checksums are compared.
///
/// # Errors
/// [`Error::InvalidArgument`] for a step that is no power of two; [`Error::DstTooSmall`];
/// [`Error::Truncated`] with the bytes that the preview requires if `container` has fewer; and the errors of
/// a damaged container.
pub fn decompress_preview(container: &[u8], step: u64, dst: &mut [u8]) -> Result<usize> {
    in_default_environment(|| restore_preview(&read_front(&container)?, &container, step, dst))
}

/// The same from wherever the container lies whose header this is.
pub(crate) fn restore_preview(
    header: &Header,
    source: &dyn Source,
    step: u64,
    dst: &mut [u8],
) -> Result<usize> {
    let array = &header.bound.array;
    let need = preview_array(array, step)?.bytes();
    let have = dst.len() as u64;
    let dst = usize::try_from(need).ok().and_then(|n| dst.get_mut(..n));
    let dst = dst.ok_or(Error::DstTooSmall { need, have })?;
    if need == 0 {
        return Ok(0);
    }
    // Steps beyond every extent have one preview.
    let step = usize::try_from(step).unwrap_or(1 << (usize::BITS - 1));
    let preview = Preview { dtype: array.dtype(), shape: array.volume(), step };
    if array.slow_dims().is_empty() {
        restore_joined(header, source, &preview, dst)?;
        return Ok(need as usize);
    }
    // A plane whose indices are multiples of the step has a joined index that is one: the preview of the joined array has all of them.
    let [x, y, z] = preview.count();
    let plane = x * y * array.dtype().bytes() as usize;
    let mut joined = buffer((plane * z) as u64)?;
    restore_joined(header, source, &preview, &mut joined)?;
    for (index, to) in dst.chunks_exact_mut(plane).enumerate() {
        let (mut index, mut place, mut stride) = (index, 0, 1);
        for &n in array.slow_dims() {
            let count = (n as usize).div_ceil(step);
            place += index % count * stride * step;
            (index, stride) = (index / count, stride * n as usize);
        }
        to.copy_from_slice(&joined[place / step * plane..][..plane]);
    }
    Ok(need as usize)
}

/// The preview of the array as stages see it.
fn restore_joined(header: &Header, source: &dyn Source, preview: &Preview, dst: &mut [u8]) -> Result<()> {
    match OnlyStage::with(header, source, |stage| stage.preview_reader())? {
        Some((OnlyStage { node, metadata, segment }, reader)) => {
            reader.read_preview(&node.args, metadata, &segment, preview, dst)
        }
        None => whole(header, source, preview, dst),
    }
}

/// Restores the whole array and copies the elements of the preview.
fn whole(header: &Header, source: &dyn Source, preview: &Preview, dst: &mut [u8]) -> Result<()> {
    let array = decode_whole(header, source)?;
    let points = preview.shape.map(|n| n as usize);
    let places = Places { first: [0; 3], count: preview.count(), step: [preview.step; 3] };
    places.copy(&array, points, preview.dtype.bytes() as usize, dst);
    Ok(())
}
