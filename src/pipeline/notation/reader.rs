//! From TOML to a pipeline. Stages are made in the order of the file, then they are connected, so that a file may name a stage
//! before it describes it.

use super::keys::{Keys, Value};
use super::{at, nesting, reference, shown, unknown};
use crate::base::error::{Error, Result};
use crate::ir::stage::Generation;
use crate::pipeline::{Pipeline, Source};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// In place of the name of a stage: the array.
const ARRAY: &str = "__external__";
const ARRAY_OF_STAGES: &str = "stages must be tables, each under [[stage]], with two brackets";

pub(super) fn read(text: &str) -> Result<Pipeline> {
    let file = File { text };
    if let Some(at) = nesting::too_deep(text) {
        let what = format!("more than {} brackets are open; a pipeline needs 2", nesting::DEEPEST);
        return Err(file.wrong(at..at, what));
    }
    let root = DeTable::parse(text).map_err(|e| {
        let span = e.span().unwrap_or_default();
        if let Some(header) = file.single_stage(&span) {
            return file.wrong(header..header, ARRAY_OF_STAGES);
        }
        let what = e.message().replace('\n', "; ");
        file.wrong(span, format!("this is not TOML: {what}"))
    })?;
    file.pipeline(root.get_ref())
}

struct File<'t> {
    text: &'t str,
}

type Item<'a, 't> = &'a Spanned<DeValue<'t>>;

/// A stage of the file, and the place of its connections.
struct Entry<'a, 't> {
    name: &'a str,
    line: Range<usize>,
    inputs: Option<Item<'a, 't>>,
}

