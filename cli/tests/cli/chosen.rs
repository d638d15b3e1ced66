//! Pipelines that `fzgm compress` chooses for each array: bounds, reports, and errors.

use crate::fixture::Fixture;
use fzgm::{Aim, Array, DType, Goal, Wish, choose};
use serde_json::{Value, json};
use std::fs;

const DIMS: [u64; 3] = [60, 50, 40];
const LINE: &str = "compress x -o a --force --dtype f32 --dims 60x50x40";

/// A smooth field with noise. `f` converts numbers from -1 to 1 to its values.
fn field(f: impl Fn(f64) -> f64) -> Vec<f32> {
    let mut seed = 12345u64;
    (0..60 * 50 * 40)
        .map(|i| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let noise = (seed >> 40) as f64 / 16_777_216.0 - 0.5;
            let [x, y, z] = [i % 60, i / 60 % 50, i / 3000].map(f64::from);
            f(0.98 * (0.11 * x).sin() * (0.07 * y + 0.3 * z).cos() + 0.02 * noise) as f32
        })
        .collect()
}

fn write(fixture: &Fixture, name: &str, values: &[f32]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    fixture.write(name, &bytes);
    bytes
}

fn container(fixture: &Fixture) -> Vec<u8> {
    fs::read(fixture.path("a")).unwrap()
}

fn restored(fixture: &Fixture) -> Vec<u8> {
    fixture.run("decompress a -o b --force").ok();
    fs::read(fixture.path("b")).unwrap()
}

/// Fails if a restored value of `x` violates the bound.
fn kept(fixture: &Fixture, bound: &str) {
    fixture.run("decompress a -o b --force").ok();
    let m = fixture.run(&format!("compare x b --dtype f32 {bound} --json")).json();
    assert_eq!((&m["kept"], &m["violations"]), (&json!(true), &json!(0)), "{bound}: {m}");
}

#[test]
fn each_goal_has_its_pipeline() {
    let fixture = Fixture::new();
    let bytes = write(&fixture, "x", &field(|n| n));
    let array = Array::new(DType::F32, &DIMS).unwrap();
    let mut sizes = vec![];
    for (preset, goal) in [
        ("", Goal::Balanced),
        ("--preset auto", Goal::Balanced),
        ("--preset auto:balanced", Goal::Balanced),
        ("--preset auto:speed", Goal::Speed),
        ("--preset auto:ratio", Goal::Ratio),
    ] {
        for (mode, options) in [("noa", ""), ("abs", "--mode abs"), ("rel", "--mode rel")] {
            let options = format!("{preset} {options} --eb 1e-3 --verify");
            let options = options.split_whitespace().collect::<Vec<_>>().join(" ");
            let report = fixture.run(&format!("{LINE} {options} --json")).json();
            let wish = Wish { goal, aim: Aim::Bound(mode, 1e-3), outlier_threshold: f64::INFINITY };
            let choice = choose(&array, &bytes, &wish).unwrap();
            let name = Goal::ALL.iter().find(|(known, _)| *known == goal).unwrap().1;
            assert_eq!((&report["preset"], &report["goal"]), (&json!(choice.preset), &json!(name)));
            assert_eq!((&report["mode"], &report["error_bound"]), (&json!(mode), &json!(1e-3)));
            assert_eq!((&report["lattice"], &report["pipeline"]), (&Value::Null, &Value::Null));
            let pipeline = fzgm::pipeline_of(&container(&fixture)).unwrap();
            let names = |p: &fzgm::Pipeline| p.nodes().iter().map(|n| n.stage()).collect::<Vec<_>>();
            assert_eq!(names(&pipeline), names(&choice.pipeline));
            kept(&fixture, &format!("--mode {mode} --eb 1e-3"));
            if mode == "noa" {
                sizes.push(container(&fixture).len());
            }
            let said = fixture.run(&format!("{LINE} {options}")).ok();
            let says = format!("chosen for {name}: preset {}", choice.preset);
            assert!(said.contains(&says) && said.contains("bound 0.001"), "no `{says}` in {said}");
        }
    }
    let [usual, auto, balanced, speed, ratio] = sizes[..] else { panic!("{sizes:?}") };
    assert!(usual == auto && auto == balanced && ratio < auto && auto <= speed, "{sizes:?}");
    // With a named preset, the report contains no choice.
    let report = fixture.run(&format!("{LINE} --preset fast --eb 1e-3 --json")).json();
    assert_eq!(report["preset"], "fast");
    for field in ["goal", "mode", "error_bound", "lattice"] {
        assert_eq!(report[field], Value::Null, "{field}");
    }
    assert_eq!(container(&fixture).len(), speed);
}

