//! Each parameter of each stage at both ends of its range and beyond. Every refusal names the stage, the
//! parameter and the value.

use crate::common::corpus::chain;
use crate::common::run::{every_way, options};
use crate::common::samples::{self, Content};
use fzgm::stages::STAGES;
use fzgm::{Args, Array, Container, DType, Encoder, Error, Kind, Options, Param, Pipeline, Setting};

/// Checks that the error for `value` names the parameter.
fn names(refusal: &Error, stage: &str, param: &str, value: &str) {
    let text = refusal.to_string();
    let named = text.contains(&format!("{stage}.{param}")) && text.contains(value);
    assert!(named, "`{text}` does not name {stage}.{param} and {value}");
}

fn each(f: impl Fn(&'static str, &'static Param, &mut Args)) {
    for stage in STAGES {
        let spec = stage.spec();
        spec.params.iter().for_each(|p| f(spec.name, p, &mut Args::new(spec.name, spec.params)));
    }
}

fn value(args: &Args, name: &str) -> Setting {
    args.iter().find(|(p, _)| p.name == name).unwrap().1.clone()
}

#[test]
fn real_parameters_end_at_their_stated_limits() {
    each(|stage, p, args| {
        let Kind::Real { low, open, high } = p.kind else { return };
        let mut try_it = |x: f64, ok: bool| match args.set_real(p.name, x) {
            Ok(()) => assert!(ok && value(args, p.name) == Setting::Real(x), "{stage}.{} = {x:?}", p.name),
            Err(e) => {
                assert!(!ok, "{stage}.{} refuses {x:?}: {e}", p.name);
                names(&e, stage, p.name, &format!("{x:?}"));
            }
        };
        try_it(low, !open);
        try_it(low.next_up(), true);
        try_it(low.next_down(), false);
        try_it(high, true);
        try_it(high.next_up(), high.is_infinite());
        try_it(f64::NAN, false);
        try_it(f64::NEG_INFINITY, false);
        let text = args.set_text(p.name, "many").unwrap_err();
        names(&text, stage, p.name, "many");
    });
}

#[test]
fn whole_parameters_end_at_their_stated_limits() {
    each(|stage, p, args| {
        let tries: Vec<(i64, bool)> = match p.kind {
            Kind::Int { low, high } => {
                vec![
                    (low, true),
                    (high, true),
                    (low - 1, false),
                    (high + 1, false),
                    (i64::MIN, false),
                    (i64::MAX, false),
                ]
            }
            Kind::IntOf(list) => {
                let inside = list.iter().map(|&v| (v, true));
                let beside = list.iter().flat_map(|&v| [v - 1, v + 1]).filter(|v| !list.contains(v));
                inside.chain(beside.map(|v| (v, false))).chain([(i64::MAX, false)]).collect()
            }
            Kind::Flag => vec![(0, true), (1, true), (2, false), (-1, false)],
            Kind::Choice(_) | Kind::Names { .. } => vec![(0, false)],
            Kind::Real { .. } => return,
        };
        for (v, ok) in tries {
            match args.set_int(p.name, v) {
                Ok(()) => assert!(ok, "{stage}.{} takes {v}", p.name),
                Err(e) => {
                    assert!(!ok, "{stage}.{} refuses {v}: {e}", p.name);
                    names(&e, stage, p.name, &v.to_string());
                }
            }
        }
        let text = args.set_text(p.name, "1.5 x").unwrap_err();
        names(&text, stage, p.name, "1.5 x");
    });
}

/// A stage lists the modes that a plan accepts, and no other one.
#[test]
fn stages_list_the_modes_that_they_accept() {
    let (mut tried, array) = (0, Array::new(DType::F32, &[2500]).unwrap());
    for (stage, p) in STAGES.iter().flat_map(|s| s.spec().params.iter().map(|p| (s.spec().name, p))) {
        let Kind::Choice(listed) = p.kind else { continue };
        if p.name != "mode" {
            continue;
        }
        for mode in ["abs", "noa", "prel", "rel"] {
            match Encoder::new(&chain(&[(stage, &[("mode", mode)])]), &array, &Options::default()) {
                Ok(_) => assert!(listed.contains(&mode), "{stage} accepts {mode}"),
                Err(e) => {
                    let reason = matches!(&e, Error::Unsupported { what, .. } if what.contains("prel"));
                    assert!(reason && !listed.contains(&mode), "{stage} rejects {mode}: {e}");
                }
            }
        }
        tried += 1;
    }
    assert_eq!(tried, 5);
}

