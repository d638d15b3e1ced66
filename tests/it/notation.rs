//! Pipelines as TOML and as text: a written pipeline is read back as an equal pipeline; any text results in a
//! pipeline or a reason; the reference's preset files are read or rejected by name.

use crate::common::corpus::add;
use crate::common::rng::Rng;
use crate::common::samples::{self, Content};
use fzgm::stages::STAGES;
use fzgm::{
    Args, Array, DType, Encoder, Error, Generation, Kind, Options, PRESETS, Pipeline, Status, compress,
    preset,
};
use proptest::test_runner::{Config, TestRunner};
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Any value that the parameters take, the ends of their ranges more often.
fn anything(args: &mut Args, rng: &mut Rng) {
    let params: Vec<_> = args.iter().map(|(p, _)| p).collect();
    for param in params {
        if rng.below(2) == 0 {
            continue;
        }
        let name = param.name;
        match param.kind {
            Kind::Choice(words) => args.set_text(name, words[rng.below(words.len())]).unwrap(),
            Kind::IntOf(list) => args.set_int(name, *rng.pick(list)).unwrap(),
            Kind::Flag => args.set_int(name, rng.below(2) as i64).unwrap(),
            Kind::Names { .. } => {
                args.set_text(name, ["a", "vle+outlier_idxs", "a-1+b.2+c"][rng.below(3)]).unwrap()
            }
            Kind::Int { low, high } => {
                let any = (rng.word() % (high - low) as u64) as i64 + low;
                args.set_int(name, *rng.pick(&[low, high, any])).unwrap();
            }
            Kind::Real { low, high, .. } => {
                let any = f64::from_bits(rng.word()).abs();
                for x in [*rng.pick(&[low.max(f64::MIN_POSITIVE), high, any, 1e-3, 1e16]), 0.5] {
                    if args.set_real(name, x).is_ok() {
                        break;
                    }
                }
            }
        }
    }
}

/// Stages in a row, or with `graph` behind any port of any other.
fn pipeline(rng: &mut Rng, graph: bool) -> Pipeline {
    let mut p = Pipeline::new();
    for i in 0..1 + rng.below(6) {
        let node = p.add(rng.pick(STAGES).spec().name).unwrap();
        anything(p.args_mut(node).unwrap(), rng);
        if i == 0 || (graph && rng.below(5) == 0) {
            continue;
        }
        let producer = if graph { rng.below(i) } else { i - 1 };
        let from = &p.nodes()[producer];
        let stage = STAGES.iter().find(|s| s.spec().name == from.stage()).unwrap();
        let port = *rng.pick(stage.outputs(from.args()).unwrap());
        p.connect(producer, port, node).unwrap();
    }
    p
}

fn cases() -> u32 {
    if std::env::var("FZGM_LONG").is_ok() { 200_000 } else { 3000 }
}

