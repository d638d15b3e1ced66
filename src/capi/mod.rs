//! The C interface: the functions of `include/fzgm.h`, which is generated from here and committed.
//!
//! Each function checks its pointers, calls the core, and converts the outcome into a status. All decisions are made in the core.
//!
//! All `unsafe` code of the C interface is in this module. A pointer that is null, misaligned, or too long is rejected. All other
//! properties of a pointer are the caller's promise, which the header specifies, so the functions have no safety sections.
#![allow(unsafe_code, non_camel_case_types, clippy::missing_safety_doc)]

mod about;
mod batch;
mod batch_arguments;
mod batch_async;
mod choose;
mod codec;
mod device;
mod ffi_guard;
mod file;
mod handle;
mod handle_registry;
mod info;
mod options;
mod pipeline;
mod plan;
mod series;
mod series_writer;
mod simple;
mod stages;
mod status;
mod text;
mod view;
mod view_async;
mod workspace;

pub use about::*;
pub use batch::*;
pub use batch_async::*;
pub use choose::*;
pub use codec::*;
pub use device::*;
pub use file::*;
pub use info::*;
pub use options::*;
pub use pipeline::*;
pub use plan::*;
pub use series::*;
pub use series_writer::*;
pub use simple::*;
pub use stages::*;
pub use status::*;
pub use text::*;
pub use view::*;
pub use view_async::*;
pub use workspace::*;
