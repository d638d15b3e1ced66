//! One case on every device: on the CPU, whose result the oracle judges, and on the device of the tests, if there is one, which must
//! write equal bytes and restore equal values.

use super::gpu;
use super::oracle::{Bound, judge};
use super::samples::Sample;
use fzgm::{
    Container, DType, Device, Options, Pipeline, Setting, Status, compress, decompress, info, preset,
};

/// A stage, or else a preset for f32, with parameters of its first stage.
pub fn stage(name: &str, sets: &[(&str, &str)]) -> Pipeline {
    let mut p = Pipeline::new();
    if p.add(name).is_err() {
        p = preset(name, DType::F32).unwrap();
    }
    sets.iter().for_each(|(key, value)| p.args_mut(0).unwrap().set_text(key, value).unwrap());
    p
}

/// Options without checksums that keep tiny arrays in the stage under test.
pub fn bare(container: Container) -> Options {
    Options { container, checksum: false, store_incompressible: false, ..Options::default() }
}

/// A case that also the slow devices run, from and to addresses with these remainders. Returns the container and the restored bytes.
pub fn agrees(p: &Pipeline, sample: &Sample, options: &Options, shifts: [usize; 2]) -> (Vec<u8>, Vec<u8>) {
    case(p, sample, options, shifts, |_| true)
}

/// Slow devices run one case in this number of cases.
pub fn holds(p: &Pipeline, sample: &Sample, options: &Options) -> (Vec<u8>, Vec<u8>) {
    case(p, sample, options, [0, 0], gpu::shared)
}

fn case(
    p: &Pipeline,
    sample: &Sample,
    options: &Options,
    [from, to]: [usize; 2],
    chosen: fn(usize) -> bool,
) -> (Vec<u8>, Vec<u8>) {
    let name = || {
        format!(
            "{}, {}, {options:?}, shifts {from} and {to}",
            sample.name,
            p.to_text().or_else(|_| p.to_toml()).unwrap()
        )
    };
    let cpu = Options { device: Device::Cpu, ..options.clone() };
    let made = compress(p, &sample.array, &cpu, &sample.bytes).unwrap_or_else(|e| panic!("{}: {e}", name()));
    let (_, restored) = decompress(&made, &cpu).unwrap_or_else(|e| panic!("{}: {e}", name()));
    // Runs on the emulator take long, and there is always a run without a device.
    if options.strict && !gpu::is_emulated() {
        let kept = keeps_its_promise(p, sample, &made, &restored, true);
        assert!(kept.unwrap_or_else(|e| panic!("{}: {e}", name())), "{}: no promise", name());
    }
    let k = crc32fast::hash(&made) as usize;
    if gpu::device().is_some() && gpu::mine(k) && chosen(k >> 8) {
        gpu::agrees_at(
            p,
            &Sample { name: name(), ..sample.clone() },
            options,
            (&made, &restored),
            [from, 0, to],
        );
    }
    (made, restored)
}

/// The bytes or the status of a container that may be damaged, on the CPU, and also on the device if this case is for it.
pub fn verdict(container: &[u8], options: &Options, on_device: bool, what: &str) -> Result<Vec<u8>, Status> {
    let on = |device| {
        let options = Options { device, ..options.clone() };
        decompress(container, &options).map_or_else(|e| Err(e.status()), |(_, bytes)| Ok(bytes))
    };
    let said = on(Device::Cpu);
    if let Some(device) = gpu::device().filter(|_| on_device) {
        let other = on(device);
        let short = [&said, &other].map(|v| v.as_ref().map(Vec::len));
        assert!(said == other, "{what}: {short:?}");
    }
    said
}

/// A number that some stage of the pipeline has as a parameter.
fn real(p: &Pipeline, name: &str) -> Option<f64> {
    let mut settings = p.nodes().iter().flat_map(|n| n.args().iter());
    settings.find_map(|(param, value)| match value {
        Setting::Real(v) if param.name == name => Some(*v),
        _ => None,
    })
}

/// True if the container guarantees the restored bytes, which must then be kept.
pub fn keeps_its_promise(
    p: &Pipeline,
    sample: &Sample,
    container: &[u8],
    restored: &[u8],
    strict: bool,
) -> Result<bool, String> {
    let mode = info(container).map_err(|e| e.to_string())?.mode;
    match mode {
        "lossless" => return same(&sample.bytes, restored).map(|()| true),
        "unbounded" => return Ok(false),
        // The losses of the reference's arithmetic; reference_reader.rs judges these bytes.
        _ if !strict => return Ok(false),
        _ => {}
    }
    let eb = real(p, "error_bound").ok_or("a mode with a bound and no error_bound")?;
    let bound = match real(p, "value_base") {
        Some(base) if base > 0.0 && matches!(mode, "noa" | "prel") => Bound::NoaOf(eb, base),
        _ => Bound::of(mode, eb),
    };
    let threshold = real(p, "outlier_threshold").unwrap_or(f64::INFINITY);
    judge(sample.array.dtype(), &sample.bytes, restored, bound, threshold).map(|_| true)
}

fn same(want: &[u8], got: &[u8]) -> Result<(), String> {
    let at = want.iter().zip(got).position(|(a, b)| a != b);
    if want.len() == got.len() && at.is_none() { Ok(()) } else { Err(format!("differs at byte {at:?}")) }
}
