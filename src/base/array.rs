//! The array as the caller sees it: an element type and one to three dimensions.

use crate::base::dtype::DType;
use crate::base::error::{Error, Result};

/// No array is longer, so that no sum over the values of a plan overflows.
const MAX_BYTES: u64 = 1 << 56;

/// Shape and type of an array. Dimension 0 runs fastest, as the last index of a C array does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    dtype: DType,
    dims: [u64; 3],
    ndim: u8,
    bytes: u64,
}

impl Array {
    /// An array of 1 to 3 dimensions; any of them may be 0.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another number of dimensions or more than 2^56 bytes.
    pub fn new(dtype: DType, dims: &[u64]) -> Result<Array> {
        if dims.is_empty() || dims.len() > 3 {
            return Err(Error::argument("number of dimensions", dims.len(), "1, 2 or 3"));
        }
        let bytes = dims
            .iter()
            .try_fold(dtype.bytes(), |n, &d| n.checked_mul(d))
            .filter(|&n| n <= MAX_BYTES)
            .ok_or_else(|| Error::argument("dims", format!("{dims:?}"), "an array of at most 2^56 bytes"))?;
        let mut all = [1; 3];
        all[..dims.len()].copy_from_slice(dims);
        Ok(Array { dtype, dims: all, ndim: dims.len() as u8, bytes })
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The dimensions, fastest first.
    pub fn dims(&self) -> &[u64] {
        &self.dims[..usize::from(self.ndim)]
    }

    /// Bytes of the whole array.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Elements of the whole array.
    pub fn elements(&self) -> u64 {
        self.bytes / self.dtype.bytes()
    }
}
