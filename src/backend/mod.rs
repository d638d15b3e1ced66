//! What runs plans.

pub(crate) mod cpu;
