//! Errors: one enum for Rust, and stable numbers for C.

use crate::base::dtype::DType;

/// The result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Stable numbers of the C interface, in groups of ten by the possible action of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// An argument is outside its range.
    InvalidArgument = 10,
    /// A pointer that must not be null is null.
    NullPointer = 11,
    /// Plan, workspace, container and buffer do not belong together.
    PlanMismatch = 12,
    /// No stage, parameter, port or preset has this name.
    UnknownName = 20,
    /// A stage cannot take the element type that it is given.
    TypeMismatch = 21,
    /// The graph of stages is not a pipeline.
    InvalidPipeline = 22,
    /// Legal, but not done by this version.
    Unsupported = 23,
    /// The wire form of a stage cannot hold this many bytes.
    TooLarge = 24,
    /// The container is damaged, or was made to harm.
    Corrupt = 30,
    /// A checksum does not match.
    Checksum = 31,
    /// The bytes are not a container that this version supports.
    NotAContainer = 32,
    /// A beginning of a container is shorter than its header.
    Truncated = 33,
    /// The destination cannot hold the result.
    DstTooSmall = 40,
    /// More outliers than the pipeline has room for.
    OutlierCapacity = 41,
    /// More memory is needed than the caller allows.
    MemoryLimit = 42,
    /// The system gave no memory.
    OutOfMemory = 43,
    /// The system started no more threads.
    NoThreads = 44,
    /// There is no usable GPU; the text states the reason.
    NoDevice = 50,
    /// A call of the CUDA driver failed.
    Device = 51,
    /// A file cannot be read or written; the text names the file and the reason.
    File = 60,
    /// A defect of the library itself; please report it.
    Internal = 90,
}

impl Status {
    /// Every status, in ascending order.
    pub const ALL: &'static [Status] = &[
        Status::Ok,
        Status::InvalidArgument,
        Status::NullPointer,
        Status::PlanMismatch,
        Status::UnknownName,
        Status::TypeMismatch,
        Status::InvalidPipeline,
        Status::Unsupported,
        Status::TooLarge,
        Status::Corrupt,
        Status::Checksum,
        Status::NotAContainer,
        Status::Truncated,
        Status::DstTooSmall,
        Status::OutlierCapacity,
        Status::MemoryLimit,
        Status::OutOfMemory,
        Status::NoThreads,
        Status::NoDevice,
        Status::Device,
        Status::File,
        Status::Internal,
    ];

    /// One sentence, for people.
    pub const fn text(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::InvalidArgument => "an argument is out of range",
            Status::NullPointer => "a required pointer is NULL",
            Status::PlanMismatch => "plan, workspace, container, and array do not belong together",
            Status::UnknownName => "no stage, parameter, port, or preset has this name",
            Status::TypeMismatch => "a stage does not support this element type",
            Status::InvalidPipeline => "the graph of stages is not a pipeline",
            Status::Unsupported => "not supported by this version",
            Status::TooLarge => "the array is too large for a stage of the pipeline",
            Status::Corrupt => "the container is damaged",
            Status::Checksum => "a checksum of the container does not match",
            Status::NotAContainer => "the bytes are not a container that this version can read",
            Status::Truncated => "the container is incomplete: its header or a preview requires more of it",
            Status::DstTooSmall => "the destination is too small",
            Status::OutlierCapacity => "the array has more outliers than the outlier lists hold",
            Status::MemoryLimit => "more memory is required than the limit permits",
            Status::OutOfMemory => "out of memory",
            Status::NoThreads => "the system cannot start more threads",
            Status::NoDevice => "no usable GPU",
            Status::Device => "a CUDA driver call failed",
            Status::File => "a file cannot be read or written",
            Status::Internal => "internal error of fzgm",
        }
    }
}

