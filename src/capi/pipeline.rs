//! Pipelines: the stages and parameters of a compression, as plain data.
//!
//! Section of the header: Pipelines.

use std::ffi::c_char;

use super::ffi_guard::{FfiResult, expect_memory, ffi_guard, ffi_guard_drop};
use super::handle::{exclusive, out, release, text};
use super::handle_registry::Handle;
use super::status::FZ_EVERY_STAGE;
use crate::{Args, DType, Pipeline, Result, preset};

/// Stages, their parameters, and their connections, for arrays of any shape. Create a pipeline with
/// fz_pipeline_new() or another function that returns a pipeline; free it with fz_pipeline_free().
/// Two threads must not use a pipeline at the same time.
pub struct fz_pipeline(pub(super) Pipeline);

impl Handle for fz_pipeline {
    const NAME: &'static str = "fz_pipeline";
}

/// Creates a pipeline without stages.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_new(pipeline: *mut *mut fz_pipeline) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let pipeline = unsafe { out(pipeline, "pipeline") }?;
        pipeline.give(fz_pipeline(Pipeline::new()))
    })
}

/// Creates the pipeline of a preset. You may then change its parameters, most often "mode" and
/// "error_bound"; see fz_pipeline_set_double().
///
/// Parameters:
///   `name`      In: name of a preset, see below.
///   `dtype`     In: element type of the arrays, an fz_dtype. Pass the same type to
///               fz_pipeline_finalize(), because a preset may depend on it.
///   `pipeline`  Out: the pipeline.
///
///  "fast"  one stage, highest speed; fz_decompress_region() reads only the region
///  "high"  one stage, highest ratio; fz_decompress_preview() reads only the first bytes
///  "pfpl"  the preset for mode "rel": quantizer, difference, bitshuffle, rze
///  "bits"  lossless, for every element type: difference, bitshuffle, rze
///  "exact" lossless, for every element type, one stage, higher ratio than "bits"
///
/// "fz", "cusz", "cusz_ans", and "lc_cr" combine lorenzo_quant with published coders. "lc_speed",
/// "lc_ratio", "lc_tp", "cusz_hi_tp", and "cusz_hi_cr" exist for comparisons. All presets except
/// "bits" and "exact" accept FZ_F32 and FZ_F64 and the modes "abs", "noa", and "prel". Their
/// defaults are mode "noa" and error bound 1e-3.
///
/// Returns:
///   FZ_UNKNOWN_NAME  No such preset; the error text lists the presets.
///   FZ_UNSUPPORTED   The preset does not support `dtype`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_from_preset(
    name: *const c_char,
    dtype: i32,
    pipeline: *mut *mut fz_pipeline,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (name, pipeline) = unsafe { (text(name, "name")?, out(pipeline, "pipeline")?) };
        pipeline.give(fz_pipeline(preset(name, DType::from_number(dtype.into())?)?))
    })
}

/// Frees a pipeline. NULL is permitted. Plans created from the pipeline remain valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_free(pipeline: *mut fz_pipeline) {
    // SAFETY: the caller's promise.
    ffi_guard_drop(|| unsafe { release(pipeline, "pipeline") });
}

/// Adds a stage with default parameters. A stage without a connected input reads the array. The
/// container stores each output that no stage reads.
///
/// Containers record the order of the stages. If two pipelines differ only in the order in which their
/// stages were added, their containers may differ. The restored values are equal.
///
/// Presets set some parameters to other values than the defaults. To print the parameters of a
/// preset, call fz_pipeline_from_preset(), then fz_pipeline_to_text().
///
/// Parameters:
///   `stage_name`  In: name of the stage; fz_stage_info() returns all names.
///   `stage`       Out: index of the stage, 0 for the first. May be NULL.
///
/// Returns:
///   FZ_UNKNOWN_NAME      No such stage; the error text lists the stages.
///   FZ_INVALID_PIPELINE  The pipeline already has 32 stages.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_add_stage(
    pipeline: *mut fz_pipeline,
    stage_name: *const c_char,
    stage: *mut u32,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (pipeline, name) = unsafe { (exclusive(pipeline, "pipeline")?, text(stage_name, "stage_name")?) };
        let stage = match stage.is_null() {
            true => None,
            // SAFETY: the caller's promise.
            false => Some(unsafe { out(stage, "stage") }?),
        };
        let index = edit(&mut pipeline.0, |pipeline| pipeline.add(name))?;
        if let Some(stage) = stage {
            stage.put(index as u32);
        }
        Ok(())
    })
}

