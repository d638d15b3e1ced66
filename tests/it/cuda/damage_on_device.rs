//! Damaged containers on the device: a status each, and nothing outside the operands is touched. The emulator's
//! sanitizers and compute-sanitizer watch.

use crate::common::corpus::{self, Case};
use crate::common::damage::{damage, garble};
use crate::common::fixture::{Fixture, lossy, options};
use crate::common::gpu::{Block, mine};
use crate::common::rng::Rng;
use crate::common::samples::Content;
use crate::cuda::need_gpu;
use fzgm::{Array, Container, DType, Decoder, Device, Options, Status, Workspace, compress, decompress};

/// Mutations per kind of container, in each of the two tests.
fn rounds() -> usize {
    let set = std::env::var("FZGM_MUTATIONS").ok().and_then(|n| n.parse().ok());
    set.unwrap_or(60)
}

/// The device reads the header itself.
#[test]
fn asynchronous_calls_end_with_a_status() {
    need_gpu!();
    let preset = |name: &'static str, dtype| (name, lossy(name, dtype), dtype);
    let (runs, bits) = ([("chunk_size", "4096")], [("auto_detect", "true")]);
    let around = [("centering", "true"), ("error_bound", "0.01"), ("outlier_capacity", "1")];
    let around = corpus::chain(&[("lorenzo_quant", &around)]);
    let kinds = [
        (preset("pfpl", DType::F32), Container::Fzm),
        (preset("pfpl", DType::F64), Container::Compact),
        (preset("fz", DType::F32), Container::Fzm),
        (preset("fz", DType::F64), Container::Compact),
        (preset("cusz", DType::F32), Container::Fzm),
        (preset("cusz", DType::F64), Container::Compact),
        (preset("cusz_ans", DType::F32), Container::Compact),
        (preset("bits", DType::U16), Container::Fzm),
        (preset("bits", DType::U32), Container::Compact),
        (preset("lc_speed", DType::F32), Container::Compact),
        (preset("lc_ratio", DType::F64), Container::Fzm),
        (preset("lc_tp", DType::F32), Container::Fzm),
        (preset("lc_cr", DType::F64), Container::Compact),
        (preset("fast", DType::F32), Container::Compact),
        (preset("fast", DType::F64), Container::Fzm),
        (("rle", corpus::chain(&[("rle", &[])]), DType::U8), Container::Compact),
        (("rle in chunks", corpus::chain(&[("rle", &runs)]), DType::I64), Container::Fzm),
        (("bitpack", corpus::chain(&[("bitpack", &bits)]), DType::U32), Container::Compact),
        (("merged", corpus::merged(), DType::U16), Container::Fzm),
        (("around means", around.clone(), DType::F32), Container::Compact),
        (("around means", around, DType::F64), Container::Fzm),
    ];
    let mut seen = [0; 100];
    for (_, ((name, pipeline, dtype), container)) in kinds.into_iter().enumerate().filter(|(k, _)| mine(*k)) {
        let options = Options { container, ..options() };
        let array = Array::new(dtype, &[12_345]).unwrap();
        let mut fixture = Fixture::new(&pipeline, &array, &options);
        let src = fixture.data(Content::Sparse, 1);
        let (whole, restored) = fixture.expected(&src);
        let case = case(&whole, &restored, container, dtype);
        let opened = Decoder::open(&whole, &options).unwrap();
        let mut opened_ws = opened.workspace().unwrap();
        let mut rng = Rng(0x6a09_e667);
        for _ in 0..rounds() {
            let (bytes, what) = damage(&case, &case, &mut rng);
            let room = Block::of(&bytes);
            let stream = fixture.stream.raw();
            let mut say = |decoder: &Decoder, ws: &mut Workspace| {
                let (from, to) = (room.slice(0, bytes.len()), fixture.restored.slice(0, restored.len()));
                let result = fixture.results[1].slice(0, 24).address;
                unsafe { decoder.decompress_async(ws, from, to, result, stream) }.unwrap();
                fixture.stream.wait();
                let r = fixture.results[1].result();
                let known = Status::ALL.iter().any(|s| *s as i32 == r.status);
                assert!(known, "{name} {dtype} {what}: {r:?}");
                assert_eq!(r.bytes, if r.status == 0 { restored.len() as u64 } else { 0 });
                seen[r.status as usize] += 1;
                (r.status, fixture.restored.get())
            };
            let planned = say(&fixture.decoder, &mut fixture.decoding);
            // A decoder of the whole container alone has room for that.
            let other = say(&opened, &mut opened_ws);
            assert!(
                other.0 == Status::PlanMismatch as i32
                    || other.0 == planned.0 && (other.0 != 0 || other == planned),
                "{name} {dtype} {what}: {} and, opened, {}",
                planned.0,
                other.0
            );
        }
        // The workspace is none the worse for it.
        fixture.src.put(0, &src);
        fixture.both();
        fixture.check(&src);
    }
    assert!(seen[Status::Corrupt as usize] > 0 && seen[Status::PlanMismatch as usize] > 0, "{seen:?}");
}

