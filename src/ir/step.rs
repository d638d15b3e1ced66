//! Steps of a plan: kernels with their operands.

use crate::ir::device::KernelLaunch;
use crate::ir::division::Division;
use crate::ir::kernel::{Kernel, PARAM_BYTES, Role};
use crate::ir::value::Val;

/// One launch.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The kernel that runs.
    pub kernel: &'static Kernel,
    /// How it may be fused.
    pub role: Role,
    /// The name of the stage that asked for it.
    pub stage: &'static str,
    /// Its index in the pipeline.
    pub node: usize,
    /// Its parameter block.
    pub params: [u8; PARAM_BYTES],
    /// Values read.
    pub ins: Vec<Val>,
    /// Values written.
    pub outs: Vec<Val>,
    /// Kernels that it runs tile by tile, before itself or behind.
    pub fused: Vec<FusedKernel>,
    /// Intermediate between the fused kernels and the step's own. Only its length exists.
    pub intermediate: Option<Val>,
    /// The device data of the step; empty in plans for the CPU.
    pub device: DeviceStep,
}

/// Device data of a step besides its operands.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceStep {
    /// Its functions.
    pub launches: Vec<KernelLaunch>,
    /// The functions of the second try, which run after all steps.
    pub second_try: Vec<KernelLaunch>,
    /// Its functions for the arrays of a batch, if they differ.
    pub batched: Option<Vec<KernelLaunch>>,
    /// The function in place of all others, if this is the only step of a decoder (`Plan::single`).
    pub single: Option<KernelLaunch>,
    /// True if its functions read only a small sample of input 0.
    pub sampled: bool,
    /// How its launch may be divided.
    pub division: Option<&'static Division>,
    /// Where its zeroed memory starts, among that of all steps.
    pub zeroed_at: u64,
    /// The same of the second try.
    pub second_zeroed_at: u64,
    /// Its working memory, a value like any other.
    pub scratch: Option<Val>,
    /// Operands that its functions neither read nor write: those of another part of the kernel.
    pub unused: Vec<Val>,
}

impl Step {
    /// The values in memory that it reads or writes.
    pub(crate) fn touched(&self) -> impl Iterator<Item = Val> + '_ {
        let operands = self.ins.iter().chain(&self.outs).filter(|v| !self.device.unused.contains(v));
        operands.chain(&self.device.scratch).copied()
    }
}

impl DeviceStep {
    /// Its functions, for one array or for the arrays of a batch.
    pub(crate) fn launches(&self, batch: bool) -> &[KernelLaunch] {
        self.batched.as_ref().filter(|_| batch).unwrap_or(&self.launches)
    }
}

/// A kernel fused to a step. Its inputs but the first are the last inputs of the step.
#[derive(Clone, Debug)]
pub(crate) struct FusedKernel {
    pub(crate) kernel: &'static Kernel,
    pub(crate) role: Role,
    pub(crate) params: [u8; PARAM_BYTES],
    pub(crate) extra: usize,
}
