//! How a kernel runs on a GPU: which functions, over how many blocks, with which memory besides its operands.
//!
//! All device functions take one argument block, [`LaunchArgs`]; `kernels/args.h` is generated from it. Grids come
//! from what is known when the plan is made, work from the words that earlier kernels wrote.

use crate::tile::TILE;

/// Operands of one launch, inputs and outputs together.
pub(crate) const MAX_OPERANDS: usize = 8;
/// Bytes of the parameter block of a launch.
pub(crate) const PARAM_BYTES: usize = 64;
/// Kernels that one device function can run before or behind itself.
pub(crate) const MAX_LINKS: usize = 4;

/// A value as a device function sees it; all fields but `max` are addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Operand {
    /// Where it starts.
    pub base: u64,
    /// A word to add to `base`; 0: none.
    pub offset: u64,
    /// The word with its length in bytes; 0: the length is `max`.
    pub bytes: u64,
    /// Length, or room where only the run knows the length. The caller's array may be shorter than the plan's.
    pub max: u64,
}

/// The one argument of every device function.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct LaunchArgs {
    /// The parameter block of the kernel.
    pub params: [u8; PARAM_BYTES],
    /// Inputs, then outputs, in the order of the step.
    pub operands: [Operand; MAX_OPERANDS],
    /// Parameter blocks of the kernels that are chained to it, in the direction of the data.
    pub links: [[u8; PARAM_BYTES]; MAX_LINKS],
    /// What passes between links and kernel: of it only the length is real.
    pub passed: Operand,
    /// Memory of the launch, zero when the call starts.
    pub zeroed: u64,
    /// Memory of the launch, with anything in it.
    pub scratch: u64,
    /// The status block of the call.
    pub status: u64,
    /// Inputs among the operands.
    pub inputs: u32,
    /// Links.
    pub chained: u32,
    /// Place of the launch in the call: what fails later than this one is none of its business.
    pub step: u32,
    /// Index of the stage, for the result.
    pub stage: u32,
}

/// One device function over a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    /// Name of the function.
    pub entry: &'static str,
    /// Blocks.
    pub grid: u64,
    /// Threads of a block.
    pub block: u32,
}

/// What a kernel needs on the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recipe {
    /// One after the other.
    pub passes: Vec<Pass>,
    /// Bytes of [`LaunchArgs::zeroed`].
    pub zeroed: u64,
    /// Bytes of [`LaunchArgs::scratch`].
    pub scratch: u64,
}

/// What is known of a launch when the plan is made.
pub(crate) struct Shape<'a> {
    /// The parameter block.
    pub params: &'a [u8; PARAM_BYTES],
    /// Longest input operands, in bytes.
    pub ins: &'a [u64],
    /// Longest output operands, in bytes.
    pub outs: &'a [u64],
}

impl Shape<'_> {
    /// Bytes of input `i`.
    pub(crate) fn input(&self, i: usize) -> u64 {
        self.ins.get(i).copied().unwrap_or(0)
    }

    /// Bytes of output `i`.
    pub(crate) fn output(&self, i: usize) -> u64 {
        self.outs.get(i).copied().unwrap_or(0)
    }
}

/// How a kernel runs on a device; `None`: it does not.
pub(crate) type OnDevice = fn(&Shape<'_>) -> Option<Recipe>;

impl Recipe {
    /// One function over so many blocks of so many threads, at least one block.
    pub(crate) fn one(entry: &'static str, grid: u64, block: u32) -> Recipe {
        Recipe::default().then(entry, grid, block)
    }

    /// The same and another function.
    pub(crate) fn then(mut self, entry: &'static str, grid: u64, block: u32) -> Recipe {
        self.passes.push(Pass { entry, grid: grid.max(1), block });
        self
    }

    /// With memory.
    pub(crate) fn with(self, zeroed: u64, scratch: u64) -> Recipe {
        Recipe { zeroed, scratch, ..self }
    }
}

/// Tiles of so many bytes.
pub(crate) fn tiles(bytes: u64) -> u64 {
    bytes.div_ceil(TILE as u64)
}

/// For kernels of the CPU alone.
pub(crate) fn nowhere(_: &Shape<'_>) -> Option<Recipe> {
    None
}
