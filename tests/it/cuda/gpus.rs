//! All GPUs of the host, each with several threads.

use crate::common::fixture::lossy;
use crate::common::samples::{self, Content};
use crate::cuda::need_gpu;
use fzgm::{Array, Container, DType, Device, Encoder, Error, Options, device_count};

const THREADS: usize = 2;

/// Plans are shared by the threads of a GPU; workspaces are not.
#[test]
fn threads_on_all_gpus_write_the_bytes_of_the_cpu() {
    need_gpu!();
    let (dtype, gpus) = (DType::F32, device_count().unwrap());
    let array = Array::new(dtype, &[40, 50, 60]).unwrap();
    for name in ["fast", "pfpl", "cusz"] {
        let pipeline = lossy(name, dtype);
        let options =
            |device| Options { device, container: Container::Compact, threads: 1, ..Options::default() };
        let src: Vec<Vec<u8>> = (0..THREADS)
            .map(|k| samples::make(dtype, &[40, 50, 60], Content::Walk, 7 + k as u64).bytes)
            .collect();
        let want: Vec<Vec<u8>> = src
            .iter()
            .map(|x| fzgm::compress(&pipeline, &array, &options(Device::Cpu), x).unwrap())
            .collect();
        std::thread::scope(|scope| {
            for gpu in 0..gpus {
                let encoder = Encoder::new(&pipeline, &array, &options(Device::Cuda(gpu))).unwrap();
                let plans = std::sync::Arc::new((encoder.decoder().unwrap(), encoder));
                for (x, want) in src.iter().zip(&want) {
                    let plans = plans.clone();
                    scope.spawn(move || {
                        let (decoder, encoder) = &*plans;
                        let (mut encoding, mut decoding) =
                            (encoder.workspace().unwrap(), decoder.workspace().unwrap());
                        let mut container = vec![0; encoder.max_compressed_bytes() as usize];
                        let mut restored = vec![0; x.len()];
                        for _ in 0..3 {
                            let bytes = encoder.compress(&mut encoding, x, &mut container).unwrap();
                            assert!(container[..bytes] == **want, "{name} on GPU {gpu}: another container");
                            decoder.decompress(&mut decoding, &container[..bytes], &mut restored).unwrap();
                            let judged = fzgm::decompress(want, &Options::default()).unwrap().1;
                            assert!(restored == judged, "{name} on GPU {gpu}: another array");
                        }
                    });
                }
            }
        });
    }
}

#[test]
fn a_gpu_that_does_not_exist_is_an_error() {
    need_gpu!();
    let array = Array::new(DType::F32, &[1000]).unwrap();
    let options = Options { device: Device::Cuda(device_count().unwrap()), ..Options::default() };
    let encoder = Encoder::new(&lossy("fast", DType::F32), &array, &options);
    assert!(matches!(encoder.err(), Some(Error::InvalidArgument { .. })));
}
