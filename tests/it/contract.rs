//! Guarantees of every stage, for every element type. The registry is walked, so a new stage is tested
//! without a line here.

use crate::common::agreement::keeps_its_promise;
use crate::common::cases::{self, Given};
use crate::common::run::{both_containers, every_way, options};
use crate::common::samples::{self, Content, FILL, Sample};
use fzgm::stages::STAGES;
use fzgm::{Container, DType, Encoder, Error, Kind, Param, Pipeline, Spec, Stage};

/// Values of a parameter that are worth a run each: all of a list, and of a range those that mean something to most
/// stages. The ends of ranges have a test of their own, in parameters.rs.
fn values(p: &Param) -> Vec<String> {
    let list = match p.kind {
        Kind::Choice(words) => words.iter().map(|w| (*w).to_string()).collect(),
        Kind::IntOf(numbers) => numbers.iter().map(i64::to_string).collect(),
        Kind::Flag => vec!["false".into(), "true".into()],
        Kind::Names { .. } => vec!["vle".into()],
        // The shape is that of the array, or 1 where that means the same.
        Kind::Int { .. } if p.name.starts_with("dim_") => vec!["1".into()],
        Kind::Int { low, high } => {
            let interesting = [0, 1, 64, 4096, 8192, 16384, 65536];
            interesting.iter().filter(|v| (low..=high).contains(v)).map(i64::to_string).collect()
        }
        Kind::Real { low, open, high } => {
            let interesting = match p.name {
                "error_bound" => &[1e-1, 1e-5][..],
                "outlier_threshold" => &[FILL, 3.0],
                _ => &[0.0, 1.0],
            };
            let within = |v: &&f64| **v <= high && (**v > low || !open && **v == low);
            interesting.iter().filter(within).map(|v| format!("{v:?}")).collect()
        }
    };
    let default = p.default.to_string();
    list.into_iter().filter(|v| *v != default).collect()
}

/// The defaults, and each value of each parameter with the defaults of the others.
pub(crate) fn one_at_a_time(params: &[Param]) -> Vec<Vec<Given>> {
    let each = params.iter().flat_map(|p| values(p).into_iter().map(|v| vec![(p.name.to_string(), v)]));
    std::iter::once(vec![]).chain(each).collect()
}

/// Each pair of values of two parameters.
fn pairs(params: &[Param]) -> Vec<Vec<Given>> {
    let mut all = vec![];
    for (i, a) in params.iter().enumerate() {
        for b in &params[i + 1..] {
            for x in values(a) {
                let pair = |y| vec![(a.name.to_string(), x.clone()), (b.name.to_string(), y)];
                all.extend(values(b).into_iter().map(pair));
            }
        }
    }
    all
}

pub(crate) fn pipeline(stage: &str, set: &[Given]) -> Pipeline {
    let mut p = Pipeline::new();
    let node = p.add(stage).unwrap();
    for (name, value) in set {
        p.args_mut(node).unwrap().set_text(name, value).unwrap();
    }
    p
}

/// The outcome of a combination.
#[derive(Default)]
struct Outcome {
    /// It ran with some sample and promised something of the result.
    promised: bool,
    /// It ran with some sample.
    accepted: bool,
    /// Some sample has an element that its parameters have no room for.
    out_of_range: bool,
}

/// A container, and whether its arithmetic is strict.
type Form = (Container, bool);

/// Each container and each arithmetic is in the first two.
const FORMS: [Form; 4] = [
    (Container::Compact, true),
    (Container::Fzm, false),
    (Container::Fzm, true),
    (Container::Compact, false),
];

/// All forms for small arrays with the defaults, and with `FZGM_LONG`. For a set of parameters two forms are enough,
/// because containers differ in their headers alone; and so they are for arrays that threads share.
fn forms(set: &[Given], sample: &Sample) -> &'static [Form] {
    let all = set.is_empty() && sample.bytes.len() <= 1 << 18 || std::env::var_os("FZGM_LONG").is_some();
    if all { &FORMS } else { &FORMS[..2] }
}

/// Runs one combination over samples. The stage may refuse it, or a type, by name.
fn holds(stage: &str, set: &[Given], samples: &[Sample]) -> Outcome {
    let p = pipeline(stage, set);
    let mut outcome = Outcome::default();
    for sample in samples {
        for &(container, strict) in forms(set, sample) {
            let what = format!("{stage} {set:?} {} {container:?} strict={strict}", sample.name);
            match every_way(&p, sample, &options(container, strict)) {
                Ok((bytes, restored)) => {
                    let kept = keeps_its_promise(&p, sample, &bytes, &restored, strict);
                    outcome.promised |= kept.unwrap_or_else(|e| panic!("{what}: {e}"));
                    outcome.accepted = true;
                }
                Err(e) => {
                    assert!(e.to_string().contains(stage), "{what}: `{e}` does not name the stage");
                    let element = format!("an input element of {stage}");
                    outcome.out_of_range |=
                        matches!(e, Error::InvalidArgument { what, .. } if what == element);
                }
            }
        }
    }
    outcome
}

/// Every stage, or the one that `FZGM_STAGE` names, while it is written.
fn chosen() -> impl Iterator<Item = &'static dyn Stage> {
    let only = std::env::var("FZGM_STAGE").ok();
    let stages = STAGES
        .iter()
        .copied()
        .filter(move |stage| only.as_ref().is_none_or(|name| name == stage.spec().name));
    assert!(stages.clone().next().is_some(), "FZGM_STAGE names no stage");
    stages
}

