//! Every exit code, and the files that remain after a failure.

use crate::fixture::Fixture;
use serde_json::Value;
use std::fs;

#[test]
fn usage_is_exit_2() {
    let fixture = Fixture::new();
    fixture.compressed();
    let stage = "[[stage]]\nname = \"a\"\ntype = \"difference\"\ninputs = [{ from = \"a\" }]\n";
    fixture.write("loop.toml", stage.as_bytes());
    let base = "compress egm96.f32 -o x --dtype f32";
    let pfpl = format!("{base} --preset pfpl");
    for (line, says) in [
        ("", &["subcommand"][..]),
        ("squash", &["squash"]),
        ("compress egm96.f32 -o x", &["--dtype"]),
        (&format!("{base} --eb 1e-3 --dims 1440x720"), &["4152960 bytes", "1440x720", "4147200"]),
        (&format!("{base} --eb 1e-3 --dims 1440xx721"), &["`1440xx721` lacks a dimension"]),
        (&format!("{base} --eb 1e-3 --dims 1x2x3x4x5x6x7x8x9"), &["9 dimensions are given, but at most 8"]),
        (&format!("{base} --eb 1e-3 --dims 4611686018427387904x4"), &["dims"]),
        (base, &["--eb"]),
        (&format!("{base} --eb -1"), &["error_bound", "-1"]),
        (&format!("{base} --eb 1e"), &["--eb", "`1e` is not a number", "1e-3"]),
        (
            &format!("{base} --eb 1 --outlier-threshold fill"),
            &["--outlier-threshold", "`fill` is not a number"],
        ),
        (&format!("{base} --eb 1 --value-base wide"), &["--value-base", "`wide` is not a number"]),
        (&format!("{base} --eb nan"), &["error_bound", "NaN"]),
        (
            &format!("{base} --eb 1e-3 --mode exact"),
            &["fast.mode is `exact`; expected one of abs, noa, prel"],
        ),
        (
            &format!("{pfpl} --eb 1e-3 --mode exact"),
            &["quantizer.mode is `exact`; expected one of abs, noa, rel, prel"],
        ),
        (&format!("{base} --eb 1e-3 --preset zip"), &["zip", "pfpl, fz, cusz, cusz_ans, bits", "cusz_hi_cr"]),
        (&format!("{base} --preset bits --eb 1e-3"), &["lossless", "--eb"]),
        (&format!("{base} --preset bits --mode abs"), &["lossless", "--mode"]),
        (&format!("{base} --preset bits --outlier-threshold 5"), &["--outlier-threshold"]),
        (&format!("{pfpl} --eb 1e-3 --set radius=5"), &["radius", "quant_radius"]),
        (
            &format!("{pfpl} --eb 1e-3 --set zigzag.radius=5"),
            &["no stage of type `zigzag`; use one of bitshuffle, difference, quantizer, rze"],
        ),
        (&format!("{pfpl} --eb 1e-3 --set rla.radius=5"), &["no stage of type `rla`", "quantizer"]),
        (&format!("{pfpl} --eb 1e-3 --set quantizer.quant_radius=five"), &["quantizer.quant_radius", "five"]),
        (&format!("{base} --eb 1e-3 --set quant_radius"), &["`quant_radius` has no value", "PARAM=VALUE"]),
        (&format!("{base} --set eb=1"), &["`eb`", "error_bound"]),
        (&format!("{base} --eb 1e-3 --set quantizer.error_bound=1"), &["no stage of type `quantizer`"]),
        (&format!("{base} --eb 1e-3 --mode abs --value-base 5"), &["--value-base", "abs"]),
        (&format!("{base} --eb 1e-3 --mode rel --value-base 5"), &["--value-base", "rel"]),
        (&format!("{base} --eb 1e-3 --slab -1"), &["--slab", "-1"]),
        ("decompress a.fzm -o x --max-memory -1", &["--max-memory", "-1"]),
        (&format!("{base} --pipeline stored(x)>stored"), &["--pipeline"]),
        (&format!("{base} --pipeline difference>fast(eb=1)"), &["--pipeline: ", "recoded"]),
        (
            &format!("{base} --config loop.toml"),
            &["loop.toml: ", "cycle: difference (stage 0, `a`) > difference (stage 0, `a`)"],
        ),
        (&format!("{base} --eb 1e-3 --set error_bound=1"), &["error_bound is given twice", "--eb", "--set"]),
        (&format!("{pfpl} --eb 1 --mode abs --set quantizer.mode=noa"), &["mode is given twice", "--mode"]),
        (&format!("{base} --eb 1e-3 --dims -4x4"), &["`-4` is not a dimension"]),
        (&format!("{base} --eb 1e-3 --threads -1"), &["--threads", "-1", "1024"]),
    ] {
        fixture.fails(line.trim(), 2, says);
    }
}