/// An error. Its text states the defect, its place, the value, and a remedy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument of a call.
    #[error("{what} is {got}; expected {expected}")]
    InvalidArgument {
        /// Which argument.
        what: String,
        /// Its value.
        got: String,
        /// The accepted values.
        expected: String,
    },
    /// Plan, workspace, container or buffer do not fit together.
    #[error("{0}")]
    PlanMismatch(String),
    /// A name that nothing answers to.
    #[error("there is no {kind} `{name}`{place}; known: {known}")]
    UnknownName {
        /// stage, parameter, port, preset.
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// Where it was looked for, with a leading blank, or nothing.
        place: String,
        /// The names that exist.
        known: String,
    },
    /// An edge whose type the consumer cannot take.
    #[error("{stage}.{port} does not support {got}; supported: {accepts}")]
    TypeMismatch {
        /// The consuming stage, after its place in the pipeline if its name alone is ambiguous.
        stage: String,
        /// Its input port.
        port: &'static str,
        /// The type on the edge.
        got: DType,
        /// The types that the port accepts.
        accepts: String,
    },
    /// The graph as a whole.
    #[error("the pipeline is not valid: {0}")]
    InvalidPipeline(String),
    /// Known but not done here.
    #[error("{stage}: {what}")]
    Unsupported {
        /// The stage or the part of the library.
        stage: &'static str,
        /// The unsupported feature, and what to use instead.
        what: String,
    },
    /// A 32-bit field of the wire form would overflow.
    #[error("{stage} can hold {limit} bytes, but this array requires {needed}; compress it in slabs")]
    TooLarge {
        /// The stage whose wire form is the limit.
        stage: &'static str,
        /// Bytes that it would have to hold.
        needed: u64,
        /// Bytes that it can hold.
        limit: u64,
    },
    /// Damaged bytes.
    #[error("the container is damaged: {place}: {what}")]
    Corrupt {
        /// The record or the stage.
        place: &'static str,
        /// The invariant that does not hold.
        what: String,
    },
    /// A checksum.
    #[error("the {what} checksum is {stored:#010x}, but the bytes of the container give {computed:#010x}")]
    Checksum {
        /// header or data.
        what: &'static str,
        /// As stored.
        stored: u32,
        /// As computed.
        computed: u32,
    },
    /// Something else altogether.
    #[error("not a container that this version reads: {0}")]
    NotAContainer(String),
    /// A beginning of a container that is shorter than its header, or than the front that a preview requires.
    #[error("the container is incomplete; at least its first {needed} bytes are required")]
    Truncated {
        /// Bytes from the start of the container; never more than it has.
        needed: u64,
    },
    /// The destination.
    #[error("the destination has {have} bytes, but {need} are required")]
    DstTooSmall {
        /// Bytes needed.
        need: u64,
        /// Bytes that the destination has.
        have: u64,
    },
    /// The outlier lists of a stage.
    #[error(
        "{stage} has {needed} outliers, but its lists hold {capacity}; raise outlier_capacity or the bound"
    )]
    OutlierCapacity {
        /// The stage.
        stage: &'static str,
        /// Outliers of this array.
        needed: u64,
        /// Room for outliers.
        capacity: u64,
    },
    /// The caller's limit.
    #[error(
        "decompression requires {need} bytes of working memory, the limit is {limit}; raise max_memory_bytes if the container is trusted"
    )]
    MemoryLimit {
        /// Bytes needed.
        need: u64,
        /// The limit in force.
        limit: u64,
    },
    /// The system has no memory left. The number of bytes requested, or 0 if it is unknown.
    #[error("{}", out_of_memory(*.0))]
    OutOfMemory(u64),
    /// The system's limit of threads, or of memory for their stacks.
    #[error(
        "the system cannot start {threads} threads: {why}; lower `threads`, or raise the limit of processes (ulimit -u)"
    )]
    NoThreads {
        /// How many the workspace is to have.
        threads: u64,
        /// The message of the system.
        why: String,
    },
    /// No GPU, no driver, or one that is too old.
    #[error("no usable GPU: {0}")]
    NoDevice(String),
    /// The driver's answer to a call.
    #[error("{call} failed with CUDA error {code}: {text}")]
    Device {
        /// The call.
        call: &'static str,
        /// Its number.
        code: i32,
        /// The message of the driver.
        text: String,
    },
    /// A file.
    #[error("cannot {doing} {path}: {why}")]
    File {
        /// read or write.
        doing: &'static str,
        /// Which one.
        path: String,
        /// The message of the system, or the defect of the file.
        why: String,
    },
    /// A slab of a slab file.
    #[error("slab {index}: {source}")]
    Slab {
        /// Which one, from 0.
        index: u64,
        /// The error of the part. Its status is the status of the whole.
        source: Box<Error>,
    },
    /// A step of a series.
    #[error("step {index}: {source}")]
    Step {
        /// Its position, from 0.
        index: u64,
        /// The error of the part. Its status is the status of the whole.
        source: Box<Error>,
    },
    /// A broken invariant.
    #[error("internal error of fzgm, please report it: {0}")]
    Internal(&'static str),
}

