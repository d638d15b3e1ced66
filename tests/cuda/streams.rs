//! Stages whose streams have lengths of their own: what does not fit, and graphs on data of another kind.

use crate::common::corpus::{chain, merged};
use crate::common::samples::CONTENTS;
use crate::need_gpu;
use crate::rig::{Rig, lossy, options};
use fzgm::{Array, DType, Device, Options, Pipeline, Status, compress};

/// The largest element that has no code is in the result of an asynchronous call, and in the error of one that waits, which
/// is that of the CPU.
#[test]
fn elements_that_do_not_fit_are_a_status() {
    need_gpu!();
    let pipeline = chain(&[("bitpack", &[("nbits", "4")])]);
    let array = Array::new(DType::U16, &[40_000]).unwrap();
    let mut rig = Rig::new(&pipeline, &array, &options());
    let mut src: Vec<u8> = (0..40_000u16).flat_map(|i| (i % 16).to_le_bytes()).collect();
    rig.src.put(0, &src);
    rig.both();
    rig.check(&src);
    for (at, value) in [(7, 16u16), (39_999, 31), (20_000, 300)] {
        src[2 * at..2 * at + 2].copy_from_slice(&value.to_le_bytes());
        rig.src.put(0, &src);
        rig.compress(rig.stream.raw());
        rig.stream.wait();
        let r = rig.results[0].result();
        assert_eq!((r.status, r.needed, r.bytes), (Status::InvalidArgument as i32, value.into(), 0));
        let wait = |device| compress(&pipeline, &array, &Options { device, ..options() }, &src).unwrap_err();
        assert_eq!(wait(Device::Cpu), wait(options().device));
    }
}

/// Both directions, replayed on data whose streams have other lengths.
#[test]
fn graphs_are_replayed_on_data_of_another_kind() {
    need_gpu!();
    let kinds: [(Pipeline, DType); 5] = [
        (lossy("lc_speed", DType::F32), DType::F32),
        (lossy("lc_ratio", DType::F64), DType::F64),
        (merged(), DType::U16),
        (chain(&[("rle", &[("chunk_size", "4096")]), ("rze", &[])]), DType::I64),
        (chain(&[("lorenzo", &[]), ("zigzag", &[]), ("bitpack", &[("auto_detect", "true")])]), DType::I32),
    ];
    for (pipeline, dtype) in kinds {
        let array = Array::new(dtype, &[30, 31, 7]).unwrap();
        let mut calls = Rig::new(&pipeline, &array, &Options { checksum: false, ..options() });
        let stream = calls.stream.raw();
        calls.encoder.preload(&mut calls.encoding, stream).unwrap();
        calls.decoder.preload(&mut calls.decoding, stream).unwrap();
        let captured = crate::common::gpu::TestStream(calls.stream.0);
        let graph = captured.capture(|| {
            calls.compress(stream);
            calls.decompress(stream);
        });
        std::mem::forget(captured);
        for (round, content) in CONTENTS.into_iter().enumerate() {
            let src = calls.data(content, round as u64);
            calls.src.put(0, &src);
            graph.launch(&calls.stream);
            calls.stream.wait();
            calls.check(&src);
        }
    }
}
