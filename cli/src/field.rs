//! Type and shape of an array, as the command line specifies them.

use crate::failure::Failure;
use crate::named::Named;
use fzgm::{Array, DType, MAX_DIMS};
use std::path::Path;

#[derive(Clone, clap::Args)]
pub(crate) struct Field {
    /// Element type of a raw array: f32, f64, i8 to i64, u8 to u64
    ///
    /// A .npy file states its type. Names such as float32, float64, float, double, and int32 are also accepted.
    #[arg(long, value_parser = dtype(), hide_possible_values = true)]
    pub(crate) dtype: Option<DType>,
    /// One to eight dimensions, fastest first, such as 512x512x128 [default: the dimensions of the .npy file, or one dimension]
    ///
    /// Separators are x, comma, *, and space. For the order of C and NumPy use --shape.
    #[arg(long, value_parser = fastest_first, allow_hyphen_values = true)]
    dims: Option<Dims>,
    /// Dimensions in the order of C and NumPy, slowest first, such as 128,512,512
    #[arg(long, value_parser = slowest_first, allow_hyphen_values = true, conflicts_with = "dims", value_name = "DIMS")]
    shape: Option<Dims>,
    /// Read the file as a raw array, even if its first bytes are those of another format
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Clone)]
struct Dims(Vec<u64>);

/// A parser of element types, which also accepts their names in C.
pub(crate) fn dtype() -> Named<DType> {
    Named {
        parse: |text| match text {
            "float" => Ok(DType::F32),
            "double" => Ok(DType::F64),
            text => DType::from_name(text).map_err(|e| e.to_string()),
        },
        names: || DType::ALL.iter().rev().map(|d| d.name()).collect(),
    }
}

fn fastest_first(text: &str) -> Result<Dims, String> {
    dims(text)
}

fn slowest_first(text: &str) -> Result<Dims, String> {
    dims(text).map(|Dims(dims)| Dims(dims.into_iter().rev().collect()))
}

fn dims(text: &str) -> Result<Dims, String> {
    let number = |word: &str| {
        word.parse::<u64>()
            .map_err(|_| format!("`{word}` is not a dimension; write dimensions as 512x512x128"))
    };
    let mut dims = vec![];
    for part in text.split(['x', 'X', ',', '*']) {
        let before = dims.len();
        for word in part.split_whitespace() {
            dims.push(number(word)?);
        }
        if dims.len() == before {
            return Err(format!("`{text}` lacks a dimension; write dimensions as 512x512x128"));
        }
    }
    if dims.len() > MAX_DIMS {
        return Err(format!(
            "{} dimensions are given, but at most {MAX_DIMS} are supported; join the slowest ones",
            dims.len()
        ));
    }
    Ok(Dims(dims))
}

impl Field {
    /// The dimensions of the command line, fastest first.
    pub(crate) fn dims(&self) -> Option<&[u64]> {
        self.dims.as_ref().or(self.shape.as_ref()).map(|dims| dims.0.as_slice())
    }

    /// Fills in the type and shape of another array if the command line does not specify them.
    pub(crate) fn like(&self, array: &Array) -> Field {
        let dims = self.dims().map_or(array.dims().to_vec(), <[u64]>::to_vec);
        Field {
            dtype: self.dtype.or(Some(array.dtype())),
            dims: Some(Dims(dims)),
            shape: None,
            raw: self.raw,
        }
    }

    /// The array in `path`, a file of `bytes` bytes.
    pub(crate) fn array(&self, dtype: DType, path: &Path, bytes: u64) -> Result<Array, Failure> {
        let Some(dims) = self.dims() else { return Field::line(dtype, path, bytes) };
        let array = Array::new(dtype, dims).map_err(|e| Failure::from_error(&e))?;
        if array.bytes() != bytes {
            return Err(other_length(path, &array, &format!("{bytes} bytes")));
        }
        Ok(array)
    }

    /// The one-dimensional array in a file of `bytes` bytes.
    pub(crate) fn line(dtype: DType, path: &Path, bytes: u64) -> Result<Array, Failure> {
        let width = dtype.bytes();
        if bytes % width != 0 {
            return Err(Failure::usage(format!(
                "{} has {bytes} bytes, which is not a multiple of the {width} bytes of {dtype}; correct --dtype",
                path.display()
            )));
        }
        Array::new(dtype, &[bytes / width]).map_err(|e| Failure::from_error(&e))
    }
}

pub(crate) fn other_length(path: &Path, array: &Array, has: &str) -> Failure {
    let (path, shape, dtype, bytes) = (path.display(), shape(array), array.dtype(), array.bytes());
    Failure::usage(format!(
        "{path} has {has}, but {shape} of {dtype} requires {bytes}; correct --dims, --shape, or --dtype"
    ))
}

/// The dimensions as text, such as `1440x721`.
pub(crate) fn shape(array: &Array) -> String {
    array.dims().iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::{dims, slowest_first};

    #[test]
    fn separators() {
        let parsed = |text| dims(text).map(|d| d.0);
        for text in ["512x16x3", "512,16,3", "512*16*3", "512 16 3", "512 x 16, 3", "512X16 3"] {
            assert_eq!(parsed(text), Ok(vec![512, 16, 3]), "{text}");
        }
        assert_eq!(parsed("0"), Ok(vec![0]));
        assert_eq!(slowest_first("3,16,512").map(|d| d.0), Ok(vec![512, 16, 3]));
        for text in
            ["", " ", "4x", "x4", "4xx4", "4,,4", "-4", "4.0", "1x2x3x4x5x6x7x8x9", "99999999999999999999"]
        {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
