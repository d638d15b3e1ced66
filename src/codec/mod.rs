//! Compress and decompress: plans, workspaces and containers put together.

mod batch;
#[cfg(test)]
mod bodies;
mod decoder;
mod device;
mod encoder;
mod only_stage;
mod preview;
mod region;
#[cfg(test)]
mod tests;
mod whole;

use crate::base::array::Array;
use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::format;
pub use crate::format::Container;
use crate::ir::stage::{Generation, Rules};
use crate::pipeline::Pipeline;
use crate::plan::{CompileOptions, Target};
pub use batch::{Batch, BatchItem, BatchWorkspace};
pub use decoder::Decoder;
#[doc(hidden)]
pub use device::overlap_from;
pub use device::{
    BatchAddresses, CallResult, Device, DeviceBuffer, DeviceSlice, ResultBuffer, StridedSlice, copy_to_host,
    decompress_preview_at, decompress_region_at, device_of, info_at, on_device, pipeline_at,
};
pub use encoder::Encoder;
pub(crate) use preview::restore_preview;
pub use preview::{decompress_preview, preview_array};
pub use region::decompress_region;
pub(crate) use region::{region_bytes, restore_region};

/// Options of a whole plan.
#[derive(Clone, Debug)]
pub struct Options {
    /// Keep the bound for every value (default). Off writes the reference's bytes, with their losses.
    pub strict: bool,
    /// The form of FZM files to write.
    pub generation: Generation,
    /// The container to write.
    pub container: Container,
    /// Store an array that the pipeline makes longer as it is (default), so that no container is longer than
    /// the array and a header. Never done in the exact form of the reference: strict off, generation 2026-05.
    pub store_incompressible: bool,
    /// Run chains of kernels tile by tile (default). Never shows in the bytes; off is for comparison.
    pub fuse: bool,
    /// Write checksums, and compare those of a container that is read.
    pub checksum: bool,
    /// Write checksums in asynchronous calls too (off by default: they cost a pass over the container).
    pub checksum_async: bool,
    /// Modes `noa` and `prel`, stages fast and quantizer, `strict` on: the bound refers to the value base of the previous call with
    /// the workspace if that is at most the one of the array and not much smaller (off by default). The bytes then depend on the
    /// earlier calls with the workspace. Other stages, batches, and slab files ignore it.
    pub previous_base: bool,
    /// The processor that runs calls. It has no effect on the bytes.
    pub device: Device,
    /// Threads of a call; 1 by default, 0 for all cores. Never shows in the bytes.
    pub threads: u32,
    /// Limit of the working memory of a decompression in bytes, including the memory that the decoder of
    /// preset `high` allocates besides its workspace. 0: for memory that a container requires, 8 times the
    /// array and 64 MiB; no limit for the decoder of an encoder.
    pub max_memory_bytes: u64,
}

impl Options {
    /// True if containers are in the exact form of the reference.
    pub(crate) fn is_literal(&self) -> bool {
        !self.strict && self.generation == Generation::G2026_05
    }

    /// The options together with the requirements of a pipeline. A departure from the defaults in either of
    /// them holds.
    fn with(&self, asked: Rules) -> Options {
        let old = [self.generation, asked.generation].contains(&Generation::G2026_05);
        Options {
            strict: self.strict && asked.strict,
            generation: if old { Generation::G2026_05 } else { self.generation },
            ..self.clone()
        }
    }

    /// How plans for the CPU are made.
    fn on_cpu(&self) -> CompileOptions {
        CompileOptions { fuse: self.fuse, target: Target::Cpu, direct_output: false }
    }

    /// How plans for a GPU are made.
    fn on_gpu(&self) -> CompileOptions {
        CompileOptions {
            fuse: self.fuse,
            target: Target::Cuda,
            direct_output: self.container == Container::Fzm,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            strict: true,
            generation: Generation::G2026_08,
            container: Container::Fzm,
            store_incompressible: true,
            fuse: true,
            checksum: true,
            checksum_async: false,
            previous_base: false,
            device: Device::Auto,
            threads: 1,
            max_memory_bytes: 0,
        }
    }
}

/// Compresses in one call.
///
/// # Errors
/// As [`Encoder::new`] and [`Encoder::compress`].
pub fn compress(pipeline: &Pipeline, array: &Array, options: &Options, src: &[u8]) -> Result<Vec<u8>> {
    in_default_environment(|| {
        let encoder = Encoder::new(pipeline, array, options)?;
        let mut dst = buffer(encoder.max_compressed_bytes())?;
        let bytes = encoder.compress(&mut encoder.workspace()?, src, &mut dst)?;
        dst.truncate(bytes);
        Ok(dst)
    })
}

/// Decompresses in one call: the array and its bytes.
///
/// # Errors
/// As [`Decoder::open`] and [`Decoder::decompress`].
pub fn decompress(container: &[u8], options: &Options) -> Result<(Array, Vec<u8>)> {
    in_default_environment(|| {
        let header = format::read(container)?;
        let decoder = Decoder::of_header(&header, options)?;
        let mut dst = buffer(header.bound.array.bytes())?;
        decoder.run(&header, &mut decoder.workspace()?, container, &mut dst)?;
        Ok((header.bound.array, dst))
    })
}

/// Refuses memory of the host for the workspace of a plan that has none there.
fn on_host(device: Device) -> Result<()> {
    match device {
        Device::Auto | Device::Cpu => Ok(()),
        Device::Cuda(_) => Err(Error::argument(
            "device",
            device,
            "auto or cpu: the workspace of a GPU is device memory of its own",
        )),
    }
}

/// Zeroed memory, or an error where the system has none.
pub(crate) fn buffer(bytes: u64) -> Result<Vec<u8>> {
    let len = usize::try_from(bytes).map_err(|_| Error::OutOfMemory(bytes))?;
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| Error::OutOfMemory(bytes))
}
