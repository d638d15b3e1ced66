//! The arrays of a call for a batch, and the places for their results.

use super::device::fz_result;
use super::ffi_guard::{FfiError, FfiResult};
use super::handle::{elements, places, region_at};
use crate::{BatchItem, DeviceSlice, Error, Status};

/// Addresses, one for each array, their lengths, and the names of both parameters.
pub(super) type Given = (*const usize, *const u64, [&'static str; 2]);

/// The arrays of a call that have memory, and the places for the results.
///
/// # Safety
/// All pointers are null or have an entry for each array. The first four are not changed during the call, and
/// no other code uses `results`.
pub(super) unsafe fn arguments(
    count: usize,
    array: impl Fn(usize) -> u64,
    src: Given,
    dst: Given,
    results: *mut fz_result,
) -> FfiResult<(Vec<BatchItem>, Results)> {
    let mut items = list(count)?;
    // SAFETY: the caller's promise.
    let (from, to) = unsafe { (entries(src, count)?, entries(dst, count)?) };
    let at = if count == 0 { results } else { places(results, count as u64, "results")? };
    let results = Results { at, count };
    for i in 0..count {
        let (src, dst) = (region_of(from, i, src.2[0])?, region_of(to, i, dst.2[0])?);
        if array(i) == 0 || (src.address != 0 && dst.address != 0) {
            items.push(BatchItem { array: i, src, dst });
        }
    }
    expect_apart(&items, src.2[0], results.region())?;
    Ok((items, results))
}

/// The entries of two parameters. A batch without arrays needs none.
///
/// # Safety
/// As for [`elements`].
unsafe fn entries<'a>((at, bytes, names): Given, count: usize) -> FfiResult<(&'a [usize], &'a [u64])> {
    if count == 0 {
        return Ok((&[], &[]));
    }
    let count = count as u64;
    // SAFETY: the caller's promise.
    Ok(unsafe { (elements(at, count, names[0])?, elements(bytes, count, names[1])?) })
}

/// The memory of array `i`; none at address 0.
fn region_of((at, bytes): (&[usize], &[u64]), i: usize, name: &str) -> FfiResult<DeviceSlice> {
    match (at.get(i), bytes.get(i)) {
        (Some(&at), Some(&bytes)) if at != 0 => region_at(at, bytes, || format!("{name}[{i}]")),
        _ => Ok(DeviceSlice::default()),
    }
}

/// An empty list with room for `n` entries.
pub(super) fn list<T>(n: usize) -> FfiResult<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(n).map_err(|_| Error::OutOfMemory(n as u64 * size_of::<T>() as u64))?;
    Ok(list)
}

/// Rejects memory to write that overlaps other memory of the call.
fn expect_apart(items: &[BatchItem], name: &str, results: DeviceSlice) -> FfiResult<()> {
    let mut written = list(items.len() + 1)?;
    written
        .extend(items.iter().map(|item| (item.dst, Some(item.array))).filter(|(slice, _)| slice.bytes > 0));
    written.extend((results.bytes > 0).then_some((results, None)));
    written.sort_unstable_by_key(|(slice, _)| slice.address);
    let named = |array: &Option<usize>| array.map_or("results".into(), |i| format!("dst[{i}]"));
    if let Some((a, b)) = written.iter().zip(written.iter().skip(1)).find(|(a, b)| a.0.overlaps(b.0)) {
        let (a, b) = (named(&a.1), named(&b.1));
        return Err(FfiError::argument(format!("{a} and {b} overlap; pass separate memory")));
    }
    for item in items {
        let end = item.src.address.saturating_add(item.src.bytes);
        let before = written.partition_point(|(slice, _)| slice.address < end);
        let Some((slice, array)) = before.checked_sub(1).and_then(|i| written.get(i)) else { continue };
        if slice.overlaps(item.src) {
            let (i, other) = (item.array, named(array));
            return Err(FfiError::argument(format!("{name}[{i}] and {other} overlap; pass separate memory")));
        }
    }
    Ok(())
}

/// The places for the results of a call.
pub(super) struct Results {
    at: *mut fz_result,
    count: usize,
}

impl Results {
    fn region(&self) -> DeviceSlice {
        let bytes = self.count as u64 * size_of::<fz_result>() as u64;
        DeviceSlice { address: self.at as u64, bytes }
    }

    /// Writes the results of the arrays; fails with the first failure among them.
    pub(super) fn put(&self, items: &[BatchItem], done: &[Result<usize, Error>]) -> FfiResult<()> {
        let mut first = Ok(());
        let mut run = items.iter().zip(done).peekable();
        for i in 0..self.count {
            let own = run.next_if(|(item, _)| item.array == i).map(|(_, done)| done);
            let (bytes, needed, status) = match own {
                Some(Ok(bytes)) => (*bytes as u64, 0, Status::Ok),
                Some(Err(error)) => (0, needed(error), error.status()),
                None => (0, 0, Status::NullPointer),
            };
            if status != Status::Ok && first.is_ok() {
                let text = own.and_then(|done| done.as_ref().err()).map(ToString::to_string);
                let text = text.unwrap_or_else(|| "the address of its memory is NULL".into());
                first = Err(FfiError { status, text: format!("array {i}: {text}") });
            }
            // SAFETY: there are `count` places by the promise of `memory`.
            unsafe { self.at.add(i).write(fz_result { bytes, needed, status: status as i32, stage: 0 }) };
        }
        first
    }
}

/// The size that would have been enough.
fn needed(error: &Error) -> u64 {
    match error {
        Error::DstTooSmall { need, .. } => *need,
        Error::OutlierCapacity { needed, .. } => *needed,
        _ => 0,
    }
}
