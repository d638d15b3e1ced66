//! Device code as it was compiled with the library.

/// A fat binary and the names of its functions.
pub(super) struct Image {
    pub(super) bytes: &'static [u8],
    pub(super) functions: &'static [&'static str],
}

/// `include_bytes!` gives no alignment; the driver wants some.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

include!(concat!(env!("OUT_DIR"), "/images.rs"));
