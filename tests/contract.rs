//! What every stage promises, for every element type: the registry is walked, so a new stage is tested
//! without a line here.
#![allow(clippy::unwrap_used, clippy::panic)]

#[allow(dead_code, unreachable_pub)]
mod common;

use common::oracle::{Bound, judge};
use common::run::{both_containers, every_way, options};
use common::samples::{self, Content, FILL, Sample};
use fzgm::stages::STAGES;
use fzgm::{DType, Encoder, Kind, Param, Pipeline, Setting};

/// A setting of a parameter, as text.
type Set = (&'static str, String);

/// Values of a parameter that are worth a run each: all of a list, and of a range those that mean something
/// to the stage. The ends of ranges have a test of their own, in parameters.rs.
fn values(p: &Param) -> Vec<String> {
    let list = match p.kind {
        Kind::Choice(words) => words.iter().map(|w| (*w).to_string()).collect(),
        Kind::IntOf(numbers) => numbers.iter().map(i64::to_string).collect(),
        Kind::Flag => vec!["false".into(), "true".into()],
        Kind::Names { .. } => vec!["vle".into()],
        // The shape is that of the array, or written as 1 where that says the same.
        Kind::Int { .. } if p.name.starts_with("dim_") => vec!["1".into()],
        Kind::Int { low, high } => {
            let interesting = [0, 1, 64, 4096, 8192, 16384, 65536];
            interesting.iter().filter(|v| (low..=high).contains(v)).map(i64::to_string).collect()
        }
        Kind::Real { .. } => match p.name {
            "error_bound" => vec!["1e-1".into(), "1e-5".into()],
            "outlier_capacity" => vec!["0".into(), "1".into()],
            "outlier_threshold" => vec![FILL.to_string(), "3".into()],
            "value_base" => vec!["17.5".into()],
            _ => vec![],
        },
    };
    let default = p.default.to_string();
    list.into_iter().filter(|v| *v != default).collect()
}

/// The defaults, and each value of each parameter with the defaults of the others.
fn one_at_a_time(params: &'static [Param]) -> Vec<Vec<Set>> {
    let each = params.iter().flat_map(|p| values(p).into_iter().map(|v| vec![(p.name, v)]));
    std::iter::once(vec![]).chain(each).collect()
}

/// Each pair of values of two parameters.
fn pairs(params: &'static [Param]) -> Vec<Vec<Set>> {
    let mut all = vec![];
    for (i, a) in params.iter().enumerate() {
        for b in &params[i + 1..] {
            for x in values(a) {
                all.extend(values(b).into_iter().map(|y| vec![(a.name, x.clone()), (b.name, y)]));
            }
        }
    }
    all
}

fn set(list: &[(&'static str, &str)]) -> Vec<Set> {
    list.iter().map(|(name, value)| (*name, (*value).to_string())).collect()
}

/// Combinations that single values do not reach, because parameters depend on each other.
#[allow(clippy::too_many_lines)] // A table.
fn combinations(stage: &str) -> Vec<Vec<Set>> {
    if stage == "lorenzo_quant" {
        let mut all = vec![];
        for (code, radius) in [("u8", "0"), ("u16", "1"), ("u16", "300"), ("u32", "2147483648"), ("u32", "5")]
        {
            for mode in ["abs", "noa", "prel"] {
                for (threshold, eb) in [("1e20", "1e-3"), ("inf", "1e-6"), ("2.5", "0.5"), ("1e20", "1e-9")] {
                    all.push(set(&[
                        ("code_type", code),
                        ("quant_radius", radius),
                        ("mode", mode),
                        ("outlier_threshold", threshold),
                        ("error_bound", eb),
                        ("zigzag_codes", if eb == "1e-3" { "true" } else { "false" }),
                    ]));
                }
            }
        }
        all.push(set(&[("mode", "noa"), ("value_base", "12.5")]));
        all.push(set(&[("mode", "prel"), ("value_base", "12.5")]));
        return all;
    }
    if stage != "quantizer" {
        return vec![];
    }
    let mut all = vec![];
    for (code, radius) in [("u32", "4194304"), ("u64", "2147483648"), ("u32", "2"), ("u64", "1")] {
        for mode in ["abs", "noa", "prel"] {
            for threshold in ["1e20", "inf", "2.5"] {
                all.push(set(&[
                    ("inplace_outliers", "true"),
                    ("code_type", code),
                    ("quant_radius", radius),
                    ("mode", mode),
                    ("outlier_threshold", threshold),
                ]));
            }
        }
    }
    for (code, radius) in [("u16", "32768"), ("u16", "100"), ("u32", "2147483648"), ("u32", "4194305")] {
        for zigzag in ["true", "false"] {
            for eb in ["1e-3", "1e-6", "0.5"] {
                let list = [
                    ("code_type", code),
                    ("quant_radius", radius),
                    ("zigzag_codes", zigzag),
                    ("error_bound", eb),
                ];
                all.push(set(&list));
                all.push(set(&[&list[..], &[("mode", "noa"), ("outlier_threshold", "1e20")]].concat()));
            }
        }
    }
    all.push(set(&[("mode", "noa"), ("value_base", "12.5"), ("code_type", "u16")]));
    all.push(set(&[("mode", "prel"), ("value_base", "12.5"), ("code_type", "u16")]));
    for (code, radius) in
        [("u16", "0"), ("u16", "100"), ("u32", "0"), ("u32", "1000"), ("u64", "0"), ("u64", "3")]
    {
        for eb in ["1e-1", "1e-3", "1e-6", "2"] {
            for (threshold, in_place) in [("inf", "false"), ("1e20", "true"), ("2.5", "false")] {
                all.push(set(&[
                    ("mode", "rel"),
                    ("code_type", code),
                    ("quant_radius", radius),
                    ("error_bound", eb),
                    ("outlier_threshold", threshold),
                    ("inplace_outliers", in_place),
                ]));
            }
        }
    }
    all
}

fn pipeline(stage: &str, sets: &[Set]) -> Pipeline {
    let mut p = Pipeline::new();
    let node = p.add(stage).unwrap();
    for (name, value) in sets {
        p.args_mut(node).unwrap().set_text(name, value).unwrap();
    }
    p
}

fn setting<'a>(p: &'a Pipeline, name: &str) -> Option<&'a Setting> {
    p.nodes()[0].args().iter().find(|(param, _)| param.name == name).map(|(_, v)| v)
}

fn real(p: &Pipeline, name: &str) -> f64 {
    match setting(p, name) {
        Some(Setting::Real(v)) => *v,
        other => panic!("{name} is {other:?}"),
    }
}

fn choice(p: &Pipeline, name: &str) -> &'static str {
    match setting(p, name) {
        Some(Setting::Choice(v)) => v,
        _ => "",
    }
}

