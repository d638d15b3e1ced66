//! The arguments that the host passes to device functions: one argument block, and the fixed places in a
//! workspace.
//!
//! All device functions have one argument block, [`LaunchArgs`]; `kernels/common/args.h` is generated from
//! this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use crate::base::error::Status;
use crate::ir::device::{MAX_FUSED, MAX_OPERANDS, PARAM_BYTES};
use bytemuck::{Pod, Zeroable};

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
    /// The length, or the room if the length is only known at run time. The caller's array may be shorter
    /// than the plan's.
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
    /// Parameter blocks of the fused kernels, in the direction of the data.
    pub fused_params: [[u8; PARAM_BYTES]; MAX_FUSED],
    /// Intermediate between the fused kernels and this one. Only its length exists.
    pub passed: Operand,
    /// Decoding: the address of input 0 in the caller's container, if the header has the fixed
    /// length that the plan expects; 0: unknown. A function may read the payload from here before
    /// earlier launches have checked the header, and must then compare the addresses.
    pub speculative_payload: u64,
    /// Bytes of the container from `speculative_payload` on.
    pub speculative_bytes: u64,
    /// Memory of the launch, zero when the call starts.
    pub zeroed: u64,
    /// Memory of the launch, with anything in it.
    pub scratch: u64,
    /// The status block of the call.
    pub status: u64,
    /// [`KEPT_BYTES`] that the workspace keeps for the stage from call to call, zero when it is made; 0: none.
    pub kept: u64,
    /// Inputs among the operands.
    pub inputs: u32,
    /// Links.
    pub fused_count: u32,
    /// Place of the launch in the call. Failures of later launches do not cancel this one.
    pub step: u32,
    /// Index of the stage, for the result.
    pub stage: u32,
    /// 1: input 0 is the caller's array, and the lengths of it and of `passed` are static. A
    /// function may read it before earlier launches have ended.
    pub fresh: u32,
    /// Tells launches of one function apart.
    pub tag: u32,
}

const _: () = assert!(size_of::<LaunchArgs>() == 712);

/// Tags of addresses in a batched launch: an offset in the array, or in the container, of the block.
pub const IN_ARRAY: u64 = 0x4000_0000_0000_0000;
pub const IN_CONTAINER: u64 = 0x8000_0000_0000_0000;

/// The one argument of batched device functions, which have a grid row for each array of a batch.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct BatchArgs {
    /// For the first array. Addresses in its workspace are moved by a multiple of `stride`.
    pub args: LaunchArgs,
    /// The start of the workspace of the first array, and its bytes.
    pub workspace: u64,
    pub stride: u64,
    /// Tables of the caller's, with an entry for each array of the batch: addresses of the arrays and of
    /// the containers, and their capacities. 0: the arrays have the length of the plan.
    pub arrays: u64,
    pub array_capacities: u64,
    pub containers: u64,
    pub container_capacities: u64,
    /// The results of the arrays.
    pub results: u64,
    /// The numbers of the arrays, of 32 bits; 0: consecutive numbers.
    pub numbers: u64,
    /// Bytes of an array.
    pub array_bytes: u64,
    /// The number of the first array, or its place among `numbers`.
    pub first: u32,
    /// 1: the parameters are [`ContainerArgs`].
    pub container: u32,
    /// 1: the function is the last one of the call.
    pub last: u32,
    pub pad: u32,
}
const _: () = assert!(size_of::<BatchArgs>() == 800);

/// Numbers of `fz_status` that device functions report.
pub const OK: i32 = 0;
pub const INVALID_ARGUMENT: i32 = 10;
pub const NULL_POINTER: i32 = 11;
pub const PLAN_MISMATCH: i32 = 12;
pub const CORRUPT: i32 = 30;
pub const CHECKSUM: i32 = 31;
pub const NOT_A_CONTAINER: i32 = 32;
pub const DST_TOO_SMALL: i32 = 40;
pub const OUTLIER_CAPACITY: i32 = 41;
const _: () = assert!(
    OK == Status::Ok as i32
        && INVALID_ARGUMENT == Status::InvalidArgument as i32
        && NULL_POINTER == Status::NullPointer as i32
        && PLAN_MISMATCH == Status::PlanMismatch as i32
        && CORRUPT == Status::Corrupt as i32
        && CHECKSUM == Status::Checksum as i32
        && NOT_A_CONTAINER == Status::NotAContainer as i32
        && DST_TOO_SMALL == Status::DstTooSmall as i32
        && OUTLIER_CAPACITY == Status::OutlierCapacity as i32
);

/// Threads of a block of a container kernel.
pub const CONTAINER_BLOCK: u32 = 256;
/// Bytes of tables, words, and container header that such a block stages in shared memory. Longer
/// ones stay in global memory.
pub const STAGED_TABLES: u64 = 16384;
pub const STAGED_WORDS: u64 = 4096;
pub const STAGED_HEADER: u32 = 4096;

/// Offsets in a workspace, whose first bytes are zero when a call starts: the status block, the
/// state of the call, and a word per value with its length, followed by a word per value with its
/// offset in the container.
pub const STATUS_AT: u64 = 0;
pub const CALL_AT: u64 = 64;
pub const WORDS_AT: u64 = 192;
const _: () = assert!(STATUS_AT < CALL_AT && CALL_AT < WORDS_AT);

/// Parameters of the container kernels, which write and read containers.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ContainerArgs {
    /// Address of the caller's result; 0: none.
    pub result: u64,
    /// Containers longer than this are replaced by the stored array.
    pub stored_limit: u64,
    /// Indices of the form to write and of the form of a stored array.
    pub own: u32,
    pub stored: u32,
    /// Bytes of the result when decoding.
    pub array_bytes: u64,
    /// Where the words end, and zeroed memory of the steps begins.
    pub words_end: u64,
    /// 1: another kernel ends the call.
    pub more: u32,
    /// 1: some segments have to be copied, to the container or to the array.
    pub copies: u32,
    /// 1: the checksums of a container are compared, if it has any.
    pub verify: u32,
    /// 1: the container ends where its memory does.
    pub whole: u32,
    /// After a failure in a step up to this one, counted from 1, no header is trusted.
    pub opened: u32,
    pub pad: u32,
}
const _: () = assert!(size_of::<ContainerArgs>() == 64);
