//! Graphs of stages: random ones either are refused with a reason when they are planned or keep the contract,
//! in both containers; grown ones, all of which run, keep it too; ill-formed ones are refused by name; outlier lists grow when they
//! must.

mod generated;

use crate::common::corpus::{add, fan_out, outlier_lists};
use crate::common::oracle::{Bound, judge};
use crate::common::rng::Rng;
use crate::common::run::{both_containers, every_way, options};
use crate::common::samples::{self, CONTENTS, Content, Sample};
use fzgm::stages::STAGES;
use fzgm::{Array, Container, DType, Encoder, Error, Kind, MAX_STAGES, Options, Pipeline, Source};
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;

/// A graph from a seed: any stage behind any port of any other that came before, parameters from their lists.
fn random(rng: &mut Rng, dtype: DType) -> Pipeline {
    let mut p = Pipeline::new();
    let count = 1 + rng.below(8);
    for i in 0..count {
        // The quantizer takes floats only: elsewhere it would only be refused.
        let spec = loop {
            let spec = rng.pick(STAGES).spec();
            if !spec.name.contains("quant") || (dtype.is_float() && rng.below(3) > 0) {
                break spec;
            }
        };
        let quantizers = ["quantizer", "lorenzo_quant"];
        let first = i == 0 && dtype.is_float() && rng.below(2) == 0;
        let spec = if first { fzgm::stages::by_name(quantizers[rng.below(2)]).unwrap().spec() } else { spec };
        let node = p.add(spec.name).unwrap();
        parameters(&mut p, node, rng);
        let stage = STAGES.iter().find(|s| s.spec().name == spec.name).unwrap();
        for k in 0..stage.inputs(p.nodes()[node].args()).unwrap() {
            if i == 0 || rng.below(50) == 0 {
                break;
            }
            let producer = if rng.below(3) == 0 || k > 0 { rng.below(i) } else { i - 1 };
            let ports = STAGES.iter().find(|s| s.spec().name == p.nodes()[producer].stage()).unwrap();
            let port = *rng.pick(ports.outputs(p.nodes()[producer].args()).unwrap());
            p.connect(producer, port, node).unwrap();
        }
    }
    p
}

fn parameters(p: &mut Pipeline, node: usize, rng: &mut Rng) {
    let stage = p.nodes()[node].stage();
    let args = p.args_mut(node).unwrap();
    let params: Vec<_> = args.iter().map(|(param, _)| param).collect();
    for param in params {
        // Plain differences of floats round, so they have no guarantee for restored values.
        if stage == "difference" && param.name == "code" {
            args.set_text("code", if rng.below(2) == 0 { "negabinary" } else { "zigzag" }).unwrap();
            continue;
        }
        if rng.below(4) > 0
            || param.name == "value_base"
            || param.name.starts_with("dim_")
            // Fewer bits than an element has are for elements that are small.
            || param.name == "nbits"
            || (param.name == "input_type" && rng.below(4) > 0)
        {
            continue;
        }
        match param.kind {
            Kind::Choice(words) => args.set_text(param.name, words[rng.below(words.len())]).unwrap(),
            Kind::IntOf(list) => args.set_int(param.name, *rng.pick(list)).unwrap(),
            Kind::Flag => args.set_int(param.name, rng.below(2) as i64).unwrap(),
            Kind::Int { low, high } => {
                args.set_int(param.name, (1i64 << rng.below(17)).clamp(low, high)).unwrap()
            }
            Kind::Real { .. } => args.set_real(param.name, 2f64.powi(-(rng.below(20) as i32))).unwrap(),
            Kind::Names { .. } => args.set_text(param.name, if node > 0 { "a+b" } else { "a" }).unwrap(),
        }
    }
}

/// The quantizers of the graph: their bounds and thresholds. None: the graph is lossless.
fn quantizers(p: &Pipeline) -> Vec<(Bound, f64)> {
    let real = |args: &fzgm::Args, name: &str| {
        let text = args.iter().find(|(p, _)| p.name == name).unwrap().1.to_string();
        text.parse::<f64>().unwrap()
    };
    let mode = |args: &fzgm::Args| args.iter().find(|(p, _)| p.name == "mode").unwrap().1.to_string();
    let quantizers = p.nodes().iter().filter(|n| n.args().has("error_bound"));
    let one = |n: &fzgm::Node| {
        let eb = real(n.args(), "error_bound");
        (Bound::of(&mode(n.args()), eb), real(n.args(), "outlier_threshold"))
    };
    quantizers.map(one).collect()
}

