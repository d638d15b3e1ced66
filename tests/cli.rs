//! The command line as scripts see it: exit codes, streams, files.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fzgm");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A directory of its own with the example field, removed at the end.
struct Bench(PathBuf);

impl Bench {
    fn new() -> Bench {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("fzgm-cli-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::copy(Path::new(ROOT).join("examples/data/egm96.f32"), dir.join("egm96.f32")).unwrap();
        Bench(dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn run(&self, line: &str) -> Run {
        let output = Command::new(PROGRAM).args(line.split(' ')).current_dir(&self.0).output().unwrap();
        Run::new(line, output)
    }

    fn compressed(&self) -> Vec<u8> {
        self.run("compress egm96.f32 -o a.fzm --dtype f32 --dims 1440x721 --eb 1e-3").ok();
        fs::read(self.path("a.fzm")).unwrap()
    }

    /// Runs a line that has to fail and leave the directory as it was.
    fn fails(&self, line: &str, code: i32, says: &[&str]) {
        let before = self.names();
        let run = self.run(line);
        assert_eq!(run.code, Some(code), "{line}: {}", run.err);
        assert!(run.err.starts_with("fzgm: "), "{line}: {}", run.err);
        assert!(!run.err.contains("panicked"), "{line}: {}", run.err);
        assert_eq!(run.out, "", "{line}");
        for text in says {
            assert!(run.err.contains(text), "{line}: no `{text}` in {}", run.err);
        }
        assert_eq!(self.names(), before, "{line}");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Run {
    line: String,
    code: Option<i32>,
    out: String,
    err: String,
}

impl Run {
    fn new(line: &str, output: Output) -> Run {
        Run {
            line: line.into(),
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Done, with a result on stdout and silence on stderr.
    fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.line);
        assert!(!self.out.is_empty(), "{}", self.line);
        self.out
    }

    fn json(self) -> Value {
        let line = self.line.clone();
        let out = self.ok();
        assert_eq!(out.lines().count(), 1, "{line}");
        serde_json::from_str(&out).unwrap()
    }
}

#[test]
fn round_trip_within_the_bound() {
    let b = Bench::new();
    let report =
        b.run("compress egm96.f32 -o a.fzm --dtype f32 --dims 1440x721 --mode noa --eb 1e-3 --json").json();
    let bytes = fs::metadata(b.path("a.fzm")).unwrap().len();
    assert_eq!(report["array_bytes"], 4_152_960);
    assert_eq!(report["container_bytes"], bytes);
    assert_eq!(report["dims"], serde_json::json!([1440, 721]));
    let near = |a: &Value, b: f64| assert!((a.as_f64().unwrap() - b).abs() < 1e-9 * b, "{a} {b}");
    near(&report["ratio"], 4_152_960.0 / bytes as f64);
    near(&report["bits_per_value"], 8.0 * bytes as f64 / 1_038_240.0);
    assert!(report["gb_per_s"].as_f64().unwrap() > 0.0);

    let report = b.run("decompress a.fzm -o b.f32 --json").json();
    assert_eq!(report["array_bytes"], 4_152_960);
    assert_eq!(b.names(), ["a.fzm", "b.f32", "egm96.f32"]);
    let m =
        b.run("compare egm96.f32 b.f32 --dtype f32 --mode noa --eb 1e-3 --compressed a.fzm --json").json();
    let worst = m["worst_error_over_bound"].as_f64().unwrap();
    assert!(worst > 0.9 && worst <= 1.0, "{worst}");
    assert_eq!((&m["kept"], &m["violations"]), (&Value::Bool(true), &Value::from(0)));
    assert_eq!(m["container_bytes"], bytes);
    assert!(m["psnr_db"].as_f64().unwrap() > 60.0);
}

#[test]
fn lossless_and_compact() {
    let b = Bench::new();
    for (container, magic) in [("fzm", b"2ZMF"), ("compact", b"FZC1")] {
        b.run(&format!("compress egm96.f32 -o a --force --dtype f32 --preset bits --container {container}"))
            .ok();
        assert_eq!(&fs::read(b.path("a")).unwrap()[..4], magic);
        b.run("decompress a -o b --force").ok();
        assert_eq!(fs::read(b.path("b")).unwrap(), fs::read(b.path("egm96.f32")).unwrap());
        let info = b.run("info a --json").json();
        assert_eq!((&info["container"], &info["mode"]), (&container.into(), &"lossless".into()));
    }
    let m = b.run("compare egm96.f32 b --dtype f32 --json").json();
    assert_eq!((&m["psnr_db"], &m["worst_error_over_bound"]), (&"inf".into(), &Value::Null));
}

#[test]
fn options_reach_the_container() {
    let b = Bench::new();
    b.run("compress egm96.f32 -o a --dtype f32 --dims 721,1440 --mode abs --eb 0.5 --outlier-threshold 100 --set difference.chunk_size=8192")
        .ok();
    let info = b.run("info a --json --plan").json();
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

    let threads = |n: u32| {
        b.run(&format!("compress egm96.f32 -o t --force --dtype f32 --eb 1e-4 --threads {n}")).ok();
        fs::read(b.path("t")).unwrap()
    };
    assert_eq!(threads(1), threads(3));
    b.run("compress egm96.f32 -o old --dtype f32 --eb 1e-3 --generation 2026-05 --no-strict --no-checksum")
        .ok();
    assert_ne!(b.run("info old --json").json()["strict"], true);
}

#[test]
fn usage_is_exit_2() {
    let b = Bench::new();
    b.compressed();
    b.run("decompress a.fzm -o b.f32").ok();
    let base = "compress egm96.f32 -o x --dtype f32";
    for (line, says) in [
        ("", &["subcommand"][..]),
        ("squash", &["squash"]),
        ("compress egm96.f32 -o x", &["--dtype"]),
        (&format!("{base} --eb 1e-3 --dims 1440x720"), &["4152960 bytes", "1440x720", "4147200"]),
        (&format!("{base} --eb 1e-3 --dims 1440xx721"), &["dimension"]),
        (&format!("{base} --eb 1e-3 --dims 1x2x3x4"), &["at most 3"]),
        (&format!("{base} --eb 1e-3 --dims 4611686018427387904x4"), &["dims"]),
        (base, &["--eb"]),
        (&format!("{base} --eb -1"), &["error_bound", "-1"]),
        (&format!("{base} --eb nan"), &["error_bound", "NaN"]),
        (&format!("{base} --eb 1e-3 --mode exact"), &["mode", "exact"]),
        (&format!("{base} --eb 1e-3 --preset zip"), &["zip", "pfpl, bits"]),
        (&format!("{base} --preset bits --eb 1e-3"), &["lossless", "--eb"]),
        (&format!("{base} --preset bits --mode abs"), &["lossless", "--mode"]),
        (&format!("{base} --preset bits --outlier-threshold 5"), &["--outlier-threshold"]),
        (&format!("{base} --eb 1e-3 --set radius=5"), &["radius", "quant_radius"]),
        (&format!("{base} --eb 1e-3 --set zigzag.radius=5"), &["no stage zigzag"]),
        (&format!("{base} --eb 1e-3 --set rle.radius=5"), &["no stage `rle`"]),
        (&format!("{base} --eb 1e-3 --set quantizer.quant_radius=five"), &["quantizer.quant_radius", "five"]),
        (&format!("{base} --eb 1e-3 --set quant_radius"), &["PARAM=VALUE"]),
        ("compare egm96.f32 a.fzm --dtype f32", &["4152960", "one type and shape"]),
        ("compare egm96.f32 b.f32 --dtype f32 --eb 1", &["--mode"]),
        ("compare egm96.f32 b.f32 --dtype f32 --mode psnr --eb 1", &["psnr", "prel"]),
        ("compare egm96.f32 b.f32 --dtype f31", &["f31"]),
        ("bench egm96.f32 --dtype f32 --runs 0", &["--runs"]),
    ] {
        b.fails(line.trim(), 2, says);
    }
    b.write("odd", &[0; 7]);
    b.fails("compress odd -o x --dtype f32 --eb 1", 2, &["7 bytes", "4 bytes"]);
}

#[test]
fn files_are_exit_3() {
    let b = Bench::new();
    let before = b.compressed();
    fs::create_dir(b.path("dir")).unwrap();
    let compress = "compress egm96.f32 --dtype f32 --eb 1e-3";
    for (line, says) in [
        ("compress none -o x --dtype f32 --eb 1e-3", &["cannot read none"][..]),
        ("compress dir -o x --dtype f32 --eb 1e-3", &["cannot read dir"]),
        ("decompress none -o x", &["cannot read none"]),
        ("info none", &["cannot read none"]),
        ("compare egm96.f32 none --dtype f32", &["cannot read none"]),
        ("compare egm96.f32 egm96.f32 --dtype f32 --compressed none", &["cannot read none"]),
        ("bench none --dtype f32", &["cannot read none"]),
        (&format!("{compress} -o a.fzm"), &["a.fzm exists", "--force"]),
        (&format!("{compress} -o dir"), &["dir is no regular file"]),
        (&format!("{compress} -o dir --force"), &["dir is no regular file"]),
        (&format!("{compress} -o none/x"), &["cannot write none/x"]),
        ("decompress a.fzm -o egm96.f32", &["egm96.f32 exists"]),
        ("decompress a.fzm -o dir --force", &["dir is no regular file"]),
    ] {
        b.fails(line, 3, says);
    }
    assert_eq!(fs::read(b.path("a.fzm")).unwrap(), before);
}

#[test]
fn damaged_containers_are_exit_4() {
    let b = Bench::new();
    let good = b.compressed();
    b.fails("decompress egm96.f32 -o x", 4, &["not a container"]);
    b.fails("info egm96.f32", 4, &["not a container"]);
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let mut unknown = good.clone();
    unknown[80..82].copy_from_slice(&999_u16.to_le_bytes());
    for bytes in [&[][..], b"FZ", &good[..40], &good[..300], &good[..good.len() - 1], &flipped, &unknown] {
        b.write("bad", bytes);
        b.fails("decompress bad -o x", 4, &["bad: "]);
    }
    b.write("bad", &good[..300]);
    b.fails("info bad --plan", 4, &["bad: "]);
    // A bad container does not cost the file that is there.
    b.write("x", b"precious");
    b.fails("decompress bad -o x --force", 4, &[]);
    assert_eq!(fs::read(b.path("x")).unwrap(), b"precious");
}

#[test]
fn any_damage_is_a_message() {
    let b = Bench::new();
    let good = b.compressed();
    for at in (0..good.len().min(2400)).step_by(37) {
        let mut bad = good.clone();
        bad[at] = bad[at].wrapping_add(101);
        b.write("bad", &bad);
        for line in ["decompress bad -o x --no-checksum", "info bad --plan"] {
            let run = b.run(line);
            assert!(matches!(run.code, Some(0 | 4 | 5)), "byte {at}, {line}: {:?} {}", run.code, run.err);
            let _ = fs::remove_file(b.path("x"));
        }
        assert_eq!(b.names(), ["a.fzm", "bad", "egm96.f32"]);
    }
}

#[test]
fn requests_beyond_the_library_are_exit_5() {
    let b = Bench::new();
    b.compressed();
    b.fails("decompress a.fzm -o x --max-memory 1000000", 5, &["--max-memory", "1000000"]);
    b.fails("compress egm96.f32 -o x --dtype i32 --eb 1", 5, &["pfpl", "bits"]);
    b.fails(
        "compress egm96.f32 -o x --dtype f32 --eb 1 --generation 2026-05 --container compact",
        5,
        &["fzm"],
    );
    b.run("decompress a.fzm -o x --max-memory 100000000").ok();
}

#[test]
fn violations_are_exit_1() {
    let b = Bench::new();
    let floats = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    b.write("a", &floats(&[0.0, 1.0, 2.0, f32::NAN, 1e20]));
    b.write("b", &floats(&[0.0, 1.5, 2.0, f32::NAN, 1e20]));
    b.write("c", &floats(&[0.0, 1.0, 2.0, 0.0, 1e20]));
    b.write("d", &floats(&[0.0, 1.0, f32::NAN, f32::NAN, 2e20]));
    let ok = b.run("compare a b --dtype f32 --mode noa --eb 0.25 --outlier-threshold 1e20 --json").json();
    assert_eq!((ok["allowed_error"].as_f64(), ok["worst_error_over_bound"].as_f64()), (Some(0.5), Some(1.0)));
    for (line, violations, exact, non_finite) in [
        ("compare a b --dtype f32 --mode abs --eb 0.49", 1, 0, 0),
        ("compare a b --dtype f32 --mode rel --eb 0.4999", 1, 0, 0),
        ("compare a b --dtype f32 --mode noa --eb 0.24 --outlier-threshold 1e20", 1, 0, 0),
        ("compare a c --dtype f32 --mode abs --eb 1", 0, 1, 1),
        ("compare a d --dtype f32 --mode prel --eb 1 --outlier-threshold 1e20", 1, 1, 1),
    ] {
        let run = b.run(&format!("{line} --json"));
        assert_eq!(run.code, Some(1), "{line}: {}", run.err);
        assert!(run.err.starts_with("fzgm: "), "{line}: {}", run.err);
        let m: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(m["kept"], false, "{line}");
        for (key, count) in
            [("violations", violations), ("exact_mismatches", exact), ("non_finite_mismatches", non_finite)]
        {
            assert_eq!(m[key], count, "{line}: {key}");
        }
    }
    // Without a bound there is nothing to violate, but NaN does not go unseen.
    b.run("compare a b --dtype f32").ok();
    assert_eq!(b.run("compare a c --dtype f32").code, Some(1));
}

#[test]
fn listings_and_bench() {
    let b = Bench::new();
    let stages = b.run("stages --json").json();
    let stages = stages["stages"].as_array().unwrap();
    let quantizer = stages.iter().find(|s| s["name"] == "quantizer").unwrap();
    let bound = quantizer["params"].as_array().unwrap().iter().find(|p| p["name"] == "error_bound").unwrap();
    assert_eq!((&bound["kind"], bound["default"].as_f64()), (&"real".into(), Some(1e-3)));
    assert!(b.run("stages").ok().contains("quantizer (id 0x000e)"));
    let presets = b.run("presets --json").json();
    assert_eq!(presets["presets"][0]["stages"][0]["name"], "quantizer");
    assert!(b.run("presets --dtype u8").ok().contains("not for u8"));

    let bench =
        b.run("bench egm96.f32 --dtype f32 --preset pfpl --preset bits --eb 1e-2,1e-3 --threads 1,2 --runs 2 --json");
    // One bound per option.
    assert_eq!(bench.code, Some(2));
    let bench = b
        .run("bench egm96.f32 --dtype f32 --preset pfpl --preset bits --eb 1e-2 --eb 1e-3 --threads 1,2 --runs 2 --json")
        .json();
    assert_eq!(bench["rows"].as_array().unwrap().len(), 6);
    for row in bench["rows"].as_array().unwrap() {
        assert_eq!(row["kept"], true);
        assert!(row["compress_gb_per_s"].as_f64().unwrap() > 0.0 && row["ratio"].as_f64().unwrap() > 1.0);
    }
    assert!(bench["memcpy_gb_per_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn empty_arrays_are_arrays() {
    let b = Bench::new();
    b.write("empty", b"");
    b.run("compress empty -o a --dtype f32 --eb 1e-3 --json").json();
    b.run("decompress a -o b --json").json();
    assert_eq!(fs::read(b.path("b")).unwrap(), b"");
    b.run("info a --plan").ok();
    b.run("compare empty b --dtype f32 --mode noa --eb 1e-3 --compressed a --json").json();
    b.run("bench empty --dtype f32 --runs 1 --json").json();
}

#[test]
fn help_is_a_result() {
    let b = Bench::new();
    assert!(b.run("--help").ok().contains("Exit codes:"));
    assert!(b.run("compress --help").ok().contains("--outlier-threshold"));
    assert!(b.run("compare --help").ok().contains("exactly"));
    assert!(b.run("--version").ok().starts_with("fzgm "));
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_leaves_is_no_failure() {
    let b = Bench::new();
    let mut child =
        Command::new(PROGRAM).arg("stages").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let run = Run::new("stages", child.wait_with_output().unwrap());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));

    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(PROGRAM).arg("stages").stdout(full).output().unwrap();
    let run = Run::new("stages", output);
    assert_eq!(run.code, Some(3));
    assert!(run.err.starts_with("fzgm: cannot write to standard output"), "{}", run.err);

    // The file behind a link is replaced, and a device never.
    b.write("file", b"old");
    std::os::unix::fs::symlink("file", b.path("link")).unwrap();
    b.run("compress egm96.f32 -o link --force --dtype f32 --eb 1e-3").ok();
    assert!(fs::symlink_metadata(b.path("link")).unwrap().is_symlink());
    assert!(fs::read(b.path("file")).unwrap().starts_with(b"2ZMF"));
    b.fails("compress egm96.f32 -o /dev/null --force --dtype f32 --eb 1e-3", 3, &["no regular file"]);
}

/// Every command of the page runs as it stands there.
#[cfg(unix)]
#[test]
fn the_page_is_true() {
    let b = Bench::new();
    let page = fs::read_to_string(Path::new(ROOT).join("docs/cli.md")).unwrap();
    let path =
        format!("{}:{}", Path::new(PROGRAM).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert!(lines.len() > 20);
    for line in &lines {
        assert!(line.starts_with("fzgm "), "{line}");
        let want = line.split("# exit ").nth(1).map_or(0, |code| code.trim().parse().unwrap());
        let shell = Command::new("sh").args(["-c", line]).env("PATH", &path).current_dir(&b.0).output();
        let run = Run::new(line, shell.unwrap());
        assert_eq!(run.code, Some(want), "{line}: {}", run.err);
        if line.contains("--json") {
            serde_json::from_str::<Value>(&run.out).unwrap();
        }
    }
    let help = b.run("--help").ok();
    for command in ["compress", "decompress", "info", "compare", "bench", "stages", "presets"] {
        assert!(help.contains(command) && lines.iter().any(|l| l.starts_with(&format!("fzgm {command}"))));
    }
    for code in
        help.lines().filter_map(|l| l.trim().split_once("  ")).filter(|(n, _)| n.parse::<u8>().is_ok())
    {
        let row = format!("| {} |", code.0);
        assert!(page.contains(&row), "{row}");
    }
}
