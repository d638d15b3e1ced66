//! `fzgm info`: describes containers, slab files, and series without decoding them.

mod lattice;

use crate::compress::significant;
use crate::drawing;
use crate::failure::{Failure, each};
use crate::field::shape;
use crate::input::{self, Whole};
use crate::report::{self, number, optional, ratio, setting, short};
use crate::series;
use crate::slabs::{self, Outline};
use crate::stages;
use fzgm::{Container, Decoder, Device, Error, Info, Options, StageInfo};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Containers, slab files, or series; - for standard input
    #[arg(value_name = "IN", required_unless_present = "stages")]
    inputs: Vec<PathBuf>,
    /// List all stages instead, as `fzgm stages` does
    #[arg(long, conflicts_with_all = ["inputs", "plan"])]
    stages: bool,
    /// Describe this step of a series: a number from 0, or a name [default: list the steps]
    #[arg(long, value_name = "STEP", conflicts_with = "stages", allow_negative_numbers = true)]
    step: Option<String>,
    /// Also draw the stages, and list the decompression steps with their memory
    #[arg(long)]
    plan: bool,
    /// With --plan: device of the steps. For cuda, device functions are listed too, and no GPU is required
    #[arg(long, value_name = "DEVICE", default_value = "auto", requires = "plan", value_parser = input::device(), hide_possible_values = true)]
    device: Device,
    /// Print only the pipeline, as TOML for --config
    #[arg(long, conflicts_with_all = ["stages", "plan", "json"])]
    toml: bool,
    /// Print only the pipeline, as a chain for --pipeline
    #[arg(long, conflicts_with_all = ["stages", "plan", "json", "toml"])]
    text: bool,
    /// Print one JSON object for each file
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let several = args.inputs.len() > 1;
    if several && (args.toml || args.text) {
        let option = if args.toml { "--toml" } else { "--text" };
        return Err(Failure::usage(format!(
            "{option} prints one pipeline, but {} files are given; pass one file",
            args.inputs.len()
        )));
    }
    if args.stages {
        return stages::list(&[], args.json);
    }
    each(args.inputs.iter().enumerate(), |(i, input)| {
        if several && !args.json {
            report::print(&format!("{}{}:\n", if i > 0 { "\n" } else { "" }, input.display()))?;
        }
        file(args, input)
    })
}

fn file(args: &Args, input: &Path) -> Result<(), Failure> {
    let described = args.step.is_some() || args.plan || args.toml || args.text;
    let (container, slabs) = match series::open(input)? {
        Some(series) if described => {
            let step = series::position(input, &series, args.step.as_deref())?;
            (series.container(step, 0).map_err(|e| Failure::reading(input, &e))?, None)
        }
        Some(series) if args.json => {
            let path = input.to_string_lossy();
            return report::print_json(
                &json!({ "command": "info", "input": path, "series": series::json(&series) }),
            );
        }
        Some(series) => return report::print(&series::text(&series)),
        None => {
            series::expected(input, args.step.as_deref())?;
            contents(input)?
        }
    };
    // The first slab describes a slab file. A slab file of an empty array has none.
    let empty = slabs.as_ref().is_some_and(|s| s.totals.slabs == 0);
    if args.toml || args.text {
        if empty {
            let what = "the slab file has no slabs, and therefore no pipeline; pass a file with slabs";
            return Err(Failure::request(format!("{}: {what}", input.display())));
        }
        return report::print(&pipeline_source(args, input, &container)?);
    }
    let described = if empty { None } else { Some(describe(args, input, &container)?) };
    if args.json {
        let mut value = described.as_ref().map_or_else(|| json!({ "command": "info" }), Described::json);
        value["input"] = input.to_string_lossy().into();
        if let Some(slabs) = &slabs {
            value["slab_file"] = slab_json(slabs);
        }
        return report::print_json(&value);
    }
    let about = slabs.as_ref().map_or(String::new(), slab_text);
    report::print(&(about + &described.as_ref().map_or(String::new(), Described::text)))
}

