//! The extension module `fzgm._fzgm`. The package `fzgm` brings arrays and arguments into the form that these functions
//! expect: arrays as contiguous bytes, dimensions with the fastest first.

mod choose;
mod codec;
mod device;
mod dlpack;
mod error;
mod file;
mod info;
mod measure;
mod options;
mod pipeline;
mod place;
mod series;
mod text;
mod views;

/// Functions and classes of the package, without conversion of arrays.
#[pyo3::pymodule]
mod _fzgm {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::choose::choose;
    #[pymodule_export]
    use super::codec::{Decoder, Encoder, compress, decompress_region, preview};
    #[pymodule_export]
    use super::device::{DevicePlan, Pending};
    #[pymodule_export]
    use super::dlpack::{Tenure, lend_dlpack, take_dlpack};
    #[pymodule_export]
    use super::file::File;
    #[pymodule_export]
    use super::info::{info, presets};
    #[pymodule_export]
    use super::measure::{compare, suspected_fill, undeclared_fill};
    #[pymodule_export]
    use super::pipeline::Pipeline;
    #[pymodule_export]
    use super::place::{Memory, copy_to_host, device_count, device_index, device_of, info_at, wait};
    #[pymodule_export]
    use super::series::{SeriesAppender, SeriesFile};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
