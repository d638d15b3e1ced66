//! The array as the caller sees it: an element type and one to eight dimensions.

use crate::base::dtype::DType;
use crate::base::error::{Error, Result};

/// No array is longer, so that no sum over the values of a plan overflows.
const MAX_BYTES: u64 = 1 << 56;

/// The largest number of dimensions.
pub const MAX_DIMS: usize = 8;
/// Dimensions that stages tell apart.
const JOINED: usize = 3;

/// Shape and type of an array. Dimension 0 runs fastest, as the last index of a C array does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    dtype: DType,
    dims: [u64; MAX_DIMS],
    ndim: u8,
    joined: [u64; JOINED],
    bytes: u64,
}

impl Array {
    /// An array of 1 to [`MAX_DIMS`] dimensions; any of them may be 0.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another number of dimensions or more than 2^56 bytes. A length of 0 counts as 1 in this limit.
    pub fn new(dtype: DType, dims: &[u64]) -> Result<Array> {
        if dims.is_empty() || dims.len() > MAX_DIMS {
            return Err(Error::argument("number of dimensions", dims.len(), format!("1 to {MAX_DIMS}")));
        }
        // With ones in place of zeros, no product of dimensions overflows in any order, and the slowest
        // dimensions fit into their field of a container.
        let bytes = dims
            .iter()
            .try_fold(dtype.bytes(), |n, &d| n.checked_mul(d.max(1)))
            .filter(|&n| n <= MAX_BYTES)
            .ok_or_else(|| Error::argument("dims", format!("{dims:?}"), "an array of at most 2^56 bytes"))?;
        let bytes = if dims.contains(&0) { 0 } else { bytes };
        let (mut all, mut joined) = ([1; MAX_DIMS], [1; JOINED]);
        all[..dims.len()].copy_from_slice(dims);
        joined[..JOINED - 1].copy_from_slice(&all[..JOINED - 1]);
        joined[JOINED - 1] = all[JOINED - 1..].iter().product();
        Ok(Array { dtype, dims: all, ndim: dims.len() as u8, joined, bytes })
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The dimensions, fastest first.
    pub fn dims(&self) -> &[u64] {
        &self.dims[..usize::from(self.ndim)]
    }

    /// The dimensions that stages compress, fastest first, at most 3. For an array with more dimensions, the
    /// last one is the product of the slowest dimensions.
    pub fn joined_dims(&self) -> &[u64] {
        &self.joined[..usize::from(self.ndim).min(JOINED)]
    }

    /// The same with ones in place of the missing dimensions.
    pub(crate) fn volume(&self) -> [u64; JOINED] {
        self.joined
    }

    /// The dimensions that stages see as one; none of an array of at most 3 dimensions.
    pub(crate) fn slow_dims(&self) -> &[u64] {
        let dims = self.dims();
        if dims.len() > JOINED { &dims[JOINED - 1..] } else { &[] }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_count_as_ones_in_the_limit() {
        for ndim in 1..=MAX_DIMS {
            for zero in 0..ndim {
                let mut dims = vec![1; ndim];
                dims[zero] = 0;
                assert_eq!(Array::new(DType::F32, &dims).map(|a| a.bytes()), Ok(0), "{dims:?}");
                for long in (0..ndim).filter(|&d| d != zero) {
                    dims[long] = 1 << 54;
                    assert_eq!(Array::new(DType::F32, &dims).map(|a| a.bytes()), Ok(0), "{dims:?}");
                    for length in [(1 << 54) + 1, u64::MAX] {
                        dims[long] = length;
                        let refused = Array::new(DType::F32, &dims);
                        assert!(matches!(refused, Err(Error::InvalidArgument { .. })), "{dims:?}");
                    }
                    dims[long] = 1;
                }
            }
        }
    }
}
