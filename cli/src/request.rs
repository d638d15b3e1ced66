//! Pipelines from the arguments: a preset or a custom pipeline, with a bound and other parameters.

use crate::failure::Failure;
use fzgm::{DType, Error, PRESETS, Pipeline, Setting as Value, preset, stages};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A custom pipeline from `--pipeline` or `--config`.
pub(crate) struct CustomPipeline {
    /// Its name in reports: the chain, or the path of the file.
    pub(crate) name: String,
    /// Its name in messages: the option, or the path of the file.
    label: String,
    pub(crate) pipeline: Pipeline,
}

impl CustomPipeline {
    /// Reads the argument of `--pipeline`.
    pub(crate) fn from_text(text: &str) -> Result<CustomPipeline, Failure> {
        let read = Pipeline::from_text(text).map_err(|e| Failure::written(&e).about("--pipeline"))?;
        Ok(CustomPipeline { name: text.into(), label: "--pipeline".into(), pipeline: read })
    }

    /// Reads the file of `--config`.
    pub(crate) fn from_file(path: &Path) -> Result<CustomPipeline, Failure> {
        /// Limit in bytes, because a device may be endless. The longest pipelines are much shorter.
        const MOST: u64 = 1 << 16;
        let refused = |e| Failure::io("read", path, &e);
        let mut text = String::new();
        File::open(path).map_err(refused)?.take(MOST + 1).read_to_string(&mut text).map_err(refused)?;
        let name = path.display().to_string();
        if text.len() as u64 > MOST {
            return Err(Failure::usage(format!(
                "{name} has more than {MOST} bytes, the limit for pipeline files; pass a TOML file of a pipeline"
            )));
        }
        let read = Pipeline::from_toml(&text).map_err(|e| Failure::written(&e).about(&name))?;
        Ok(CustomPipeline { label: name.clone(), name, pipeline: read })
    }

    fn value(&self, name: &str) -> Option<&Value> {
        value(&self.pipeline, name)
    }

    fn real(&self, name: &str) -> Option<f64> {
        real(&self.pipeline, name)
    }
}

/// The value of a parameter in the first stage that supports it.
fn value<'a>(pipeline: &'a Pipeline, name: &str) -> Option<&'a Value> {
    let mut all = pipeline.nodes().iter().flat_map(|n| n.args().iter());
    all.find(|(p, _)| p.name == name).map(|(_, value)| value)
}

/// The value of a parameter in the first stage that supports it, if it is a real number.
pub(crate) fn real(pipeline: &Pipeline, name: &str) -> Option<f64> {
    match value(pipeline, name) {
        Some(Value::Real(v)) => Some(*v),
        _ => None,
    }
}

/// The mode of the first stage that has a mode.
pub(crate) fn mode(pipeline: &Pipeline) -> Option<&'static str> {
    match value(pipeline, "mode") {
        Some(Value::Choice(word)) => Some(*word),
        _ => None,
    }
}

/// The mode if the bound depends on the values of the array: noa or prel without a given base.
pub(crate) fn relative(pipeline: &Pipeline) -> Option<&'static str> {
    let mode = mode(pipeline).filter(|mode| ["noa", "prel"].contains(mode));
    mode.filter(|_| real(pipeline, "value_base") == Some(0.0))
}

/// The pipeline that the arguments name.
#[derive(Clone, Copy)]
pub(crate) enum PipelineSource<'a> {
    Preset(&'a str),
    Custom(&'a CustomPipeline),
}

impl PipelineSource<'_> {
    pub(crate) fn lossless(self) -> bool {
        match self {
            PipelineSource::Preset(name) => PRESETS.iter().any(|p| p.name == name && p.lossless),
            PipelineSource::Custom(own) => own.value("error_bound").is_none(),
        }
    }

    /// Converts an error of the library about this pipeline. Messages about a custom pipeline start with its label.
    pub(crate) fn refused(self, e: &Error) -> Failure {
        match self {
            // These errors concern the machine, not the pipeline.
            _ if matches!(e, Error::NoDevice(_) | Error::Device { .. }) => Failure::from_error(e),
            PipelineSource::Custom(own) => Failure::from_error(e).about(&own.label),
            PipelineSource::Preset(_) => Failure::from_error(e),
        }
    }

    /// The name of the preset, or the name of the custom pipeline. The other one is `None`.
    pub(crate) fn names(&self) -> (Option<&str>, Option<&str>) {
        match self {
            PipelineSource::Preset(name) => (Some(name), None),
            PipelineSource::Custom(own) => (None, Some(&own.name)),
        }
    }
}

/// A pipeline with the values of the options that change it. `None`: the option is not given.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) start: PipelineSource<'a>,
    pub(crate) mode: Option<&'a str>,
    pub(crate) bound: Option<f64>,
    pub(crate) threshold: Option<f64>,
    pub(crate) value_base: Option<f64>,
    /// Calls refer to the value base of the previous call with the workspace.
    pub(crate) previous_base: bool,
    /// The values of `--set`.
    pub(crate) settings: &'a [Setting],
}

impl<'a> Request<'a> {
    /// A request without options.
    pub(crate) fn plain(start: PipelineSource<'a>) -> Self {
        Request {
            start,
            mode: None,
            bound: None,
            threshold: None,
            value_base: None,
            previous_base: false,
            settings: &[],
        }
    }

