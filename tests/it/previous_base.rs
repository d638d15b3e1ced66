//! Option `previous_base`: bounds that refer to the value base of the previous call with the workspace, on the CPU and on
//! devices, which write equal bytes for equal sequences of calls.

use crate::common::fixture::{Fixture, lossy};
use crate::common::gpu::{device, mine};
use fzgm::metrics::{self, Bound};
use fzgm::{Array, Batch, DType, Device, Encoder, Options, Pipeline, Status};
use std::sync::Arc;

const FILL: f64 = 1e20;

/// An array from -`scale` to `scale`, with both extremes. With `fills`, every seventh value is a fill value. NaN as scale: no
/// bounded value.
fn field(array: &Array, scale: f64, fills: bool) -> Vec<u8> {
    let n: u64 = array.dims().iter().product();
    let mut bytes = vec![];
    for i in 0..n {
        let wave = (i as f64 * 0.013).sin() * 0.9;
        let x = match i {
            5 => -scale,
            _ if i == n / 2 => scale,
            _ if fills && i % 7 == 3 => FILL,
            _ => scale * wave,
        };
        match array.dtype() {
            DType::F32 => bytes.extend_from_slice(&(x as f32).to_le_bytes()),
            _ => bytes.extend_from_slice(&x.to_le_bytes()),
        }
    }
    bytes
}

/// The scales of consecutive arrays, and whether the bound of each refers to the previous base: the range is equal, shrinks by 1 %,
/// halves, grows by 20 %, and more than doubles; there is none; it exists again; no value is bounded.
const SCALES: [(f64, bool); 10] = [
    (1.0, false),
    (1.0, true),
    (0.99, true),
    (0.5, false),
    (0.6, true),
    (1.3, false),
    (0.0, false),
    (1.0, false),
    (f64::NAN, false),
    (1.0, false),
];

/// The base of an array in a mode: the extremes are -`scale` and `scale`.
fn base(dtype: DType, mode: &str, scale: f64) -> f64 {
    let scale = if dtype == DType::F32 { f64::from(scale as f32) } else { scale };
    match mode {
        _ if scale.is_nan() => 0.0,
        "noa" => 2.0 * scale,
        _ => scale,
    }
}

struct Case {
    name: &'static str,
    pipeline: Pipeline,
    array: Array,
    mode: &'static str,
    fills: bool,
}

fn case(preset: &'static str, dtype: DType, dims: &[u64], mode: &'static str, fills: bool) -> Case {
    let mut pipeline = lossy(preset, dtype);
    pipeline.set_everywhere("mode", |args| args.set_text("mode", mode)).unwrap();
    if fills {
        pipeline
            .set_everywhere("outlier_threshold", |args| args.set_real("outlier_threshold", 1e19))
            .unwrap();
    }
    Case { name: preset, pipeline, array: Array::new(dtype, dims).unwrap(), mode, fills }
}

impl Case {
    fn what(&self, scale: f64) -> String {
        format!("{} {:?} {} at {scale}", self.name, self.array, self.mode)
    }

    /// Compares the base that a container records, and the errors, with the promise. `kept`: the base kept by the model.
    fn check(&self, container: &[u8], src: &[u8], (scale, previous): (f64, bool), kept: &mut f64) {
        let what = self.what(scale);
        let own = base(self.array.dtype(), self.mode, scale);
        let used = if previous { *kept } else { own };
        *kept = 0.984375 * own;
        let recorded = fzgm::info(container).unwrap().value_base.unwrap_or(0.0);
        assert!((recorded - used).abs() <= 1e-6 * used, "{what}: base {recorded} and not {used}");
        let restored = fzgm::decompress(container, &Options::default()).unwrap().1;
        let bound = Bound::from_name(self.mode, 1e-3).unwrap();
        let threshold = if self.fills { 1e19 } else { f64::INFINITY };
        let metrics = metrics::compare(self.array.dtype(), src, &restored, Some(bound), threshold).unwrap();
        assert!(metrics.kept(), "{what}: {:?} of the bound", metrics.worst);
    }
}