impl File<'_> {
    fn line(&self, span: Range<usize>) -> String {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        format!("line {}", 1 + before.iter().filter(|b| **b == b'\n').count()) // seed: notation-line
    }

    /// Start of the first header `[stage]`, if the text is no TOML because of a second header of a stage.
    fn single_stage(&self, span: &Range<usize>) -> Option<usize> {
        let lines = self.text.split_inclusive('\n').scan(0, |end, line| {
            *end += line.len();
            Some((*end - line.len(), line.trim_start()))
        });
        let refused = lines.clone().take_while(|(start, _)| *start <= span.start).last();
        let header = |line: &str| line.starts_with("[stage]") || line.starts_with("[[stage]]");
        refused.filter(|(_, line)| header(line))?;
        lines.clone().find(|(_, line)| line.starts_with("[stage]")).map(|(start, _)| start)
    }

    fn wrong(&self, span: Range<usize>, what: impl Into<String>) -> Error {
        at(&self.line(span), Error::InvalidPipeline(what.into()))
    }

    fn pipeline(&self, root: &DeTable<'_>) -> Result<Pipeline> {
        let mut pipeline = Pipeline::new();
        let mut stages: &[Spanned<DeValue<'_>>] = &[];
        let mut header = None;
        for (key, value) in root {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("pipeline", DeValue::Table(table)) => header = Some(table),
                ("stage", DeValue::Array(array)) => stages = array,
                ("pipeline", _) => {
                    return Err(self.wrong(key.span(), "pipeline must be a table, [pipeline]"));
                }
                ("stage", _) => {
                    return Err(self.wrong(key.span(), ARRAY_OF_STAGES));
                }
                (other, _) => {
                    let known = ["pipeline", "stage"];
                    return Err(at(
                        &self.line(key.span()),
                        unknown("key", other, " of a pipeline file", &known),
                    ));
                }
            }
        }
        if stages.is_empty() {
            return Err(Error::InvalidPipeline("the file has no [[stage]]".into()));
        }
        let mut entries: Vec<Entry<'_, '_>> = vec![];
        for item in stages {
            let entry = self.stage(&mut pipeline, item)?;
            if entries.iter().any(|e| e.name == entry.name) {
                let what = format!("two stages have the name `{}`", shown(entry.name));
                return Err(self.wrong(entry.line, what));
            }
            entries.push(entry);
        }
        for (index, entry) in entries.iter().enumerate() {
            self.wire(&mut pipeline, &entries, index, entry)?;
        }
        header.map_or(Ok(()), |table| self.header(&mut pipeline, &entries, table))?;
        Ok(pipeline)
    }

    /// `[pipeline]`: two keys of ours, and numbers that the reference needs in advance. Here they are
    /// arguments of a call.
    fn header(&self, pipeline: &mut Pipeline, entries: &[Entry<'_, '_>], table: &DeTable<'_>) -> Result<()> {
        for (key, item) in table {
            let name = key.get_ref().as_ref();
            let refuse = |expected: &str| {
                let error = Error::argument(format!("pipeline.{name}"), value(item.get_ref()), expected);
                Err(at(&self.line(key.span()), error))
            };
            match (name, value(item.get_ref())) {
                ("strict", Value::Flag(strict)) => pipeline.rules.strict = strict,
                ("strict", _) => return refuse("true or false"),
                ("generation", Value::Text(word)) => {
                    let Some(found) = Generation::ALL.into_iter().find(|g| g.name() == word) else {
                        return refuse("\"2026-05\" or \"2026-08\"");
                    };
                    pipeline.rules.generation = found;
                }
                ("generation", _) => return refuse("\"2026-05\" or \"2026-08\""),
                ("input_size" | "num_streams", Value::Int(0..)) | ("coloring", Value::Flag(_)) => {}
                ("input_size" | "num_streams", _) => return refuse("an integer from 0"),
                ("coloring", _) => return refuse("true or false"),
                ("pool_multiplier", Value::Int(_) | Value::Real(_)) => {}
                ("pool_multiplier", _) => return refuse("a number"),
                ("memory_strategy", Value::Text("PREALLOCATE" | "MINIMAL")) => {}
                ("memory_strategy", _) => return refuse("\"PREALLOCATE\" or \"MINIMAL\""),
                ("dims", _) if shape(item.get_ref()) => {}
                ("dims", _) => return refuse("an array of 1 to 3 integers from 0"),
                ("primary_source", Value::Text(stage)) if reads_array(pipeline, entries, stage) => {}
                ("primary_source", _) => return refuse("the name of a stage that reads the array"),
                (other, _) => {
                    let error = unknown("key", other, " of [pipeline]", &HEADER);
                    return Err(at(&self.line(key.span()), error));
                }
            }
        }
        Ok(())
    }

    fn stage<'a, 't>(&self, pipeline: &mut Pipeline, item: Item<'a, 't>) -> Result<Entry<'a, 't>> {
        let DeValue::Table(table) = item.get_ref() else {
            return Err(self.wrong(item.span(), "a stage must be a table, [[stage]]"));
        };
        let text = |key: &str| match table.get(key).map(|v| v.get_ref()) {
            Some(DeValue::String(text)) if !text.is_empty() => Ok(text.as_ref()),
            _ => Err(self.wrong(item.span(), format!("a [[stage]] requires {key}, a text in quotes"))),
        };
        let (name, kind) = (text("name")?, text("type")?);
        if name == ARRAY {
            return Err(self.wrong(
                item.span(),
                format!("{ARRAY} is the name of the array; give the stage another name"),
            ));
        }
        let line = |e| at(&self.line(item.span()), e);
        let of_type =
            |e| at(&self.line(table.get_key_value("type").map_or(item.span(), |(key, _)| key.span())), e);
        let stage = reference::stage(kind).map_err(of_type)?;
        let index = pipeline.add(stage.spec().name).map_err(line)?;
        if let Some(node) = pipeline.nodes.get_mut(index) {
            node.name = Some(shown(name));
        }
        let mut keys = Keys::new(stage.spec().name, pipeline.args_mut(index)?);
        for (key, item) in table {
            let name = key.get_ref().as_ref();
            if !["name", "type", "inputs"].contains(&name) {
                keys.set(name, value(item.get_ref())).map_err(|e| at(&self.line(key.span()), e))?;
            }
        }
        keys.finish().map_err(line)?;
        Ok(Entry { name, line: item.span(), inputs: table.get("inputs") })
    }

    /// Connects the inputs of one stage, in the order of its ports.
    fn wire(
        &self,
        pipeline: &mut Pipeline,
        all: &[Entry<'_, '_>],
        to: usize,
        entry: &Entry<'_, '_>,
    ) -> Result<()> {
        let Some(item) = entry.inputs else { return Ok(()) };
        let form = "inputs must be an array of { from = \"stage\", port = \"port\" }";
        let DeValue::Array(inputs) = item.get_ref() else { return Err(self.wrong(item.span(), form)) };
        for input in inputs.iter() {
            let DeValue::Table(table) = input.get_ref() else { return Err(self.wrong(input.span(), form)) };
            let (mut from, mut port) = (None, "output");
            for (key, value) in table {
                match (key.get_ref().as_ref(), value.get_ref()) {
                    ("from", DeValue::String(name)) => from = Some(name.as_ref()),
                    ("port", DeValue::String(name)) => port = name.as_ref(),
                    ("from" | "port", _) => return Err(self.wrong(value.span(), form)),
                    (other, _) => {
                        let error = unknown("key", other, " of inputs", &["from", "port"]);
                        return Err(at(&self.line(key.span()), error));
                    }
                }
            }
            let from = from.ok_or_else(|| self.wrong(input.span(), form))?;
            let line = |e| at(&self.line(input.span()), e);
            if from == ARRAY {
                pipeline.connect_array(to).map_err(line)?;
                continue;
            }
            let producer = all.iter().position(|e| e.name == from).ok_or_else(|| {
                let names: Vec<String> = all.iter().map(|e| shown(e.name)).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                line(unknown("stage named", from, " in the file", &names))
            })?;
            pipeline.connect(producer, port, to).map_err(line)?;
        }
        Ok(())
    }
}

/// The keys of `[pipeline]`.
const HEADER: [&str; 9] = [
    "strict",
    "generation",
    "input_size",
    "dims",
    "memory_strategy",
    "pool_multiplier",
    "num_streams",
    "primary_source",
    "coloring",
];

fn value<'a>(item: &'a DeValue<'_>) -> Value<'a> {
    match item {
        DeValue::String(text) => Value::Text(text),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(v) => Value::Int(v),
            Err(_) => Value::Other("a number beyond 64 bits"),
        },
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(v) if v.is_finite() || !number.as_str().contains(|c: char| c.is_ascii_digit()) => {
                Value::Real(v)
            }
            _ => Value::Other("a number beyond a double"),
        },
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(items) => Value::Names(items),
        DeValue::Table(_) => Value::Other("a table"),
    }
}

fn shape(item: &DeValue<'_>) -> bool {
    let DeValue::Array(dims) = item else { return false };
    (1..=3).contains(&dims.len()) && dims.iter().all(|d| matches!(value(d.get_ref()), Value::Int(0..)))
}

fn reads_array(pipeline: &Pipeline, entries: &[Entry<'_, '_>], name: &str) -> bool {
    let stage = entries.iter().position(|e| e.name == name).and_then(|i| pipeline.nodes.get(i));
    stage.is_some_and(|s| s.inputs.is_empty() || s.inputs.contains(&Source::Array))
}