#[test]
fn each_file_has_its_choice() {
    let fixture = Fixture::new();
    let plain = write(&fixture, "x", &field(|n| n));
    let lattice = write(&fixture, "y", &field(|n| (n * 3000.0).round() * 0.01));
    fs::create_dir(fixture.path("out")).unwrap();
    let run = fixture.run("compress x y -o out/ --dtype f32 --dims 60x50x40 --lossless --json");
    let reports: Vec<Value> = run.ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let presets: Vec<&Value> = reports.iter().map(|r| &r["preset"]).collect();
    assert_eq!(presets, ["exact", "exact"]);
    assert!(reports[0]["lattice"].is_null() && reports[1]["lattice"].is_string(), "{reports:?}");
    for (name, bytes) in [("x", plain), ("y", lattice)] {
        fixture.run(&format!("decompress out/{name}.fzm -o b --force")).ok();
        assert!(fs::read(fixture.path("b")).unwrap() == bytes, "{name}");
    }
}

#[test]
fn lossless_restores_every_bit() {
    let fixture = Fixture::new();
    let mut values = field(|n| (n * 3000.0).round() * 0.01 + 273.15);
    (values[5], values[77], values[999]) = (f32::from_bits(0x7fc0_dead), -0.0, f32::NEG_INFINITY);
    let bytes = write(&fixture, "x", &values);
    fixture.run(&format!("{LINE} --preset bits")).ok();
    let bits = container(&fixture).len();
    for (options, goal) in [
        ("--lossless", "balanced"),
        ("--lossless --preset auto", "balanced"),
        ("--lossless --preset auto:ratio", "ratio"),
    ] {
        let report = fixture.run(&format!("{LINE} {options} --verify --json")).json();
        assert_eq!((&report["goal"], &report["mode"]), (&json!(goal), &json!("lossless")), "{options}");
        assert_eq!((&report["error_bound"], &report["absolute_bound"]), (&json!(0.0), &Value::Null));
        let lattice = report["lattice"].as_str().unwrap();
        assert!(restored(&fixture) == bytes, "{options}");
        assert!(
            container(&fixture).len() * 3 < 2 * bits,
            "{options}: {} of {bits}",
            container(&fixture).len()
        );
        let said = fixture.run(&format!("{LINE} {options}")).ok();
        let says = format!("on a lattice, lossless: {lattice}");
        assert!(said.contains(&says), "no `{says}` in {said}");
    }
    let report = fixture.run(&format!("{LINE} --lossless --preset auto:speed --json")).json();
    assert_eq!((&report["preset"], &report["lattice"]), (&json!("bits"), &Value::Null));
    assert!(restored(&fixture) == bytes);
    // If the bound is far below the step of the lattice, a lossless pipeline has the higher ratio.
    let report = fixture.run(&format!("{LINE} --mode abs --eb 1e-30 --json")).json();
    assert_eq!((&report["mode"], &report["error_bound"]), (&json!("lossless"), &json!(0.0)));
    assert!(report["lattice"].is_string() && restored(&fixture) == bytes);
}

