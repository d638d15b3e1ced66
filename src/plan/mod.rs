//! The compiled form of a pipeline for one array and one direction: immutable, shared by any number of
//! threads. All that changes while it runs is a [`crate::Workspace`].

mod dump;
mod fuse;
mod graph;
mod layout;
mod lower;
mod pad;
mod verify;

use crate::array::Array;
use crate::error::Result;
use crate::extent::Extent;
use crate::launch::{Place, Step, Val, Value};
use crate::pipeline::Pipeline;
use crate::stage::{Length, Rules};
pub(crate) use graph::{Graph, NodeValues};

/// Which way data flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Array to segments.
    Encode,
    /// Segments to array.
    Decode,
}

/// What a container describes: the pipeline, the array, and the values on the edges between them.
#[derive(Clone, Copy)]
pub(crate) struct Blueprint<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) array: Array,
    pub(crate) rules: Rules,
    pub(crate) graph: &'a Graph,
}

/// Steps over values, each value with its place in memory.
pub struct Plan {
    pub(crate) direction: Direction,
    pub(crate) pipeline: Pipeline,
    pub(crate) array: Array,
    pub(crate) rules: Rules,
    pub(crate) graph: Graph,
    pub(crate) steps: Vec<Step>,
    pub(crate) arena_bytes: u64,
}

impl Plan {
    /// Plans the encoding of `array`, padded to `padded` bytes.
    pub(crate) fn encode(
        pipeline: &Pipeline,
        array: Array,
        padded: u64,
        rules: Rules,
        fuse: bool,
    ) -> Result<Plan> {
        let graph = Graph::new(pipeline, array, padded, rules)?;
        Plan::compile(pipeline, array, rules, graph, Direction::Encode, fuse)
    }

    /// Plans the decoding of what [`Plan::encode`] with the same arguments encodes. With `lengths` the memory
    /// is that of one container, without that of the longest.
    pub(crate) fn decode(
        pipeline: &Pipeline,
        array: Array,
        padded: u64,
        rules: Rules,
        known: Option<(&[Length], &[u64])>,
        fuse: bool,
    ) -> Result<Plan> {
        let mut graph = Graph::new(pipeline, array, padded, rules)?;
        if let Some((inputs, segments)) = known {
            for (value, bytes) in graph.lengths(inputs, segments)?.into_iter().enumerate() {
                let extent = &mut graph.values[value].flow.extent;
                if extent.is_dynamic() {
                    *extent = Extent::Dynamic { max: bytes };
                }
            }
        }
        Plan::compile(pipeline, array, rules, graph, Direction::Decode, fuse)
    }

    fn compile(
        pipeline: &Pipeline,
        array: Array,
        rules: Rules,
        mut graph: Graph,
        direction: Direction,
        fuse: bool,
    ) -> Result<Plan> {
        let steps = lower::lower(pipeline, &mut graph, rules, direction)?;
        let steps = if fuse { fuse::fuse(&graph, steps) } else { steps };
        let arena_bytes = layout::assign(&mut graph, &steps, direction);
        let plan = Plan { direction, pipeline: pipeline.clone(), array, rules, graph, steps, arena_bytes };
        verify::verify(&plan)?;
        Ok(plan)
    }

    /// Which way data flows.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The array that goes in or comes out.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// Bytes of working memory of a call, without what the system needs for threads.
    pub fn workspace_bytes(&self) -> u64 {
        self.arena_bytes + 8 * self.graph.values.len() as u64
    }

    pub(crate) fn blueprint(&self) -> Blueprint<'_> {
        Blueprint { pipeline: &self.pipeline, array: self.array, rules: self.rules, graph: &self.graph }
    }

    pub(crate) fn value(&self, v: Val) -> &Value {
        &self.graph.values[v.index()]
    }

    /// The value that owns the storage of `v`.
    pub(crate) fn root(&self, v: Val) -> Val {
        self.graph.root(v)
    }

    pub(crate) fn place(&self, v: Val) -> Place {
        self.value(self.root(v)).place
    }
}
