//! The pipeline with types and lengths on its edges.

use crate::base::array::Array;
use crate::base::dtype::DType;
use crate::base::edge_type::{ByteLength, EdgeType};
use crate::base::error::{Error, Result};
use crate::ir::stage::{BoundStage, Length, Ports, Rules};
use crate::ir::value::{Place, Val, Value};
use crate::pipeline::{MAX_STAGES, Pipeline, Source};
use std::sync::Arc;

/// Ports of one kind that a record of the container can list.
const MAX_PORTS: usize = 8;

/// A bound stage and its values.
#[derive(Clone)]
pub(crate) struct NodeValues {
    pub(crate) bound: Arc<dyn BoundStage>,
    pub(crate) inputs: Vec<Val>,
    pub(crate) outputs: Vec<Val>,
    pub(crate) metadata: Val,
}

impl NodeValues {
    pub(crate) fn ports(&self) -> Ports<'_> {
        Ports { inputs: &self.inputs, outputs: &self.outputs, metadata: self.metadata }
    }
}

/// An output port without a consumer: a segment of the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sink {
    pub(crate) node: usize,
    pub(crate) port: usize,
    pub(crate) value: Val,
}

/// Bound stages and the values on the edges between them, the same for both directions.
#[derive(Clone)]
pub(crate) struct Graph {
    /// Value 0 is the caller's array.
    pub(crate) values: Vec<Value>,
    /// By index in the pipeline.
    pub(crate) nodes: Vec<NodeValues>,
    /// Indices in the order of the container: by distance from the array, then as added.
    pub(crate) order: Vec<usize>,
    /// In the order of the container: last stage first, ports ascending.
    pub(crate) sinks: Vec<Sink>,
    /// The padded array; the array itself where nothing is padded.
    pub(crate) source: Val,
    pub(crate) array_bytes: u64,
}

impl Graph {
    pub(crate) fn new(pipeline: &Pipeline, array: Array, padded: u64, rules: Rules) -> Result<Graph> {
        #[cfg(test)]
        crate::base::tally::count(|t| t.graphs += 1);
        let order = order(pipeline)?;
        let mut g = Graph {
            values: vec![],
            nodes: vec![],
            order,
            sinks: vec![],
            source: Val::ARRAY,
            array_bytes: array.bytes(),
        };
        g.push(EdgeType::fixed(array.dtype(), array.bytes()));
        if padded > array.bytes() {
            g.source = g.push(EdgeType::fixed(array.dtype(), padded));
        }
        let mut nodes: Vec<Option<NodeValues>> = pipeline.nodes.iter().map(|_| None).collect();
        for &i in &g.order.clone() {
            nodes[i] = Some(g.node(pipeline, i, &nodes, rules)?);
        }
        g.nodes = nodes.into_iter().flatten().collect();
        g.sinks = g.find_sinks();
        Ok(g)
    }

    fn push(&mut self, edge: EdgeType) -> Val {
        self.values.push(Value { edge, place: Place::Dead, alias: None, feeds: false, checks_room: false });
        Val(self.values.len() as u32 - 1)
    }

    pub(crate) fn edge(&self, v: Val) -> EdgeType {
        self.values[v.index()].edge
    }

    /// The value that owns the storage of `v`.
    pub(crate) fn root(&self, mut v: Val) -> Val {
        while let Some(of) = self.values[v.index()].alias {
            v = of;
        }
        v
    }

