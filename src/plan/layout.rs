//! Places by liveness: the largest value first, each in the lowest gap that no value alive at the same time
//! occupies.

use super::{Direction, Graph};
use crate::base::arena::ALIGN;
use crate::ir::step::Step;
use crate::ir::value::{Place, Val};
use std::cmp::Reverse;

/// First and last step that touch a value's storage; `None`: no step does.
pub(super) fn lifetimes(g: &Graph, steps: &[Step], direction: Direction) -> Vec<Option<(usize, usize)>> {
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; g.values.len()];
    for (t, step) in steps.iter().enumerate() {
        for &v in step.ins.iter().chain(&step.outs).chain(&step.device.scratch) {
            lives[g.root(v).index()].get_or_insert((t, t)).1 = t; // seed: lifetime
        }
    }
    // Segments and metadata cross the boundary of the plan: out after the last step, in before the first.
    for v in boundary(g) {
        let root = g.root(v).index();
        match direction {
            Direction::Encode => lives[root].get_or_insert((0, 0)).1 = steps.len(),
            Direction::Decode => {
                if let Some(life) = &mut lives[root] {
                    life.0 = 0;
                }
            }
        }
    }
    lives
}

fn boundary(g: &Graph) -> impl Iterator<Item = Val> + '_ {
    let metadata = g.nodes.iter().map(|n| n.metadata).filter(|&f| g.edge(f).max_bytes() > 0);
    g.sinks.iter().map(|s| s.value).chain(metadata)
}

/// Leaves segments in the container, where a device can read and write them. Decoding: all segments that no
/// step writes. Encoding: the first segment, if it has a fixed place, only its producer touches it, and the
/// producer checks the room. Kernels check it if the length of their output is only known at run time, or if
/// they declare it.
pub(super) fn in_container(g: &mut Graph, steps: &[Step], direction: Direction, direct_output: bool) {
    let segments = match direction {
        Direction::Encode if !direct_output => 0,
        Direction::Encode => 1,
        Direction::Decode => g.sinks.len(),
    };
    for k in 0..segments.min(g.sinks.len()) {
        let root = g.root(g.sinks[k].value);
        let touched =
            |of: fn(&Step) -> &[Val]| steps.iter().flat_map(of).filter(|&&v| g.root(v) == root).count();
        let alone = g.sinks.iter().filter(|s| g.root(s.value) == root).count() == 1;
        let stays = match direction {
            Direction::Encode => {
                let value = &g.values[root.index()];
                let checked = value.edge.length.is_dynamic() || value.checks_room;
                checked && touched(|s| &s.ins) == 0 && touched(|s| &s.outs) == 1
            }
            Direction::Decode => touched(|s| &s.outs) == 0,
        };
        if alone && stays && root != Val::ARRAY {
            g.values[root.index()].place = Place::Segment(k);
        }
    }
}

/// Gives every value its place; returns the bytes of the arena.
pub(super) fn assign(g: &mut Graph, steps: &[Step], direction: Direction) -> u64 {
    let lives = lifetimes(g, steps, direction);
    g.values[Val::ARRAY.index()].place = Place::Array;
    let size = |g: &Graph, i: usize| g.values[i].edge.max_bytes().next_multiple_of(ALIGN);
    let mut order: Vec<usize> = (1..g.values.len()).filter(|&i| g.values[i].alias.is_none()).collect();
    order.sort_by_key(|&i| (Reverse(size(g, i)), i));
    let mut placed: Vec<(usize, usize, u64, u64)> = vec![];
    let mut total = 0;
    for i in order {
        let Some((first, last)) = lives[i].filter(|_| g.values[i].place == Place::Dead) else { continue };
        let need = size(g, i);
        let mut busy: Vec<(u64, u64)> =
            placed.iter().filter(|(f, l, ..)| first <= *l && *f <= last).map(|&(.., o, e)| (o, e)).collect();
        busy.sort_unstable();
        let mut offset = 0;
        for (start, end) in busy {
            if offset + need <= start {
                break;
            }
            offset = offset.max(end);
        }
        g.values[i].place = Place::Arena { offset };
        placed.push((first, last, offset, offset + need));
        total = total.max(offset + need);
    }
    total
}
