//! What is drawn, tabled and generated.

use crate::fixture::{Fixture, PROGRAM};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

#[test]
fn the_graph_is_drawn() {
    let fixture = Fixture::new();
    fixture.compressed();
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
fn plots_are_pictures() {
    let fixture = Fixture::new();
    fixture.compressed();
    fixture.run("decompress a.fzm -o b.f32").ok();
    let line = "compare egm96.f32 b.f32 --dtype f32 --dims 1440x721 --plot p.png";
    let plot = fixture.run(&format!("{line} --json")).json()["plot"].clone();
    assert_eq!((&plot["file"], &plot["slice"]), (&json!("p.png"), &json!(0)));
    assert!(plot["low"].as_f64().unwrap() < -100.0 && plot["error"].as_f64().unwrap() > 0.1);
    let (width, height, pixels) = picture(&fixture, "p.png");
    // Every second value of 1440 and 721, three times, and the colours below.
    assert_eq!((width, height), (3 * 720 + 16, 361 + 18));
    let at = |x: usize, y: usize| &pixels[3 * (y * width + x)..][..3];
    // What came back looks as it did, the errors do not, and between the panels is nothing.
    let near = |a: &[u8], b: &[u8]| a.iter().zip(b).all(|(a, b)| a.abs_diff(*b) < 8);
    let alike = (0..361).filter(|y| near(at(300, *y), at(728 + 300, *y))).count();
    assert_eq!((alike, at(724, 100)), (361, &[255; 3][..]));
    assert!((0..361).filter(|y| near(at(300, *y), at(1456 + 300, *y))).count() < 100);
    // An array that is the same has no errors: white.
    fixture.run("compare egm96.f32 egm96.f32 --dtype f32 --plot q.png --dims 40x36x721 --slice 720").ok();
    let (width, height, pixels) = picture(&fixture, "q.png");
    assert_eq!((width, height), (3 * 240 + 16, 216 + 18), "six pixels for a value");
    assert_eq!(&pixels[3 * (100 * width + 600)..][..3], [255; 3]);
    // One dimension in lines.
    fixture.run("compare egm96.f32 b.f32 --dtype f32 --plot r.png").ok();

    fixture.fails(line, 3, &["p.png exists", "--force"]);
    fixture.run(&format!("{line} --force")).ok();
    fixture.fails(&format!("{line} --force --slice 1"), 2, &["--slice 1"]);
    fixture.fails(&line.replace("721", "720"), 3, &["p.png exists"]);
    fixture.fails(&line.replace("721 --plot p", "720 --plot s"), 2, &["4152960 bytes"]);
}

fn picture(fixture: &Fixture, name: &str) -> (usize, usize, Vec<u8>) {
    let file = std::io::BufReader::new(fs::File::open(fixture.path(name)).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(frame.color_type, png::ColorType::Rgb);
    (frame.width as usize, frame.height as usize, pixels)
}

#[test]
fn a_benchmark_as_a_table() {
    let fixture = Fixture::new();
    fs::write(fixture.path("s"), &fs::read(fixture.path("egm96.f32")).unwrap()[..400_000]).unwrap();
    let line = "bench s --dtype f32 --preset all --eb 1e-2 --eb 1e-3 --threads 1 --runs 1";
    let table = fixture.run(&format!("{line} --csv")).ok();
    let rows: Vec<Vec<&str>> = table.lines().map(|l| l.split(',').collect()).collect();
    let rest = fixture.run(&format!("{line} --json")).json();
    let rest = rest["rows"].as_array().unwrap();
    // Those that have a bound with two of them.
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

/// What is installed beside the program: pages that man can show, and completions that the shells take.
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
