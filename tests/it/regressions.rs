//! Defects that once were: each test failed before its cure.

use crate::common::agreement::stage;
use fzgm::{
    Array, Container, DType, Decoder, Encoder, Generation, Options, Pipeline, Status, compress, decompress,
    info, preset,
};

fn bytes<T: Copy, const N: usize>(values: &[T], f: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&x| f(x)).collect()
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

/// The outlier lists may grow beyond the room of the plan.
#[test]
fn the_longest_container_counts_grown_lists() {
    let x: Vec<f32> = (0..10000).map(|i| if i % 5 == 0 { f32::NAN } else { i as f32 }).collect();
    let p = stage("quantizer", &[("code_type", "u16"), ("error_bound", "0.5"), ("outlier_capacity", "0.01")]);
    both().iter().for_each(|o| comes_back(&p, DType::F32, &bytes(&x, f32::to_le_bytes), o));
}

/// A bound below the range of f32 is stored in a field that the run fills in.
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

/// Plain differences of floats round, without a bound.
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

/// With nearly every value an outlier, room for all of them was a share of the array that f32 rounded down: compression
/// called itself until its stack was full. The first length is 2^24 + 1.
#[test]
fn all_values_of_a_long_odd_array_are_outliers() {
    let n = (1u64 << 24) + 1;
    let p = stage("quantizer", &[("code_type", "u16"), ("outlier_capacity", "1")]);
    let array = Array::new(DType::F32, &[n]).unwrap();
    let x = vec![0xff; 4 * n as usize]; // NaN
    let o = Options::default();
    let f = compress(&p, &array, &o, &x).unwrap();
    assert!(decompress(&f, &o).unwrap().1 == x);
}

/// Two readers of one edge could state two lengths for it. The rest of the shorter one contained old memory
/// of the workspace: values of an earlier call.
#[test]
fn readers_of_one_edge_agree_on_its_length() {
    let n = 4096u64;
    let array = Array::new(DType::F32, &[n]).unwrap();
    let mut p = stage("quantizer", &[("code_type", "u16")]);
    for _ in 0..2 {
        let reader = p.add("stored").unwrap();
        p.connect(0, "outlier_vals", reader).unwrap();
    }
    let o = Options { container: Container::Compact, checksum: false, ..Options::default() };
    let x: Vec<f32> = (0..n).map(|i| if i % 41 == 0 { f32::NAN } else { 1.0 }).collect();
    let f = compress(&p, &array, &o, &bytes(&x, f32::to_le_bytes)).unwrap();
    let segments: Vec<u64> = info(&f).unwrap().segments.iter().map(|s| s.bytes).collect();
    // The segment of the last stage becomes empty, that of the other reader stays.
    let payload = f.len() - segments.iter().sum::<u64>() as usize;
    let lengths: Vec<u8> = segments.iter().flat_map(|&s| varint(s)).collect();
    let mut damaged = f[..payload - lengths.len()].to_vec();
    damaged.push(0);
    damaged.extend(segments[1..].iter().flat_map(|&s| varint(s)));
    damaged.extend(&f[payload + segments[0] as usize..]);

    let decoder = Decoder::open(&f, &o).unwrap();
    let (mut ws, mut out) = (decoder.workspace().unwrap(), vec![0; 4 * n as usize]);
    decoder.decompress(&mut ws, &f, &mut out).unwrap();
    assert!(decoder.decompress(&mut ws, &damaged, &mut out).is_err());
    assert_eq!(decompress(&damaged, &o).unwrap_err().status(), Status::Corrupt);
}

fn varint(mut v: u64) -> Vec<u8> {
    let mut out = vec![];
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
    out
}

/// The exact form of the reference, which has no place for the type of the array.
fn reference_form() -> Options {
    Options { strict: false, generation: Generation::G2026_05, ..Options::default() }
}