/// True when every quantizer reads the array itself, maybe through stages that keep the bytes.
fn bounds_are_of_the_array(p: &Pipeline) -> bool {
    let reads_array = |mut i: usize| loop {
        match p.nodes()[i].inputs() {
            [] | [Source::Array] => return true,
            [Source::Port { node, .. }, ..] if p.nodes()[*node].stage() == "stored" => i = *node,
            _ => return false,
        }
    };
    p.nodes().iter().enumerate().all(|(i, n)| !n.args().has("error_bound") || reads_array(i))
}

/// Checks one graph; true when it was accepted.
fn holds(p: &Pipeline, sample: &Sample) -> bool {
    let mut accepted = false;
    for container in both_containers() {
        let options = options(container, true);
        let what = || format!("{} {container:?} {p:?}", sample.name);
        match Encoder::new(p, &sample.array, &options) {
            Err(Error::Internal(e)) => panic!("{}: {e}", what()),
            Err(e) => {
                let kinds = matches!(
                    e,
                    Error::InvalidPipeline(_)
                        | Error::TypeMismatch { .. }
                        | Error::InvalidArgument { .. }
                        | Error::Unsupported { .. }
                );
                assert!(kinds && e.to_string().len() > 20, "{}: {e}", what());
                continue;
            }
            Ok(_) => accepted = true,
        }
        let (_, restored) = match every_way(p, sample, &options) {
            Ok(done) => done,
            // The data has elements that a stage has no code for.
            Err(Error::InvalidArgument { what: element, .. }) if element.contains("an input element of") => {
                continue;
            }
            Err(e) => panic!("{}: {e}", what()),
        };
        let bounds = quantizers(p);
        if bounds.is_empty() {
            assert!(restored == sample.bytes, "{}: other bytes come back", what());
        } else if bounds_are_of_the_array(p) {
            // Which of several consumers of an edge gives it back is the planner's choice: any bound will do.
            let verdicts: Vec<_> = bounds
                .iter()
                .map(|&(b, t)| judge(sample.array.dtype(), &sample.bytes, &restored, b, t))
                .collect();
            assert!(verdicts.iter().any(Result::is_ok), "{}: {verdicts:?}", what());
        }
    }
    accepted
}

fn long() -> bool {
    std::env::var_os("FZGM_LONG").is_some()
}

#[test]
fn random_graphs_are_refused_or_keep_the_contract() {
    let (accepted, large, lossy) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let cases = match (long(), crate::common::gpu::device().is_some()) {
        (true, false) => 20_000,
        (false, false) | (true, true) => 1500,
        // The emulator of a GPU takes its time.
        (false, true) => 150,
    };
    let seeds = (proptest::num::u64::ANY, 0usize..10, 0usize..9, 0u64..6000);
    // About one graph in 20 is accepted and has four stages or more. 8 rounds make it certain that some are.
    for _ in 0..8 {
        let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
        let result = runner.run(&seeds, |(seed, dtype, content, n)| {
            let dtype = DType::ALL[dtype];
            let p = random(&mut Rng(seed), dtype);
            if holds(&p, &samples::make(dtype, &[n], CONTENTS[content], seed)) {
                accepted.set(accepted.get() + 1);
                large.set(large.get() + u32::from(p.nodes().len() >= 4));
                lossy.set(lossy.get() + u32::from(!quantizers(&p).is_empty()));
            }
            Ok(())
        });
        result.unwrap_or_else(|e| panic!("{e}"));
        if accepted.get() >= 20 && large.get() >= 5 && lossy.get() > 0 {
            break;
        }
    }
    let (accepted, large, lossy) = (accepted.get(), large.get(), lossy.get());
    println!("{accepted} graphs accepted, {large} of four stages or more, {lossy} with a quantizer");
    assert!(accepted >= 20 && large >= 5 && lossy > 0, "{accepted} {large} {lossy}");
}

