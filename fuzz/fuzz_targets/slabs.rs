//! Any bytes as a slab file. The checksums of header and trailer are set right, because otherwise few files
//! would pass them.
#![no_main]

use fzgm::slabs::{MAGIC, Reader, SlabFile};
use fzgm::{Options, Result, decompress};
use libfuzzer_sys::fuzz_target;
use std::io::Write;

const HEADER: usize = 48;
const TRAILER: usize = 32;
/// The largest restored array.
const MOST: u64 = 1 << 20;

fn seal(bytes: &mut [u8]) {
    let end = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
}

/// Reads all slabs and restores those of the first megabyte.
fn read(file: &[u8]) -> Result<()> {
    let options = Options { checksum: false, max_memory_bytes: 32 << 20, ..Options::default() };
    let mut reader = Reader::new(file, "slabs")?;
    let mut restored = 0;
    while let Some(container) = reader.next_container()? {
        let container = container.to_vec();
        if reader.totals().array_bytes <= MOST {
            restored += decompress(&container, &options).map_or(0, |(_, values)| values.len() as u64);
        }
    }
    let totals = reader.totals();
    assert_eq!((totals.file_bytes, reader.header().array(totals.rows)?.bytes()), (file.len() as u64, totals.array_bytes));
    assert!(restored <= totals.array_bytes, "more is restored than there is");
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let mut file = data.to_vec();
    if file.len() >= HEADER {
        file[..4].copy_from_slice(&MAGIC);
        seal(&mut file[..HEADER]);
    }
    if file.len() >= HEADER + TRAILER {
        let end = file.len() - TRAILER;
        seal(&mut file[end..]);
    }
    let read = read(&file);
    let mut held = std::fs::File::from(memfd());
    held.write_all(&file).expect("a file in memory");
    let Ok(slabs) = SlabFile::new(held, "slabs") else {
        assert!(read.is_err(), "what is read from front to back has an array");
        return;
    };
    let array = slabs.array();
    if array.bytes() == 0 {
        return;
    }
    let origin: Vec<u64> = array.dims().iter().map(|d| d / 3).collect();
    let extent: Vec<u64> = array.dims().iter().zip(&origin).map(|(d, o)| (d - o).min(16)).collect();
    let mut dst = vec![0; (extent.iter().product::<u64>() * array.dtype().bytes()) as usize];
    let _ = slabs.decompress_region(&origin, &extent, &mut dst);
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
