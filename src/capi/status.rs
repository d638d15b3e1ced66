//! The numbers of the header. C passes enumerations as integers: a Rust enum that holds a number of its caller's
//! invention would be undefined behaviour, so these types name constants and never cross the interface themselves.

use crate::{DType, Status};

/// The version of the binary interface, the number in the SONAME. A program that was compiled against one number must not
/// run with a library of another one; the loader sees to that. See fz_abi_version().
pub const FZ_ABI_VERSION: u32 = 0;

/// The largest number of dimensions of an array.
pub const FZ_MAX_DIMS: u32 = 8;

/// In place of the index of a stage: every stage that has the parameter. The header writes it as UINT32_MAX.
///
/// cbindgen:ignore
pub const FZ_EVERY_STAGE: u32 = u32::MAX;

/// In place of the index of a stage: none. The header writes it as UINT32_MAX.
///
/// cbindgen:ignore
pub const FZ_NO_STAGE: u32 = u32::MAX;

/// What a call returns, as an int32_t. The decades say what to do about it: 10 the call, 20 the pipeline, 30 the
/// container, 40 room, 50 the device, 60 a file, 90 the library. Numbers are never reused; take one that you do not know for a failure.
#[repr(C)]
pub enum fz_status {
    /// Done.
    FZ_OK = 0,
    /// An argument is outside of its range.
    FZ_INVALID_ARGUMENT = 10,
    /// A pointer that must not be NULL is NULL.
    FZ_NULL_POINTER = 11,
    /// Plan, workspace, container and array do not belong together.
    FZ_PLAN_MISMATCH = 12,
    /// No stage, parameter, port or preset has this name; the text lists those that exist.
    FZ_UNKNOWN_NAME = 20,
    /// A stage cannot take the element type that it is given.
    FZ_TYPE_MISMATCH = 21,
    /// The stages and connections are not a pipeline.
    FZ_INVALID_PIPELINE = 22,
    /// Legal, but not done by this version of the library.
    FZ_UNSUPPORTED = 23,
    /// The wire form of a stage cannot hold an array of this size; compress it in slabs.
    FZ_TOO_LARGE = 24,
    /// The container is damaged.
    FZ_CORRUPT = 30,
    /// A checksum of the container does not match its bytes.
    FZ_CHECKSUM = 31,
    /// The bytes are not a container, or one of a version that this library does not know.
    FZ_NOT_A_CONTAINER = 32,
    /// The beginning of a container that was given is shorter than its header; see fz_container_info_partial().
    FZ_TRUNCATED = 33,
    /// The destination is too small.
    FZ_DST_TOO_SMALL = 40,
    /// The array has more outliers than the pipeline has room for; raise outlier_capacity or the bound.
    FZ_OUTLIER_CAPACITY = 41,
    /// The call needs more memory than max_memory_bytes allows.
    FZ_MEMORY_LIMIT = 42,
    /// The system has no memory left.
    FZ_OUT_OF_MEMORY = 43,
    /// The system starts no more threads; set options->threads lower, or raise the limit of processes (ulimit -u).
    FZ_NO_THREADS = 44,
    /// There is no GPU that fzgm can use: no driver, an old one, no device, or a library built without kernels.
    FZ_NO_DEVICE = 50,
    /// A call of the CUDA driver failed; the text has its name and number. Errors of kernels that ran before show here too.
    FZ_DEVICE = 51,
    /// A file cannot be read or written; the text names it and says why.
    FZ_FILE = 60,
    /// A defect of fzgm was caught. Free the workspace of the call and report the text, please.
    FZ_INTERNAL = 90,
}

/// Types of array elements, passed as int32_t. The numbers are those of FZM files.
#[repr(C)]
pub enum fz_dtype {
    /// uint8_t
    FZ_U8 = 0,
    /// uint16_t
    FZ_U16 = 1,
    /// uint32_t
    FZ_U32 = 2,
    /// uint64_t
    FZ_U64 = 3,
    /// int8_t
    FZ_I8 = 4,
    /// int16_t
    FZ_I16 = 5,
    /// int32_t
    FZ_I32 = 6,
    /// int64_t
    FZ_I64 = 7,
    /// float
    FZ_F32 = 8,
    /// double
    FZ_F64 = 9,
}

/// What an error bound is relative to, as int32_t. The words are those of the parameter "mode". x is a value of the array,
/// x' the restored one, and the ranges are taken over the values that are finite and below the outlier threshold.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum fz_mode {
    /// Something is lost, and no bound says how much: differences of floats, or a bound on recoded values.
    FZ_MODE_UNBOUNDED = -2,
    /// Nothing is lost.
    FZ_MODE_LOSSLESS = -1,
    /// "abs": |x - x'| <= bound.
    FZ_MODE_ABS = 0,
    /// "rel": |x - x'| <= bound * |x|, for each value.
    FZ_MODE_REL = 1,
    /// "noa": |x - x'| <= bound * (max - min).
    FZ_MODE_NOA = 2,
    /// "prel": |x - x'| <= bound * max |x|.
    FZ_MODE_PREL = 3,
}

