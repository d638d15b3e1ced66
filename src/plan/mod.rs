//! The compiled form of a pipeline for one array and one direction: immutable, shared by any number of
//! threads. All that changes while it runs is a [`crate::Workspace`].

mod dump;
mod fuse;
mod fused_kernels;
mod graph;
mod layout;
mod lower;
mod pad;
mod select_kernels;
mod verify;

use crate::base::arena::ALIGN;
use crate::base::array::Array;
use crate::base::edge_type::ByteLength;
use crate::base::error::{Error, Fault, Result};
use crate::ir::device::{KEPT_BYTES, KernelLaunch};
use crate::ir::stage::{Length, Rules, explain};
use crate::ir::step::Step;
use crate::ir::value::{Place, Val, Value};
use crate::pipeline::Pipeline;
pub(crate) use graph::{Graph, NodeValues};
use std::sync::atomic::{AtomicU64, Ordering};

/// Direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Array to segments.
    Encode,
    /// Segments to array.
    Decode,
}

/// The backend of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The CPU backend.
    Cpu,
    /// A GPU.
    Cuda,
}

/// How a plan is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompileOptions {
    /// True if kernels are fused.
    pub(crate) fuse: bool,
    /// The backend.
    pub(crate) target: Target,
    /// Encoding for a device: the header of the container has a known length, so that its first segment can be written
    /// where it belongs.
    pub(crate) direct_output: bool,
}

/// A pipeline bound to an array: the description in a container, and the input of the plans of both
/// directions and both backends.
#[derive(Clone)]
pub(crate) struct BoundPipeline {
    pub(crate) pipeline: Pipeline,
    pub(crate) array: Array,
    pub(crate) rules: Rules,
    pub(crate) graph: Graph,
}

impl BoundPipeline {
    /// Binds all stages for `array`, padded to `padded` bytes.
    pub(crate) fn new(pipeline: Pipeline, array: Array, padded: u64, rules: Rules) -> Result<BoundPipeline> {
        let graph = Graph::new(&pipeline, array, padded, rules)?;
        Ok(BoundPipeline { pipeline, array, rules, graph })
    }

    /// Bytes of the array with its padding.
    pub(crate) fn padded_bytes(&self) -> u64 {
        self.graph.edge(self.graph.source).max_bytes()
    }

    /// Most bytes of all segments.
    pub(crate) fn payload_bound(&self) -> u64 {
        self.graph.sinks.iter().map(|s| self.graph.edge(s.value).max_bytes()).sum()
    }

    /// The same with the lengths of one container, so that a plan has the memory for this one and not for the longest.
    pub(crate) fn narrowed(&self, inputs: &[Length], segments: &[u64]) -> Result<BoundPipeline> {
        let mut narrowed = self.clone();
        for (value, bytes) in self.graph.lengths(inputs, segments)?.into_iter().enumerate() {
            let extent = &mut narrowed.graph.values[value].edge.length;
            if let ByteLength::Dynamic { min, .. } = *extent {
                *extent = ByteLength::Dynamic { min, max: bytes };
            }
        }
        Ok(narrowed)
    }

    /// The same for the containers of `encoder`, of which this is the view of a reader: with the encoder's limits of the values that feed
    /// another stage, such as outlier lists that are merged. `None`: they are the same.
    pub(crate) fn of_containers(&self, encoder: &BoundPipeline) -> Option<BoundPipeline> {
        let mut limited = self.clone();
        let mut shorter = false;
        for (node, &i) in self.graph.nodes.iter().zip(&encoder.graph.order) {
            for (own, theirs) in node.outputs.iter().zip(&encoder.graph.nodes[i].outputs) {
                let most = encoder.graph.edge(*theirs).max_bytes();
                let Value { edge, feeds: true, .. } = &mut limited.graph.values[own.index()] else {
                    continue;
                };
                if let ByteLength::Dynamic { min, max } = edge.length
                    && most < max
                {
                    edge.length = ByteLength::Dynamic { min, max: most.max(min) };
                    shorter = true;
                }
            }
        }
        shorter.then_some(limited)
    }
}

/// Steps over values, each value with its place in memory.
pub struct Plan {
    pub(crate) direction: Direction,
    /// With the temporaries of the steps, and a place for each value.
    pub(crate) bound: BoundPipeline,
    pub(crate) steps: Vec<Step>,
    pub(crate) arena_bytes: u64,
    pub(crate) target: Target,
    /// Bytes that the steps need zeroed on a device.
    pub(crate) zeroed_bytes: u64,
    /// Unique.
    pub(crate) id: u64,
}

impl Plan {
    /// Compiles a bound pipeline for one direction and backend.
    pub(crate) fn compile(
        of: &BoundPipeline,
        direction: Direction,
        compile_options: CompileOptions,
    ) -> Result<Plan> {
        let CompileOptions { fuse, target, direct_output } = compile_options;
        #[cfg(test)]
        crate::base::tally::count(|t| match target {
            Target::Cpu => t.cpu_plans += 1,
            Target::Cuda => t.gpu_plans += 1,
        });
        let mut bound = of.clone();
        let graph = &mut bound.graph;
        let steps = lower::lower(&bound.pipeline, graph, direction)?;
        let mut steps = if fuse { fuse::fuse(graph, steps, target) } else { steps };
        let mut zeroed_bytes = 0;
        if target == Target::Cuda {
            zeroed_bytes = select_kernels::select_kernels(graph, &mut steps)?;
            layout::in_container(graph, &steps, direction, direct_output);
        }
        let arena_bytes = layout::assign(graph, &steps, direction);
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let plan = Plan { direction, bound, steps, arena_bytes, target, zeroed_bytes, id };
        verify::verify(&plan)?;
        Ok(plan)
    }

    /// Direction of the data.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The pipeline that it was made from.
    pub fn pipeline(&self) -> &Pipeline {
        &self.bound.pipeline
    }

    /// The array that goes in or comes out.
    pub fn array(&self) -> &Array {
        &self.bound.array
    }

    /// Bytes that the workspace of a device keeps from call to call.
    pub(crate) fn kept_bytes(&self) -> u64 {
        let keeps = self.direction == Direction::Encode && self.bound.rules.previous_base;
        if keeps { KEPT_BYTES * self.bound.graph.nodes.len() as u64 } else { 0 }
    }

    /// The launch that decodes a container alone, with its only step.
    pub(crate) fn single(&self) -> Option<(&Step, &KernelLaunch)> {
        match &self.steps[..] {
            [step] if self.direction == Direction::Decode => Some((step, step.device.single.as_ref()?)),
            _ => None,
        }
    }

    /// Bytes of working memory of a call, at any start address, without the system's memory for threads.
    pub fn workspace_bytes(&self) -> u64 {
        self.arena_bytes + ALIGN + 8 * self.bound.graph.values.len() as u64
    }

    /// The error for a fault of a step, in the words of its stage.
    pub(crate) fn explain(&self, step: &Step, fault: Fault) -> Error {
        match self.bound.pipeline.nodes.get(step.node) {
            // A padding step belongs to no stage; errors name the first stage.
            Some(node) if node.stage() == step.stage => self.bound.pipeline.explain(step.node, fault),
            _ => explain(step.stage, fault),
        }
    }

    pub(crate) fn value(&self, v: Val) -> &Value {
        &self.bound.graph.values[v.index()]
    }

    /// The value that owns the storage of `v`.
    pub(crate) fn root(&self, v: Val) -> Val {
        self.bound.graph.root(v)
    }

    pub(crate) fn place(&self, v: Val) -> Place {
        self.value(self.root(v)).place
    }
}
