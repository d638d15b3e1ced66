//! Places by liveness: values that live at different times share memory.

use super::{Direction, Graph};
use crate::base::arena::ALIGN;
use crate::ir::step::Step;
use crate::ir::value::{Place, Val, Value};
use std::cmp::Reverse;

/// First and last step that touch a value's storage; `None`: no step does.
pub(super) fn lifetimes(g: &Graph, steps: &[Step], direction: Direction) -> Vec<Option<(usize, usize)>> {
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; g.values.len()];
    for (t, step) in steps.iter().enumerate() {
        for v in step.touched() {
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

/// Memory that a value needs from one step to another.
#[derive(Clone, Copy, Debug)]
struct Need {
    value: usize,
    bytes: u64,
    first: usize,
    last: usize,
}

/// Gives every value its place; returns the bytes of the arena.
pub(super) fn assign(g: &mut Graph, steps: &[Step], direction: Direction) -> u64 {
    let lives = lifetimes(g, steps, direction);
    g.values[Val::ARRAY.index()].place = Place::Array;
    let need = |value: usize| {
        let Value { edge, place, alias, .. } = &g.values[value];
        let (first, last) = lives[value].filter(|_| alias.is_none() && *place == Place::Dead)?;
        Some(Need { value, bytes: edge.max_bytes().next_multiple_of(ALIGN), first, last })
    };
    let mut needs: Vec<Need> = (1..g.values.len()).filter_map(need).collect();
    needs.sort_by_key(|need| (Reverse(need.bytes), need.value));
    let (offsets, total) = shortest(&mut needs);
    for (need, offset) in needs.iter().zip(offsets) {
        g.values[need.value].place = Place::Arena { offset };
    }
    total
}

/// The offsets of a short arena, and its bytes. The needs receive the order that leads to it.
///
/// Each value in turn moves to the front of the order and stays there if that helps.
fn shortest(needs: &mut [Need]) -> (Vec<u64>, u64) {
    // No arena is shorter than the values that live at the same time.
    let at = |t: usize| needs.iter().filter(|n| n.first <= t && t <= n.last).map(|n| n.bytes).sum();
    let least: u64 = needs.iter().map(|n| at(n.first)).max().unwrap_or(0);
    let mut best = offsets(needs);
    let mut tried = 0;
    let mut k = 1;
    while best.1 > least && tried < needs.len() {
        needs[..=k].rotate_right(1);
        let found = offsets(needs);
        if found.1 < best.1 {
            (best, tried) = (found, 0);
        } else {
            needs[..=k].rotate_left(1);
            tried += 1;
        }
        k = if k + 1 < needs.len() { k + 1 } else { 1 };
    }
    best
}

/// Each value in the lowest gap that no value alive at the same time occupies.
fn offsets(needs: &[Need]) -> (Vec<u64>, u64) {
    let mut placed: Vec<(Need, u64)> = vec![];
    for need in needs {
        let alive = placed.iter().filter(|(n, _)| need.first <= n.last && n.first <= need.last);
        let mut busy: Vec<(u64, u64)> = alive.map(|&(n, at)| (at, at + n.bytes)).collect();
        busy.sort_unstable();
        let mut offset = 0;
        for (start, end) in busy {
            if offset + need.bytes <= start {
                break;
            }
            offset = offset.max(end);
        }
        placed.push((*need, offset));
    }
    let total = placed.iter().map(|(n, at)| at + n.bytes).max().unwrap_or(0);
    (placed.into_iter().map(|(_, at)| at).collect(), total)
}

#[cfg(test)]
mod tests {
    use super::{Need, shortest};

    fn need(value: usize, bytes: u64, first: usize, last: usize) -> Need {
        Need { value, bytes, first, last }
    }

    /// Placing the largest value of a chain first leads to three places.
    #[test]
    fn a_chain_needs_memory_for_two_neighbors() {
        let mut chain = [need(4, 9, 3, 4), need(1, 8, 0, 1), need(2, 8, 1, 2), need(3, 8, 2, 3)];
        let (offsets, total) = shortest(&mut chain);
        assert_eq!((offsets.len(), total), (4, 17));
    }

    #[test]
    fn values_that_live_at_the_same_time_do_not_overlap() {
        let mut x = 1u32;
        let mut next = |below: u32| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (x >> 16) % below
        };
        for _ in 0..200 {
            let mut needs: Vec<Need> = (0..1 + next(12) as usize)
                .map(|value| {
                    let first = next(8) as usize;
                    need(value, next(40).into(), first, first + next(4) as usize)
                })
                .collect();
            let (offsets, total) = shortest(&mut needs);
            for (i, (a, &at)) in needs.iter().zip(&offsets).enumerate() {
                assert!(at + a.bytes <= total);
                for (b, &other) in needs[..i].iter().zip(&offsets) {
                    let apart = at + a.bytes <= other || other + b.bytes <= at;
                    assert!(apart || a.last < b.first || b.last < a.first, "{needs:?} at {offsets:?}");
                }
            }
        }
    }
}
