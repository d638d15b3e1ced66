//! How a kernel runs on a GPU: which functions, over how many blocks, with which memory besides its operands.
//!
//! All device functions take one argument block, [`LaunchArgs`]; `kernels/args.h` is generated from it. Grids come
//! from what is known when the plan is made, work from the words that earlier kernels wrote.

// cbindgen takes constants that are public, wherever they stand.
#![allow(unreachable_pub)]

use crate::tile::TILE;
use bytemuck::{Pod, Zeroable};

/// Operands of one launch, inputs and outputs together.
pub const MAX_OPERANDS: usize = 9;
/// Bytes of the parameter block of a launch.
pub const PARAM_BYTES: usize = 64;
/// Kernels that one device function can run before or behind itself.
pub const MAX_LINKS: usize = 4;

/// A value as a device function sees it; all fields but `max` are addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Operand {
    /// Where it starts.
    pub base: u64,
    /// A word to add to `base`; 0: none.
    pub offset: u64,
    /// The word with its length in bytes; 0: the length is `max`.
    pub bytes: u64,
    /// Length, or room where only the run knows the length. The caller's array may be shorter than the plan's.
    pub max: u64,
}

/// The one argument of every device function.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct LaunchArgs {
    /// The parameter block of the kernel.
    pub params: [u8; PARAM_BYTES],
    /// Inputs, then outputs, in the order of the step.
    pub operands: [Operand; MAX_OPERANDS],
    /// Parameter blocks of the kernels that are chained to it, in the direction of the data.
    pub links: [[u8; PARAM_BYTES]; MAX_LINKS],
    /// What passes between links and kernel: of it only the length is real.
    pub passed: Operand,
    /// When decoding, where input 0 starts in a usual container of the plan, and how many bytes of the container there are from there on; 0: in
    /// none. The container is the caller's, so that a function may read that much before earlier launches have ended.
    pub likely: u64,
    pub likely_bytes: u64,
    /// Memory of the launch, zero when the call starts.
    pub zeroed: u64,
    /// Memory of the launch, with anything in it.
    pub scratch: u64,
    /// The status block of the call.
    pub status: u64,
    /// Inputs among the operands.
    pub inputs: u32,
    /// Links.
    pub chained: u32,
    /// Place of the launch in the call: what fails later than this one is none of its business.
    pub step: u32,
    /// Index of the stage, for the result.
    pub stage: u32,
    /// 1: input 0 is what the caller brought, and it and what passes have lengths that the plan knows. A function may
    /// read it before earlier launches have ended.
    pub fresh: u32,
    pub pad: u32,
}

/// Head of an image: what the device has to know of a plan besides its launches. Tables are named by their offset in
/// bytes from here and their length.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Image {
    /// [`ValueRow`]s, by number of the value.
    pub values: u32,
    pub values_at: u32,
    /// [`HeadRow`]s: forms of containers.
    pub heads: u32,
    pub heads_at: u32,
    /// [`RuleRow`]s, last stage first.
    pub rules: u32,
    pub rules_at: u32,
    /// Bytes of the array that the caller has.
    pub array_bytes: u64,
    /// The status of a container that states a length beyond what the plan has room for.
    pub longer: i32,
    /// 1: the first form has a head of one length, short enough to be staged with its words, of which all segments are values and no length
    /// follows from another; it has a field at most for each thread, and a segment for each lane.
    pub usual: u32,
}

/// A value of the plan.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ValueRow {
    /// One of the `PLACE_` numbers.
    pub place: u32,
    /// One of the `KIND_` numbers.
    pub kind: u32,
    /// Which word has its length, when only the run knows that.
    pub word: u32,
    pub pad: u32,
    /// In the arena.
    pub offset: u64,
    /// Length, or the most that it can be.
    pub max: u64,
}

/// A length that the plan knows, one that the run knows, facts.
pub const KIND_STATIC: u32 = 0;
pub const KIND_DYNAMIC: u32 = 1;
pub const KIND_FACTS: u32 = 2;

pub const PLACE_NONE: u32 = 0;
pub const PLACE_ARRAY: u32 = 1;
pub const PLACE_ARENA: u32 = 2;
/// In the container itself.
pub const PLACE_SEGMENT: u32 = 3;

/// A form of container: its head with zeros where the run fills something in, and what that is.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct HeadRow {
    /// The head without its varints.
    pub blank: u32,
    pub blank_at: u32,
    /// As long: 0xff where the blank says what stands there, 0 where the run does.
    pub mask_at: u32,
    /// 1: the array as it is.
    pub stored: u32,
    /// [`FieldRow`]s of fixed width.
    pub fields: u32,
    pub fields_at: u32,
    /// [`FieldRow`]s of varints; `at` is where they are inserted into the blank, in ascending order.
    pub varints: u32,
    pub varints_at: u32,
    /// [`FieldRow`]s of checksums.
    pub crcs: u32,
    pub crcs_at: u32,
    /// [`SegmentRow`]s.
    pub segments: u32,
    pub segments_at: u32,
}

/// A field of a head.
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