#[test]
fn info_describes_the_lattice() {
    let fixture = Fixture::new();
    let field = |scale: f64| field(|n| (n * 3000.0).round() * scale + if scale < 0.1 { 273.15 } else { 0.0 });
    write(&fixture, "x", &field(0.01));
    write(&fixture, "y", &field(0.125));
    let toml = include_str!("../../../presets/lattice/fast-f32.toml");
    for (name, params) in
        [("levels", "scale = 0.01\noffset = 273.15"), ("decimals", "scale = 100.0\nformula = \"divide\"")]
    {
        let of_lattice = format!("type = \"Lattice\"\n{params}\n");
        fixture.write(name, toml.replace("type = \"Lattice\"\n", &of_lattice).as_bytes());
    }
    for (input, options, says) in [
        ("x", "--config levels", "evenly spaced levels: scale 0.01, offset 273.15, computed in f64"),
        ("x", "--config decimals", "decimal numbers: whole numbers over 100"),
        ("y", "--preset high --mode abs --eb 1e-3", "multiples of 0.125"),
    ] {
        fixture.run(&format!("compress {input} -o a --force --dtype f32 --dims 60x50x40 {options}")).ok();
        assert_eq!(fixture.run("info a --json").json()["lattice"], says);
        assert!(fixture.run("info a").ok().contains(&format!("\nlattice    {says}\n")), "{says}");
    }
    fixture.run("compress x -o a --force --dtype f32 --dims 60x50x40 --eb 1e-2 --preset fast").ok();
    assert_eq!(fixture.run("info a --json").json()["lattice"], Value::Null);
    assert!(!fixture.run("info a").ok().contains("lattice"));
}

#[test]
fn integers_are_lossless() {
    let fixture = Fixture::new();
    let bytes: Vec<u8> = (0..30_000i16).flat_map(|i| (i / 7).to_le_bytes()).collect();
    fixture.write("i", &bytes);
    let report = fixture.run("compress i -o a --dtype i16 --lossless --json").json();
    assert_eq!((&report["preset"], &report["mode"]), (&json!("exact"), &json!("lossless")));
    assert!(restored(&fixture) == bytes);
    let report =
        fixture.run("compress i -o a --force --dtype i16 --lossless --preset auto:speed --json").json();
    assert_eq!(report["preset"], "bits");
    for options in
        ["", " --eb 1 --mode abs", " --preset auto:ratio --eb 1", " --mode rel", " --target-psnr 60"]
    {
        fixture.fails(
            &format!("compress i -o c --dtype i16{options}"),
            5,
            &["type is i16", "pass --lossless"],
        );
    }
    for options in ["--preset fast --eb 1", "--slab 4K --eb 1"] {
        fixture.fails(&format!("compress i -o c --dtype i16 {options}"), 5, &["i16", "preset bits"]);
    }
}

#[test]
fn targets_are_met() {
    let fixture = Fixture::new();
    write(&fixture, "x", &field(|n| n));
    for (preset, goal) in [("", "balanced"), (" --preset auto:ratio", "ratio")] {
        for target in [5.0, 10.0] {
            let line = format!("{LINE}{preset} --target-ratio {target} --container compact --json");
            let report = fixture.run(&line).json();
            let ratio = report["ratio"].as_f64().unwrap();
            assert!((ratio / target - 1.0).abs() < 0.06, "{preset} {target}: {ratio}");
            let bound = report["error_bound"].as_f64().unwrap();
            assert_eq!((&report["mode"], &report["goal"]), (&json!("noa"), &json!(goal)));
            kept(&fixture, &format!("--mode noa --eb {bound}"));
        }
        for target in [50.0, 80.0] {
            let report = fixture.run(&format!("{LINE}{preset} --target-psnr {target} --json")).json();
            let preset = if goal == "ratio" { "high" } else { "fast" };
            assert_eq!((&report["preset"], &report["mode"]), (&json!(preset), &json!("noa")));
            fixture.run("decompress a -o b --force").ok();
            let psnr = fixture.run("compare x b --dtype f32 --json").json()["psnr_db"].as_f64().unwrap();
            assert!((psnr - target).abs() < 1.0, "{preset} {target}: {psnr}");
        }
    }
}