fn on_cpu(threads: u32) -> Options {
    Options { device: Device::Cpu, previous_base: true, threads, checksum: false, ..Options::default() }
}

fn compressed(encoder: &Encoder, ws: &mut fzgm::Workspace, src: &[u8]) -> Vec<u8> {
    let mut dst = vec![0; encoder.max_compressed_bytes() as usize];
    let bytes = encoder.compress(ws, src, &mut dst).unwrap();
    dst.truncate(bytes);
    dst
}

#[test]
fn bounds_refer_to_the_previous_base_if_it_suits() {
    for preset in ["fast", "pfpl"] {
        for dtype in DType::FLOATS {
            for (mode, fills) in [("noa", false), ("noa", true), ("prel", false)] {
                let case = case(preset, *dtype, &[3000, 4], mode, fills);
                let [one, three] = [1, 3]
                    .map(|threads| Encoder::new(&case.pipeline, &case.array, &on_cpu(threads)).unwrap());
                let (mut ws, mut other) = (one.workspace().unwrap(), three.workspace().unwrap());
                let mut kept = 0.0;
                for (k, &(scale, previous)) in SCALES.iter().enumerate() {
                    let src = field(&case.array, scale, fills);
                    let container = compressed(&one, &mut ws, &src);
                    case.check(&container, &src, (scale, previous), &mut kept);
                    let what = case.what(scale);
                    assert!(container == compressed(&three, &mut other, &src), "{what}: threads");
                    let plain = Options { previous_base: false, ..on_cpu(1) };
                    let plain = fzgm::compress(&case.pipeline, &case.array, &plain, &src).unwrap();
                    assert!((container == plain) != previous, "{what}: step {k} and a call without history");
                }
            }
        }
    }
}

/// A workspace keeps nothing for another plan, and a poisoned one keeps its base.
#[test]
fn bases_belong_to_a_plan_and_a_workspace() {
    let case = case("fast", DType::F32, &[5000], "noa", false);
    let [a, b] = [1, 2].map(|_| Encoder::new(&case.pipeline, &case.array, &on_cpu(1)).unwrap());
    let mut ws = a.workspace().unwrap();
    let src = field(&case.array, 1.0, false);
    let first = compressed(&a, &mut ws, &src);
    ws.poison(0x5a);
    let second = compressed(&a, &mut ws, &src);
    assert!(first != second, "the second call has the base of the first one");
    assert!(compressed(&b, &mut ws, &src) == first, "another plan");
    assert!(compressed(&a, &mut ws, &src) == first, "the base is kept for the last plan alone");
    assert!(compressed(&a, &mut a.workspace().unwrap(), &src) == first, "another workspace");
}

#[test]
fn stages_without_the_option_ignore_it() {
    for preset in ["high", "fz", "cusz", "bits"] {
        let (pipeline, array) = (lossy(preset, DType::F32), Array::new(DType::F32, &[40, 30, 9]).unwrap());
        let encoder = Encoder::new(&pipeline, &array, &on_cpu(1)).unwrap();
        let (mut ws, src) = (encoder.workspace().unwrap(), field(&array, 1.0, false));
        let first = compressed(&encoder, &mut ws, &src);
        assert!(first == compressed(&encoder, &mut ws, &src), "{preset}");
        let plain = Options { previous_base: false, ..on_cpu(1) };
        assert!(first == fzgm::compress(&pipeline, &array, &plain, &src).unwrap(), "{preset}");
    }
}

#[test]
fn batches_reject_it() {
    let case = case("fast", DType::F32, &[50], "noa", false);
    let encoder = Encoder::new(&case.pipeline, &case.array, &on_cpu(1)).unwrap();
    let refused = Batch::new(vec![Arc::new(encoder)], 1).unwrap().workspace().err().unwrap();
    assert_eq!(refused.status(), Status::InvalidArgument);
    assert!(refused.to_string().contains("previous_base"), "{refused}");
}

