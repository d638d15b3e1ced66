//! Lists of stages with their ports and parameters, and of presets, in the library and in a pipeline.
//!
//! Section of the header: Stages, parameters, and presets.

use std::ffi::c_char;

use super::ffi_guard::{FfiError, FfiResult, ffi_guard};
use super::handle::{Out, handle, out, place_for};
use super::pipeline::fz_pipeline;
use super::status::{FZ_NO_STAGE, fz_parameter_kind, fz_port_direction};
use crate::stages::STAGES;
use crate::{Args, Kind, Node, Param, Preset, Setting, Source, Stage};

/// Description of a stage of the library or of a pipeline.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_stage {
    /// Set to sizeof(fz_stage) before the call; any other value is rejected.
    pub struct_bytes: u32,
    /// Number that identifies the stage in containers.
    pub id: u32,
    /// Number of input ports.
    pub inputs: u32,
    /// Number of output ports, which may depend on parameters. For a stage of the library: the number
    /// with default parameters.
    pub outputs: u32,
    /// Number of parameters.
    pub parameters: u32,
    /// Name.
    pub name: [c_char; 32],
    /// Description, one sentence.
    pub about: [c_char; 188],
}

/// Description of a port of a stage.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_port {
    /// Set to sizeof(fz_port) before the call; any other value is rejected.
    pub struct_bytes: u32,
    /// For an input port of a stage in a pipeline: index of the stage that the port reads, or
    /// FZ_NO_STAGE if the port reads the array. For all other ports: FZ_NO_STAGE.
    pub producer: u32,
    /// Index of the output port of `producer`; 0 if `producer` is FZ_NO_STAGE.
    pub producer_port: u32,
    /// Name.
    pub name: [c_char; 52],
}

/// Description of a parameter of a stage.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_parameter {
    /// Set to sizeof(fz_parameter) before the call; any other value is rejected.
    pub struct_bytes: u32,
    /// An fz_parameter_kind, which determines the function that sets the parameter.
    pub kind: i32,
    /// Smallest value of a number; 0 for a word.
    pub low: f64,
    /// Largest value of a number; index of the last choice for a word.
    pub high: f64,
    /// Default value; for a word, its index in the choices.
    pub default_value: f64,
    /// Value in the pipeline; for a stage of the library, the default. For a word, its index in the
    /// choices, or -1 for a word that is not among the choices. Plans reject such a word.
    pub value: f64,
    /// 1: the value must be greater than `low`. 0: `low` is permitted.
    pub low_excluded: u32,
    /// Number of permitted values of a word, and of some integers. 0: every value from `low` to
    /// `high` is permitted.
    pub choices: u32,
    /// Name.
    pub name: [c_char; 32],
    /// Default, as text for fz_pipeline_set_string().
    pub default_text: [c_char; 32],
    /// Value, as text for fz_pipeline_set_string().
    pub value_text: [c_char; 32],
    /// Permitted values, separated by spaces; "" if `choices` is 0.
    pub choices_text: [c_char; 96],
    /// Unit; "" if dimensionless.
    pub unit: [c_char; 160],
    /// Permitted values, in words.
    pub range: [c_char; 96],
    /// Description, one or two sentences.
    pub about: [c_char; 192],
}

/// Description of a preset.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_preset {
    /// Set to sizeof(fz_preset) before the call; any other value is rejected.
    pub struct_bytes: u32,
    /// 1: the preset is lossless and has no error bound.
    pub lossless: u32,
    /// Name.
    pub name: [c_char; 32],
    /// Description, one sentence.
    pub about: [c_char; 216],
}

/// Returns the number of stages of the library in `*count`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_stage_count(count: *mut u32) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let count = unsafe { out(count, "count") }?;
        count.put(STAGES.len() as u32);
        Ok(())
    })
}

/// Describes stage `index` of the library, from 0, in `*stage`. Set stage->struct_bytes before the
/// call.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  No stage has this index, or struct_bytes is wrong.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_stage_info(index: u32, stage: *mut fz_stage) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise; the first field is the length.
        let place = unsafe { place_for(stage, "stage", "fz_stage") }?;
        let (stage, args) = in_library(index)?;
        stage_info(stage, &args, place)
    })
}

/// Describes a port of a stage of the library.
///
/// Parameters:
///   `index`      In: index of the stage, from 0.
///   `direction`  In: an fz_port_direction.
///   `port`       In: index of the port in its direction, from 0.
///   `info`       In/out: the description; set info->struct_bytes before the call.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  No such stage or port, or struct_bytes is wrong.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_stage_port(index: u32, direction: i32, port: u32, info: *mut fz_port) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise; the first field is the length.
        let place = unsafe { place_for(info, "info", "fz_port") }?;
        let (stage, args) = in_library(index)?;
        port_info(stage, &args, None, (direction, port), place)
    })
}

