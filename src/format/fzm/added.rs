//! Which pipeline it was: files have their stages by distance from the array, and ids in the order of adding.

use super::{CORE, OUTPUTS, RECORD};
use crate::format::header::Header;
use crate::pipeline::{Node, Source};

/// The header with its stages in the order in which they were added, which follows from the ids of their
/// outputs. A file of another writer may contain any ids; the result is then one of the possible orders.
pub(in crate::format) fn as_added(header: &Header) -> Header {
    let id = |i: usize| {
        header.bytes.get(CORE + RECORD * i + OUTPUTS..)?.first_chunk().map(|b| u16::from_le_bytes(*b))
    };
    let mut added: Vec<usize> = (0..header.bound.pipeline.nodes.len()).collect();
    added.sort_by_key(|&i| id(i));
    let place = |node: usize| added.iter().position(|&i| i == node).unwrap_or(node);
    let moved = |source: &Source| match *source {
        Source::Array => Source::Array,
        Source::Port { node, port } => Source::Port { node: place(node), port },
    };
    let node = |n: &Node| Node { inputs: n.inputs.iter().map(moved).collect(), ..n.clone() };
    let mut other = header.clone();
    other.bound.pipeline.nodes = added.iter().map(|&i| node(&header.bound.pipeline.nodes[i])).collect();
    other.lengths = added.iter().map(|&i| header.lengths[i].clone()).collect();
    other.metadata = added.iter().map(|&i| header.metadata[i].clone()).collect();
    other
}
