//! The kernel: the one unit that exists once per backend, under one name and with one argument block.
//! The Rust function here is the executable specification.

use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::ir::device::OnDevice;
pub(crate) use crate::ir::device::{MAX_OPERANDS, PARAM_BYTES};
use crate::ir::tile_stream::{FusedCall, TileSource, TileTarget};
use bytemuck::Pod;

/// A kernel, on both backends.
#[derive(Debug)]
pub struct Kernel {
    /// Name on every backend and in plan listings.
    pub name: &'static str,
    /// The safe Rust body.
    pub host: fn(&mut HostCall<'_>) -> Result<(), Fault>,
    /// How it may be fused with its neighbors, under these parameters.
    pub role: fn(&[u8; PARAM_BYTES]) -> Role,
    /// How it runs on a GPU.
    pub(crate) device: OnDevice,
}

/// The guarantees of a kernel about tiles, which allow neighbors to pass them on in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing: it runs on its own.
    Alone,
    /// Each tile of output 0 depends on the same tile of input 0, which is as long, and on all of the other
    /// inputs. The last tile may be short, and the end of the array may be missing.
    Tile,
    /// It takes input 0 tile by tile, through [`HostCall::source`].
    TileConsumer,
    /// It makes output 0 tile by tile, through [`HostCall::target`].
    TileProducer,
    /// It makes nothing but sums of input 0, of a known length. A GPU may have a function that makes them on the way, while it makes
    /// that input as its own output 0.
    Reduction,
    /// It reads tiles of input 0 and writes an array of another length. A GPU may have one function for it
    /// and the kernels before it.
    TileSink,
}

/// The role of kernels that are never fused.
pub(crate) fn alone(_: &[u8; PARAM_BYTES]) -> Role {
    Role::Alone
}

/// A parameter block as the type that the stage wrote. Missing bytes are zeros.
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
    pub(crate) threads: Parallel<'a>,
    /// Kernels fused before a TileConsumer or behind a TileProducer.
    pub(crate) fused: &'a [FusedCall<'a>],
    /// Bytes that a TileConsumer reads or a TileProducer writes.
    pub(crate) length: u64,
    /// The number that the workspace keeps for the stage from call to call; 0 before the first one.
    pub(crate) kept: f64,
}

impl<'a> HostCall<'a> {
    /// Input 0, through the kernels fused before.
    pub(crate) fn source(&self) -> Result<TileSource<'a>, Fault> {
        Ok(TileSource { base: self.input(0)?, fused: self.fused, len: self.length as usize })
    }

    /// Output 0, through the kernels fused behind.
    pub(crate) fn target(&mut self) -> Result<TileTarget<'a>, Fault> {
        Ok(TileTarget { out: self.output(0)?, fused: self.fused, len: self.length as usize })
    }

    /// Input operand `i`.
    pub(crate) fn input(&self, i: usize) -> Result<&'a [u8], Fault> {
        self.ins.get(i).copied().ok_or(Fault::BadLaunch)
    }

    /// Output operand `i`; each can be taken once.
    pub(crate) fn output(&mut self, i: usize) -> Result<&'a mut [u8], Fault> {
        self.outs.get_mut(i).map(std::mem::take).ok_or(Fault::BadLaunch)
    }

    /// Input 0 and output 0 of a kernel that writes one byte for every byte. If the length is only known at
    /// run time, the output has room for more: it is cut, and its length is published.
    pub(crate) fn byte_for_byte(&mut self) -> Result<(&'a [u8], &'a mut [u8]), Fault> {
        let (src, dst) = (self.input(0)?, self.output(0)?);
        let bytes = dst.len().min(src.len());
        self.publish(0, bytes as u64)?; // seed: unknown-length
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
