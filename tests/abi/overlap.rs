//! Memory that a call reads or writes twice is refused: the buffer of a workspace, and places for results in the caller's arrays.

use crate::fixture::{UNTOUCHED, last_error, ok, pipeline, wish};
use fzgm::capi::*;
use std::ptr;

const REFUSED: i32 = fz_status::FZ_INVALID_ARGUMENT as i32;
const COUNT: usize = 5000;
const BYTES: u64 = 4 * COUNT as u64;

/// A plan and its decoder, each with a workspace in `buffer`.
struct Lent {
    encoder: *mut fz_plan,
    decoder: *mut fz_plan,
    spaces: [*mut fz_workspace; 2],
    /// Memory of the workspaces, followed by memory of the caller.
    memory: Vec<u64>,
    /// Bytes of each workspace.
    lent: u64,
}

impl Lent {
    fn new() -> Lent {
        let (mut encoder, mut decoder) = (ptr::null_mut(), ptr::null_mut());
        let mut spaces = [ptr::null_mut(); 2];
        let (mut lent, mut other) = (0, 0);
        let from = pipeline();
        let dims = [COUNT as u64];
        unsafe {
            ok(fz_pipeline_finalize(from, 8, dims.as_ptr(), 1, ptr::null(), &mut encoder));
            ok(fz_plan_decoder(encoder, &mut decoder));
            fz_pipeline_free(from);
            ok(fz_workspace_bytes(encoder, &mut lent));
            ok(fz_workspace_bytes(decoder, &mut other));
        }
        lent = lent.max(other).next_multiple_of(8);
        let mut memory = vec![0u64; lent as usize / 8 + 4 * COUNT];
        unsafe {
            ok(fz_workspace_from_buffer(encoder, memory.as_mut_ptr().cast(), lent, &mut spaces[0]));
            ok(fz_workspace_from_buffer(decoder, memory.as_mut_ptr().cast(), lent, &mut spaces[1]));
        }
        Lent { encoder, decoder, spaces, memory, lent }
    }

    /// An address in or behind the buffer of the workspaces.
    fn at(&mut self, offset: u64) -> *mut u8 {
        self.memory.as_mut_ptr().cast::<u8>().wrapping_add(offset as usize)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        unsafe {
            self.spaces.iter().for_each(|&space| fz_workspace_free(space));
            fz_plan_free(self.decoder);
            fz_plan_free(self.encoder);
        }
    }
}

fn refused(status: i32, says: &str) {
    assert_eq!(status, REFUSED, "{says}");
    assert!(last_error().contains(says), "`{}` does not say `{says}`", last_error());
}

