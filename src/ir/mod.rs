//! The intermediate representation: the definition of a stage, and the values, kernels, and steps that it
//! lowers itself to.

pub(crate) mod device;
pub(crate) mod division;
pub(crate) mod fusion;
pub(crate) mod kernel;
pub(crate) mod lowering;
pub(crate) mod stage;
pub(crate) mod step;
pub(crate) mod tile_stream;
pub(crate) mod value;
pub(crate) mod versions;
