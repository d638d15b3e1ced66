//! What stages emit: values and launches. A stage never runs anything; this is all it can say.

use crate::device::Pass;
use crate::error::{Error, Result};
use crate::extent::Flow;
use crate::kernel::{Kernel, MAX_OPERANDS, PARAM_BYTES};
use bytemuck::Pod;

/// A value of a plan: the array, an edge, a fact or a temporary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Val(pub(crate) u32);

impl Val {
    pub(crate) const ARRAY: Val = Val(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the caller's array.
    Array,
    /// In the workspace, at this offset.
    Arena {
        /// Bytes from the start of the arena.
        offset: u64,
    },
    /// In the container, as this segment of it.
    Segment(usize),
    /// Nowhere: no step touches it.
    Dead,
}

/// What the planner knows about a value.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// Type and length.
    pub flow: Flow,
    /// Where it lives.
    pub place: Place,
    /// Another name of this value.
    pub alias: Option<Val>,
    /// A stage reads it.
    pub feeds: bool,
}

/// One launch.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// What runs.
    pub kernel: &'static Kernel,
    /// The name of the stage that asked for it.
    pub stage: &'static str,
    /// Its index in the pipeline.
    pub node: usize,
    /// Its parameter block.
    pub params: [u8; PARAM_BYTES],
    /// Values read.
    pub ins: Vec<Val>,
    /// Values written.
    pub outs: Vec<Val>,
    /// Kernels that it runs tile by tile, before itself or behind.
    pub links: Vec<StepLink>,
    /// What passes between the links and the kernel; of it only the length is real.
    pub between: Option<Val>,
    /// What it needs on a device; empty in plans for the CPU.
    pub device: Equipment,
}

/// What a step has on a device besides its operands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Equipment {
    /// Its functions.
    pub passes: Vec<Pass>,
    /// Where its zeroed memory starts, among that of all steps.
    pub zeroed_at: u64,
    /// Its working memory, a value like any other.
    pub scratch: Option<Val>,
}

/// A kernel chained to a step. Its inputs but the first stand at the end of the step's.
#[derive(Clone, Debug)]
pub(crate) struct StepLink {
    pub(crate) kernel: &'static Kernel,
    pub(crate) params: [u8; PARAM_BYTES],
    pub(crate) extra: usize,
}

/// The hand of a stage while a plan is made: it can make temporaries and launch kernels.
pub struct Emit<'a> {
    pub(crate) stage: &'static str,
    pub(crate) node: usize,
    pub(crate) values: &'a mut Vec<Value>,
    pub(crate) steps: &'a mut Vec<Step>,
    /// Bytes of the caller's array, before any padding.
    pub(crate) array_bytes: u64,
}

impl Emit<'_> {
    /// Type and length of a value.
    pub fn flow(&self, v: Val) -> Flow {
        self.values[v.index()].flow
    }

    /// True when both are names of one value, as far as that is known by now.
    pub fn same(&self, mut v: Val, mut w: Val) -> bool {
        for name in [&mut v, &mut w] {
            while let Some(of) = self.values[name.index()].alias {
                *name = of;
            }
        }
        v == w
    }

    /// True when another stage reads `v`; otherwise a container stores it.
    pub fn feeds(&self, v: Val) -> bool {
        self.values[v.index()].feeds
    }

    /// A value that only launches of this stage touch.
    pub fn temporary(&mut self, flow: Flow) -> Val {
        self.values.push(Value { flow, place: Place::Dead, alias: None, feeds: true });
        Val(self.values.len() as u32 - 1)
    }

    /// Launches `kernel` after everything launched before.
    ///
    /// # Errors
    /// [`Error::Internal`] when the stage hands over more than a launch can carry.
    pub fn launch<P: Pod>(
        &mut self,
        kernel: &'static Kernel,
        params: &P,
        ins: &[Val],
        outs: &[Val],
    ) -> Result<()> {
        let bytes = bytemuck::bytes_of(params);
        if bytes.len() > PARAM_BYTES || ins.len() + outs.len() > MAX_OPERANDS {
            return Err(Error::Internal("a launch carries at most 9 operands and 64 bytes"));
        }
        let mut block = [0; PARAM_BYTES];
        block[..bytes.len()].copy_from_slice(bytes);
        self.steps.push(Step {
            kernel,
            stage: self.stage,
            node: self.node,
            params: block,
            ins: ins.to_vec(),
            outs: outs.to_vec(),
            links: vec![],
            between: None,
            device: Equipment::default(),
        });
        Ok(())
    }

    /// Makes `v` another name of `of`: no bytes move.
    pub fn alias(&mut self, v: Val, of: Val) {
        self.values[v.index()].alias = Some(of);
    }
}
