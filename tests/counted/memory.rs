//! The stated memory is the allocated memory.

use crate::alloc::{kept_by, peak_of};
use crate::alone;
use crate::common::corpus::outlier_lists;
use crate::common::run::{both_containers, options};
use crate::common::samples::{self, Content};
use fzgm::{Array, DType, Decoder, Encoder, Error, Options, Pipeline, preset};

fn pipelines() -> Vec<(Pipeline, DType)> {
    let mut all: Vec<_> = DType::ALL.into_iter().map(|d| (preset("bits", d).unwrap(), d)).collect();
    for dtype in [DType::F32, DType::F64] {
        all.push((preset("pfpl", dtype).unwrap(), dtype));
        all.push((preset("fz", dtype).unwrap(), dtype));
        all.push((outlier_lists(), dtype));
    }
    all
}

/// The arena is a whole number of 256 bytes.
fn as_said(took: isize, said: u64, name: &str) {
    assert!((took - said as isize).abs() <= 256, "{name} takes {took}, says {said}");
}

#[test]
fn a_workspace_allocates_its_stated_size() {
    let _alone = alone();
    for (pipeline, dtype) in pipelines() {
        for n in [0, 1000, 100_000] {
            let sample = samples::make(dtype, &[n], Content::Walk, 1);
            for container in both_containers() {
                let encoder = Encoder::new(&pipeline, &sample.array, &options(container, true)).unwrap();
                let (mut ws, took) = kept_by(|| encoder.workspace().unwrap());
                as_said(took, encoder.workspace_bytes(), &sample.name);
                let mut dst = vec![0; encoder.max_compressed_bytes() as usize];
                let n = encoder.compress(&mut ws, &sample.bytes, &mut dst).unwrap();

                let decoder = Decoder::open(&dst[..n], &options(container, true)).unwrap();
                let (_ws, took) = kept_by(|| decoder.workspace().unwrap());
                as_said(took, decoder.workspace_bytes(), &sample.name);
            }
        }
    }
}

/// The arrays of a call come from its workspace, for any length; other allocations (the header of a
/// container, a table of chunks) do not grow with them.
#[test]
fn calls_with_a_workspace_hardly_allocate() {
    let _alone = alone();
    // Thin ones are cut into more pieces than others of their length.
    let shapes: [&[u64]; 5] = [&[500_000], &[1000, 500], &[100, 50, 100], &[1, 1_000_000], &[2, 300_000, 2]];
    let all = [DType::F32, DType::F64].into_iter().flat_map(|d| shapes.map(|s| (d, s)));
    // A codebook and the counts of its symbols take more than most; a thread of ginterp has some tiles with all of their levels.
    let (small, large, tiles) = ((64 << 10, 96 << 10), (128 << 10, 96 << 10), (1 << 20, 1 << 20));
    let presets = fzgm::PRESETS.iter().map(|p| match p.name {
        "cusz" | "lc_cr" => (p.name, large),
        "cusz_hi_tp" | "cusz_hi_cr" => (p.name, tiles),
        // Codes and restored values of high lie beside the workspace on a CPU: 22 bytes a value of f32.
        "high" => (p.name, (48 << 20, 48 << 20)),
        // So do the integers, codes, and low bits of exact.
        "exact" => (p.name, (48 << 20, 48 << 20)),
        _ => (p.name, small),
    });
    for ((dtype, dims), (name, most)) in all.flat_map(|x| presets.clone().map(move |p| (x, p))) {
        let sample = samples::make(dtype, dims, Content::Walk, 1);
        for container in both_containers() {
            let options = options(container, true);
            let encoder = Encoder::new(&preset(name, dtype).unwrap(), &sample.array, &options).unwrap();
            let mut ws = encoder.workspace().unwrap();
            let mut dst = vec![0; encoder.max_compressed_bytes() as usize];
            let (n, took) = peak_of(|| encoder.compress(&mut ws, &sample.bytes, &mut dst).unwrap());
            assert!(took < most.0, "{name} {dims:?}: compress allocates {took} bytes");
            let decoder = encoder.decoder().unwrap();
            let mut ws = decoder.workspace().unwrap();
            let mut out = vec![0; sample.bytes.len()];
            let (_, took) = peak_of(|| decoder.decompress(&mut ws, &dst[..n], &mut out).unwrap());
            assert!(took < most.1, "{name} {dims:?}: decompress allocates {took} bytes");
        }
    }
}

