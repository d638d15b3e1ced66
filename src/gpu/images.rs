//! The device functions that this library was built with: `build.rs` compiles `kernels/*.cu` to one image for each file.
//! Empty in a build without nvcc.

/// As aligned as the driver wants an image.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);
type Image = Aligned<[u8]>;

include!(concat!(env!("OUT_DIR"), "/fatbins.rs"));

/// True if there is any image.
pub(super) fn exist() -> bool {
    !IMAGES.is_empty()
}

/// Bytes of an image; none for an index that there is not.
pub(super) fn image(index: usize) -> &'static [u8] {
    IMAGES.get(index).map_or(&[], |image| &image.0)
}

/// The index of the image that has a device function.
pub(super) fn image_of(function: &str) -> Option<usize> {
    let place = FUNCTIONS.binary_search_by_key(&function, |(name, _)| name).ok()?;
    Some(FUNCTIONS[place].1)
}

/// The name of a device function, if there is one.
pub(super) fn name_of(function: &str) -> Option<&'static str> {
    let place = FUNCTIONS.binary_search_by_key(&function, |(name, _)| name).ok()?;
    Some(FUNCTIONS[place].0)
}

/// Names of all device functions, in order.
pub(super) fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}
