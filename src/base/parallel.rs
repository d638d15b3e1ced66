//! Loops over the threads of a call.

use crate::base::error::Fault;
use rayon::prelude::*;

/// Tiles that one task takes: large enough that scheduling costs nothing, small enough to balance. Tasks are
/// handed out one by one, so that the last ones are spread over all threads.
pub(crate) const TILES_PER_TASK: usize = 8;

/// The threads of one call. Tiles are fixed by the wire form, so their number never shows in the bytes.
#[derive(Clone, Copy)]
pub(crate) struct Parallel<'a>(pub(crate) Option<&'a rayon::ThreadPool>);

impl Parallel<'_> {
    /// Calls `f(index, tile)` for each tile of `tile` bytes of `dst`; the last may be short.
    pub(crate) fn tiles<F>(self, dst: &mut [u8], tile: usize, f: F) -> Result<(), Fault>
    where
        F: Fn(usize, &mut [u8]) -> Result<(), Fault> + Sync,
    {
        let run = |first: usize, part: &mut [u8]| {
            part.chunks_mut(tile).enumerate().try_for_each(|(k, t)| f(first + k, t))
        };
        // Waking a thread costs as much as a small task.
        match self.0.filter(|_| dst.len() > tile * TILES_PER_TASK) {
            None => run(0, dst),
            Some(pool) => pool.install(|| {
                dst.par_chunks_mut(tile * TILES_PER_TASK)
                    .with_max_len(1)
                    .enumerate()
                    .try_for_each(|(k, part)| run(k * TILES_PER_TASK, part))
            }),
        }
    }

    /// Calls `f(first_index, a_part, b_part)` for matching parts of `a` and `b`: `a_tile` bytes of the one
    /// belong to `b_tile` bytes of the other, many tiles to a part.
    pub(crate) fn parts<F>(self, a: (&mut [u8], usize), b: (&mut [u8], usize), f: F) -> Result<(), Fault>
    where
        F: Fn(usize, &mut [u8], &mut [u8]) -> Result<(), Fault> + Sync,
    {
        match self.0 {
            None => f(0, a.0, b.0),
            Some(pool) => pool.install(|| {
                a.0.par_chunks_mut(a.1 * TILES_PER_TASK)
                    .zip(b.0.par_chunks_mut(b.1 * TILES_PER_TASK))
                    .with_max_len(1)
                    .enumerate()
                    .try_for_each(|(k, (a, b))| f(k * TILES_PER_TASK, a, b))
            }),
        }
    }

    /// Copies `src` to `dst`, which is as long.
    pub(crate) fn copy(self, src: &[u8], dst: &mut [u8]) {
        /// Bytes of a piece; several of them are a task.
        const PIECE: usize = 1 << 16;
        match self.0 {
            None => dst.copy_from_slice(src),
            Some(_) => {
                let copied = self.tiles(dst, PIECE, |k, out| {
                    out.copy_from_slice(&src[k * PIECE..k * PIECE + out.len()]);
                    Ok(())
                });
                debug_assert_eq!(copied, Ok(()));
            }
        }
    }

    /// How many there are.
    pub(crate) fn count(self) -> usize {
        self.0.map_or(1, rayon::ThreadPool::current_num_threads)
    }

    /// The results of `f(i)` for `i < n`, in order.
    pub(crate) fn map<T, F>(self, n: usize, f: F) -> Vec<T>
    where
        T: Send,
        F: Fn(usize) -> T + Sync + Send,
    {
        match self.0.filter(|_| n > 1) {
            None => (0..n).map(f).collect(),
            Some(pool) => pool.install(|| (0..n).into_par_iter().map(f).collect()),
        }
    }

    /// The results of `f` for each of `items`, in order; `state` is working memory, made once per thread or more
    /// often.
    pub(crate) fn each<I, S, T, F>(self, items: Vec<I>, state: impl Fn() -> S + Sync + Send, f: F) -> Vec<T>
    where
        I: Send,
        T: Send,
        F: Fn(&mut S, I) -> T + Sync + Send,
    {
        match self.0.filter(|_| items.len() > 1) {
            None => {
                let mut state = state();
                items.into_iter().map(|item| f(&mut state, item)).collect()
            }
            Some(pool) => pool.install(|| items.into_par_iter().map_init(state, f).collect()),
        }
    }

    /// Sorts items, of which equal ones are alike.
    pub(crate) fn sort<T: Ord + Send>(self, items: &mut [T]) {
        match self.0 {
            None => items.sort_unstable(),
            Some(pool) => pool.install(|| items.par_sort_unstable()),
        }
    }

    /// Calls `f` for each item, one at a time on each thread.
    pub(crate) fn for_each<T: Send>(self, items: &mut [T], f: impl Fn(&mut T) + Sync + Send) {
        match self.0.filter(|_| items.len() > 1) {
            None => items.iter_mut().for_each(f),
            Some(pool) => pool.install(|| items.par_iter_mut().with_max_len(1).for_each(f)),
        }
    }

    /// Tiles to a part of [`Parallel::parts`]; all of them with one thread.
    pub(crate) fn tiles_per_part(self) -> usize {
        if self.0.is_some() { TILES_PER_TASK } else { usize::MAX } // seed: rze-parts
    }
}
