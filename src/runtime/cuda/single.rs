//! Decompression in a single launch: each block of the only step checks the header by itself, and the last one to end writes
//! the result.

use super::{FIRST_STEP, OPEN, Run, SHORT};
use crate::base::error::{Error, Result};
use crate::gpu::abi::ContainerArgs;
use crate::gpu::single::{SINGLE_FORMS, SingleArgs, SingleForm};
use crate::gpu::{LaunchAttrs, function};
use crate::plan::Plan;

/// Bytes that a workspace keeps for such a launch: a status block and counters, zero between calls.
pub(super) fn state_bytes(plan: &Plan) -> u64 {
    /// As in kernels/common/container/single.cuh.
    const STATE_BYTES: u64 = 64;
    plan.single().map_or(0, |_| STATE_BYTES)
}

impl Run<'_> {
    /// Restores one array from a container with one of these headers.
    pub(crate) fn restore(&self, forms: &[SingleForm], params: &ContainerArgs) -> Result<()> {
        let (step, launch) = self.plan.single().ok_or(Error::Internal("a plan has no single launch"))?;
        let mut args = SingleArgs {
            step: self.args(step, FIRST_STEP)?,
            open: self.container_args(OPEN, params),
            forms: [SingleForm::default(); SINGLE_FORMS],
            form_count: forms.len() as u32,
            pad: 0,
        };
        args.step.status = self.at(self.layout.control);
        for (to, form) in args.forms.iter_mut().zip(forms) {
            let at = |offset| self.at(self.layout.image) + offset;
            *to = SingleForm { blank: at(form.blank), mask: at(form.mask), ..*form };
        }
        let way = LaunchAttrs { follows: self.begun.replace(true), short: self.array.bytes <= SHORT };
        function(self.context, launch.entry)?.launch(
            self.context,
            (launch.grid, 1),
            launch.block,
            self.stream,
            way,
            &args,
        )
    }
}
