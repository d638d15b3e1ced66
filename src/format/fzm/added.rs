//! Which pipeline it was: files have their stages by distance from the array, and ids in the order of adding.

use super::{CORE, OUTPUTS, RECORD};
use crate::format::head::Head;
use crate::pipeline::{Node, Source};

/// The head with its stages in the order in which they were added, as the ids of their outputs tell. A file of another
/// writer may say anything there; what comes out is one order or another.
pub(in crate::format) fn as_added(head: &Head) -> Head {
    let id = |i: usize| {
        head.bytes.get(CORE + RECORD * i + OUTPUTS..)?.first_chunk().map(|b| u16::from_le_bytes(*b))
    };
    let mut added: Vec<usize> = (0..head.pipeline.nodes.len()).collect();
    added.sort_by_key(|&i| id(i));
    let place = |node: usize| added.iter().position(|&i| i == node).unwrap_or(node);
    let moved = |source: &Source| match *source {
        Source::Array => Source::Array,
        Source::Port { node, port } => Source::Port { node: place(node), port },
    };
    let node = |n: &Node| Node { inputs: n.inputs.iter().map(moved).collect(), ..n.clone() };
    let mut other = head.clone();
    other.pipeline.nodes = added.iter().map(|&i| node(&head.pipeline.nodes[i])).collect();
    other.lengths = added.iter().map(|&i| head.lengths[i].clone()).collect();
    other.facts = added.iter().map(|&i| head.facts[i].clone()).collect();
    other
}