/// Connects output port `port` of stage `producer` to the next unconnected input of stage
/// `consumer`.
///
/// An output may be connected to several stages. fz_pipeline_stage_port() returns the names of
/// ports. The first output port is "codes" for the stages quantizer, lorenzo_quant, and ginterp, and
/// "output" for most others. fz_pipeline_finalize() checks that the connections have no cycle.
///
/// Stage merge has one input for each name in its parameter "segments". Set "segments" before you
/// connect the inputs. The first connection feeds the input of the first name.
///
/// Returns:
///   FZ_UNKNOWN_NAME      The producer has no such port. The error text lists the ports of the
///                        producer, which may depend on its parameters.
///   FZ_INVALID_ARGUMENT  No stage has this index.
///   FZ_INVALID_PIPELINE  All inputs of the consumer are connected.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_connect(
    pipeline: *mut fz_pipeline,
    producer: u32,
    port: *const c_char,
    consumer: u32,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (pipeline, port) = unsafe { (exclusive(pipeline, "pipeline")?, text(port, "port")?) };
        edit(&mut pipeline.0, |pipeline| pipeline.connect(producer as usize, port, consumer as usize))
    })
}

/// Sets a parameter that is a real number, such as "error_bound".
///
/// Parameters:
///   `stage`      In: index of a stage, or FZ_EVERY_STAGE for every stage that has the parameter.
///   `parameter`  In: name of the parameter.
///   `value`      In: value of the parameter.
///
/// On failure no stage is changed.
///
/// Returns:
///   FZ_UNKNOWN_NAME      The stage has no such parameter; the error text lists its parameters.
///                        With FZ_EVERY_STAGE: no stage has the parameter.
///   FZ_INVALID_ARGUMENT  No stage has this index, or `value` is out of range or NaN.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_set_double(
    pipeline: *mut fz_pipeline,
    stage: u32,
    parameter: *const c_char,
    value: f64,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (pipeline, name) = unsafe { (exclusive(pipeline, "pipeline")?, text(parameter, "parameter")?) };
        set(&mut pipeline.0, stage, name, |args| args.set_real(name, value))
    })
}

/// Sets an integer (such as "word_size"), a flag (0 or 1), or a real number.
/// Rules and statuses are those of fz_pipeline_set_double().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_set_int(
    pipeline: *mut fz_pipeline,
    stage: u32,
    parameter: *const c_char,
    value: i64,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (pipeline, name) = unsafe { (exclusive(pipeline, "pipeline")?, text(parameter, "parameter")?) };
        set(&mut pipeline.0, stage, name, |args| args.set_int(name, value))
    })
}

/// Sets a parameter of any kind from text: a word ("noa" for "mode"), "true" or "false", or a
/// number in C notation. Rules and statuses are those of fz_pipeline_set_double().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_set_string(
    pipeline: *mut fz_pipeline,
    stage: u32,
    parameter: *const c_char,
    value: *const c_char,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (pipeline, name, value) = unsafe {
            (exclusive(pipeline, "pipeline")?, text(parameter, "parameter")?, text(value, "value")?)
        };
        set(&mut pipeline.0, stage, name, |args| args.set_text(name, value))
    })
}

/// Sets a parameter of one stage, or of every stage that supports it.
fn set(
    pipeline: &mut Pipeline,
    stage: u32,
    name: &str,
    set: impl Fn(&mut Args) -> Result<()>,
) -> FfiResult<()> {
    edit(pipeline, |pipeline| match stage {
        FZ_EVERY_STAGE => pipeline.set_everywhere(name, set),
        stage => set(pipeline.args_mut(stage as usize)?),
    })
}

/// Changes a pipeline completely or, on failure, not at all.
fn edit<T>(pipeline: &mut Pipeline, change: impl FnOnce(&mut Pipeline) -> Result<T>) -> FfiResult<T> {
    let mut changed = pipeline.clone();
    let done = change(&mut changed)?;
    expect_memory()?;
    *pipeline = changed;
    Ok(done)
}
