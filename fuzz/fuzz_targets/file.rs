//! Any bytes as a file: reading a file has the same result as reading memory.
#![no_main]

use fzgm::{ContainerFile, decompress_region};
use libfuzzer_sys::fuzz_target;
use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;

/// The caller rejects larger regions.
const ROOM: usize = 1 << 16;

/// A file that is nowhere.
fn file_of(bytes: &[u8]) -> File {
    // SAFETY: the name ends with a zero; the descriptor is new and becomes that of the file alone.
    let mut file = unsafe {
        let fd = libc::memfd_create(c"container".as_ptr(), 0);
        assert!(fd >= 0);
        File::from_raw_fd(fd)
    };
    file.write_all(bytes).expect("a file in memory");
    file
}

fuzz_target!(|data: &[u8]| {
    let [x, y, width, height, container @ ..] = data else { return };
    let opened = ContainerFile::within(file_of(container), 0..container.len() as u64, "container");
    let in_memory = fzgm::info(container);
    let Ok(file) = opened else {
        assert!(in_memory.is_err(), "a file is refused that is read in memory");
        return;
    };
    let (Ok(a), Ok(b)) = (file.info(), in_memory) else { return };
    assert!(a.array == b.array && a.container_bytes == b.container_bytes);
    // Of some stages a region takes memory for the whole array.
    if a.array.bytes() > (64 << 20) {
        return;
    }
    let dims = a.array.dims();
    let origin: Vec<u64> = dims.iter().zip([x, y, x]).map(|(d, o)| u64::from(*o) * d / 256).collect();
    let extent: Vec<u64> =
        dims.iter().zip([width, height, width]).map(|(d, n)| (u64::from(*n) % 32).min(*d)).collect();
    let (mut there, mut here) = (vec![0; ROOM], vec![0; ROOM]);
    let read = file.decompress_region(&origin, &extent, &mut there);
    let done = decompress_region(container, &origin, &extent, &mut here);
    match (&read, &done) {
        (Ok(n), Ok(m)) => assert!(n == m && there[..*n] == here[..*m], "a box of a file is another one"),
        (Err(_), Err(_)) => {}
        _ => panic!("{read:?} from a file, {done:?} from memory"),
    }
});
