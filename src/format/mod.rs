//! Containers: two borders over one report.
//!
//! A head is a template fixed when the plan is made: literal bytes and fields that the run fills in. Writing
//! is putting them one after the other; nobody asks a stage what happened. Reading gives a pipeline, an array
//! and segment ranges, and then plans are made as always.

mod compact;
mod fzm;
mod head;
mod image;
mod info;
mod recipe;
mod template;
mod tier;

pub(crate) use head::{Head, read, read_from};
pub(crate) use image::{Form, Tables, image};
pub(crate) use info::describe;
pub use info::{Info, SegmentInfo, StageInfo, info, info_partial};
pub use recipe::pipeline_of;
pub(crate) use template::{Report, Template};

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::Threads;
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

/// What a reader of a container makes of its head.
pub(crate) struct Seen {
    pub(crate) pipeline: Pipeline,
    pub(crate) array: Array,
}

/// The pipeline and the array as a reader of the containers of `plan` sees them: stages in their order there,
/// with the parameters that their configs carry.
pub(crate) fn as_read(plan: Blueprint<'_>, container: Container) -> Result<Seen> {
    let marked = container == Container::Compact || tier::has_extension(plan.rules);
    let mut pipeline = Pipeline::new();
    let mut element = None;
    for &i in &plan.graph.order {
        let node = &plan.pipeline.nodes[i];
        let ports = plan.graph.nodes[i].ports();
        let config = node.stage.config(&node.args, ports, plan.rules, &|v| plan.graph.flow(v))?;
        let id = node.stage.spec().id;
        let mut config = tier::reread(id, plan.rules.generation, config)?;
        if marked {
            tier::settle(id, &mut config, plan.rules.generation)?;
        }
        let parsed = node.stage.parse(&config)?;
        element = if pipeline.nodes.is_empty() { parsed.input } else { element };
        let at = |node: usize| plan.graph.order.iter().position(|&o| o == node).unwrap_or(0);
        let inputs = node.inputs.iter().map(|s| match *s {
            Source::Array => Source::Array,
            Source::Port { node, port } => Source::Port { node: at(node), port },
        });
        let inputs = if node.inputs.is_empty() { vec![Source::Array] } else { inputs.collect() };
        pipeline.nodes.push(Node { stage: node.stage, args: parsed.args, inputs });
    }
    let padded = plan.graph.flow(plan.graph.source).max_bytes();
    let array = if marked { plan.array } else { plain_array(element, padded)? };
    Ok(Seen { pipeline, array })
}

/// The array of a file without an extension block: one dimension, padded length, the type that the first stage
/// works on.
fn plain_array(element: Option<DType>, padded: u64) -> Result<Array> {
    let dtype = element.unwrap_or(DType::U8);
    let damaged = |what: String| Error::corrupt("core header", what);
    if padded % dtype.bytes() != 0 {
        return Err(damaged(format!("{padded} bytes are no whole number of {dtype}")));
    }
    Array::new(dtype, &[padded / dtype.bytes()]).map_err(|e| damaged(e.to_string()))
}

/// The pipeline that a reader sees in a stored array.
pub(crate) fn as_read_stored() -> Result<Pipeline> {
    let mut p = Pipeline::new();
    let i = p.add("stored")?;
    p.nodes[i].inputs = vec![Source::Array];
    Ok(p)
}

/// CRC-32/ISO-HDLC over several ranges.
fn crc32(threads: Threads<'_>, parts: &[&[u8]]) -> u32 {
    /// Bytes that are worth a task of their own.
    const PIECE: usize = 1 << 20;
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        let piece = |k: usize| {
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&part[k * PIECE..part.len().min((k + 1) * PIECE)]);
            hasher
        };
        threads.map(part.len().div_ceil(PIECE), piece).iter().for_each(|h| hasher.combine(h));
    }
    hasher.finalize()
}
