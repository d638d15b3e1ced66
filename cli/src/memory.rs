//! Memory of a run. `--max-memory` limits the array and the working memory together; the limit of the library does not include
//! the array.

use crate::failure::Failure;
use fzgm::{Decoder, Error, Options, info};
use std::path::Path;

/// Allocates zeroed memory. Returns an error if the system refuses it.
pub(crate) fn zeroed(bytes: u64) -> Result<Vec<u8>, Failure> {
    let none = || Failure::from_error(&Error::OutOfMemory(bytes));
    let len = usize::try_from(bytes).map_err(|_| none())?;
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| none())
}

/// Opens the decoder of a container. Fails if the array and the working memory exceed the limit.
pub(crate) fn decoder(path: &Path, container: &[u8], options: &Options) -> Result<Decoder, Failure> {
    let decoder = Decoder::open(container, options).map_err(|e| refused(path, container, options, e))?;
    let need = decoder.array().bytes().saturating_add(decoder.workspace_bytes());
    within(path, need, options.max_memory_bytes)?;
    Ok(decoder)
}

/// Fails if `need` exceeds `--max-memory`. The value 0 selects the default limit, which the library checks.
pub(crate) fn within(path: &Path, need: u64, limit: u64) -> Result<(), Failure> {
    if limit != 0 && need > limit { Err(too_much(path, need, limit)) } else { Ok(()) }
}

/// Converts an error of the library, and adds the array to the figures of a memory limit.
pub(crate) fn refused(path: &Path, container: &[u8], options: &Options, e: Error) -> Failure {
    let Error::MemoryLimit { need, limit } = e else { return Failure::reading(path, &e) };
    let array = info(container).map_or(0, |info| info.array.bytes());
    let limit = if options.max_memory_bytes == 0 { limit.saturating_add(array) } else { limit };
    too_much(path, need.saturating_add(array), limit)
}

fn too_much(path: &Path, need: u64, limit: u64) -> Failure {
    Failure::request(format!(
        "{}: decompression requires {need} bytes of memory, but the limit is {limit}; raise --max-memory if you trust the file",
        path.display()
    ))
}
