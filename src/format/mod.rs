//! Containers: two borders over one report.
//!
//! A head is a template fixed when the plan is made: literal bytes and fields that the run fills in. Writing
//! is putting them one after the other; nobody asks a stage what happened. Reading gives a pipeline, an array
//! and segment ranges, and then plans are made as always.

mod compact;
mod fzm;
mod head;
mod info;
mod template;
mod tier;

pub(crate) use head::{Head, read};
pub use info::{Info, SegmentInfo, StageInfo, info};
pub(crate) use template::{Report, Template};

use crate::error::Result;
use crate::pipeline::{Node, Pipeline, Source};
use crate::plan::Blueprint;

/// The form of the compressed bytes. Both describe themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// An FZM 3.1 file: about 2 KiB of header.
    Fzm,
    /// A compact frame: about 100 bytes.
    Compact,
}

/// The template of what `plan` writes.
pub(crate) fn template(plan: Blueprint<'_>, container: Container, checksum: bool) -> Result<Template> {
    match container {
        Container::Fzm => fzm::template(plan, checksum),
        Container::Compact => compact::template(plan, checksum),
    }
}

/// The pipeline as a reader of its containers sees it: in their order of stages, with the parameters that
/// their configs carry.
pub(crate) fn as_read(plan: Blueprint<'_>, container: Container) -> Result<Pipeline> {
    let mut read = Pipeline::new();
    let flow = |v| plan.graph.flow(v);
    for &i in &plan.graph.order {
        let node = &plan.pipeline.nodes[i];
        let config = node.stage.config(&node.args, plan.graph.nodes[i].ports(), plan.rules, &flow)?;
        let id = node.stage.spec().id;
        let mut config = tier::reread(id, plan.rules.generation, config)?;
        if container == Container::Compact || tier::has_extension(plan.rules) {
            tier::settle(id, &mut config, plan.rules.generation)?;
        }
        let args = node.stage.parse(&config)?.args;
        let at = |node: usize| plan.graph.order.iter().position(|&o| o == node).unwrap_or(0);
        let inputs = node.inputs.iter().map(|s| match *s {
            Source::Array => Source::Array,
            Source::Port { node, port } => Source::Port { node: at(node), port },
        });
        let inputs = if node.inputs.is_empty() { vec![Source::Array] } else { inputs.collect() };
        read.nodes.push(Node { stage: node.stage, args, inputs });
    }
    Ok(read)
}

/// The pipeline that a reader sees in a stored array.
pub(crate) fn as_read_stored() -> Result<Pipeline> {
    let mut p = Pipeline::new();
    let i = p.add("stored")?;
    p.nodes[i].inputs = vec![Source::Array];
    Ok(p)
}

/// CRC-32/ISO-HDLC over several ranges.
fn crc32(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|p| hasher.update(p));
    hasher.finalize()
}
