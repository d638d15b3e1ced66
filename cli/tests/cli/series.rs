//! Series of steps.

use crate::fixture::Fixture;
use serde_json::json;
use std::fs;

const FIELD: &str = "egm96.f32 --dtype f32 --dims 1440x721";

/// A series of three steps: two of the whole field, and a part of it.
fn series() -> Fixture {
    let fixture = Fixture::new();
    let text = fixture
        .run(&format!("compress {FIELD} -o run.fzs --append --name start --preset fast --eb 1e-3"))
        .ok();
    assert!(text.contains("run.fzs, step 0: "), "{text}");
    let report = fixture
        .run(&format!("compress {FIELD} -o run.fzs --append --preset fast --mode abs --eb 1 --json"))
        .json();
    assert_eq!((&report["step"], &report["dims"]), (&json!(1), &json!([1440, 721])));
    fixture.run("decompress run.fzs --step start --region 10:20,5:9 -o part.npy").ok();
    fixture.run("compress part.npy -o run.fzs --append --name part --preset bits").ok();
    fixture
}

#[test]
fn steps_are_appended_listed_and_restored() {
    let fixture = series();
    let text = fixture.run("info run.fzs").ok();
    for line in [
        "series     3 steps",
        "step 0     start, 1440x721 of f32",
        "step 1     1440x721",
        "step 2     part, 10x4 of f32, 160 bytes",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let info = fixture.run("info run.fzs --json").json();
    let steps = &info["series"]["steps"];
    assert_eq!(
        (&steps[0]["name"], &steps[1]["name"], &steps[2]["slabs"]),
        (&json!("start"), &json!(""), &json!(1))
    );
    assert_eq!((&info["series"]["indexed"], &info["series"]["lost_bytes"]), (&json!(true), &json!(0)));
    assert_eq!(info["series"]["file_bytes"], fs::read(fixture.path("run.fzs")).unwrap().len());
    let described = fixture.run("info run.fzs --step start --json").json();
    assert_eq!((&described["container"], &described["mode"]), (&json!("fzm"), &json!("noa")));
    assert!(fixture.run("info run.fzs --step start --text").ok().contains("fast"));

    // A step has the container of a file.
    fixture.run(&format!("compress {FIELD} -o own.fzm --preset fast --eb 1e-3")).ok();
    fixture.run("decompress own.fzm -o own.f32").ok();
    for step in ["start", "0"] {
        let report = fixture.run(&format!("decompress run.fzs --step {step} -o {step}.f32 --json")).json();
        assert_eq!(report["array_bytes"], 4_152_960);
        assert!(
            fs::read(fixture.path(&format!("{step}.f32"))).unwrap()
                == fs::read(fixture.path("own.f32")).unwrap()
        );
    }
    fixture.run("decompress run.fzs --step part -o again.npy").ok();
    assert!(fs::read(fixture.path("again.npy")).unwrap() == fs::read(fixture.path("part.npy")).unwrap());
    fixture.run("compress part.npy part.npy -o more.fzs --append --preset bits").ok();
    assert!(fixture.run("info more.fzs").ok().contains("series     2 steps"));
    // The only step needs no name.
    fixture.run("compress part.npy -o one.fzs --append --preset bits").ok();
    fixture.run("decompress one.fzs -o one.npy").ok();
}

#[test]
fn a_series_without_its_end_is_restored() {
    let fixture = series();
    let bytes = fs::read(fixture.path("run.fzs")).unwrap();
    fs::write(fixture.path("cut.fzs"), &bytes[..bytes.len() - 40]).unwrap();
    let text = fixture.run("info cut.fzs").ok();
    assert!(text.contains("3 steps") && text.contains("index      missing or damaged; "), "{text}");
    fixture.run("decompress cut.fzs --step part -o a.npy").ok();
    fixture.run("compress part.npy -o cut.fzs --append --preset bits").ok();
    assert!(!fixture.run("info cut.fzs").ok().contains("missing"));
    let mut damaged = bytes.clone();
    damaged[400] ^= 1;
    fs::write(fixture.path("damaged.fzs"), &damaged).unwrap();
    fixture.fails("decompress damaged.fzs --step 0 -o b.f32", 4, &["step 0: "]);
    fixture.run("decompress damaged.fzs --step part -o c.npy").ok();
}

#[test]
fn wrong_steps_are_rejected() {
    let fixture = series();
    for (line, code, says) in [
        ("decompress run.fzs -o x.f32", 2, "is a series of 3 steps; choose one with --step"),
        ("decompress run.fzs --step 3 -o x.f32", 2, "step is 3; expected 0 to 2"),
        ("decompress run.fzs --step end -o x.f32", 2, "there is no step `end`; known: start, part"),
        ("decompress run.fzs --step 0 --preview 2 -o x.f32", 5, "--preview does not support series"),
        ("decompress run.fzs --step 0 --region 0:9 -o x.f32", 2, "--region has 1 range"),
        ("decompress run.fzs --step 0 --max-memory 1M -o x.f32", 5, "raise --max-memory"),
        ("decompress part.npy --step 0 -o x.f32", 2, "--step is given, but part.npy is not a series"),
        ("info part.npy --step 0", 2, "--step is given, but part.npy is not a series"),
        (
            "compress part.npy -o run.fzs --append --name start --preset bits",
            2,
            "another name: step 0 has this one",
        ),
        ("compress part.npy -o run.fzs --append --name 7 --preset bits", 2, "name of a step is \"7\""),
        (
            "compress part.npy -o part.npy --append --preset bits",
            4,
            "does not begin with the header of a series",
        ),
        ("compress part.npy -o - --append --preset bits", 2, "--append writes a file"),
        (
            "compress part.npy part.npy -o run.fzs --append --name x --preset bits",
            2,
            "--name x names one step",
        ),
        ("compress part.npy --append --preset bits", 2, "--output"),
        ("compress part.npy -o run.fzs --append --slab 1M --preset bits", 2, "cannot be used with"),
        ("compress run.fzs -o x.fzm --dtype f32 --preset bits", 2, "is a series of fzgm"),
        ("compare run.fzs run.fzs --dtype f32", 2, "is a series of fzgm"),
    ] {
        fixture.fails(line, code, &[says]);
    }
    assert!(fixture.run("info run.fzs").ok().contains("3 steps"), "a rejected step was appended");
}