/// Names and lengths of the streams are stored in the config, which must fit a file; each is a separate
/// stream.
#[test]
fn streams_are_merged_by_name() {
    let two = |names: &str, second: usize| {
        let mut p = Pipeline::new();
        let root = add(&mut p, "stored", &[]);
        let a = add(&mut p, "stored", &[]);
        let b = add(&mut p, "difference", &[]);
        let all = add(&mut p, "merge", &[("segments", names)]);
        for (from, to) in [(root, a), (root, b), (a, all), ([a, b][second], all)] {
            p.connect(from, "output", to).unwrap();
        }
        p
    };
    let array = Array::new(DType::U8, &[3]).unwrap();
    let p = two("vle+anchor", 1);
    let frame = fzgm::compress(&p, &array, &options(Container::Compact, true), &[1, 2, 4]).unwrap();
    let config = b"\x02\x03\0\0\0\x03\0\0\0\x03vle\x06anchor";
    assert!(frame.windows(config.len()).any(|w| w == config) && frame.ends_with(&[1, 2, 4, 1, 1, 2]));
    assert!(holds(&p, &samples::make(DType::U16, &[5000], CONTENTS[5], 1)));
    let text = p.to_toml().unwrap();
    assert!(text.contains("segments = [\"vle\", \"anchor\"]"), "{text}");
    assert_eq!(Pipeline::from_toml(&text).unwrap(), p);
    // 1 + 2 (4 + 1) bytes and the letters: 128 bytes, and one more.
    let long = |letters: usize| two(&format!("a+{}", "b".repeat(letters)), 1);
    assert!(Encoder::new(&long(116), &array, &options(Container::Compact, true)).is_ok());
    let e = Encoder::new(&long(117), &array, &options(Container::Compact, true)).map(|_| ()).unwrap_err();
    assert!(matches!(&e, Error::InvalidArgument { what, .. } if what == "merge.segments"), "{e}");
    assert!(e.to_string().contains("129") && e.to_string().contains("128"), "{e}");
    assert!(refusal(&two("a+b", 0)).contains("one port twice"));
    let text = refusal(&two("a+b+c", 1));
    assert!(text.contains("merge (stage 3) has one input for each name in merge.segments, which is `a+b+c`"));
    assert!(text.contains("names 3, connected inputs 2"), "{text}");
    // Names that are set too late, or taken away.
    let mut late = two("a+b", 1);
    let text = late.connect(0, "output", 3).unwrap_err().to_string();
    assert!(
        text.contains("for each name in merge.segments, which is `a+b`, and all are connected"),
        "{text}"
    );
    late.args_mut(3).unwrap().set_text("segments", "a").unwrap();
    assert!(refusal(&late).contains("names 1, connected inputs 2"));
    let mut alone = Pipeline::new();
    let node = alone.add("merge").unwrap();
    for bad in ["", "a+", "a b", "a,b", "a+b+c+d+e+f+g+h+i"] {
        let e = alone.args_mut(node).unwrap().set_text("segments", bad).unwrap_err();
        assert!(e.to_string().contains("merge.segments"), "{e}");
    }
}

#[test]
fn graphs_of_every_kind_hold() {
    for content in CONTENTS {
        for n in [0, 1, 1000, 9000] {
            for dtype in [DType::F32, DType::F64] {
                assert!(holds(&outlier_lists(), &samples::make(dtype, &[n], content, 5)));
            }
            for dtype in DType::ALL {
                assert!(holds(&fan_out(), &samples::make(dtype, &[n], content, 5)));
            }
        }
    }
}