/// What the stage promises of the bytes that come back.
fn keeps_its_promise(p: &Pipeline, sample: &Sample, restored: &[u8], strict: bool) -> Result<(), String> {
    let dtype = sample.array.dtype();
    if setting(p, "error_bound").is_some() {
        if !strict {
            return Ok(()); // the losses of the reference's arithmetic; reference_reader.rs judges these bytes
        }
        let (eb, base) = (real(p, "error_bound"), real(p, "value_base"));
        let bound = match choice(p, "mode") {
            "noa" | "prel" if base > 0.0 => Bound::NoaOf(eb, base),
            mode => Bound::of(mode, eb),
        };
        return judge(dtype, &sample.bytes, restored, bound, real(p, "outlier_threshold")).map(|_| ());
    }
    let as_floats = p.nodes()[0].stage() == "difference"
        && choice(p, "code") == "plain"
        && dtype.is_float()
        && matches!(choice(p, "input_type"), "auto" | "f32" | "f64");
    let chunk = match setting(p, "chunk_size") {
        Some(Setting::Int(bytes)) => *bytes as usize,
        _ => 0,
    };
    let want =
        if as_floats { sums_of_differences(dtype, &sample.bytes, chunk) } else { sample.bytes.clone() };
    if as_floats { same_but_for_nan(dtype, &want, restored) } else { same(&want, restored) }
}