#[test]
fn usage_of_other_commands_is_exit_2() {
    let fixture = Fixture::new();
    fixture.compressed();
    fixture.run("decompress a.fzm -o b.f32").ok();
    fixture.write("short", &[0; 8]);
    let base = "compress egm96.f32 -o x --dtype f32";
    for (line, says) in [
        ("stages fast zip", &["no stage `zip`", "rze"][..]),
        ("compare egm96.f32 short --dtype f32", &["4152960", "same type and shape"]),
        ("compare egm96.f32 b.f32 --dtype f32 --eb 1", &["--mode"]),
        ("compare egm96.f32 b.f32 --dtype f32 --mode psnr --eb 1", &["psnr", "prel"]),
        ("compare egm96.f32 b.f32 --dtype f32 --mode abs --eb 1,5", &["--eb", "`1,5` is not a number"]),
        ("bench egm96.f32 --dtype f32 --eb 1e-3,1e-4", &["--eb", "`1e-3,1e-4` is not a number"]),
        ("compare egm96.f32 b.f32 --dtype f31", &["f31"]),
        (&format!("{base} --eb 1e-3 --threads 100000"), &["--threads", "100000", "1024"]),
        ("bench egm96.f32 --dtype f32 --runs 0", &["--runs"]),
        (&format!("{base} --config -"), &["'-'", "<FILE>", "pass a file name", "not supported here"]),
        // These are rejected before the first measurement.
        (
            "bench egm96.f32 --dtype f32 --preset pfpl --preset zip --json",
            &["zip", "pfpl, fz, cusz, cusz_ans, bits"],
        ),
        ("bench egm96.f32 --dtype f32 --eb 1e-3 --eb -1", &["error_bound", "-1"]),
        ("bench - --dtype f32", &["<IN>", "pass a file name"]),
        ("compare - b.f32 --dtype f32", &["<A>", "pass a file name"]),
        ("compare egm96.f32 - --dtype f32", &["<B>", "pass a file name"]),
        ("compare egm96.f32 b.f32 --dtype f32 --compressed -", &["<FILE>", "pass a file name"]),
    ] {
        fixture.fails(line.trim(), 2, says);
    }
}

#[test]
fn incomplete_elements_are_exit_2() {
    let fixture = Fixture::new();
    fixture.write("odd", &[0; 7]);
    fixture.fails("compress odd -o x --dtype f32 --eb 1", 2, &["7 bytes", "4 bytes"]);
}

#[test]
fn unknown_names_are_rejected_with_the_nearest() {
    let fixture = Fixture::new();
    let base = "compress egm96.f32 -o x --dtype f32 --eb 1e-3";
    for (line, nearest) in [
        (&format!("{base} --preset cusz-hi-cr"), "`cusz_hi_cr`"),
        (&format!("{base} --preset pfpl --set quantradius=5"), "`quant_radius`"),
        (&"stages ginterpp".to_string(), "`ginterp`"),
    ] {
        fixture.fails(line, 2, &["the nearest is", nearest]);
    }
}