#[test]
fn the_buffer_of_a_workspace_is_no_memory_of_a_call() {
    let mut lent = Lent::new();
    let array: Vec<f32> = (0..COUNT).map(|i| (i as f32 * 0.01).sin()).collect();
    let (mut capacity, mut bytes) = (0, UNTOUCHED);
    ok(unsafe { fz_max_compressed_bytes(lent.encoder, &mut capacity) });
    let mut container = vec![0u8; capacity as usize];
    let mut restored = vec![0f32; COUNT];
    let (src, dst, out) = (array.as_ptr().cast(), container.as_mut_ptr(), restored.as_mut_ptr());
    let (encoder, decoder, [there, back], last) = (lent.encoder, lent.decoder, lent.spaces, lent.lent - 8);
    for inside in [lent.at(0), lent.at(64), lent.at(last)] {
        let place = inside.cast::<u64>();
        let compress =
            |src, dst, bytes| unsafe { fz_compress(encoder, there, src, BYTES, dst, capacity, bytes) };
        refused(compress(inside.cast(), dst.cast(), &mut bytes), "src overlaps the buffer of the workspace");
        refused(compress(src, inside.cast(), &mut bytes), "dst overlaps the buffer of the workspace");
        refused(compress(src, dst.cast(), place), "compressed_bytes overlaps the buffer of the workspace");
        let path = c"an overlap is refused before there is a file";
        let to_file =
            |src, bytes| unsafe { fz_compress_file(encoder, there, src, BYTES, path.as_ptr(), bytes) };
        refused(to_file(inside.cast(), &mut bytes), "src overlaps the buffer of the workspace");
        refused(to_file(src, place), "compressed_bytes overlaps the buffer of the workspace");
    }
    assert_eq!(bytes, UNTOUCHED);
    // Memory that ends where the buffer begins, or begins where it ends, is the caller's.
    let behind = lent.at(lent.lent).cast();
    ok(unsafe { fz_compress(encoder, there, src, BYTES, dst.cast(), capacity, behind) });
    let length = unsafe { behind.read() };
    for inside in [lent.at(0), lent.at(last)] {
        let restore = |container, dst, bytes| unsafe {
            fz_decompress(decoder, back, container, length, dst, BYTES, bytes)
        };
        refused(restore(inside.cast_const().cast(), out.cast(), &mut bytes), "container overlaps the buffer");
        refused(restore(dst.cast_const().cast(), inside.cast(), &mut bytes), "dst overlaps the buffer");
        refused(
            restore(dst.cast_const().cast(), out.cast(), inside.cast()),
            "restored_bytes overlaps the buffer",
        );
    }
    assert_eq!(bytes, UNTOUCHED);
    ok(unsafe { fz_decompress(decoder, back, dst.cast(), length, out.cast(), BYTES, &mut bytes) });
    assert!(bytes == BYTES && array.iter().zip(&restored).all(|(x, y)| (x - y).abs() <= 2.1e-3));
}

#[test]
fn results_do_not_lie_in_memory_that_a_call_reads() {
    let lent = Lent::new();
    let mut array: Vec<u64> = vec![0x3f80_0000_3f00_0000; COUNT / 2];
    let mut capacity = 0;
    ok(unsafe { fz_max_compressed_bytes(lent.encoder, &mut capacity) });
    let mut container = vec![0u64; capacity.div_ceil(8) as usize];
    let (before, place) = (array.clone(), array.as_mut_ptr());
    let dst = container.as_mut_ptr();
    let compress = |bytes| unsafe {
        fz_compress(
            lent.encoder,
            ptr::null_mut(),
            place.cast_const().cast(),
            BYTES,
            dst.cast(),
            capacity,
            bytes,
        )
    };
    refused(compress(place.wrapping_add(3)), "the result overlaps src");
    assert_eq!(array, before);
    let mut length = 0;
    ok(compress(&mut length));
    let restore = |bytes| unsafe {
        fz_decompress(
            ptr::null(),
            ptr::null_mut(),
            dst.cast_const().cast(),
            length,
            place.cast(),
            BYTES,
            bytes,
        )
    };
    let before = container.clone();
    refused(restore(dst.wrapping_add(1)), "the result overlaps container");
    let (mut origin, extent) = ([0u64], [3u64]);
    let numbers = origin.as_mut_ptr();
    let part = |bytes| unsafe {
        fz_decompress_region(
            dst.cast_const().cast(),
            length,
            numbers,
            extent.as_ptr(),
            1,
            place.cast(),
            BYTES,
            bytes,
        )
    };
    refused(part(dst.wrapping_add(1)), "the result overlaps container");
    refused(part(numbers), "origin or extent overlaps the result");
    assert_eq!((container, origin), (before, [0]));
}

