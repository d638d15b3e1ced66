//! Containers of every stage, preset and form.

use super::run::forms;
use super::samples::{self, Content, Sample};
use fzgm::stages::{STAGES, by_name};
use fzgm::{
    Container, DType, Error, Generation, Kind, Options, PRESETS, Pipeline, Spec, compress, decompress, info,
    preset,
};

pub struct Case {
    pub name: String,
    pub bytes: Vec<u8>,
    pub restored: Vec<u8>,
    /// The compressed array and the options.
    pub made_of: Option<(Sample, Options)>,
    pub compact: bool,
    /// Of floats whose bound was not kept strictly.
    pub loose: bool,
    /// Bytes of an element.
    pub width: u64,
    /// How many segments it has.
    pub segments: usize,
}

type Sets<'a> = &'a [(&'a str, &'a str)];

pub fn add(p: &mut Pipeline, stage: &str, sets: Sets) -> usize {
    let node = p.add(stage).unwrap();
    for (name, value) in sets {
        p.args_mut(node).unwrap().set_text(name, value).unwrap();
    }
    node
}

/// Stages one after the other, each behind the first output of the one before.
pub fn chain(stages: &[(&str, Sets)]) -> Pipeline {
    let mut p = Pipeline::new();
    for (i, (stage, sets)) in stages.iter().enumerate() {
        let node = add(&mut p, stage, sets);
        if i > 0 {
            let port = by_name(stages[i - 1].0).unwrap().outputs(p.nodes()[i - 1].args()).unwrap()[0];
            p.connect(i - 1, port, node).unwrap();
        }
    }
    p
}

/// Predicted values behind a stage that hands the array on, so that not the first stage has the exact pairs; one of their lists
/// is coded.
pub fn exact_pairs() -> Pipeline {
    let mut p = Pipeline::new();
    let first = add(&mut p, "stored", &[]);
    let q = add(
        &mut p,
        "lorenzo_quant",
        &[("mode", "prel"), ("outlier_threshold", "1e20"), ("zigzag_codes", "true")],
    );
    let codes = add(&mut p, "rze", &[]);
    let values = add(&mut p, "bitshuffle", &[("block_size", "4096")]);
    p.connect(first, "output", q).unwrap();
    p.connect(q, "codes", codes).unwrap();
    p.connect(q, "outlier_errors", values).unwrap();
    p
}

/// Lists of outliers that go through stages of their own.
pub fn outlier_lists() -> Pipeline {
    let mut p = Pipeline::new();
    let q = add(&mut p, "quantizer", &[("code_type", "u16"), ("mode", "noa"), ("outlier_threshold", "1e20")]);
    let difference = add(&mut p, "difference", &[("code", "zigzag")]);
    let shuffle = add(&mut p, "bitshuffle", &[("element_width", "2"), ("block_size", "2048")]);
    let codes = add(&mut p, "rze", &[]);
    let indices = add(&mut p, "difference", &[("code", "negabinary")]);
    let indices_end = add(&mut p, "rze", &[("word_size", "4")]);
    let values = add(&mut p, "bitshuffle", &[("block_size", "4096")]);
    p.connect(q, "codes", difference).unwrap();
    p.connect(difference, "output", shuffle).unwrap();
    p.connect(shuffle, "output", codes).unwrap();
    p.connect(q, "outlier_idxs", indices).unwrap();
    p.connect(indices, "output", indices_end).unwrap();
    p.connect(q, "outlier_vals", values).unwrap();
    p
}

/// Three streams as one; the lengths of two of them are only known at run time.
pub fn merged() -> Pipeline {
    let mut p = Pipeline::new();
    let root = add(&mut p, "stored", &[]);
    let a = add(&mut p, "rle", &[]);
    let b = add(&mut p, "bitpack", &[("auto_detect", "true")]);
    let c = add(&mut p, "difference", &[("code", "zigzag"), ("chunk_size", "4096")]);
    let all = add(&mut p, "merge", &[("segments", "runs+bits+differences")]);
    let end = add(&mut p, "rre", &[("word_size", "2")]);
    for (from, to) in [(root, a), (root, b), (root, c), (a, all), (b, all), (c, all), (all, end)] {
        p.connect(from, "output", to).unwrap();
    }
    p
}

