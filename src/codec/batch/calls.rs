//! Calls that wait.
#![allow(unsafe_code)]

use super::{Batch, BatchItem, BatchWorkspace};
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::codec::{Decoder, Encoder};
use crate::runtime::workspace::Workspace;

/// An array of a call, and its result.
struct Job<I> {
    plan: usize,
    item: I,
    done: Result<usize>,
}

/// Runs the jobs; returns their results in the order of the jobs.
fn run<I: Send>(
    ws: &mut BatchWorkspace,
    items: impl ExactSizeIterator<Item = (usize, I)>,
    f: impl Fn(&mut Workspace, usize, &mut I) -> Result<usize> + Sync + Send,
) -> Result<Vec<Result<usize>>> {
    let (mut jobs, mut done) = (room(items.len())?, room(items.len())?);
    jobs.extend(items.map(|(plan, item)| Job { plan, item, done: Ok(0) }));
    ws.run(&mut jobs, |ws, job| job.done = f(ws, job.plan, &mut job.item));
    done.extend(jobs.into_iter().map(|job| job.done));
    Ok(done)
}

/// An empty list with room for `n` entries.
fn room<T>(n: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(n).map_err(|_| Error::OutOfMemory(n as u64 * size_of::<T>() as u64))?;
    Ok(list)
}

/// Bytes to read, and room for bytes to write.
type Pair<'a, 'b, 'd> = (&'a [u8], &'b mut &'d mut [u8]);

impl<P> Batch<P> {
    /// Pairs the slices of a call, one each for every array.
    fn pairs<'a, 'b, 'd>(
        &self,
        src: &'a [&'a [u8]],
        dst: &'b mut [&'d mut [u8]],
    ) -> Result<impl ExactSizeIterator<Item = (usize, Pair<'a, 'b, 'd>)>> {
        for (name, slices) in [("src", src.len()), ("dst", dst.len())] {
            if slices != self.len() {
                let expected = format!("{}, one slice for each array of the batch", self.len());
                return Err(Error::argument(format!("the length of {name}"), slices, expected));
            }
        }
        Ok(src.iter().copied().zip(dst).enumerate())
    }
}

impl Batch<Encoder> {
    /// Compresses each array `src[i]` into `dst[i]`, and returns the length of each container. The call
    /// fails only if it is wrong as a whole; the failure of an array is in its own result.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another number of slices than arrays, [`Error::OutOfMemory`]. For each
    /// array, as [`Encoder::compress`].
    pub fn compress(
        &self,
        ws: &mut BatchWorkspace,
        src: &[&[u8]],
        dst: &mut [&mut [u8]],
    ) -> Result<Vec<Result<usize>>> {
        in_default_environment(|| {
            run(ws, self.pairs(src, dst)?, |ws, array, (src, dst)| self.plan(array)?.compress(ws, src, dst))
        })
    }

    /// The same for some of the arrays, in memory of any kind. The results have the order of `items`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]. For each array, as [`Encoder::compress_at`].
    ///
    /// # Safety
    /// As for [`Encoder::compress_at`]; no memory to write may overlap other memory of the call.
    pub unsafe fn compress_at(
        &self,
        ws: &mut BatchWorkspace,
        items: &[BatchItem],
    ) -> Result<Vec<Result<usize>>> {
        in_default_environment(|| {
            run(ws, items.iter().map(|item| (item.array, *item)), |ws, array, item| {
                // SAFETY: the caller's promise.
                unsafe { self.plan(array)?.compress_at(ws, item.src, item.dst) }
            })
        })
    }
}

impl Batch<Decoder> {
    /// Restores the array of each container `src[i]` into `dst[i]`, and returns the length of each array.
    /// The call fails only if it is wrong as a whole; the failure of a container is in its own result.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another number of slices than arrays, [`Error::OutOfMemory`]. For each
    /// array, as [`Decoder::decompress`].
    pub fn decompress(
        &self,
        ws: &mut BatchWorkspace,
        src: &[&[u8]],
        dst: &mut [&mut [u8]],
    ) -> Result<Vec<Result<usize>>> {
        in_default_environment(|| {
            run(ws, self.pairs(src, dst)?, |ws, array, (src, dst)| self.plan(array)?.decompress(ws, src, dst))
        })
    }

    /// The same for some of the arrays, in memory of any kind. The results have the order of `items`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]. For each array, as [`Decoder::decompress_at`].
    ///
    /// # Safety
    /// As for [`Decoder::decompress_at`]; no memory to write may overlap other memory of the call.
    pub unsafe fn decompress_at(
        &self,
        ws: &mut BatchWorkspace,
        items: &[BatchItem],
    ) -> Result<Vec<Result<usize>>> {
        in_default_environment(|| {
            run(ws, items.iter().map(|item| (item.array, *item)), |ws, array, item| {
                // SAFETY: the caller's promise.
                unsafe { self.plan(array)?.decompress_at(ws, item.src, item.dst) }
            })
        })
    }
}
