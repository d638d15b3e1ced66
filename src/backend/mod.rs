//! What runs plans.

pub(crate) mod cpu;
pub(crate) mod cuda;