fn run<S: proptest::strategy::Strategy>(seeds: S, test: impl Fn(S::Value)) {
    let mut runner =
        TestRunner::new(Config { cases: cases(), failure_persistence: None, ..Config::default() });
    let result = runner.run(&seeds, |seed| {
        test(seed);
        Ok(())
    });
    result.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn written_pipelines_are_read_back() {
    run(proptest::num::u64::ANY, |seed| {
        let rng = &mut Rng(seed);
        let graph = pipeline(rng, true);
        let toml = graph.to_toml().unwrap();
        let read = Pipeline::from_toml(&toml).unwrap_or_else(|e| panic!("{e}\n{toml}"));
        assert!(read == graph, "{toml}\n{read:?}\n{graph:?}");
        assert_eq!(read.to_toml().unwrap(), toml);
        match graph.to_text() {
            Ok(text) => assert_eq!(Pipeline::from_text(&text).unwrap().to_text().unwrap(), text),
            Err(e) => assert!(e.to_string().contains("not a chain"), "{e}"),
        }
        let chain = pipeline(rng, false);
        let text = chain.to_text().unwrap_or_else(|e| panic!("{e}: {chain:?}"));
        let read = Pipeline::from_text(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert!(read == chain, "{text}\n{read:?}\n{chain:?}");
        assert!(Pipeline::from_toml(&chain.to_toml().unwrap()).unwrap() == chain, "{text}");
    });
}

/// The text is read or there is a reason; a pipeline that is read can be written and is then equal.
fn holds(text: &str) {
    if let Ok(p) = Pipeline::from_toml(text) {
        assert!(Pipeline::from_toml(&p.to_toml().unwrap()).unwrap() == p, "{text}");
    }
    if let Ok(p) = Pipeline::from_text(text) {
        assert!(Pipeline::from_text(&p.to_text().unwrap()).unwrap() == p, "{text}");
    }
}

#[test]
fn any_text_is_read_or_refused() {
    run(proptest::string::string_regex("\\PC{0,60}").unwrap(), |text| holds(&text));
    run(proptest::string::string_regex("[a-z_(){}=,.>\"\\[\\]\n 0-9eb#+-]{0,80}").unwrap(), |text| {
        holds(&text)
    });
}

/// Files that are nearly right: bytes replaced, dropped and repeated.
#[test]
fn damaged_files_are_read_or_refused() {
    let mut files: Vec<String> =
        reference_files().into_iter().map(|f| std::fs::read_to_string(f).unwrap()).collect();
    files.extend(PRESETS.iter().map(|p| p.toml(DType::F32).unwrap().into()));
    files.push("lorenzo_quant(eb=1e-3,mode=noa) > bitshuffle(width=2) > rze(word=4)".into());
    files.push("quantizer(radius=0,code_type=u16).outlier_idxs > zigzag > stored".into());
    run(proptest::num::u64::ANY, |seed| {
        let rng = &mut Rng(seed);
        let mut bytes = rng.pick(&files).clone().into_bytes();
        for _ in 0..1 + rng.below(3) {
            if bytes.is_empty() {
                break;
            }
            let (at, to) = (rng.below(bytes.len()), rng.below(bytes.len()));
            match rng.below(4) {
                0 => bytes[at] = b" \n\"[]{}=,.>()#0a_-"[rng.below(18)],
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, bytes[to]),
                _ => bytes.truncate(at.max(1)),
            }
        }
        holds(&String::from_utf8_lossy(&bytes));
    });
}

#[test]
fn deep_and_long_texts_are_refused() {
    for text in ["[".repeat(100_000), "a=[".repeat(50_000), "rze > ".repeat(50_000), "(".repeat(100_000)] {
        assert!(Pipeline::from_toml(&text).is_err() && Pipeline::from_text(&text).is_err());
    }
    let deep = format!("x = 1\ny = {}", "[".repeat(33));
    let told = Pipeline::from_toml(&deep).unwrap_err().to_string();
    assert!(told.contains("line 2") && told.contains("more than 32 brackets are open"), "{told}");
    // Where brackets are text they nest nothing.
    let open = "[".repeat(40);
    for text in [
        format!("# {open}\n{RZE}"),
        RZE.replace("\"z\"", &format!("'{open}'")),
        RZE.replace("\"z\"", &format!("\"{open}\"")),
    ] {
        assert!(Pipeline::from_toml(&text).is_ok(), "{text}: {:?}", Pipeline::from_toml(&text).err());
    }
    let long = "x".repeat(1 << 20);
    for text in [format!("[[stage]]\nname = \"a\"\ntype = \"rze\"\n{long} = 1"), long.clone()] {
        for e in [Pipeline::from_toml(&text).unwrap_err(), Pipeline::from_text(&text).unwrap_err()] {
            assert!(e.to_string().len() < 1000, "{} bytes of text", e.to_string().len());
        }
    }
}

/// Text of an untrusted pipeline does not reach the terminal through an error message.
#[test]
fn refusals_are_short_and_hold_no_control_characters() {
    let bad = format!("\\u001b[2J{}", "n".repeat(100_000));
    let named = QUANT.replace("\"q\"", &format!("\"{bad}\""));
    for text in [
        RZE.replace("RZE", &bad),
        format!("\"{bad}\" = 1"),
        format!("{QUANT}mode = \"{bad}\""),
        format!("{QUANT}code_type = \"{bad}\""),
        format!("{QUANT}error_bound = \"{bad}\""),
        format!("{QUANT}\"{bad}\" = 1"),
        format!("{QUANT}inputs = [{{ from = \"{bad}\" }}]"),
        format!("{named}inputs = [{{ from = \"x\" }}]"),
        format!("{named}{RZE}inputs = [{{ from = \"{bad}\", port = \"codes\" }}]"),
        format!("{named}{RZE}inputs = [{{ from = \"{bad}\", port = \"{bad}\" }}]"),
        format!("[pipeline]\nprimary_source = \"{bad}\"\n{RZE}"),
        format!("{named}{named}"),
    ] {
        let e = Pipeline::from_toml(&text).err().map(|e| e.to_string());
        assert!(e.as_ref().is_none_or(|e| e.len() < 1000 && !e.contains(char::is_control)), "{e:?}");
    }
    let e = Pipeline::from_text("rze(\u{1b}[2J)").unwrap_err().to_string();
    assert!(!e.contains(char::is_control), "{e:?}");
}

/// Why an array of f32 is not compressed with a pipeline in TOML.
fn refusal(toml: &str) -> Error {
    let array = Array::new(DType::F32, &[4096]).unwrap();
    Encoder::new(&Pipeline::from_toml(toml).unwrap(), &array, &Options::default()).map(|_| ()).unwrap_err()
}

#[test]
fn errors_of_a_graph_name_the_stages_of_the_file() {
    use Status::{InvalidArgument, InvalidPipeline, TypeMismatch};
    let stage = |name: &str, kind: &str, keys: &str| {
        format!("[[stage]]\nname = \"{name}\"\ntype = \"{kind}\"\n{keys}\n")
    };
    let after = |name: &str, kind: &str, keys: &str, from: &str| {
        stage(name, kind, &format!("{keys}\ninputs = [{{ from = \"{from}\" }}]"))
    };
    let root = stage("root", "stored", "");
    for (text, status, words) in [
        (
            root.clone() + &stage("free", "rze", ""),
            InvalidPipeline,
            "stored (stage 0, `root`), rze (stage 1, `free`) all read the array",
        ),
        (
            root.clone() + &after("a", "rze", "", "b") + &after("b", "rze", "", "a"),
            InvalidPipeline,
            "cycle: rze (stage 2, `b`) > rze (stage 1, `a`) > rze (stage 2, `b`)",
        ),
        (
            root.clone() + &after("steps", "difference", "chunk_size = 10000", "root"),
            InvalidArgument,
            "stage 1, `steps`: difference.chunk_size is 10000",
        ),
        (
            root.clone() + &after("signs", "zigzag", "input_type = \"i16\"", "root"),
            TypeMismatch,
            "stage 1, `signs`: zigzag.input does not support f32; supported: elements of 2 bytes, the width of its input_type i16",
        ),
        (
            root.clone() + &after("signs", "zigzag", "input_type = \"i32\"", "root"),
            TypeMismatch,
            "stage 1, `signs`: zigzag.input does not support f32; supported: integers of the width of its input_type i32; any bytes with byte_transparent",
        ),
        // Names that are the type need no mention.
        (
            after("difference", "difference", "chunk_size = 10000", "root") + &root,
            InvalidArgument,
            "difference.chunk_size is 10000",
        ),
    ] {
        let e = refusal(&text);
        assert_eq!(e.status(), status, "{e}");
        let named = e.to_string().contains(words);
        assert!(named && (words.contains('`') || !e.to_string().contains("stage")), "`{e}`, not `{words}`");
    }
    // Stages without names have numbers if several have the type.
    let mut p = Pipeline::from_text("stored > difference > rze > difference").unwrap();
    p.args_mut(3).unwrap().set_int("chunk_size", 10000).unwrap();
    let array = Array::new(DType::F32, &[4096]).unwrap();
    let e = Encoder::new(&p, &array, &Options::default()).map(|_| ()).unwrap_err();
    assert!(e.to_string().starts_with("stage 3: difference.chunk_size is 10000"), "{e}");
}

#[test]
fn pipelines_that_differ_only_in_names_are_equal() {
    let named = |name: &str| Pipeline::from_toml(&QUANT.replace("\"q\"", &format!("\"{name}\""))).unwrap();
    assert_eq!(named("q"), named("codes"));
    assert_eq!(named("q").to_toml().unwrap(), named("codes").to_toml().unwrap());
}

/// The text of a refusal has all of these.
fn refused(result: Result<Pipeline, Error>, status: Status, words: &[&str]) {
    let e = result.unwrap_err();
    assert_eq!(e.status(), status, "{e}");
    for word in words {
        assert!(e.to_string().contains(word), "`{e}` does not say {word}");
    }
}

const QUANT: &str = "[[stage]]\nname = \"q\"\ntype = \"Quantizer\"\n";
const RZE: &str = "[[stage]]\nname = \"z\"\ntype = \"RZE\"\n";

#[test]
fn files_are_refused_by_line_and_remedy() {
    use Status::{InvalidPipeline, UnknownName, Unsupported};
    for (text, status, words) in [
        ("", InvalidPipeline, &["no [[stage]]"][..]),
        ("x = ", InvalidPipeline, &["line 1", "not TOML"]),
        ("\n[pipelines]\n", UnknownName, &["line 2", "`pipelines`", "nearest is `pipeline`"]),
        ("[stage]\nname = \"q\"", InvalidPipeline, &["[[stage]]"]),
        ("\n [stage]\nname = \"q\"\n[stage]\nname = \"r\"", InvalidPipeline, &["line 2", "[[stage]]"]),
        ("[stage]\nname = \"q\"\n[[stage]]\nname = \"r\"", InvalidPipeline, &["line 1", "[[stage]]"]),
        ("[[stage]]\nname = \"q\"\n[stage]\nname = \"r\"", InvalidPipeline, &["line 3", "[[stage]]"]),
        ("[stage]\nname = \"q\"\nname = \"r\"", InvalidPipeline, &["line 3", "duplicate key"]),
        ("stage = [1]", InvalidPipeline, &["[[stage]]"]),
        ("[[stage]]\ntype = \"RZE\"", InvalidPipeline, &["line 1", "requires name"]),
        ("[[stage]]\nname = \"z\"", InvalidPipeline, &["requires type"]),
        ("[[stage]]\nname = \"z\"\ntype = \"rzee\"", UnknownName, &["`rzee`", "nearest is `rze`", "line 3"]),
        ("[[stage]]\nname = \"z\"\ntype = \"SZx\"", Unsupported, &["SZx", "does not support"]),
        ("[[stage]]\nname = \"__external__\"\ntype = \"RZE\"", InvalidPipeline, &["another name"]),
    ] {
        refused(Pipeline::from_toml(text), status, words);
    }
}

#[test]
fn keys_of_stages_are_refused_by_line_key_and_remedy() {
    use Status::{InvalidArgument, InvalidPipeline, UnknownName, Unsupported};
    for (line, status, words) in [
        (
            "eror_bound = 1",
            UnknownName,
            &["line 4", "`eror_bound` of quantizer", "nearest is `error_bound`"][..],
        ),
        ("input_port = \"codes\"", UnknownName, &["`input_port`", "nearest is `inputs`"]),
        (
            "error_bound = \"1e-3\"",
            InvalidArgument,
            &["line 4", "quantizer.error_bound", "\"1e-3\"", "a finite number"],
        ),
        ("error_bound = -1", InvalidArgument, &["quantizer.error_bound", "-1"]),
        ("error_bound = nan", InvalidArgument, &["NaN"]),
        ("error_bound = 1e999", InvalidArgument, &["beyond a double"]),
        ("quant_radius = 1.0", InvalidArgument, &["quantizer.quant_radius", "1.0", "whole number"]),
        ("quant_radius = 99999999999999999999", InvalidArgument, &["beyond 64 bits"]),
        ("zigzag_codes = 1", InvalidArgument, &["true or false"]),
        ("error_bound_mode = \"PSNR\"", InvalidArgument, &["`PSNR`", "noa"]),
        ("error_bound_mode = 2", InvalidArgument, &["error_bound_mode", "a word"]),
        (
            "mode = \"abs\"\nerror_bound_mode = \"ABS\"",
            InvalidPipeline,
            &["mode and error_bound_mode", "one of them"],
        ),
        ("code_type = \"float32\"", InvalidArgument, &["code_type", "u16"]),
        ("input_type = 2020-01-01", InvalidArgument, &["a date"]),
        ("linear_mode = true", Unsupported, &["linear_mode", "remove it, or set it to false"]),
        ("dither_strength = 2", Unsupported, &["dither_strength", "1.0"]),
        ("inputs = 1", InvalidPipeline, &["line 4", "from"]),
        ("inputs = [1]", InvalidPipeline, &["from"]),
        ("inputs = [{ port = \"codes\" }]", InvalidPipeline, &["from"]),
        ("inputs = [{ from = 1 }]", InvalidPipeline, &["from"]),
        ("inputs = [{ from = \"p\" }]", UnknownName, &["`p`", "q"]),
        ("inputs = [{ from = \"q\", prt = \"codes\" }]", UnknownName, &["`prt`", "nearest is `port`"]),
        ("inputs = [{ from = \"q\" }]", UnknownName, &["`output` of quantizer", "codes"]),
        (
            "inputs = [{ from = \"__external__\" }, { from = \"__external__\" }]",
            InvalidPipeline,
            &["all its inputs"],
        ),
    ] {
        refused(Pipeline::from_toml(&format!("{QUANT}{line}\n")), status, words);
    }
    refused(
        Pipeline::from_toml(&format!("{QUANT}{QUANT}")),
        InvalidPipeline,
        &["line 4", "two stages", "`q`"],
    );
    refused(Pipeline::from_toml(&RZE.replace("RZE\"", "RZE\"\nlevels = 3")), Unsupported, &["levels", "4"]);
}

#[test]
fn keys_of_the_header_and_types_are_refused_by_line_key_and_remedy() {
    use Status::{InvalidArgument, InvalidPipeline, UnknownName};
    for (line, status, words) in [
        ("strict = 0", InvalidArgument, &["line 2", "pipeline.strict", "true or false"][..]),
        ("generation = \"2025\"", InvalidArgument, &["pipeline.generation", "2026-05"]),
        ("memory_strategy = \"MAXIMAL\"", InvalidArgument, &["MINIMAL"]),
        ("dims = [1, 2, 3, 4]", InvalidArgument, &["1 to 3"]),
        ("dims = [1.5]", InvalidArgument, &["1 to 3"]),
        ("input_size = -1", InvalidArgument, &["from 0"]),
        ("coloring = 1", InvalidArgument, &["true or false"]),
        ("pool_multiplier = \"3\"", InvalidArgument, &["a number"]),
        ("primary_source = \"nobody\"", InvalidArgument, &["nobody", "reads the array"]),
        ("stric = true", UnknownName, &["`stric`", "nearest is `strict`"]),
    ] {
        refused(Pipeline::from_toml(&format!("[pipeline]\n{line}\n{QUANT}")), status, words);
    }
    for (lines, words) in [
        (
            "output_type = \"uint16\"\ninput_type = \"int32\"",
            &["difference.output_type", "\"uint16\"", "i32"][..],
        ),
        ("output_type = \"uint32\"", &["difference.output_type", "f32"]),
        ("fusion_mode = \"zigzag\"", &["difference.fusion_mode", "output_type"]),
        (
            "fusion_mode = \"gray\"\ninput_type = \"int32\"\noutput_type = \"uint32\"",
            &["\"gray\"", "negabinary or zigzag"],
        ),
        ("fusion_mode = 1", &["difference.fusion_mode", "a word"]),
    ] {
        let text = format!("[[stage]]\nname = \"d\"\ntype = \"Difference\"\n{lines}\n");
        refused(Pipeline::from_toml(&text), InvalidArgument, words);
    }
    let both =
        "[[stage]]\nname = \"d\"\ntype = \"Difference\"\ncode = \"plain\"\noutput_type = \"float32\"\n";
    refused(Pipeline::from_toml(both), InvalidPipeline, &["code", "one of them"]);
    for (names, got) in [
        ("\"a+b\"", "\"a+b\""),
        ("[\"a+b\"]", "\"a+b\""),
        ("[\"\"]", "\"\""),
        ("[]", "\"\""),
        ("[\"a\", 1]", "an array;"),
        ("[\"a b\"]", "\"a b\""),
        ("[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]", "9\""),
    ] {
        let text = format!("[[stage]]\nname = \"m\"\ntype = \"Merge\"\nsegments = {names}\n");
        let words = ["merge.segments", got, "an array of 1 to 8 texts of letters"];
        refused(Pipeline::from_toml(&text), InvalidArgument, &words);
    }
}

#[test]
fn chains_are_refused_by_column_and_remedy() {
    use Status::{InvalidArgument, InvalidPipeline, UnknownName, Unsupported};
    for (text, status, words) in [
        ("", InvalidPipeline, &["column 1", "a stage", "the end"][..]),
        ("rze >", InvalidPipeline, &["column 6", "a stage"]),
        ("rze(", InvalidPipeline, &["column 5", "a parameter"]),
        ("rze(chunk", InvalidPipeline, &["column 10", "`=`"]),
        ("rze(chunk=)", InvalidPipeline, &["column 11", "a value", "`)`"]),
        ("rze(chunk=4096", InvalidPipeline, &["column 15", "`,` or `)`"]),
        ("rze rze", InvalidPipeline, &["column 5", "`>` or the end", "`r`"]),
        ("é", InvalidPipeline, &["column 1", "`é`"]),
        ("rze(word=3)", InvalidArgument, &["column 5", "rze.word_size", "3"]),
        ("rze(wrd=4)", UnknownName, &["column 5", "`wrd`", "nearest is `word`"]),
        ("rze(eb=4)", UnknownName, &["`eb`"]),
        ("quantizer(eb=1,error_bound=1)", InvalidPipeline, &["column 16", "twice"]),
        ("stored > szx", Unsupported, &["column 10", "SZx", "does not support"]),
        ("stored > bitshufle", UnknownName, &["column 10", "nearest is `bitshuffle`"]),
        ("quantizer.outliers > rze", UnknownName, &["column 11", "outlier_vals"]),
        ("rze.output", InvalidPipeline, &["column 5", "last stage"]),
    ] {
        refused(Pipeline::from_text(text), status, words);
    }
    let many = vec!["stored"; 33].join(" > ");
    refused(Pipeline::from_text(&many), InvalidPipeline, &["32 stages"]);
    assert!(Pipeline::from_text(" rze ( ) > RZE( chunk = 4096 , word=2 ) > LorenzoQuant(eb=2) ").is_ok());
}

#[test]
fn pipelines_that_are_no_chain_have_no_text() {
    let mut fork = Pipeline::new();
    let quantizer = add(&mut fork, "quantizer", &[]);
    for port in ["codes", "outlier_vals"] {
        let rze = add(&mut fork, "rze", &[]);
        fork.connect(quantizer, port, rze).unwrap();
    }
    let mut twice = Pipeline::new();
    add(&mut twice, "rze", &[]);
    add(&mut twice, "rze", &[]);
    for p in [&fork, &twice, &Pipeline::new()] {
        assert!(p.to_text().unwrap_err().to_string().contains("not a chain"));
    }
    assert_eq!(Pipeline::from_toml(&fork.to_toml().unwrap()).unwrap(), fork);
    assert!(Pipeline::new().to_toml().unwrap_err().to_string().contains("no stage"));
}

fn reference_files() -> Vec<PathBuf> {
    let dir = std::fs::read_dir(root().join("tests/notation")).unwrap();
    let mut files: Vec<PathBuf> =
        dir.map(|f| f.unwrap().path()).filter(|f| f.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files
}

#[test]
fn presets_of_the_reference_are_read_or_refused_by_name() {
    let verdict = |name: &str| match name {
        "pfpl" | "cusz" | "lorenzo_bitpack" | "cusz_hi_cr" | "cusz_hi_tp" => None,
        "quantizer_lorenzo_bitpack" => Some(("nbits is 12", "expected one of")),
        "speed" => Some(("input_port", "nearest is `inputs`")),
        "fzgpu" => Some(("BitplaneRLE", "does not support this stage")),
        "cuszp3" => Some(("linear_mode", "not supported by this version")),
        "sperr_gpu" => Some(("CDF97", "does not support this stage")),
        other => panic!("nothing is known of {other}"),
    };
    for file in reference_files() {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let read = Pipeline::from_toml(&std::fs::read_to_string(&file).unwrap());
        match verdict(&name) {
            None => drop(read.unwrap_or_else(|e| panic!("{name}: {e}"))),
            Some((what, why)) => {
                let e = read.unwrap_err().to_string();
                assert!(e.contains(what) && e.contains(why) && e.contains("line "), "{name}: {e}");
            }
        }
    }
    let text = std::fs::read_to_string(root().join("tests/notation/pfpl.toml")).unwrap();
    let chain = "quantizer(input_type=f32,eb=1e-3,mode=rel,capacity=0.1) > \
                 difference(input_type=i32,code=negabinary,chunk=16384) > bitshuffle(width=2) > rze";
    assert_eq!(Pipeline::from_toml(&text).unwrap(), Pipeline::from_text(chain).unwrap());
}

#[test]
fn words_of_the_reference_keep_their_meaning() {
    let mode = |kind: &str, line: &str| {
        let p =
            Pipeline::from_toml(&format!("[[stage]]\nname = \"s\"\ntype = \"{kind}\"\n{line}\n")).unwrap();
        p.nodes()[0].args().iter().find(|(p, _)| p.name == "mode").unwrap().1.to_string()
    };
    assert_eq!(mode("LorenzoQuant", "error_bound_mode = \"REL\""), "prel");
    assert_eq!(mode("lorenzo_quant", "mode = \"rel\""), "rel");
    assert_eq!(mode("LorenzoQuant", ""), "abs");
    assert_eq!(mode("Quantizer", "error_bound_mode = \"REL\""), "rel");
    assert_eq!(mode("Quantizer", ""), "rel");
    assert_eq!(mode("Quantizer", "mode = \"prel\""), "prel");
    let header = "[pipeline]\ninput_size = 4096\ndims = [64, 16]\nmemory_strategy = \"MINIMAL\"\npool_multiplier = 3\n\
                num_streams = 2\nprimary_source = \"q\"\ncoloring = false\n";
    let inputs =
        "linear_mode = false\ndither_seed = 0\ndither_strength = 1\ninputs = [{ from = \"__external__\" }]\n";
    let p = Pipeline::from_toml(&format!("{header}{QUANT}{inputs}")).unwrap();
    assert_eq!(p.to_text().unwrap(), "quantizer(eb=0.001,mode=rel)");
    // A stage may be described after the one that reads it.
    let late = format!("{RZE}inputs = [{{ from = \"q\", port = \"codes\" }}]\n{QUANT}");
    assert_eq!(Pipeline::from_toml(&late).unwrap().to_text().unwrap(), "quantizer(eb=0.001,mode=rel) > rze");
    let zigzag = "[[stage]]\nname = \"z\"\ntype = \"Zigzag\"\noutput_type = \"uint32\"\n";
    assert_eq!(Pipeline::from_toml(zigzag).unwrap().to_text().unwrap(), "zigzag(input_type=i32)");
}

#[test]
fn presets_are_the_files_of_the_repository() {
    let files = |folder: &str| -> Vec<String> {
        let paths = std::fs::read_dir(root().join(folder)).unwrap().map(|f| f.unwrap().path());
        paths.filter(|path| path.is_file()).map(|path| std::fs::read_to_string(path).unwrap()).collect()
    };
    let mut folders = [files("presets"), files("presets/research")];
    let chains = [
        (
            "pfpl",
            DType::F32,
            "quantizer(input_type=f32,mode=noa,radius=0,inplace=true) > difference(input_type=i32,code=negabinary,chunk=16384) > bitshuffle > rze",
        ),
        (
            "pfpl",
            DType::F64,
            "quantizer(input_type=f64,mode=noa,code_type=u64,radius=0,inplace=true) > difference(input_type=i64,code=negabinary,chunk=16384) > bitshuffle(width=8) > rze",
        ),
        ("fz", DType::F64, "lorenzo_quant(mode=noa,zigzag=true) > bitshuffle(width=2) > rze"),
        (
            "cusz",
            DType::F32,
            "lorenzo_quant(mode=noa,radius=512,zigzag=true) > huffman(input_type=u16,bklen=1024)",
        ),
        ("cusz_ans", DType::F64, "lorenzo_quant(mode=noa,zigzag=true) > adm(dtype=u16) > ans"),
        ("bits", DType::I16, "difference(code=negabinary,chunk=16384) > bitshuffle(width=2) > rze"),
        ("exact", DType::F32, "exact"),
    ];
    for (name, dtype, chain) in chains {
        assert_eq!(preset(name, dtype).unwrap(), Pipeline::from_text(chain).unwrap(), "{name} {dtype}");
    }
    for p in PRESETS {
        for dtype in DType::ALL {
            match p.toml(dtype) {
                Ok(toml) => {
                    folders[usize::from(p.research)].retain(|f| f != toml);
                    let array = Array::new(dtype, &[5000]).unwrap();
                    Encoder::new(&preset(p.name, dtype).unwrap(), &array, &Options::default()).unwrap();
                }
                Err(e) => {
                    assert!(!p.lossless && !dtype.is_float() && e.to_string().contains("preset bits"), "{e}")
                }
            }
        }
    }
    assert!(folders.iter().all(Vec::is_empty), "no preset is {folders:?}");
}

#[test]
fn the_type_that_a_pipeline_is_made_for_is_the_only_one() {
    for (name, refused) in
        [("quantizer", DType::F64), ("lorenzo_quant", DType::F64), ("quantizer", DType::I32)]
    {
        let p = Pipeline::from_text(&format!("{name}(input_type=f32)")).unwrap();
        let plan =
            |dtype| Encoder::new(&p, &Array::new(dtype, &[100]).unwrap(), &Options::default()).map(drop);
        plan(DType::F32).unwrap();
        let e = plan(refused).unwrap_err();
        assert!(e.status() == Status::TypeMismatch && e.to_string().contains(refused.name()), "{e}");
    }
}

/// strict and generation of a file have the effect of the options, from either source.
#[test]
fn a_pipeline_may_require_the_form_of_the_reference() {
    let sample = samples::make(DType::F32, &[40, 30], Content::Walk, 3);
    let chain = Pipeline::from_text("lorenzo_quant(mode=noa) > bitshuffle(width=2) > rze").unwrap();
    let toml = chain.to_toml().unwrap();
    let asks = format!("[pipeline]\nstrict = false\ngeneration = \"2026-05\"\n\n{toml}");
    let asks = Pipeline::from_toml(&asks).unwrap();
    assert!(!asks.strict() && asks.generation() == Generation::G2026_05 && asks != chain);
    assert_eq!(Pipeline::from_toml(&asks.to_toml().unwrap()).unwrap(), asks);
    assert!(asks.to_text().unwrap_err().to_string().contains("TOML"));
    let options = Options { strict: false, generation: Generation::G2026_05, ..Options::default() };
    let bytes = |p: &Pipeline, o: &Options| compress(p, &sample.array, o, &sample.bytes).unwrap();
    let want = bytes(&chain, &options);
    assert!(want == bytes(&asks, &Options::default()) && want == bytes(&asks, &options));
    assert!(want != bytes(&chain, &Options::default()));
}

/// Every block of the page is read, and its table has every short name.
#[test]
fn the_page_is_true() {
    let page = std::fs::read_to_string(root().join("docs/pipelines.md")).unwrap();
    let blocks = |kind: &str| -> Vec<String> {
        let fence = format!("```{kind}\n");
        page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_string()).collect()
    };
    let (tomls, chains) = (blocks("toml"), blocks("pipeline"));
    assert!(!tomls.is_empty() && !chains.is_empty());
    tomls.iter().for_each(|t| drop(Pipeline::from_toml(t).unwrap_or_else(|e| panic!("{e}: {t}"))));
    for chain in chains.iter().flat_map(|c| c.lines()) {
        Pipeline::from_text(chain).unwrap_or_else(|e| panic!("{e}: {chain}"));
    }
    // A refused parameter comes with the known ones, the short names last.
    for stage in STAGES {
        let spec = stage.spec();
        let Err(Error::UnknownName { known, .. }) = Pipeline::from_text(&format!("{}(nothing=1)", spec.name))
        else {
            panic!("{} has a parameter nothing", spec.name);
        };
        for name in known.split(", ").filter(|n| !n.is_empty() && !spec.params.iter().any(|p| p.name == *n)) {
            assert!(page.contains(&format!("| `{name}` | `")), "no row of {name}");
        }
    }
}