/// The container of a file, or the first one of a slab file with the description of the file.
fn contents(input: &Path) -> Result<(Vec<u8>, Option<Outline>), Failure> {
    Ok(match input::whole(input)? {
        Whole::Bytes(container) => (container, None),
        Whole::Slabs(mut src) => {
            let mut outline = slabs::outline(&mut *src, input)?;
            (std::mem::take(&mut outline.container), Some(outline))
        }
    })
}

/// The pipeline of a container, as TOML or text.
fn pipeline_source(args: &Args, input: &Path, container: &[u8]) -> Result<String, Failure> {
    let pipeline = fzgm::pipeline_of(container).map_err(|e| Failure::reading(input, &e))?;
    if args.toml {
        return pipeline.to_toml().map_err(|e| Failure::reading(input, &e));
    }
    let hint = |failure: Failure| Failure { message: failure.message + " (fzgm info --toml)", ..failure };
    let line = pipeline.to_text().map_err(|e| match e {
        Error::InvalidPipeline(_) => hint(Failure::reading(input, &e)),
        e => Failure::reading(input, &e),
    })?;
    Ok(line + "\n")
}

/// The description of a container.
struct Described {
    info: Info,
    /// The drawing and the steps, with `--plan`.
    plan: Option<(Vec<String>, String)>,
}

fn describe(args: &Args, input: &Path, container: &[u8]) -> Result<Described, Failure> {
    let refused = |e| Failure::reading(input, &e);
    let info = fzgm::info(container).map_err(refused)?;
    if !args.plan {
        return Ok(Described { info, plan: None });
    }
    // The limit applies to working memory, which a plan that does not run never allocates.
    let options = Options { max_memory_bytes: u64::MAX, ..Options::default() };
    let steps = plan(&Decoder::open(container, &options).map_err(refused)?, args.device).map_err(refused)?;
    Ok(Described { plan: Some((drawing::graph(&info), steps)), info })
}

impl Described {
    fn text(&self) -> String {
        let plan = self.plan.as_ref().map(|(graph, steps)| format!("\n{}\n\n{steps}", graph.join("\n")));
        to_text(&self.info) + &plan.unwrap_or_default()
    }

    fn json(&self) -> Value {
        let mut value = to_json(&self.info);
        if let Some((graph, steps)) = &self.plan {
            value["graph"] = graph.clone().into();
            value["plan"] = steps.lines().collect();
        }
        value
    }
}

fn slab_text(outline: &Outline) -> String {
    let Outline { array, rows, totals, .. } = outline;
    format!(
        "slab file  {} slabs of {} rows, {} bytes, ratio {}\nwhole      {} of {}, {} bytes\n{}",
        totals.slabs,
        rows,
        totals.file_bytes,
        short(ratio(totals.array_bytes, totals.file_bytes)),
        shape(array),
        array.dtype(),
        totals.array_bytes,
        if totals.slabs == 0 { "" } else { "first slab\n" }
    )
}

fn slab_json(outline: &Outline) -> Value {
    let Outline { array, rows, totals, .. } = outline;
    json!({
        "slabs": totals.slabs,
        "rows": rows,
        "dtype": array.dtype().name(),
        "dims": array.dims(),
        "array_bytes": totals.array_bytes,
        "file_bytes": totals.file_bytes,
        "ratio": number(ratio(totals.array_bytes, totals.file_bytes)),
    })
}

fn plan(decoder: &Decoder, device: Device) -> Result<String, Error> {
    let (plan, bytes) = match device {
        Device::Auto | Device::Cpu => (decoder.plan()?, decoder.workspace_bytes()),
        Device::Cuda(_) => decoder.device_plan()?,
    };
    Ok(format!("{plan}  workspace {bytes}B\n"))
}