/// Without a place for it, the type is that of the first config; where that states none, later stages saw bytes and
/// the file could not be read.
#[test]
fn files_that_lose_the_type_are_not_written() {
    for (first, then, dtype) in [
        ("stored", "difference", DType::U64),
        ("stored", "negabinary", DType::U32),
        ("stored", "zigzag", DType::I16),
        ("stored", "quantizer", DType::F32),
        ("bitshuffle", "rze", DType::U32),
    ] {
        let mut p = stage(first, &[]);
        let second = p.add(then).unwrap();
        p.connect(0, "output", second).unwrap();
        let array = Array::new(dtype, &[16384]).unwrap();
        let x: Vec<u8> = (0..array.bytes()).map(|i| (i / 999) as u8).collect();
        let o = reference_form();
        match Encoder::new(&p, &array, &o) {
            Err(e) => assert_eq!(e.status(), Status::Unsupported, "{first}, {then}: {e}"),
            Ok(_) => {
                let f = compress(&p, &array, &o, &x).unwrap();
                assert!(decompress(&f, &o).unwrap().1 == x, "{first}, {then}");
            }
        }
    }
}

/// A decoder of the encoder expected the shape that the file does not state.
#[test]
fn decoders_of_encoders_read_the_exact_form_of_the_reference() {
    let p = preset("pfpl", DType::F32).unwrap();
    for dims in [&[4096u64][..], &[1000], &[1024, 4]] {
        let array = Array::new(DType::F32, dims).unwrap();
        let x: Vec<f32> = (0..array.elements()).map(|i| (i as f32 * 0.01).sin()).collect();
        let x = bytes(&x, f32::to_le_bytes);
        let encoder = Encoder::new(&p, &array, &reference_form()).unwrap();
        let mut f = vec![0; encoder.max_compressed_bytes() as usize];
        let n = encoder.compress(&mut encoder.workspace().unwrap(), &x, &mut f).unwrap();
        let (decoder, alone) =
            (encoder.decoder().unwrap(), decompress(&f[..n], &Options::default()).unwrap());
        assert_eq!(decoder.array(), &alone.0, "{dims:?}");
        let mut out = vec![0; decoder.array().bytes() as usize];
        decoder.decompress(&mut decoder.workspace().unwrap(), &f[..n], &mut out).unwrap();
        assert!(out == alone.1, "{dims:?}");
    }
}

/// The decoder of an encoder was made without a look at the limit.
#[test]
fn the_limit_holds_for_decoders_of_encoders() {
    let p = preset("bits", DType::U32).unwrap();
    let array = Array::new(DType::U32, &[100_000]).unwrap();
    let o = Options { max_memory_bytes: 1, ..Options::default() };
    let e = Encoder::new(&p, &array, &o).unwrap().decoder().err().unwrap();
    assert_eq!(e.status(), Status::MemoryLimit, "{e}");
}

/// A stage before the quantizer makes its bound one of other values than those of the array.
#[test]
fn a_bound_is_only_claimed_for_the_array() {
    let mut p = stage("zigzag", &[("input_type", "i16"), ("byte_transparent", "true")]);
    let quantizer = p.add("quantizer").unwrap();
    p.args_mut(quantizer).unwrap().set_text("code_type", "u16").unwrap();
    p.connect(0, "output", quantizer).unwrap();
    let array = Array::new(DType::F32, &[5000]).unwrap();
    let x: Vec<f32> = (0..5000).map(|i| (i as f32 * 0.001).sin() * 10.0).collect();
    for o in both() {
        let e = Encoder::new(&p, &array, &o).err().unwrap();
        assert_eq!(e.status(), Status::InvalidPipeline, "{e}");
        let loose = Options { strict: false, ..o };
        let f = compress(&p, &array, &loose, &bytes(&x, f32::to_le_bytes)).unwrap();
        assert_eq!(info(&f).unwrap().mode, "unbounded");
    }
}

