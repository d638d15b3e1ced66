//! C calls as a program makes them, in their order, on arrays that are small enough for Miri, which checks each access to memory:
//!
//! ```sh
//! MIRIFLAGS=-Zmiri-permissive-provenance cargo +nightly miri test -p fzgm --no-default-features --features capi --test border
//! ```
//!
//! That takes long. The addresses of callers are numbers in the library, since they may be of a device, hence the flag.

#![cfg(feature = "capi")]
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]

use fzgm::capi::*;
use std::ffi::{CStr, CString, c_void};
use std::ptr::{null, null_mut};

const OK: i32 = fz_status::FZ_OK as i32;

fn name(status: i32) -> String {
    let text = |p| unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned();
    format!("{}: {}", text(fz_strerror(status)), text(fz_last_error()))
}

macro_rules! ok {
    ($call:expr) => {{
        let status = unsafe { $call };
        assert_eq!(status, OK, "{}", name(status));
    }};
}

/// A function that makes a handle.
macro_rules! new {
    ($f:ident($($arg:expr),*)) => {{
        let mut made = null_mut();
        ok!($f($($arg,)* &raw mut made));
        made
    }};
}

const DIMS: [u64; 3] = [5, 4, 6];
const COUNT: usize = 5 * 4 * 6;

fn values() -> Vec<f64> {
    let mut x: Vec<f64> = (0..COUNT).map(|i| ((i * i) % 101) as f64 * 0.25 - 7.0).collect();
    x[17] = f64::NAN;
    x[40] = 1e20;
    x
}

fn array(dtype: i32) -> Vec<u8> {
    let bytes = |x: f64| {
        if dtype == fz_dtype::FZ_F32 as i32 {
            (x as f32).to_le_bytes().to_vec()
        } else {
            x.to_le_bytes().to_vec()
        }
    };
    values().into_iter().flat_map(bytes).collect()
}

/// A preset, written and read as TOML on the way.
fn pipeline(preset: &CStr, dtype: i32) -> *mut fz_pipeline {
    let first = new!(fz_pipeline_from_preset(preset.as_ptr(), dtype));
    if ![c"bits", c"exact"].contains(&preset) {
        ok!(fz_pipeline_set_string(first, FZ_EVERY_STAGE, c"mode".as_ptr(), c"abs".as_ptr()));
        ok!(fz_pipeline_set_double(first, FZ_EVERY_STAGE, c"error_bound".as_ptr(), 0.125));
    }
    let mut length = 0;
    ok!(fz_pipeline_to_toml(first, null_mut(), 0, &raw mut length));
    let mut toml = vec![0u8; length as usize];
    ok!(fz_pipeline_to_toml(first, toml.as_mut_ptr().cast(), length, &raw mut length));
    let toml = CString::from_vec_with_nul(toml).unwrap();
    let second = new!(fz_pipeline_from_toml(toml.as_ptr()));
    unsafe { fz_pipeline_free(first) };
    second
}

/// One round trip, in a workspace of the library's and in one of the caller's that begins at an odd address.
fn round_trip(preset: &CStr, dtype: i32, threads: u32) -> Vec<u8> {
    let x = array(dtype);
    let len = x.len() as u64;
    let mut options =
        fz_options { struct_bytes: size_of::<fz_options>() as u32, ..unsafe { std::mem::zeroed() } };
    ok!(fz_options_init(&raw mut options));
    options.threads = threads;
    let pipeline = pipeline(preset, dtype);
    let plan = new!(fz_pipeline_finalize(pipeline, dtype, DIMS.as_ptr(), 3, &raw const options));
    unsafe { fz_pipeline_free(pipeline) };
    let (mut capacity, mut room, mut bytes, mut restored) = (0, 0, 0, 0);
    ok!(fz_max_compressed_bytes(plan, &raw mut capacity));
    ok!(fz_workspace_bytes(plan, &raw mut room));
    let mut buffer = vec![0x5au8; room as usize + 1];
    let mut containers = vec![];
    for space in [
        new!(fz_workspace_new(plan)),
        new!(fz_workspace_from_buffer(plan, buffer[1..].as_mut_ptr().cast(), room)),
    ] {
        let mut container = vec![0u8; capacity as usize];
        let dst: *mut c_void = container.as_mut_ptr().cast();
        ok!(fz_compress(plan, space, x.as_ptr().cast(), len, dst, capacity, &raw mut bytes));
        // One byte short: refused, and the workspace serves on.
        let short =
            unsafe { fz_compress(plan, space, x.as_ptr().cast(), len, dst, bytes - 1, &raw mut restored) };
        assert_eq!(short, fz_status::FZ_DST_TOO_SMALL as i32, "{}", name(short));
        ok!(fz_compress(plan, space, x.as_ptr().cast(), len, dst, capacity, &raw mut bytes));
        unsafe { fz_workspace_free(space) };
        container.truncate(bytes as usize);
        containers.push(container);
    }
    assert!(containers[0] == containers[1]);
    let container = containers.remove(0);
    let src: *const c_void = container.as_ptr().cast();
    let opened = new!(fz_plan_open(src, bytes, &raw const options));
    for decoder in [new!(fz_plan_decoder(plan)), opened] {
        let space = new!(fz_workspace_new(decoder));
        let mut y = vec![0u8; x.len() + 1];
        ok!(fz_decompress(decoder, space, src, bytes, y[1..].as_mut_ptr().cast(), len, &raw mut restored));
        assert_eq!(restored, len);
        judge(&x, &y[1..], dtype);
        unsafe {
            fz_workspace_free(space);
            fz_plan_free(decoder);
        }
    }
    unsafe { fz_plan_free(plan) };
    container
}

