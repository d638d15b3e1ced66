//! Memory of a run, and what is said where it is too much: `--max-memory` counts the array with the work on it.

use crate::failure::Failure;
use fzgm::{Decoder, Error, Options, info};
use std::path::Path;

/// Zeroed memory, or a message where the system has none.
pub(crate) fn zeroed(bytes: u64) -> Result<Vec<u8>, Failure> {
    let none = || Failure::from_error(&Error::OutOfMemory(bytes));
    let len = usize::try_from(bytes).map_err(|_| none())?;
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| none())
}

/// The decoder of a container, if its array and the work on it are within the limit.
pub(crate) fn decoder(path: &Path, container: &[u8], options: &Options) -> Result<Decoder, Failure> {
    let decoder = Decoder::open(container, options).map_err(|e| refused(path, container, options, e))?;
    let need = decoder.array().bytes().saturating_add(decoder.workspace_bytes());
    within(path, need, options.max_memory_bytes)?;
    Ok(decoder)
}

/// Refuses to take more than `--max-memory`; 0 is no limit.
pub(crate) fn within(path: &Path, need: u64, limit: u64) -> Result<(), Failure> {
    if limit != 0 && need > limit { Err(too_much(path, need, limit)) } else { Ok(()) }
}

/// What the library says of a container. The limit that it knows is one of the work alone.
pub(crate) fn refused(path: &Path, container: &[u8], options: &Options, e: Error) -> Failure {
    let Error::MemoryLimit { need, limit } = e else { return Failure::reading(path, &e) };
    let array = info(container).map_or(0, |info| info.array.bytes());
    let limit = if options.max_memory_bytes == 0 { limit.saturating_add(array) } else { limit };
    too_much(path, need.saturating_add(array), limit)
}

fn too_much(path: &Path, need: u64, limit: u64) -> Failure {
    Failure::request(format!(
        "{}: decompression requires {need} bytes of memory, the limit is {limit}; raise --max-memory if you trust the file",
        path.display()
    ))
}