/// A file with right checksums whose bounds and threshold are no numbers that an encoder writes was taken without a
/// word.
#[test]
fn numbers_that_no_encoder_writes_are_damage() {
    let x: Vec<f32> = (0..5000).map(|i| if i % 100 == 3 { f32::NAN } else { i as f32 * 0.5 }).collect();
    let p = stage("quantizer", &[("code_type", "u16"), ("error_bound", "0.25")]);
    let array = Array::new(DType::F32, &[5000]).unwrap();
    let o = Options { checksum: false, ..Options::default() };
    let f = compress(&p, &array, &o, &bytes(&x, f32::to_le_bytes)).unwrap();
    let (config, extension) = (80 + 40, 80 + 180);
    for (at, number) in [
        (config, f32::NAN.to_le_bytes().to_vec()),
        (config, (-1f32).to_le_bytes().to_vec()),
        (extension + 36, f64::NAN.to_le_bytes().to_vec()),
        (extension + 36, (-5f64).to_le_bytes().to_vec()),
        (extension + 44, f64::NAN.to_le_bytes().to_vec()),
    ] {
        let mut damaged = f.clone();
        damaged[at..at + number.len()].copy_from_slice(&number);
        let refusal = decompress(&damaged, &o).map(|_| ());
        assert_eq!(refusal.map_err(|e| e.status()), Err(Status::Corrupt), "{number:?} at {at}");
    }
}

/// A block that pads a small array far made a file that its reader refused for its memory.
#[test]
fn files_written_by_default_are_read_by_default() {
    let mut p = stage("difference", &[("chunk_size", "268435456")]);
    for name in ["bitshuffle", "rze"] {
        let last = p.nodes().len() - 1;
        let next = p.add(name).unwrap();
        p.connect(last, "output", next).unwrap();
    }
    let array = Array::new(DType::U32, &[400_000]).unwrap();
    let e = Encoder::new(&p, &array, &Options::default()).err().unwrap().to_string();
    assert!(e.contains("pad"), "{e}");
}

/// A plan of a container with short segments called sound ones with longer segments damaged.
#[test]
fn plans_of_short_containers_call_no_other_damaged() {
    let p = preset("bits", DType::U32).unwrap();
    let (n, o) = (100_000u32, Options::default());
    let array = Array::new(DType::U32, &[n.into()]).unwrap();
    let noise = |mask: u32| (0..n).map(|i| i.wrapping_mul(2_654_435_761) >> 20 & mask).collect::<Vec<_>>();
    let [short, long] =
        [0, 15].map(|mask| compress(&p, &array, &o, &bytes(&noise(mask), u32::to_le_bytes)).unwrap());
    let decoder = Decoder::open(&short, &o).unwrap();
    let mut out = vec![0; 4 * n as usize];
    match decoder.decompress(&mut decoder.workspace().unwrap(), &long, &mut out) {
        Ok(_) => assert!(out == bytes(&noise(15), u32::to_le_bytes)),
        Err(e) => assert_eq!(e.status(), Status::PlanMismatch, "{e}"),
    }
}

/// A plan of one form restores containers of the other form, also if only the FZM file has padding.
#[test]
fn plans_restore_containers_of_the_other_form() {
    let x: Vec<f32> = (0..1000).map(|i| (i as f32 / 50.0).sin()).collect();
    let (src, array) = (bytes(&x, f32::to_le_bytes), Array::new(DType::F32, &[1000]).unwrap());
    for name in ["fz", "pfpl", "bits", "cusz", "fast", "lc_cr"] {
        let p = preset(name, DType::F32).unwrap();
        let [one, other] = both().map(|o| (compress(&p, &array, &o, &src).unwrap(), o));
        for ((opened, _), (given, o)) in [(&one, &other), (&other, &one)] {
            let (decoder, mut restored) = (Decoder::open(opened, o).unwrap(), vec![0; src.len()]);
            decoder.decompress(&mut decoder.workspace().unwrap(), given, &mut restored).unwrap();
            assert!(restored == decompress(given, o).unwrap().1, "{name}");
        }
    }
}

/// Outlier lists that exceed their stream are reported as TooLarge, not as an unknown element type.
#[test]
fn lists_too_long_for_their_stream_are_too_large() {
    let array = Array::new(DType::F64, &[(5 << 30) / 8]).unwrap();
    for name in ["lc_tp", "lc_cr"] {
        let e = Encoder::new(&preset(name, DType::F64).unwrap(), &array, &Options::default()).err().unwrap();
        assert_eq!(e.status(), Status::TooLarge, "{name}: {e}");
    }
}
