//! Stage ginterp: streams of the original kernels, and the bound of its own form, on the CPU and on devices.

mod damage;
mod device_random;
mod golden;
mod strict_vectors;
mod values;
