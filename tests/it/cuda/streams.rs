//! Stages whose streams contain their lengths: streams without room, and graphs on data of another kind.

use crate::common::corpus::{chain, merged};
use crate::common::fixture::{Fixture, options};
use crate::common::samples::CONTENTS;
use crate::cuda::need_gpu;
use fzgm::{Array, DType, Device, Options, Pipeline, Status, compress};

/// The largest element that has no code is in the result of an asynchronous call, and in the error of one that waits, which
/// is that of the CPU.
#[test]
fn elements_that_do_not_fit_are_a_status() {
    need_gpu!();
    let pipeline = chain(&[("bitpack", &[("nbits", "4")])]);
    let array = Array::new(DType::U16, &[40_000]).unwrap();
    let mut fixture = Fixture::new(&pipeline, &array, &options());
    let mut src: Vec<u8> = (0..40_000u16).flat_map(|i| (i % 16).to_le_bytes()).collect();
    fixture.src.put(0, &src);
    fixture.both();
    fixture.check(&src);
    for (at, value) in [(7, 16u16), (39_999, 31), (20_000, 300)] {
        src[2 * at..2 * at + 2].copy_from_slice(&value.to_le_bytes());
        fixture.src.put(0, &src);
        fixture.compress(fixture.stream.raw());
        fixture.stream.wait();
        let r = fixture.results[0].result();
        assert_eq!((r.status, r.needed, r.bytes), (Status::InvalidArgument as i32, value.into(), 0));
        let wait = |device| compress(&pipeline, &array, &Options { device, ..options() }, &src).unwrap_err();
        assert_eq!(wait(Device::Cpu), wait(options().device));
    }
}

/// A shape of two or three dimensions at the front of an array.
#[test]
fn elements_after_a_shape_are_unchanged() {
    need_gpu!();
    for (dims, dtype) in
        [(["30", "30", "1"], DType::I32), (["7", "11", "12"], DType::U8), (["5", "3", "2"], DType::I64)]
    {
        let sets = [("dim_x", dims[0]), ("dim_y", dims[1]), ("dim_z", dims[2])];
        let array = Array::new(dtype, &[1_003]).unwrap();
        let mut fixture = Fixture::new(&chain(&[("lorenzo", &sets)]), &array, &options());
        let src = fixture.data(CONTENTS[4], 3);
        fixture.src.put(0, &src);
        fixture.both();
        fixture.check(&src);
    }
}

/// Both directions, replayed on data whose streams have other lengths.
#[test]
fn graphs_are_replayed_on_data_of_another_kind() {
    need_gpu!();
    let kinds: [(Pipeline, DType); 3] = [
        (merged(), DType::U16),
        (chain(&[("rle", &[("chunk_size", "4096")]), ("rze", &[])]), DType::I64),
        (chain(&[("lorenzo", &[]), ("zigzag", &[]), ("bitpack", &[("auto_detect", "true")])]), DType::I32),
    ];
    for (pipeline, dtype) in kinds {
        let array = Array::new(dtype, &[30, 31, 7]).unwrap();
        let mut calls = Fixture::new(&pipeline, &array, &Options { checksum: false, ..options() });
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
