//! Stage fast, both decoders of it: one block for each of few chunks, and warps that restore many.

use crate::common::fixture::options;
use crate::common::gpu::mine;
use crate::common::rng::Rng;
use crate::cuda::fast::SHIFTS;
use crate::cuda::lorenzo_3d::{agrees, stage};
use crate::cuda::need_gpu;
use fzgm::{Array, Container, DType, Options, decompress};

fn bytes(dtype: DType, values: impl Iterator<Item = f64>) -> Vec<u8> {
    match dtype {
        DType::F32 => values.flat_map(|x| (x as f32).to_le_bytes()).collect(),
        _ => values.flat_map(f64::to_le_bytes).collect(),
    }
}

/// Chunks in which most values are exact, and which are hardly shorter than these: shared memory does not have room for all words of one.
#[test]
fn chunks_as_long_as_their_values() {
    need_gpu!();
    let mut rng = Rng(0x3c6e_f372);
    for dims in [&[20_000][..], &[64, 512], &[64, 64, 16], &[36, 40, 9]] {
        for (dtype, exact) in [(DType::F32, 5), (DType::F64, 6), (DType::F64, 7)] {
            let n = dims.iter().product::<u64>();
            let value = |i| match rng.below(10) < exact {
                true => 1e30 * (1.0 + rng.unit()),
                false => ((i / 64) as f64 * 0.1).sin() * 900.0 + rng.unit() * 6.0,
            };
            let src = bytes(dtype, (0..n).map(value));
            let array = Array::new(dtype, dims).unwrap();
            for container in [Container::Fzm, Container::Compact] {
                let form = Options { container, store_incompressible: false, ..Options::default() };
                let sets = [("mode", "abs"), ("error_bound", "0.25"), ("outlier_threshold", "1e25")];
                let what = format!("{dtype} {dims:?}, {exact} of 10 exact");
                agrees(&stage("fast", &sets), &array, &src, &form, *rng.pick(&SHIFTS), &what);
            }
        }
    }
}

/// Volumes of whole chunks in which a unit is the one before and some more, but for one that starts anew; without exact values, and with some
/// that are one or several.
#[test]
fn units_that_add_to_those_before() {
    need_gpu!();
    let mut rng = Rng(0x510e_527f);
    for (dtype, exact) in [DType::F32, DType::F64].into_iter().flat_map(|d| [0, 1, 2].map(|exact| (d, exact)))
    {
        let dims = [64, 64, 16];
        let planes: Vec<f64> = (0..2 * 4096).map(|_| rng.unit() * 3e4).collect();
        let value = |i| match (exact, rng.below(300)) {
            (1, 0) => 1e30,
            (2, 0) => 1e30 * (1.0 + rng.unit()),
            _ => planes[i % 4096 + if i / 4096 % 8 < 5 { 0 } else { 4096 }] + (i / 4096) as f64 * 7.0,
        };
        let src = bytes(dtype, (0..dims.iter().product::<u64>() as usize).map(value));
        let sets = [("mode", "abs"), ("error_bound", "0.25"), ("outlier_threshold", "1e25")];
        let array = Array::new(dtype, &dims).unwrap();
        for shifts in [[0, 0], [3, 1]] {
            let what = format!("{dtype}, exact values {exact}, {shifts:?}");
            agrees(&stage("fast", &sets), &array, &src, &Options::default(), shifts, &what);
        }
    }
}

