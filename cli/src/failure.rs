//! Failures of a run: a message and an exit code.

use fzgm::Error;
use std::path::Path;

/// Calls `work` for each file. A file that fails does not stop the others. The first failure is returned; the messages of later ones
/// are printed.
pub(crate) fn each<T>(
    files: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut first = None;
    for file in files {
        let Err(failure) = work(file) else { continue };
        match &first {
            None => first = Some(failure),
            Some(_) => crate::report::note(&failure.message),
        }
    }
    first.map_or(Ok(()), Err)
}

/// A message for users and an exit code for scripts.
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
}

const VIOLATION: u8 = 1;
const USAGE: u8 = 2;
const IO: u8 = 3;
const CONTAINER: u8 = 4;
const REQUEST: u8 = 5;

pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  a value violates the error bound, or a value that must be exact differs (compare, bench, --verify)
  2  invalid arguments, or arguments that do not match the file
  3  a file cannot be read or written
  4  the container is damaged or has an unknown format
  5  the request cannot be met, for example because of memory, the element type, or a missing GPU";

impl Failure {
    /// Adds a subject in front of the message.
    pub(crate) fn about(self, what: &str) -> Failure {
        Failure { message: format!("{what}: {}", self.message), ..self }
    }

    pub(crate) fn in_slab(self, index: u64) -> Failure {
        self.about(&format!("slab {index}"))
    }

    pub(crate) fn in_step(self, index: u64) -> Failure {
        self.about(&format!("step {index}"))
    }

    fn new(code: u8, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }

    /// True if the arguments are invalid for every array on every machine.
    pub(crate) fn is_usage(&self) -> bool {
        self.code == USAGE
    }

    pub(crate) fn violation(message: impl Into<String>) -> Failure {
        Failure::new(VIOLATION, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::new(USAGE, message)
    }

    pub(crate) fn request(message: impl Into<String>) -> Failure {
        Failure::new(REQUEST, message)
    }

    pub(crate) fn container(message: impl Into<String>) -> Failure {
        Failure::new(CONTAINER, message)
    }

    pub(crate) fn output(message: impl Into<String>) -> Failure {
        Failure::new(IO, message)
    }

    /// The system cannot read or write a file or a standard stream.
    pub(crate) fn io(verb: &str, path: &Path, e: &std::io::Error) -> Failure {
        let stream = if verb == "read" { "standard input" } else { "standard output" };
        let name = crate::input::name(path, stream);
        Failure::new(IO, format!("cannot {verb} {}: {e}", name.display()))
    }

    /// The library rejects a container. `Unsupported` has the exit code of damage, because an unknown number can be either.
    pub(crate) fn reading(path: &Path, e: &Error) -> Failure {
        match e {
            Error::Slab { index, source } => Failure::reading(path, source).in_slab(*index),
            Error::Step { index, source } => Failure::reading(path, source).in_step(*index),
            Error::Corrupt { place: "slab file" | "series", what } => {
                Failure::new(CONTAINER, format!("{}: {what}", path.display()))
            }
            Error::NotAContainer(_)
            | Error::Corrupt { .. }
            | Error::Checksum { .. }
            | Error::Truncated { .. }
            | Error::Unsupported { .. }
            | Error::PlanMismatch(_) => Failure::new(CONTAINER, format!("{}: {e}", path.display())),
            // The text of the error contains the path.
            Error::File { .. } => Failure::new(IO, e.to_string()),
            _ => Failure::request(format!("{}: {e}", path.display())),
        }
    }

    /// The library rejects a region or a preview of a container whose header it has read.
    pub(crate) fn of_part(path: &Path, e: &Error) -> Failure {
        match e {
            Error::Slab { index, source } => Failure::of_part(path, source).in_slab(*index),
            Error::Step { index, source } => Failure::of_part(path, source).in_step(*index),
            Error::InvalidArgument { .. } => Failure::from_error(e),
            // The container is valid; only the request is not supported.
            Error::Unsupported { .. } => Failure::request(format!("{}: {e}", path.display())),
            e => Failure::reading(path, e),
        }
    }

    /// The library cannot read a custom pipeline. A stage that only other versions support is a request, not invalid usage.
    pub(crate) fn written(e: &Error) -> Failure {
        match e {
            Error::Unsupported { .. } => Failure::request(e.to_string()),
            e => Failure::usage(e.to_string()),
        }
    }

    /// The library rejects a request. Names, values, and pipelines that are invalid for every array are invalid usage.
    pub(crate) fn from_error(e: &Error) -> Failure {
        match e {
            Error::Slab { index, source } => Failure::from_error(source).in_slab(*index),
            Error::Step { index, source } => Failure::from_error(source).in_step(*index),
            Error::File { .. } => Failure::new(IO, e.to_string()),
            Error::InvalidArgument { .. } | Error::UnknownName { .. } | Error::InvalidPipeline(_) => {
                Failure::usage(e.to_string())
            }
            _ => Failure::request(e.to_string()),
        }
    }
}
