//! `fzgm stages`

use crate::failure::Failure;
use crate::listing::{param_json, param_text};
use crate::report;
use fzgm::stages::STAGES;
use fzgm::{Args as Parameters, Stage};
use serde_json::{Value, json};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Report as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    list(args.json)
}

pub(crate) fn list(json: bool) -> Result<(), Failure> {
    if json {
        let stages = STAGES.iter().map(|s| to_json(*s)).collect::<Result<Vec<_>, _>>()?;
        return report::print_json(&json!({ "command": "stages", "stages": stages }));
    }
    let texts = STAGES.iter().map(|s| to_text(*s)).collect::<Result<Vec<_>, _>>()?;
    report::print(&texts.join("\n"))
}

/// Some parameters change the ports; those of the defaults are listed.
fn outputs(stage: &dyn Stage) -> Result<&'static [&'static str], Failure> {
    let spec = stage.spec();
    stage.outputs(&Parameters::new(spec.name, spec.params)).map_err(|e| Failure::asking(&e))
}

fn to_text(stage: &dyn Stage) -> Result<String, Failure> {
    let spec = stage.spec();
    let mut text = format!(
        "{} (id {:#06x}): {}\n    {} -> {}\n",
        spec.name,
        spec.id,
        spec.about,
        spec.inputs.join(", "),
        outputs(stage)?.join(", ")
    );
    spec.params.iter().for_each(|p| text += &param_text(p));
    Ok(text)
}

fn to_json(stage: &dyn Stage) -> Result<Value, Failure> {
    let spec = stage.spec();
    Ok(json!({
        "id": spec.id,
        "name": spec.name,
        "about": spec.about,
        "inputs": spec.inputs,
        "outputs": outputs(stage)?,
        "params": spec.params.iter().map(param_json).collect::<Vec<_>>(),
    }))
}