#[test]
fn files_are_exit_3() {
    let fixture = Fixture::new();
    let before = fixture.compressed();
    fs::create_dir(fixture.path("dir")).unwrap();
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
        (&format!("{compress} -o /dev/null"), &["/dev/null is not a regular file"]),
        (&format!("{compress} -o /dev/null --force"), &["/dev/null is not a regular file"]),
        (&format!("{compress} -o none/x"), &["cannot write none/x"]),
        ("decompress a.fzm -o egm96.f32", &["egm96.f32 exists"]),
        ("decompress a.fzm -o /dev/null --force", &["/dev/null is not a regular file"]),
    ] {
        fixture.fails(line, 3, says);
    }
    assert_eq!(fs::read(fixture.path("a.fzm")).unwrap(), before);
}

#[test]
fn damaged_containers_are_exit_4() {
    let fixture = Fixture::new();
    let good = fixture.compressed();
    fixture.fails("decompress egm96.f32 -o x", 4, &["not a container"]);
    fixture.fails("info egm96.f32", 4, &["not a container"]);
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let mut unknown = good.clone();
    unknown[80..82].copy_from_slice(&999_u16.to_le_bytes());
    for bytes in [&[][..], b"FZ", &good[..40], &good[..300], &good[..good.len() - 1], &flipped, &unknown] {
        fixture.write("bad", bytes);
        fixture.fails("decompress bad -o x", 4, &["bad: "]);
    }
    fixture.write("bad", &good[..300]);
    fixture.fails("info bad --plan", 4, &["bad: "]);
    // A damaged container does not replace an existing file.
    fixture.write("x", b"precious");
    fixture.fails("decompress bad -o x --force", 4, &[]);
    assert_eq!(fs::read(fixture.path("x")).unwrap(), b"precious");
}

#[test]
fn any_damage_gives_an_exit_code() {
    let fixture = Fixture::new();
    let good = fixture.compressed();
    for at in (0..good.len().min(2400)).step_by(37) {
        let mut bad = good.clone();
        bad[at] = bad[at].wrapping_add(101);
        fixture.write("bad", &bad);
        for line in ["decompress bad -o x --no-checksum", "info bad --plan"] {
            let run = fixture.run(line);
            assert!(matches!(run.code, Some(0 | 4 | 5)), "byte {at}, {line}: {:?} {}", run.code, run.err);
            let _ = fs::remove_file(fixture.path("x"));
        }
        assert_eq!(fixture.names(), ["a.fzm", "bad", "egm96.f32"]);
    }
}

#[test]
fn unsupported_requests_are_exit_5() {
    let fixture = Fixture::new();
    fixture.compressed();
    fixture.fails("decompress a.fzm -o x --max-memory 1000000", 5, &["--max-memory", "1000000"]);
    fixture.fails("compress egm96.f32 -o x --dtype i32 --eb 1", 5, &["i32", "--lossless"]);
    fixture.fails("compress egm96.f32 -o x --dtype i32 --mode rel --eb 0.1", 5, &["i32", "--lossless"]);
    fixture.fails(
        "compress egm96.f32 -o x --dtype f32 --eb 1 --generation 2026-05 --container compact",
        5,
        &["fzm"],
    );
    // The number of bytes in the message is sufficient, and one byte less is not.
    let said = fixture.run("decompress a.fzm -o x --max-memory 1000").err;
    let need = said.split_once(" bytes of memory").unwrap().0.rsplit(' ').next().unwrap();
    let less = need.parse::<u64>().unwrap() - 1;
    fixture.fails(&format!("decompress a.fzm -o x --max-memory {less}"), 5, &[need, "--max-memory"]);
    fixture.run(&format!("decompress a.fzm -o x --max-memory {need}")).ok();
    fixture.run("compress egm96.f32 -o f.fzm --dtype f32 --dims 1440x721 --preset fast --eb 1e-3").ok();
    fixture.fails(
        "decompress f.fzm -o y --region 0:5,0:5 --device cuda",
        5,
        &["--region", "cuda:0", "--device"],
    );
    fixture.fails(
        "decompress f.fzm -o y --region 0:5,0:5 --max-memory 99",
        5,
        &["100 bytes", "--max-memory"],
    );
    fixture.fails(
        "decompress f.fzm -o y --region 0:5",
        2,
        &[
            "--region has 1 range, but the array of f.fzm has dimensions 1440x721",
            "pass 2, one for each dimension",
        ],
    );
    fixture.run("decompress f.fzm -o y --region 0:5,0:5 --max-memory 100 --device cpu").ok();
}