/// Cases for devices: functions of small arrays, and those that measure while they code.
fn device_cases() -> Vec<(Case, usize)> {
    let all = SCALES.len();
    let (f32, f64) = (DType::F32, DType::F64);
    let mut cases = vec![
        (case("fast", f32, &[1000], "noa", false), all),
        (case("fast", f64, &[40, 30, 9], "prel", true), all),
        (case("fast", f32, &[8200, 2], "noa", false), all),
        (case("fast", f32, &[8200, 2], "prel", true), all),
        (case("fast", f64, &[8200, 2], "noa", false), all),
        (case("fast", f64, &[8200, 2], "noa", true), all),
        (case("fast", f32, &[8224, 2, 2], "noa", true), all),
        (case("fast", f64, &[8224, 2, 2], "prel", false), all),
        // Whole units: two codes to a register, and fill values in the places of codes.
        (case("fast", f32, &[8224, 32, 2], "noa", false), 5),
        (case("fast", f32, &[8224, 32, 2], "noa", true), 4),
        (case("fast", f32, &[2_100_001], "noa", false), 2),
        (case("pfpl", f32, &[3000], "noa", false), all),
        (case("pfpl", f64, &[5000], "noa", true), all),
        (case("pfpl", f64, &[4096, 3], "prel", false), all),
        (case("pfpl", f32, &[2_100_001], "noa", false), 4),
    ];
    // A step that does not depend on a sample, and lists, which are coded by several kernels.
    for name in ["fixed_step=true", "inplace=false"] {
        let mut other = case("pfpl", f32, &[6000], "noa", false);
        other.name = name;
        other.pipeline =
            Pipeline::from_text(&format!("quantizer(mode=noa,eb=1e-3,capacity=1,{name}) > rze")).unwrap();
        cases.push((other, all));
    }
    cases
}

#[test]
fn devices_write_the_bytes_of_the_cpu_for_equal_sequences() {
    let Some(device) = device() else { return };
    for (_, (case, count)) in device_cases().into_iter().enumerate().filter(|(k, _)| mine(k / 2)) {
        let cpu = Encoder::new(&case.pipeline, &case.array, &on_cpu(1)).unwrap();
        let mut ws = cpu.workspace().unwrap();
        let mut fixture = Fixture::new(&case.pipeline, &case.array, &Options { device, ..on_cpu(1) });
        let mut kept = 0.0;
        for (k, &(scale, previous)) in SCALES[..count].iter().enumerate() {
            let (src, what) = (field(&case.array, scale, case.fills), case.what(scale));
            let want = compressed(&cpu, &mut ws, &src);
            case.check(&want, &src, (scale, previous), &mut kept);
            fixture.src.put(0, &src);
            let (first, second) = fixture.both();
            assert_eq!((first.status, second.status), (0, 0), "{what}: step {k}");
            let made = fixture.container.first(first.bytes as usize);
            let bases = [&made, &want].map(|container| fzgm::info(container).unwrap().value_base);
            assert!(made == want, "{what}: step {k}: another container, with bases {bases:?}");
        }
    }
}

/// A graph continues the history of the workspace.
#[test]
fn graphs_keep_bases_from_launch_to_launch() {
    let Some(device) = device() else { return };
    let case = case("fast", DType::F32, &[8200, 2], "noa", false);
    let cpu = Encoder::new(&case.pipeline, &case.array, &on_cpu(1)).unwrap();
    let mut ws = cpu.workspace().unwrap();
    let mut fixture = Fixture::new(&case.pipeline, &case.array, &Options { device, ..on_cpu(1) });
    let graph = fixture.capture();
    for (scale, _) in SCALES {
        let src = field(&case.array, scale, false);
        let want = compressed(&cpu, &mut ws, &src);
        fixture.src.put(0, &src);
        graph.launch(&fixture.stream);
        fixture.stream.wait();
        assert_eq!(fixture.results[0].result().bytes, want.len() as u64, "{scale}");
        assert!(fixture.container.first(want.len()) == want, "{scale}");
    }
}
