//! The device functions that this library was built with: `build.rs` compiles `kernels/*.cu` to one image for each file.
//! Empty in a build without nvcc.

/// As aligned as the driver wants an image.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);
type Image = Aligned<[u8]>;

include!(concat!(env!("OUT_DIR"), "/fatbins.rs"));

/// The backends of this build, for people.
pub const BACKENDS: &str = env!("FZGM_BACKENDS");

/// Images, each to be loaded once.
#[must_use]
pub fn images() -> usize {
    IMAGES.len()
}

/// Bytes of an image.
#[must_use]
pub fn image(index: usize) -> Option<&'static [u8]> {
    IMAGES.get(index).map(|image| &image.0)
}

/// The index of the image that has a device function.
#[must_use]
pub fn image_of(function: &str) -> Option<usize> {
    let place = FUNCTIONS.binary_search_by_key(&function, |(name, _)| name).ok()?;
    Some(FUNCTIONS[place].1)
}

/// Names of all device functions, in order.
pub fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}