/// For each type that a stage accepts, some combination runs and has a guarantee; for every other type, none
/// runs.
fn holds_for_its_types(spec: &Spec, outcome: impl Fn(DType) -> Outcome) {
    for dtype in DType::ALL {
        let Outcome { accepted, promised, .. } = outcome(dtype);
        assert_eq!(accepted, spec.accepts.contains(&dtype), "{} accepts {dtype}", spec.name);
        assert_eq!(promised, accepted, "{} promises something of {dtype}", spec.name);
    }
}

#[test]
fn every_stage_holds_for_every_type_and_sample() {
    for stage in chosen() {
        let spec = stage.spec();
        let sets = [one_at_a_time(spec.params), cases::of(spec.name)].concat();
        holds_for_its_types(spec, |dtype| {
            let (all, few) = (samples::all(dtype), samples::few(dtype));
            let mut any = Outcome::default();
            for set in &sets {
                // The whole set of samples for the defaults, a part of it for the rest.
                let outcome = holds(spec.name, set, if set.is_empty() { &all } else { &few });
                any.accepted |= outcome.accepted;
                any.promised |= outcome.promised;
            }
            any
        });
    }
}

#[test]
fn pairs_of_parameters_hold() {
    for stage in chosen() {
        let spec = stage.spec();
        let mut accepted = 0;
        let all = pairs(spec.params);
        for set in &all {
            for dtype in [DType::U8, DType::I16, DType::F32, DType::F64, DType::U64] {
                let of = |content| [samples::make(dtype, &[4099], content, 3)];
                let mut outcome = holds(spec.name, set, &of(Content::Sparse));
                if outcome.out_of_range && !outcome.accepted {
                    outcome = holds(spec.name, set, &of(Content::Zeros));
                }
                accepted += usize::from(outcome.accepted);
            }
        }
        assert!(all.is_empty() || accepted >= all.len() / 3, "{}: {accepted} of {}", spec.name, all.len());
    }
}

/// Combinations with the sizes and contents of the defaults.
#[test]
fn main_forms_hold_for_every_sample() {
    for stage in chosen() {
        let spec = stage.spec();
        for set in cases::main_forms(spec.name) {
            let accepted = |d: &&DType| holds(spec.name, &set, &samples::all(**d)).accepted;
            assert!(spec.accepts.iter().filter(accepted).count() > 0, "{} {set:?} is refused", spec.name);
        }
    }
}

/// The values of the parameter `mode` of a preset; a preset without it has none to set.
fn modes(p: &Pipeline) -> &'static [&'static str] {
    let mut params = p.nodes().iter().flat_map(|n| n.args().iter().map(|(param, _)| param));
    match params.find(|param| param.name == "mode").map(|param| param.kind) {
        Some(Kind::Choice(words)) => words,
        _ => &[""],
    }
}

/// A preset in a mode over every sample; false: it refuses the mode and names what to use in its place.
fn preset_holds(what: &str, p: &Pipeline, dtype: DType, lossless: bool) -> bool {
    let mut ran = 0;
    let samples = samples::all(dtype);
    for sample in &samples {
        for container in both_containers() {
            let what = format!("{what} {} {container:?}", sample.name);
            match every_way(p, sample, &options(container, true)) {
                Ok((bytes, restored)) => {
                    let kept = keeps_its_promise(p, sample, &bytes, &restored, true);
                    assert!(kept.unwrap_or_else(|e| panic!("{what}: {e}")), "{what} promises nothing");
                    let mode = fzgm::info(&bytes).unwrap().mode;
                    assert_eq!(mode == "lossless", lossless, "{what}");
                    ran += 1;
                }
                Err(e) => {
                    let named = matches!(e, Error::Unsupported { .. }) && e.to_string().contains("use ");
                    assert!(named, "{what}: {e}");
                }
            }
        }
    }
    assert!(ran == 0 || ran == 2 * samples.len(), "{what} depends on the sample");
    ran > 0
}

#[test]
fn presets_hold_for_every_type_and_sample() {
    for preset in fzgm::PRESETS {
        let mut accepted = 0;
        for dtype in DType::ALL {
            let p = match fzgm::preset(preset.name, dtype) {
                Ok(p) => p,
                Err(Error::Unsupported { .. }) => continue,
                Err(e) => panic!("{}: {e}", preset.name),
            };
            let run = |&&mode: &&&str| {
                let mut p = p.clone();
                if !mode.is_empty() {
                    p.set_everywhere("mode", |args| args.set_text("mode", mode)).unwrap();
                }
                preset_holds(&format!("{} {mode}", preset.name), &p, dtype, preset.lossless)
            };
            let held = modes(&p).iter().filter(run).count();
            assert!(held > 0 && held + 1 >= modes(&p).len(), "{} holds in {held} modes", preset.name);
            accepted += 1;
        }
        assert!(accepted > 0, "{} is for no type", preset.name);
    }
}

#[test]
fn arrays_that_do_not_compress_are_stored() {
    let preset = fzgm::PRESETS.iter().find(|p| p.lossless).unwrap().name;
    let identity = STAGES.iter().find(|s| s.is_identity()).unwrap().spec().name;
    for dtype in DType::ALL {
        for n in [0, 1, 7, 31, 5000u64] {
            let sample = samples::make(dtype, &[n], Content::Random, 9);
            for container in both_containers() {
                let stored = fzgm::Options { store_incompressible: true, ..options(container, true) };
                let lossless = fzgm::preset(preset, dtype).unwrap();
                let (bytes, restored) = every_way(&lossless, &sample, &stored).unwrap();
                assert_eq!(restored, sample.bytes);
                let most = Encoder::new(&pipeline(identity, &[]), &sample.array, &stored).unwrap();
                assert!(bytes.len() as u64 <= most.max_compressed_bytes(), "{} grows", sample.name);
            }
        }
    }
}