/// One edge, three readers.
pub fn fan_out() -> Pipeline {
    let mut p = Pipeline::new();
    let root = add(&mut p, "stored", &[]);
    let a = add(&mut p, "rze", &[("chunk_size", "4096")]);
    let b = add(&mut p, "difference", &[("code", "zigzag"), ("chunk_size", "4096")]);
    let c = add(&mut p, "bitshuffle", &[("element_width", "1"), ("block_size", "1024")]);
    let d = add(&mut p, "rze", &[]);
    for (from, to) in [(root, a), (root, b), (root, c), (b, d)] {
        p.connect(from, "output", to).unwrap();
    }
    p
}

/// A type that the stage accepts with its defaults, and any elements of it: a type of four bytes if it
/// accepts one.
fn usual_type(spec: &Spec) -> DType {
    let wide = spec.accepts.iter().filter(|d| d.bytes() == 4);
    let runs = |dtype: &&DType| {
        let sample = samples::make(**dtype, &[100], Content::Random, 1);
        compress(&chain(&[(spec.name, &[])]), &sample.array, &Options::default(), &sample.bytes).is_ok()
    };
    *wide.chain(spec.accepts).find(runs).unwrap_or_else(|| panic!("{} runs with no type", spec.name))
}

/// Every value of every parameter that has a list of values, every preset in every mode that it takes, and the graphs above.
fn pipelines() -> Vec<(String, Pipeline, DType)> {
    let mut all = vec![];
    for stage in STAGES {
        let spec = stage.spec();
        let dtype = usual_type(spec);
        all.push((spec.name.to_string(), chain(&[(spec.name, &[])]), dtype));
        for p in spec.params {
            let values: Vec<String> = match p.kind {
                Kind::Choice(words) => words.iter().map(|w| (*w).into()).collect(),
                Kind::IntOf(list) => list.iter().map(i64::to_string).collect(),
                Kind::Flag => vec!["true".into(), "false".into()],
                Kind::Int { high, .. } => vec![high.min(4096).to_string()],
                Kind::Real { .. } => vec![],
                Kind::Names { .. } => vec!["vle".into()],
            };
            for value in values.iter().filter(|v| **v != p.default.to_string()) {
                let name = format!("{} {}={value}", spec.name, p.name);
                all.push((name, chain(&[(spec.name, &[(p.name, value)])]), dtype));
            }
        }
    }
    let around: Sets = &[("block_size", "64"), ("centering", "true")];
    all.push((
        "around means".into(),
        chain(&[("lorenzo", around), ("bitpack", &[("base", "7")])]),
        DType::I32,
    ));
    let in_place =
        [("inplace_outliers", "true"), ("mode", "noa"), ("code_type", "u64"), ("quant_radius", "100000")];
    all.push(("in place f64".into(), chain(&[("quantizer", &in_place)]), DType::F64));
    all.push(("tiny bound f64".into(), chain(&[("quantizer", &[("error_bound", "1e-40")])]), DType::F64));
    for dtype in [DType::F32, DType::F64] {
        all.push((format!("exact pairs {dtype}"), exact_pairs(), dtype));
        all.push((format!("outlier lists {dtype}"), outlier_lists(), dtype));
    }
    for (p, dtype) in PRESETS.iter().flat_map(|p| DType::ALL.map(|d| (p, d))) {
        let Ok(pipeline) = preset(p.name, dtype) else { continue };
        for mode in ["rel", "prel"].into_iter().filter(|_| !p.lossless) {
            let mut pipeline = pipeline.clone();
            pipeline.set_everywhere("mode", |args| args.set_text("mode", mode)).unwrap();
            all.push((format!("{} {mode} {dtype}", p.name), pipeline, dtype));
        }
        all.push((format!("{} {dtype}", p.name), pipeline, dtype));
    }
    all.push(("merged u16".into(), merged(), DType::U16));
    all.push(("fan-out".into(), fan_out(), DType::I16));
    all.push((
        "words of 8".into(),
        chain(&[("bitshuffle", &[("element_width", "8")]), ("rze", &[("word_size", "8")])]),
        DType::F64,
    ));
    all
}

