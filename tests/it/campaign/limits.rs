//! The longest array that the wire form holds, for every preset and type: it is planned, and the next one is refused.

use crate::common::fixture::lossy;
use fzgm::{Array, Container, DType, Encoder, Error, Options, Pipeline, Status};

/// Bytes of a stream of RZE in the worst case: its header, four bytes for each tile, padding, and a short tile that grows.
fn stream(bytes: u64) -> u64 {
    bytes + 4 * bytes.div_ceil(16384) + 8 + 4 + 2060
}

/// Elements of the longest array of values of `width` bytes with codes of `code` bytes: FZM files pad arrays to whole
/// tiles, and lengths of streams are numbers of 32 bits.
pub(crate) fn longest(width: u64, code: u64) -> u64 {
    let step = 16384 / width;
    let mut n = (1 << 31) / code / step * step;
    while stream((n + step) * code) <= u64::from(u32::MAX) {
        n += step;
    }
    n
}

pub(crate) fn in_mode(mode: &str, dtype: DType) -> Pipeline {
    let mut p = lossy("pfpl", dtype);
    p.set_everywhere("mode", |args| args.set_text("mode", mode)).unwrap();
    p
}

fn planned(pipeline: &Pipeline, dtype: DType, elements: u64, options: &Options) -> Result<(), Error> {
    Encoder::new(pipeline, &Array::new(dtype, &[elements])?, options).map(|_| ())
}

/// Fewest elements that are refused, by halving.
fn first_refused(pipeline: &Pipeline, dtype: DType, options: &Options) -> u64 {
    let (mut fits, mut refused) = (1, 1 << 40);
    while refused - fits > 1 {
        let middle = fits + (refused - fits) / 2;
        match planned(pipeline, dtype, middle, options) {
            Ok(()) => fits = middle,
            Err(_) => refused = middle,
        }
    }
    refused
}

#[test]
fn the_longest_array_fits_and_the_next_is_too_large() {
    let options = Options::default();
    let same = |name: &'static str, dtype: DType| (lossy(name, dtype), dtype, dtype.bytes());
    let mut cases: Vec<(Pipeline, DType, u64)> = DType::ALL.into_iter().map(|d| same("bits", d)).collect();
    for dtype in [DType::F32, DType::F64] {
        cases.push(same("pfpl", dtype));
        cases.push((in_mode("rel", dtype), dtype, dtype.bytes()));
        // Its codes have two bytes for every array.
        cases.push((lossy("fz", dtype), dtype, 2));
    }
    for (pipeline, dtype, code) in cases {
        let refused = first_refused(&pipeline, dtype, &options);
        let stages: Vec<&str> = pipeline.nodes().iter().map(|n| n.stage()).collect();
        assert_eq!(refused, longest(dtype.bytes(), code) + 1, "{stages:?} {dtype}");
        let e = planned(&pipeline, dtype, refused, &options).unwrap_err();
        assert_eq!(e.status(), Status::TooLarge, "{stages:?} {dtype}: {e}");
        let text = e.to_string();
        assert!(text.contains("rze can hold 4294967295 bytes") && text.contains("in slabs"), "{text}");
        let longest = Array::new(dtype, &[refused - 1]).unwrap();
        let encoder = Encoder::new(&pipeline, &longest, &options).unwrap();
        super::note(&format!(
            "{stages:?} {dtype}: up to {} elements, {} bytes; container of at most {}, workspaces of {} and {}",
            longest.elements(),
            longest.bytes(),
            encoder.max_compressed_bytes(),
            encoder.workspace_bytes(),
            encoder.decoder().unwrap().workspace_bytes()
        ));
    }
}

/// Compact frames have no padding, so that their limit is one of bytes and not of tiles.
#[test]
fn compact_frames_hold_as_many_bytes() {
    let options = Options { container: Container::Compact, ..Options::default() };
    let refused = first_refused(&lossy("bits", DType::U8), DType::U8, &options);
    assert!(stream(refused - 1) <= u64::from(u32::MAX) && stream(refused) > u64::from(u32::MAX), "{refused}");
}

/// 5 GiB of u16 exceed the counters of RZE: the preset is rejected when it is planned, and the stages without
/// RZE are not.
#[test]
fn five_gib_of_u16_are_refused_by_bits() {
    let array = Array::new(DType::U16, &[5 << 29]).unwrap();
    let e = Encoder::new(&lossy("bits", DType::U16), &array, &Options::default()).err().unwrap();
    assert_eq!(e.status(), Status::TooLarge, "{e}");
    Encoder::new(&super::large::without_rze(DType::U16), &array, &Options::default()).unwrap();
}

/// A stage that counts elements in 32 bits, with any stages after it.
#[test]
fn lists_of_outliers_have_indices_of_32_bits() {
    let mut pipeline = Pipeline::new();
    pipeline.add("lorenzo_quant").unwrap();
    let e = planned(&pipeline, DType::F32, 1 << 32, &Options::default()).unwrap_err();
    assert_eq!(e.status(), Status::TooLarge, "{e}");
    planned(&pipeline, DType::F32, (1 << 32) - 1, &Options::default()).unwrap();
}
