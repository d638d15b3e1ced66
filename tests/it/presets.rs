//! Every preset with every mode, type and number of dimensions: the bound holds, or the refusal names what to use instead.

use crate::common::oracle::{Bound, judge};
use crate::common::run::{both_containers, options};
use crate::common::samples::{self, Content, Sample};
use fzgm::{DType, Error, PRESETS, Pipeline, compress, decompress, preset};

const MODES: [&str; 4] = ["abs", "noa", "prel", "rel"];
const SHAPES: [&[u64]; 6] = [&[1], &[3001], &[61, 47], &[1, 300], &[17, 11, 13], &[5, 1, 70]];

/// The types and modes of each preset. A new preset must be added here.
fn takes(name: &str, dtype: DType, mode: &str) -> bool {
    match name {
        // Sums of differences bound no value by itself.
        "fz" | "cusz" | "cusz_ans" | "lc_speed" | "lc_ratio" | "lc_tp" | "lc_cr" | "cusz_hi_tp"
        | "cusz_hi_cr" | "fast" | "high" => dtype.is_float() && mode != "rel",
        "pfpl" => dtype.is_float(),
        "bits" | "exact" => mode.is_empty(),
        other => panic!("preset {other} is new"),
    }
}

/// As the command line and the example programs do it.
fn request(name: &str, dtype: DType, mode: &str) -> fzgm::Result<Pipeline> {
    let mut p = preset(name, dtype)?;
    if !mode.is_empty() {
        p.set_everywhere("mode", |args| args.set_text("mode", mode))?;
        p.set_everywhere("error_bound", |args| args.set_real("error_bound", 1e-2))?;
    }
    Ok(p)
}

fn keeps(pipeline: &Pipeline, sample: &Sample, mode: &str) -> fzgm::Result<()> {
    for container in both_containers() {
        let options = options(container, true);
        let bytes = compress(pipeline, &sample.array, &options, &sample.bytes)?;
        let (array, restored) = decompress(&bytes, &options)?;
        assert_eq!(array, sample.array);
        if mode.is_empty() {
            assert!(restored == sample.bytes, "{}: other bytes", sample.name);
        } else {
            let dtype = sample.array.dtype();
            judge(dtype, &sample.bytes, &restored, Bound::of(mode, 1e-2), f64::INFINITY)
                .unwrap_or_else(|e| panic!("{mode} {}: {e}", sample.name));
        }
    }
    Ok(())
}

#[test]
fn presets_keep_every_bound_that_they_take_and_name_another_way_for_the_rest() {
    let mut kept = 0;
    for p in PRESETS {
        let modes = if p.lossless { &[""][..] } else { &MODES };
        for ((&mode, dtype), dims) in
            modes.iter().flat_map(|m| DType::ALL.map(|d| (m, d))).flat_map(|x| SHAPES.map(|s| (x, s)))
        {
            let what = format!("{} {mode} {dtype} {dims:?}", p.name);
            let samples =
                [Content::Walk, Content::Specials].map(|content| samples::make(dtype, dims, content, 5));
            let done = request(p.name, dtype, mode)
                .and_then(|pipeline| samples.iter().try_for_each(|s| keeps(&pipeline, s, mode)));
            match done {
                Ok(()) => {
                    assert!(takes(p.name, dtype, mode), "{what} is taken");
                    kept += 1;
                }
                Err(e) => {
                    assert!(!takes(p.name, dtype, mode), "{what}: {e}");
                    let instead = if dtype.is_float() { "use prel" } else { "use preset bits" };
                    assert!(matches!(e, Error::Unsupported { .. }), "{what}: {e:?}");
                    assert!(e.to_string().contains(instead), "{what}: {e}");
                    assert!(!dtype.is_float() || e.to_string().contains("preset pfpl"), "{what}: {e}");
                }
            }
        }
    }
    assert_eq!(kept, SHAPES.len() * (2 * 4 + 11 * (2 * 3) + 2 * DType::ALL.len()));
}

/// A preset is for arrays of the type that it was made for.
#[test]
fn arrays_of_another_type_are_refused_by_name() {
    for (name, made, given) in [
        ("pfpl", DType::F32, DType::F64),
        ("pfpl", DType::F64, DType::F32),
        ("fz", DType::F32, DType::I32),
        ("pfpl", DType::F32, DType::U8),
    ] {
        let sample = samples::make(given, &[100], Content::Walk, 1);
        let e = keeps(&preset(name, made).unwrap(), &sample, "").unwrap_err();
        assert!(matches!(e, Error::TypeMismatch { .. } | Error::InvalidArgument { .. }), "{e:?}");
        // Another type for the array, or codes that fit this one.
        let instead = if given.is_float() { given.name() } else { "supported: f32 and f64" };
        assert!(e.to_string().contains(instead), "{name} of {made} for {given}: {e}");
    }
}

#[test]
fn a_preset_without_a_bound_reports_its_parameters() {
    let e = request("bits", DType::F32, "noa").map(|_| ()).unwrap_err();
    assert!(matches!(e, Error::UnknownName { .. }) && e.to_string().contains("chunk_size"), "{e}");
    let e = preset("pfp", DType::F32).map(|_| ()).unwrap_err();
    assert!(e.to_string().contains("pfpl") && e.to_string().contains("bits"), "{e}");
}
