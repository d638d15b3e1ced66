//! The HDF5 filter: any cd_values with any chunk, given as HDF5 gives them. The target consists of the sources of the plugin, which as a
//! shared library alone could not be linked.
#![no_main]
#![allow(dead_code)]

#[path = "../../hdf5-filter/src/bins.rs"]
mod bins;
#[path = "../../hdf5-filter/src/block.rs"]
mod block;
#[path = "../../hdf5-filter/src/bound.rs"]
mod bound;
#[path = "../../hdf5-filter/src/caller.rs"]
mod caller;
#[path = "../../hdf5-filter/src/codec.rs"]
mod codec;
#[path = "../../hdf5-filter/src/element.rs"]
mod element;
#[path = "../../hdf5-filter/src/entry.rs"]
mod entry;
#[path = "../../hdf5-filter/src/filter.rs"]
mod filter;
#[path = "../../hdf5-filter/src/form.rs"]
mod form;
#[path = "../../hdf5-filter/src/hdf5.rs"]
mod hdf5;
#[path = "../../hdf5-filter/src/local.rs"]
mod local;
#[path = "../../hdf5-filter/src/presets.rs"]
mod presets;
#[path = "../../hdf5-filter/src/sys.rs"]
mod sys;
#[path = "../../hdf5-filter/src/words.rs"]
mod words;

type Answer<T> = Result<T, String>;

use element::Element;
use fzgm::DType;
use libfuzzer_sys::fuzz_target;
use std::ffi::c_void;
use words::{Mode, Stored, User};

/// Chunks that a dataset might have; words for larger chunks are rejected because of their memory.
const ROOM: usize = 1 << 20;

/// Words that the plugin might have written, from a few bytes: else hardly any would be accepted.
fn stored(recipe: &[u8; 12]) -> Option<Stored> {
    let [mode, low, high, preset, dtype, flags, rank, x, y, z, threshold, _] = *recipe;
    let bound = 2f64.powi(i32::from(low) - 200) * (1.0 + f64::from(high) / 256.0);
    let bits = bound.to_bits();
    let user =
        User::read(&[u32::from(mode % 3), bits as u32, (bits >> 32) as u32, u32::from(preset % 10)]).ok()?;
    let element = match flags % 4 {
        0 => Element::opaque(1 + u32::from(dtype)),
        k => Element::number(DType::ALL[usize::from(dtype) % 10], k == 1),
    };
    let fill = (threshold != 0).then(|| f64::from(threshold) - 100.5);
    let resolved = bound::resolve(user, element, fill);
    let dims =
        [x, y, z, 1, 2].map(|d| 1 + u64::from(d)).into_iter().take(1 + usize::from(rank % 5)).collect();
    let bound::Resolved { bound, threshold, fill } = resolved;
    Some(Stored { user, element, bound, threshold, fill, dims })
}

/// Calls the filter as HDF5 does, with a block of `malloc`, which it exchanges. Returns the result of a
/// success.
fn run(flags: u32, cd: &[u32], chunk: &[u8]) -> Option<Vec<u8>> {
    let class = entry::H5PLget_plugin_info().cast::<sys::H5Z_class2_t>();
    // SAFETY: the pointer is that of a static.
    let filter = unsafe { (*class).filter }.expect("a filter");
    let mut size = chunk.len();
    // SAFETY: room of as many bytes as are copied into it, which one of the two frees.
    unsafe {
        let mut buffer = libc::malloc(size.max(1));
        buffer.cast::<u8>().copy_from_nonoverlapping(chunk.as_ptr(), size);
        let before: *mut c_void = buffer;
        let bytes = filter(flags, cd.len(), cd.as_ptr(), size, &mut size, &mut buffer);
        let done = (bytes > 0).then(|| std::slice::from_raw_parts(buffer.cast::<u8>(), bytes).to_vec());
        assert!(bytes > 0 || (buffer == before && size == chunk.len()), "a failure changes the chunk");
        libc::free(buffer);
        done
    }
}

