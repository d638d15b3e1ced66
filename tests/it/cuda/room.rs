//! Destinations of every size: nothing is written beyond them.

use crate::common::gpu::{Block, TestStream, mine};
use crate::common::samples::{self, Content};
use crate::cuda::need_gpu;
use fzgm::stages::STAGES;
use fzgm::{Container, DType, Device, Encoder, Options, PRESETS, Pipeline, preset};

/// Every stage alone and every preset, for one type.
fn pipelines(dtype: DType) -> impl Iterator<Item = (&'static str, Pipeline)> {
    let alone = STAGES.iter().map(|stage| {
        let mut p = Pipeline::new();
        p.add(stage.spec().name).unwrap();
        (stage.spec().name, p)
    });
    alone.chain(PRESETS.iter().map(move |p| (p.name, preset(p.name, dtype).unwrap())))
}

#[test]
fn small_destinations_stay_as_they_are_behind_their_end() {
    need_gpu!();
    let stream = TestStream::new();
    let mut tried = 0;
    for dims in [&[4, 4, 6][..], &[70, 3], &[300]] {
        for dtype in [DType::F32, DType::U16] {
            let sample = samples::make(dtype, dims, Content::Walk, 5);
            let all = pipelines(if dtype.is_float() { dtype } else { DType::F32 }).enumerate();
            for (k, (name, pipeline)) in all {
                for (form, container) in [Container::Fzm, Container::Compact].into_iter().enumerate() {
                    if !mine(k + form + dims.len()) {
                        continue;
                    }
                    let options = Options { container, device: Device::Cuda(0), ..Options::default() };
                    // Some stages do not accept every type or do not run alone.
                    let Ok(encoder) = Encoder::new(&pipeline, &sample.array, &options) else { continue };
                    let Ok(mut ws) = encoder.workspace() else { continue };
                    let (src, result) = (Block::of(&sample.bytes), Block::new(24));
                    let most = encoder.max_compressed_bytes() as usize;
                    for room in [most, most / 2, 100] {
                        let dst = Block::new(room + 8192);
                        let place = result.slice(0, 24).address;
                        let (a, b) = (src.slice(0, sample.bytes.len()), dst.slice(0, room));
                        unsafe { encoder.compress_async(&mut ws, a, b, place, stream.raw()) }.unwrap();
                        stream.wait();
                        let written = dst.get()[room..].iter().rposition(|&b| b != 0xee);
                        assert!(
                            written.is_none(),
                            "{name} {dtype} {dims:?} {container:?}: {written:?} behind {room}"
                        );
                        tried += 1;
                    }
                }
            }
        }
    }
    assert!(tried > 100, "{tried}");
}