fn same(want: &[u8], got: &[u8]) -> Result<(), String> {
    let at = want.iter().zip(got).position(|(a, b)| a != b);
    if want.len() == got.len() && at.is_none() { Ok(()) } else { Err(format!("differs at byte {at:?}")) }
}

/// Which NaN arithmetic makes is not ours to say.
fn same_but_for_nan(dtype: DType, want: &[u8], got: &[u8]) -> Result<(), String> {
    let width = dtype.bytes() as usize;
    let nan = |w: &[u8]| match width {
        4 => f32::from_le_bytes(w.try_into().unwrap()).is_nan(),
        _ => f64::from_le_bytes(w.try_into().unwrap()).is_nan(),
    };
    let mut words = want.chunks(width).zip(got.chunks(width));
    let at = words.position(|(a, b)| a != b && !(nan(a) && nan(b)));
    if want.len() == got.len() && at.is_none() { Ok(()) } else { Err(format!("differs at value {at:?}")) }
}

/// Plain differences of floats round; what must come back is the running sum of the rounded differences.
fn sums_of_differences(dtype: DType, bytes: &[u8], chunk: usize) -> Vec<u8> {
    macro_rules! sums {
        ($T:ty) => {{
            let width = size_of::<$T>();
            let x: Vec<$T> =
                bytes.chunks_exact(width).map(|w| <$T>::from_le_bytes(w.try_into().unwrap())).collect();
            let mut sum = -0.0;
            let one = |i: usize| {
                let fresh = i == 0 || (chunk >= width && i % (chunk / width) == 0);
                sum = if fresh { -0.0 + (x[i] - 0.0) } else { sum + (x[i] - x[i - 1]) };
                sum.to_le_bytes()
            };
            (0..x.len()).flat_map(one).collect()
        }};
    }
    if dtype == DType::F32 { sums!(f32) } else { sums!(f64) }
}

/// Runs one combination over samples; false: the stage refuses the type or the combination.
fn holds(stage: &str, sets: &[Set], samples: &[Sample]) -> bool {
    let p = pipeline(stage, sets);
    let mut accepted = false;
    for sample in samples {
        for container in both_containers() {
            for strict in [true, false] {
                let what = format!("{stage} {sets:?} {} {container:?} strict={strict}", sample.name);
                match every_way(&p, sample, &options(container, strict)) {
                    Ok((_, restored)) => {
                        keeps_its_promise(&p, sample, &restored, strict)
                            .unwrap_or_else(|e| panic!("{what}: {e}"));
                        accepted = true;
                    }
                    Err(e) => assert!(e.to_string().contains(stage), "{what}: `{e}` does not name the stage"),
                }
            }
        }
    }
    accepted
}

#[test]
fn every_stage_holds_for_every_type_and_sample() {
    for stage in STAGES {
        let spec = stage.spec();
        let mut types = vec![];
        for dtype in DType::ALL {
            let samples = samples::all(dtype);
            let mut any = false;
            for sets in one_at_a_time(spec.params).iter().chain(&combinations(spec.name)) {
                // The whole set of samples for the defaults, a part of it for the rest.
                let samples = if sets.is_empty() { &samples } else { &samples::few(dtype) };
                any |= holds(spec.name, sets, samples);
            }
            if any {
                types.push(dtype);
            }
        }
        // Nothing passes by being refused.
        let floats = [DType::F32, DType::F64];
        let lossy = spec.name.contains("quant") || spec.name == "fast";
        let want = if lossy { &floats[..] } else { &DType::ALL };
        let integers = ["negabinary", "lorenzo", "rle", "bitpack"].contains(&spec.name);
        let takes = |d: &DType| match spec.name {
            "adm" => d.bytes() > 1,
            "bitpack" => !d.is_float() && d.bytes() < 8,
            _ => !(integers && d.is_float()),
        };
        let want: Vec<DType> = want.iter().copied().filter(takes).collect();
        assert_eq!(types, want, "{} takes other types than it should", spec.name);
    }
}

