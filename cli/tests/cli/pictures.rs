//! Drawings, tables, manual pages, and completions.

use crate::fixture::{Fixture, PROGRAM};
use serde_json::Value;
use std::fs;
use std::process::Command;

#[test]
fn the_graph_is_drawn() {
    let fixture = Fixture::new();
    fixture.run("compress egm96.f32 -o a.fzm --dtype f32 --dims 1440x721 --preset pfpl --eb 1e-3").ok();
    let text = fixture.run("info a.fzm --plan").ok();
    for line in ["array, 1440x721 of f32", "└─ 0 quantizer", "   └─ codes ─ 1 difference", "─ 3 rze"]
    {
        assert!(text.lines().any(|l| l.ends_with(line) || l == line), "no `{line}` in {text}");
    }
    let two = "compress egm96.f32 -o two --dtype f32 --eb 1e-3 --pipeline";
    let output = Command::new(PROGRAM)
        .args(two.split(' '))
        .arg("lorenzo_quant > rze")
        .current_dir(&fixture.0)
        .output();
    assert!(output.unwrap().status.success());
    let text = fixture.run("info two --plan").ok();
    assert!(
        text.contains("   ├─ codes ─ 1 rze\n   │  └─ output ─ ") && text.contains("   └─ outlier_"),
        "{text}"
    );
    let info = fixture.run("info two --plan --json").json();
    let stored: u64 = info["segments"].as_array().unwrap().iter().map(|s| s["bytes"].as_u64().unwrap()).sum();
    let drawn = info["graph"].as_array().unwrap().iter().filter_map(Value::as_str);
    let drawn: u64 =
        drawn.filter_map(|l| l.strip_suffix(" bytes")?.rsplit(' ').next()?.parse::<u64>().ok()).sum();
    assert_eq!(drawn, stored);
}

#[test]
fn benchmarks_as_a_table() {
    let fixture = Fixture::new();
    fs::write(fixture.path("s"), &fs::read(fixture.path("egm96.f32")).unwrap()[..400_000]).unwrap();
    let line = "bench s --dtype f32 --preset all --eb 1e-2 --eb 1e-3 --threads 1 --runs 1";
    let table = fixture.run(&format!("{line} --csv")).ok();
    let rows: Vec<Vec<&str>> = table.lines().map(|l| l.split(',').collect()).collect();
    let rest = fixture.run(&format!("{line} --json")).json();
    let rest = rest["rows"].as_array().unwrap();
    // Lossy presets have one row for each bound.
    let all: usize = fzgm::PRESETS.iter().map(|p| if p.lossless { 1 } else { 2 }).sum();
    assert_eq!((rows.len(), rest.len()), (1 + all, all));
    assert_eq!(rows[0][..7], ["preset", "pipeline", "mode", "eb", "value_base", "threads", "ratio"]);
    assert_eq!(rows[0].len(), rest[0].as_object().unwrap().len());
    for (row, value) in rows[1..].iter().zip(rest) {
        assert_eq!(row.len(), rows[0].len());
        assert_eq!(row[0], value["preset"]);
        let ratio: f64 = row[6].parse().unwrap();
        assert!((ratio / value["ratio"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    }
    fixture.fails(&format!("{line} --csv --json"), 2, &["--json"]);
}

/// The manual pages and completions that are installed with the program.
#[test]
fn pages_and_completions() {
    let fixture = Fixture::new();
    let output = Command::new(PROGRAM).args(["generate", "out"]).current_dir(&fixture.0).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
    let read = |name: &str| fs::read_to_string(fixture.path("out").join(name)).unwrap();
    let commands =
        ["compress", "decompress", "info", "compare", "bench", "devices", "stages", "presets", "hdf5"];
    let nested = ["hdf5-words", "hdf5-describe"];
    for command in commands.iter().chain(&nested) {
        let page = read(&format!("share/man/man1/fzgm-{command}.1"));
        assert!(page.starts_with(".ie") && page.contains(".SH OPTIONS"), "{page}");
    }
    for (name, synopsis) in [
        ("fzgm", "\\fBfzgm\\fR <COMMAND>"),
        ("fzgm-compress", "\\fBfzgm compress\\fR [OPTIONS] <IN>..."),
        ("fzgm-compare", "\\fBfzgm compare\\fR [OPTIONS] <A> <B>"),
        ("fzgm-hdf5-words", "\\fBfzgm hdf5 words\\fR [OPTIONS]"),
    ] {
        let page = read(&format!("share/man/man1/{name}.1"));
        assert!(page.contains(&format!(".SH SYNOPSIS\n{synopsis}\n.SH DESCRIPTION\n")), "{page}");
    }
    assert!(read("share/man/man1/fzgm.1").contains("Exit codes"));
    assert_eq!(
        fs::read_dir(fixture.path("out/share/man/man1")).unwrap().count(),
        commands.len() + nested.len() + 1
    );
    let bash = read("share/bash-completion/completions/fzgm");
    let (zsh, fish) =
        (read("share/zsh/site-functions/_fzgm"), read("share/fish/vendor_completions.d/fzgm.fish"));
    for text in [&bash, &zsh, &fish] {
        assert!(commands.iter().all(|c| text.contains(c)) && text.contains("outlier-threshold"));
    }
    let script = "source out/share/bash-completion/completions/fzgm && COMP_WORDS=(fzgm comp) && COMP_CWORD=1 && _fzgm fzgm comp fzgm && echo ${COMPREPLY[@]}";
    if let Ok(found) = Command::new("bash").args(["-c", script]).current_dir(&fixture.0).output() {
        assert_eq!(String::from_utf8(found.stdout).unwrap().trim(), "compress compare");
    }
}