fn judge(x: &[u8], y: &[u8], dtype: i32) {
    let value = |b: &[u8]| match b.len() {
        4 => f64::from(f32::from_le_bytes(b.try_into().unwrap())),
        _ => f64::from_le_bytes(b.try_into().unwrap()),
    };
    let width = if dtype == fz_dtype::FZ_F32 as i32 { 4 } else { 8 };
    for (a, b) in x.chunks(width).zip(y.chunks(width)) {
        assert!(a == b || (value(a) - value(b)).abs() <= 0.125, "{} came back as {}", value(a), value(b));
    }
}

fn presets() -> Vec<CString> {
    let mut count = 0;
    ok!(fz_preset_count(&raw mut count));
    let one = |i| {
        let mut info: fz_preset = unsafe { std::mem::zeroed() };
        info.struct_bytes = size_of::<fz_preset>() as u32;
        ok!(fz_preset_info(i, &raw mut info));
        unsafe { CStr::from_ptr(info.name.as_ptr()) }.to_owned()
    };
    (0..count).map(one).collect()
}

#[test]
fn every_preset_from_c() {
    for (i, preset) in presets().iter().enumerate() {
        for (j, dtype) in [fz_dtype::FZ_F32, fz_dtype::FZ_F64].into_iter().enumerate() {
            // Miri takes a minute for each: one type of a preset is enough there.
            if !cfg!(miri) || i % 2 == j {
                round_trip(preset, dtype as i32, 1);
                println!("{}", preset.to_string_lossy());
            }
        }
    }
}

#[test]
fn threads_from_c() {
    let one = round_trip(c"cusz", fz_dtype::FZ_F32 as i32, 1);
    assert!(round_trip(c"cusz", fz_dtype::FZ_F32 as i32, 2) == one);
}

#[test]
fn containers_and_regions_from_c() {
    let dtype = fz_dtype::FZ_F32 as i32;
    let container = round_trip(c"fast", dtype, 1);
    let (src, bytes) = (container.as_ptr().cast(), container.len() as u64);
    let mut info: fz_info = unsafe { std::mem::zeroed() };
    info.struct_bytes = size_of::<fz_info>() as u32;
    ok!(fz_container_info(src, bytes, &raw mut info));
    assert_eq!((info.dims, info.container_bytes, info.dtype), (DIMS, bytes, dtype));
    let (mut have, mut steps) = (0, 0);
    loop {
        let mut needed = 0;
        let status = unsafe { fz_container_info_partial(src, have, &raw mut info, &raw mut needed) };
        if status == OK {
            break;
        }
        assert_eq!(status, fz_status::FZ_TRUNCATED as i32, "{}", name(status));
        assert!(have < needed && needed <= bytes && steps < 20);
        (have, steps) = (needed, steps + 1);
    }
    let (origin, extent, mut restored) = ([1u64, 2, 1], [4u64, 2, 5], 0);
    let mut part = vec![0u8; 4 * 2 * 5 * 4];
    ok!(fz_decompress_region(
        src,
        bytes,
        origin.as_ptr(),
        extent.as_ptr(),
        3,
        part.as_mut_ptr().cast(),
        160,
        &raw mut restored
    ));
    assert_eq!(restored, 160);
    let pipeline = new!(fz_pipeline_from_container(src, bytes));
    unsafe { fz_pipeline_free(pipeline) };
    // Cut anywhere and changed anywhere, it is refused or restored, and read no further than it is long.
    for (i, cut) in (0..container.len()).step_by(if cfg!(miri) { 101 } else { 7 }).enumerate() {
        let mut damaged = container[..cut].to_vec();
        let mut y = vec![0u8; COUNT * 4];
        let mut decompress = |c: &[u8], y: &mut Vec<u8>| unsafe {
            fz_decompress(
                null(),
                null_mut(),
                c.as_ptr().cast(),
                c.len() as u64,
                y.as_mut_ptr().cast(),
                y.len() as u64,
                &raw mut restored,
            )
        };
        assert_ne!(decompress(&damaged, &mut y), OK);
        damaged.extend_from_slice(&container[cut..]);
        damaged[cut] ^= 1 << (i % 8);
        decompress(&damaged, &mut y);
    }
}
