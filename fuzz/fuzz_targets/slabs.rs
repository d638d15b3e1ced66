//! Any bytes as a slab file of the command line, whose sources these are. The checksums of head and trailer are set right, else little would
//! get past them.
#![no_main]
#![allow(dead_code, unused_imports)]

#[path = "../../src/bin/fzgm"]
mod program {
    pub(crate) mod failure;
    pub(crate) mod input;
    pub(crate) mod memory;
    pub(crate) mod slabs;
}

/// Nobody watches.
mod progress {
    pub(crate) struct Progress;
    impl Progress {
        pub(crate) fn new(_: &'static str, _: Option<u64>) -> Progress {
            Progress
        }
        pub(crate) fn at(&self, _: u64) {}
    }
}

use fzgm::Options;
use libfuzzer_sys::fuzz_target;
use program::{failure, input, memory, slabs};
use std::io::{Read, Write};
use std::path::Path;

const HEAD: usize = 48;
const TRAILER: usize = 32;
/// What is restored at most.
const MOST: usize = 1 << 20;

/// Takes so many bytes and no more, as a disk that is full.
struct Sink(usize);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        if self.0 > MOST { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn seal(bytes: &mut [u8]) {
    let end = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
}

fuzz_target!(|data: &[u8]| {
    let mut file = data.to_vec();
    if file.len() >= HEAD {
        file[..4].copy_from_slice(&slabs::MAGIC);
        seal(&mut file[..HEAD]);
    }
    if file.len() >= HEAD + TRAILER {
        let end = file.len() - TRAILER;
        seal(&mut file[end..]);
    }
    let path = Path::new("slabs");
    let behind = || file.get(4..).unwrap_or_default();
    let options = Options { checksum: false, max_memory_bytes: 32 << 20, ..Options::default() };
    let outlined = slabs::outline(&mut behind(), path);
    let restored = slabs::restore((&mut behind(), path), (&mut Sink(0), path), &options);
    assert!(outlined.is_ok() || restored.is_err(), "a file is restored that cannot be described");
    let mut held = std::fs::File::from(memfd());
    held.write_all(&file).expect("a file in memory");
    let Ok(places) = slabs::Places::open(held, file.len() as u64, path) else { return };
    if places.array.bytes() == 0 {
        return;
    }
    let dims = places.array.dims();
    let origin: Vec<u64> = dims.iter().map(|d| d / 3).collect();
    let extent: Vec<u64> = dims.iter().zip(&origin).map(|(d, o)| (d - o).min(16)).collect();
    let mut dst = vec![0; (extent.iter().product::<u64>() * places.array.dtype().bytes()) as usize];
    let _ = places.restore((&origin, &extent), &mut dst);
});

fn memfd() -> std::os::fd::OwnedFd {
    use std::os::fd::{FromRawFd, OwnedFd};
    // SAFETY: the name ends with a zero; the descriptor is new and has one owner.
    unsafe {
        let fd = libc::memfd_create(c"slabs".as_ptr(), 0);
        assert!(fd >= 0);
        OwnedFd::from_raw_fd(fd)
    }
}
