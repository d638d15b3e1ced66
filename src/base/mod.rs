//! The base of all other modules: element types, arrays, lengths, parameters, errors, and the process
//! environment.

pub(crate) mod arena;
pub(crate) mod array;
pub(crate) mod byte_source;
pub(crate) mod dtype;
pub(crate) mod edge_type;
pub(crate) mod environment;
pub(crate) mod error;
pub(crate) mod gather;
pub(crate) mod nearest;
mod pages;
pub(crate) mod parallel;
pub(crate) mod param;
pub(crate) mod reserve;
pub(crate) mod strided;
#[cfg(test)]
pub(crate) mod tally;
pub(crate) mod thread_pool;
pub(crate) mod tile;
pub(crate) mod wire;
