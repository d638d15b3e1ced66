//! Tiles that pass through several kernels without leaving the cache.
//!
//! A TileConsumer pulls: it requests a tile, and the kernels before it compute their tile. A TileProducer
//! pushes: it computes a tile, and the kernels after it turn that into a tile of the last output. The kernels
//! are the functions that also run on whole values, so the bytes are equal.

use crate::base::error::Fault;
use crate::base::parallel::{Parallel, TILES_PER_TASK};
use crate::base::tile::{Buffer, TILE};
use crate::ir::kernel::{HostCall, Kernel, PARAM_BYTES};

/// A fused kernel.
#[derive(Clone, Copy)]
pub(crate) struct FusedCall<'a> {
    pub(crate) kernel: &'static Kernel,
    pub(crate) params: &'a [u8; PARAM_BYTES],
    /// Its inputs but the first.
    pub(crate) extra: &'a [&'a [u8]],
}

/// Inputs of a fused kernel: the tile and its further inputs.
const MAX_INPUTS: usize = 4;

impl FusedCall<'_> {
    fn run(&self, input: &[u8], output: &mut [u8]) -> Result<(), Fault> {
        let mut ins: [&[u8]; MAX_INPUTS] = [&[]; MAX_INPUTS];
        ins[0] = input;
        let extra = ins.get_mut(1..1 + self.extra.len()).ok_or(Fault::BadLaunch)?;
        extra.copy_from_slice(self.extra);
        let length = output.len() as u64;
        let mut call = HostCall {
            params: self.params,
            ins: &ins[..1 + self.extra.len()],
            outs: &mut [output],
            words: &mut [length],
            threads: Parallel(None),
            fused: &[],
            length,
            kept: 0.0,
        };
        (self.kernel.host)(&mut call)
    }
}

/// The two buffers between which a tile goes back and forth.
pub(crate) struct Relay {
    buffers: [Buffer; 2],
}

impl Relay {
    pub(crate) const fn new() -> Relay {
        Relay { buffers: [Buffer::ZERO; 2] }
    }
}

/// The tiles that a TileConsumer reads.
#[derive(Clone, Copy)]
pub(crate) struct TileSource<'a> {
    pub(crate) base: &'a [u8],
    pub(crate) fused: &'a [FusedCall<'a>],
    pub(crate) len: usize,
}

impl<'a> TileSource<'a> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Tile `k`.
    pub(crate) fn tile<'r>(&self, k: usize, relay: &'r mut Relay) -> Result<&'r [u8], Fault>
    where
        'a: 'r,
    {
        let n = self.len.checked_sub(k * TILE).ok_or(Fault::BadLaunch)?.min(TILE);
        // The array may end before its padding does.
        let base = self.base.get(k * TILE..).unwrap_or_default();
        let base = &base[..base.len().min(n)];
        let [a, b] = &mut relay.buffers;
        let (mut full, mut spare) = (a, b);
        for (i, fused_kernel) in self.fused.iter().enumerate() {
            let input = if i == 0 { base } else { &full.0[..n] };
            fused_kernel.run(input, &mut spare.0[..n])?;
            std::mem::swap(&mut full, &mut spare);
        }
        if self.fused.is_empty() {
            return if base.len() == n { Ok(base) } else { Err(Fault::BadLaunch) };
        }
        Ok(&full.0[..n])
    }
}

/// The tiles that a TileProducer writes.
pub(crate) struct TileTarget<'a> {
    pub(crate) out: &'a mut [u8],
    pub(crate) fused: &'a [FusedCall<'a>],
    pub(crate) len: usize,
}

impl TileTarget<'_> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Calls `make(state, k, tile)` for every tile; `state` is made once per task.
    pub(crate) fn fill<S>(
        self,
        threads: Parallel<'_>,
        state: impl Fn() -> S + Sync,
        make: impl Fn(&mut S, usize, &mut [u8]) -> Result<(), Fault> + Sync,
    ) -> Result<(), Fault> {
        let TileTarget { out, fused, len } = self;
        threads.tiles(out, TILE * TILES_PER_TASK, |task, part| {
            let (mut state, mut relay) = (state(), Relay::new());
            for (j, tile) in part.chunks_mut(TILE).enumerate() {
                let k = task * TILES_PER_TASK + j;
                let Some((last, before)) = fused.split_last() else {
                    make(&mut state, k, tile)?;
                    continue;
                };
                // The array may end before its padding does: only the last kernel sees that.
                let n = len.checked_sub(k * TILE).ok_or(Fault::BadLaunch)?.min(TILE);
                let [a, b] = &mut relay.buffers;
                let (mut full, mut spare) = (a, b);
                make(&mut state, k, &mut full.0[..n])?;
                for fused_kernel in before {
                    fused_kernel.run(&full.0[..n], &mut spare.0[..n])?;
                    std::mem::swap(&mut full, &mut spare);
                }
                last.run(&full.0[..n], tile)?;
            }
            Ok(())
        })
    }
}
