//! Inputs of a run: files, streams, and the values of common options.

use crate::failure::Failure;
use crate::named::{self, Named};
use crate::progress::Progress;
use crate::source;
use clap::builder::{PathBufValueParser, TypedValueParser};
use fzgm::{Device, Error, slabs};
use std::fs::File;
use std::io::{BufReader, Read, stdin};
use std::path::{Path, PathBuf};

/// A parser of file names for arguments that do not support standard streams. It rejects `-`, which other arguments accept as a
/// stream; `./-` is a file of this name.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        if is_stream(&path) {
            return Err("standard input and output are not supported here; pass a file name");
        }
        Ok(path)
    })
}

/// True for `-`, which means standard input or standard output.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of a file in messages; for `-`, the name of the stream.
pub(crate) fn name(path: &Path, stream: &str) -> PathBuf {
    if is_stream(path) { stream.into() } else { path.into() }
}

/// Opens a file or standard input.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if is_stream(path) {
        return Ok(Box::new(stdin().lock()));
    }
    let file = File::open(path).map_err(|e| Failure::io("read", path, &e))?;
    Ok(Box::new(BufReader::with_capacity(1 << 20, file)))
}

/// The length of a regular file; `None` for a stream, a pipe, or a device.
pub(crate) fn length(path: &Path) -> Result<Option<u64>, Failure> {
    if is_stream(path) {
        return Ok(None);
    }
    let found = std::fs::metadata(path).map_err(|e| Failure::io("read", path, &e))?;
    // The system reports length 0 for a pipe or a device.
    Ok(found.is_file().then_some(found.len()))
}

/// The contents of a file: a container, which is read completely, or a slab file, which is not read yet.
pub(crate) enum Whole {
    Bytes(Vec<u8>),
    /// The bytes after the magic number.
    Slabs(Box<dyn Read>),
}

/// Reads `path` as a container or a slab file. Reads a container up to the length in its header, and one byte more to detect a longer
/// file: a pipe or a device may be endless.
pub(crate) fn whole(path: &Path) -> Result<Whole, Failure> {
    whole_of(path, open(path)?)
}

/// Same as [`whole`], for an open file.
pub(crate) fn whole_of(path: &Path, mut src: Box<dyn Read>) -> Result<Whole, Failure> {
    let mut all = vec![];
    let refused = |e: std::io::Error| Failure::io("read", path, &e);
    (&mut src).take(4).read_to_end(&mut all).map_err(refused)?;
    if all == slabs::MAGIC {
        return Ok(Whole::Slabs(src));
    }
    let stated = match stated(&mut src, u64::MAX, &mut all).map_err(refused)? {
        Ok(bytes) => bytes,
        Err(e @ Error::NotAContainer(_)) => {
            // Formats with a longer magic number require more bytes.
            (&mut src).take(source::LONGEST as u64).read_to_end(&mut all).map_err(refused)?;
            return Err(source::kind(&all).map_or_else(
                || Failure::reading(path, &e),
                |found| {
                    let what = "not a container; pass a container or a slab file of fzgm";
                    Failure::container(format!("{} is {}, {what}", path.display(), found.name))
                },
            ));
        }
        Err(e) => return Err(Failure::reading(path, &e)),
    };
    let Some(bytes) = stated else { return Ok(Whole::Bytes(all)) };
    if rest(path, &mut src, &mut all, Some(bytes))? {
        let has = match length(path)?.filter(|length| *length > bytes) {
            Some(length) => length.to_string(),
            None => format!("more than {bytes}"),
        };
        let what = format!("{} has {has} bytes, but its header states {bytes}", path.display());
        return Err(Failure::reading(path, &Error::Corrupt { place: "length", what }));
    }
    Ok(Whole::Bytes(all))
}

/// Reads the header of a container, after the bytes in `beginning`, and returns the length of the container. Returns `None` if `src`
/// or the limit of `most` bytes ends within the header; a later call that decodes the bytes reports the error.
pub(crate) fn stated(
    src: &mut dyn Read,
    most: u64,
    beginning: &mut Vec<u8>,
) -> std::io::Result<Result<Option<u64>, Error>> {
    loop {
        let needed = match fzgm::info_partial(beginning) {
            Ok(info) => return Ok(Ok(Some(info.container_bytes))),
            Err(Error::Truncated { needed }) => needed.min(most),
            Err(e) => return Ok(Err(e)),
        };
        let missing = needed.saturating_sub(beginning.len() as u64);
        if (&mut *src).take(missing).read_to_end(beginning)? == 0 {
            return Ok(Ok(None));
        }
    }
}

