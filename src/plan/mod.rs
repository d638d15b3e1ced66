//! The compiled form of a pipeline for one array and one direction: immutable, shared by any number of
//! threads. All that changes while it runs is a [`crate::Workspace`].

mod dump;
mod equip;
mod fuse;
mod graph;
mod layout;
mod lower;
mod pad;
mod verify;

use crate::arena::ALIGN;
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

/// What runs a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The CPU backend.
    Cpu,
    /// A GPU.
    Cuda,
}

/// How a plan is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Making {
    /// Whether kernels are chained.
    pub(crate) fuse: bool,
    /// What runs it.
    pub(crate) target: Target,
    /// Encoding for a device: the head of the container has a known length, so that its first segment can be written
    /// where it belongs.
    pub(crate) straight: bool,
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
    pub(crate) target: Target,
    /// Bytes that the steps need zeroed on a device.
    pub(crate) zeroed_bytes: u64,
}

impl Plan {
    /// Plans the encoding of `array`, padded to `padded` bytes.
    pub(crate) fn encode(
        pipeline: &Pipeline,
        array: Array,
        padded: u64,
        rules: Rules,
        making: Making,
    ) -> Result<Plan> {
        let graph = Graph::new(pipeline, array, padded, rules)?;
        Plan::compile(pipeline, array, rules, graph, Direction::Encode, making)
    }

    /// Plans the decoding of what [`Plan::encode`] with the same arguments encodes. With `lengths` the memory
    /// is that of one container, without that of the longest.
    pub(crate) fn decode(
        pipeline: &Pipeline,
        array: Array,
        padded: u64,
        rules: Rules,
        known: Option<(&[Length], &[u64])>,
        making: Making,
    ) -> Result<Plan> {
        let mut graph = Graph::new(pipeline, array, padded, rules)?;
        if let Some((inputs, segments)) = known {
            for (value, bytes) in graph.lengths(inputs, segments)?.into_iter().enumerate() {
                let extent = &mut graph.values[value].flow.extent;
                if let Extent::Dynamic { min, .. } = *extent {
                    *extent = Extent::Dynamic { min, max: bytes };
                }
            }
        }
        Plan::compile(pipeline, array, rules, graph, Direction::Decode, making)
    }

    fn compile(
        pipeline: &Pipeline,
        array: Array,
        rules: Rules,
        mut graph: Graph,
        direction: Direction,
        making: Making,
    ) -> Result<Plan> {
        let Making { fuse, target, straight } = making;
        let steps = lower::lower(pipeline, &mut graph, rules, direction)?;
        let mut steps = if fuse { fuse::fuse(&graph, steps, target) } else { steps };
        let mut zeroed_bytes = 0;
        if target == Target::Cuda {
            zeroed_bytes = equip::equip(&mut graph, &mut steps)?;
            layout::in_container(&mut graph, &steps, direction, straight);
        }
        let arena_bytes = layout::assign(&mut graph, &steps, direction);
        let pipeline = pipeline.clone();
        let plan =
            Plan { direction, pipeline, array, rules, graph, steps, arena_bytes, target, zeroed_bytes };
        verify::verify(&plan)?;
        Ok(plan)
    }

    /// Which way data flows.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The pipeline that it was made from.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The array that goes in or comes out.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// Bytes of working memory of a call, wherever they start, without what the system needs for threads.
    pub fn workspace_bytes(&self) -> u64 {
        self.arena_bytes + ALIGN + 8 * self.graph.values.len() as u64
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
