//! The description of a container, for users and programs.

use super::header::{Header, read, read_beginning};
use crate::base::array::Array;
use crate::base::environment::in_default_environment;
use crate::base::error::Result;
use crate::base::param::{ERROR_BOUND, OUTLIER_THRESHOLD, UNBOUNDED};
use crate::format::Container;
use crate::pipeline::{Pipeline, Source};
use crate::plan::BoundPipeline;

/// A container, described.
#[derive(Clone, Debug)]
pub struct Info {
    /// Which kind of container.
    pub container: Container,
    /// Type and shape of the array.
    pub array: Array,
    /// Bytes of the container.
    pub container_bytes: u64,
    /// Bytes of its header, which is all that this was read from.
    pub header_bytes: u64,
    /// True if the bound was kept for every value; `None`: the container does not state it.
    pub strict: Option<bool>,
    /// `abs`, `noa`, `rel`, `prel`, `lossless`, or `unbounded` where floats are rounded without a promise.
    pub mode: &'static str,
    /// The bound that was asked for, in the sense of the mode; 0 for lossless.
    pub bound: f64,
    /// The base of a relative bound: under mode noa the value range and under prel the largest magnitude, to
    /// the precision of a float. `None`: the container has no such number.
    pub value_base: Option<f64>,
    /// Values of this magnitude and above are exact.
    pub outlier_threshold: f64,
    /// The stages, producers first.
    pub stages: Vec<StageInfo>,
    /// The segments of the container.
    pub segments: Vec<SegmentInfo>,
}

/// A stage of a container.
#[derive(Clone, Debug)]
pub struct StageInfo {
    /// Its name.
    pub name: &'static str,
    /// Parameters with their values, including values that the run resolved.
    pub params: Vec<(&'static str, String)>,
    /// Per input port: the index of the producing stage and the name of its port; `None`: the array.
    pub inputs: Vec<Option<(usize, &'static str)>>,
}

/// A segment of a container.
#[derive(Clone, Debug)]
pub struct SegmentInfo {
    /// Index of the stage.
    pub stage: usize,
    /// Name of its output port.
    pub port: &'static str,
    /// Length.
    pub bytes: u64,
}

/// Describes a container without decoding it. Checksums are not compared.
///
/// # Errors
/// [`crate::Error::NotAContainer`], [`crate::Error::Corrupt`], [`crate::Error::Unsupported`].
pub fn info(container: &[u8]) -> Result<Info> {
    in_default_environment(|| describe(&read(container)?))
}

/// Describes a container from its beginning. `beginning` may be longer than the header; bytes after the
/// header are not read, and [`Info::container_bytes`] is the length that the header states.
///
/// # Errors
/// [`crate::Error::Truncated`] with the number of bytes for the next attempt, which never exceeds the length
/// of the container; otherwise as [`info`].
pub fn info_partial(beginning: &[u8]) -> Result<Info> {
    in_default_environment(|| describe(&read_beginning(beginning)?))
}

/// The description in a header.
pub(crate) fn describe(header: &Header) -> Result<Info> {
    let Header { bound: BoundPipeline { pipeline, array, graph, .. }, requested, segments, .. } = header;
    let ports = |node: usize| -> Result<&'static [&'static str]> {
        let node = &pipeline.nodes[node];
        node.stage.outputs(&node.args)
    };
    let mut stages = vec![];
    for (node, metadata) in pipeline.nodes.iter().zip(&header.metadata) {
        let params = node.stage.describe(&node.args, metadata);
        let mut inputs = vec![];
        for source in &node.inputs {
            inputs.push(match source {
                Source::Array => None,
                Source::Port { node, port } => Some((*node, ports(*node)?[*port])),
            });
        }
        stages.push(StageInfo { name: node.stage(), params, inputs });
    }
    let mut described = vec![];
    for (sink, range) in graph.sinks.iter().zip(segments) {
        described.push(SegmentInfo {
            stage: sink.node,
            port: ports(sink.node)?[sink.port],
            bytes: range.len() as u64,
        });
    }
    Ok(Info {
        container: header.container,
        array: *array,
        container_bytes: header.end as u64,
        header_bytes: header.bytes.len() as u64,
        strict: requested.strict,
        mode: mode(pipeline),
        bound: requested.bound,
        value_base: value_base(&stages),
        outlier_threshold: requested.threshold,
        stages,
        segments: described,
    })
}

impl Info {
    /// The error bound in the unit of the data; `None` if it differs from value to value or the container does not state it.
    pub fn absolute_bound(&self) -> Option<f64> {
        in_default_environment(|| match self.mode {
            "abs" => Some(self.bound),
            "noa" | "prel" => self.value_base.map(|base| self.bound * base),
            _ => None,
        })
    }
}

/// The base that the first stage with one states.
fn value_base(stages: &[StageInfo]) -> Option<f64> {
    let mut params = stages.iter().flat_map(|s| &s.params);
    let (_, value) = params.find(|(name, _)| ["value_range", "largest_magnitude"].contains(name))?;
    value.parse().ok()
}

/// The mode of the bound: that of the first lossy stage, unless another stage adds losses without bound.
fn mode(pipeline: &Pipeline) -> &'static str {
    let mut modes = pipeline.losing().filter_map(|n| n.stage.mode(&n.args));
    let first = modes.next().unwrap_or("lossless");
    let unbounded = modes.any(|m| m == UNBOUNDED) || pipeline.recoded_bound().is_some();
    if unbounded { UNBOUNDED } else { first }
}

/// The bound and the threshold of the pipeline; 0 and infinity for a lossless one.
pub(super) fn requested(pipeline: &Pipeline) -> (f64, f64) {
    let first = |name: &str| pipeline.losing().find_map(|n| n.args.real(name).ok());
    (first(ERROR_BOUND).unwrap_or(0.0), first(OUTLIER_THRESHOLD).unwrap_or(f64::INFINITY))
}
