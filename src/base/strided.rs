//! Arrays with gaps between their elements: an origin, and a stride for each dimension.

use super::array::{Array, MAX_DIMS};
use super::error::{Error, Result};
use std::ops::Range;

/// Elements of a dimension that are copied together if the array is transposed. A square of this side fits into the first cache.
const BLOCK: u64 = 32;

/// The places of the elements of an array. Element (x, y, …) is x `strides[0]` + y `strides[1]` + … elements after the origin.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Bytes of an element.
    width: i64,
    /// The dimensions of more than one element; dimensions without a gap between them are joined.
    dims: Vec<Dim>,
    /// Bytes of the packed array.
    bytes: u64,
    /// The bytes of all elements, relative to the origin.
    span: Range<i64>,
}

/// A dimension of an array.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dim {
    /// Its length.
    pub(crate) count: u64,
    /// Distance between neighbors in bytes.
    pub(crate) stride: i64,
    /// The same in the packed array.
    pub(crate) packed: u64,
}

/// Elements that lie evenly in both arrays.
pub(crate) struct Row {
    /// Offset of the first one from the origin, in bytes.
    pub(crate) at: i64,
    /// Distance between two, in bytes.
    pub(crate) stride: i64,
    /// Bytes of the packed array.
    pub(crate) packed: Range<usize>,
}

impl Layout {
    /// `strides` has a number for each dimension of the array, in elements, x first.
    pub(crate) fn new(array: &Array, strides: &[i64]) -> Result<Layout> {
        let shape = array.dims();
        if strides.len() != shape.len() {
            let expected = format!("{}, that of the array", shape.len());
            return Err(Error::argument("number of strides", strides.len(), expected));
        }
        let width = array.dtype().bytes() as i64;
        let none = Layout { width, dims: vec![], bytes: 0, span: 0..0 };
        if shape.contains(&0) {
            return Ok(none);
        }
        let far =
            || Error::argument("strides", format!("{strides:?}"), "places within 2^62 bytes of the origin");
        let (mut dims, mut packed): (Vec<Dim>, u64) = (vec![], width as u64);
        let (mut low, mut high) = (0i64, width);
        for (&count, &stride) in shape.iter().zip(strides) {
            let stride = stride.checked_mul(width).ok_or_else(far)?;
            // Not above 2^56, the limit of an array.
            let reach = stride.checked_mul(count as i64 - 1).ok_or_else(far)?;
            let end = if reach < 0 { &mut low } else { &mut high };
            *end = end.checked_add(reach).filter(|end| end.unsigned_abs() <= 1 << 62).ok_or_else(far)?;
            match dims.last_mut() {
                _ if count == 1 => {}
                Some(before) if before.stride.checked_mul(before.count as i64) == Some(stride) => {
                    before.count *= count;
                }
                _ => dims.push(Dim { count, stride, packed }),
            }
            packed *= count;
        }
        Ok(Layout { dims, bytes: packed, span: low..high, ..none })
    }

    /// Bytes of an element.
    pub(crate) fn width(&self) -> u64 {
        self.width as u64
    }

    /// The dimensions of more than one element, x first. In the packed array, elements have no gaps along the first one.
    pub(crate) fn dims(&self) -> &[Dim] {
        &self.dims
    }

    /// Bytes of the packed array.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes from the first to the last element, relative to the origin. They include all gaps.
    pub(crate) fn span(&self) -> Range<i64> {
        self.span.clone()
    }

    /// Rejects places that two elements share, which cannot be written. Dimensions that interleave without sharing are rejected too: the
    /// stride of each dimension must reach beyond all elements of the dimensions with smaller strides.
    pub(crate) fn expect_apart(&self) -> Result<()> {
        let mut dims = self.dims.clone();
        dims.sort_by_key(|dim| dim.stride.unsigned_abs());
        let mut reach = self.width as u64;
        for Dim { count, stride, .. } in dims {
            let stride = stride.unsigned_abs();
            if stride < reach {
                let stride = stride / self.width as u64;
                let expected =
                    format!("at least {}, so that no two elements share a place", reach / self.width as u64);
                return Err(Error::argument("a stride of the destination", stride, expected));
            }
            // Both are at most the span.
            reach += stride * (count - 1);
        }
        Ok(())
    }

