//! What runs need: files, read whole, memory, threads and devices.

use crate::failure::Failure;
use clap::builder::{PathBufValueParser, TypedValueParser};
use fzgm::{Device, Error};
use std::path::{Path, PathBuf};

/// The name of a file. `-`, which other programs take for a standard stream, is refused before it becomes a file of
/// that name; `./-` is one.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        if path.as_os_str() == "-" {
            return Err("give a file; standard input and output are not supported in this version");
        }
        Ok(path)
    })
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|e| Failure::io("read", path, &e))
}

/// Zeroed memory, or a message where the system has none.
pub(crate) fn memory(bytes: u64) -> Result<Vec<u8>, Failure> {
    let none = || Failure::asking(&Error::OutOfMemory(bytes));
    let len = usize::try_from(bytes).map_err(|_| none())?;
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| none())
}

/// More threads than any machine has cores are a slip of the pen, and asking for them may exhaust the system.
pub(crate) fn threads() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=i64::from(fzgm::MAX_THREADS))
}

/// Of the library, with its list of what there is.
pub(crate) fn device(text: &str) -> Result<Device, String> {
    text.parse().map_err(|e: Error| e.to_string())
}