/// A container that the device accepts is also one for the CPU, with equal values: with any byte of the
/// header changed, with and without compression, and with a bound of zero.
#[test]
fn headers_have_equal_results_on_the_device_and_on_the_cpu() {
    need_gpu!();
    let cpu = Options { device: Device::Cpu, ..Options::default() };
    for dtype in [DType::F32, DType::F64] {
        let bytes = |x: f64| {
            if dtype == DType::F32 { (x as f32).to_le_bytes().to_vec() } else { x.to_le_bytes().to_vec() }
        };
        // Half of a constant is its bound. One value without a code is shorter without a table.
        let bound = 2.5f64.to_le_bytes();
        let mut seen = [0; 2];
        for (n, src, stored) in [(100, bytes(5.0).repeat(100), false), (1, bytes(f64::NAN), true)] {
            let mut fixture = Fixture::of("fast", dtype, n);
            let (whole, _) = fixture.expected(&src);
            let header = u64::from_le_bytes(whole[24..32].try_into().unwrap()) as usize;
            assert_eq!(whole.len() - header == src.len(), stored);
            let flipped = (0..2 * header).filter(|i| mine(i + i / 4)).map(|i| {
                let mut bytes = whole.clone();
                bytes[i / 2] ^= [0x20, 0x80][i % 2];
                (i / 2, bytes)
            });
            let at = whole[..header].windows(8).position(|w| w == bound);
            let bounds = [0f64, -0.0].iter().filter_map(|none| {
                let mut bytes = whole.clone();
                bytes[at?..at? + 8].copy_from_slice(&none.to_le_bytes());
                Some((at?, bytes))
            });
            assert!(stored || at.is_some(), "the header does not say {bound:?}");
            for (at, bytes) in flipped.chain(bounds.collect::<Vec<_>>()) {
                let taken = fixture.verdict(&bytes).status == Status::Ok as i32;
                seen[usize::from(taken)] += 1;
                if taken {
                    let on_cpu = decompress(&bytes, &cpu).map(|(_, values)| values);
                    assert!(
                        on_cpu.as_ref() == Ok(&fixture.restored.get()),
                        "{dtype}, stored {stored}, byte {at}: {:?}",
                        on_cpu.err()
                    );
                }
            }
        }
        assert!(seen.iter().all(|n| *n > 0), "{dtype}: {seen:?}");
    }
}

/// The host reads the header, the device the segments: both report the error of the CPU.
#[test]
fn blocking_calls_report_the_errors_of_the_cpu() {
    need_gpu!();
    let cases: Vec<Case> = corpus::build(5_000, Content::Sparse);
    let mut rng = Rng(0xbb67_ae85);
    let step = (cases.len() / 40).max(1);
    for k in (0..cases.len()).step_by(step) {
        for _ in 0..rounds() / 20 {
            let (bytes, what) = damage(&cases[k], &cases[(k + 7) % cases.len()], &mut rng);
            let on_cpu = decompress(&bytes, &Options::default());
            let on_gpu = decompress(&bytes, &options());
            match (on_cpu, on_gpu) {
                (Ok(a), Ok(b)) => assert!(a == b, "{} {what}: other values", cases[k].name),
                // Stage exact has no device code; the header alone is read then.
                (_, Err(fzgm::Error::Unsupported { stage: "exact", .. })) => {}
                (Err(a), Err(b)) => assert_eq!(a.status(), b.status(), "{} {what}: {a} / {b}", cases[k].name),
                (a, b) => panic!(
                    "{} {what}: {:?} on the CPU, {:?} on the device",
                    cases[k].name,
                    a.err().map(|e| e.to_string()),
                    b.err().map(|e| e.to_string())
                ),
            }
        }
    }
}

