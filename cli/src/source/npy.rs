//! Headers of .npy files.

use crate::failure::Failure;
use fzgm::{Array, DType, MAX_DIMS};
use std::io::Read;
use std::path::Path;

pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The contents of a header.
#[derive(Debug, PartialEq)]
pub(crate) struct Header {
    pub(crate) dtype: DType,
    /// True if the most significant byte of an element is the first one.
    pub(crate) big_endian: bool,
    /// True for Fortran order: the first index is the fastest.
    pub(crate) fortran: bool,
    /// The shape in the order of NumPy: without `fortran`, the last index is the fastest.
    pub(crate) shape: Vec<u64>,
}

/// The largest supported length of a header in bytes. NumPy itself rejects longer headers.
const LONGEST: u64 = 10_000;

/// The message for a shape whose number of elements exceeds 64 bits.
pub(super) const TOO_LARGE: &str = "its shape has more than 2^64 - 1 elements; save the array again";

impl Header {
    /// Reads a header. `beginning` starts with [`MAGIC`], and `src` continues it. Returns the header and the bytes of `beginning` after
    /// it; `src` is then at the byte that follows them.
    pub(crate) fn read(
        path: &Path,
        beginning: Vec<u8>,
        src: &mut dyn Read,
    ) -> Result<(Header, Vec<u8>), Failure> {
        let mut all = beginning;
        fill(path, src, &mut all, 10)?;
        let prefix: usize = match all[6] {
            1 => 10,
            2 | 3 => 12,
            version => {
                return Err(refused(path, &format!("its format version is {version}; expected 1, 2, or 3")));
            }
        };
        fill(path, src, &mut all, prefix)?;
        let text = if prefix == 10 {
            u64::from(u16::from_le_bytes([all[8], all[9]]))
        } else {
            u64::from(u32::from_le_bytes([all[8], all[9], all[10], all[11]]))
        };
        if text > LONGEST {
            return Err(refused(path, &format!("its header has {text} bytes; expected at most {LONGEST}")));
        }
        let end = prefix + text as usize;
        fill(path, src, &mut all, end)?;
        let elements = all.split_off(end);
        let text =
            std::str::from_utf8(&all[prefix..]).map_err(|_| refused(path, "its header is not UTF-8 text"))?;
        Header::parse(text).map(|header| (header, elements)).map_err(|what| refused(path, &what))
    }

    /// Parses the text of a header, such as `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
    fn parse(text: &str) -> Result<Header, String> {
        let unreadable =
            || format!("its header is `{}`, not as NumPy writes it; save the array again", text.trim());
        let body = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).ok_or_else(unreadable)?;
        let value = |key: &str| {
            let at = [format!("'{key}':"), format!("\"{key}\":")];
            at.iter().find_map(|k| body.split_once(k.as_str())).map(|(_, rest)| rest.trim_start())
        };
        let descr = value("descr").ok_or_else(unreadable)?;
        let fortran = match value("fortran_order") {
            Some(rest) if rest.starts_with("True") => true,
            Some(rest) if rest.starts_with("False") => false,
            _ => return Err(unreadable()),
        };
        let shape =
            value("shape").and_then(|rest| rest.strip_prefix('(')).and_then(|rest| rest.split_once(')'));
        let mut lengths = vec![];
        for word in shape.ok_or_else(unreadable)?.0.split(',').map(str::trim).filter(|w| !w.is_empty()) {
            lengths.push(word.trim_end_matches('L').parse().map_err(|_| unreadable())?);
        }
        let quoted = descr.strip_prefix(['\'', '"']).and_then(|rest| rest.split(['\'', '"']).next());
        let Some(name) = quoted else {
            return Err("its elements are records; save each field in a separate file".into());
        };
        let (dtype, big_endian) = element(name)?;
        Ok(Header { dtype, big_endian, fortran, shape: lengths })
    }

    /// The dimensions, fastest first. The error for more than [`MAX_DIMS`] contains a shape that joins the slowest ones.
    pub(crate) fn dims(&self) -> Result<Vec<u64>, String> {
        let shape = match self.shape[..] {
            [] => vec![1],
            _ => self.shape.clone(),
        };
        if shape.len() > MAX_DIMS {
            let (slow, fast) = shape.split_at(shape.len() - (MAX_DIMS - 1));
            let joined = slow.iter().try_fold(1u64, |all, n| all.checked_mul(*n)).ok_or(TOO_LARGE)?;
            let joined: Vec<String> = [&[joined], fast].concat().iter().map(u64::to_string).collect();
            return Err(format!(
                "it has {} dimensions, but at most {MAX_DIMS} are supported; add --shape {} to join the slowest ones",
                shape.len(),
                joined.join(",")
            ));
        }
        Ok(shape.into_iter().rev().collect())
    }
}

fn refused(path: &Path, what: &str) -> Failure {
    Failure::usage(format!("{} is a NumPy file: {what}", path.display()))
}

/// Appends bytes of `src` to `all` until `all` has `wanted` bytes. Fails if `src` ends before.
fn fill(path: &Path, src: &mut dyn Read, all: &mut Vec<u8>, wanted: usize) -> Result<(), Failure> {
    let missing = wanted.saturating_sub(all.len()) as u64;
    src.take(missing).read_to_end(all).map_err(|e| Failure::io("read", path, &e))?;
    if all.len() < wanted {
        Err(refused(path, "it ends within its header; save the array again"))
    } else {
        Ok(())
    }
}

