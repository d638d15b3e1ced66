//! The array that a raw file holds: its type and shape, which the file itself does not say.

use crate::failure::Failure;
use crate::input;
use fzgm::{Array, DType};
use std::path::Path;

#[derive(clap::Args)]
pub(crate) struct Field {
    /// Element type: f32, f64, i8 to i64, u8 to u64
    #[arg(long, value_parser = dtype)]
    pub(crate) dtype: DType,
    /// One to three dimensions, fastest first, such as 512x512x128; x , * and blanks separate
    /// [default: one, from the length of the file]
    #[arg(long, value_parser = dims, allow_hyphen_values = true)]
    dims: Option<Dims>,
}

#[derive(Clone)]
struct Dims(Vec<u64>);

pub(crate) fn dtype(text: &str) -> Result<DType, String> {
    DType::from_name(text).map_err(|e| e.to_string())
}

fn dims(text: &str) -> Result<Dims, String> {
    let number = |word: &str| {
        word.parse::<u64>().map_err(|_| format!("`{word}` is no dimension; write them as 512x512x128"))
    };
    let mut dims = vec![];
    for part in text.split(['x', 'X', ',', '*']) {
        let before = dims.len();
        for word in part.split_whitespace() {
            dims.push(number(word)?);
        }
        if dims.len() == before {
            return Err("a dimension is missing; write them as 512x512x128".into());
        }
    }
    if dims.len() > 3 {
        return Err(format!("{} dimensions, at most 3 are possible; join the slowest ones", dims.len()));
    }
    Ok(Dims(dims))
}

impl Field {
    /// The dimensions that were given.
    pub(crate) fn dims(&self) -> Option<&[u64]> {
        self.dims.as_ref().map(|dims| dims.0.as_slice())
    }

    /// The array of `path` with its bytes. Where the dimensions are given, no more is read than they make and one byte.
    pub(crate) fn read(&self, path: &Path) -> Result<(Array, Vec<u8>), Failure> {
        let given = self.dims().map(|dims| Array::new(self.dtype, dims).map_err(|e| Failure::from_error(&e)));
        let given = given.transpose()?;
        let (src, more) = input::read(path, given.map(|array| array.bytes()))?;
        match given {
            Some(array) if more => {
                let bytes = array.bytes();
                let has = match input::length(path)?.filter(|length| *length > bytes) {
                    Some(length) => format!("{length} bytes"),
                    None => format!("more than {bytes} bytes"),
                };
                Err(other_length(path, &array, &has))
            }
            _ => Ok((self.array(path, src.len() as u64)?, src)),
        }
    }

    /// The array of `path`, which has so many bytes.
    pub(crate) fn array(&self, path: &Path, bytes: u64) -> Result<Array, Failure> {
        let Field { dtype, dims } = self;
        let width = dtype.bytes();
        let Some(Dims(dims)) = dims else {
            if bytes % width != 0 {
                return Err(Failure::usage(format!(
                    "{} has {bytes} bytes, no whole number of {dtype} of {width} bytes; correct --dtype",
                    path.display()
                )));
            }
            return Array::new(*dtype, &[bytes / width]).map_err(|e| Failure::from_error(&e));
        };
        let array = Array::new(*dtype, dims).map_err(|e| Failure::from_error(&e))?;
        if array.bytes() != bytes {
            return Err(other_length(path, &array, &format!("{bytes} bytes")));
        }
        Ok(array)
    }
}

fn other_length(path: &Path, array: &Array, has: &str) -> Failure {
    let (path, shape, dtype, bytes) = (path.display(), shape(array), array.dtype(), array.bytes());
    Failure::usage(format!("{path} has {has}, {shape} of {dtype} make {bytes}; correct --dims or --dtype"))
}

/// `1440x721`.
pub(crate) fn shape(array: &Array) -> String {
    array.dims().iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::dims;

    #[test]
    fn separators() {
        let parsed = |text| dims(text).map(|d| d.0);
        for text in ["512x16x3", "512,16,3", "512*16*3", "512 16 3", "512 x 16, 3", "512X16 3"] {
            assert_eq!(parsed(text), Ok(vec![512, 16, 3]), "{text}");
        }
        assert_eq!(parsed("0"), Ok(vec![0]));
        for text in ["", " ", "4x", "x4", "4xx4", "4,,4", "-4", "4.0", "1x2x3x4", "99999999999999999999"] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