    /// Calls `copy` for each row. Together the rows are the array.
    pub(crate) fn rows(&self, mut copy: impl FnMut(Row)) {
        let Some((&x, slower)) = self.dims.split_first() else {
            if self.bytes > 0 {
                copy(Row { at: 0, stride: self.width, packed: 0..self.bytes as usize });
            }
            return;
        };
        // In a transposed array, neighbors in memory are apart in the packed array: small squares of both are copied at a time.
        let near = (0..slower.len()).min_by_key(|&d| slower[d].stride.unsigned_abs());
        let near = near.filter(|&d| slower[d].stride.unsigned_abs() < x.stride.unsigned_abs());
        let y = near.map_or(Dim { count: 1, ..Dim::default() }, |d| slower[d]);
        let (across, along) = if near.is_some() { (BLOCK, BLOCK) } else { (x.count, 1) };
        let others: Vec<Dim> = (0..slower.len()).filter(|d| near != Some(*d)).map(|d| slower[d]).collect();
        let mut index = [0; MAX_DIMS];
        loop {
            let fixed = others.iter().zip(index);
            let (at, packed) = fixed
                .fold((0, 0), |(at, packed), (dim, i)| (at + dim.stride * i as i64, packed + dim.packed * i));
            for from in (0..y.count).step_by(along as usize) {
                for first in (0..x.count).step_by(across as usize) {
                    let count = across.min(x.count - first);
                    for j in from..(from + along).min(y.count) {
                        let start = packed + y.packed * j + x.packed * first;
                        copy(Row {
                            at: at + y.stride * j as i64 + x.stride * first as i64,
                            stride: x.stride,
                            packed: start as usize..(start + count * self.width as u64) as usize,
                        });
                    }
                }
            }
            let Some(next) = (0..others.len()).find(|&d| index[d] + 1 < others[d].count) else { return };
            index[..next].fill(0);
            index[next] += 1;
        }
    }

    /// Rejects an array that is not within `bytes` bytes of memory, with its origin at element `origin`.
    fn within(&self, bytes: usize, origin: usize) -> Result<i64> {
        let at = i64::try_from(origin).ok().and_then(|at| at.checked_mul(self.width));
        let inside = at.filter(|at| {
            self.bytes == 0
                || at.checked_add(self.span.start).is_some_and(|low| low >= 0)
                    && at.checked_add(self.span.end).is_some_and(|high| high <= bytes as i64)
        });
        inside.ok_or_else(|| {
            let got = format!("at bytes {} to {} from element {origin} on", self.span.start, self.span.end);
            Error::argument("a strided array", got, format!("a place within its memory of {bytes} bytes"))
        })
    }
}

/// Packs the elements of a strided array into `dst`, x fastest.
///
/// Parameters: `src` is the memory of the array with all gaps; element `origin` of it is the first element of the array; `strides` has a
/// number for each dimension, in elements, x first. Strides may be negative or 0, and elements may share places.
///
/// # Errors
/// [`Error::InvalidArgument`] for another number of strides, and for an array that is not inside of `src`; [`Error::DstTooSmall`].
pub fn pack(array: &Array, src: &[u8], origin: usize, strides: &[i64], dst: &mut [u8]) -> Result<()> {
    let layout = Layout::new(array, strides)?;
    let base = layout.within(src.len(), origin)?;
    let have = dst.len() as u64;
    let dst = dst.get_mut(..layout.bytes as usize).ok_or(Error::DstTooSmall { need: layout.bytes, have })?;
    let width = layout.width as usize;
    layout.rows(|row| {
        let (to, mut at) = (&mut dst[row.packed], base + row.at);
        if row.stride == layout.width {
            to.copy_from_slice(&src[at as usize..][..to.len()]);
            return;
        }
        for to in to.chunks_exact_mut(width) {
            to.copy_from_slice(&src[at as usize..][..width]);
            at += row.stride;
        }
    });
    Ok(())
}

/// Distributes a packed array to the elements of a strided one. All other bytes of `dst` remain unchanged.
///
/// Parameters: as for [`pack`], with `dst` as the memory of the strided array.
///
/// # Errors
/// [`Error::InvalidArgument`] as for [`pack`], and if two elements could share a place: the stride of each dimension must reach beyond all
/// elements of the dimensions with smaller strides. [`Error::PlanMismatch`] if `src` is not the length of the array.
pub fn unpack(array: &Array, src: &[u8], dst: &mut [u8], origin: usize, strides: &[i64]) -> Result<()> {
    let layout = Layout::new(array, strides)?;
    layout.expect_apart()?;
    let base = layout.within(dst.len(), origin)?;
    if src.len() as u64 != layout.bytes {
        let want = layout.bytes;
        return Err(Error::PlanMismatch(format!(
            "the packed array has {} bytes, but dims require {want}",
            src.len()
        )));
    }
    let width = layout.width as usize;
    layout.rows(|row| {
        let (from, mut at) = (&src[row.packed], base + row.at);
        if row.stride == layout.width {
            dst[at as usize..][..from.len()].copy_from_slice(from);
            return;
        }
        for from in from.chunks_exact(width) {
            dst[at as usize..][..width].copy_from_slice(from);
            at += row.stride;
        }
    });
    Ok(())
}
