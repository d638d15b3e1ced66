//! Chains of stages on one line.
//!
//! ```text
//! chain = stage { ">" stage }
//! stage = name [ "(" [ parameter { "," parameter } ] ")" ] [ "." port ]
//! parameter = name "=" value
//! ```
//! A stage reads a port of the one before it: the first one unless another is named. Blanks mean nothing.

use super::{always_said, at, reference, shown, unknown};
use crate::base::error::{Error, Result};
use crate::ir::stage::Rules;
use crate::pipeline::{Node, Pipeline, Source};
use std::fmt::Write;

/// Short names of parameters, for lines that are typed.
pub(super) const SHORT: [(&str, &str); 10] = [
    ("eb", "error_bound"),
    ("radius", "quant_radius"),
    ("zigzag", "zigzag_codes"),
    ("inplace", "inplace_outliers"),
    ("capacity", "outlier_capacity"),
    ("threshold", "outlier_threshold"),
    ("width", "element_width"),
    ("block", "block_size"),
    ("chunk", "chunk_size"),
    ("word", "word_size"),
];

pub(super) fn read(text: &str) -> Result<Pipeline> {
    let mut line = Line { text, at: 0 };
    let mut pipeline = Pipeline::new();
    let mut port = line.stage(&mut pipeline)?;
    while line.takes('>') {
        let producer = pipeline.nodes.len() - 1;
        let node = pipeline.nodes.get(producer).ok_or(Error::Internal("a chain without a stage"))?;
        let first = node.stage.outputs(&node.args)?.first().copied().unwrap_or_default();
        let (column, name) = port.unwrap_or((0, first));
        port = line.stage(&mut pipeline)?;
        pipeline.connect(producer, name, producer + 1).map_err(|e| at(&line.column(column), e))?;
    }
    if !line.rest().is_empty() {
        return Err(line.expected("`>` or the end"));
    }
    port.map_or(Ok(pipeline), |(column, name)| {
        let what = format!("no stage reads the port {name}; the last stage of a chain must not name a port");
        Err(at(&line.column(column), Error::InvalidPipeline(what)))
    })
}

struct Line<'t> {
    text: &'t str,
    /// Bytes that are read.
    at: usize,
}

impl<'t> Line<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn takes(&mut self, sign: char) -> bool {
        self.blanks();
        let there = self.rest().starts_with(sign);
        self.at += if there { sign.len_utf8() } else { 0 };
        self.blanks();
        there
    }

    fn column(&self, at: usize) -> String {
        format!("column {}", 1 + self.text.get(..at).unwrap_or_default().chars().count())
    }

    fn expected(&self, what: &str) -> Error {
        let found = self
            .rest()
            .chars()
            .next()
            .map_or("the end".into(), |c| format!("`{}`", shown(c.encode_utf8(&mut [0; 4]))));
        at(&self.column(self.at), Error::InvalidPipeline(format!("expected {what}, found {found}")))
    }

    /// Letters, digits and the signs of `more`, and where they start.
    fn word(&mut self, what: &str, more: &str) -> Result<(usize, &'t str)> {
        self.blanks();
        let (start, rest) = (self.at, self.rest());
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !more.contains(c)).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.expected(what));
        }
        self.at += end;
        Ok((start, &rest[..end]))
    }

    /// Adds a stage; returns the port that the next one reads, when one is named.
    fn stage(&mut self, pipeline: &mut Pipeline) -> Result<Option<(usize, &'t str)>> {
        let (start, name) = self.word("a stage", "_")?;
        let here = |line: &Self, e| at(&line.column(start), e);
        let stage = reference::stage(name).map_err(|e| here(self, e))?;
        let node = pipeline.add(stage.spec().name).map_err(|e| here(self, e))?;
        if self.takes('(') && !self.takes(')') {
            let mut given = vec![];
            loop {
                self.parameter(pipeline, node, &mut given)?;
                if self.takes(')') {
                    break;
                }
                if !self.takes(',') {
                    return Err(self.expected("`,` or `)`"));
                }
            }
        }
        if self.takes('.') { self.word("a port", "_").map(Some) } else { Ok(None) }
    }

    fn parameter(&mut self, pipeline: &mut Pipeline, node: usize, given: &mut Vec<&'t str>) -> Result<()> {
        let (start, word) = self.word("a parameter", "_")?;
        let place = self.column(start);
        let args = pipeline.args_mut(node)?;
        let name = SHORT.iter().find(|(s, long)| *s == word && args.has(long)).map_or(word, |(_, long)| long);
        if !args.has(name) {
            let mut known: Vec<&str> = args.iter().map(|(p, _)| p.name).collect();
            known.extend(SHORT.iter().filter(|(_, long)| args.has(long)).map(|(short, _)| short));
            return Err(at(&place, unknown("parameter", word, "", &known)));
        }
        if given.contains(&name) {
            return Err(at(&place, Error::InvalidPipeline(format!("{name} is set twice"))));
        }
        given.push(name);
        if !self.takes('=') {
            return Err(self.expected("`=`"));
        }
        let (_, value) = self.word("a value", "_.+-")?;
        pipeline.args_mut(node)?.set_text(name, value).map_err(|e| at(&place, e))
    }
}