    fn node(
        &mut self,
        pipeline: &Pipeline,
        i: usize,
        done: &[Option<NodeValues>],
        rules: Rules,
    ) -> Result<NodeValues> {
        let node = &pipeline.nodes[i];
        let mut inputs = vec![];
        for source in sources(pipeline, i) {
            inputs.push(match source {
                Source::Array => self.source,
                Source::Port { node: from, port } => {
                    let from = done.get(from).and_then(Option::as_ref);
                    from.and_then(|n| n.outputs.get(port).copied()).ok_or_else(|| {
                        Error::InvalidPipeline(format!(
                            "{} reads a port that its producer does not have under its parameters",
                            pipeline.label(i)
                        ))
                    })?
                }
            });
        }
        inputs.iter().for_each(|v| self.values[v.index()].feeds = true);
        let edges: Vec<EdgeType> = inputs.iter().map(|&v| self.edge(v)).collect();
        let bound = node.stage.bind(&node.args, &edges, rules).map_err(|e| pipeline.in_stage(i, e))?;
        let edges = bound.outputs();
        if edges.len() != node.stage.outputs(&node.args)?.len()
            || edges.len() > MAX_PORTS
            || inputs.len() > MAX_PORTS
        {
            return Err(Error::Internal("a stage infers another number of ports than it has"));
        }
        let outputs = edges.into_iter().map(|f| self.push(f)).collect();
        let metadata = self.push(EdgeType::fixed(DType::U8, node.stage.metadata_bytes()));
        Ok(NodeValues { bound, inputs, outputs, metadata })
    }

    /// The most memory that decoders on the CPU allocate besides the values, if one after the other frees its own.
    pub(crate) fn decoder_memory(&self) -> u64 {
        let of = |node: &NodeValues| {
            let outputs: Vec<u64> = node.outputs.iter().map(|&v| self.edge(v).max_bytes()).collect();
            node.bound.decoder_memory(&outputs)
        };
        self.nodes.iter().map(of).max().unwrap_or(0)
    }

    /// Stages that read `v`, in the order of the container.
    pub(crate) fn consumers(&self, v: Val) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().copied().filter(move |&i| self.nodes[i].inputs.contains(&v))
    }

    fn find_sinks(&self) -> Vec<Sink> {
        let mut sinks = vec![];
        for &node in self.order.iter().rev() {
            for (port, &value) in self.nodes[node].outputs.iter().enumerate() {
                if self.consumers(value).next().is_none() {
                    sinks.push(Sink { node, port, value });
                }
            }
        }
        sinks
    }

    /// The length of every value, from the lengths that a container states for inputs of its stages (by
    /// index) and for its segments (in the order of [`Graph::sinks`]). Each length is checked against the
    /// limits of the pipeline.
    pub(crate) fn lengths(&self, inputs: &[Length], segments: &[u64]) -> Result<Vec<u64>> {
        let mut lengths: Vec<u64> = self.values.iter().map(|v| v.edge.max_bytes()).collect();
        let mut state = |v: Val, bytes: u64| {
            let what = |but: String| {
                Error::corrupt("lengths", format!("a value of {bytes} bytes is stated where {but}"))
            };
            match self.edge(v).length {
                ByteLength::Static(n) if n != bytes => Err(what(format!("it must have {n}"))),
                ByteLength::Dynamic { min, .. } if bytes < min => Err(what(format!("it has at least {min}"))),
                ByteLength::Dynamic { max, .. } if bytes > max => Err(what(format!("it has at most {max}"))),
                _ => Ok(bytes),
            }
            .map(|bytes| lengths[v.index()] = bytes)
            .map(|()| bytes)
        };
        let mut known = vec![None; self.values.len()];
        for (sink, &bytes) in self.sinks.iter().zip(segments) {
            known[sink.value.index()] = Some(state(sink.value, bytes)?);
        }
        for &i in self.order.iter().rev() {
            let node = &self.nodes[i];
            for (k, &input) in node.inputs.iter().enumerate() {
                let bytes = match inputs.get(i) {
                    Some(Length::Bytes(bytes)) => Some(*bytes),
                    Some(Length::OfOutput) => node.outputs.first().and_then(|v| known[v.index()]),
                    Some(Length::Each(all)) => all.get(k).copied(),
                    None => None,
                };
                let bytes =
                    bytes.ok_or_else(|| Error::corrupt("lengths", "the length of an edge is not stated"))?;
                if known[input.index()].is_some_and(|other| other != bytes) {
                    return Err(Error::corrupt(
                        "lengths",
                        "two stages state different lengths of what both read",
                    ));
                }
                known[input.index()] = Some(state(input, bytes)?);
            }
        }
        Ok(lengths)
    }
}

