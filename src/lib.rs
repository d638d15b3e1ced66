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
//! A stage never executes: it infers what comes out of it and emits launches of kernels. Lengths are
//! constants or words with a proven maximum, so nothing is ever asked back between two kernels. Modules use
//! only what stands before them in this list: environment, reserve, error, source, dtype, extent, array, wire, param, threads, arena, tile, device, chain, kernel,
//! launch, stage, stages, chains, pipeline, notation, presets, plan, gpu, workspace, backend, format, codec, temporary, file, metrics, capi.
//!
//! In one call each way, here with an error of at most a thousandth of the value range:
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
//! To go on, start at [`Encoder`] and [`Decoder`], which keep plans and memory from call to call.

#[cfg(not(target_endian = "little"))]
compile_error!("fzgm needs a little-endian machine");

mod arena;
mod array;
mod backend;
#[cfg(feature = "capi")]
pub mod capi;
mod chain;
mod chains;
mod codec;
mod device;
mod dtype;
mod environment;
mod error;
mod extent;
mod file;
mod format;
mod gpu;
mod kernel;
mod launch;
pub mod metrics;
mod notation;
mod param;
mod pipeline;
mod plan;
mod presets;
mod reserve;
mod source;
mod stage;
pub mod stages;
#[cfg(feature = "capi")]
mod temporary;
mod threads;
mod tile;
mod wire;
mod workspace;

pub use array::Array;
pub use codec::{
    CallResult, Clock, Container, Decoder, Device, DeviceSlice, Encoder, Options, Resident, compress,
    decompress, decompress_box, info_at, pipeline_at,
};
pub use dtype::DType;
pub use environment::in_default_environment;
pub use error::{Error, Result, Status};
pub use file::{ContainerFile, decompress_box_file};
pub use format::{Info, SegmentInfo, StageInfo, info, info_partial, pipeline_of};
#[doc(hidden)]
pub use gpu::device_functions;
pub use gpu::{DeviceInfo, Stream, device_count, device_info};
pub use param::{Args, Kind, Param, Setting};
pub use pipeline::{MAX_STAGES, Node, Pipeline, Source};
pub use plan::{Direction, Plan};
pub use presets::{PRESETS, Preset, preset};
pub use reserve::ReserveAllocator;
pub use stage::{Generation, Spec, Stage};
pub use threads::MAX_THREADS;
pub use workspace::Workspace;
