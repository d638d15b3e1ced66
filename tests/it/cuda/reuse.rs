//! Workspaces that are used again, after any outcome of the call before. No memset prepares a workspace: each
//! call leaves it ready for the next one, also if it fails.

use crate::common::agreement::stage;
use crate::common::fixture::{Fixture, lossy, options};
use crate::common::gpu::{Block, TestStream, mine};
use crate::common::rare::{Rare, field};
use crate::common::samples::Content;
use crate::cuda::need_gpu;
use fzgm::{Array, Container, DType, Encoder, Options, Pipeline, Status, Workspace};

/// Lists with room for few entries.
fn tight(name: &str, dtype: DType) -> Pipeline {
    let mut p = lossy(name, dtype);
    let _ = p.set_everywhere("outlier_capacity", |args| args.set_real("outlier_capacity", 0.01));
    p
}

fn rigs() -> Vec<(String, Fixture)> {
    let mut all = vec![];
    for (p, dtype, dims) in [
        (tight("fz", DType::F32), DType::F32, &[16, 512, 3][..]),
        (tight("fz", DType::F32), DType::F32, &[33, 9, 30]),
        (tight("fz", DType::F64), DType::F64, &[70, 60]),
        (tight("pfpl", DType::F32), DType::F32, &[12_345]),
        (lossy("bits", DType::U32), DType::U32, &[12_345]),
        (stage("quantizer", &[("outlier_capacity", "0.01"), ("quant_radius", "40")]), DType::F32, &[9_000]),
    ] {
        for (container, checksum_async) in [
            (Container::Fzm, false),
            (Container::Compact, true),
            (Container::Compact, false),
            (Container::Fzm, true),
        ] {
            let array = Array::new(dtype, dims).unwrap();
            let options = Options { container, checksum_async, ..options() };
            all.push((
                format!("{dtype} {dims:?} {container:?} {checksum_async}"),
                Fixture::new(&p, &array, &options),
            ));
        }
    }
    // Another form of each pipeline.
    let chosen = all.into_iter().enumerate().filter(|(k, _)| mine(k + k / 4));
    chosen.map(|(_, rig)| rig).collect()
}

/// Contents that each end in another way, and one for which everything is well.
fn contents(fixture: &Fixture) -> [Vec<u8>; 3] {
    // Random bits do not compress, or have too many outliers.
    [fixture.data(Content::Zeros, 1), fixture.data(Content::Random, 2), fixture.data(Content::Ramp, 3)]
}

fn compress_to(fixture: &mut Fixture, room: usize) -> i32 {
    let (src, dst) = (fixture.src.slice(0, fixture.src.bytes), fixture.container.slice(0, room));
    let (result, stream) = (fixture.results[0].slice(0, 24).address, fixture.stream.raw());
    unsafe { fixture.encoder.compress_async(&mut fixture.encoding, src, dst, result, stream) }.unwrap();
    fixture.stream.wait();
    fixture.results[0].result().status
}

/// Both ways, as the CPU does it.
fn check(fixture: &mut Fixture, src: &[u8], what: &str) {
    fixture.src.put(0, src);
    let (first, second) = fixture.both();
    assert_eq!((first.status, second.status), (0, 0), "{what}");
    let options = Options {
        device: fzgm::Device::Cpu,
        checksum: fixture.encoder.options().checksum_async,
        ..fixture.encoder.options().clone()
    };
    let want = fzgm::compress(fixture.encoder.pipeline(), &fixture.array, &options, src).unwrap();
    let restored = fzgm::decompress(&want, &options).unwrap().1;
    assert_eq!(first.bytes, want.len() as u64, "{what}");
    assert!(fixture.container.first(want.len()) == want, "{what}: another container");
    assert!(fixture.restored.get() == restored, "{what}: another array");
}

