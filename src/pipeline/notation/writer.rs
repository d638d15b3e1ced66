//! From a pipeline to TOML.

use super::keys::said;
use super::reference::spelled;
use crate::base::error::{Error, Result};
use crate::ir::stage::Rules;
use crate::pipeline::{Pipeline, Source};
use std::fmt::Write;

pub(super) fn write(pipeline: &Pipeline) -> Result<String> {
    if pipeline.nodes.is_empty() {
        return Err(Error::InvalidPipeline("it has no stages".into()));
    }
    let names = names(pipeline);
    let mut text = header(pipeline.rules);
    for (node, name) in pipeline.nodes.iter().zip(&names) {
        if !text.is_empty() {
            text.push('\n');
        }
        line(&mut text, format_args!("[[stage]]"));
        line(&mut text, format_args!("name = \"{name}\""));
        line(&mut text, format_args!("type = \"{}\"", spelled(node.stage())));
        for (key, value) in said(node.stage(), &node.args)? {
            line(&mut text, format_args!("{key} = {value}"));
        }
        let mut inputs = vec![];
        for source in &node.inputs {
            inputs.push(match source {
                Source::Array => "{ from = \"__external__\" }".into(),
                Source::Port { node, port } => from(pipeline, &names, *node, *port)?,
            });
        }
        if !matches!(node.inputs.as_slice(), [] | [Source::Array]) {
            line(&mut text, format_args!("inputs = [{}]", inputs.join(", ")));
        }
    }
    Ok(text)
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{content}");
}

fn header(rules: Rules) -> String {
    let (usual, mut text) = (Rules::default(), String::new());
    if rules != usual {
        line(&mut text, format_args!("[pipeline]"));
    }
    if rules.strict != usual.strict {
        line(&mut text, format_args!("strict = {}", rules.strict));
    }
    if rules.generation != usual.generation {
        line(&mut text, format_args!("generation = \"{}\"", rules.generation.name()));
    }
    text
}

/// The stages' own names; the second of a kind is called 1, the third 2, as the reference does it. No name of a stage ends
/// with a digit, so that no two are the same.
fn names(pipeline: &Pipeline) -> Vec<String> {
    let stages: Vec<&str> = pipeline.nodes.iter().map(|n| n.stage()).collect();
    let name = |(i, stage): (usize, &&str)| match stages[..i].iter().filter(|s| *s == stage).count() {
        0 => (*stage).to_string(),
        before => format!("{stage}{before}"),
    };
    stages.iter().enumerate().map(name).collect()
}

fn from(pipeline: &Pipeline, names: &[String], node: usize, port: usize) -> Result<String> {
    let producer = pipeline.nodes.get(node).zip(names.get(node));
    let (producer, name) = producer.ok_or(Error::Internal("an edge starts at no stage"))?;
    let ports = producer.stage.outputs(&producer.args)?;
    let port = ports.get(port).ok_or_else(|| {
        Error::InvalidPipeline(format!("{name} does not have a port under its parameters that a stage reads"))
    })?;
    Ok(match *port {
        "output" => format!("{{ from = \"{name}\" }}"),
        port => format!("{{ from = \"{name}\", port = \"{port}\" }}"),
    })
}
