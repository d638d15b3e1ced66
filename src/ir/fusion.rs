//! Device functions that run several kernels at once, so that intermediate values stay on the multiprocessor.
//!
//! A fused kernel is listed by its last stage in the encoder's direction, and matched by the identity of the
//! kernels. Containers never show which kernels were fused.

use crate::ir::device::{DeviceLaunch, LaunchShape, PARAM_BYTES};
use crate::ir::kernel::Kernel;

/// A kernel that is fused, and its parameter block.
pub(crate) type FusedKernelRef<'a> = (&'static Kernel, &'a [u8; PARAM_BYTES]);

/// A kernel in a pattern, and the parameters that the device function is made for.
#[derive(Debug)]
pub struct Part {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// True if the fused kernel supports these parameters.
    pub fits: fn(&[u8; PARAM_BYTES]) -> bool,
}

impl Part {
    fn is(&self, (kernel, params): FusedKernelRef<'_>) -> bool {
        std::ptr::eq(self.kernel, kernel) && (self.fits)(params)
    }
}

/// A fused kernel.
#[derive(Debug)]
pub struct Fusion {
    /// The device functions that run it; which one depends on the size of the array.
    pub entries: &'static [&'static str],
    /// The kernel of the step that the others are fused to.
    pub kernel: Part,
    /// The fused kernels in the direction of the data, without padding: device functions accept a short array and do
    /// not write behind the end of one.
    pub fused: &'static [Part],
    /// How they run.
    pub(crate) device: fn(&LaunchShape<'_>, &[FusedKernelRef<'_>]) -> Option<DeviceLaunch>,
}

impl Fusion {
    /// How a step of `kernel` runs with these kernels fused to it; `None`: they do not match.
    pub(crate) fn device_launch(
        &self,
        kernel: &'static Kernel,
        fused: &[FusedKernelRef<'_>],
        shape: &LaunchShape<'_>,
    ) -> Option<DeviceLaunch> {
        let same = self.kernel.is((kernel, shape.params))
            && self.fused.len() == fused.len()
            && self.fused.iter().zip(fused).all(|(part, &kernel)| part.is(kernel));
        if same { (self.device)(shape, fused) } else { None }
    }
}

/// The parameters do not matter.
pub(crate) fn any(_: &[u8; PARAM_BYTES]) -> bool {
    true
}
