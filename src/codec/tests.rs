//! How often a call binds a pipeline, compiles a plan and parses a header.
#![allow(clippy::unwrap_used)]

use super::{Decoder, Device, DeviceSlice, Encoder, Options, compress, decompress};
use crate::base::tally::{self, Tally};
use crate::{Array, DType, Error, Pipeline, preset};

fn field() -> (Array, Vec<u8>) {
    let src = (0..20_000).flat_map(|i| (i as f32 * 1e-3).sin().to_le_bytes()).collect();
    (Array::new(DType::F32, &[200, 100]).unwrap(), src)
}

fn on(device: Device) -> Options {
    Options { device, ..Options::default() }
}

/// The pipeline itself, as a reader sees it, and the form of a stored array; with outlier lists, which a call may enlarge,
/// the pipeline with the longest.
#[test]
fn an_encoder_binds_once_for_each_of_its_forms() {
    let (array, _) = field();
    for (name, graphs) in [("fast", 3), ("pfpl", 3), ("cusz", 4)] {
        let pipeline = preset(name, DType::F32).unwrap();
        let (encoder, tally) = tally::of(|| Encoder::new(&pipeline, &array, &Options::default()).unwrap());
        assert_eq!(tally, Tally { graphs, cpu_plans: 1, ..Tally::default() }, "{name}");
        // The view of a reader already exists, and so does the input of the compilation of plans for a GPU.
        let (decoder, tally) = tally::of(|| encoder.decoder().unwrap());
        assert_eq!(tally, Tally { cpu_plans: 1, ..Tally::default() }, "{name}: decoder");
        let (_, tally) = tally::of(|| (encoder.device_plan().is_ok(), decoder.device_plan().is_ok()));
        assert_eq!(tally, Tally { gpu_plans: 2, ..Tally::default() }, "{name}: plans for a GPU");
    }
}

/// Memory that is asked for has the length of the container, also where the array is stored or the lists of outliers are enlarged.
#[test]
fn a_destination_is_asked_for_once_with_its_length() {
    let (array, src) = field();
    let noise: Vec<u8> = (0..80_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for (name, src) in [("fast", &src), ("fast", &noise), ("cusz", &src), ("cusz", &noise)] {
        let pipeline = preset(name, DType::F32).unwrap();
        let encoder = Encoder::new(&pipeline, &array, &on(Device::Cpu)).unwrap();
        let (mut room, mut asked) = (vec![0xee; encoder.max_compressed_bytes() as usize], vec![]);
        let written = encoder.compress_into(&mut encoder.workspace().unwrap(), src, |bytes| {
            asked.push(bytes as usize);
            Ok(&mut room[..bytes as usize])
        });
        let bytes = written.unwrap();
        assert_eq!(asked, [bytes]);
        assert!(room[..bytes] == compress(&pipeline, &array, &on(Device::Cpu), src).unwrap());
        assert!(room[bytes..].iter().all(|b| *b == 0xee));
        let refused =
            encoder.compress_into(&mut encoder.workspace().unwrap(), src, |n| Err(Error::OutOfMemory(n)));
        assert_eq!(refused, Err(Error::OutOfMemory(bytes as u64)));
        let short = encoder.compress_into(&mut encoder.workspace().unwrap(), src, |_| Ok(&mut []));
        assert!(matches!(short, Err(Error::DstTooSmall { .. })), "{short:?}");
    }
}

/// Options that name a GPU compile for that one alone. The machine of the test may have none, which the calls report last.
#[test]
fn a_program_on_a_gpu_plans_nothing_for_the_cpu() {
    let (array, src) = field();
    let pipeline = preset("fast", DType::F32).unwrap();
    let (_, tally) = tally::of(|| Encoder::new(&pipeline, &array, &on(Device::Cuda(0))).is_ok());
    assert_eq!(tally, Tally { graphs: 3, gpu_plans: 1, ..Tally::default() });
    let container = compress(&pipeline, &array, &Options::default(), &src).unwrap();
    let (_, tally) = tally::of(|| Decoder::open(&container, &on(Device::Cuda(0))).is_ok());
    assert_eq!((tally.cpu_plans, tally.gpu_plans, tally.parses), (0, 1, 1));
}

#[test]
fn calls_without_a_plan_parse_once() {
    let (array, src) = field();
    let pipeline = preset("pfpl", DType::F32).unwrap();
    let (container, tally) = tally::of(|| compress(&pipeline, &array, &Options::default(), &src).unwrap());
    assert_eq!(tally, Tally { graphs: 3, cpu_plans: 1, ..Tally::default() });
    let once = Tally { graphs: 1, cpu_plans: 1, parses: 1, ..Tally::default() };
    let (_, tally) = tally::of(|| decompress(&container, &Options::default()).unwrap());
    assert_eq!(tally, once);
    let mut restored = vec![0u8; src.len()];
    let slice = |address, bytes: usize| DeviceSlice { address, bytes: bytes as u64 };
    let from = slice(container.as_ptr() as u64, container.len());
    let to = slice(restored.as_mut_ptr() as u64, restored.len());
    // SAFETY: both are memory of as many bytes, apart from each other.
    #[allow(unsafe_code)]
    let (_, tally) =
        tally::of(|| unsafe { Decoder::decompress_once_at(from, to, &Options::default()) }.unwrap());
    assert_eq!(tally, once);
}

#[test]
fn a_decoder_parses_each_container_once() {
    let (array, src) = field();
    let pipeline: Pipeline = preset("pfpl", DType::F32).unwrap();
    let container = compress(&pipeline, &array, &Options::default(), &src).unwrap();
    let (decoder, tally) = tally::of(|| Decoder::open(&container, &Options::default()).unwrap());
    assert_eq!(tally, Tally { graphs: 1, cpu_plans: 1, parses: 1, ..Tally::default() });
    let (mut ws, mut restored) = (decoder.workspace().unwrap(), vec![0; src.len()]);
    let (_, tally) = tally::of(|| decoder.decompress(&mut ws, &container, &mut restored).unwrap());
    assert_eq!(tally, Tally { graphs: 1, parses: 1, ..Tally::default() });
}
