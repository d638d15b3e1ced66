//! The planner: its plans as text, and the law that chains never show in the bytes.

use fzgm::{Array, Container, DType, Encoder, Options, PRESETS, Pipeline, compress, decompress, preset};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Compares with the recorded plan; `FZGM_BLESS=1` records it again, for review as a text difference.
fn snapshot(name: &str, plan: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/plans").join(format!("{name}.plan"));
    if std::env::var_os("FZGM_BLESS").is_some() {
        std::fs::write(&path, plan).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(plan, recorded, "plan {name} has changed; if that is meant, record it with FZGM_BLESS=1");
}

fn both(pipeline: &Pipeline, array: &Array, options: &Options) -> String {
    let encoder = Encoder::new(pipeline, array, options).unwrap();
    format!("{}{}", encoder.plan().unwrap(), encoder.decoder().unwrap().plan().unwrap())
}

#[test]
fn plans_are_the_reviewed_ones() {
    let array = Array::new(DType::F32, &[100, 100, 100]).unwrap();
    let pfpl = preset("pfpl", DType::F32).unwrap();
    snapshot("pfpl-f32", &both(&pfpl, &array, &Options::default()));
    let fz = preset("fz", DType::F32).unwrap();
    snapshot("fz-f32", &both(&fz, &array, &Options::default()));
    snapshot("pfpl-f32-unfused", &both(&pfpl, &array, &Options { fuse: false, ..Options::default() }));
    let array = Array::new(DType::U16, &[1000, 7]).unwrap();
    let compact = Options { container: Container::Compact, ..Options::default() };
    snapshot("bits-u16-compact", &both(&preset("bits", DType::U16).unwrap(), &array, &compact));
    snapshot(
        "outliers-f64",
        &both(&outlier_graph(), &Array::new(DType::F64, &[5000]).unwrap(), &Options::default()),
    );
}

/// Every device function of a fused kernel is in the plan of some pipeline: a row that no plan takes is dead, and only speed
/// would tell.
#[test]
fn every_fused_kernel_is_taken() {
    let mut pipelines: Vec<Pipeline> = PRESETS
        .iter()
        .flat_map(|p| DType::ALL.iter().filter_map(|&dtype| preset(p.name, dtype).ok()))
        .collect();
    // Planes of codes that are not differences.
    let mut planes = Pipeline::new();
    let (bitshuffle, rze) = (planes.add("bitshuffle").unwrap(), planes.add("rze").unwrap());
    planes.connect(bitshuffle, "output", rze).unwrap();
    pipelines.push(planes);
    // One that fits the memory of a few blocks, one that fills a device, and one whose rows are no bands.
    let shapes: [&[u64]; 4] = [&[16_384], &[256, 256, 256], &[100, 100, 100], &[1 << 24]];
    let mut seen = BTreeSet::new();
    for pipeline in &pipelines {
        for (&dtype, dims) in DType::ALL.iter().flat_map(|d| shapes.iter().map(move |s| (d, s))) {
            let array = Array::new(dtype, dims).unwrap();
            let Ok(encoder) = Encoder::new(pipeline, &array, &Options::default()) else { continue };
            let decoder = encoder.decoder().unwrap();
            let previous = Options { previous_base: true, ..Options::default() };
            let previous = Encoder::new(pipeline, &array, &previous).unwrap();
            let plans = [encoder.device_plan(), decoder.device_plan(), previous.device_plan()];
            for plan in plans.into_iter().flatten() {
                let text = plan.0.to_string();
                let entries = text.lines().filter_map(|l| l.trim().split_once(" <<<"));
                seen.extend(entries.map(|(entry, _)| entry.to_string()));
            }
        }
    }
    for stage in fzgm::stages::STAGES {
        for entry in stage.fusions().iter().copied().flatten().flat_map(|f| f.entries) {
            assert!(seen.contains(*entry), "{}: no plan takes {entry}", stage.spec().name);
        }
    }
}

/// Listed outliers that feed coders of their own, and an edge that two stages read.
fn outlier_graph() -> Pipeline {
    let mut p = Pipeline::new();
    let quantizer = p.add("quantizer").unwrap();
    p.args_mut(quantizer).unwrap().set_real("outlier_threshold", 2.0).unwrap();
    let difference = p.add("difference").unwrap();
    p.args_mut(difference).unwrap().set_text("code", "zigzag").unwrap();
    let (rze, values, twice) = (p.add("rze").unwrap(), p.add("rze").unwrap(), p.add("bitshuffle").unwrap());
    p.connect(quantizer, "codes", difference).unwrap();
    p.connect(difference, "output", rze).unwrap();
    p.connect(difference, "output", twice).unwrap();
    p.connect(quantizer, "outlier_vals", values).unwrap();
    p
}

/// Bytes that are neither all alike nor all different.
fn field(bytes: usize, seed: u64) -> Vec<u8> {
    let mut x = seed | 1;
    let mut walk = 0u64;
    (0..bytes)
        .map(|i| {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            walk = if i % 977 == 0 { x >> 40 } else { walk.wrapping_add(x >> 62) };
            (walk >> (8 * (i % 4))) as u8
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn chains_never_show_in_the_bytes(
        name in 0..PRESETS.len(),
        dtype in 0..DType::ALL.len(),
        elements in prop_oneof![0..40usize, 2000..20000usize, 16380..16390usize, 100_000..140_000usize],
        compact: bool,
        threads in 1..4u32,
        seed: u64,
    ) {
        let dtype = DType::ALL[dtype];
        let Ok(pipeline) = preset(PRESETS[name].name, dtype) else { return Ok(()) };
        let array = Array::new(dtype, &[elements as u64]).unwrap();
        let src = field(array.bytes() as usize, seed);
        let container = if compact { Container::Compact } else { Container::Fzm };
        let plain = Options { container, fuse: false, store_incompressible: false, ..Options::default() };
        let fused = Options { fuse: true, threads, ..plain.clone() };
        let want = compress(&pipeline, &array, &plain, &src).unwrap();
        prop_assert!(want == compress(&pipeline, &array, &fused, &src).unwrap(), "encoding differs");
        let restored = decompress(&want, &plain).unwrap().1;
        prop_assert!(restored == decompress(&want, &fused).unwrap().1, "decoding differs");
        if PRESETS[name].lossless {
            prop_assert!(restored == src, "a lossless preset lost something");
        }
    }
}
