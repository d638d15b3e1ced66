//! Defects that once were: each test failed before its cure.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fzgm::{Array, Container, DType, Encoder, Options, Pipeline, Status, compress, decompress, info};

fn bytes<T: Copy, const N: usize>(values: &[T], f: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&x| f(x)).collect()
}

fn stage(name: &str, set: &[(&str, &str)]) -> Pipeline {
    let mut p = Pipeline::new();
    let i = p.add(name).unwrap();
    for (k, v) in set {
        p.args_mut(i).unwrap().set_text(k, v).unwrap();
    }
    p
}

/// Options for both containers.
fn both() -> [Options; 2] {
    [Container::Fzm, Container::Compact].map(|container| Options {
        container,
        store_incompressible: false,
        ..Options::default()
    })
}

fn comes_back(p: &Pipeline, dtype: DType, x: &[u8], o: &Options) {
    let array = Array::new(dtype, &[x.len() as u64 / dtype.bytes()]).unwrap();
    let encoder = Encoder::new(p, &array, o).unwrap();
    let mut f = vec![0; encoder.max_compressed_bytes() as usize];
    let n = encoder.compress(&mut encoder.workspace().unwrap(), x, &mut f).unwrap();
    assert!(decompress(&f[..n], o).unwrap().1 == x, "opened by itself");
    let (decoder, mut out) = (encoder.decoder().unwrap(), vec![0; x.len()]);
    decoder.decompress(&mut decoder.workspace().unwrap(), &f[..n], &mut out).unwrap();
    assert!(out == x, "with the encoder's decoder");
}

/// Words of four bytes were taken for the layout of May 2026, and decoded to something else without an error.
#[test]
fn words_of_four_bytes_are_not_levels() {
    let mut x = vec![0u8; 16384];
    (100..230).for_each(|k| x[4 * k] = 1);
    both().iter().for_each(|o| comes_back(&stage("rze", &[("word_size", "4")]), DType::U32, &x, o));
}

/// Twice the bound of a constant this large is not finite.
#[test]
fn a_large_constant_is_exact() {
    let x = bytes(&[1e38f32; 10], f32::to_le_bytes);
    both().iter().for_each(|o| comes_back(&stage("quantizer", &[("mode", "noa")]), DType::F32, &x, o));
}

/// The outlier lists may grow beyond what the plan has room for.
#[test]
fn the_longest_container_counts_grown_lists() {
    let x: Vec<f32> = (0..10000).map(|i| if i % 5 == 0 { f32::NAN } else { i as f32 }).collect();
    let p = stage("quantizer", &[("code_type", "u16"), ("error_bound", "0.5"), ("outlier_capacity", "0.01")]);
    both().iter().for_each(|o| comes_back(&p, DType::F32, &bytes(&x, f32::to_le_bytes), o));
}

/// A bound below the range of f32 stands in a field that the run fills in.
#[test]
fn decoders_of_encoders_take_tiny_bounds_and_wide_words() {
    let x: Vec<f64> = (0..1000).map(|i| f64::from(i) * 2e-40).collect();
    let p = stage("quantizer", &[("error_bound", "1e-40"), ("code_type", "u16")]);
    let mut words = vec![0u8; 40000];
    (words[5], words[20000]) = (1, 7);
    for o in both() {
        comes_back(&p, DType::F64, &bytes(&x, f64::to_le_bytes), &o);
        comes_back(&stage("rze", &[("word_size", "4")]), DType::U8, &words, &o);
    }
}

/// The layout of a stage used to be a choice of its own, which frames could not express.
#[test]
fn a_layout_of_another_generation_is_refused() {
    let array = Array::new(DType::U8, &[40000]).unwrap();
    for o in both() {
        let e = Encoder::new(&stage("rze", &[("layout", "2026-05")]), &array, &o).err().unwrap();
        assert_eq!(e.status(), Status::Unsupported, "{e}");
    }
}

/// The field of the header is an f32, in which this threshold is zero.
#[test]
fn a_tiny_threshold_can_be_read_back() {
    let x = bytes(&[1.0f64, 2.0, 3.0], f64::to_le_bytes);
    let p = stage("quantizer", &[("outlier_threshold", "1e-60"), ("outlier_capacity", "1")]);
    both().iter().for_each(|o| comes_back(&p, DType::F64, &x, o));
}

/// Plain differences of floats round, and no bound says how much.
#[test]
fn plain_differences_of_floats_are_not_called_lossless() {
    let x = bytes(&[1e8f32, 1.0], f32::to_le_bytes);
    let array = Array::new(DType::F32, &[2]).unwrap();
    let o = Options { store_incompressible: false, ..Options::default() };
    let f = compress(&stage("difference", &[]), &array, &o, &x).unwrap();
    assert!(decompress(&f, &o).unwrap().1 != x);
    assert_eq!(info(&f).unwrap().mode, "unbounded");
}

/// Damage was reported as a mistake of the caller.
#[test]
fn absurd_blocks_in_a_file_are_damage() {
    let mut p = stage("difference", &[("chunk_size", "4096")]);
    let shuffle = p.add("bitshuffle").unwrap();
    p.connect(0, "output", shuffle).unwrap();
    let array = Array::new(DType::U32, &[1000]).unwrap();
    let o = Options { store_incompressible: false, checksum: false, ..Options::default() };
    let mut f = compress(&p, &array, &o, &[0; 4000]).unwrap();
    let chunk_size = 80 + 40 + 2;
    f[chunk_size..chunk_size + 4].copy_from_slice(&0xffff_fffbu32.to_le_bytes());
    assert_eq!(decompress(&f, &o).unwrap_err().status(), Status::Corrupt);
}

/// A chunk that splits elements pads to a fraction of one; the error named another stage.
#[test]
fn chunks_that_split_elements_are_refused_by_name() {
    let mut p = stage("quantizer", &[]);
    let difference = p.add("difference").unwrap();
    p.args_mut(difference).unwrap().set_int("chunk_size", 6).unwrap();
    p.connect(0, "codes", difference).unwrap();
    let array = Array::new(DType::F32, &[100]).unwrap();
    let e = Encoder::new(&p, &array, &Options::default()).err().unwrap().to_string();
    assert!(e.contains("chunk"), "{e}");
}

/// A mistyped number of threads swamped the machine.
#[test]
fn threads_have_a_limit() {
    let array = Array::new(DType::U8, &[100]).unwrap();
    let o = Options { threads: 100_000, ..Options::default() };
    let encoder = Encoder::new(&stage("stored", &[]), &array, &o).unwrap();
    assert_eq!(encoder.workspace().err().unwrap().status(), Status::InvalidArgument);
}