/// Parses the name of an element type, such as `<f4`. Returns the type, and true if it is big-endian.
fn element(name: &str) -> Result<(DType, bool), String> {
    let big_endian = name.starts_with('>');
    let dtype = match name.trim_start_matches(['<', '>', '=', '|']) {
        "f4" => DType::F32,
        "f8" => DType::F64,
        "i1" => DType::I8,
        "i2" => DType::I16,
        "i4" => DType::I32,
        "i8" => DType::I64,
        "u1" => DType::U8,
        "u2" => DType::U16,
        "u4" => DType::U32,
        "u8" => DType::U64,
        "f2" => return Err("its elements are float16; save it with .astype('float32')".into()),
        "b1" => return Err("its elements are bool; save it with .astype('uint8')".into()),
        "c8" | "c16" => {
            return Err("its elements are complex; save .real and .imag in separate files".into());
        }
        _ => {
            return Err(format!("its elements are of type '{name}'; expected integers, float32, or float64"));
        }
    };
    Ok((dtype, big_endian))
}

/// The header of a file with this array in C order, as NumPy writes it.
pub(crate) fn header(array: &Array) -> Vec<u8> {
    let (dtype, bytes) = (array.dtype(), array.dtype().bytes());
    let kind = match dtype {
        DType::F32 | DType::F64 => 'f',
        d if DType::INTEGERS.contains(&d) && d.signed() == d => 'i',
        _ => 'u',
    };
    let order = if bytes == 1 { '|' } else { '<' };
    let lengths: Vec<String> = array.dims().iter().rev().map(u64::to_string).collect();
    let comma = if lengths.len() == 1 { "," } else { "" };
    let text = format!(
        "{{'descr': '{order}{kind}{bytes}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        lengths.join(", ")
    );
    // The format requires that the elements begin at a multiple of 64 bytes.
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut all = MAGIC.to_vec();
    all.extend_from_slice(&[1, 0]);
    all.extend_from_slice(&(length as u16).to_le_bytes());
    all.extend_from_slice(text.as_bytes());
    all.resize(10 + length - 1, b' ');
    all.push(b'\n');
    all
}

/// Reverses the bytes of each element.
pub(crate) fn swap(bytes: &mut [u8], width: u64) {
    bytes.chunks_exact_mut(width as usize).for_each(<[u8]>::reverse);
}

/// Converts the elements of an array of `shape` from Fortran order in `src` to C order in `dst`.
pub(crate) fn from_fortran(shape: &[u64], width: u64, src: &[u8], dst: &mut [u8]) {
    let width = width as usize;
    let step = |axis: usize| shape[..axis].iter().product::<u64>() as usize;
    let last = shape.len() - 1;
    let row = shape[last] as usize;
    if row == 0 {
        return;
    }
    let mut index = vec![0u64; last];
    for line in dst.chunks_exact_mut(row * width) {
        let start: usize = index.iter().enumerate().map(|(axis, i)| *i as usize * step(axis)).sum();
        for (i, element) in line.chunks_exact_mut(width).enumerate() {
            let at = (start + i * step(last)) * width;
            element.copy_from_slice(&src[at..at + width]);
        }
        for axis in (0..last).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Header, from_fortran, header};
    use fzgm::{Array, DType};
    use std::path::Path;

    #[test]
    fn headers_are_read_back() {
        for (dtype, dims) in [
            (DType::F32, &[4, 3, 2][..]),
            (DType::U8, &[7]),
            (DType::I64, &[0, 5]),
            (DType::U16, &[1 << 40, 3]),
        ] {
            let bytes = header(&Array::new(dtype, dims).unwrap());
            assert_eq!(bytes.len() % 64, 0);
            let (read, elements) = Header::read(Path::new("a"), bytes[..6].to_vec(), &mut &bytes[6..])
                .map_err(|e| e.message)
                .unwrap();
            assert_eq!((read.dtype, read.dims().unwrap(), read.fortran), (dtype, dims.to_vec(), false));
            assert!(elements.is_empty() && !read.big_endian);
        }
    }

    #[test]
    fn invalid_headers_are_rejected() {
        let parse = |text: &str| Header::parse(text).map_err(|e| e.to_string());
        let read = parse("{'descr': '>f8', 'fortran_order': True, 'shape': (2, 3), }  \n").unwrap();
        assert_eq!((read.big_endian, read.fortran, read.shape), (true, true, vec![2, 3]));
        for (text, says) in [
            ("", "not as NumPy"),
            ("{}", "not as NumPy"),
            ("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }", "not as NumPy"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }", "not as NumPy"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': 2, }", "not as NumPy"),
            ("{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }", "float16"),
            ("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "uint8"),
            ("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", "complex"),
            ("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", "'|O'"),
            ("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,), }", "records"),
        ] {
            let e = parse(text).unwrap_err();
            assert!(e.contains(says), "{text}: {e}");
        }
        let four = parse("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 4, 3, 2), }").unwrap();
        assert_eq!(four.dims(), Ok(vec![2, 3, 4, 5]));
        let nine = parse("{'descr': '<f4', 'fortran_order': False, 'shape': (9, 8, 7, 6, 5, 4, 3, 2, 1), }")
            .unwrap();
        assert!(nine.dims().unwrap_err().contains("--shape 72,7,6,5,4,3,2,1"));
    }

    #[test]
    fn fortran_order_is_converted() {
        // Element (i, j, k) of a 2 x 3 x 4 array is 12 i + 4 j + k.
        let mut src = vec![0u8; 24];
        for (i, j, k) in (0..2).flat_map(|i| (0..3).flat_map(move |j| (0..4).map(move |k| (i, j, k)))) {
            src[i + 2 * j + 6 * k] = (12 * i + 4 * j + k) as u8;
        }
        let mut dst = vec![0; 24];
        from_fortran(&[2, 3, 4], 1, &src, &mut dst);
        assert_eq!(dst, (0..24).collect::<Vec<u8>>());
    }
}