#[test]
fn a_good_call_after_any_other() {
    need_gpu!();
    let mut seen = std::collections::BTreeSet::new();
    for (what, mut fixture) in rigs() {
        let [zeros, random, ramp] = contents(&fixture);
        let most = fixture.container.bytes;
        check(&mut fixture, &zeros, &what);
        for (src, room) in
            [(&random, most), (&zeros, 0), (&zeros, 70), (&random, 5000), (&ramp, most), (&ramp, 400)]
        {
            fixture.src.put(0, src);
            seen.insert(compress_to(&mut fixture, room));
            check(&mut fixture, &zeros, &format!("{what}, after {room} bytes"));
        }
        // A graph that is captured and never launched has no effect; a launched one has the effect of a call.
        let (stream, captured) = (fixture.stream.raw(), TestStream(fixture.stream.0));
        let graph = captured.capture(|| {
            fixture.compress(stream);
            fixture.decompress(stream);
        });
        std::mem::forget(captured);
        check(&mut fixture, &zeros, &format!("{what}, after a capture"));
        fixture.src.put(0, &random);
        graph.launch(&fixture.stream);
        check(&mut fixture, &zeros, &format!("{what}, after a launch"));
        fixture.src.put(0, &zeros);
        graph.launch(&fixture.stream);
        graph.launch(&fixture.stream);
        check(&mut fixture, &zeros, &format!("{what}, after two launches"));
    }
    let wanted = [Status::Ok, Status::DstTooSmall, Status::OutlierCapacity].map(|s| s as i32);
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), wanted);
}

#[test]
fn a_good_container_after_any_other() {
    need_gpu!();
    for (what, mut fixture) in rigs() {
        let [zeros, ..] = contents(&fixture);
        check(&mut fixture, &zeros, &what);
        let whole = fixture.container.get();
        let bytes = fixture.results[0].result().bytes as usize;
        let mut decompress = |bytes: &[u8], length: usize| {
            fixture.container.put(0, bytes);
            let (from, to) =
                (fixture.container.slice(0, length), fixture.restored.slice(0, fixture.restored.bytes));
            let (result, stream) = (fixture.results[1].slice(0, 24).address, fixture.stream.raw());
            unsafe { fixture.decoder.decompress_async(&mut fixture.decoding, from, to, result, stream) }
                .unwrap();
            fixture.stream.wait();
            (fixture.results[1].result().status, fixture.restored.get())
        };
        let good = decompress(&whole, bytes);
        assert_eq!(good.0, 0);
        for at in [0, 1, 30, bytes / 2, bytes - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x41;
            decompress(&damaged, bytes);
            assert!(decompress(&whole, bytes) == good, "{what}: after damage at {at}");
        }
        for length in [0, 3, 50, bytes / 2, bytes - 1] {
            assert_ne!(decompress(&whole, length).0, 0, "{what}: {length} bytes of {bytes}");
            assert!(decompress(&whole, bytes) == good, "{what}: after {length} bytes");
        }
    }
}

/// Plans that share one workspace, with alternating calls: the second plan waits for pending work before it
/// changes the workspace.
#[test]
fn plans_that_take_turns_with_one_workspace() {
    need_gpu!();
    let dims = [16, 512, 3];
    let array = Array::new(DType::F32, &dims).unwrap();
    let src = field(DType::F32, &dims, (1.0, 100.0), Rare::Edges, 4).bytes;
    let encoders = ["fz", "pfpl"].map(|n| Encoder::new(&lossy(n, DType::F32), &array, &options()).unwrap());
    let large = if encoders[0].workspace_bytes() > encoders[1].workspace_bytes() { 0 } else { 1 };
    let mut ws: Workspace = encoders[large].workspace().unwrap();
    let (from, stream) = (Block::of(&src), TestStream::new());
    let most = encoders.iter().map(Encoder::max_compressed_bytes).max().unwrap() as usize;
    // No waiting operation separates the calls.
    let calls = [0, 1, 0, 1].map(|k| (&encoders[k], Block::new(most), Block::new(24)));
    for (encoder, to, result) in &calls {
        let (a, b) = (from.slice(0, src.len()), to.slice(0, to.bytes));
        unsafe { encoder.compress_async(&mut ws, a, b, result.slice(0, 24).address, stream.raw()) }.unwrap();
    }
    stream.wait();
    for (k, (encoder, to, result)) in calls.iter().enumerate() {
        let on_cpu = Options { device: fzgm::Device::Cpu, checksum: false, ..options() };
        let want = fzgm::compress(encoder.pipeline(), &array, &on_cpu, &src).unwrap();
        let r = result.result();
        assert_eq!((r.status, r.bytes), (0, want.len() as u64), "call {k}");
        assert!(to.first(want.len()) == want, "call {k}: another container");
    }
}
