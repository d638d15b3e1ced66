//! The kernel: the one unit that exists once per backend, under one name and with one argument block.
//! The Rust function here is the executable specification.

use crate::chain::{Link, Source, Target};
use crate::device::OnDevice;
pub(crate) use crate::device::{MAX_OPERANDS, PARAM_BYTES};
use crate::error::Fault;
use bytemuck::Pod;
use rayon::prelude::*;

/// A kernel, on both backends.
#[derive(Debug)]
pub struct Kernel {
    /// Name on every backend and in plan listings.
    pub name: &'static str,
    /// The safe Rust body.
    pub host: fn(&mut HostCall<'_>) -> Result<(), Fault>,
    /// How it may be chained with its neighbours, under these parameters.
    pub role: fn(&[u8; PARAM_BYTES]) -> Role,
    /// How it runs on a GPU.
    pub(crate) device: OnDevice,
}

/// What a kernel promises about tiles, so that neighbours can hand them on while they are in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing: it runs on its own.
    Alone,
    /// Each tile of output 0 depends on the same tile of input 0, which is as long, and on all of the other
    /// inputs. The last tile may be short, and the end of the array may be missing.
    Tile,
    /// It takes input 0 tile by tile, through [`HostCall::source`].
    Gather,
    /// It makes output 0 tile by tile, through [`HostCall::target`].
    Scatter,
    /// It makes nothing but sums of input 0, of a known length. A GPU may have a function that makes them on the way, while it makes
    /// that input as its own output 0.
    Sums,
    /// It goes on from tiles of input 0 to an array of other length. A GPU may have a function for it and what stands before it.
    Last,
}

/// The role of kernels that are never chained.
pub(crate) fn alone(_: &[u8; PARAM_BYTES]) -> Role {
    Role::Alone
}

/// A parameter block as the type that the stage wrote; zeros stand for what is missing.
pub(crate) fn read_params<P: Pod>(block: &[u8; PARAM_BYTES]) -> P {
    let mut params = P::zeroed();
    let bytes = bytemuck::bytes_of_mut(&mut params);
    let n = bytes.len().min(PARAM_BYTES);
    bytes[..n].copy_from_slice(&block[..n]);
    params
}

/// One launch as the CPU sees it: inputs at their exact length, outputs at their full capacity.
///
/// The caller's array may be shorter than the plan's padded length and may be misaligned; kernels that
/// touch it directly cope with both.
pub struct HostCall<'a> {
    pub(crate) params: &'a [u8; PARAM_BYTES],
    pub(crate) ins: &'a [&'a [u8]],
    pub(crate) outs: &'a mut [&'a mut [u8]],
    pub(crate) words: &'a mut [u64],
    pub(crate) threads: Threads<'a>,
    /// Kernels chained before a Gather or behind a Scatter.
    pub(crate) links: &'a [Link<'a>],
    /// Bytes of what a Gather takes or a Scatter makes.
    pub(crate) length: u64,
}

impl<'a> HostCall<'a> {
    /// Input 0, through the kernels chained before.
    pub(crate) fn source(&self) -> Result<Source<'a>, Fault> {
        Ok(Source { base: self.input(0)?, links: self.links, len: self.length as usize })
    }

    /// Output 0, through the kernels chained behind.
    pub(crate) fn target(&mut self) -> Result<Target<'a>, Fault> {
        Ok(Target { out: self.output(0)?, links: self.links, len: self.length as usize })
    }

    /// Input operand `i`.
    pub(crate) fn input(&self, i: usize) -> Result<&'a [u8], Fault> {
        self.ins.get(i).copied().ok_or(Fault::BadLaunch)
    }

    /// Output operand `i`; each can be taken once.
    pub(crate) fn output(&mut self, i: usize) -> Result<&'a mut [u8], Fault> {
        self.outs.get_mut(i).map(std::mem::take).ok_or(Fault::BadLaunch)
    }

    /// Input 0 and output 0 of a kernel that makes a byte of every byte. Where only the run knows how many
    /// there are, the output has room for more: it is cut and its length published.
    pub(crate) fn byte_for_byte(&mut self) -> Result<(&'a [u8], &'a mut [u8]), Fault> {
        let (src, dst) = (self.input(0)?, self.output(0)?);
        let bytes = dst.len().min(src.len());
        self.publish(0, bytes as u64)?;
        Ok((src, dst.get_mut(..bytes).ok_or(Fault::BadLaunch)?))
    }

    /// The parameter block as the type that the stage wrote.
    pub(crate) fn params<P: Pod>(&self) -> P {
        read_params(self.params)
    }

    /// Bytes produced in output `i`; without a call, all of it.
    pub(crate) fn publish(&mut self, i: usize, bytes: u64) -> Result<(), Fault> {
        *self.words.get_mut(i).ok_or(Fault::BadLaunch)? = bytes;
        Ok(())
    }
}

/// Tiles that one task takes: large enough that scheduling costs nothing, small enough to balance. Tasks are
/// handed out one by one, so that the last ones are spread over all threads.
pub(crate) const TILES_PER_TASK: usize = 8;

/// The threads of one call. Tiles are fixed by the wire form, so their number never shows in the bytes.
#[derive(Clone, Copy)]
pub(crate) struct Threads<'a>(pub(crate) Option<&'a rayon::ThreadPool>);

impl Threads<'_> {
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

    /// Tiles to a part of [`Threads::parts`]; all of them with one thread.
    pub(crate) fn tiles_per_part(self) -> usize {
        if self.0.is_some() { TILES_PER_TASK } else { usize::MAX }
    }
}