fn out_of_memory(bytes: u64) -> String {
    match bytes {
        0 => "the system has no memory left; free some".into(),
        n => format!("the system has no {n} bytes of memory"),
    }
}

impl Error {
    /// The number that C sees.
    pub const fn status(&self) -> Status {
        match self {
            Error::InvalidArgument { .. } => Status::InvalidArgument,
            Error::PlanMismatch(_) => Status::PlanMismatch,
            Error::UnknownName { .. } => Status::UnknownName,
            Error::TypeMismatch { .. } => Status::TypeMismatch,
            Error::InvalidPipeline(_) => Status::InvalidPipeline,
            Error::Unsupported { .. } => Status::Unsupported,
            Error::TooLarge { .. } => Status::TooLarge,
            Error::Corrupt { .. } => Status::Corrupt,
            Error::Checksum { .. } => Status::Checksum,
            Error::NotAContainer(_) => Status::NotAContainer,
            Error::Truncated { .. } => Status::Truncated,
            Error::DstTooSmall { .. } => Status::DstTooSmall,
            Error::OutlierCapacity { .. } => Status::OutlierCapacity,
            Error::MemoryLimit { .. } => Status::MemoryLimit,
            Error::OutOfMemory(_) => Status::OutOfMemory,
            Error::NoThreads { .. } => Status::NoThreads, // seed: no-threads-status
            Error::NoDevice(_) => Status::NoDevice,
            Error::Device { .. } => Status::Device,
            Error::File { .. } => Status::File,
            Error::Slab { source, .. } | Error::Step { source, .. } => source.status(),
            Error::Internal(_) => Status::Internal,
        }
    }

    pub(crate) fn argument(what: impl Into<String>, got: impl ToString, expected: impl Into<String>) -> Self {
        Error::InvalidArgument { what: what.into(), got: got.to_string(), expected: expected.into() }
    }

    pub(crate) fn type_mismatch(
        stage: &str,
        port: &'static str,
        got: DType,
        accepts: impl Into<String>,
    ) -> Self {
        Error::TypeMismatch { stage: stage.into(), port, got, accepts: accepts.into() }
    }

    /// The error for [`Fault::OutOfRange`]: an element of the input of `stage` that is not `expected`.
    pub(crate) fn out_of_range(stage: &'static str, element: u64, expected: &str) -> Self {
        Error::argument(format!("an input element of {stage}"), element, expected)
    }

    pub(crate) fn corrupt(place: &'static str, what: impl Into<String>) -> Self {
        Error::Corrupt { place, what: what.into() }
    }
}

/// The report of a kernel. It has no text, so that a device can report it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The bytes that were read cannot have been written by the encoder.
    Corrupt,
    /// More outliers than there is room for.
    OutlierCapacity {
        /// How many there are.
        needed: u64,
        /// How many the lists hold.
        capacity: u64,
    },
    /// An element of the array that the parameters of the stage have no code for, the largest one.
    OutOfRange(u64),
    /// The system refused a request of this number of bytes.
    OutOfMemory(u64),
    /// The launch itself is malformed: a defect of the planner.
    BadLaunch,
}
