//! From a preset, a bound and settings to a pipeline.

use crate::failure::Failure;
use fzgm::{DType, PRESETS, Pipeline, preset, stages};

/// What a lossy preset needs to know.
#[derive(Clone, Copy, Default)]
pub(crate) struct Request<'a> {
    pub(crate) preset: &'a str,
    pub(crate) mode: Option<&'a str>,
    pub(crate) bound: Option<f64>,
    pub(crate) threshold: Option<f64>,
    pub(crate) value_base: Option<f64>,
}

pub(crate) fn lossless(name: &str) -> bool {
    PRESETS.iter().any(|p| p.name == name && p.lossless)
}

impl Request<'_> {
    pub(crate) fn pipeline(&self, dtype: DType) -> Result<Pipeline, Failure> {
        let name = self.preset;
        let mut pipeline = preset(name, dtype).map_err(|e| Failure::asking(&e))?;
        let numbers = [
            ("--eb", "error_bound", self.bound),
            ("--outlier-threshold", "outlier_threshold", self.threshold),
            ("--value-base", "value_base", self.value_base),
        ];
        if lossless(name) {
            let mode = self.mode.map(|_| "--mode");
            let given = mode.or(numbers.iter().find(|n| n.2.is_some()).map(|n| n.0));
            return given.map_or(Ok(pipeline), |option| {
                Err(Failure::usage(format!(
                    "preset {name} is lossless: leave {option} out, or choose a preset with a bound"
                )))
            });
        }
        if self.bound.is_none() {
            return Err(Failure::usage(format!(
                "preset {name} needs a bound: give --eb, for example --mode noa --eb 1e-3"
            )));
        }
        if let Some(mode) = self.mode {
            let set = pipeline.set_everywhere("mode", |args| args.set_text("mode", mode));
            set.map_err(|e| Failure::asking(&e))?;
        }
        for (_, parameter, value) in numbers {
            let Some(value) = value else { continue };
            let set = pipeline.set_everywhere(parameter, |args| args.set_real(parameter, value));
            set.map_err(|e| Failure::asking(&e))?;
        }
        Ok(pipeline)
    }
}

/// `STAGE.PARAM=VALUE`, or `PARAM=VALUE` for every stage that has it.
#[derive(Clone)]
pub(crate) struct Setting {
    stage: Option<String>,
    parameter: String,
    value: String,
}

pub(crate) fn setting(text: &str) -> Result<Setting, String> {
    let (name, value) = text.split_once('=').ok_or("write it as STAGE.PARAM=VALUE or PARAM=VALUE")?;
    let (stage, parameter) = match name.split_once('.') {
        Some((stage, parameter)) => (Some(stage.into()), parameter),
        None => (None, name),
    };
    Ok(Setting { stage, parameter: parameter.into(), value: value.into() })
}

impl Setting {
    pub(crate) fn apply(&self, pipeline: &mut Pipeline) -> Result<(), Failure> {
        let Setting { stage, parameter, value } = self;
        let Some(stage) = stage else {
            let set = pipeline.set_everywhere(parameter, |args| args.set_text(parameter, value));
            return set.map_err(|e| Failure::asking(&e));
        };
        let name = stages::by_name(stage).map_err(|e| Failure::asking(&e))?.spec().name;
        let names: Vec<&str> = pipeline.nodes().iter().map(fzgm::Node::stage).collect();
        if !names.contains(&name) {
            let known = names.join(", ");
            return Err(Failure::usage(format!("the pipeline has no stage {name}; it has {known}")));
        }
        let named = names.iter().enumerate().filter(|(_, n)| **n == name).map(|(i, _)| i);
        for i in named.collect::<Vec<_>>() {
            let set = pipeline.args_mut(i).and_then(|args| args.set_text(parameter, value));
            set.map_err(|e| Failure::asking(&e))?;
        }
        Ok(())
    }
}