/// The sources of the input ports of a stage. A stage without connections reads the array.
fn sources(pipeline: &Pipeline, i: usize) -> Vec<Source> {
    let node = &pipeline.nodes[i];
    if node.inputs.is_empty() { vec![Source::Array] } else { node.inputs.clone() }
}

/// Names the cycle that keeps stage `start` from a level: each stage without a level reads another one, or itself.
fn cycle(pipeline: &Pipeline, start: usize, level: &[Option<usize>]) -> String {
    let unplaced = |i: usize| {
        pipeline.nodes[i].inputs.iter().find_map(|source| match source {
            Source::Port { node, .. } if level.get(*node).is_some_and(Option::is_none) => Some(*node),
            _ => None,
        })
    };
    // Against the direction of the data, until a stage comes again.
    let mut seen = vec![start];
    let mut next = unplaced(start);
    while let Some(node) = next.filter(|node| !seen.contains(node)) {
        seen.push(node);
        next = unplaced(node);
    }
    let first = seen.iter().position(|node| Some(*node) == next).unwrap_or(0);
    let name = |&i: &usize| pipeline.label(i);
    let names: Vec<String> = seen[first..].iter().rev().chain(seen.last()).map(name).collect();
    format!("the stages form a cycle: {}; remove one of these connections", names.join(" > "))
}

/// Checks the shape of the graph and puts producers before consumers.
fn order(pipeline: &Pipeline) -> Result<Vec<usize>> {
    let invalid = |what: String| Err(Error::InvalidPipeline(what));
    let nodes = &pipeline.nodes;
    if nodes.is_empty() {
        return invalid("it has no stages".into());
    }
    if nodes.len() > MAX_STAGES {
        return invalid(format!("it has more than {MAX_STAGES} stages"));
    }
    let mut level = vec![None; nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        let sources = sources(pipeline, i);
        let ports = node.stage.inputs(&node.args)?;
        if sources.len() != ports {
            return invalid(match pipeline.ports(i) {
                Some(inputs) => format!(
                    "{inputs}: names {ports}, connected inputs {}; connect an input for each name, or change the names",
                    node.inputs.len()
                ),
                None => format!("{} has {} of its {ports} inputs", pipeline.label(i), sources.len()),
            });
        }
        if sources.contains(&Source::Array) {
            level[i] = Some(0);
        }
    }
    let headers: Vec<String> =
        (0..nodes.len()).filter(|&i| level[i].is_some()).map(|i| pipeline.label(i)).collect();
    if headers.len() != 1 {
        return invalid(match headers.len() {
            0 => format!("no stage reads the array, because {}", cycle(pipeline, 0, &level)),
            _ => format!(
                "{} all read the array; connect all but one of them to another stage",
                headers.join(", ")
            ),
        });
    }
    // A stage is one step further from the array than its furthest producer; stages in a cycle are never
    // placed.
    for _ in 0..nodes.len() {
        for (i, node) in nodes.iter().enumerate() {
            let producers = node.inputs.iter().map(|s| match s {
                Source::Array => Some(0),
                Source::Port { node, .. } => level.get(*node).copied().flatten().map(|l| l + 1),
            });
            if let (None, Some(l)) =
                (level[i], producers.collect::<Option<Vec<usize>>>().and_then(|l| l.into_iter().max()))
            {
                level[i] = Some(l);
            }
        }
    }
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    if let Some(i) = level.iter().position(Option::is_none) {
        return invalid(cycle(pipeline, i, &level));
    }
    order.sort_by_key(|&i| level[i]);
    Ok(order)
}
