//! `fzgm info`

use crate::failure::Failure;
use crate::field::shape;
use crate::input;
use crate::report::{self, number, ratio, setting, short};
use crate::stages;
use fzgm::{Container, Decoder, Device, Error, Info, Options, StageInfo};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A container
    #[arg(value_name = "IN", value_parser = input::path(), required_unless_present = "stages")]
    input: Option<PathBuf>,
    /// In place of a container: what stages there are, as `fzgm stages` lists them
    #[arg(long, conflicts_with_all = ["input", "plan"])]
    stages: bool,
    /// Show the steps of the decompression and their memory
    #[arg(long)]
    plan: bool,
    /// With --plan: for what; cuda shows the device functions too, and takes no GPU
    #[arg(long, value_name = "DEVICE", default_value = "auto", requires = "plan", value_parser = input::device)]
    device: Device,
    /// Report as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let Some(input) = &args.input else { return stages::list(args.json) };
    let container = input::read(input)?;
    let refused = |e| Failure::reading(input, &e);
    let info = fzgm::info(&container).map_err(refused)?;
    let plan = if args.plan {
        // Looking at a plan takes no memory, however much running it would.
        let options = Options { max_memory_bytes: u64::MAX, ..Options::default() };
        Some(plan(&Decoder::open(&container, &options).map_err(refused)?, args.device).map_err(refused)?)
    } else {
        None
    };
    if args.json {
        return report::print_json(&to_json(&info, plan));
    }
    let mut text = to_text(&info);
    if let Some(plan) = plan {
        text += "\n";
        text += &plan;
    }
    report::print(&text)
}

fn plan(decoder: &Decoder, device: Device) -> Result<String, Error> {
    let (plan, bytes) = match device {
        Device::Auto | Device::Cpu => (decoder.plan(), decoder.workspace_bytes()),
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
        "unbounded" => "bound      none: values are lost without a promise".into(),
        mode => format!("bound      {mode} {:?}, {strict}", info.bound),
    });
    if info.outlier_threshold.is_finite() {
        lines.push(format!("exact      magnitudes from {:?}", info.outlier_threshold));
    }
    for (i, stage) in info.stages.iter().enumerate() {
        lines.push(format!("stage {i:<4} {} <- {}", stage.name, sources(info, stage).join(", ")));
        lines.extend(stage.params.iter().map(|(name, value)| format!("             {name} = {value}")));
    }
    for s in &info.segments {
        let name = info.stages.get(s.stage).map_or("", |stage| stage.name);
        lines.push(format!("segment    {name}.{}, {} bytes", s.port, s.bytes));
    }
    let mut text = String::new();
    for line in lines {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{line}");
    }
    text
}

fn sources(info: &Info, stage: &StageInfo) -> Vec<String> {
    let name = |input: &Option<(usize, &str)>| match input {
        None => "array".into(),
        Some((i, port)) => format!("{}.{port}", info.stages.get(*i).map_or("", |s| s.name)),
    };
    stage.inputs.iter().map(name).collect()
}

fn to_json(info: &Info, plan: Option<String>) -> Value {
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
    let mut value = json!({
        "command": "info",
        "container": kind(info),
        "container_bytes": info.container_bytes,
        "dtype": info.array.dtype().name(),
        "dims": info.array.dims(),
        "array_bytes": info.array.bytes(),
        "ratio": number(ratio(info.array.bytes(), info.container_bytes)),
        "mode": info.mode,
        "bound": number(info.bound),
        "outlier_threshold": number(info.outlier_threshold),
        "strict": info.strict,
        "stages": info.stages.iter().map(stage).collect::<Vec<_>>(),
        "segments": segments,
    });
    if let Some(plan) = plan {
        value["plan"] = plan.lines().collect();
    }
    value
}
