//! Graphs that are grown stage by stage, each one only if the graph still compresses: so they are deep and reach all stages with all their
//! parameters, where most random ones would only be refused.

use super::{holds, quantizers};
use crate::common::corpus::chain;
use crate::common::gpu;
use crate::common::rng::Rng;
use crate::common::run::options;
use crate::common::samples::{self, CONTENTS, Sample};
use fzgm::stages::STAGES;
use fzgm::{Container, DType, Encoder, Kind, Node, Pipeline, Stage, compress, decompress};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn stage_of(p: &Pipeline, node: usize) -> &'static dyn Stage {
    *STAGES.iter().find(|s| s.spec().name == p.nodes()[node].stage()).unwrap()
}

/// Values for half of the parameters, more for those that select other code.
fn settings(p: &mut Pipeline, node: usize, ports: usize, rng: &mut Rng) {
    let stage = p.nodes()[node].stage();
    let args = p.args_mut(node).unwrap();
    let params: Vec<_> = args.iter().map(|(param, _)| param).collect();
    for param in params {
        let name = param.name;
        match (stage, name, param.kind) {
            // Plain differences of floats round, and a given range is not checked.
            ("difference", "code", _) => {
                args.set_text(name, ["negabinary", "zigzag"][rng.below(2)]).unwrap();
            }
            (_, "value_base", _) => {}
            // Read by some modes alone and refused in others.
            (
                "ginterp",
                "manual_alpha" | "manual_beta" | "md_levels" | "natural_levels" | "reverse_levels",
                _,
            ) if args.iter().all(|(p, v)| p.name != "auto_tuning" || v.to_string() != "5") => {}
            (_, _, Kind::Names { most }) => {
                let names: Vec<String> =
                    (0..1 + rng.below(most.min(ports))).map(|i| format!("s{i}")).collect();
                args.set_text(name, &names.join("+")).unwrap();
            }
            _ if rng.below(2) == 0 => {}
            // The shape is that of the array; most modes, radii and types go with few others.
            (
                "lorenzo_quant" | "fast" | "ginterp" | "multilevel" | "exact",
                "dim_x" | "dim_y" | "dim_z",
                _,
            ) => {}
            (
                "lorenzo_quant" | "fast" | "ginterp" | "multilevel",
                "mode" | "quant_radius" | "code_type",
                _,
            ) if rng.below(2) == 0 => {}
            ("ginterp", "manual_alpha" | "manual_beta", _) => args.set_real(name, 1.0 + rng.unit()).unwrap(),
            (_, "dim_x" | "dim_y" | "dim_z", _) => args.set_int(name, rng.below(40) as i64).unwrap(),
            ("huffman", "bklen", _) => args.set_int(name, *rng.pick(&[2, 256, 258, 4096, 65536])).unwrap(),
            (_, _, Kind::Choice(words)) => args.set_text(name, words[rng.below(words.len())]).unwrap(),
            (_, _, Kind::IntOf(list)) => args.set_int(name, *rng.pick(list)).unwrap(),
            (_, _, Kind::Flag) => args.set_int(name, rng.below(2) as i64).unwrap(),
            (_, _, Kind::Int { low, high }) => {
                args.set_int(name, (1i64 << rng.below(17)).clamp(low, high)).unwrap();
            }
            (_, _, Kind::Real { .. }) => args.set_real(name, 2f64.powi(-(rng.below(20) as i32))).unwrap(),
        }
    }
}

/// All output ports.
fn ports(p: &Pipeline) -> Vec<(usize, &'static str)> {
    let of = |node| {
        stage_of(p, node).outputs(p.nodes()[node].args()).unwrap().iter().map(move |port| (node, *port))
    };
    (0..p.nodes().len()).flat_map(of).collect()
}

/// One stage more, if the graph with it compresses the sample.
fn bud(p: &Pipeline, sample: &Sample, rng: &mut Rng) -> Option<Pipeline> {
    let mut grown = p.clone();
    let mut ports = ports(p);
    let joins = ports.len() > 1 && rng.below(6) == 0;
    let name = match p.nodes().len() {
        // Stages that must read an array of floats.
        0 if sample.array.dtype().is_float() && rng.below(5) > 0 => {
            ["quantizer", "lorenzo_quant", "ginterp", "fast", "multilevel", "lattice"][rng.below(6)]
        }
        _ if joins => "merge",
        _ => rng.pick(STAGES).spec().name,
    };
    let node = grown.add(name).unwrap();
    settings(&mut grown, node, ports.len().max(1), rng);
    if node > 0 {
        for k in 0..stage_of(&grown, node).inputs(grown.nodes()[node].args()).unwrap() {
            // The newest port more often than another, so that chains become long too.
            let at = if k == 0 && rng.below(2) == 0 { ports.len() - 1 } else { rng.below(ports.len()) };
            let (producer, port) = ports.remove(at);
            grown.connect(producer, port, node).unwrap();
        }
    }
    for container in [Container::Compact, Container::Fzm] {
        let options = options(container, true);
        compress(&grown, &sample.array, &options, &sample.bytes).ok()?;
        // Merges of merges double their input; a reader has a memory limit.
        let encoder = Encoder::new(&grown, &sample.array, &options).unwrap();
        if encoder.decoder().unwrap().workspace_bytes() > 64 << 20 {
            return None;
        }
    }
    Some(grown)
}