#[test]
fn a_choice_does_not_lie_in_the_array_that_it_is_made_from() {
    // Values in 0.5..1 with noise in all their bits: a pipeline with a bound is smaller than one without loss.
    let noise =
        |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & 0x007f_ffff_007f_ffff | 0x3f00_0000_3f00_0000;
    let mut array: Vec<u64> = (0..COUNT as u64 / 2).map(noise).collect();
    let size = size_of::<fz_choice>();
    // A place for the choice that begins in the array, and is complete behind it.
    let (inside, end) = (array.len() - 1, array.len());
    array.resize(end + size / 8, 0);
    for start in [0, inside, end] {
        array[start] = size as u64;
    }
    let (before, wish, dims) = (array.clone(), wish(), [COUNT as u64]);
    let at = array.as_mut_ptr();
    let mut made = ptr::without_provenance_mut(UNTOUCHED as usize);
    let mut found: fz_choice = unsafe { std::mem::zeroed() };
    found.struct_bytes = size as u32;
    let choose = |pipeline, choice| unsafe {
        fz_pipeline_choose(&wish, 8, dims.as_ptr(), 1, at.cast_const().cast(), BYTES, pipeline, choice)
    };
    for start in [0, inside] {
        refused(choose(at.wrapping_add(start).cast(), &mut found), "the result overlaps src");
        refused(choose(&mut made, at.wrapping_add(start).cast()), "the result overlaps src");
    }
    assert_eq!((made.addr() as u64, &array), (UNTOUCHED, &before));
    ok(choose(&mut made, at.wrapping_add(end).cast()));
    assert!(array[..end] == before[..end] && array[end + 1] == 1e-3f64.to_bits());
    unsafe { fz_pipeline_free(made) };
}

/// The scratch memory of asynchronous calls for views, which no GPU is needed to refuse.
#[test]
fn scratch_memory_is_no_other_memory_of_a_call() {
    let lent = Lent::new();
    let mut grid = vec![0f32; COUNT + 100];
    let (mut scratch, mut container) = (vec![0f32; COUNT], vec![0f32; COUNT]);
    let mut results = [unsafe { std::mem::zeroed::<fz_result>() }; 2];
    let view = fz_view {
        struct_bytes: size_of::<fz_view>() as u32,
        dtype: 8,
        ndim: 1,
        reserved: 0,
        origin: grid.as_mut_ptr().wrapping_add(50).cast(),
        dims: [COUNT as u64, 0, 0, 0, 0, 0, 0, 0],
        strides: [1, 0, 0, 0, 0, 0, 0, 0],
    };
    let inside = grid.as_mut_ptr().wrapping_add(49).cast();
    let (scratch, container, result) =
        (scratch.as_mut_ptr().cast(), container.as_mut_ptr().cast(), results.as_mut_ptr());
    let [there, back] = lent.spaces;
    let stream = ptr::null_mut();
    let both = |scratch: *mut std::ffi::c_void, container: *mut std::ffi::c_void, result, says: [&str; 2]| {
        let encode = unsafe {
            fz_compress_view_async(
                lent.encoder,
                there,
                &view,
                scratch,
                BYTES,
                container,
                BYTES,
                result,
                stream,
            )
        };
        refused(encode, says[0]);
        let decode = unsafe {
            fz_decompress_view_async(
                lent.decoder,
                back,
                container,
                BYTES,
                &view,
                scratch,
                BYTES,
                result,
                stream,
            )
        };
        refused(decode, says[1]);
    };
    both(inside, container, result, ["src and scratch overlap", "dst and scratch overlap"]);
    both(scratch, inside, result, ["src and dst overlap", "dst and container overlap"]);
    both(scratch, scratch, result, ["scratch and dst overlap", "scratch and container overlap"]);
    both(scratch, container, inside.wrapping_add(4).cast(), ["overlaps src", "overlaps dst"]);
    both(scratch, container, scratch.wrapping_add(8).cast(), ["overlaps scratch"; 2]);
    both(scratch, container, container.cast(), ["overlaps dst", "overlaps container"]);
    let short = unsafe {
        fz_compress_view_async(
            lent.encoder,
            there,
            &view,
            scratch,
            BYTES - 1,
            container,
            BYTES,
            result,
            stream,
        )
    };
    // Without a GPU the length of the scratch memory is checked too.
    refused(short, "the length of scratch");
}