/// Stages of every width after ports whose length is only known at run time, with one thread and three.
#[test]
fn stages_behind_ports_of_unknown_length() {
    for (stage, sets) in [
        ("difference", &[("code", "zigzag")][..]),
        ("difference", &[("code", "negabinary"), ("chunk_size", "4096")]),
        ("difference", &[("code", "negabinary"), ("chunk_size", "65536")]),
        ("zigzag", &[("byte_transparent", "true"), ("input_type", "i16")]),
        ("bitshuffle", &[]),
        ("bitshuffle", &[("block_size", "65536")]),
        ("bitshuffle", &[("element_width", "1"), ("block_size", "1024")]),
        ("stored", &[]),
        ("rze", &[("word_size", "8")]),
        ("rre", &[("word_size", "4"), ("chunk_size", "16384")]),
        ("merge", &[]),
        ("lorenzo", &[]),
        ("lorenzo", &[("block_size", "1000"), ("centering", "true")]),
        ("rle", &[]),
        ("rle", &[("chunk_size", "4096")]),
        ("bitpack", &[]),
        ("bitpack", &[("auto_detect", "true")]),
    ] {
        let integers = ["lorenzo", "rle", "bitpack"].contains(&stage);
        let mut behind_rze = Pipeline::new();
        let first = add(&mut behind_rze, "rze", &[]);
        let second = add(&mut behind_rze, stage, sets);
        let third = add(&mut behind_rze, "rze", &[]);
        behind_rze.connect(first, "output", second).unwrap();
        behind_rze.connect(second, "output", third).unwrap();
        let mut behind_lists = Pipeline::new();
        let q = add(&mut behind_lists, "quantizer", &[("error_bound", "1e-6")]);
        for port in ["outlier_vals", "outlier_idxs"] {
            let a = add(&mut behind_lists, stage, sets);
            let b = add(&mut behind_lists, stage, sets);
            behind_lists.connect(q, port, a).unwrap();
            behind_lists.connect(a, "output", b).unwrap();
        }
        for content in CONTENTS {
            // Threads share the largest array, which is long in the first stream, or short.
            let shared = matches!(content, Content::Random | Content::Sparse);
            let sizes = if shared || long() { &[0, 1, 4100, 140_001][..] } else { &[0, 1, 4100] };
            for &n in sizes {
                assert!(holds(&behind_rze, &samples::make(DType::U32, &[n], content, 6)), "{stage} {sets:?}");
                holds(&behind_lists, &samples::make(DType::F32, &[n], content, 6));
            }
        }
        let lists = holds(&behind_lists, &samples::make(DType::F32, &[31], CONTENTS[5], 6));
        assert!(lists != integers, "{stage} {sets:?}");
    }
}

#[test]
fn outlier_lists_grow_when_they_must() {
    for capacity in ["0", "1e-6", "0.01", "0.5", "0.99", "1"] {
        for (n, content) in [(1, 7), (31, 7), (5000, 7), (5000, 4), (4097, 8), (16385, 5)] {
            for dtype in [DType::F32, DType::F64] {
                let mut p = outlier_lists();
                p.set_everywhere("outlier_capacity", |a| a.set_text("outlier_capacity", capacity)).unwrap();
                let sample = samples::make(dtype, &[n], CONTENTS[content], 1);
                assert!(holds(&p, &sample), "{capacity} {}", sample.name);
                // With the fallback, the promise of the longest container holds too.
                for container in both_containers() {
                    let stored = Options { store_incompressible: true, ..options(container, true) };
                    every_way(&p, &sample, &stored).unwrap();
                }
            }
        }
    }
}

fn refusal(p: &Pipeline) -> String {
    let array = Array::new(DType::U32, &[100]).unwrap();
    match Encoder::new(p, &array, &Options::default()) {
        Err(e @ Error::InvalidPipeline(_)) => e.to_string(),
        other => panic!("{:?} for {p:?}", other.err()),
    }
}