/// Every pipeline in every form that can express it, over `n` elements.
pub fn build(n: u64, content: Content) -> Vec<Case> {
    let mut cases = vec![];
    for (name, pipeline, dtype) in pipelines() {
        let sample = samples::make(dtype, &[n], content, 77);
        for options in forms() {
            cases.extend(case(&name, &pipeline, &sample, &options));
        }
    }
    let empty = samples::make(DType::F32, &[0], content, 77);
    let stored = samples::make(DType::F32, &[n], Content::Random, 77);
    for options in forms() {
        let options = Options { store_incompressible: true, ..options };
        let pfpl = preset("pfpl", DType::F32).unwrap();
        cases.extend(case("empty", &pfpl, &empty, &options));
        cases.extend(case("incompressible", &preset("bits", DType::F32).unwrap(), &stored, &options));
    }
    cases
}

/// Splines over planes and volumes with far faces, with a bound and without, which 1-D samples cannot test.
pub fn splines() -> Vec<Case> {
    let mut all: Vec<(&str, Pipeline)> = vec![];
    let sets: [Sets; 3] = [
        &[("mode", "noa"), ("outlier_threshold", "1e20")],
        &[("mode", "abs"), ("error_bound", "0.05"), ("code_type", "u8"), ("auto_tuning", "3")],
        &[
            ("mode", "prel"),
            ("code_type", "u32"),
            ("auto_tuning", "5"),
            ("md_levels", "45"),
            ("natural_levels", "43"),
            ("reverse_levels", "2"),
        ],
    ];
    let names = ["noa", "abs tuned", "prel by hand"];
    all.extend(sets.iter().zip(names).map(|(sets, name)| (name, chain(&[("ginterp", sets)]))));
    all.extend(["cusz_hi_tp", "cusz_hi_cr"].map(|name| (name, preset(name, DType::F32).unwrap())));
    let mut cases = vec![];
    for (i, (name, pipeline)) in all.iter().enumerate() {
        for (j, dims) in [&[70, 40][..], &[18, 17, 17]].into_iter().enumerate() {
            for dtype in samples::FLOATS {
                let content = if (i + j) % 2 == 0 { Content::Specials } else { Content::Walk };
                let sample = samples::make(dtype, dims, content, 77);
                for options in forms() {
                    cases.extend(case(&format!("{name} {dtype} {dims:?}"), pipeline, &sample, &options));
                }
            }
        }
    }
    cases
}

