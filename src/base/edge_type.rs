//! How long a value is, before and while data exists.

use crate::base::dtype::DType;

/// The length of a value in bytes. `max` is a proven maximum, never a hint: memory is laid out from it, and a
/// kernel publishes the true length at run time.
///
/// The unit is bytes, not elements, so a stage that reads plain bytes can read any edge without a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteLength {
    /// Known when the plan is made.
    Static(u64),
    /// Known when the producer has run.
    Dynamic {
        /// Proven lower bound: a container with less is damaged, and is told so before its array has memory.
        min: u64,
        /// Proven upper bound.
        max: u64,
    },
}

impl ByteLength {
    /// The largest length.
    pub const fn max(self) -> u64 {
        match self {
            ByteLength::Static(n) | ByteLength::Dynamic { max: n, .. } => n,
        }
    }

    /// True if the length is only known at run time.
    pub const fn is_dynamic(self) -> bool {
        matches!(self, ByteLength::Dynamic { .. })
    }
}

/// The type and the length of the data on an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeType {
    /// Type of the elements.
    pub dtype: DType,
    /// Length in bytes.
    pub length: ByteLength,
}

impl EdgeType {
    /// A value of known length.
    pub const fn fixed(dtype: DType, bytes: u64) -> Self {
        EdgeType { dtype, length: ByteLength::Static(bytes) }
    }

    /// A value of at most `max` bytes.
    pub const fn upto(dtype: DType, max: u64) -> Self {
        EdgeType::between(dtype, 0, max)
    }

    /// A value of at least `min` and at most `max` bytes.
    pub const fn between(dtype: DType, min: u64, max: u64) -> Self {
        EdgeType { dtype, length: ByteLength::Dynamic { min, max } }
    }

    /// The largest length in bytes.
    pub const fn max_bytes(self) -> u64 {
        self.length.max()
    }
}