/// Describes a parameter of a stage of the library.
///
/// Parameters:
///   `index`      In: index of the stage, from 0.
///   `parameter`  In: index of the parameter, from 0.
///   `info`       In/out: the description; set info->struct_bytes before the call.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  No such stage or parameter, or struct_bytes is wrong.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_stage_parameter(index: u32, parameter: u32, info: *mut fz_parameter) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise; the first field is the length.
        let place = unsafe { place_for(info, "info", "fz_parameter") }?;
        parameter_info(&in_library(index)?.1, parameter, place)
    })
}

/// Returns the number of listed presets in `*count`. The presets for comparisons are not listed;
/// see fz_pipeline_from_preset().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_preset_count(count: *mut u32) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let count = unsafe { out(count, "count") }?;
        count.put(Preset::listed().count() as u32);
        Ok(())
    })
}

/// Describes preset `index` of the listed presets, from 0, in `*preset`. Set preset->struct_bytes
/// before the call.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  No preset has this index, or struct_bytes is wrong.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_preset_info(index: u32, preset: *mut fz_preset) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise; the first field is the length.
        let place = unsafe { place_for(preset, "preset", "fz_preset") }?;
        let listed: Vec<&Preset> = Preset::listed().collect();
        let found = entry(&listed, index, "index", "presets")?;
        place.put(fz_preset {
            struct_bytes: size_of::<fz_preset>() as u32,
            lossless: found.lossless.into(),
            name: chars(found.name)?,
            about: chars(found.about)?,
        });
        Ok(())
    })
}

/// Returns the number of stages of a pipeline in `*count`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_stage_count(pipeline: *const fz_pipeline, count: *mut u32) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (pipeline, count) = unsafe { (handle(pipeline, "pipeline")?, out(count, "count")?) };
        count.put(pipeline.0.nodes().len() as u32);
        Ok(())
    })
}

/// Describes a stage of a pipeline. `stage` is the index in the pipeline. Otherwise the same as
/// fz_stage_info().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_stage_info(
    pipeline: *const fz_pipeline,
    stage: u32,
    info: *mut fz_stage,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise; the first field is the length.
        let (pipeline, place) =
            unsafe { (handle(pipeline, "pipeline")?, place_for(info, "info", "fz_stage")?) };
        let node = in_pipeline(pipeline, stage)?;
        stage_info(node.stage, &node.args, place)
    })
}

/// Describes a port of a stage of a pipeline, and the connection of an input port. Otherwise the
/// same as fz_stage_port().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_stage_port(
    pipeline: *const fz_pipeline,
    stage: u32,
    direction: i32,
    port: u32,
    info: *mut fz_port,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise; the first field is the length.
        let (pipeline, place) =
            unsafe { (handle(pipeline, "pipeline")?, place_for(info, "info", "fz_port")?) };
        let node = in_pipeline(pipeline, stage)?;
        port_info(node.stage, &node.args, Some(node), (direction, port), place)
    })
}

/// Describes a parameter of a stage of a pipeline. Otherwise the same as fz_stage_parameter().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_stage_parameter(
    pipeline: *const fz_pipeline,
    stage: u32,
    parameter: u32,
    info: *mut fz_parameter,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise; the first field is the length.
        let (pipeline, place) =
            unsafe { (handle(pipeline, "pipeline")?, place_for(info, "info", "fz_parameter")?) };
        parameter_info(&in_pipeline(pipeline, stage)?.args, parameter, place)
    })
}

fn entry<'a, T>(list: &'a [T], index: u32, name: &str, what: &str) -> FfiResult<&'a T> {
    let error = || {
        FfiError::argument(format!("{name} is {index}; expected one of the {} {what}, from 0", list.len()))
    };
    list.get(index as usize).ok_or_else(error)
}

fn in_library(index: u32) -> FfiResult<(&'static dyn Stage, Args)> {
    let stage = *entry(STAGES, index, "index", "stages")?;
    Ok((stage, Args::new(stage.spec().name, stage.spec().params)))
}

fn in_pipeline(pipeline: &fz_pipeline, stage: u32) -> FfiResult<&Node> {
    entry(pipeline.0.nodes(), stage, "stage", "stages of the pipeline")
}

fn stage_info(stage: &dyn Stage, args: &Args, place: Out<fz_stage>) -> FfiResult<()> {
    let spec = stage.spec();
    place.put(fz_stage {
        struct_bytes: size_of::<fz_stage>() as u32,
        id: spec.id.into(),
        inputs: stage.inputs(args)? as u32,
        outputs: stage.outputs(args)?.len() as u32,
        parameters: spec.params.len() as u32,
        name: chars(spec.name)?,
        about: chars(spec.about)?,
    });
    Ok(())
}

