//! Invariants of every plan, checked when it is made. A defect of a stage or of the planner is then an error
//! and never a wrong byte.

use super::{Direction, Plan, layout};
use crate::base::error::{Error, Result};
use crate::ir::value::{Place, Val};

pub(super) fn verify(plan: &Plan) -> Result<()> {
    let g = &plan.bound.graph;
    let mut written = vec![false; g.values.len()];
    let known: Vec<Val> = match plan.direction {
        Direction::Encode => vec![Val::ARRAY],
        Direction::Decode => {
            g.sinks.iter().map(|s| s.value).chain(g.nodes.iter().map(|n| n.metadata)).collect()
        }
    };
    known.into_iter().for_each(|v| written[g.root(v).index()] = true);
    for step in &plan.steps {
        if step.ins.iter().any(|&v| !written[g.root(v).index()]) {
            return Err(Error::Internal("a step reads a value that no step has written"));
        }
        // If a stage of a container reads one port twice, decoding writes that port twice.
        if (1..step.outs.len()).any(|k| step.outs[..k].iter().any(|&v| g.root(v) == g.root(step.outs[k]))) {
            let what = "it reads one port twice, which is not decoded by this version".into();
            return Err(Error::Unsupported { stage: step.stage, what });
        }
        step.outs.iter().for_each(|&v| written[g.root(v).index()] = true);
    }
    let complete = match plan.direction {
        Direction::Encode => g.sinks.iter().all(|s| written[g.root(s.value).index()]),
        Direction::Decode => g.array_bytes == 0 || written[Val::ARRAY.index()],
    };
    if !complete {
        return Err(Error::Internal("a plan leaves its result unwritten"));
    }
    let lives = layout::lifetimes(g, &plan.steps, plan.direction);
    let placed: Vec<_> = (0..g.values.len())
        .filter_map(|i| match (g.values[i].place, lives[i]) {
            (Place::Arena { offset }, Some(life)) => {
                Some((life, offset, offset + g.values[i].edge.max_bytes()))
            }
            _ => None,
        })
        .collect();
    for (i, (a, start, end)) in placed.iter().enumerate() {
        let clash = |(b, s, e): &((usize, usize), u64, u64)| a.0 <= b.1 && b.0 <= a.1 && start < e && s < end;
        if *end > plan.arena_bytes || placed[..i].iter().any(clash) {
            return Err(Error::Internal("two values that live at the same time overlap"));
        }
    }
    Ok(())
}
