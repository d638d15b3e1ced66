//! Containers: two formats with one common description.
//!
//! A header is a template that is fixed when the plan is made: literal bytes, and fields that the run fills
//! in. Writing a header concatenates them, without calls of stages. Reading returns a pipeline, an array, and
//! segment ranges, from which plans are made like any others.

mod compact;
pub(crate) mod device_tables;
mod fzm;
mod header;
mod info;
mod pipeline_of;
mod plan_tables;
mod single_tables;
mod template;

pub(crate) use header::{Header, read, read_from, read_front};
pub use header::{SERIES_MAGIC, SLAB_FILE_MAGIC};
pub(crate) use info::describe;
pub use info::{Info, SegmentInfo, StageInfo, info, info_partial};
pub use pipeline_of::pipeline_of;
pub(crate) use plan_tables::{Form, Tables, image};
pub(crate) use template::{Report, Template};

use crate::base::array::Array;
use crate::base::dtype::DType;
use crate::base::error::{Error, Result};
use crate::base::parallel::Parallel;
use crate::ir::stage::Rules;
use crate::ir::versions::has_extension;
use crate::pipeline::{Node, Pipeline, Source};
use crate::plan::BoundPipeline;

/// The form of the compressed bytes. Both describe themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// An FZM 3.1 file: about 2 KiB of header.
    Fzm,
    /// A compact frame: about 100 bytes.
    Compact,
}

/// The template of the headers of `plan`.
pub(crate) fn template(plan: &BoundPipeline, container: Container, checksum: bool) -> Result<Template> {
    match container {
        Container::Fzm => fzm::template(plan, checksum),
        Container::Compact => compact::template(plan, checksum),
    }
}

/// The bound pipeline as a reader of the containers of `plan` sees it: stages in their order there, with the parameters
/// that their configs record.
///
/// # Errors
/// What no reader could read back.
pub(crate) fn decoder_view(plan: &BoundPipeline, container: Container) -> Result<BoundPipeline> {
    let marked = container == Container::Compact || has_extension(plan.rules);
    let mut pipeline = Pipeline::new();
    let mut element = None;
    for &i in &plan.graph.order {
        let node = &plan.pipeline.nodes[i];
        let ports = plan.graph.nodes[i].ports();
        let versions = node.stage.versions();
        let config = versions.downgrade(plan.rules.generation, plan.graph.nodes[i].bound.config(ports)?)?;
        let mut config = versions.upgrade(&config.bytes)?;
        if marked {
            versions.resolve(&mut config, plan.rules.generation)?;
        }
        let parsed = node.stage.parse(&config)?;
        element = if pipeline.nodes.is_empty() { parsed.input } else { element };
        let at = |node: usize| plan.graph.order.iter().position(|&o| o == node).unwrap_or(0);
        let inputs = node.inputs.iter().map(|s| match *s {
            Source::Array => Source::Array,
            Source::Port { node, port } => Source::Port { node: at(node), port },
        });
        let inputs = if node.inputs.is_empty() { vec![Source::Array] } else { inputs.collect() };
        pipeline.nodes.push(Node::new(node.stage, parsed.args, inputs));
    }
    let padded = plan.padded_bytes();
    let array = if marked { plan.array } else { plain_array(element, padded)? };
    let rules = Rules { own_streams: false, ..plan.rules };
    BoundPipeline::new(pipeline, array, padded, rules).map_err(|e| match e {
        // A reader assumes outlier lists of maximum length.
        Error::TooLarge { .. } => e, // seed: too-large-is-said
        _ => {
            let what = "its first stage does not contain the element type, and files of 2026-05 with strict off have no other field for it; use strict or generation 2026-08";
            Error::Unsupported { stage: "fzm", what: what.into() }
        }
    })
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

/// CRC-32/ISO-HDLC over several ranges.
fn crc32(threads: Parallel<'_>, parts: &[&[u8]]) -> u32 {
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
