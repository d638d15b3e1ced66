//! Results and output files of the commands.

use crate::fixture::Fixture;
use serde_json::Value;
use std::fs;

#[test]
fn round_trip_within_the_bound() {
    let fixture = Fixture::new();
    let report = fixture
        .run("compress egm96.f32 -o a.fzm --dtype f32 --dims 1440x721 --mode noa --eb 1e-3 --json")
        .json();
    let bytes = fs::metadata(fixture.path("a.fzm")).unwrap().len();
    assert_eq!(report["array_bytes"], 4_152_960);
    assert_eq!(report["container_bytes"], bytes);
    assert_eq!(report["dims"], serde_json::json!([1440, 721]));
    let near = |a: &Value, b: f64| assert!((a.as_f64().unwrap() - b).abs() < 1e-9 * b, "{a} {b}");
    near(&report["ratio"], 4_152_960.0 / bytes as f64);
    near(&report["bits_per_value"], 8.0 * bytes as f64 / 1_038_240.0);
    assert!(report["gb_per_s"].as_f64().unwrap() > 0.0);

    let report = fixture.run("decompress a.fzm -o b.f32 --json").json();
    assert_eq!(report["array_bytes"], 4_152_960);
    assert_eq!(fixture.names(), ["a.fzm", "b.f32", "egm96.f32"]);
    let m = fixture
        .run("compare egm96.f32 b.f32 --dtype f32 --mode noa --eb 1e-3 --compressed a.fzm --json")
        .json();
    let worst = m["worst_error_over_bound"].as_f64().unwrap();
    assert!(worst > 0.9 && worst <= 1.0, "{worst}");
    assert_eq!((&m["kept"], &m["violations"]), (&Value::Bool(true), &Value::from(0)));
    assert_eq!(m["container_bytes"], bytes);
    assert!(m["psnr_db"].as_f64().unwrap() > 60.0);
}

/// Commands `compress` and `compare` support the same modes.
#[test]
fn every_mode_is_kept_and_compared() {
    let fixture = Fixture::new();
    for mode in ["abs", "noa", "rel", "prel"] {
        fixture.run(&format!("compress egm96.f32 -o m.fzm --force --dtype f32 --mode {mode} --eb 1e-3")).ok();
        fixture.run("decompress m.fzm -o m.f32 --force").ok();
        let compare = format!("compare egm96.f32 m.f32 --dtype f32 --mode {mode} --json --eb");
        assert_eq!(fixture.run(&format!("{compare} 1e-3")).json()["violations"], 0, "{mode}");
        assert_eq!(fixture.run(&format!("{compare} 9e-4")).code, Some(1), "{mode}: the bound is not used");
        let info = fixture.run("info m.fzm --json").json();
        assert_eq!((info["mode"].as_str(), info["bound"].as_f64()), (Some(mode), Some(1e-3)));
    }
}

/// Only bounds that are relative to the value range or the largest magnitude have a base.
#[test]
fn info_names_the_base_of_a_relative_bound() {
    let fixture = Fixture::new();
    for (preset, mode) in
        ["pfpl", "fz", "fast"].into_iter().flat_map(|p| ["abs", "noa", "prel"].map(|m| (p, m)))
    {
        let line = "compress egm96.f32 -o a --force --dtype f32 --eb 1e-3";
        fixture.run(&format!("{line} --preset {preset} --mode {mode}")).ok();
        let info = fixture.run("info a --json").json();
        let said = |name: &str| info["stages"][0]["params"][name].as_f64();
        let (range, magnitude) = (said("value_range"), said("largest_magnitude"));
        assert_eq!(
            (range.is_some(), magnitude.is_some()),
            (mode == "noa", mode == "prel"),
            "{preset} {mode}"
        );
        // The heights of the geoid are between -106 m and 85 m.
        assert!(range.is_none_or(|r| (190.0..193.0).contains(&r)), "{preset}: {range:?}");
        assert!(magnitude.is_none_or(|m| (105.0..108.0).contains(&m)), "{preset}: {magnitude:?}");
    }
}

