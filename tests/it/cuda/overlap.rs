//! Blocking calls of large arrays in pinned memory, whose copies overlap with parts of the coder.

use crate::common::corpus::chain;
use crate::common::fixture::options;
use crate::common::gpu::{Block, PinnedBytes, Registered, cuda, mine};
use crate::common::rng::Rng;
use crate::cuda::need_gpu;
use fzgm::{Array, DType, Decoder, DeviceSlice, Encoder, Error, Options, Pipeline};

/// Bytes of the smallest arrays that the tests overlap. Kernels of shorter arrays cannot be divided.
const LEAST: usize = 9 << 20;

/// An array of more than [`LEAST`] bytes.
struct Case {
    dtype: DType,
    dims: &'static [u64],
    settings: &'static [(&'static str, &'static str)],
    /// Noise that no bound makes shorter.
    noise: bool,
}

const GIVEN: &[(&str, &str)] = &[("mode", "noa"), ("error_bound", "1e-3"), ("value_base", "2")];
const ABS: &[(&str, &str)] = &[("mode", "abs"), ("error_bound", "1e-2")];
const TINY: &[(&str, &str)] = &[("mode", "abs"), ("error_bound", "1e-30")];

/// All numbers of dimensions, both types, groups of 8 and of 32 chunks, layers that pieces divide, chunks that are not whole.
/// The sanitizers run the second one.
const CASES: &[Case] = &[
    Case { dtype: DType::F32, dims: &[300, 340, 173], settings: GIVEN, noise: false },
    Case { dtype: DType::F32, dims: &[180, 400, 35], settings: TINY, noise: true },
    Case { dtype: DType::F64, dims: &[2200, 1100], settings: GIVEN, noise: false },
    Case { dtype: DType::F32, dims: &[2_600_000], settings: ABS, noise: false },
    Case { dtype: DType::F32, dims: &[900, 13, 220], settings: ABS, noise: false },
];

impl Case {
    fn pipeline(&self) -> Pipeline {
        chain(&[("fast", self.settings)])
    }

    fn array(&self) -> Array {
        Array::new(self.dtype, self.dims).unwrap()
    }

    /// Mostly constant, because the emulator is slow, with chunks of all kinds in between.
    fn bytes(&self) -> Vec<u8> {
        let n = self.dims.iter().product::<u64>() as usize;
        let mut rng = Rng(7);
        let mut value = |i: usize| match i / 30_000 % 11 {
            _ if self.noise => f64::from(f32::from_bits(rng.word() as u32 & 0xbfff_ffff)),
            3 => (i as f64 * 1e-3).sin(),
            5 => (i % 150) as f64 / 150.0 + (rng.word() % 1000) as f64 * 1e-5,
            7 if i % 1000 == 0 => f64::INFINITY,
            _ => 0.25,
        };
        match self.dtype {
            DType::F32 => (0..n).flat_map(|i| (value(i) as f32).to_le_bytes()).collect(),
            _ => (0..n).flat_map(|i| value(i).to_le_bytes()).collect(),
        }
    }
}

/// The launches of a call; 0 on a real device.
fn launches<R>(call: impl FnOnce() -> R) -> (R, u64) {
    let count = || cuda().count("launch").unwrap_or(0);
    let before = count();
    let result = call();
    (result, count() - before)
}

