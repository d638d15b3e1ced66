//! Options of calls, and arrays as the library describes them.

use fzgm::{Array, Container, DType, Device, Error, Options, Result};

/// Options of an encoder.
pub(crate) fn encoding(threads: u32, container: &str, checksum: bool) -> Result<Options> {
    let container = match container {
        "fzm" => Container::Fzm,
        "compact" => Container::Compact,
        other => {
            return Err(Error::InvalidArgument {
                what: "container".into(),
                got: format!("`{other}`"),
                expected: "fzm or compact".into(),
            });
        }
    };
    Ok(Options { threads, container, checksum, device: Device::Cpu, ..Options::default() })
}

/// Options of a decoder.
pub(crate) fn decoding(threads: u32, max_memory_bytes: u64) -> Options {
    Options { threads, max_memory_bytes, device: Device::Cpu, ..Options::default() }
}

/// The same for calls on a GPU.
pub(crate) fn on_gpu(options: Options, index: u32) -> Options {
    Options { device: Device::Cuda(index), ..options }
}

/// The array of a type by its name.
pub(crate) fn array(dtype: &str, dims: &[u64]) -> Result<Array> {
    Array::new(DType::from_name(dtype)?, dims)
}
