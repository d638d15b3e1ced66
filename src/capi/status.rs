//! The numbers of the header. C passes enumerations as integers, and a Rust enum with an unknown number would be undefined
//! behavior. These types therefore only name constants and never cross the interface.

use crate::{DType, Status};

/// Version of the binary interface. The SONAME of the library contains this number. A program that
/// was compiled with one number must run with a library of the same number. The dynamic loader
/// enforces this rule; see fz_abi_version().
pub const FZ_ABI_VERSION: u32 = 0;

/// Largest number of dimensions of an array.
pub const FZ_MAX_DIMS: u32 = 8;

/// In place of the index of a stage: every stage that has the parameter. The header writes it as
/// UINT32_MAX.
///
/// cbindgen:ignore
pub const FZ_EVERY_STAGE: u32 = u32::MAX;

/// In place of the index of a stage: none. The header writes it as UINT32_MAX.
///
/// cbindgen:ignore
pub const FZ_NO_STAGE: u32 = u32::MAX;

/// Status of a function, or of the work of an asynchronous call, as int32_t. The tens digit names
/// the part at fault: 10 an argument, 20 the pipeline, 30 the container, 40 a capacity or a limit,
/// 50 the GPU, 60 a file, 90 the library. Numbers are never reused. Treat unknown numbers as
/// failures.
#[repr(C)]
pub enum fz_status {
    /// Success.
    FZ_OK = 0,
    /// An argument, or an element of the array, is out of range.
    FZ_INVALID_ARGUMENT = 10,
    /// A required pointer is NULL.
    FZ_NULL_POINTER = 11,
    /// Plan, workspace, container, and array do not belong together.
    FZ_PLAN_MISMATCH = 12,
    /// No stage, parameter, port, or preset has this name; the error text lists the valid names.
    FZ_UNKNOWN_NAME = 20,
    /// A stage does not support the element type of its input.
    FZ_TYPE_MISMATCH = 21,
    /// The stages and connections do not form a pipeline.
    FZ_INVALID_PIPELINE = 22,
    /// Valid, but not supported by this version of the library or, on a GPU, by its device code.
    FZ_UNSUPPORTED = 23,
    /// The array is too large for a stage of the pipeline. Compress parts of the array separately.
    FZ_TOO_LARGE = 24,
    /// The container is damaged.
    FZ_CORRUPT = 30,
    /// A checksum of the container does not match its bytes.
    FZ_CHECKSUM = 31,
    /// The bytes are not a container, or the container has a version unknown to this library.
    FZ_NOT_A_CONTAINER = 32,
    /// More bytes from the start of the container are required; see fz_container_info_partial() and
    /// fz_decompress_preview().
    FZ_TRUNCATED = 33,
    /// The destination is too small.
    FZ_DST_TOO_SMALL = 40,
    /// The array has more outliers than an outlier list can store. Raise outlier_capacity or
    /// error_bound.
    FZ_OUTLIER_CAPACITY = 41,
    /// A decoder requires more memory than options->max_memory_bytes permits.
    FZ_MEMORY_LIMIT = 42,
    /// An allocation of host or device memory failed.
    FZ_OUT_OF_MEMORY = 43,
    /// The system cannot start more threads; lower options->threads, or raise the limit of
    /// processes (ulimit -u).
    FZ_NO_THREADS = 44,
    /// No GPU can be used: no driver, a driver that is too old, no GPU, a GPU that is too old, a
    /// library without kernels, FZGM_DISABLE_CUDA=1 in the environment, or a child of a fork() whose
    /// parent had started CUDA.
    FZ_NO_DEVICE = 50,
    /// A CUDA driver call failed; the error text contains its name and number. CUDA reports failures
    /// of kernels late: the failed kernel may be one of your own.
    FZ_DEVICE = 51,
    /// A file cannot be read or written; the error text contains its path and the reason.
    FZ_FILE = 60,
    /// A defect of fzgm was detected. Free the workspace of the call, and please report the error
    /// text.
    FZ_INTERNAL = 90,
}

/// Element types, passed as int32_t. The numbers are those of FZM files.
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

/// Mode of an error bound, as int32_t. The quoted word is the value of parameter "mode". x is a
/// bounded value of the array, and x' is the restored value. max, min, and max |x| are those of all
/// bounded values.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum fz_mode {
    /// Lossy without a bound on the error, for example because a lossy stage reads the output of
    /// another stage. Returned only; not accepted.
    FZ_MODE_UNBOUNDED = -2,
    /// Lossless.
    FZ_MODE_LOSSLESS = -1,
    /// "abs": |x - x'| <= bound.
    FZ_MODE_ABS = 0,
    /// "rel": |x - x'| <= bound * |x|.
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

/// Forms of containers, passed as int32_t. Decompression requires only the container, and no other
/// information. Exception: an FZM file that a plan wrote with fz_options::strict 0 and
/// fz_options::generation FZ_GENERATION_2026_05 does not record the shape: decompression restores a
/// one-dimensional array.
#[repr(C)]
pub enum fz_container {
    /// FZM 3.1, the file format. Its header has about 2 KiB. fzgm reads FZM files. Another program
    /// for FZM 3.1 reads a file if the program supports the stages and the generation of the file;
    /// see fz_generation.
    FZ_CONTAINER_FZM = 0,
    /// Compact frame, for small arrays and messages. Its header has about 100 bytes. Only fzgm reads
    /// it.
    FZ_CONTAINER_COMPACT = 1,
}

/// Generations of FZM files, passed as int32_t. The generation determines the form of the stage
/// parameters in the header, and which outputs some stages store. fzgm reads all generations.
#[repr(C)]
pub enum fz_generation {
    /// Current generation.
    FZ_GENERATION_2026_08 = 0,
    /// Previous generation, for programs that do not read the current generation.
    FZ_GENERATION_2026_05 = 1,
}

/// Values of options->device that are not the number of a GPU.
#[repr(C)]
pub enum fz_device_choice {
    /// The memory or the stream of a call selects the processor; see fz_options::device.
    FZ_DEVICE_AUTO = -1,
    /// All calls run on the CPU.
    FZ_DEVICE_CPU = -2,
}

/// Kind of a parameter, as int32_t; see fz_parameter.
#[repr(C)]
pub enum fz_parameter_kind {
    /// Real number; set with fz_pipeline_set_double().
    FZ_PARAMETER_REAL = 0,
    /// Integer; set with fz_pipeline_set_int().
    FZ_PARAMETER_INT = 1,
    /// 0 or 1; set with fz_pipeline_set_int().
    FZ_PARAMETER_FLAG = 2,
    /// One of a set of words; set with fz_pipeline_set_string().
    FZ_PARAMETER_WORD = 3,
    /// Names separated by +; set with fz_pipeline_set_string(). A name consists of letters, digits,
    /// underscores, hyphens, and periods. Fields of fz_parameter: `low` and `high` are the smallest and the
    /// largest permitted number of names. `value` is the number of names of this parameter in the
    /// pipeline.
    /// `value_text` may be truncated.
    FZ_PARAMETER_NAMES = 4,
}

/// Direction of data through a port during compression, as int32_t.
#[repr(C)]
pub enum fz_port_direction {
    /// Into the stage.
    FZ_PORT_INPUT = 0,
    /// Out of the stage.
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

// The header repeats numbers of the core. If they differ, the build must fail.
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
