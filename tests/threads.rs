//! Threads that the system does not start.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, clippy::unwrap_used, clippy::panic)]

use fzgm::{Array, DType, Encoder, Error, Options, Status, preset};
use std::fs;

/// The limit of the address space of this process, as it was set.
struct Limit(libc::rlimit);

impl Limit {
    /// Room for small things, and for the stack of no thread. Unlike the limit of processes it holds for root too.
    fn tight() -> Limit {
        let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: a place for the result.
        assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut before) }, 0);
        let pages: u64 =
            fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap();
        let now = libc::rlimit { rlim_cur: pages * 4096 + (1 << 20), ..before };
        // SAFETY: a limit to be read.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &now) }, 0);
        Limit(before)
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // SAFETY: a limit to be read.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &self.0) }, 0);
    }
}

/// The only test of this program: the limit is that of the process.
#[test]
fn threads_that_cannot_be_started_are_a_matter_of_room() {
    let src: Vec<u8> = (0..1000).flat_map(|i| (i as f32).sin().to_le_bytes()).collect();
    let array = Array::new(DType::F32, &[1000]).unwrap();
    let options = Options { threads: 40, ..Options::default() };
    let encoder = Encoder::new(&preset("pfpl", DType::F32).unwrap(), &array, &options).unwrap();
    let mut dst = vec![0; encoder.max_compressed_bytes() as usize];

    let limit = Limit::tight();
    let refused = encoder.workspace().err();
    drop(limit);

    let Some(e @ Error::NoThreads { threads: 40, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((e.status(), e.status() as i32), (Status::NoThreads, 44));
    let text = e.to_string();
    assert!(text.starts_with("the system cannot start 40 threads: "), "{text}");
    assert!(text.contains("Resource temporarily unavailable"), "{text}");
    assert!(text.ends_with("; lower `threads`, or raise the limit of processes (ulimit -u)"), "{text}");

    // Nothing is left of it.
    let mut ws = encoder.workspace().unwrap();
    assert!(encoder.compress(&mut ws, &src, &mut dst).unwrap() > 0);
}
