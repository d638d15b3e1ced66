//! The tables that describe a plan and its container forms to a device; `kernels/common/args.h` is
//! generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// The plan as device functions need it besides its launches: the lengths of the tables after this block, and
/// their offsets in bytes from here.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct PlanTables {
    /// [`ValueRow`]s, by number of the value.
    pub values: u32,
    pub values_at: u32,
    /// [`HeaderRow`]s: forms of containers.
    pub headers: u32,
    pub headers_at: u32,
    /// [`RuleRow`]s, last stage first.
    pub rules: u32,
    pub rules_at: u32,
    /// Bytes of the caller's array.
    pub array_bytes: u64,
    /// The status of a container that states a length beyond the room of the plan.
    pub longer: i32,
    /// 1: the first form has a header of fixed length, which fits into shared memory with the words
    /// of the call. Its segments are values, and no length follows from another. It has at most a
    /// field per thread and a segment per lane.
    pub fixed_header: u32,
}

/// A value of the plan.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ValueRow {
    /// One of the `PLACE_` numbers.
    pub place: u32,
    /// One of the `KIND_` numbers.
    pub kind: u32,
    /// Index of the word with its length, if that is dynamic.
    pub word: u32,
    pub pad: u32,
    /// In the arena.
    pub offset: u64,
    /// Length, or the most that it can be.
    pub max: u64,
}

/// A static length, a length that the run decides, metadata.
pub const KIND_STATIC: u32 = 0;
pub const KIND_DYNAMIC: u32 = 1;
pub const KIND_METADATA: u32 = 2;

pub const PLACE_NONE: u32 = 0;
pub const PLACE_ARRAY: u32 = 1;
pub const PLACE_ARENA: u32 = 2;
/// In the container itself.
pub const PLACE_SEGMENT: u32 = 3;

/// A form of container: its header with zeros in the fields that the run fills in, and those
/// fields.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct HeaderRow {
    /// Bytes of the blank, the header without its varints.
    pub blank: u32,
    pub blank_at: u32,
    /// The mask, as long as the blank: 0xff for bytes that the blank fixes, 0 for bytes of fields.
    pub mask_at: u32,
    /// 1: the container of a stored array.
    pub stored: u32,
    /// [`FieldRow`]s of fixed width.
    pub fields: u32,
    pub fields_at: u32,
    /// [`FieldRow`]s of varints; `at` is where they are inserted into the blank, in ascending
    /// order.
    pub varints: u32,
    pub varints_at: u32,
    /// [`FieldRow`]s of checksums.
    pub crcs: u32,
    pub crcs_at: u32,
    /// [`SegmentRow`]s.
    pub segments: u32,
    pub segments_at: u32,
}

/// A field of a header.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct FieldRow {
    /// Offset in the blank.
    pub at: u32,
    /// Bytes; 0 for a varint.
    pub width: u32,
    /// One of the `FIELD_` or `CRC_` numbers.
    pub what: u32,
    /// A value or a segment.
    pub index: u32,
    /// Offset in the value, or bytes of a unit.
    pub detail: u64,
}

/// Bytes of metadata.
pub const FIELD_STORED: u32 = 0;
/// Length of a value in units.
pub const FIELD_COUNT: u32 = 1;
pub const FIELD_SEGMENT_BYTES: u32 = 2;
pub const FIELD_SEGMENT_OFFSET: u32 = 3;
pub const FIELD_PAYLOAD_BYTES: u32 = 4;
/// Over the payload, over the header with zeros in the field, over all bytes but the field.
pub const CRC_DATA: u32 = 5;
pub const CRC_HEADER: u32 = 6;
pub const CRC_REST: u32 = 7;
/// As `FIELD_STORED`, for bytes that an earlier field already holds; readers take the first.
pub const FIELD_REPEATED: u32 = 8;
/// As `FIELD_STORED`, for an error bound: a float that must not be negative or NaN, nor infinite in
/// eight bytes.
pub const FIELD_BOUND: u32 = 9;

/// A segment of a container.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct SegmentRow {
    /// The value of the field.
    pub value: u32,
    /// 0: the value itself. Otherwise its length in units of this number of bytes, as a number of four bytes;
    /// [`METADATA`]: four of its bytes.
    pub unit: u32,
    /// The field with its length: [`VARINT`] plus an index among the varints, or an index among the
    /// fields.
    pub field: u32,
    /// Offset of these four bytes in the value.
    pub at: u32,
}

/// In place of a unit.
pub const METADATA: u32 = 0xffff_ffff;
/// Marks an index among the varints.
pub const VARINT: u32 = 0x8000_0000;
/// There is no such field.
pub const NO_FIELD: u32 = 0x7fff_ffff;

/// Length of the input of a stage.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct RuleRow {
    pub input: u32,
    pub output: u32,
    /// The field with the length, or [`NO_FIELD`]: as long as the output.
    pub field: u32,
    pub unit: u32,
}

const _: () = assert!(size_of::<PlanTables>() == 40);
const _: () = assert!(size_of::<ValueRow>() == 32);
const _: () = assert!(size_of::<HeaderRow>() == 48);
const _: () = assert!(size_of::<FieldRow>() == 24);
const _: () = assert!(size_of::<SegmentRow>() == 16);
const _: () = assert!(size_of::<RuleRow>() == 16);
