//! The library about itself and about the last failure.

use std::ffi::c_char;

use super::ffi_guard;
use super::status::FZ_ABI_VERSION;
use crate::Status;

/// Texts as C wants them: with a zero at the end, made when the library is compiled.
const TEXT_BYTES: usize = 96;
static TEXTS: [[u8; TEXT_BYTES]; Status::ALL.len()] = {
    let mut texts = [[0; TEXT_BYTES]; Status::ALL.len()];
    let mut i = 0;
    while i < Status::ALL.len() {
        let text = Status::ALL[i].text().as_bytes();
        assert!(text.len() < TEXT_BYTES);
        let mut k = 0;
        while k < text.len() {
            texts[i][k] = text[k];
            k += 1;
        }
        i += 1;
    }
    texts
};

/// The version of the library that runs, such as "0.1.0". Static text.
#[unsafe(no_mangle)]
pub extern "C" fn fz_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The binary interface of the library that runs. Equal to FZ_ABI_VERSION wherever the loader did its work; worth a check
/// where the library is opened with dlopen().
#[unsafe(no_mangle)]
pub extern "C" fn fz_abi_version() -> u32 {
    FZ_ABI_VERSION
}

/// What the library was built with, for logs and reports: version, target, backends. Static text, for people only.
#[unsafe(no_mangle)]
pub extern "C" fn fz_build_info() -> *const c_char {
    concat!("fzgm ", env!("CARGO_PKG_VERSION"), ", ", env!("FZGM_TARGET"), ", ", env!("FZGM_BACKENDS"), "\0")
        .as_ptr()
        .cast()
}

/// One sentence about a status. Static text, never NULL, for any integer.
#[unsafe(no_mangle)]
pub extern "C" fn fz_strerror(status: i32) -> *const c_char {
    let known = Status::ALL.iter().position(|s| *s as i32 == status);
    known.map_or(c"unknown status".as_ptr(), |i| TEXTS[i].as_ptr().cast())
}

/// What went wrong in the last call of this thread that failed: which argument, stage or port, its value, and what would
/// have been accepted. Never NULL; "" while nothing has failed. Successful calls leave the text alone; it stays valid until
/// the next failure in this thread, or the end of the thread. A text has at most 4095 bytes; a longer one is cut and ends with "…".
#[unsafe(no_mangle)]
pub extern "C" fn fz_last_error() -> *const c_char {
    ffi_guard::last_error()
}
