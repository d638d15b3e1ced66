//! Pipelines as TOML and as chains of text.
//!
//! Section of the header: Pipelines as text.

use std::ffi::c_char;

use super::ffi_guard::{FfiResult, ffi_guard};
use super::handle::{Out, handle, out, region, text};
use super::pipeline::fz_pipeline;
use crate::{Error, Pipeline, Result};

/// Creates a pipeline from TOML text. The schema is that of FZGPUModules; docs/pipelines.md of the
/// sources describes it. fz_pipeline_to_toml() writes any pipeline in this form. Example:
///
/// ```toml
/// [[stage]]
/// name = "q"
/// type = "Quantizer"
/// mode = "abs"
/// error_bound = 1e-3
///
/// [[stage]]
/// name = "d"
/// type = "Difference"
/// inputs = [{ from = "q", port = "codes" }]
/// ```
///
/// The order of the stages in the text does not connect the stages. The first stage has index 0; see
/// fz_pipeline_add_stage(). An omitted port is "output". Omitted parameters have the defaults of
/// the schema. The following defaults differ from those of stages: `mode` of stage quantizer is "rel",
/// and `zigzag_codes` of stage lorenzo_quant is false.
///
/// Parameters:
///   `toml`      In: the TOML text.
///   `pipeline`  Out: the pipeline.
///
/// Returns:
///   FZ_INVALID_PIPELINE  Invalid TOML, no stages, or an invalid description of a stage or input.
///   FZ_UNKNOWN_NAME      Unknown key, stage, or port; the error text contains the nearest valid
///                        name.
///   FZ_INVALID_ARGUMENT  Invalid value.
///   FZ_UNSUPPORTED       Supported by the reference implementation, but not by this version.
///
/// Error texts contain the line of the defect. Exception: if the TOML text has no stages, the error
/// text contains no line.
///
/// The function does not check the graph. fz_pipeline_finalize() detects all other defects, such as
/// cycles and missing inputs. Error texts of fz_pipeline_finalize() contain no line. If the `name` of a
/// stage in the TOML text differs from the type of the stage, these error texts contain the index and
/// the `name` of the stage.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_from_toml(toml: *const c_char, pipeline: *mut *mut fz_pipeline) -> i32 {
    // SAFETY: the caller's promise.
    ffi_guard(|| unsafe { read(toml, "toml", pipeline, Pipeline::from_toml) })
}

/// Creates a pipeline from a chain of stages, such as "lorenzo_quant(eb=1e-3,mode=noa) >
/// bitshuffle(width=2) > rze".
///
/// Parameters:
///   `chain`     In: the chain.
///   `pipeline`  Out: the pipeline.
///
/// A stage reads the first output port of the preceding stage. To read another port, append its
/// name, as in "quantizer.outlier_idxs > rze". Omitted parameters have their defaults. Parameters
/// have these short names: "eb" (error_bound), "radius" (quant_radius), "zigzag" (zigzag_codes),
/// "inplace" (inplace_outliers), "capacity" (outlier_capacity), "threshold" (outlier_threshold),
/// "width" (element_width), "block" (block_size), "chunk" (chunk_size), and "word" (word_size).
///
/// Returns the statuses of fz_pipeline_from_toml(). Error texts contain the column.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_from_text(chain: *const c_char, pipeline: *mut *mut fz_pipeline) -> i32 {
    // SAFETY: the caller's promise.
    ffi_guard(|| unsafe { read(chain, "chain", pipeline, Pipeline::from_text) })
}

/// Writes a pipeline as TOML. fz_pipeline_from_toml() creates the same pipeline from it.
///
/// Parameters:
///   `toml`                 Out: the text with its terminating zero. If the capacity is 0, `toml`
///                          may be NULL: the function writes `*toml_bytes` and returns FZ_OK.
///   `toml_capacity_bytes`  In: capacity of `toml` in bytes, including the zero. Nothing is written
///                          beyond it.
///   `toml_bytes`           Out: length of the text in bytes, including the zero.
///
/// Returns:
///   FZ_DST_TOO_SMALL     `toml_capacity_bytes` is too small.
///   FZ_INVALID_PIPELINE  The pipeline has no stages.
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

/// Writes a pipeline as a chain. fz_pipeline_from_text() creates the same pipeline from it. The
/// parameters have the meaning of those of fz_pipeline_to_toml().
///
/// Returns:
///   FZ_DST_TOO_SMALL     `chain_capacity_bytes` is too small.
///   FZ_INVALID_PIPELINE  The pipeline is not a chain, or it sets a generation or strict = false,
///                        which only TOML can express.
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
/// As for [`handle`] and [`out`]; `dst` must have room for `capacity` bytes.
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
        // SAFETY: `region` rejected a null pointer with a capacity above 0; the place has room for the text and its zero.
        unsafe {
            dst.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
            dst.add(text.len()).write(0);
        }
    }
    bytes.put(need);
    Ok(())
}