#[test]
fn unknown_parameters_are_named_with_those_that_exist() {
    for stage in STAGES {
        let spec = stage.spec();
        let mut args = Args::new(spec.name, spec.params);
        for refusal in
            [args.set_int("colour", 1), args.set_real("colour", 1.0), args.set_text("colour", "red")]
        {
            let text = refusal.unwrap_err().to_string();
            assert!(text.contains("colour") && text.contains(spec.name), "{text}");
            assert!(spec.params.iter().all(|p| text.contains(p.name)), "{text}");
        }
    }
}

/// A value at an end of its range works through a whole round trip, or is refused by name when the plan is
/// made. In compact frames, so that a block of 4 GiB does not pad an array to 4 GiB.
#[test]
fn the_ends_of_every_range_work_or_are_refused_by_name() {
    each(|stage, p, _| {
        let ends: Vec<String> = match p.kind {
            Kind::Real { low, open, high } => {
                vec![if open { low.next_up() } else { low }.to_string(), high.to_string()]
            }
            Kind::Int { low, high } => {
                // Where the very end is no multiple of anything, the largest power of two too.
                [low, high, high.min(1 << 31), high - 1].iter().map(i64::to_string).collect()
            }
            Kind::IntOf(list) => list.iter().map(i64::to_string).collect(),
            Kind::Flag => vec!["false".into(), "true".into()],
            Kind::Choice(words) => words.iter().map(|w| (*w).to_string()).collect(),
            Kind::Names { .. } => vec!["a".into(), "x".repeat(122)],
        };
        for end in ends {
            for dtype in [DType::U8, DType::I32, DType::F32, DType::F64] {
                one_end(stage, p.name, &end, dtype);
            }
        }
    });
}

fn one_end(stage: &str, param: &str, end: &str, dtype: DType) {
    let mut p = Pipeline::new();
    let node = p.add(stage).unwrap();
    p.args_mut(node).unwrap().set_text(param, end).unwrap();
    for content in [Content::Walk, Content::Specials] {
        let sample = samples::make(dtype, &[2500], content, 11);
        match every_way(&p, &sample, &options(Container::Compact, true)) {
            Ok((container, restored)) => {
                let lossless = fzgm::info(&container).unwrap().mode == "lossless";
                assert!(!lossless || restored == sample.bytes, "{stage}.{param} = {end} on {dtype}");
            }
            // The error names the value without room, not the parameter.
            Err(Error::InvalidArgument { what, .. }) if what == format!("an input element of {stage}") => {
                assert!(end != "32", "{stage}.{param} = {end} on {dtype}: {what}");
            }
            Err(Error::InvalidArgument { what, got, .. }) => {
                assert_eq!(what, format!("{stage}.{param}"), "{end} on {dtype}");
                let numeric = end.parse::<f64>().is_ok_and(|v| got.parse() == Ok(v));
                assert!(got.contains(end) || numeric, "{stage}.{param} = {end} on {dtype}: `{got}`");
            }
            Err(Error::Unsupported { stage: by, what }) => {
                assert!(by == stage && what.contains(end), "{stage}.{param} = {end} on {dtype}: {what}");
            }
            Err(Error::TypeMismatch { stage: by, .. }) => assert_eq!(by, stage),
            Err(e) => panic!("{stage}.{param} = {end} on {dtype}: {e}"),
        }
    }
}

/// Why a volume of f32 is not compressed.
fn refusal(stages: &[(&str, &[(&str, &str)])]) -> Option<String> {
    let array = Array::new(DType::F32, &[12, 11, 10]).unwrap();
    Encoder::new(&chain(stages), &array, &Options::default()).err().map(|e| e.to_string())
}