#[test]
fn lossless_and_compact() {
    let fixture = Fixture::new();
    for (container, magic) in [("fzm", b"2ZMF"), ("compact", b"FZC1")] {
        fixture
            .run(&format!(
                "compress egm96.f32 -o a --force --dtype f32 --preset bits --container {container}"
            ))
            .ok();
        assert_eq!(&fs::read(fixture.path("a")).unwrap()[..4], magic);
        fixture.run("decompress a -o b --force").ok();
        assert_eq!(fs::read(fixture.path("b")).unwrap(), fs::read(fixture.path("egm96.f32")).unwrap());
        let info = fixture.run("info a --json").json();
        assert_eq!((&info["container"], &info["mode"]), (&container.into(), &"lossless".into()));
    }
    let m = fixture.run("compare egm96.f32 b --dtype f32 --json").json();
    assert_eq!((&m["psnr_db"], &m["worst_error_over_bound"]), (&"inf".into(), &Value::Null));
}

#[test]
fn options_reach_the_container() {
    let fixture = Fixture::new();
    fixture.run("compress egm96.f32 -o a --dtype f32 --dims 721,1440 --preset pfpl --mode abs --set error_bound=0.5 --outlier-threshold 100 --set difference.chunk_size=8192")
        .ok();
    let info = fixture.run("info a --json --plan").json();
    assert_eq!(info["dims"], serde_json::json!([721, 1440]));
    assert_eq!((info["mode"].as_str(), info["bound"].as_f64()), (Some("abs"), Some(0.5)));
    assert_eq!((info["outlier_threshold"].as_f64(), &info["strict"]), (Some(100.0), &Value::Bool(true)));
    let names: Vec<&str> =
        info["stages"].as_array().unwrap().iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(names, ["quantizer", "difference", "bitshuffle", "rze"]);
    assert_eq!(info["stages"][1]["params"]["chunk_size"], 8192);
    assert_eq!(info["stages"][0]["inputs"], serde_json::json!(["array"]));
    assert_eq!(info["stages"][1]["inputs"][0]["stage"], 0);
    assert!(info["plan"][0].as_str().unwrap().starts_with("plan Decode"));
    assert!(info["segments"][0]["bytes"].as_u64().unwrap() > 0);

    // The device `auto` is the CPU, because files are read into host memory.
    assert_eq!(fixture.run("compress egm96.f32 -o b --dtype f32 --eb 1e-3 --json").json()["device"], "cpu");

    let threads = |n: u32| {
        fixture.run(&format!("compress egm96.f32 -o t --force --dtype f32 --eb 1e-4 --threads {n}")).ok();
        fs::read(fixture.path("t")).unwrap()
    };
    assert_eq!(threads(1), threads(3));
}

#[test]
fn info_numbers_stages_of_one_type() {
    let fixture = Fixture::new();
    let stage = |name: &str, kind: &str, input: &str| {
        format!("[[stage]]\nname = \"{name}\"\ntype = \"{kind}\"\ninputs = [{{ from = {input} }}]\n")
    };
    let file = [
        "[[stage]]\nname = \"q\"\ntype = \"quantizer\"\nmode = \"noa\"\nerror_bound = 1e-3\n".into(),
        stage("a", "difference", "\"q\", port = \"codes\""),
        stage("b", "difference", "\"q\", port = \"outlier_idxs\""),
        stage("c", "rze", "\"a\""),
        stage("d", "bitshuffle", "\"b\""),
    ];
    fixture.write("own.toml", file.concat().as_bytes());
    fixture.run("compress egm96.f32 -o a --dtype f32 --config own.toml").ok();
    let text = fixture.run("info a").ok();
    for line in [
        "stage 0    quantizer <- array",
        "stage 2    difference <- quantizer.outlier_idxs",
        "stage 3    rze <- 1 difference.output",
        "stage 4    bitshuffle <- 2 difference.output",
        "segment    rze.output, ",
        "segment    quantizer.outlier_vals, ",
    ] {
        assert!(text.lines().any(|l| l.starts_with(line)), "no `{line}` in {text}");
    }
    // A segment of one of two stages of a type has the number too.
    fixture.write("own.toml", file[..3].concat().replace("\"difference\"", "\"rze\"").as_bytes());
    fixture.run("compress egm96.f32 -o b --dtype f32 --config own.toml").ok();
    let text = fixture.run("info b").ok();
    for line in
        ["segment    1 rze.output, ", "segment    2 rze.output, ", "segment    quantizer.outlier_vals, "]
    {
        assert!(text.contains(line), "no `{line}` in {text}");
    }
}

