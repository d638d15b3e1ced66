//! Typed views of byte ranges that may be misaligned, as the caller's own array may be.

use bytemuck::Pod;

/// Bytes of a tile: the unit of work of every tiled kernel, on every backend.
pub(crate) const TILE: usize = 16384;

/// An aligned buffer of one tile.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Buffer(pub(crate) [u8; TILE]);

impl Buffer {
    pub(crate) const ZERO: Buffer = Buffer([0; TILE]);
}

/// `bytes` as whole elements (a ragged end is dropped): in place where aligned, else through `buffer`, which
/// is made only then. At most one tile.
pub(crate) fn load<'a, T: Pod>(bytes: &'a [u8], buffer: &'a mut Option<Buffer>) -> &'a [T] {
    let bytes = &bytes[..bytes.len() - bytes.len() % size_of::<T>()];
    match bytemuck::try_cast_slice(bytes) {
        Ok(view) => view,
        Err(_) => {
            let copy = &mut buffer.insert(Buffer::ZERO).0[..bytes.len()];
            copy.copy_from_slice(bytes);
            bytemuck::cast_slice(copy)
        }
    }
}

/// Lets `f` see `bytes` as whole elements, as [`load`] does. For kernels that are chained: the buffers of a chain are aligned, so that
/// of all its kernels only the one at an end of it may take the stack of a tile more.
pub(crate) fn loaded<T: Pod, R>(bytes: &[u8], f: impl FnOnce(&[T]) -> R) -> R {
    /// Apart, so that the buffer is not in the frame of everybody who is aligned.
    #[inline(never)]
    fn through<T: Pod, R>(bytes: &[u8], f: impl FnOnce(&[T]) -> R) -> R {
        let mut buffer = Buffer::ZERO;
        let copy = &mut buffer.0[..bytes.len()];
        copy.copy_from_slice(bytes);
        f(bytemuck::cast_slice(copy)) // seed: misaligned-tile
    }
    let bytes = &bytes[..bytes.len() - bytes.len() % size_of::<T>()];
    match bytemuck::try_cast_slice(bytes) {
        Ok(view) => f(view),
        Err(_) => through(bytes, f),
    }
}

/// Lets `f` fill `bytes` as whole elements: in place where aligned, else through a buffer. At most one
/// tile; `f` writes every element.
pub(crate) fn store<T: Pod>(bytes: &mut [u8], f: impl FnOnce(&mut [T])) {
    /// Apart, so that the buffer is not in the frame of everybody who is aligned.
    #[inline(never)]
    fn through<T: Pod>(bytes: &mut [u8], f: impl FnOnce(&mut [T])) {
        let mut buffer = Buffer::ZERO;
        let copy = &mut buffer.0[..bytes.len()];
        f(bytemuck::cast_slice_mut(copy));
        bytes.copy_from_slice(copy);
    }
    let whole = bytes.len() - bytes.len() % size_of::<T>();
    let bytes = &mut bytes[..whole];
    match bytemuck::try_cast_slice_mut(bytes) {
        Ok(view) => f(view),
        Err(_) => through(bytes, f),
    }
}

/// Element `i` of `bytes`, wherever it lies.
pub(crate) fn at<T: Pod>(bytes: &[u8], i: usize) -> Option<T> {
    let w = size_of::<T>();
    bytes.get(i.checked_mul(w)?..(i + 1).checked_mul(w)?).map(bytemuck::pod_read_unaligned)
}
