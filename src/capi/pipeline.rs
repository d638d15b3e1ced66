//! Pipelines: what is to be done, as plain data.

use std::ffi::c_char;

use super::ffi_guard::{FfiResult, expect_memory, ffi_guard, ffi_guard_drop};
use super::handle::{exclusive, out, release, text};
use super::handle_registry::Handle;
use super::status::FZ_EVERY_STAGE;
use crate::{Args, DType, Pipeline, Result, preset};

/// Stages, their parameters and their connections: plain data, tied to no array. Made by fz_pipeline_new() or
/// fz_pipeline_from_preset(), given back with fz_pipeline_free(). One thread at a time.
pub struct fz_pipeline(pub(super) Pipeline);

impl Handle for fz_pipeline {
    const NAME: &'static str = "fz_pipeline";
}

/// Makes a pipeline without stages.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_new(pipeline: *mut *mut fz_pipeline) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let pipeline = unsafe { out(pipeline, "pipeline") }?;
        pipeline.give(fz_pipeline(Pipeline::new()))
    })
}

/// Makes one of the pipelines that come with the library, for arrays of type `dtype` (an fz_dtype). Its parameters can be
/// changed afterwards, most often "mode" and "error_bound"; see fz_pipeline_set_double().
///
/// "fast"  for speed, and for regions: one stage, the least time, a good ratio.
/// "high"  for the highest ratio, and for previews: one stage, more time.
/// "pfpl"  for mode "rel", and for any floats: quantizer, difference, bitshuffle, rze.
/// "bits"  without loss, for any element type: difference, bitshuffle, rze.
///
/// "fz", "cusz", "cusz_ans", and "lc_cr" are pipelines of lorenzo_quant with published coders, and "lc_speed", "lc_ratio", "lc_tp", "cusz_hi_tp", and
/// "cusz_hi_cr" are for comparisons. All but "bits" are for floats and doubles and have mode "noa" and error bound 1e-3 until these are set; they
/// accept "abs" and "prel" too. A preset may depend on the element type: pass the same `dtype` to fz_pipeline_finalize().
///
/// Errors: FZ_UNKNOWN_NAME, with the list of presets; FZ_UNSUPPORTED when the preset is not for that type.
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

/// Frees a pipeline; NULL is allowed. Plans made from it live on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_free(pipeline: *mut fz_pipeline) {
    // SAFETY: the caller's promise.
    ffi_guard_drop(|| unsafe { release(pipeline, "pipeline") });
}

/// Adds a stage with default parameters. `*stage` becomes its index, 0 for the first; `stage` may be NULL.
///
/// A stage reads the array to be compressed until it is connected. What no stage reads goes into the container.
///
/// Errors: FZ_UNKNOWN_NAME, with the list of stages; FZ_INVALID_PIPELINE for the 33rd stage.
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

/// Connects the output `port` of stage `producer` to stage `consumer`. A stage with several inputs takes them in the order
/// of the calls; an output may feed several stages. That there is no circle is checked by fz_pipeline_finalize().
///
/// Errors: FZ_UNKNOWN_NAME, with the ports of the producer, which may depend on its parameters; FZ_INVALID_ARGUMENT for an
/// index that is no stage; FZ_INVALID_PIPELINE for an input too many.
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
/// `stage` is an index from fz_pipeline_add_stage(), or FZ_EVERY_STAGE for each stage that has the parameter.
///
/// Errors: FZ_UNKNOWN_NAME, with the parameters of the stage, or when no stage has it; FZ_INVALID_ARGUMENT for an index that
/// is no stage and for a value outside of the range, NaN included. On failure no stage is changed.
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

/// Sets a parameter that is a whole number, such as "word_size", or a flag (0 or 1). Real parameters take it too.
/// Otherwise as fz_pipeline_set_double().
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

/// Sets any parameter from text: a word ("noa" for "mode"), "true" or "false", or a number as C writes it.
/// Otherwise as fz_pipeline_set_double().
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

/// Sets a parameter of one stage, or of each that has it.
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
