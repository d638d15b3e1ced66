//! Values of a plan: the data on its edges, and the place where it is stored.

use crate::base::edge_type::EdgeType;

/// A value of a plan: the array, an edge, metadata or a temporary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Val(pub(crate) u32);

impl Val {
    pub(crate) const ARRAY: Val = Val(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a value is stored.
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

/// The properties of a value in a plan.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// Type and length.
    pub edge: EdgeType,
    /// Where it lives.
    pub place: Place,
    /// Another name of this value.
    pub alias: Option<Val>,
    /// A stage reads it.
    pub feeds: bool,
    /// The kernel that makes it never writes beyond the room that it is told of.
    pub checks_room: bool,
}
