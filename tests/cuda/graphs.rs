//! Both directions in a CUDA graph, replayed on other data.

use crate::common::samples::{CONTENTS, Content};
use crate::need_gpu;
use crate::rig::{Rig, lossy, options};
use fzgm::{Array, Container, DType, Options};

#[test]
fn a_graph_of_both_directions_is_replayed_on_changing_data() {
    need_gpu!();
    for (name, dtype) in [
        ("pfpl", DType::F32),
        ("pfpl", DType::F64),
        ("fz", DType::F32),
        ("bits", DType::U64),
        ("cusz", DType::F32),
        ("cusz_ans", DType::F64),
    ] {
        let mut rig = Rig::of(name, dtype, 9_001);
        let stream = rig.stream.raw();
        rig.encoder.preload(&mut rig.encoding, stream).unwrap();
        rig.decoder.preload(&mut rig.decoding, stream).unwrap();
        let (captured, mut calls) = (crate::common::gpu::TestStream(rig.stream.0), rig);
        let graph = captured.capture(|| {
            calls.compress(stream);
            calls.decompress(stream);
        });
        std::mem::forget(captured);
        for round in 0..18 {
            let content = CONTENTS[round % CONTENTS.len()];
            let src = calls.data(content, round as u64);
            calls.src.put(0, &src);
            graph.launch(&calls.stream);
            calls.stream.wait();
            calls.check(&src);
        }
    }
}

#[test]
fn graphs_with_checksums_and_compact_frames() {
    need_gpu!();
    let options = Options { container: Container::Compact, ..options() };
    let array = Array::new(DType::F32, &[30, 31, 7]).unwrap();
    let mut rig = Rig::new(&lossy("pfpl", DType::F32), &array, &options);
    let stream = rig.stream.raw();
    let captured = crate::common::gpu::TestStream(rig.stream.0);
    let graph = captured.capture(|| {
        rig.compress(stream);
        rig.decompress(stream);
    });
    std::mem::forget(captured);
    for (seed, content) in
        [Content::Walk, Content::Constant, Content::Random, Content::Fills].into_iter().enumerate()
    {
        let src = rig.data(content, seed as u64);
        rig.src.put(0, &src);
        graph.launch(&rig.stream);
        rig.stream.wait();
        rig.check(&src);
    }
}