    /// Fills in the values of a custom pipeline if the options are not given.
    pub(crate) fn completed(mut self) -> Self {
        if let PipelineSource::Custom(own) = self.start {
            self.mode = self.mode.or(mode(&own.pipeline));
            self.bound = self.bound.or(own.real("error_bound"));
            self.threshold = self.threshold.or(own.real("outlier_threshold"));
        }
        self
    }

    pub(crate) fn pipeline(&self, dtype: DType) -> Result<Pipeline, Failure> {
        let mut pipeline = match self.start {
            PipelineSource::Preset(name) => preset(name, dtype).map_err(|e| Failure::from_error(&e))?,
            PipelineSource::Custom(own) => own.pipeline.clone(),
        };
        // The settings come first, because an unknown parameter is the more useful message.
        self.settings.iter().try_for_each(|setting| setting.apply(&mut pipeline))?;
        self.check()?;
        if let Some(mode) = self.mode {
            let set = pipeline.set_everywhere("mode", |args| args.set_text("mode", mode));
            set.map_err(|e| Failure::from_error(&e))?;
        }
        for (_, parameter, value) in self.numbers() {
            let Some(value) = value else { continue };
            let set = pipeline.set_everywhere(parameter, |args| args.set_real(parameter, value));
            set.map_err(|e| Failure::from_error(&e))?;
        }
        if let (Some(_), Some(mode @ ("abs" | "rel"))) = (self.value_base, mode(&pipeline)) {
            return Err(Failure::usage(format!(
                "--value-base is given, but mode {mode} does not use it; remove --value-base"
            )));
        }
        Ok(pipeline)
    }

    /// Options with a number: name of the option, name of the parameter, and value.
    fn numbers(&self) -> [(&'static str, &'static str, Option<f64>); 3] {
        [
            ("--eb", "error_bound", self.bound),
            ("--outlier-threshold", "outlier_threshold", self.threshold),
            ("--value-base", "value_base", self.value_base),
        ]
    }

    /// Rejects options that the pipeline does not support, options given twice, and a preset without a required bound.
    fn check(&self) -> Result<(), Failure> {
        let what = match self.start {
            PipelineSource::Preset(name) => format!("preset {name}"),
            PipelineSource::Custom(_) => "the pipeline".into(),
        };
        let mode = self.mode.map(|_| ("--mode", "mode"));
        let numbers = self
            .numbers()
            .into_iter()
            .filter_map(|(option, parameter, value)| value.map(|_| (option, parameter)));
        let given: Vec<(&str, &str)> = mode.into_iter().chain(numbers).collect();
        let set = |parameter: &str| self.settings.iter().any(|s| s.parameter == parameter);
        if self.start.lossless() {
            return given.first().map_or(Ok(()), |(option, _)| {
                Err(Failure::usage(format!(
                    "{option} is given, but {what} is lossless; remove {option} or choose a lossy preset"
                )))
            });
        }
        if let Some((option, parameter)) = given.iter().find(|(_, parameter)| set(parameter)) {
            return Err(Failure::usage(format!(
                "{parameter} is given twice, with {option} and with --set; remove one of them"
            )));
        }
        if self.bound.is_none() && !set("error_bound") && matches!(self.start, PipelineSource::Preset(_)) {
            return Err(Failure::usage(format!(
                "{what} requires an error bound; add --eb, for example --mode noa --eb 1e-3"
            )));
        }
        Ok(())
    }
}

/// The argument of `--set`: `STAGE.PARAM=VALUE`, or `PARAM=VALUE` for every stage that supports the parameter.
#[derive(Clone)]
pub(crate) struct Setting {
    stage: Option<String>,
    parameter: String,
    value: String,
}

pub(crate) fn setting(text: &str) -> Result<Setting, String> {
    let missing = || format!("`{text}` has no value; write STAGE.PARAM=VALUE or PARAM=VALUE");
    let (name, value) = text.split_once('=').ok_or_else(missing)?;
    let (stage, parameter) = match name.split_once('.') {
        Some((stage, parameter)) => (Some(stage.into()), parameter),
        None => (None, name),
    };
    Ok(Setting { stage, parameter: parameter.into(), value: value.into() })
}

impl Setting {
    fn apply(&self, pipeline: &mut Pipeline) -> Result<(), Failure> {
        let Setting { stage, parameter, value } = self;
        let Some(stage) = stage else {
            let set = pipeline.set_everywhere(parameter, |args| args.set_text(parameter, value));
            return set.map_err(|e| Failure::from_error(&e));
        };
        let names: Vec<&str> = pipeline.nodes().iter().map(fzgm::Node::stage).collect();
        let name = stages::by_name(stage).map_or(stage.as_str(), |s| s.spec().name);
        if !names.contains(&name) {
            let mut types = names;
            types.sort_unstable();
            types.dedup();
            let types = types.join(", ");
            return Err(Failure::usage(format!(
                "the pipeline has no stage of type `{stage}`; use one of {types}"
            )));
        }
        let named = names.iter().enumerate().filter(|(_, n)| **n == name).map(|(i, _)| i);
        for i in named.collect::<Vec<_>>() {
            let set = pipeline.args_mut(i).and_then(|args| args.set_text(parameter, value));
            set.map_err(|e| Failure::from_error(&e))?;
        }
        Ok(())
    }
}