pub(super) fn write(pipeline: &Pipeline) -> Result<String> {
    if pipeline.rules != Rules::default() {
        let what = "it sets strict = false or a generation, which chains cannot express; write it as TOML";
        return Err(Error::InvalidPipeline(what.into()));
    }
    let mut text = String::new();
    let mut now = only(pipeline, Source::Array)?;
    let mut left = pipeline.nodes.len();
    while let Some((index, node)) = now {
        describe(&mut text, node);
        left -= 1;
        // Writing to a string does not fail.
        now = match next(pipeline, index)? {
            Some((port, consumer)) => {
                let ports = node.stage.outputs(&node.args)?;
                // seed: notation-port
                if port > 0 {
                    let name = ports
                        .get(port)
                        .ok_or_else(|| no_chain("a port is read that its stage does not have"))?;
                    let _ = write!(text, ".{name}");
                }
                text.push_str(" > ");
                Some(consumer)
            }
            None => None,
        };
    }
    if left > 0 || text.is_empty() {
        return Err(no_chain("it has stages that are not connected to the array"));
    }
    Ok(text)
}

fn no_chain(why: &str) -> Error {
    Error::InvalidPipeline(format!("it is not a chain: {why}; write it as TOML"))
}

/// The stage that reads this and nothing else, when no other reads it too.
fn only(pipeline: &Pipeline, from: Source) -> Result<Option<(usize, &Node)>> {
    let reads = |n: &Node| match n.inputs.as_slice() {
        [] => from == Source::Array,
        inputs => inputs.contains(&from),
    };
    let mut readers = pipeline.nodes.iter().enumerate().filter(|(_, n)| reads(n));
    let first = readers.next();
    if readers.next().is_some() || first.is_some_and(|(_, n)| n.inputs.len() > 1) {
        return Err(no_chain("two stages read the same port, or one stage reads two ports"));
    }
    Ok(first)
}

/// The port of a stage that is read, and by which stage.
fn next(pipeline: &Pipeline, node: usize) -> Result<Option<(usize, (usize, &Node))>> {
    let mut found = None;
    for port in 0..pipeline.nodes.get(node).map_or(Ok(0), |n| n.stage.outputs(&n.args).map(<[_]>::len))? {
        if let Some(reader) = only(pipeline, Source::Port { node, port })? {
            if found.replace((port, reader)).is_some() {
                return Err(no_chain("two ports of a stage are read"));
            }
        }
    }
    Ok(found)
}

fn describe(text: &mut String, node: &Node) {
    text.push_str(node.stage());
    let set = node.args.iter().filter(|(p, value)| always_said(p.name) || **value != p.default);
    let set: Vec<String> = set
        .map(|(p, value)| {
            let short = SHORT.iter().find(|(_, long)| *long == p.name).map_or(p.name, |(short, _)| short);
            format!("{short}={value}")
        })
        .collect();
    if !set.is_empty() {
        let _ = write!(text, "({})", set.join(","));
    }
}
