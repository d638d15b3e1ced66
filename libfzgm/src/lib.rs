//! `libfzgm.so` and `libfzgm.a`: the functions of `include/fzgm.h`, which are written in `src/capi`.

pub use fzgm_crate::capi::*;

/// Serves small requests from a reserve when the system has no memory left, so that a call returns `FZ_OUT_OF_MEMORY`.
#[global_allocator]
static ALLOCATOR: fzgm_crate::ReserveAllocator = fzgm_crate::ReserveAllocator;
