//! Bounds in headers that no encoder of ours writes: decoders on the device say of them what the CPU says.

use crate::common::agreement::stage;
use crate::common::fixture::{lossy, options};
use crate::common::gpu::{Block, TestStream};
use crate::common::samples::{Content, make};
use crate::cuda::need_gpu;
use fzgm::{Array, Container, DType, Decoder, Device, Encoder, Options, Pipeline, Status, Workspace};

const DIMS: [u64; 2] = [130, 70];

/// The stage alone.
fn quantizer(mode: &str, bound: &str, code: &str, in_place: &str) -> Pipeline {
    let sets = [
        ("mode", mode),
        ("error_bound", bound),
        ("code_type", code),
        ("inplace_outliers", in_place),
        ("outlier_capacity", "1"),
    ];
    let mut p = Pipeline::new();
    let q = p.add("quantizer").unwrap();
    sets.iter().for_each(|(name, value)| p.args_mut(q).unwrap().set_text(name, value).unwrap());
    p
}

/// A container, and both sides that restore it.
struct Case {
    name: String,
    bytes: Vec<u8>,
    on_cpu: (Decoder, Workspace),
    on_device: [(Decoder, Workspace); 2],
    stream: TestStream,
}

impl Case {
    fn new(name: &str, p: &Pipeline, dtype: DType, options: &Options) -> Case {
        let array = Array::new(dtype, &DIMS).unwrap();
        let options = Options { checksum: false, store_incompressible: false, ..options.clone() };
        let cpu = Options { device: Device::Cpu, ..options.clone() };
        let src = make(dtype, &DIMS, Content::Walk, 3).bytes;
        let bytes = fzgm::compress(p, &array, &cpu, &src).unwrap();
        let with_memory = |d: Decoder| {
            let ws = d.workspace().unwrap();
            (d, ws)
        };
        let planned = Encoder::new(p, &array, &options).unwrap().decoder().unwrap();
        let opened = Decoder::open(&bytes, &options).unwrap();
        let on_cpu = with_memory(Encoder::new(p, &array, &cpu).unwrap().decoder().unwrap());
        let name = format!("{name} {dtype} {:?} fuse {}", options.container, options.fuse);
        let on_device = [planned, opened].map(with_memory);
        Case { name, bytes, on_cpu, on_device, stream: TestStream::new() }
    }

    /// Where the header says the bound, as an f32 or, if it has that, as an f64.
    fn places(&self) -> Vec<(usize, usize)> {
        let info = fzgm::info(&self.bytes).unwrap();
        let said = info.stages[0].params.iter().find(|p| p.0 == "resolved_bound").unwrap();
        let bound: f64 = said.1.parse().unwrap();
        let header = self.bytes.len() - info.segments.iter().map(|s| s.bytes as usize).sum::<usize>();
        let find = |field: &[u8]| {
            let at = self.bytes[..header].windows(field.len()).position(|w| w == field);
            at.map(|at| (at, field.len()))
        };
        [find(&(bound as f32).to_le_bytes()), find(&bound.to_le_bytes())].into_iter().flatten().collect()
    }

    /// The status of a container in every way; it is the same in all of them.
    fn restore(&mut self, bytes: &[u8], what: &str) -> Status {
        let length = self.on_cpu.0.array().bytes() as usize;
        let mut want = vec![0; length];
        let status = match self.on_cpu.0.decompress(&mut self.on_cpu.1, bytes, &mut want) {
            Ok(_) => Status::Ok,
            Err(e) => e.status(),
        };
        for (k, (decoder, ws)) in self.on_device.iter_mut().enumerate() {
            let (from, to, result) = (Block::of(bytes), Block::new(length), Block::new(24));
            let (a, b, place) =
                (from.slice(0, bytes.len()), to.slice(0, length), result.slice(0, 24).address);
            unsafe { decoder.decompress_async(ws, a, b, place, self.stream.raw()) }.unwrap();
            self.stream.wait();
            assert_eq!(result.result().status, status as i32, "{} {what}: decoder {k}", self.name);
            assert!(status != Status::Ok || to.get() == want, "{} {what}: values of decoder {k}", self.name);
        }
        status
    }
}

#[test]
fn what_is_no_bound_is_corrupt() {
    need_gpu!();
    let mut seen = [0; 2];
    for container in [Container::Fzm, Container::Compact] {
        for fuse in [true, false] {
            let options = Options { container, fuse, ..options() };
            let cases = [
                ("pfpl", lossy("pfpl", DType::F32), DType::F32),
                ("pfpl", lossy("pfpl", DType::F64), DType::F64),
                ("pfpl abs", stage("pfpl", &[("mode", "abs"), ("error_bound", "0.3")]), DType::F32),
                ("fz", lossy("fz", DType::F32), DType::F32),
                ("fz", lossy("fz", DType::F64), DType::F64),
                ("abs", quantizer("abs", "0.3", "u32", "true"), DType::F32),
                ("abs listed", quantizer("abs", "0.3", "u16", "false"), DType::F32),
                ("noa listed", quantizer("noa", "1e-3", "u16", "false"), DType::F64),
                ("noa", quantizer("noa", "1e-3", "u64", "true"), DType::F64),
                ("prel listed", quantizer("prel", "1e-3", "u32", "false"), DType::F32),
                ("rel", quantizer("rel", "1e-3", "u16", "false"), DType::F32),
                ("rel", quantizer("rel", "1e-3", "u32", "false"), DType::F64),
                // Too small for a normal f32, so that the header has an f64 too.
                ("small", quantizer("abs", "1e-40", "u64", "true"), DType::F64),
                ("small listed", quantizer("abs", "1e-40", "u32", "false"), DType::F64),
            ];
            for (name, p, dtype) in cases {
                let mut case = Case::new(name, &p, dtype, &options);
                let whole = case.bytes.clone();
                assert_eq!(case.restore(&whole, "as written"), Status::Ok, "{}", case.name);
                let places = case.places();
                assert_eq!(places.len(), 1 + usize::from(name.starts_with("small")), "{}", case.name);
                for (at, width) in places {
                    let wrong = [f64::NAN, -f64::NAN, -0.5, f64::NEG_INFINITY, -f64::from(f32::MIN_POSITIVE)];
                    // Another f64 is what another plan asked for: the host says so, and the device restores by it.
                    let other =
                        if width == 4 { &[f64::INFINITY, 0.7, f64::MAX][..] } else { &[f64::INFINITY] };
                    for &bound in wrong.iter().chain(other) {
                        let mut b = whole.clone();
                        match width {
                            4 => b[at..at + 4].copy_from_slice(&(bound as f32).to_le_bytes()),
                            _ => b[at..at + 8].copy_from_slice(&bound.to_le_bytes()),
                        }
                        let status = case.restore(&b, &format!("{width} bytes of {bound}"));
                        seen[usize::from(status == Status::Corrupt)] += 1;
                        let possible = bound >= 0.0;
                        assert!(possible || status == Status::Corrupt, "{} {bound}: {status:?}", case.name);
                    }
                    // What it was.
                    assert_eq!(case.restore(&whole, "as written again"), Status::Ok);
                }
            }
        }
    }
    assert!(seen.iter().all(|&n| n > 100), "{seen:?}");
}