/// Bytes of a fact value.
pub const FIELD_STORED: u32 = 0;
/// Length of a value in units.
pub const FIELD_COUNT: u32 = 1;
pub const FIELD_SEGMENT_BYTES: u32 = 2;
pub const FIELD_SEGMENT_OFFSET: u32 = 3;
pub const FIELD_PAYLOAD_BYTES: u32 = 4;
/// Over the payload, over the head with zeros in the field, over all but the field.
pub const CRC_DATA: u32 = 5;
pub const CRC_HEAD: u32 = 6;
pub const CRC_REST: u32 = 7;
/// As `FIELD_STORED`, of bytes that a field before it has said: heads repeat themselves, and readers take the first.
pub const FIELD_REPEATED: u32 = 8;
/// As `FIELD_STORED`, of a float that is no bound when it is negative or NaN, or has eight bytes and is infinite.
pub const FIELD_BOUND: u32 = 9;

/// A segment of a container.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct SegmentRow {
    /// What it holds.
    pub value: u32,
    /// 0: the value itself. Else its length in units of so many bytes, as a number of four bytes; [`FACT`]: four of its
    /// bytes.
    pub unit: u32,
    /// The field that says how long it is: [`VARINT`] plus an index among the varints, or an index among the fields.
    pub field: u32,
    /// Where in the value these four bytes stand.
    pub at: u32,
}

/// Threads of a block of the functions that make and read containers.
pub const BORDER_THREADS: u32 = 256;
/// Bytes of tables that such a block takes into shared memory, if there are no more; the same of words, and of a container that is read.
pub const STAGED_TABLES: u64 = 16384;
pub const STAGED_WORDS: u64 = 4096;
pub const STAGED_HEAD: u32 = 4096;

/// In place of a unit.
pub const FACT: u32 = 0xffff_ffff;
/// Marks an index among the varints.
pub const VARINT: u32 = 0x8000_0000;
/// No field says it.
pub const NO_FIELD: u32 = 0x7fff_ffff;

/// How long the input of a stage is.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct RuleRow {
    pub input: u32,
    pub output: u32,
    /// The field that says it, or [`NO_FIELD`]: as long as the output.
    pub field: u32,
    pub unit: u32,
}

/// Where things lie at the start of a workspace; all of it is zero when a call starts.
pub const STATUS_AT: u64 = 0;
pub const CALL_AT: u64 = 64;
const _: () = assert!(STATUS_AT < CALL_AT && CALL_AT < WORDS_AT);
/// A word per value: its length. Behind them a word per value: where it starts in the container.
pub const WORDS_AT: u64 = 192;

/// Parameters of the functions that make and read containers.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Border {
    /// Address of the caller's result; 0: none.
    pub result: u64,
    /// Containers longer than this are replaced by the stored array.
    pub stored_limit: u64,
    /// Index of the form to write, and of that of a stored array.
    pub own: u32,
    pub stored: u32,
    /// Bytes of the result when decoding.
    pub array_bytes: u64,
    /// Where the words end, and zeroed memory of the steps begins.
    pub words_end: u64,
    /// 1: another function ends the call.
    pub more: u32,
    /// 1: some segments have to be copied, to the container or to the array.
    pub copies: u32,
    /// 1: the checksums of a container are compared, if it has any.
    pub verify: u32,
    /// 1: nothing stands behind a container, whose memory is as long as it is.
    pub whole: u32,
    /// What fails in a step up to this one, counted from 1, leaves no head that could be trusted.
    pub opened: u32,
    pub pad: u32,
}

/// One device function over a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    /// Name of the function.
    pub entry: &'static str,
    /// Blocks.
    pub grid: u64,
    /// Threads of a block.
    pub block: u32,
}

/// What a kernel needs on the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recipe {
    /// One after the other.
    pub passes: Vec<Pass>,
    /// Bytes of [`LaunchArgs::zeroed`].
    pub zeroed: u64,
    /// Bytes of [`LaunchArgs::scratch`].
    pub scratch: u64,
}

/// What is known of a launch when the plan is made.
pub(crate) struct Shape<'a> {
    /// The parameter block.
    pub params: &'a [u8; PARAM_BYTES],
    /// Longest input operands, in bytes.
    pub ins: &'a [u64],
    /// Longest output operands, in bytes.
    pub outs: &'a [u64],
}

impl Shape<'_> {
    /// Bytes of input `i`.
    pub(crate) fn input(&self, i: usize) -> u64 {
        self.ins.get(i).copied().unwrap_or(0)
    }

    /// Bytes of output `i`.
    pub(crate) fn output(&self, i: usize) -> u64 {
        self.outs.get(i).copied().unwrap_or(0)
    }
}

/// How a kernel runs on a device; `None`: it does not.
pub(crate) type OnDevice = fn(&Shape<'_>) -> Option<Recipe>;

impl Recipe {
    /// One function over so many blocks of so many threads, at least one block.
    pub(crate) fn one(entry: &'static str, grid: u64, block: u32) -> Recipe {
        Recipe::default().then(entry, grid, block)
    }

    /// The same and another function.
    pub(crate) fn then(mut self, entry: &'static str, grid: u64, block: u32) -> Recipe {
        self.passes.push(Pass { entry, grid: grid.max(1), block });
        self
    }

    /// With memory.
    pub(crate) fn with(self, zeroed: u64, scratch: u64) -> Recipe {
        Recipe { zeroed, scratch, ..self }
    }
}

/// Tiles of so many bytes.
pub(crate) fn tiles(bytes: u64) -> u64 {
    bytes.div_ceil(TILE as u64)
}