#[test]
fn parameters_that_the_mode_does_not_read_are_refused() {
    for (sets, name, says) in [
        (&[("manual_alpha", "2")][..], "manual_alpha is 2.0", "auto_tuning is 0"),
        (&[("manual_beta", "2"), ("auto_tuning", "4")], "manual_beta is 2.0", "needs auto_tuning=5"),
        (&[("md_levels", "7"), ("auto_tuning", "3")], "md_levels is 7", "auto_tuning=0 or 5"),
        (&[("reverse_levels", "0"), ("auto_tuning", "1")], "reverse_levels is 0", "auto_tuning is 1"),
        (&[("value_base", "5")], "value_base is 5.0", "noa or prel"),
    ] {
        let text = refusal(&[("ginterp", sets)]).unwrap();
        assert!(text.contains(&format!("ginterp.{name}")) && text.contains(says), "{text}");
    }
    let by_hand = [("auto_tuning", "5"), ("manual_alpha", "2"), ("manual_beta", "2"), ("md_levels", "7")];
    assert_eq!(refusal(&[("ginterp", &by_hand)]), None);
    assert_eq!(refusal(&[("ginterp", &[("value_base", "5"), ("mode", "noa")])]), None);
}

#[test]
fn elements_of_another_stage_are_whole_symbols() {
    let of =
        |code, told| refusal(&[("ginterp", &[("code_type", code)]), ("huffman", &[("input_type", told)])]);
    let text = of("u32", "u16").unwrap();
    assert!(text.contains("huffman.input_type is u16") && text.contains("ginterp.codes has u32"), "{text}");
    // Bytes of any elements are symbols, and so are halves of elements without symbols of their width.
    for (code, told) in [("u32", "u32"), ("u32", "auto"), ("u16", "u16"), ("u32", "u8"), ("u16", "u8")] {
        assert_eq!(of(code, told), None, "{code} as {told}");
    }
    // The array itself may be taken apart.
    let array = Array::new(DType::U32, &[100]).unwrap();
    let alone = chain(&[("huffman", &[("input_type", "u16")])]);
    assert!(Encoder::new(&alone, &array, &Options::default()).is_ok());
}

/// The advice for symbols of lorenzo_quant with these parameters, and maybe stage zigzag, to stage huffman.
fn advice(sets: &[(&str, &str)], mapped: bool) -> String {
    let sample = samples::make(DType::F32, &[12, 11, 10], Content::Walk, 3);
    let mut stages =
        vec![("lorenzo_quant", [&[("error_bound", "4e-3")], sets].concat()), ("huffman", vec![])];
    if mapped {
        stages.insert(1, ("zigzag", vec![]));
    }
    let stages: Vec<(&str, &[(&str, &str)])> = stages.iter().map(|(s, sets)| (*s, &sets[..])).collect();
    let refused = every_way(&chain(&stages), &sample, &options(Container::Compact, true)).err();
    let text = refused.map(|e| e.to_string()).unwrap_or_default();
    assert!(text.contains("an input element of huffman is"), "{text}");
    text.split_once("which is 1024").unwrap().1.into()
}

#[test]
fn symbols_without_a_code_are_refused_with_the_cause() {
    let (off, on, near) = (("zigzag_codes", "false"), ("zigzag_codes", "true"), ("quant_radius", "512"));
    let or = ", or huffman.bklen to 65536";
    for (sets, mapped, says) in [
        (&[off, near][..], false, "lorenzo_quant.zigzag_codes to true"),
        (&[on, near], true, "lorenzo_quant.zigzag_codes to false"),
        (&[off], false, "lorenzo_quant.zigzag_codes to true and lorenzo_quant.quant_radius to at most 512"),
        (&[on], false, "lorenzo_quant.quant_radius to at most 512"),
    ] {
        assert_eq!(advice(sets, mapped), format!("; set {says}{or}"));
    }
}

#[test]
fn symbols_without_a_code_are_refused_with_the_parameters_to_set() {
    let sample = samples::make(DType::F32, &[12, 11, 10], Content::Walk, 3);
    let p = chain(&[("ginterp", &[]), ("huffman", &[])]);
    let text = every_way(&p, &sample, &options(Container::Compact, true)).unwrap_err().to_string();
    for says in
        ["huffman.bklen, which is 1024", "huffman.bklen to 65536", "ginterp.quant_radius to at most 512"]
    {
        assert!(text.contains(says), "{text}");
    }
}
