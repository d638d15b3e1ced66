//! The same bytes every time: from one call to the next, and from a graph as from a call.

use super::{at_full_size, device_alone, note, pipelines};
use crate::common::fixture::{Fixture, options};
use crate::common::gpu::{Block, TestStream};
use crate::common::samples::{CONTENTS, Content};
use fzgm::{Array, CallResult, Device, Options, compress};

/// A digest of 64 bits, for people to compare.
fn hash(bytes: &[u8]) -> String {
    let (low, high) = (crc32fast::hash(bytes), crc32fast::hash(&bytes[bytes.len() / 2..]));
    format!("{high:08x}{low:08x}")
}

#[test]
fn repeats_of_every_call_give_one_hash() {
    let Some(_alone) = device_alone("repeats_of_every_call_give_one_hash") else { return };
    let (elements, repeats) = if at_full_size() { ((1 << 24) + 4097, 100) } else { (20_003, 4) };
    for (name, pipeline, dtype) in pipelines() {
        let array = Array::new(dtype, &[elements]).unwrap();
        let mut fixture = Fixture::new(&pipeline, &array, &options());
        let src = fixture.data(Content::Specials, 11);
        fixture.src.put(0, &src);
        let (plain, _) = fixture.expected(&src);
        let on_cpu = Options { device: Device::Cpu, ..options() };
        let summed = compress(&pipeline, &array, &on_cpu, &src).unwrap();
        let mut written = vec![0; summed.len().max(plain.len())];
        for k in 0..repeats {
            // Bytes of the previous call must not remain in the result of this one.
            fixture.container.put(0, &vec![k as u8; plain.len()]);
            fixture.compress(fixture.stream.raw());
            fixture.stream.wait();
            let result = fixture.results[0].result();
            assert_eq!((result.status, result.bytes), (0, plain.len() as u64), "{name} {dtype}: {result:?}");
            let written = &mut written[..plain.len()];
            fixture.container.read(written);
            assert!(*written == plain[..], "{name} {dtype}: asynchronous call {k} writes other bytes");
        }
        for k in 0..repeats {
            fixture.container.put(0, &vec![k as u8; summed.len()]);
            let (from, to) =
                (fixture.src.slice(0, src.len()), fixture.container.slice(0, fixture.container.bytes));
            // SAFETY: both blocks live, and the call waits.
            let bytes = unsafe { fixture.encoder.compress_at(&mut fixture.encoding, from, to) }.unwrap();
            assert_eq!(bytes, summed.len(), "{name} {dtype}");
            let written = &mut written[..bytes];
            fixture.container.read(written);
            assert!(*written == summed[..], "{name} {dtype}: blocking call {k} writes other bytes");
        }
        note(&format!(
            "{name} {dtype}: {repeats} asynchronous calls {}, {repeats} blocking calls {}, {} -> {} bytes",
            hash(&plain),
            hash(&summed),
            src.len(),
            plain.len()
        ));
    }
}

/// Container and array as calls outside any graph leave them.
fn eager(fixture: &mut Fixture) -> ([CallResult; 2], Vec<u8>, Vec<u8>) {
    let (first, second) = fixture.both();
    ([first, second], fixture.container.first(first.bytes as usize), fixture.restored.get())
}

#[test]
fn a_replayed_graph_of_both_directions_has_the_results_of_calls() {
    let Some(_alone) = device_alone("a_graph_of_both_directions") else { return };
    let (elements, replays) = if at_full_size() { ((1 << 20) + 77, 50) } else { (5_003, 9) };
    for (name, pipeline, dtype) in pipelines() {
        let array = Array::new(dtype, &[elements]).unwrap();
        let (mut fixture, mut calls) =
            (Fixture::new(&pipeline, &array, &options()), Fixture::new(&pipeline, &array, &options()));
        let stream = TestStream::new();
        fixture.encoder.preload(&mut fixture.encoding, stream.raw()).unwrap();
        fixture.decoder.preload(&mut fixture.decoding, stream.raw()).unwrap();
        let graph = stream.capture(|| {
            fixture.compress(stream.raw());
            fixture.decompress(stream.raw());
        });
        let mut sizes = vec![];
        for k in 0..replays {
            let src = fixture.data(CONTENTS[k % CONTENTS.len()], k as u64);
            [&fixture.src, &calls.src].into_iter().for_each(|block| block.put(0, &src));
            let dirt = vec![k as u8; fixture.restored.bytes];
            [&fixture.restored, &calls.restored].into_iter().for_each(|block: &Block| block.put(0, &dirt));
            graph.launch(&stream);
            stream.wait();
            fixture.check(&src);
            let (results, container, restored) = eager(&mut calls);
            assert_eq!(
                results,
                [fixture.results[0].result(), fixture.results[1].result()],
                "{name} {dtype} {k}"
            );
            assert!(fixture.container.first(container.len()) == container, "{name} {dtype}: replay {k}");
            assert!(fixture.restored.get() == restored, "{name} {dtype}: replay {k}");
            sizes.push(container.len());
        }
        let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
        assert!(most > least, "the data did not change");
        note(&format!("{name} {dtype}: {replays} replays as eager, containers of {least} to {most} bytes"));
    }
}
