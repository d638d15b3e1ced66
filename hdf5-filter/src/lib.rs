//! The HDF5 filter plugin of fzgm.
//!
//! ```text
//!  H5Dcreate ─▶ set_local ─ type, chunk, fill ─▶ Stored cd_values        local, words, element, bound
//!  H5Dwrite, H5Dread ─▶ filter ─ cd_values ─▶ plan of this thread        filter, form, codec
//! ```
//! HDF5 is not linked. The plugin calls functions of the HDF5 library that called it (`caller`, `hdf5`, `sys`), because
//! a process may contain several. `filter` calls no function of HDF5: cd_values and chunk are sufficient. Threads share
//! no state.

mod bins;
mod block;
mod bound;
mod caller;
mod codec;
mod element;
mod entry;
mod filter;
mod form;
mod hdf5;
mod local;
mod presets;
mod sys;
mod words;

#[global_allocator]
static ALLOCATOR: fzgm::ReserveAllocator = fzgm::ReserveAllocator;

/// The result of a callback. A failure is a sentence for the user on the error stack of HDF5.
type Answer<T> = Result<T, String>;
