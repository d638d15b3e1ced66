//! From a preset or a pipeline of the user's own, a bound and settings to a pipeline.

use crate::failure::Failure;
use fzgm::{DType, Error, PRESETS, Pipeline, Setting as Value, preset, stages};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A pipeline that was written out.
pub(crate) struct CustomPipeline {
    /// What it is called in reports.
    pub(crate) name: String,
    /// What it is called in messages.
    whence: String,
    pub(crate) pipeline: Pipeline,
}

impl CustomPipeline {
    /// From `--pipeline`.
    pub(crate) fn from_text(text: &str) -> Result<CustomPipeline, Failure> {
        let read = Pipeline::from_text(text).map_err(|e| Failure::written(&e).about("--pipeline"))?;
        Ok(CustomPipeline { name: text.into(), whence: "--pipeline".into(), pipeline: read })
    }

    /// From `--config`.
    pub(crate) fn from_file(path: &Path) -> Result<CustomPipeline, Failure> {
        /// No pipeline comes near it, and a device has no end.
        const MOST: u64 = 1 << 16;
        let refused = |e| Failure::io("read", path, &e);
        let mut text = String::new();
        File::open(path).map_err(refused)?.take(MOST + 1).read_to_string(&mut text).map_err(refused)?;
        let name = path.display().to_string();
        if text.len() as u64 > MOST {
            return Err(Failure::usage(format!(
                "{name} has more than {MOST} bytes; a pipeline file must be smaller"
            )));
        }
        let read = Pipeline::from_toml(&text).map_err(|e| Failure::written(&e).about(&name))?;
        Ok(CustomPipeline { whence: name.clone(), name, pipeline: read })
    }

    fn value(&self, name: &str) -> Option<&Value> {
        value(&self.pipeline, name)
    }

    fn real(&self, name: &str) -> Option<f64> {
        real(&self.pipeline, name)
    }
}

/// The value of a parameter in the first stage that has it.
fn value<'a>(pipeline: &'a Pipeline, name: &str) -> Option<&'a Value> {
    let mut all = pipeline.nodes().iter().flat_map(|n| n.args().iter());
    all.find(|(p, _)| p.name == name).map(|(_, value)| value)
}

/// Its value where it is a real number.
pub(crate) fn real(pipeline: &Pipeline, name: &str) -> Option<f64> {
    match value(pipeline, name) {
        Some(Value::Real(v)) => Some(*v),
        _ => None,
    }
}

/// The mode of the first stage that has one.
pub(crate) fn mode(pipeline: &Pipeline) -> Option<&'static str> {
    match value(pipeline, "mode") {
        Some(Value::Choice(word)) => Some(*word),
        _ => None,
    }
}

/// The mode, where the bound is a fraction of what the array holds.
pub(crate) fn relative(pipeline: &Pipeline) -> Option<&'static str> {
    let mode = mode(pipeline).filter(|mode| ["noa", "prel"].contains(mode));
    mode.filter(|_| real(pipeline, "value_base") == Some(0.0))
}

/// What a request starts with.
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

    /// The library refused to plan it for an array.
    pub(crate) fn refused(self, e: &Error) -> Failure {
        match self {
            // Not of the pipeline but of the machine.
            _ if matches!(e, Error::NoDevice(_) | Error::Device { .. }) => Failure::from_error(e),
            PipelineSource::Custom(own) => Failure::from_error(e).about(&own.whence),
            PipelineSource::Preset(_) => Failure::from_error(e),
        }
    }

    /// The name of the preset, and the pipeline as it was written: one of them.
    pub(crate) fn names(&self) -> (Option<&str>, Option<&str>) {
        match self {
            PipelineSource::Preset(name) => (Some(name), None),
            PipelineSource::Custom(own) => (None, Some(&own.name)),
        }
    }
}

/// What becomes of it.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) start: PipelineSource<'a>,
    pub(crate) mode: Option<&'a str>,
    pub(crate) bound: Option<f64>,
    pub(crate) threshold: Option<f64>,
    pub(crate) value_base: Option<f64>,
    /// Of other parameters than these.
    pub(crate) settings: &'a [Setting],
}

impl<'a> Request<'a> {
    /// Nothing but the start.
    pub(crate) fn plain(start: PipelineSource<'a>) -> Self {
        Request { start, mode: None, bound: None, threshold: None, value_base: None, settings: &[] }
    }

    /// With what a pipeline of the user's own says, where nothing else is asked for.
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
        // Names first: of a parameter that there is not, nothing else is true.
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

    /// Options with a number, and what they set.
    fn numbers(&self) -> [(&'static str, &'static str, Option<f64>); 3] {
        [
            ("--eb", "error_bound", self.bound),
            ("--outlier-threshold", "outlier_threshold", self.threshold),
            ("--value-base", "value_base", self.value_base),
        ]
    }

    /// Options that mean nothing here, or something else than others, and one that must not be left out.
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
                "the pipeline has no stage of type `{stage}`; its types are {types}"
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