/// Every coder, with containers of arrays of several kinds and lengths: the containers that are damaged and
/// garbled most.
pub fn coders() -> Vec<(String, Vec<Case>)> {
    let mut all: Vec<(String, Pipeline, DType)> = vec![];
    let mut one = |name: &str, stages: &[(&str, Sets)], dtype| all.push((name.into(), chain(stages), dtype));
    let any: Sets = &[("bklen", "65536")];
    one("huffman u8", &[("huffman", &[])], DType::U8);
    one("huffman u16", &[("zigzag", &[]), ("huffman", any)], DType::I16);
    one("huffman u32", &[("zigzag", &[]), ("huffman", any)], DType::I32);
    one("ans", &[("ans", &[])], DType::U16);
    one("adm u16", &[("adm", &[])], DType::U16);
    one("adm u32", &[("adm", &[])], DType::U32);
    one("rle u8", &[("rle", &[])], DType::U8);
    one("rle i64 in chunks", &[("rle", &[("chunk_size", "4096")])], DType::I64);
    for word in ["1", "2", "4", "8"] {
        one(&format!("rre {word}"), &[("rre", &[("word_size", word)])], DType::U32);
        one(&format!("rze {word}"), &[("rze", &[("word_size", word)])], DType::U32);
    }
    one("bitpack", &[("bitpack", &[("auto_detect", "true")])], DType::U16);
    one("lorenzo", &[("lorenzo", &[])], DType::I32);
    one(
        "lorenzo around means",
        &[("lorenzo", &[("block_size", "100"), ("order", "2"), ("centering", "true")])],
        DType::I16,
    );
    let around: Sets = &[("centering", "true"), ("error_bound", "0.01"), ("outlier_capacity", "1")];
    for (name, dtype) in [("values around means", DType::F32), ("values around means, f64", DType::F64)] {
        one(name, &[("lorenzo_quant", around)], dtype);
    }
    one("bitpack moved", &[("bitpack", &[("base", "60000"), ("auto_detect", "true")])], DType::U16);
    all.push(("merge".into(), merged(), DType::U16));
    for name in ["cusz", "cusz_ans", "lc_speed", "lc_ratio", "lc_tp", "lc_cr"] {
        all.push((name.into(), preset(name, DType::F32).unwrap(), DType::F32));
    }
    for (name, dtype) in [("fast", DType::F32), ("fast 3d", DType::F32), ("fast f64", DType::F64)] {
        all.push((name.into(), preset("fast", dtype).unwrap(), dtype));
    }
    for (name, dtype) in [("exact", DType::F32), ("exact f64", DType::F64), ("exact i16", DType::I16)] {
        all.push((name.into(), preset("exact", dtype).unwrap(), dtype));
    }
    let contents = [Content::Walk, Content::Sparse, Content::Specials, Content::Constant];
    let cases = |name: &str, pipeline: &Pipeline, dtype: DType| {
        let mut cases = vec![];
        for (content, n) in contents.into_iter().flat_map(|c| [(c, 300), (c, 9000), (c, 30)]) {
            let dims = match name {
                "lorenzo" => vec![n / 10, 10],
                "fast 3d" => vec![n / 30, 6, 5],
                _ => vec![n],
            };
            let sample = samples::make(dtype, &dims, content, 5);
            for container in [Container::Fzm, Container::Compact] {
                // Symbols beyond the codebook are refused.
                cases.extend(case(name, pipeline, &sample, &super::run::options(container, true)));
            }
        }
        cases
    };
    all.iter().map(|(name, pipeline, dtype)| (name.clone(), cases(name, pipeline, *dtype))).collect()
}

/// `None`: the pipeline refuses the type, or the form cannot express the pipeline.
fn case(name: &str, pipeline: &Pipeline, sample: &Sample, options: &Options) -> Option<Case> {
    let bytes = match compress(pipeline, &sample.array, options, &sample.bytes) {
        Ok(bytes) => bytes,
        Err(Error::TypeMismatch { .. } | Error::Unsupported { .. } | Error::InvalidArgument { .. }) => {
            return None;
        }
        Err(e) => panic!("{name} {options:?}: {e}"),
    };
    let (_, restored) = decompress(&bytes, options).unwrap();
    let segments = info(&bytes).unwrap().segments.len();
    let generation = if options.generation == Generation::G2026_05 { " 2026-05" } else { "" };
    let name = format!("{name} {:?}{generation} strict={}", options.container, options.strict);
    let lossy = pipeline.nodes().iter().any(|n| n.args().has("error_bound"));
    Some(Case {
        name,
        bytes,
        restored,
        made_of: Some((sample.clone(), options.clone())),
        compact: options.container == Container::Compact,
        loose: lossy && !options.strict,
        width: sample.array.dtype().bytes(),
        segments,
    })
}