fn port_info(
    stage: &dyn Stage,
    args: &Args,
    node: Option<&Node>,
    (direction, port): (i32, u32),
    place: Out<fz_port>,
) -> FfiResult<()> {
    const INPUT: i32 = fz_port_direction::FZ_PORT_INPUT as i32;
    const OUTPUT: i32 = fz_port_direction::FZ_PORT_OUTPUT as i32;
    // If a stage has more inputs than names, the last name applies to all further inputs.
    let inputs = stage.spec().inputs;
    let inputs = (0..stage.inputs(args)?).filter_map(|k| inputs.get(k).or(inputs.last()).copied());
    let (ports, what): (Vec<&str>, _) = match direction {
        INPUT => (inputs.collect(), "input ports"),
        OUTPUT => (stage.outputs(args)?.to_vec(), "output ports"),
        other => {
            let text = format!("direction is {other}; expected FZ_PORT_INPUT or FZ_PORT_OUTPUT");
            return Err(FfiError::argument(text));
        }
    };
    let name = entry(&ports, port, "port", what)?;
    let source = node.filter(|_| direction == INPUT).and_then(|n| n.inputs().get(port as usize));
    let (producer, producer_port) = match source {
        Some(Source::Port { node, port }) => (*node as u32, *port as u32),
        Some(Source::Array) | None => (FZ_NO_STAGE, 0),
    };
    let struct_bytes = size_of::<fz_port>() as u32;
    place.put(fz_port { struct_bytes, producer, producer_port, name: chars(name)? });
    Ok(())
}

fn parameter_info(args: &Args, parameter: u32, place: Out<fz_parameter>) -> FfiResult<()> {
    let all: Vec<(&'static Param, &Setting)> = args.iter().collect();
    let (param, value) = *entry(&all, parameter, "parameter", "parameters")?;
    let (kind, low, high, choices) = match param.kind {
        Kind::Real { low, high, .. } => (fz_parameter_kind::FZ_PARAMETER_REAL, low, high, vec![]),
        Kind::Int { low, high } => (fz_parameter_kind::FZ_PARAMETER_INT, low as f64, high as f64, vec![]),
        Kind::IntOf(list) => {
            let end = |v: Option<&i64>| v.map_or(0.0, |v| *v as f64);
            let words = list.iter().map(i64::to_string).collect();
            (fz_parameter_kind::FZ_PARAMETER_INT, end(list.iter().min()), end(list.iter().max()), words)
        }
        Kind::Flag => (fz_parameter_kind::FZ_PARAMETER_FLAG, 0.0, 1.0, vec![]),
        Kind::Choice(words) => {
            let last = words.len().saturating_sub(1) as f64;
            (fz_parameter_kind::FZ_PARAMETER_WORD, 0.0, last, words.iter().map(ToString::to_string).collect())
        }
        Kind::Names { most } => (fz_parameter_kind::FZ_PARAMETER_NAMES, 1.0, most as f64, vec![]),
    };
    place.put(fz_parameter {
        struct_bytes: size_of::<fz_parameter>() as u32,
        kind: kind as i32,
        low,
        high,
        default_value: number(&param.default, param.kind),
        value: number(value, param.kind),
        low_excluded: matches!(param.kind, Kind::Real { open: true, .. }).into(),
        choices: choices.len() as u32,
        name: chars(param.name)?,
        default_text: chars(&param.default.to_string())?,
        value_text: chars(&cut(value.to_string()))?,
        choices_text: chars(&choices.join(" "))?,
        unit: chars(param.unit)?,
        range: chars(&param.kind.to_string())?,
        about: chars(param.doc)?,
    });
    Ok(())
}

fn number(value: &Setting, kind: Kind) -> f64 {
    match (value, kind) {
        (Setting::Real(v), _) => *v,
        (Setting::Int(v), _) => *v as f64,
        (Setting::Flag(v), _) => f64::from(u8::from(*v)),
        (Setting::Choice(word), Kind::Choice(words)) => {
            words.iter().position(|w| w == word).map_or(-1.0, |i| i as f64)
        }
        (Setting::Choice(_), _) => 0.0,
        (Setting::Names(_) | Setting::Given(_), _) => value.to_string().split('+').count() as f64,
    }
}

/// Cuts names that exceed the 31 bytes for the text of a value.
fn cut(mut names: String) -> String {
    // Names are ASCII, so the cut does not split a character. The texts of all other values are shorter.
    names.truncate(31);
    names
}

/// A text with a zero at its end.
fn chars<const N: usize>(text: &str) -> FfiResult<[c_char; N]> {
    let mut place = [0; N];
    if text.len() >= N {
        return Err(crate::Error::Internal("a text of a stage is longer than its place in the header").into());
    }
    text.bytes().zip(&mut place).for_each(|(byte, c)| *c = byte as c_char);
    Ok(place)
}