/// The same over the streams of each coder, one by one: both backends restore the same array or give the same status. `FZGM_ONLY`: of
/// coders whose names start so.
#[test]
fn garbled_streams_have_the_verdict_of_the_cpu() {
    need_gpu!();
    let only = std::env::var("FZGM_ONLY").unwrap_or_default();
    let wanted = corpus::coders().into_iter().filter(|(name, _)| name.starts_with(&only)).collect::<Vec<_>>();
    assert!(!wanted.is_empty(), "no coder's name starts with {only:?}");
    for (name, cases) in wanted {
        let mut restored = 0;
        for seed in (0..rounds() as u64 / 2).filter(|seed| mine(*seed as usize)) {
            let mut rng = Rng(seed);
            let (case, donor) = (rng.pick(&cases), rng.pick(&cases));
            let way = if rng.below(4) == 0 { damage } else { garble };
            let (bytes, what) = way(case, donor, &mut rng);
            let fuse = rng.below(2) == 0;
            let verdict = |options: &Options| {
                decompress(&bytes, &Options { fuse, ..options.clone() }).map_err(|e| e.status())
            };
            let (on_cpu, on_gpu) = (verdict(&Options::default()), verdict(&options()));
            let short = [&on_cpu, &on_gpu].map(|v| v.as_ref().map(|_| ()).map_err(|status| *status));
            assert!(on_cpu == on_gpu, "{name}, {}, {what}, seed {seed}: {short:?}", case.name);
            restored += usize::from(on_cpu.is_ok());
        }
        assert!(restored < rounds() / 2, "{name}: nothing is noticed");
    }
}

fn case(whole: &[u8], restored: &[u8], container: Container, dtype: DType) -> Case {
    Case {
        name: "fixture".into(),
        bytes: whole.to_vec(),
        restored: restored.to_vec(),
        made_of: None,
        compact: container == Container::Compact,
        loose: false,
        width: dtype.bytes(),
        segments: 1,
    }
}

/// Blocking calls have the length of a container, so no byte follows it. Otherwise a header without its
/// checksum flag would make the checksum a part of a stored array.
#[test]
fn blocking_calls_take_all_of_a_container() {
    need_gpu!();
    for (container, size) in [(Container::Compact, 1e30), (Container::Compact, 30.0), (Container::Fzm, 30.0)]
    {
        let options = Options { container, checksum: true, ..options() };
        let array = Array::new(DType::F64, &[3000]).unwrap();
        let bound = [("mode", "abs"), ("error_bound", "0.5")];
        let pipeline = corpus::chain(&[("fast", &bound)]);
        let mut fixture = Fixture::new(&pipeline, &array, &options);
        let mut rng = Rng(5);
        let values: Vec<f64> = (0..3000).map(|_| (rng.unit() - 0.5) * size).collect();
        let on_cpu = Options { device: Device::Cpu, ..options.clone() };
        let whole = compress(&pipeline, &array, &on_cpu, bytemuck::cast_slice(&values)).unwrap();
        let restored = decompress(&whole, &on_cpu).unwrap().1;
        let mut longer = whole.clone();
        longer.extend([1, 2, 3]);
        let mut denied = whole.clone();
        if container == Container::Compact {
            denied[5] ^= 1;
        }
        for (bytes, good) in [(&whole, true), (&longer, false), (&denied, container == Container::Fzm)] {
            let room = Block::of(bytes);
            let (from, to) = (room.slice(0, bytes.len()), fixture.restored.slice(0, restored.len()));
            let done = unsafe { fixture.decoder.decompress_at(&mut fixture.decoding, from, to) };
            assert_eq!(done.is_ok(), good, "{container:?} {size} {done:?}");
            assert!(!good || fixture.restored.get() == restored);
        }
    }
}

/// An error of a header is reported as such, even if the checksum is wrong too.
#[test]
fn headers_with_checksums_are_read_before_these() {
    need_gpu!();
    let cpu = Options { device: Device::Cpu, checksum: true, ..Options::default() };
    let mut fixture = Fixture::of("fast", DType::F32, 3000);
    let src = fixture.data(Content::Sparse, 1);
    let whole = compress(fixture.encoder.pipeline(), &fixture.array, &cpu, &src).unwrap();
    let header = u64::from_le_bytes(whole[24..32].try_into().unwrap()) as usize;
    let mut seen = 0;
    for i in 0..header {
        let mut bytes = whole.clone();
        bytes[i] ^= 4;
        let status = fixture.verdict(&bytes).status;
        assert_ne!(status, Status::Ok as i32, "{i}");
        if decompress(&bytes, &cpu).is_err_and(|e| e.status() == Status::Corrupt) {
            assert_ne!(status, Status::Checksum as i32, "{i}");
            seen += usize::from(status == Status::Corrupt as i32);
        }
    }
    assert!(seen > 0, "no header that was damaged so was read");
}
