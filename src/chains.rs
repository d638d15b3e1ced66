//! Chains that exist as device functions.

use crate::device::{PARAM_BYTES, Recipe, Shape};
use crate::kernel::Kernel;

/// How `kernel` runs on a device with `links` chained to it, in the direction of the data; `None`: not at all.
pub(crate) fn find(
    params: &[u8; PARAM_BYTES],
    kernel: &'static Kernel,
    links: &[(&'static Kernel, &[u8; PARAM_BYTES])],
    shape: &Shape<'_>,
) -> Option<Recipe> {
    debug_assert_eq!(params, shape.params);
    if links.is_empty() { (kernel.device)(shape) } else { None }
}
