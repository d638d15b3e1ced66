//! `fzgm stages`: lists stages with their ports and parameters.

use crate::failure::Failure;
use crate::listing::{param_json, param_text};
use crate::report;
use fzgm::stages::{STAGES, by_name, strict_id};
use fzgm::{Args as Parameters, Stage};
use serde_json::{Value, json};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Stages to list, such as fast [default: all]
    #[arg(value_name = "STAGE", value_parser = crate::named::text(crate::named::stages), hide_possible_values = true)]
    names: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    list(&args.names, args.json)
}

/// Prints the named stages, or all stages if there are no names.
pub(crate) fn list(names: &[String], json: bool) -> Result<(), Failure> {
    let named = names.iter().map(|name| by_name(name)).collect::<Result<Vec<_>, _>>();
    let named = named.map_err(|e| Failure::from_error(&e))?;
    let stages = if named.is_empty() { STAGES } else { &named };
    if json {
        let stages = stages.iter().map(|s| to_json(*s)).collect::<Result<Vec<_>, _>>()?;
        return report::print_json(&json!({ "command": "stages", "stages": stages }));
    }
    let texts = stages.iter().map(|s| to_text(*s)).collect::<Result<Vec<_>, _>>()?;
    report::print(&texts.join("\n"))
}

/// The output ports with the defaults of all parameters, because some parameters change the ports.
fn outputs(stage: &dyn Stage) -> Result<&'static [&'static str], Failure> {
    let spec = stage.spec();
    stage.outputs(&Parameters::new(spec.name, spec.params)).map_err(|e| Failure::from_error(&e))
}

fn to_text(stage: &dyn Stage) -> Result<String, Failure> {
    let spec = stage.spec();
    // Some stages have a second id, which compression writes with the option `strict`.
    let strict =
        strict_id(spec.name).map_or(String::new(), |id| format!("; {id:#06x} with strict, the default"));
    let mut text = format!(
        "{} (id {:#06x}{strict}): {}\n    {} -> {}\n",
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
        "strict_id": strict_id(spec.name),
        "name": spec.name,
        "about": spec.about,
        "inputs": spec.inputs,
        "outputs": outputs(stage)?,
        "params": spec.params.iter().map(param_json).collect::<Vec<_>>(),
    }))
}