/// Codebooks can be larger than arrays; their memory is stated in the header.
#[test]
fn codebooks_need_the_stated_memory() {
    let _alone = alone();
    for (bklen, n) in [(1 << 16, 1000), (1 << 16, 8_000_000), (1024, 1000), (1024, 8_000_000)] {
        let array = Array::new(DType::U16, &[n]).unwrap();
        let src: Vec<u8> = (0..n).flat_map(|i| ((i * i % 1021) as u16).to_le_bytes()).collect();
        let pipeline = Pipeline::from_text(&format!("huffman(bklen={bklen})")).unwrap();
        for threads in [1, 2, 5] {
            let options = Options { threads, ..Options::default() };
            let encoder = Encoder::new(&pipeline, &array, &options).unwrap();
            let mut ws = encoder.workspace().unwrap();
            let mut dst = vec![0; encoder.max_compressed_bytes() as usize];
            let (made, took) = peak_of(|| encoder.compress(&mut ws, &src, &mut dst).unwrap());
            let most =
                (32 << 10) * threads as usize + 2 * n as usize / 500 + bklen * (20 + 4 * threads as usize);
            assert!(took < most, "{bklen}, {n}, {threads}: compress allocates {took} bytes of {most}");
            let decoder = encoder.decoder().unwrap();
            let (mut ws, mut out) = (decoder.workspace().unwrap(), vec![0; src.len()]);
            let (_, took) = peak_of(|| decoder.decompress(&mut ws, &dst[..made], &mut out).unwrap());
            assert!(took < most, "{bklen}, {n}, {threads}: decompress allocates {took} bytes of {most}");
            assert!(out == src);
        }
    }
}

#[test]
fn the_limit_is_a_limit() {
    let _alone = alone();
    let sample = samples::make(DType::F32, &[100_000], Content::Walk, 1);
    let plain = Options::default();
    let container = fzgm::compress(&outlier_lists(), &sample.array, &plain, &sample.bytes).unwrap();
    let need = Decoder::open(&container, &plain).unwrap().workspace_bytes();
    let enough = Options { max_memory_bytes: need, ..plain.clone() };
    assert!(Decoder::open(&container, &enough).is_ok());
    let short = Options { max_memory_bytes: need - 1, ..plain };
    assert_eq!(Decoder::open(&container, &short).err(), Some(Error::MemoryLimit { need, limit: need - 1 }));
}

/// The longest possible lists of outliers, merged, need more memory than a container may require; the maker
/// of the encoder has requested this memory.
#[test]
fn presets_restore_their_containers_of_any_shape() {
    let _alone = alone();
    for chosen in fzgm::PRESETS {
        for (dtype, dims) in
            [(DType::F32, &[512, 512, 256][..]), (DType::F64, &[1, 1 << 26]), (DType::F32, &[1 << 26])]
        {
            let array = Array::new(dtype, dims).unwrap();
            let p = preset(chosen.name, dtype).unwrap();
            for container in both_containers() {
                let options = options(container, true);
                let encoder = Encoder::new(&p, &array, &options).unwrap();
                let need =
                    encoder.decoder().unwrap_or_else(|e| panic!("{}: {e}", chosen.name)).workspace_bytes();
                let limit = need - 1;
                let short = Options { max_memory_bytes: limit, ..options };
                let e = Encoder::new(&p, &array, &short).unwrap().decoder().err();
                // The decoder of `high` allocates memory besides its workspace, which the limit counts.
                let counted =
                    matches!(e, Some(Error::MemoryLimit { need: n, limit: l }) if n >= need && l == limit);
                assert!(counted, "{}: {e:?}", chosen.name);
            }
        }
    }
}

/// A workspace of another plan is refused, not overrun.
#[test]
fn a_workspace_that_is_too_small_is_refused() {
    let _alone = alone();
    let options = Options::default();
    let make = |n| {
        Encoder::new(&outlier_lists(), &samples::make(DType::F32, &[n], Content::Walk, 1).array, &options)
            .unwrap()
    };
    let (small, large) = (make(100), make(10_000));
    let src = vec![0; 40_000];
    let mut dst = vec![0; large.max_compressed_bytes() as usize];
    let refusal = large.compress(&mut small.workspace().unwrap(), &src, &mut dst).unwrap_err();
    assert!(matches!(refusal, Error::PlanMismatch(_)), "{refusal}");
    let refusal = large.compress(&mut large.workspace().unwrap(), &src[..39_996], &mut dst).unwrap_err();
    assert!(matches!(refusal, Error::PlanMismatch(_)), "{refusal}");
    // One that is larger than needed serves.
    let n = small.compress(&mut large.workspace().unwrap(), &src[..400], &mut dst).unwrap();
    let own = small.compress(&mut small.workspace().unwrap(), &src[..400], &mut vec![0; n]).unwrap();
    assert_eq!(n, own);
}