fn grow(sample: &Sample, rng: &mut Rng) -> Pipeline {
    let mut p = Pipeline::new();
    let wanted = 2 + rng.below(12);
    for _ in 0..8 * wanted {
        if p.nodes().len() == wanted {
            break;
        }
        if let Some(grown) = bud(&p, sample, rng) {
            p = grown;
        }
    }
    p
}

fn sample(rng: &mut Rng) -> Sample {
    let most = *rng.pick(&[40, 700, 6000]);
    let (a, b) = (1 + rng.below(30) as u64, 1 + rng.below(9) as u64);
    let n = rng.below(most) as u64;
    let dims = match rng.below(4) {
        0 => vec![n / a + 1, a],
        1 => vec![n / (a * b) + 1, a, b],
        _ => vec![n],
    };
    let dtype =
        if rng.below(3) == 0 { [DType::F32, DType::F64][rng.below(2)] } else { *rng.pick(&DType::ALL) };
    samples::make(dtype, &dims, *rng.pick(&CONTENTS), rng.word())
}

/// The graph restores the values that its quantizer restores alone: no stage after it loses anything.
fn only_quantizers_lose(p: &Pipeline, sample: &Sample) {
    let alone: Vec<Vec<u8>> = p
        .nodes()
        .iter()
        .filter(|n| n.args().has("error_bound"))
        .map(|n| {
            let mut alone = chain(&[(n.stage(), &[])]);
            *alone.args_mut(0).unwrap() = n.args().clone();
            let options = options(Container::Compact, true);
            decompress(&compress(&alone, &sample.array, &options, &sample.bytes).unwrap(), &options)
                .unwrap()
                .1
        })
        .collect();
    let options = options(Container::Compact, true);
    let restored =
        decompress(&compress(p, &sample.array, &options, &sample.bytes).unwrap(), &options).unwrap().1;
    // Another reader of the array may be the one that gives it back.
    let kept = restored == sample.bytes || alone.contains(&restored);
    assert!(kept, "{}: something else than a quantizer loses", sample.name);
}

/// Settings that some graph must have.
const RARE: [(&str, &str, &str); 4] = [
    ("huffman", "input_type", "u32"),
    ("adm", "dtype", "u32"),
    ("rre", "word_size", "8"),
    ("rze", "word_size", "4"),
];

fn settings_of(node: &Node) -> Vec<String> {
    node.args().iter().map(|(param, v)| format!("{}.{}={v}", node.stage(), param.name)).collect()
}

#[test]
fn grown_graphs_of_all_stages_keep_the_contract() {
    let cases = match (super::long(), gpu::device().is_some()) {
        (true, false) => 20_000,
        (true, true) => 1500,
        (false, false) => 600,
        // The emulator of a GPU takes its time.
        (false, true) => 100,
    };
    let first = std::env::var("FZGM_SEED").ok().map(|s| s.parse::<u64>().unwrap());
    // Behind the usual cases, graphs with a rare setting that no graph before had.
    let most = if gpu::device().is_none() { 20 * cases } else { cases };
    let seeds = first.map_or(0..most, |s| s..s + 1);
    let rare = RARE.map(|(stage, param, value)| format!("{stage}.{param}={value}"));
    let (mut stages, mut settings) = (BTreeMap::<&str, usize>::new(), BTreeSet::<String>::new());
    let (mut deepest, mut widest, mut lossy) = (0, 0, 0);
    for seed in seeds {
        let mut rng = Rng(seed);
        let sample = sample(&mut rng);
        let p = grow(&sample, &mut rng);
        let own: Vec<String> = p.nodes().iter().flat_map(settings_of).collect();
        if first.is_none() && seed >= cases && !rare.iter().any(|s| own.contains(s) && !settings.contains(s))
        {
            continue;
        }
        // A panic names its seed: FZGM_SEED repeats it.
        let told = catch_unwind(AssertUnwindSafe(|| {
            only_quantizers_lose(&p, &sample);
            assert!(holds(&p, &sample));
        }));
        assert!(told.is_ok(), "FZGM_SEED={seed} {}\n{}", sample.name, p.to_toml().unwrap());
        for node in p.nodes() {
            *stages.entry(node.stage()).or_default() += 1;
            widest = widest.max(node.inputs().len());
        }
        settings.extend(own);
        deepest = deepest.max(p.nodes().len());
        lossy += usize::from(!quantizers(&p).is_empty());
    }
    println!("{stages:?}, up to {deepest} stages and {widest} inputs, {lossy} of {cases} with a quantizer");
    // A device takes too few of them for all to be there.
    if first.is_none() && gpu::device().is_none() {
        for stage in STAGES {
            let name = stage.spec().name;
            assert!(stages.get(name).is_some_and(|&n| n as u64 > cases / 25), "{name}: {stages:?}");
        }
        assert!(
            widest >= 5 && deepest >= 12 && lossy > 0,
            "{widest} inputs, {deepest} stages, {lossy} quantizers"
        );
        for setting in &rare {
            assert!(settings.contains(setting), "{setting}: never");
        }
    }
}