#[test]
fn bytes_are_those_of_other_calls() {
    need_gpu!();
    fzgm::overlap_from(LEAST);
    for (k, case) in CASES.iter().enumerate().filter(|(k, _)| mine(*k)) {
        let (pipeline, array, src) = (case.pipeline(), case.array(), case.bytes());
        let want = fzgm::compress(&pipeline, &array, &Options::default(), &src).unwrap();
        let back = fzgm::decompress(&want, &Options::default()).unwrap().1;
        let stored = want.len() > src.len();
        assert_eq!(stored, case.noise, "{k}");
        let encoder = Encoder::new(&pipeline, &array, &options()).unwrap();
        let decoder = encoder.decoder().unwrap();
        let (mut ews, mut dws) = (encoder.workspace().unwrap(), decoder.workspace().unwrap());
        let most = encoder.max_compressed_bytes() as usize;
        let pinned = PinnedBytes::of(&src);
        // Memory of the driver and, once, of the program.
        let registered = (k == 3).then(|| Registered::new(&src));
        let from = match registered {
            Some(_) => DeviceSlice { address: src.as_ptr() as u64, bytes: src.len() as u64 },
            None => pinned.slice(src.len()),
        };
        // The second call finds the workspace as the first one has left it.
        for _ in 0..if k == 2 { 2 } else { 1 } {
            let mut dst = PinnedBytes::new(most + 64);
            let (n, parts) = launches(|| unsafe { encoder.compress_at(&mut ews, from, dst.slice(most)) });
            assert_eq!(n.unwrap(), want.len(), "{k}");
            assert!(dst.front(want.len()) == want, "{k}");
            assert!(dst.bytes()[want.len()..].iter().all(|&b| b == 0xee), "{k}: bytes behind the container");
            let mut to = PinnedBytes::new(back.len() + 64);
            let (container, there) = (PinnedBytes::new(want.len()), Block::of(&want));
            container.receive(&there);
            let restore = || unsafe {
                decoder.decompress_at(&mut dws, container.slice(want.len()), to.slice(back.len()))
            };
            let (n, parts_back) = launches(restore);
            assert_eq!(n.unwrap(), back.len(), "{k}");
            assert!(to.front(back.len()) == back, "{k}");
            assert!(to.bytes()[back.len()..].iter().all(|&b| b == 0xee), "{k}: bytes behind the array");
            if !cuda().is_real() {
                assert!(parts >= 6 && (parts_back >= 6 || stored), "{k}: {parts}, {parts_back} launches");
            }
        }
    }
}

/// A call that cannot be divided gives the same result, and a failure leaves the memory as other calls leave it.
#[test]
fn short_and_damaged_memory_is_refused() {
    need_gpu!();
    fzgm::overlap_from(LEAST);
    let case = &CASES[2];
    let (pipeline, array, src) = (case.pipeline(), case.array(), case.bytes());
    let encoder = Encoder::new(&pipeline, &array, &options()).unwrap();
    let mut ws = encoder.workspace().unwrap();
    let from = PinnedBytes::of(&src);
    let want = fzgm::compress(&pipeline, &array, &Options::default(), &src).unwrap();
    let mut dst = PinnedBytes::new(want.len());
    let mut compress = |n| unsafe { encoder.compress_at(&mut ws, from.slice(src.len()), dst.slice(n)) };
    let (need, have) = (want.len() as u64, want.len() as u64 - 1);
    assert_eq!(compress(want.len() - 1), Err(Error::DstTooSmall { need, have }));
    assert!(dst.bytes().iter().all(|&b| b == 0xee));
    let mut compress = |n| unsafe { encoder.compress_at(&mut ws, from.slice(src.len()), dst.slice(n)) };
    assert_eq!(compress(want.len()), Ok(want.len()));
    assert!(dst.bytes() == want);

    let back = fzgm::decompress(&want, &Options::default()).unwrap().1;
    let opened = Decoder::open(&want, &options()).unwrap();
    let mut to = PinnedBytes::new(back.len());
    let header = fzgm::info(&want).unwrap().header_bytes as usize;
    // The first entry, words, the last word, and the header.
    for (k, at) in [header, header + 7, want.len() / 2, want.len() - 1, 40].into_iter().enumerate() {
        let mut damaged = PinnedBytes::of(&want);
        damaged.bytes()[at] ^= 0x41;
        let options = Options { checksum: k % 2 == 1, ..options() };
        let cpu = Options { device: fzgm::Device::Cpu, ..options.clone() };
        let expected = fzgm::decompress(damaged.bytes(), &cpu).map(|(_, bytes)| bytes);
        let Ok(decoder) = Decoder::open(damaged.bytes(), &options) else {
            assert!(expected.is_err(), "{at}");
            continue;
        };
        let mut ws = decoder.workspace().unwrap();
        let (from, into) = (damaged.slice(want.len()), to.slice(back.len()));
        let result = unsafe { decoder.decompress_at(&mut ws, from, into) };
        match &expected {
            Ok(bytes) => assert!(result == Ok(bytes.len()) && to.bytes() == *bytes, "{at}"),
            Err(error) => assert_eq!(result.as_ref().unwrap_err().status(), error.status(), "{at}"),
        }
    }
    // The workspaces of failed calls serve the next ones.
    let mut ws = opened.workspace().unwrap();
    let sound = PinnedBytes::of(&want);
    let mut damaged = PinnedBytes::of(&want);
    damaged.bytes()[header + 3] ^= 0x41;
    for (container, good) in [(&sound, true), (&damaged, false), (&sound, true)] {
        let from = container.slice(want.len());
        let result = unsafe { opened.decompress_at(&mut ws, from, to.slice(back.len())) };
        assert_eq!(result.is_ok(), good);
        assert!(!good || to.bytes() == back);
    }
}
