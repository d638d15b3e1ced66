//! Pipelines as TOML and as chains of text.

use std::ffi::c_char;

use super::ffi_guard::{FfiResult, ffi_guard};
use super::handle::{Out, handle, out, region, text};
use super::pipeline::fz_pipeline;
use crate::{Error, Pipeline, Result};

/// Makes a pipeline from TOML, the text of a file; docs/pipelines.md of the sources describes the schema, which is that of
/// FZGPUModules.
///
/// Errors, all with the line: FZ_INVALID_PIPELINE for what is no TOML or no pipeline; FZ_UNKNOWN_NAME for a key, stage or port,
/// with the nearest one that there is; FZ_INVALID_ARGUMENT for a value; FZ_UNSUPPORTED for what the reference has and this
/// version has not.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_from_toml(toml: *const c_char, pipeline: *mut *mut fz_pipeline) -> i32 {
    // SAFETY: the caller's promise.
    ffi_guard(|| unsafe { read(toml, "toml", pipeline, Pipeline::from_toml) })
}

/// Makes a pipeline from a chain of stages, such as "lorenzo_quant(eb=1e-3,mode=noa) > bitshuffle(width=2) > rze".
///
/// A stage reads the first port of the one before it, or another one that is named: "quantizer.outlier_idxs > rze". Parameters
/// that are left out have their defaults. "eb", "radius", "zigzag", "inplace", "capacity", "threshold", "width", "block",
/// "chunk" and "word" are short for the parameters that have these words in their names, "eb" for "error_bound".
///
/// Errors: as fz_pipeline_from_toml(), with the column.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_from_text(chain: *const c_char, pipeline: *mut *mut fz_pipeline) -> i32 {
    // SAFETY: the caller's promise.
    ffi_guard(|| unsafe { read(chain, "chain", pipeline, Pipeline::from_text) })
}

/// Writes a pipeline as TOML, from which fz_pipeline_from_toml() makes the same one.
///
/// `toml`                 receives the text with a zero at its end. NULL with a capacity of 0: only the length is wanted.
/// `toml_capacity_bytes`  room for the text and its zero. Nothing is written beyond.
/// `toml_bytes`           becomes the length of the text with its zero; untouched on failure.
///
/// Errors: FZ_DST_TOO_SMALL; FZ_INVALID_PIPELINE for a pipeline without stages.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_to_toml(
    pipeline: *const fz_pipeline,
    toml: *mut c_char,
    toml_capacity_bytes: u64,
    toml_bytes: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    ffi_guard(|| unsafe {
        write(pipeline, (toml, toml_capacity_bytes, "toml"), toml_bytes, Pipeline::to_toml)
    })
}

/// Writes a pipeline as a chain, from which fz_pipeline_from_text() makes the same one. Arguments as for fz_pipeline_to_toml().
///
/// Errors: FZ_DST_TOO_SMALL; FZ_INVALID_PIPELINE for a pipeline that is no chain, or asks for a generation or the arithmetic of
/// the reference, for which TOML has a form.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_to_text(
    pipeline: *const fz_pipeline,
    chain: *mut c_char,
    chain_capacity_bytes: u64,
    chain_bytes: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    ffi_guard(|| unsafe {
        write(pipeline, (chain, chain_capacity_bytes, "chain"), chain_bytes, Pipeline::to_text)
    })
}

/// # Safety
/// As for [`text`] and [`out`].
unsafe fn read(
    source: *const c_char,
    name: &str,
    pipeline: *mut *mut fz_pipeline,
    parse: fn(&str) -> Result<Pipeline>,
) -> FfiResult<()> {
    // SAFETY: the caller's promise, passed on.
    let (source, pipeline) = unsafe { (text(source, name)?, out(pipeline, "pipeline")?) };
    pipeline.give(fz_pipeline(parse(source)?))
}

/// # Safety
/// As for [`handle`] and [`out`]; the place for the text has the room that it says.
unsafe fn write(
    pipeline: *const fz_pipeline,
    (dst, capacity, name): (*mut c_char, u64, &'static str),
    bytes: *mut u64,
    print: fn(&Pipeline) -> Result<String>,
) -> FfiResult<()> {
    // SAFETY: the caller's promise, passed on.
    let (pipeline, bytes) = unsafe { (handle(pipeline, "pipeline")?, out(bytes, &format!("{name}_bytes"))?) };
    let bytes = bytes.apart_from(region(dst.cast_const().cast(), capacity, name)?, name)?;
    let text = print(&pipeline.0)?;
    // SAFETY: the caller's promise, passed on.
    unsafe { hand_over(&text, dst, capacity, bytes) }
}

/// Writes a text and its zero, and how long both are.
///
/// # Safety
/// `dst` has room for `capacity` bytes.
unsafe fn hand_over(text: &str, dst: *mut c_char, capacity: u64, bytes: Out<u64>) -> FfiResult<()> {
    let need = text.len() as u64 + 1;
    if capacity > 0 {
        if need > capacity {
            return Err(Error::DstTooSmall { need, have: capacity }.into());
        }
        // SAFETY: `region` saw that a pointer with a capacity is not null; it has room for the text and its zero.
        unsafe {
            dst.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
            dst.add(text.len()).write(0);
        }
    }
    bytes.put(need);
    Ok(())
}