/// Appends bytes of `src` to `all` until `all` has `wanted` bytes or `src` ends. Returns true if `src` continues after `wanted` bytes.
pub(crate) fn rest(
    path: &Path,
    src: &mut dyn Read,
    all: &mut Vec<u8>,
    wanted: Option<u64>,
) -> Result<bool, Failure> {
    let most = wanted.unwrap_or(u64::MAX);
    fill(path, src, all, most)?;
    Ok(all.len() as u64 == most && more(path, src)?)
}

/// Returns true if `src` has at least one more byte, and consumes it.
fn more(path: &Path, src: &mut dyn Read) -> Result<bool, Failure> {
    let mut one = vec![];
    src.take(1).read_to_end(&mut one).map_err(|e| Failure::io("read", path, &e))?;
    Ok(!one.is_empty())
}

/// Appends bytes of `src` to `all` until `all` has `wanted` bytes or `src` ends.
fn fill(path: &Path, src: &mut dyn Read, all: &mut Vec<u8>, wanted: u64) -> Result<(), Failure> {
    /// Bytes between two updates of the progress bar.
    const PIECE: usize = 1 << 24;
    let refused = |e: std::io::Error| Failure::io("read", path, &e);
    let missing = |bytes: usize| Failure::from_error(&Error::OutOfMemory(bytes as u64));
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    let bytes = length(path)?.map(|bytes| bytes.min(wanted as u64));
    let progress = bytes.map(|bytes| Progress::new("read", Some(bytes)));
    let room = usize::try_from(bytes.unwrap_or(0)).unwrap_or(usize::MAX).saturating_sub(all.len());
    all.try_reserve_exact(room).map_err(|_| missing(room))?;
    while all.len() < wanted {
        // If the memory is full, a few bytes are read first: at the end of the file no more memory is required.
        let mut next = vec![];
        if all.len() == all.capacity() {
            let few = (wanted - all.len()).min(64);
            (&mut *src).take(few as u64).read_to_end(&mut next).map_err(refused)?;
            if next.is_empty() {
                break;
            }
            all.try_reserve(PIECE).map_err(|_| missing(all.len() + PIECE))?;
            all.append(&mut next);
        }
        // A read never exceeds the capacity: otherwise the vector would allocate, and abort the process on failure.
        let piece = PIECE.min(all.capacity() - all.len()).min(wanted - all.len());
        if (&mut *src).take(piece as u64).read_to_end(all).map_err(refused)? == 0 {
            break;
        }
        if let Some(progress) = &progress {
            progress.at(all.len() as u64);
        }
    }
    Ok(())
}

/// A parser of thread counts. The limit rejects typing errors, which could exhaust the threads of the system.
pub(crate) fn threads() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=i64::from(fzgm::MAX_THREADS))
}

/// A parser of devices. The device `auto` becomes the CPU, because files are read into host memory.
pub(crate) fn device() -> Named<Device> {
    Named {
        parse: |text| {
            let device = text.parse().map_err(|e: Error| e.to_string())?;
            Ok(if device == Device::Auto { Device::Cpu } else { device })
        },
        names: named::devices,
    }
}

/// Parses a bound, a threshold, or a range. The library checks the value, because the limits depend on the pipeline.
pub(crate) fn real(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number; write it as 0.001 or 1e-3"))
}

/// Parses a number of bytes, such as `1048576`, `64M`, or `2G`, with units of 1024.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        _ => return Err(format!("`{text}` is not a number of bytes; write it as 67108864 or 64M")),
    };
    let number = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit));
    number
        .filter(|n| *n > 0)
        .ok_or_else(|| format!("`{text}` is not a number of bytes; write it as 67108864 or 64M"))
}

/// Same as [`bytes`], but 0 is permitted and selects the default limit.
pub(crate) fn limit(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { bytes(text) }
}

#[cfg(test)]
mod tests {
    use super::{bytes, limit};

    #[test]
    fn numbers_of_bytes() {
        assert_eq!(
            [bytes("4096"), bytes("64M"), bytes("2GiB"), bytes("1K")].map(Result::ok),
            [4096, 64 << 20, 2 << 30, 1 << 10].map(Some)
        );
        assert_eq!([limit("0"), limit("64M")].map(Result::ok), [0, 64 << 20].map(Some));
        for text in ["", "0", "M", "64m", "64 M", "-1", "1.5G", "99999999999999999999", "99999999999G"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