#[test]
fn invalid_pipelines_are_refused_by_name() {
    assert!(refusal(&Pipeline::new()).contains("no stage"));

    let mut cycle = Pipeline::new();
    let (a, b, c) =
        (add(&mut cycle, "stored", &[]), add(&mut cycle, "rze", &[]), add(&mut cycle, "difference", &[]));
    cycle.connect(b, "output", c).unwrap();
    cycle.connect(c, "output", b).unwrap();
    let text = refusal(&cycle);
    assert!(text.contains("cycle: difference (stage 2) > rze (stage 1) > difference (stage 2);"), "{text}");
    let mut own = Pipeline::new();
    add(&mut own, "rze", &[]);
    own.connect(0, "output", 0).unwrap();
    let text = refusal(&own);
    assert!(
        text.contains("no stage reads the array") && text.contains("cycle: rze (stage 0) > rze (stage 0);")
    );

    // A stage behind a cycle is not part of it.
    let mut behind = Pipeline::new();
    for stage in ["rze", "difference", "bitshuffle", "stored"] {
        add(&mut behind, stage, &[]);
    }
    behind.connect(1, "output", 0).unwrap();
    behind.connect(2, "output", 1).unwrap();
    behind.connect(1, "output", 2).unwrap();
    let text = refusal(&behind);
    assert!(
        text.contains("cycle: bitshuffle (stage 2) > difference (stage 1) > bitshuffle (stage 2);"),
        "{text}"
    );

    let mut two = Pipeline::new();
    add(&mut two, "rze", &[]);
    add(&mut two, "bitshuffle", &[]);
    let text = refusal(&two);
    assert!(text.contains("rze (stage 0), bitshuffle (stage 1) all read the array"), "{text}");

    // A second source for the one input, a port that is not there, stages that are not there.
    let full = cycle.connect(a, "output", c).unwrap_err();
    assert!(matches!(&full, Error::InvalidPipeline(t) if t.contains("difference (stage 2)")), "{full}");
    let port = two.connect(0, "codes", 1).unwrap_err().to_string();
    assert!(port.contains("codes") && port.contains("rze") && port.contains("output"), "{port}");
    for bad in [two.connect(9, "output", 0), two.connect(0, "output", 9), two.args_mut(9).map(|_| ())] {
        let text = bad.unwrap_err().to_string();
        assert!(text.contains("9") && text.contains("2 stages"), "{text}");
    }
    let stage = two.add("huffmann").unwrap_err().to_string();
    assert!(stage.contains("huffmann") && STAGES.iter().all(|s| stage.contains(s.spec().name)), "{stage}");
}

/// A stage with a bound behind a stage whose output is no array of floats either.
#[test]
fn a_bound_that_is_not_of_the_array_is_refused_in_these_words() {
    let array = Array::new(DType::F32, &[4096]).unwrap();
    for (first, port, second) in [
        ("difference", "output", "quantizer"),
        ("rze", "output", "quantizer"),
        ("rze", "output", "fast"),
        ("lorenzo_quant", "codes", "lorenzo_quant"),
        ("lorenzo_quant", "outlier_errors", "ginterp"),
    ] {
        let mut p = Pipeline::new();
        let (a, b) = (add(&mut p, first, &[]), add(&mut p, second, &[]));
        p.connect(a, port, b).unwrap();
        let text = match Encoder::new(&p, &array, &Options::default()).err() {
            Some(Error::InvalidPipeline(text)) => text,
            other => panic!("{first}.{port} > {second}: {other:?}"),
        };
        assert!(text.contains(&format!("the bound of {second} (stage 1)")), "{text}");
        assert!(text.contains("a stage with a bound must read the array"), "{text}");
    }
}

/// A port that the parameters took away after it was connected.
#[test]
fn a_port_that_is_gone_is_refused() {
    let mut p = Pipeline::new();
    let q = add(&mut p, "quantizer", &[]);
    let r = add(&mut p, "rze", &[]);
    p.connect(q, "outlier_idxs", r).unwrap();
    p.args_mut(q).unwrap().set_int("inplace_outliers", 1).unwrap();
    let array = Array::new(DType::F32, &[100]).unwrap();
    let e = Encoder::new(&p, &array, &Options::default()).err();
    assert!(matches!(&e, Some(Error::InvalidPipeline(t)) if t.contains("rze")), "{e:?}");
}

#[test]
fn as_many_stages_as_a_container_lists_and_no_more() {
    let mut p = Pipeline::new();
    for i in 0..MAX_STAGES {
        let stage = if i % 2 == 0 { "difference" } else { "zigzag" };
        let node = add(&mut p, stage, &[]);
        if i > 0 {
            p.connect(i - 1, "output", node).unwrap();
        }
    }
    assert!(matches!(p.add("rze"), Err(Error::InvalidPipeline(_))));
    assert!(holds(&p, &samples::make(DType::I32, &[3000], CONTENTS[5], 2)));
    // All of them such that they could be chained into one step.
    for last in ["rze", "negabinary"] {
        let mut p = Pipeline::new();
        for i in 0..MAX_STAGES {
            let stage = if i + 1 == MAX_STAGES { last } else { "zigzag" };
            let node = add(&mut p, stage, &[]);
            if i > 0 {
                p.connect(i - 1, "output", node).unwrap();
            }
        }
        assert!(holds(&p, &samples::make(DType::I32, &[9000], CONTENTS[5], 2)));
    }
}
