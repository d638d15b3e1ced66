//! The extension module `fzgm._fzgm`. The package `fzgm` brings arrays and arguments into the form that these functions
//! expect: arrays as contiguous bytes, dimensions with the fastest first.

mod codec;
mod error;
mod info;
mod measure;
mod options;
mod pipeline;
mod views;

/// Functions and classes of the package, without conversion of arrays.
#[pyo3::pymodule]
mod _fzgm {
    #[pymodule_export]
    use super::codec::{Decoder, Encoder, compress, decompress, decompress_region};
    #[pymodule_export]
    use super::info::{info, presets};
    #[pymodule_export]
    use super::measure::compare;
    #[pymodule_export]
    use super::pipeline::Pipeline;
}
