//! The argument of a device function that opens a container, restores the array, and closes the container.
//!
//! `kernels/common/single.h` is generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use super::abi::LaunchArgs;

/// Forms of containers that a single launch restores, and the most bytes of metadata that it takes from a header.
pub const SINGLE_FORMS: usize = 4;
pub const SINGLE_METADATA: usize = 64;
/// Most fields that it reads, each in a thread.
pub const SINGLE_ROWS: usize = 16;

/// A field that each container has its own number in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct SingleRow {
    /// Offset in the header.
    pub at: u32,
    /// Bytes.
    pub width: u16,
    /// `FIELD_COUNT`: the payload in units of `detail`. `FIELD_STORED` or `FIELD_BOUND`: the metadata from there on.
    pub what: u16,
    pub detail: u64,
}
const _: () = assert!(size_of::<SingleRow>() == 16);

/// A form of container for a single launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct SingleForm {
    /// Address of the header, with all fields that the plan decides, and of a mask as long, in which these bytes
    /// are 0xff and the others 0.
    pub blank: u64,
    pub mask: u64,
    /// The other fields.
    pub rows: [SingleRow; SINGLE_ROWS],
    /// Bytes of the header, a multiple of 16.
    pub header: u32,
    /// The number of rows.
    pub row_count: u32,
    /// Offset of the bytes of the payload, a number of 8 bytes.
    pub payload_at: u32,
    /// 1: the container of a stored array.
    pub stored: u16,
    /// 1: the header has checksums.
    pub checked: u16,
}
const _: () = assert!(size_of::<SingleForm>() == 288);

/// The one argument of a function that opens the container, restores the array, and closes the container. The first input
/// of its step is the only segment of the container, and the second one the metadata.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct SingleArgs {
    /// The argument of the step. Its status block is one that the workspace keeps, zero between calls, with counters behind it.
    pub step: LaunchArgs,
    /// The argument of the container kernel that reads all other headers.
    pub open: LaunchArgs,
    pub forms: [SingleForm; SINGLE_FORMS],
    /// The number of forms.
    pub form_count: u32,
    pub pad: u32,
}
const _: () = assert!(size_of::<SingleArgs>() == 2584);
