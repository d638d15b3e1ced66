//! The library about itself and about the last failure.
//!
//! Section of the header: Library and error text.

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

/// Returns the version of the library, such as "0.1.0". Static text.
#[unsafe(no_mangle)]
pub extern "C" fn fz_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns the version of the binary interface of the library. If the dynamic loader
/// selected the library by its SONAME, this version equals FZ_ABI_VERSION. After dlopen(), compare
/// this version with FZ_ABI_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn fz_abi_version() -> u32 {
    FZ_ABI_VERSION
}

/// Returns the version, target, and backends of the library, for logs and reports. Static text, not
/// meant to be parsed.
#[unsafe(no_mangle)]
pub extern "C" fn fz_build_info() -> *const c_char {
    concat!("fzgm ", env!("CARGO_PKG_VERSION"), ", ", env!("FZGM_TARGET"), ", ", env!("FZGM_BACKENDS"), "\0")
        .as_ptr()
        .cast()
}

/// Returns a sentence that describes a status. Static text, never NULL, for any integer.
#[unsafe(no_mangle)]
pub extern "C" fn fz_strerror(status: i32) -> *const c_char {
    let known = Status::ALL.iter().position(|s| *s as i32 == status);
    known.map_or(c"unknown status".as_ptr(), |i| TEXTS[i].as_ptr().cast())
}

/// Returns the error text of the last function that failed in the calling thread. The text names
/// the argument, stage, or port, its value, and the accepted values.
///
/// Never NULL; "" if no function has failed in this thread. Successful functions do not change the
/// text. The pointer is valid until the next failure in the thread, or until the thread ends. A
/// text has at most 4095 bytes; longer texts are truncated and end with "…".
///
/// A failure in an fz_result has no error text; fz_strerror() describes its status.
#[unsafe(no_mangle)]
pub extern "C" fn fz_last_error() -> *const c_char {
    ffi_guard::last_error()
}