/// A workspace at the default room of the lists is at most three times the array, for any shape.
#[test]
fn workspaces_of_the_presets_are_small() {
    let _alone = alone();
    for name in ["pfpl", "fz"] {
        for dtype in [DType::F32, DType::F64] {
            for dims in [&[1 << 20][..], &[1 << 10, 1 << 10], &[128, 64, 128], &[3, 3, 100_000]] {
                let array = fzgm::Array::new(dtype, dims).unwrap();
                let encoder =
                    Encoder::new(&preset(name, dtype).unwrap(), &array, &Options::default()).unwrap();
                let need = encoder.workspace_bytes();
                assert!(need <= 3 * array.bytes(), "{name} {dtype} {dims:?}: {need} of {}", array.bytes());
            }
        }
    }
}

/// Memory of the caller, at an unaligned address, with just the required bytes.
fn lent(bytes: u64, skip: usize) -> &'static mut [u8] {
    &mut vec![0xa5; bytes as usize + skip].leak()[skip..]
}

/// The limit of allocations of a call beside its workspace, as the header states it: a constant, tables of
/// tiles, and the lists that lorenzo_quant sorts.
fn little(pipeline: &Pipeline, sample: &samples::Sample, threads: u32) -> usize {
    let lists = match pipeline.nodes()[0].stage() {
        // A fifth of the elements, with an index, four times.
        "lorenzo_quant" => {
            4 * (sample.array.bytes() + 8 * sample.bytes.len() as u64 / sample.array.dtype().bytes()) / 5
        }
        // A batch of tiles.
        "quantizer" => 2 << 20,
        _ => 0,
    };
    (64 << 10) * (1 + threads as usize) + (sample.array.bytes() / 500 + lists) as usize
}

/// With memory that the caller lends, a call on the CPU takes hardly any of its own: not for a workspace, nor for outliers, nor
/// for an array that is stored.
#[test]
fn with_memory_that_was_lent_hardly_anything_is_allocated() {
    let _alone = alone();
    let mut overflows = 0;
    for (pipeline, dtype) in pipelines().into_iter().filter(|(_, dtype)| dtype.is_float()) {
        for (content, skip) in [(Content::Walk, 1), (Content::Random, 3), (Content::Specials, 255)] {
            let sample = samples::make(dtype, &[200, 100, 100], content, 1);
            for (container, threads) in both_containers().into_iter().zip([1, 3]) {
                let options = Options { container, threads, ..Options::default() };
                let what = format!("{} {container:?}, {threads} threads", sample.name);
                let encoder = Encoder::new(&pipeline, &sample.array, &options).unwrap();
                let mut dst = vec![0; encoder.max_compressed_bytes() as usize];
                let want =
                    encoder.compress(&mut encoder.workspace().unwrap(), &sample.bytes, &mut dst).unwrap();
                let want = dst[..want].to_vec();

                let memory = lent(encoder.workspace_bytes(), skip);
                let (mut ws, took) = peak_of(|| encoder.workspace_in(memory).unwrap());
                let little = little(&pipeline, &sample, threads);
                assert!(took < little, "{what}: the workspace allocates {took} bytes");
                let (done, took) = peak_of(|| encoder.compress(&mut ws, &sample.bytes, &mut dst));
                assert!(took < little, "{what}: compress allocates {took} bytes");
                match done {
                    Ok(n) => assert!(dst[..n] == want[..], "{what}: other bytes"),
                    Err(Error::OutlierCapacity { needed, capacity, .. }) if needed > capacity => {
                        overflows += 1
                    }
                    Err(e) => panic!("{what}: {e}"),
                }
                drop(ws);

                let decoder = encoder.decoder().unwrap();
                let mut out = vec![0; sample.bytes.len()];
                let memory = lent(decoder.workspace_bytes(), skip);
                let mut ws = decoder.workspace_in(memory).unwrap();
                let (done, took) = peak_of(|| decoder.decompress(&mut ws, &want, &mut out));
                done.unwrap();
                assert!(took < little, "{what}: decompress allocates {took} bytes");
                assert!(out == fzgm::decompress(&want, &options).unwrap().1, "{what}: other values");
            }
        }
    }
    assert!(overflows > 0, "no array has more outliers than there is room for");
}

#[test]
fn too_little_memory_is_refused() {
    let _alone = alone();
    let sample = samples::make(DType::F32, &[1000], Content::Walk, 1);
    let encoder = Encoder::new(&outlier_lists(), &sample.array, &Options::default()).unwrap();
    let decoder = encoder.decoder().unwrap();
    let (most, least) = (encoder.workspace_bytes(), decoder.workspace_bytes());
    let refusals =
        [encoder.workspace_in(lent(most - 1, 1)).err(), decoder.workspace_in(lent(least - 1, 1)).err()];
    for (e, need) in refusals.into_iter().zip([most, least]) {
        let e = e.unwrap();
        assert!(matches!(e, Error::InvalidArgument { .. }), "{e:?}");
        assert!(e.to_string().contains(&format!("{need} bytes")), "{e}");
    }
}
