//! Error-bounded compression of arrays by pipelines of stages.
//!
//! ```text
//!  C calls | TOML | text          container bytes
//!      │ build        notation         │ parse, validated          format
//!      ▼                               ▼
//!   Pipeline ── types, lengths ──▶ Graph                            pipeline, plan::graph
//!      │ lower: stages emit launches                                stage, stages, launch
//!      ▼
//!   steps ── fuse ── layout by liveness ── verify ─▶ Plan                   plan
//!                                             │
//!                           Workspace ──▶ run ──▶ container       workspace, backend, format
//! ```
//! A stage never executes: it infers its outputs and emits launches of kernels. Lengths are constants, or
//! numbers with a proven maximum that kernels publish, so the host never waits between two kernels. A module
//! uses only modules before it in this list: base, ir, stages, pipeline, plan, gpu, format, runtime, codec,
//! file, metrics, choose, capi.
//!
//! One call compresses and one restores, here with an error of at most a thousandth of the value range:
//!
//! ```rust
//! use fzgm::{Array, DType, Options, compress, decompress, preset};
//!
//! let src: Vec<u8> = (0..10_000).flat_map(|i| (i as f32 * 1e-3).sin().to_le_bytes()).collect();
//! let array = Array::new(DType::F32, &[100, 100])?;
//! let mut pipeline = preset("pfpl", DType::F32)?; // mode noa
//! pipeline.set_everywhere("error_bound", |args| args.set_real("error_bound", 1e-3))?;
//! let container = compress(&pipeline, &array, &Options::default(), &src)?;
//! let (array, restored) = decompress(&container, &Options::default())?;
//! # assert!(container.len() < src.len() / 4 && array.dims() == [100, 100]);
//! # for (x, y) in src.chunks(4).zip(restored.chunks(4)) {
//! #     let f32_of = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
//! #     assert!((f32_of(x) - f32_of(y)).abs() <= 2e-3);
//! # }
//! # Ok::<(), fzgm::Error>(())
//! ```
//!
//! [`Encoder`] and [`Decoder`] keep plans and memory from call to call.

#[cfg(not(target_endian = "little"))]
compile_error!("fzgm needs a little-endian machine");

mod base;
#[cfg(feature = "capi")]
pub mod capi;
mod choose;
mod codec;
mod file;
mod format;
mod gpu;
mod ir;
pub mod metrics;
mod pipeline;
mod plan;
mod runtime;
pub mod stages;

pub use base::array::{Array, MAX_DIMS};
pub use base::dtype::DType;
pub use base::environment::in_default_environment;
pub use base::error::{Error, Result, Status};
pub use base::param::{Args, Kind, Param, Setting};
pub use base::reserve::ReserveAllocator;
pub use base::strided::{pack, unpack};
pub use base::thread_pool::MAX_THREADS;
pub use choose::{Aim, Choice, Goal, Wish, choose, choose_at};
#[doc(hidden)]
pub use codec::overlap_from;
pub use codec::{
    Batch, BatchAddresses, BatchItem, BatchWorkspace, CallResult, Container, Decoder, Device, DeviceBuffer,
    DeviceSlice, Encoder, Options, ResultBuffer, StridedSlice, compress, copy_to_host, decompress,
    decompress_preview, decompress_preview_at, decompress_region, decompress_region_at, device_of, info_at,
    on_device, pipeline_at, preview_array,
};
#[cfg(feature = "files")]
pub use file::AtomicFile;
pub use file::{ContainerFile, decompress_preview_file, decompress_region_file, series, slabs};
pub use format::{Info, SegmentInfo, StageInfo, info, info_partial, pipeline_of};
#[doc(hidden)]
pub use gpu::device_functions;
pub use gpu::{DeviceInfo, Stream, device_count, device_info};
pub use ir::stage::{Generation, Spec, Stage};
pub use pipeline::presets::{PRESETS, Preset, preset, preset_within};
pub use pipeline::{MAX_STAGES, Node, Pipeline, Source};
pub use plan::{Direction, Plan};
pub use runtime::workspace::Workspace;

/// Old name of [`decompress_region`].
///
/// # Errors
/// As [`decompress_region`].
#[deprecated(note = "use decompress_region")]
pub fn decompress_box(container: &[u8], origin: &[u64], extent: &[u64], dst: &mut [u8]) -> Result<usize> {
    decompress_region(container, origin, extent, dst)
}

/// Old name of [`decompress_region_file`].
///
/// # Errors
/// As [`decompress_region_file`].
#[deprecated(note = "use decompress_region_file")]
pub fn decompress_box_file(
    path: impl AsRef<std::path::Path>,
    origin: &[u64],
    extent: &[u64],
    dst: &mut [u8],
) -> Result<usize> {
    decompress_region_file(path, origin, extent, dst)
}