fn kind(info: &Info) -> &'static str {
    match info.container {
        Container::Fzm => "fzm",
        Container::Compact => "compact",
    }
}

fn to_text(info: &Info) -> String {
    let array = &info.array;
    let strict = match info.strict {
        Some(true) => "strict",
        Some(false) => "not strict",
        None => "strictness not stated",
    };
    let mut lines = vec![
        format!(
            "container  {}, {} bytes, ratio {}",
            kind(info),
            info.container_bytes,
            short(ratio(array.bytes(), info.container_bytes))
        ),
        format!("array      {} of {}, {} bytes", shape(array), array.dtype(), array.bytes()),
    ];
    lines.push(match info.mode {
        "lossless" => "bound      lossless".into(),
        "unbounded" => "bound      none: lossy without a bound".into(),
        mode => format!("bound      {mode} {:?}, {strict}", info.bound),
    });
    if let Some((bound, base)) = info.absolute_bound().zip(info.value_base) {
        let of = if info.mode == "prel" { "a largest magnitude" } else { "a value range" };
        lines.push(format!("absolute   {} in the unit of the data, of {of} of {base}", significant(bound)));
    }
    if info.outlier_threshold.is_finite() {
        lines.push(format!("exact      magnitudes from {:?}", info.outlier_threshold));
    }
    if let Some(text) = lattice::text(info) {
        lines.push(format!("lattice    {text}"));
    }
    for (i, stage) in info.stages.iter().enumerate() {
        lines.push(format!("stage {i:<4} {} <- {}", stage.name, sources(info, stage).join(", ")));
        lines.extend(stage.params.iter().map(|(name, value)| format!("             {name} = {value}")));
    }
    for s in &info.segments {
        lines.push(format!("segment    {}.{}, {} bytes", name(info, s.stage), s.port, s.bytes));
    }
    let mut text = String::new();
    for line in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    }
    text
}

fn sources(info: &Info, stage: &StageInfo) -> Vec<String> {
    let source = |input: &Option<(usize, &str)>| match input {
        None => "array".into(),
        Some((i, port)) => format!("{}.{port}", name(info, *i)),
    };
    stage.inputs.iter().map(source).collect()
}

/// The name of a stage, after its number if several stages have this name.
fn name(info: &Info, stage: usize) -> String {
    let name = info.stages.get(stage).map_or("", |s| s.name);
    match info.stages.iter().filter(|s| s.name == name).count() {
        0 | 1 => name.into(),
        _ => format!("{stage} {name}"),
    }
}

fn to_json(info: &Info) -> Value {
    let stage = |s: &StageInfo| {
        let params: serde_json::Map<_, _> =
            s.params.iter().map(|(name, value)| ((*name).into(), setting(value))).collect();
        let input = |input: &Option<(usize, &str)>| match input {
            None => Value::String("array".into()),
            Some((stage, port)) => json!({ "stage": stage, "port": port }),
        };
        json!({ "name": s.name, "params": params, "inputs": s.inputs.iter().map(input).collect::<Vec<_>>() })
    };
    let segments: Vec<Value> =
        info.segments.iter().map(|s| json!({ "stage": s.stage, "port": s.port, "bytes": s.bytes })).collect();
    json!({
        "command": "info",
        "container": kind(info),
        "container_bytes": info.container_bytes,
        "dtype": info.array.dtype().name(),
        "dims": info.array.dims(),
        "array_bytes": info.array.bytes(),
        "ratio": number(ratio(info.array.bytes(), info.container_bytes)),
        "mode": info.mode,
        "bound": number(info.bound),
        "absolute_bound": optional(info.absolute_bound()),
        "value_base": optional(info.value_base),
        "outlier_threshold": number(info.outlier_threshold),
        "strict": info.strict,
        "lattice": lattice::text(info),
        "stages": info.stages.iter().map(stage).collect::<Vec<_>>(),
        "segments": segments,
    })
}
