//! Runs plans: memory, and one executor for each backend.

pub(crate) mod cpu;
pub(crate) mod cuda;
pub(crate) mod workspace;