impl fz_mode {
    /// All modes with the words of [`crate::Info::mode`].
    pub(super) const WORDS: [(fz_mode, &str); 6] = [
        (fz_mode::FZ_MODE_UNBOUNDED, "unbounded"),
        (fz_mode::FZ_MODE_LOSSLESS, "lossless"),
        (fz_mode::FZ_MODE_ABS, "abs"),
        (fz_mode::FZ_MODE_REL, "rel"),
        (fz_mode::FZ_MODE_NOA, "noa"),
        (fz_mode::FZ_MODE_PREL, "prel"),
    ];

    /// The mode of a word of an `Info`.
    pub(super) fn of(word: &str) -> fz_mode {
        let known = fz_mode::WORDS.into_iter().find(|(_, known)| *known == word);
        known.map_or(fz_mode::FZ_MODE_LOSSLESS, |(mode, _)| mode)
    }
}

/// Forms of compressed bytes, passed as int32_t. Both describe themselves: nothing else is needed to restore an array.
#[repr(C)]
pub enum fz_container {
    /// FZM 3.1, the file format. Some 2 KiB of header; read by every program that reads FZM.
    FZ_CONTAINER_FZM = 0,
    /// The compact frame, for small arrays, chunks and messages. Some 100 bytes of header; read by fzgm.
    FZ_CONTAINER_COMPACT = 1,
}

/// Generations of FZM files, passed as int32_t. They differ in how stages store their parameters; all are read.
#[repr(C)]
pub enum fz_generation {
    /// The current one.
    FZ_GENERATION_2026_08 = 0,
    /// The one before, for readers of that time.
    FZ_GENERATION_2026_05 = 1,
}

/// What runs the calls of a plan, when it is not one certain GPU; as int32_t, see fz_options.
#[repr(C)]
pub enum fz_device_choice {
    /// A call runs where its memory is.
    FZ_DEVICE_AUTO = -1,
    /// The CPU, always.
    FZ_DEVICE_CPU = -2,
}

/// What a parameter takes, as int32_t; see fz_parameter.
#[repr(C)]
pub enum fz_parameter_kind {
    /// A real number: fz_pipeline_set_double().
    FZ_PARAMETER_REAL = 0,
    /// A whole number: fz_pipeline_set_int().
    FZ_PARAMETER_INT = 1,
    /// 0 or 1: fz_pipeline_set_int().
    FZ_PARAMETER_FLAG = 2,
    /// One of some words: fz_pipeline_set_string().
    FZ_PARAMETER_WORD = 3,
    /// Names separated by +, each a number of letters, digits, _, - and .: fz_pipeline_set_string(). `low` and `high` are how
    /// many, `value` how many there are; `value_text` may be cut off.
    FZ_PARAMETER_NAMES = 4,
}

/// Which way data goes through a port, as int32_t.
#[repr(C)]
pub enum fz_port_direction {
    /// Into the stage when an array is compressed.
    FZ_PORT_INPUT = 0,
    /// Out of it.
    FZ_PORT_OUTPUT = 1,
}

const fn number(status: Status) -> fz_status {
    match status {
        Status::Ok => fz_status::FZ_OK,
        Status::InvalidArgument => fz_status::FZ_INVALID_ARGUMENT,
        Status::NullPointer => fz_status::FZ_NULL_POINTER,
        Status::PlanMismatch => fz_status::FZ_PLAN_MISMATCH,
        Status::UnknownName => fz_status::FZ_UNKNOWN_NAME,
        Status::TypeMismatch => fz_status::FZ_TYPE_MISMATCH,
        Status::InvalidPipeline => fz_status::FZ_INVALID_PIPELINE,
        Status::Unsupported => fz_status::FZ_UNSUPPORTED,
        Status::TooLarge => fz_status::FZ_TOO_LARGE,
        Status::Corrupt => fz_status::FZ_CORRUPT,
        Status::Checksum => fz_status::FZ_CHECKSUM,
        Status::NotAContainer => fz_status::FZ_NOT_A_CONTAINER,
        Status::Truncated => fz_status::FZ_TRUNCATED,
        Status::DstTooSmall => fz_status::FZ_DST_TOO_SMALL,
        Status::OutlierCapacity => fz_status::FZ_OUTLIER_CAPACITY,
        Status::MemoryLimit => fz_status::FZ_MEMORY_LIMIT,
        Status::OutOfMemory => fz_status::FZ_OUT_OF_MEMORY,
        Status::NoThreads => fz_status::FZ_NO_THREADS,
        Status::NoDevice => fz_status::FZ_NO_DEVICE,
        Status::Device => fz_status::FZ_DEVICE,
        Status::File => fz_status::FZ_FILE,
        Status::Internal => fz_status::FZ_INTERNAL,
    }
}

// The header repeats numbers that the core owns. Here they are compared, before anything can be built from a difference.
const _: () = {
    let mut i = 0;
    while i < Status::ALL.len() {
        assert!(number(Status::ALL[i]) as i32 == Status::ALL[i] as i32);
        i += 1;
    }
    assert!(fz_dtype::FZ_U8 as i32 == DType::U8 as i32 && fz_dtype::FZ_U64 as i32 == DType::U64 as i32);
    assert!(fz_dtype::FZ_I8 as i32 == DType::I8 as i32 && fz_dtype::FZ_I64 as i32 == DType::I64 as i32);
    assert!(fz_dtype::FZ_F32 as i32 == DType::F32 as i32 && fz_dtype::FZ_F64 as i32 == DType::F64 as i32);
};