/// Puts something else into an entry of the table, or into words of its chunk: the first ones, which say where the others are, or any.
fn harm(stream: &mut [u8], chunks: usize, rng: &mut Rng) -> String {
    let any = rng.below(chunks);
    let k = *rng.pick(&[0, chunks - 1, any]);
    let entry = u64::from_le_bytes(stream[8 * k..8 * k + 8].try_into().unwrap());
    let (first, words) = ((entry & ((1 << 44) - 1)) as usize, (entry >> 44 & 0xffff) as usize);
    let put = |stream: &mut [u8], entry: u64| stream[8 * k..8 * k + 8].copy_from_slice(&entry.to_le_bytes());
    let way = rng.below(8);
    match way {
        0 => put(stream, entry ^ 1 << (40 + rng.below(24))),
        // A word more or less.
        1 => put(stream, entry.wrapping_add(1 << 44)),
        2 => put(stream, entry.wrapping_sub(1 << 44)),
        // All that there is.
        3 => put(stream, entry & 15 << 60 | (((stream.len() / 4 - 2 * chunks).min(0xffff)) as u64) << 44),
        4 => {
            let other = rng.below(chunks);
            (0..8).for_each(|i| stream.swap(8 * k + i, 8 * other + i));
        }
        _ if entry >> 62 != 0 || words == 0 => {}
        _ => {
            let at = 8 * chunks + 4 * (first + rng.below(if way == 5 { words } else { words.min(12) }));
            stream[at + rng.below(4)] ^= 1 << rng.below(8);
        }
    }
    format!("chunk {k} of {words} words, way {way}")
}

/// Streams with chunks of every kind, damaged where it matters: both decoders find what the CPU finds, and restore what it restores.
#[test]
fn damaged_streams_get_the_verdict_of_the_cpu() {
    need_gpu!();
    let mut rng = Rng(0xa54f_f53a);
    let [mut refused, mut restored] = [0; 2];
    for (dims, rounds) in [
        (&[20_000][..], 40),
        (&[40, 600], 40),
        (&[40, 33, 17], 60),
        (&[2_097_153], 3),
        (&[8193, 2], 20),
        (&[8193, 2, 2], 20),
    ] {
        for dtype in [DType::F32, DType::F64] {
            let n = dims.iter().product::<u64>();
            let value = |i: u64| match (i / 700 % 7, rng.below(50)) {
                (0, _) => 5.0,
                (1, 0) => f64::NAN,
                (2, 0..25) => 1e30 * (1.0 + rng.unit()),
                (3, _) => 1e30,
                (4, _) => -4.5e9 + (i % 90) as f64,
                (5, _) => (i as f64 * 0.01).sin() * 300.0 + rng.unit() * 1e5,
                _ => (i as f64 * 0.01).sin() * 300.0 + rng.unit() * 9.0,
            };
            let src = bytes(dtype, (0..n).map(value));
            let sets = [("mode", "abs"), ("error_bound", "0.25"), ("outlier_threshold", "1e25")];
            let form = Options { checksum: false, store_incompressible: false, ..Options::default() };
            let array = Array::new(dtype, dims).unwrap();
            let whole = fzgm::compress(&stage("fast", &sets), &array, &form, &src).unwrap();
            // Where a file says that its payload starts.
            let payload = u64::from_le_bytes(whole[24..32].try_into().unwrap()) as usize;
            let chunk: &[u64] = [&[8192][..], &[32, 256], &[32, 32, 8]][dims.len() - 1];
            let chunks = dims.iter().zip(chunk).map(|(d, c)| d.div_ceil(*c)).product::<u64>() as usize;
            for round in (0..rounds).filter(|round| mine(*round)) {
                let mut bytes = whole.clone();
                let mut rng = Rng(round as u64);
                let what = harm(&mut bytes[payload..], chunks, &mut rng);
                let verdict = |options: &Options| decompress(&bytes, options).map_err(|e| e.status());
                let (on_cpu, on_gpu) = (verdict(&Options::default()), verdict(&options()));
                let short = [&on_cpu, &on_gpu].map(|v| v.as_ref().map(|_| ()).map_err(|status| *status));
                assert!(on_cpu == on_gpu, "{dtype} {dims:?}, round {round}, {what}: {short:?}");
                *if on_cpu.is_ok() { &mut restored } else { &mut refused } += 1;
            }
        }
    }
    assert!(refused > 20 && restored > 20, "{refused} refused, {restored} restored");
}
