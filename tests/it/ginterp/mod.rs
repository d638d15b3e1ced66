//! Stage ginterp: streams of the original kernels, and the bound of its own form, on the CPU and on devices.

mod damage;
mod device_random;
mod device_volume;
mod golden;
mod graphs;
mod strict_vectors;
mod values;
