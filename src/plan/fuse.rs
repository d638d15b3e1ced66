//! Kernel fusion: kernels that pass tiles to each other run as one step, and the values between them need no
//! memory.
//!
//! Containers are written from the pipeline, never from steps, so fusion does not show in them.

use super::{Graph, Target, select_kernels};
use crate::ir::kernel::{MAX_OPERANDS, Role};
use crate::ir::step::{FusedKernel, Step};
use crate::ir::value::Val;

/// Fuses neighboring steps that the target can run as one. Of every run of neighbors the longest possible part is fused.
pub(super) fn fuse(g: &Graph, mut steps: Vec<Step>, target: Target) -> Vec<Step> {
    let mut at = 0;
    while at < steps.len() {
        let (join, back): (Join, usize) = match steps[at].role {
            Role::TileConsumer => (fuse_producer, 1),
            Role::TileProducer => (fuse_consumer, 0),
            Role::Reduction => (fuse_reduction, 1),
            Role::Alone | Role::Tile | Role::TileSink => {
                at += 1;
                continue;
            }
        };
        let (mut trial, mut joined) = (steps.clone(), at);
        while joined >= back && join(g, &mut trial, joined, target) {
            joined -= back;
            if select_kernels::takes(g, &trial[joined], target) {
                (steps, at) = (trial.clone(), joined);
            }
        }
        at += 1;
    }
    steps
}

/// Takes a neighbor into a step, if it can be.
type Join = fn(&Graph, &mut Vec<Step>, usize, Target) -> bool;

/// True when the only thing that `first` makes is read by `second` alone, as its first input.
fn joined(g: &Graph, steps: &[Step], first: usize, second: usize) -> bool {
    let (Some([between]), Some(read)) =
        (steps.get(first).map(|s| &s.outs[..]), steps.get(second).and_then(|s| s.ins.first()))
    else {
        return false;
    };
    let root = g.root(*between);
    let readers = steps.iter().flat_map(|s| &s.ins).filter(|&&v| g.root(v) == root).count();
    let stored = g.sinks.iter().any(|s| g.root(s.value) == root);
    // The length of the value between the kernels is read from headers, so it must be fixed.
    let fixed = !g.edge(*between).length.is_dynamic();
    fixed && root == g.root(*read) && root != Val::ARRAY && readers == 1 && !stored
}

fn fused_kernel(step: &Step) -> FusedKernel {
    FusedKernel {
        kernel: step.kernel,
        role: step.role,
        params: step.params,
        extra: step.ins.len().saturating_sub(1),
    }
}

fn has_role(step: Option<&Step>, role: Role) -> bool {
    step.is_some_and(|s| s.role == role && s.outs.len() == 1)
}

fn operands(a: &Step, b: &Step) -> usize {
    a.ins.len() + a.outs.len() + b.ins.len() + b.outs.len() - 2
}

/// A step holds as many fused kernels as operands.
fn full(step: &Step) -> bool {
    step.fused.len() == MAX_OPERANDS // seed: too-many-fused
}

/// Takes the step before `at` into `at`, as the first fused kernel.
fn fuse_producer(g: &Graph, steps: &mut Vec<Step>, at: usize, _: Target) -> bool {
    let fits = has_role(steps.get(at - 1), Role::Tile) && joined(g, steps, at - 1, at);
    if !fits || full(&steps[at]) || operands(&steps[at - 1], &steps[at]) > MAX_OPERANDS {
        return false;
    }
    let before = steps.remove(at - 1);
    let step = &mut steps[at - 1];
    step.intermediate.get_or_insert(step.ins[0]);
    step.ins[0] = before.ins[0];
    // Extra inputs are in the order of the fused kernels, so those of the new first kernel come first.
    let own = step.ins.len() - step.fused.iter().map(|l| l.extra).sum::<usize>();
    step.ins.splice(own..own, before.ins[1..].iter().copied());
    step.fused.insert(0, fused_kernel(&before));
    true
}

/// Fuses step `at`, which computes sums, into the step before it, which computes their terms.
fn fuse_reduction(g: &Graph, steps: &mut Vec<Step>, at: usize, target: Target) -> bool {
    let (Some(before), Some(sums)) = (steps.get(at - 1), steps.get(at)) else {
        return false;
    };
    let alone = before.fused.is_empty() && sums.fused.is_empty() && sums.ins.len() == 1;
    let of = |step: &[Val]| step.first().map(|&v| g.root(v));
    let fits = before.ins.len() + before.outs.len() + sums.outs.len() <= MAX_OPERANDS;
    if target == Target::Cpu
        || !has_role(Some(sums), Role::Reduction)
        || !alone
        || !fits
        || of(&before.outs) != of(&sums.ins)
    {
        return false;
    }
    let sums = steps.remove(at);
    let step = &mut steps[at - 1];
    step.outs.extend(&sums.outs);
    step.fused.push(fused_kernel(&sums));
    true
}

/// Takes the step behind `at` into `at`, as the last fused kernel.
fn fuse_consumer(g: &Graph, steps: &mut Vec<Step>, at: usize, target: Target) -> bool {
    // Behind the last one of all there is nothing that takes tiles.
    let open = steps[at].fused.last().is_none_or(|l| l.role == Role::Tile);
    let last = target == Target::Cuda && has_role(steps.get(at + 1), Role::TileSink);
    let fits = open && (last || has_role(steps.get(at + 1), Role::Tile)) && joined(g, steps, at, at + 1);
    if !fits || full(&steps[at]) || operands(&steps[at], &steps[at + 1]) > MAX_OPERANDS {
        return false;
    }
    let behind = steps.remove(at + 1);
    let step = &mut steps[at];
    step.intermediate.get_or_insert(step.outs[0]);
    step.outs = behind.outs.clone();
    step.ins.extend(&behind.ins[1..]);
    step.fused.push(fused_kernel(&behind));
    true
}