#[test]
fn violations_are_exit_1() {
    let fixture = Fixture::new();
    let floats = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    fixture.write("a", &floats(&[0.0, 1.0, 2.0, f32::NAN, 1e20]));
    fixture.write("b", &floats(&[0.0, 1.5, 2.0, f32::NAN, 1e20]));
    fixture.write("c", &floats(&[0.0, 1.0, 2.0, 0.0, 1e20]));
    fixture.write("d", &floats(&[0.0, 1.0, f32::NAN, f32::NAN, 2e20]));
    let ok =
        fixture.run("compare a b --dtype f32 --mode noa --eb 0.25 --outlier-threshold 1e20 --json").json();
    assert_eq!((ok["allowed_error"].as_f64(), ok["worst_error_over_bound"].as_f64()), (Some(0.5), Some(1.0)));
    for (line, violations, exact, non_finite) in [
        ("compare a b --dtype f32 --mode abs --eb 0.49", 1, 0, 0),
        ("compare a b --dtype f32 --mode rel --eb 0.4999", 1, 0, 0),
        ("compare a b --dtype f32 --mode noa --eb 0.24 --outlier-threshold 1e20", 1, 0, 0),
        ("compare a c --dtype f32 --mode abs --eb 1", 0, 1, 1),
        ("compare a d --dtype f32 --mode prel --eb 1 --outlier-threshold 1e20", 1, 1, 1),
    ] {
        let run = fixture.run(&format!("{line} --json"));
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
    // Without a bound, only values that must be exact can fail, such as NaN.
    fixture.run("compare a b --dtype f32").ok();
    assert_eq!(fixture.run("compare a c --dtype f32").code, Some(1));
}

#[test]
fn invalid_pipelines_are_rejected_with_their_place() {
    let fixture = Fixture::new();
    fixture.write("bad.toml", b"[[stage]]\nname = \"q\"\ntype = \"Quantizer\"\neror_bound = 1\n");
    fixture.write("later.toml", b"[[stage]]\nname = \"h\"\ntype = \"SZx\"\n");
    let start = "compress egm96.f32 -o a.fzm --dtype f32";
    fixture.fails(
        &format!("{start} --config bad.toml"),
        2,
        &["bad.toml", "line 4", "eror_bound", "nearest is `error_bound`"],
    );
    fixture.fails(&format!("{start} --config later.toml"), 5, &["later.toml", "SZx", "line 3"]);
    fixture.fails(&format!("{start} --config none.toml"), 3, &["none.toml"]);
    fixture.fails(&format!("{start} --config egm96.f32"), 3, &["egm96.f32"]);
    fixture.fails(
        &format!("{start} --pipeline rze>rzee"),
        2,
        &["--pipeline", "column 5", "nearest is `rze`"],
    );
    fixture.fails(&format!("{start} --pipeline rze --eb 1e-3"), 2, &["lossless", "--eb"]);
    fixture.fails(&format!("{start} --pipeline rze --preset bits"), 2, &["--preset"]);
    fixture.fails(&format!("{start} --pipeline rze --config bad.toml"), 2, &["--config"]);
    fixture.fails(&format!("{start} --pipeline lorenzo_quant(input_type=f64)"), 5, &["f64", "f32"]);
    fixture.fails("info --stages egm96.f32", 2, &["--stages"]);
    fixture.fails("presets --toml pfpl --dtype i8", 5, &["pfpl", "bits"]);
    fixture.fails("bench egm96.f32 --dtype f32 --pipeline rze( --runs 1", 2, &["--pipeline", "column 5"]);
}
