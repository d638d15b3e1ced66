//! What ends a run early: a message and an exit code.

use fzgm::Error;
use std::path::Path;

/// Does something with each file. A file that fails takes no other with it: its message is written, and the code of the first failure is the end.
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

/// A message for people and a code for scripts.
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
    /// With what it is about in front.
    pub(crate) fn about(self, what: &str) -> Failure {
        Failure { message: format!("{what}: {}", self.message), ..self }
    }

    pub(crate) fn in_slab(self, index: u64) -> Failure {
        self.about(&format!("slab {index}"))
    }

    fn new(code: u8, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }

    /// Whether the arguments are wrong, whatever the array and the machine are.
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

    /// The system refused something about a file or a standard stream.
    pub(crate) fn io(verb: &str, path: &Path, e: &std::io::Error) -> Failure {
        let stream = if verb == "read" { "standard input" } else { "standard output" };
        let name = crate::input::name(path, stream);
        Failure::new(IO, format!("cannot {verb} {}: {e}", name.display()))
    }

    /// The library refused a container. What this version does not know it cannot tell from damage.
    pub(crate) fn reading(path: &Path, e: &Error) -> Failure {
        match e {
            Error::Slab { index, source } => Failure::reading(path, source).in_slab(*index),
            Error::Corrupt { place: "slab file", what } => {
                Failure::new(CONTAINER, format!("{}: {what}", path.display()))
            }
            Error::NotAContainer(_)
            | Error::Corrupt { .. }
            | Error::Checksum { .. }
            | Error::Truncated { .. }
            | Error::Unsupported { .. }
            | Error::PlanMismatch(_) => Failure::new(CONTAINER, format!("{}: {e}", path.display())),
            // It has the path already.
            Error::File { .. } => Failure::new(IO, e.to_string()),
            _ => Failure::request(format!("{}: {e}", path.display())),
        }
    }

    /// The library refused a part of an array whose header it has read.
    pub(crate) fn of_part(path: &Path, e: &Error) -> Failure {
        match e {
            Error::Slab { index, source } => Failure::of_part(path, source).in_slab(*index),
            Error::InvalidArgument { .. } => Failure::from_error(e),
            // The container is fine, and the rest of it can be had.
            Error::Unsupported { .. } => Failure::request(format!("{}: {e}", path.display())),
            e => Failure::reading(path, e),
        }
    }

    /// The library cannot read a pipeline of the user's own. A stage that other versions have is a request like others.
    pub(crate) fn written(e: &Error) -> Failure {
        match e {
            Error::Unsupported { .. } => Failure::request(e.to_string()),
            e => Failure::usage(e.to_string()),
        }
    }

    /// The library refused a request. Names and values that nothing accepts are the command line's own, and so are pipelines that
    /// no array makes possible.
    pub(crate) fn from_error(e: &Error) -> Failure {
        match e {
            Error::Slab { index, source } => Failure::from_error(source).in_slab(*index),
            Error::File { .. } => Failure::new(IO, e.to_string()),
            Error::InvalidArgument { .. } | Error::UnknownName { .. } | Error::InvalidPipeline(_) => {
                Failure::usage(e.to_string())
            }
            _ => Failure::request(e.to_string()),
        }
    }
}