#[test]
fn missed_targets_give_a_note() {
    let fixture = Fixture::new();
    write(&fixture, "x", &field(|n| n));
    for (options, says) in [
        ("--target-ratio 500000", &["--target-ratio is 500000, but the ratio is ", "specify --eb"][..]),
        (
            "--target-psnr 290",
            &["--target-psnr is 290 dB, but the peak signal-to-noise ratio is ", "specify --eb"],
        ),
        ("--target-psnr 290 --verify", &["--target-psnr is 290 dB"]),
    ] {
        let run = fixture.run(&format!("{LINE} {options}"));
        assert_eq!(run.code, Some(0), "{options}: {}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{options}: {}", run.err);
        for text in says {
            assert!(run.err.contains(text), "{options}: no `{text}` in {}", run.err);
        }
        if options.starts_with("--target-ratio") {
            let ratio = (4 * field(|n| n).len()) as f64 / container(&fixture).len() as f64;
            let said = run.err.split("the ratio is ").nth(1).unwrap().split(';').next().unwrap();
            assert!((said.parse::<f64>().unwrap() / ratio - 1.0).abs() < 0.01, "{said} {ratio}");
        }
    }
}

#[test]
fn given_value_bases_determine_the_bound() {
    let fixture = Fixture::new();
    write(&fixture, "x", &field(|n| n));
    for (preset, mode) in [("auto", "noa"), ("auto:ratio", "noa"), ("auto:speed", "prel"), ("auto", "prel")] {
        let options = format!("--preset {preset} --mode {mode} --eb 1e-3 --value-base 16");
        let report = fixture.run(&format!("{LINE} {options} --json")).json();
        assert_eq!(report["absolute_bound"], 0.016, "{options}");
        kept(&fixture, "--mode abs --eb 0.016");
        let worst = fixture.run("compare x b --dtype f32 --mode abs --eb 0.016 --json").json();
        let worst = worst["worst_error_over_bound"].as_f64().unwrap();
        assert!(worst > 0.5, "{options}: the base is not used, {worst}");
    }
    // A lossless pipeline does not use the base.
    write(&fixture, "x", &field(|n| (n * 3000.0).round() * 0.01));
    let report = fixture.run(&format!("{LINE} --eb 1e-9 --value-base 16 --json")).json();
    assert_eq!((&report["mode"], &report["absolute_bound"]), (&json!("lossless"), &Value::Null));
}

#[test]
fn fill_values_do_not_count_in_the_range() {
    let fixture = Fixture::new();
    let filled = |values: Vec<f32>| -> Vec<f32> {
        values.iter().enumerate().map(|(i, x)| if i % 60 < 20 { 1e20 } else { *x }).collect()
    };
    write(&fixture, "x", &filled(field(|n| n)));
    fixture.fails("compress x -o c --dtype f32 --dims 60x50x40 --eb 1e-3", 2, &["1e20", "--fill-value"]);
    for preset in ["auto", "auto:speed", "auto:ratio"] {
        for option in ["--fill-value 1e20", "--outlier-threshold 1e19"] {
            let line = format!("{LINE} --preset {preset} --eb 1e-3 {option} --json");
            let report = fixture.run(&line).json();
            assert!(report["absolute_bound"].as_f64().unwrap() < 2.1e-3, "{line}");
            let threshold = fixture.run("info a --json").json()["outlier_threshold"].as_f64().unwrap();
            assert!((1e19..=1.0001e20).contains(&threshold), "{line}: {threshold}");
            fixture.run("decompress a -o b --force").ok();
            let m =
                fixture.run("compare x b --dtype f32 --mode noa --eb 1e-3 --fill-value 1e20 --json").json();
            assert_eq!((&m["kept"], &m["exact_mismatches"]), (&json!(true), &json!(0)), "{line}");
        }
    }
    let report = fixture.run(&format!("{LINE} --target-psnr 60 --fill-value 1e20 --json")).json();
    assert!(report["error_bound"].as_f64().unwrap() < 0.1);
    let bytes = write(&fixture, "x", &filled(field(|n| (n * 3000.0).round() * 0.01)));
    let report = fixture.run(&format!("{LINE} --eb 1e-9 --fill-value 1e20 --json")).json();
    assert!(report["lattice"].is_string() && restored(&fixture) == bytes, "{report}");
}