/// A note announces that a file of generation 2026-05 without `strict` does not contain the shape.
#[test]
fn files_without_their_shape_are_announced() {
    let fixture = Fixture::new();
    let base = "compress egm96.f32 --dtype f32 --dims 1440x721 --eb 1e-3 --json";
    let run = fixture.run(&format!("{base} -o old --generation 2026-05 --no-strict --no-checksum"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.starts_with("fzgm: ") && run.err.lines().count() == 1, "{}", run.err);
    for word in ["shape", "unpadded length", "one dimension"] {
        assert!(run.err.contains(word), "no `{word}` in {}", run.err);
    }
    assert_eq!(run.out.lines().count(), 1);
    let info = fixture.run("info old --json").json();
    assert_ne!(info["strict"], true);
    assert_eq!(info["dims"].as_array().unwrap().len(), 1);
    // With only one of the two options the file contains the shape, and there is no note.
    for options in ["--generation 2026-05", "--no-strict"] {
        fixture.run(&format!("{base} -o new --force {options}")).json();
        assert_eq!(
            fixture.run("info new --json").json()["dims"],
            serde_json::json!([1440, 721]),
            "{options}"
        );
    }
}

/// Each stage lists the modes that it accepts, as text and as JSON.
#[test]
fn stages_list_their_modes() {
    let fixture = Fixture::new();
    let (all, lines) = (fixture.run("stages --json").json(), fixture.run("stages").ok());
    let mut listed = vec![];
    for stage in all["stages"].as_array().unwrap() {
        let mode = stage["params"].as_array().unwrap().iter().find(|p| p["name"] == "mode");
        let Some(mode) = mode else { continue };
        let name = stage["name"].as_str().unwrap();
        let words: Vec<&str> = mode["choices"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let one_of = format!("One of {}\n", words.join(", "));
        assert!(fixture.run(&format!("stages {name}")).ok().contains(&one_of), "{name}: {one_of}");
        listed.push((name.to_string(), words.contains(&"rel")));
    }
    listed.sort();
    let expected = ["fast", "ginterp", "lorenzo_quant", "multilevel", "quantizer"];
    let expected = expected.map(|name| (name.to_string(), name == "quantizer"));
    assert_eq!(listed, expected);
    assert_eq!(lines.matches("One of abs, noa, rel, prel").count(), 1, "{lines}");
    // The mode is rejected with a reason, and a word that is no mode with the list.
    let line = "compress egm96.f32 -o x --dtype f32 --eb 1e-3 --preset fast --mode";
    fixture.fails(&format!("{line} rel"), 5, &["mode rel", "pfpl"]);
    fixture.fails(&format!("{line} abc"), 2, &["one of abs, noa, prel"]);
}

#[test]
fn listings_and_bench() {
    let fixture = Fixture::new();
    let stages = fixture.run("stages --json").json();
    let stages = stages["stages"].as_array().unwrap();
    let quantizer = stages.iter().find(|s| s["name"] == "quantizer").unwrap();
    let bound = quantizer["params"].as_array().unwrap().iter().find(|p| p["name"] == "error_bound").unwrap();
    assert_eq!((&bound["kind"], bound["default"].as_f64()), (&"real".into(), Some(1e-3)));
    assert!(fixture.run("stages").ok().contains("quantizer (id 0x000e)"));
    let named = fixture.run("stages rze fast").ok();
    assert!(
        named.starts_with("rze (id ")
            && named.contains("\nfast (id 0x8020)")
            && !named.contains("quantizer (")
    );
    let presets = fixture.run("presets --json").json();
    assert_eq!(presets["presets"][0]["stages"][0]["name"], "quantizer");
    assert!(fixture.run("presets --dtype u8").ok().contains("not for u8"));

    let bench =
        fixture.run("bench egm96.f32 --dtype f32 --preset pfpl --preset bits --eb 1e-2,1e-3 --threads 1,2 --runs 2 --json");
    // Each --eb has one bound.
    assert_eq!(bench.code, Some(2));
    let bench = fixture
        .run("bench egm96.f32 --dtype f32 --preset pfpl --preset bits --eb 1e-2 --eb 1e-3 --threads 1,2 --runs 2 --json")
        .json();
    assert_eq!(bench["rows"].as_array().unwrap().len(), 6);
    for row in bench["rows"].as_array().unwrap() {
        assert_eq!(row["kept"], true);
        assert!(row["compress_gb_per_s"].as_f64().unwrap() > 0.0 && row["ratio"].as_f64().unwrap() > 1.0);
    }
    assert!(bench["memcpy_gb_per_s"].as_f64().unwrap() > 0.0);
    assert_eq!(bench["failed"], serde_json::json!([]));
}

/// A row that cannot be measured does not stop the others. The first one determines the exit code.
#[test]
fn failed_rows_of_a_benchmark_are_listed() {
    let fixture = Fixture::new();
    let line =
        "bench egm96.f32 --dtype f32 --preset fast --preset pfpl --preset fz --mode rel --threads 1 --runs 1";
    let run = fixture.run(&format!("{line} --json"));
    assert_eq!((run.code, run.out.lines().count()), (Some(5), 1), "{}", run.err);
    let notes: Vec<&str> = run.err.lines().collect();
    assert_eq!(notes.len(), 3, "{}", run.err);
    assert!(notes[0].starts_with("fzgm: fast, rel 1e-3, 1 thread: fast: mode rel"), "{}", notes[0]);
    assert!(notes[1].starts_with("fzgm: fz, rel 1e-3, 1 thread: lorenzo_quant: mode rel"), "{}", notes[1]);
    assert_eq!(notes[2], "fzgm: 2 of 3 rows could not be measured");
    let bench: Value = serde_json::from_str(&run.out).unwrap();
    let rows = bench["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["preset"], &rows[0]["kept"]), (1, &"pfpl".into(), &true.into()));
    let failed = bench["failed"].as_array().unwrap();
    assert_eq!((failed.len(), &failed[0]["preset"], &failed[1]["preset"]), (2, &"fast".into(), &"fz".into()));
    for key in ["pipeline", "mode", "eb", "value_base", "threads"] {
        assert_eq!(failed[0][key], rows[0][key], "{key}");
    }
    assert!(failed[0]["error"].as_str().unwrap().contains("mode rel"));
    assert_eq!(failed[0]["exit_code"], 5);

    let table = fixture.run(&format!("{line} --csv"));
    assert_eq!((table.code, table.out.lines().count(), table.err.lines().count()), (Some(5), 2, 3));
    let text = fixture.run(line);
    assert_eq!((text.code, text.err.lines().count()), (Some(5), 3));
    assert!(text.out.lines().last().unwrap().starts_with("pfpl "), "{}", text.out);

    // If all rows fail, there is still a report.
    let none =
        fixture.run("bench egm96.f32 --dtype f32 --preset fast --mode rel --threads 1,2 --runs 1 --json");
    let bench: Value = serde_json::from_str(&none.out).unwrap();
    assert_eq!((none.code, bench["rows"].as_array().unwrap().len()), (Some(5), 0));
    assert_eq!(bench["failed"].as_array().unwrap().len(), 2);
}

#[test]
fn empty_arrays_are_supported() {
    let fixture = Fixture::new();
    fixture.write("empty", b"");
    let report = fixture.run("compress empty -o a --dtype f32 --eb 1e-3 --json").json();
    assert!(report["bits_per_value"].is_null(), "{report}");
    // An array without values has no bits per value.
    let text = fixture.run("compress empty -o a --force --dtype f32 --eb 1e-3").ok();
    assert!(
        text.contains(": 0 of f32, 0 bytes\n") && !text.contains("inf") && !text.contains("bits"),
        "{text}"
    );
    let text = fixture.run("compare empty empty --dtype f32 --compressed a").ok();
    assert!(text.contains("ratio") && !text.contains("bits per value"), "{text}");
    fixture.run("decompress a -o b --json").json();
    assert_eq!(fs::read(fixture.path("b")).unwrap(), b"");
    fixture.run("info a --plan").ok();
    fixture.run("compare empty b --dtype f32 --mode noa --eb 1e-3 --compressed a --json").json();
    fixture.run("bench empty --dtype f32 --runs 1 --json").json();
    // A slab file without slabs has no first slab to describe.
    fixture.run("compress empty -o s --dtype f32 --dims 5x0 --eb 1e-3 --slab 1K").ok();
    let said = fixture.run("info s").ok();
    assert!(said.contains("0 slabs") && !said.contains("first slab"), "{said}");
    for form in ["--text", "--toml"] {
        fixture.fails(&format!("info s {form}"), 5, &["s: ", "no slabs"]);
    }
}

/// A custom pipeline that equals a preset gives the same container.
#[test]
fn custom_pipelines_equal_presets() {
    let fixture = Fixture::new();
    let field = "--dtype f32 --dims 1440x721";
    fixture.run(&format!("compress egm96.f32 -o preset.fzm {field} --preset fz --eb 1e-3")).ok();
    let want = fs::read(fixture.path("preset.fzm")).unwrap();
    let same = |options: &str| {
        let report =
            fixture.run(&format!("compress egm96.f32 -o own.fzm --force {field} --json {options}")).ok();
        assert!(fs::read(fixture.path("own.fzm")).unwrap() == want, "{options}");
        serde_json::from_str::<Value>(&report).unwrap()
    };
    let chain = "lorenzo_quant(mode=noa,zigzag=true)>bitshuffle(width=2)>rze";
    let report = same(&format!("--pipeline {chain}"));
    assert!(report["pipeline"] == chain && report["preset"].is_null());
    same(&format!("--pipeline {} --mode noa --eb 1e-3", chain.replace("mode=noa", "mode=abs,eb=5")));
    fixture.write("fz.toml", fixture.run("presets --toml fz").ok().as_bytes());
    let report = same("--config fz.toml");
    assert_eq!(report["pipeline"], "fz.toml");
    same("--config fz.toml --set element_width=2");
    assert!(same("--preset fz --eb 1e-3")["pipeline"].is_null());
    assert_eq!(fixture.run("info --stages").ok(), fixture.run("stages").ok());

    // The bound of the pipeline itself is checked. A lossless pipeline has none.
    let bench =
        "bench egm96.f32 --dtype f32 --threads 1 --runs 1 --json --config fz.toml --pipeline rze(word=4)";
    let report: Value = serde_json::from_str(&fixture.run(bench).ok()).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{rows:?}");
    let row = |name: &str| rows.iter().find(|r| r["pipeline"] == name).unwrap();
    assert!(
        row("fz.toml")["mode"] == "noa" && row("fz.toml")["eb"] == 1e-3 && row("fz.toml")["kept"] == true
    );
    assert!(row("rze(word=4)")["mode"] == "lossless" && row("rze(word=4)")["kept"] == true);
    let report: Value =
        serde_json::from_str(&fixture.run(&format!("{bench} --eb 1e-2 --eb 1e-4 --value-base")).ok())
            .unwrap();
    assert_eq!(report["rows"].as_array().unwrap().len(), 5);

    // The file selects the exact form of the reference, which does not contain the shape.
    let old = format!(
        "[pipeline]\nstrict = false\ngeneration = \"2026-05\"\n{}",
        fixture.run("presets --toml fz").ok()
    );
    fixture.write("old.toml", old.as_bytes());
    assert!(
        fixture
            .run(&format!("compress egm96.f32 -o old.fzm {field} --config old.toml"))
            .err
            .contains("padding")
    );
    assert!(fs::read(fixture.path("old.fzm")).unwrap() != want);
}

/// A compression with the pipeline that `info` prints gives the same container.
#[test]
fn pipelines_of_containers_can_be_used_again() {
    let fixture = Fixture::new();
    let field = "egm96.f32 --dtype f32 --dims 1440x721";
    fixture.run(&format!("compress {field} -o a --mode noa --eb 3e-4 --preset fz")).ok();
    let toml = fixture.run("info a --toml").ok();
    fs::write(fixture.path("a.toml"), &toml).unwrap();
    fixture.run(&format!("compress {field} -o b --config a.toml")).ok();
    let line = fixture.run("info a --text").ok();
    assert!(
        line.contains("0.0003") && line.trim_end().ends_with("rze") && line.lines().count() == 1,
        "{line}"
    );
    fixture.run(&format!("compress {field} -o c --pipeline {}", line.trim_end().replace(" > ", ">"))).ok();
    let a = fs::read(fixture.path("a")).unwrap();
    assert!(fs::read(fixture.path("b")).unwrap() == a && fs::read(fixture.path("c")).unwrap() == a);
    // A pipeline with strict = false is not a chain and can only be printed as TOML.
    fixture.run(&format!("compress {field} -o d --no-strict --eb 1e-3")).ok();
    assert!(fixture.run("info d --toml").ok().contains("strict = false"));
    let run = fixture.run("info d --text");
    assert!(run.code == Some(5) && run.err.contains("fzgm info --toml"), "{}", run.err);
    // Codes of 32 bits are as long as the values, so the array is stored uncompressed.
    let said = fixture.run(&format!("compress {field} -o e --pipeline ginterp(code_type=u32)")).ok();
    assert!(said.contains("stored uncompressed"), "{said}");
    assert!(fixture.run("stages ginterp").ok().contains("0x8016"));
}
