//! `fzgm presets`: lists presets with their stages.

use crate::failure::Failure;
use crate::named;
use crate::report::{self, setting};
use fzgm::{DType, Node, PRESETS, Preset, preset};
use serde_json::{Map, Value, json};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Element type of the pipelines
    #[arg(long, value_parser = crate::field::dtype(), default_value = "f32", hide_possible_values = true)]
    dtype: DType,
    /// Print this preset as TOML for --config
    #[arg(long, value_name = "PRESET", conflicts_with = "json", value_parser = named::text(named::presets), hide_possible_values = true)]
    toml: Option<String>,
    /// Also list the presets that serve only for comparisons
    #[arg(long, conflicts_with = "toml")]
    all: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(name) = &args.toml {
        let from_error = |e| Failure::from_error(&e);
        preset(name, args.dtype).map_err(from_error)?;
        let found = PRESETS.iter().find(|p| p.name == name).map(|p| p.toml(args.dtype)).transpose();
        return report::print(found.map_err(from_error)?.unwrap_or_default());
    }
    let shown = PRESETS.iter().filter(|p| args.all || !p.research);
    if args.json {
        let presets: Vec<Value> = shown.map(|p| to_json(p, args.dtype)).collect();
        let dtype = args.dtype.name();
        return report::print_json(&json!({ "command": "presets", "dtype": dtype, "presets": presets }));
    }
    let needs = NEEDS.map(|(name, when)| format!("{name:<6}{when}\n")).concat();
    let texts: Vec<String> = shown.map(|p| to_text(p, args.dtype)).collect();
    report::print(&format!("{needs}\n{}", texts.join("\n")))
}

/// The default preset of a mode.
pub(crate) fn usual(mode: Option<&str>) -> &'static str {
    if mode == Some("rel") { "pfpl" } else { "fast" }
}

/// Presets with the needs that they serve.
const NEEDS: [(&str, &str); 5] = [
    ("fast", "speed, GPUs, and regions of a file; good ratio"),
    ("high", "highest ratio, and previews"),
    ("pfpl", "mode rel, where it is the default, and any floats"),
    ("bits", "lossless, any element type"),
    ("exact", "lossless at a higher ratio, any element type"),
];

/// The need that a preset serves, if it is in [`NEEDS`].
fn need(name: &str) -> Option<&'static str> {
    NEEDS.iter().find(|(n, _)| *n == name).map(|(_, when)| *when)
}

/// The parameters that a preset sets to other values than their defaults.
fn chosen(node: &Node) -> impl Iterator<Item = (&'static str, String)> {
    node.args().iter().filter(|(p, value)| p.default != **value).map(|(p, value)| (p.name, value.to_string()))
}

fn to_text(p: &Preset, dtype: DType) -> String {
    let mut text = format!("{}: {}\n", p.name, p.about);
    match preset(p.name, dtype) {
        Ok(pipeline) => {
            for node in pipeline.nodes() {
                let params = chosen(node).map(|(name, value)| format!(" {name}={value}"));
                text += &format!("    {}{}\n", node.stage(), params.collect::<String>());
            }
        }
        Err(e) => text += &format!("    not for {dtype}: {e}\n"),
    }
    text
}

/// The key `stages` is null if the preset does not support the element type.
fn to_json(p: &Preset, dtype: DType) -> Value {
    let stage = |node: &Node| {
        let params: Map<String, Value> = chosen(node).map(|(n, v)| (n.into(), setting(&v))).collect();
        json!({ "name": node.stage(), "params": params })
    };
    let stages = preset(p.name, dtype).ok().map(|p| p.nodes().iter().map(stage).collect::<Vec<_>>());
    json!({ "name": p.name, "about": p.about, "when": need(p.name), "lossless": p.lossless, "stages": stages })
}