fn floats(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    match dtype {
        DType::F32 => {
            bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into()).collect()
        }
        _ => bytes
            .chunks_exact(8)
            .map(|b| f64::from_bits(b.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))))
            .collect(),
    }
}

/// The restored values keep the bound of the user.
fn judge(stored: &Stored, chunk: &[u8], restored: &[u8]) {
    let (mut chunk, mut restored) = (chunk.to_vec(), restored.to_vec());
    assert_eq!(chunk.len(), restored.len());
    let dtype = stored.element.dtype;
    if stored.user.mode == Mode::Lossless || !dtype.is_float() || stored.element.opaque {
        assert!(chunk == restored, "a lossless chunk comes back otherwise");
        return;
    }
    if stored.element.swapped {
        stored.element.swap(&mut chunk);
        stored.element.swap(&mut restored);
    }
    for (x, y) in floats(dtype, &chunk).into_iter().zip(floats(dtype, &restored)) {
        let (most, error) = match stored.user.mode {
            Mode::Rel(bound) => (bound * x.abs(), (x - y).abs()),
            Mode::Abs(bound) => (bound, (x - y).abs()),
            Mode::Lossless => (0.0, (x - y).abs()),
        };
        // Twice the rounding of this comparison; exact judges are in the tests of the library.
        let kept = if x.is_finite() { error <= most * (1.0 + 1e-15) } else { x.to_bits() == y.to_bits() };
        assert!(kept || x.is_nan() && y.is_nan(), "{x} came back as {y}, beyond {:?}", stored.user);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&way, rest)) = data.split_first() else { return };
    let (mut cd, rest) = match (way & 1, rest.split_first_chunk::<12>()) {
        (0, Some((recipe, rest))) => (stored(recipe).map_or(vec![], |s| s.words()), rest),
        _ => {
            let (cd, rest) = rest.split_at(rest.len().min(4 * (usize::from(way) / 4 % 24)));
            (cd.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect(), rest)
        }
    };
    let _ = User::read(&cd);
    // One word of those that fit together becomes another.
    let (changed, rest) = match (way & 2, rest.split_first_chunk::<5>()) {
        (2, Some(([at, word @ ..], rest))) if !cd.is_empty() => {
            let at = usize::from(*at) % cd.len();
            cd[at] = u32::from_le_bytes(*word);
            (true, rest)
        }
        _ => (false, rest),
    };
    let read = Stored::read(&cd);
    if read.as_ref().is_ok_and(|s| s.chunk_bytes().is_ok_and(|bytes| bytes > ROOM)) {
        return;
    }
    if let Ok(stored) = &read {
        assert!(
            Stored::read(&stored.words()).as_ref() == Ok(stored),
            "words are read as others than they were written"
        );
    }
    // The bytes as a frame, and as a chunk of the right length.
    let restored = run(0x100, &cd, rest);
    let Ok(stored) = read else {
        assert!(restored.is_none(), "words are refused and taken");
        return;
    };
    let bytes = stored.chunk_bytes().expect("checked when it was read");
    assert!(restored.is_none_or(|r| r.len() == bytes));
    assert!(rest.len() == bytes || run(0, &cd, rest).is_none(), "a chunk of another length is taken");
    let chunk: Vec<u8> = rest.iter().copied().cycle().take(if rest.is_empty() { 0 } else { bytes }).collect();
    let frames = if form::applies(&stored) { form::frames(&stored) } else { stored.clone() };
    let Some(mut frame) = run(0, &cd, &chunk) else {
        assert!(changed || chunk.is_empty() || codec::Plan::new(&frames).is_err(), "a chunk is refused");
        return;
    };
    let restored = run(0x100, &cd, &frame).expect("what was written can be read");
    judge(&stored, &chunk, &restored);
    // And damaged: other bytes of the right length, or nothing.
    let at = usize::from(way) * 7 % frame.len();
    frame[at] ^= 1 << (way % 8);
    assert!(run(0x100, &cd, &frame).is_none_or(|r| r.len() == bytes));
});