#[test]
fn options_of_named_pipelines_use_the_default_preset() {
    let fixture = Fixture::new();
    write(&fixture, "x", &field(|n| n));
    for options in ["--set error_bound=1e-3", "--eb 1e-3 --slab 100K", "--eb 1e-3 --generation 2026-08"] {
        let report = fixture.run(&format!("{LINE} {options} --json")).json();
        assert_eq!((&report["preset"], &report["goal"]), (&json!("fast"), &Value::Null), "{options}");
    }
}

#[test]
fn contradictory_options_are_rejected() {
    let fixture = Fixture::new();
    write(&fixture, "x", &field(|n| n));
    let line = "compress x -o c --dtype f32";
    for (options, says) in [
        ("--eb 1e-3 --lossless", &["--lossless", "--eb"][..]),
        ("--mode abs --lossless", &["--lossless", "--mode"]),
        ("--eb 1e-3 --target-ratio 8", &["--target-ratio", "--eb"]),
        ("--mode noa --target-psnr 60", &["--target-psnr", "--mode"]),
        ("--target-psnr 60 --target-ratio 8", &["--target-psnr", "--target-ratio"]),
        ("--lossless --target-ratio 8", &["--lossless", "--target-ratio"]),
        ("--preset fast --lossless", &["--lossless chooses the pipeline", "--preset auto:ratio"]),
        ("--preset high --target-psnr 60", &["--target-psnr chooses the pipeline"]),
        ("--pipeline rze --lossless", &["--lossless chooses the pipeline", "--pipeline"]),
        (
            "--preset auto --eb 1e-3 --set quant_radius=5",
            &["auto chooses the pipeline", "--set", "--preset fast"],
        ),
        ("--preset auto:ratio --eb 1e-3 --slab 100K", &["auto:ratio chooses the pipeline", "--slab"]),
        ("--preset auto --eb 1e-3 --no-strict", &["auto chooses the pipeline", "--no-strict"]),
        ("--preset auto --eb 1e-3 --generation 2026-05", &["auto chooses the pipeline", "--generation"]),
        ("--lossless --set word_size=4", &["--lossless chooses the pipeline", "--set"]),
        ("--target-psnr 60 --slab 100K", &["--target-psnr chooses the pipeline", "--slab"]),
        (
            "--preset auto",
            &["preset auto requires", "--eb 1e-3", "--lossless", "--target-ratio", "--target-psnr"],
        ),
        ("--preset auto:ratio", &["preset auto:ratio requires"]),
        ("--mode abs", &["preset auto requires", "--eb"]),
        ("--preset fast", &["preset fast requires an error bound", "--eb"]),
        ("--lossless --slab 100K", &["--lossless chooses the pipeline", "pass --preset bits"]),
        ("--preset auto --lossless --slab 100K", &["auto chooses the pipeline", "pass --preset bits"]),
        ("--preset auto:size --eb 1e-3", &["`size`", "speed, balanced, ratio"]),
        ("--preset auto --eb -1", &["error_bound", "-1"]),
        ("--preset auto --eb nan", &["error_bound", "NaN"]),
        ("--preset auto --eb 1e-3 --mode exact", &["exact"]),
        ("--target-ratio 0.5", &["target_ratio", "0.5"]),
        ("--target-ratio nan", &["target_ratio", "NaN"]),
        ("--target-ratio many", &["--target-ratio", "`many` is not a number"]),
        ("--target-psnr -3", &["target_psnr", "-3"]),
        ("--target-psnr 301", &["target_psnr", "301"]),
        ("--lossless --fill-value 5", &["lossless", "--fill-value"]),
        ("--lossless --outlier-threshold 5", &["--outlier-threshold"]),
        ("--lossless --value-base 5", &["--value-base"]),
        ("--eb 1e-3 --mode abs --value-base 5", &["--value-base", "abs"]),
    ] {
        fixture.fails(&format!("{line} {options}"), 2, says);
    }
}