#[test]
fn pairs_of_parameters_hold() {
    for stage in STAGES {
        let spec = stage.spec();
        let mut accepted = 0;
        let all = pairs(spec.params);
        for sets in &all {
            for dtype in [DType::U8, DType::I16, DType::F32, DType::F64, DType::U64] {
                // Few bits are for small elements.
                let content = if spec.name == "bitpack" { Content::Zeros } else { Content::Sparse };
                let sample = samples::make(dtype, &[4099], content, 3);
                accepted += usize::from(holds(spec.name, sets, &[sample]));
            }
        }
        assert!(all.is_empty() || accepted >= all.len() / 3, "{}: {accepted} of {}", spec.name, all.len());
    }
}

/// In place and with lists, whatever the parameters: the sizes and contents that the defaults get.
#[test]
fn the_quantizer_holds_in_its_main_forms_for_every_sample() {
    let forms = [
        set(&[
            ("mode", "noa"),
            ("inplace_outliers", "true"),
            ("quant_radius", "4194304"),
            ("outlier_threshold", "1e20"),
        ]),
        set(&[("mode", "noa"), ("code_type", "u16"), ("outlier_threshold", "1e20")]),
        set(&[
            ("mode", "abs"),
            ("code_type", "u64"),
            ("inplace_outliers", "true"),
            ("quant_radius", "2147483648"),
        ]),
        set(&[("mode", "abs"), ("inplace_outliers", "true"), ("quant_radius", "4194304")]),
    ];
    let mut accepted = 0;
    for sets in &forms {
        for dtype in [DType::F32, DType::F64] {
            accepted += usize::from(holds("quantizer", sets, &samples::all(dtype)));
        }
    }
    assert_eq!(accepted, 5, "in place needs codes as wide as the values");
}

#[test]
fn presets_hold_for_every_type_and_sample() {
    for preset in fzgm::PRESETS {
        let mut accepted = 0;
        for dtype in DType::ALL {
            let Ok(p) = fzgm::preset(preset.name, dtype) else { continue };
            accepted += 1;
            for sample in &samples::all(dtype) {
                for container in both_containers() {
                    // Sums of differences bound no value by itself.
                    let modes = match preset.name {
                        "fz" | "cusz" | "cusz_ans" | "lc_speed" | "lc_ratio" | "lc_tp" | "lc_cr" | "fast" => {
                            &["noa", "abs", "prel"][..]
                        }
                        "pfpl" => &["noa", "abs", "prel", "rel"],
                        _ => &[""],
                    };
                    for &mode in modes {
                        let mut p = p.clone();
                        if !mode.is_empty() {
                            p.set_everywhere("mode", |args| args.set_text("mode", mode)).unwrap();
                        }
                        let (_, restored) = every_way(&p, sample, &options(container, true))
                            .unwrap_or_else(|e| panic!("{} {mode} {}: {e}", preset.name, sample.name));
                        let kept = if preset.lossless {
                            same(&sample.bytes, &restored)
                        } else {
                            let bound = Bound::of(mode, 1e-3);
                            judge(dtype, &sample.bytes, &restored, bound, f64::INFINITY).map(|_| ())
                        };
                        kept.unwrap_or_else(|e| panic!("{} {mode} {}: {e}", preset.name, sample.name));
                    }
                }
            }
        }
        assert_eq!(accepted, if preset.lossless { 10 } else { 2 }, "{}", preset.name);
    }
}

#[test]
fn what_does_not_compress_is_stored() {
    for dtype in DType::ALL {
        for n in [0, 1, 7, 31, 5000u64] {
            let sample = samples::make(dtype, &[n], Content::Random, 9);
            for container in both_containers() {
                let stored = fzgm::Options { store_incompressible: true, ..options(container, true) };
                let (bytes, restored) =
                    every_way(&fzgm::preset("bits", dtype).unwrap(), &sample, &stored).unwrap();
                assert_eq!(restored, sample.bytes);
                let most = Encoder::new(&pipeline("stored", &[]), &sample.array, &stored).unwrap();
                assert!(bytes.len() as u64 <= most.max_compressed_bytes(), "{} grows", sample.name);
            }
        }
    }
}
