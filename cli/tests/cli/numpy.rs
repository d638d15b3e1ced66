//! NumPy files, files of other formats, and several files in one command.

use crate::fixture::Fixture;
use serde_json::Value;
use std::fs;

/// A .npy file as NumPy writes it.
fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut all = b"\x93NUMPY\x01\x00".to_vec();
    all.extend_from_slice(&(length as u16).to_le_bytes());
    all.extend_from_slice(text.as_bytes());
    all.resize(10 + length - 1, b' ');
    all.push(b'\n');
    all.extend_from_slice(data);
    all
}

/// A 3 x 4 x 5 array whose element (i, j, k) is 100 i + 10 j + k.
fn cube() -> Vec<f32> {
    (0..60).map(|n| (100 * (n / 20) + 10 * (n / 5 % 4) + n % 5) as f32).collect()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn numpy_files_are_read_and_written() {
    let fixture = Fixture::new();
    let values = cube();
    let plain = npy("<f4", false, "(3, 4, 5)", &bytes(&values));
    let big: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
    let mut turned = vec![0.0; 60];
    for n in 0..60 {
        turned[n / 20 + 3 * (n / 5 % 4) + 12 * (n % 5)] = values[n];
    }
    fixture.write("c.npy", &plain);
    fixture.write("big.npy", &npy(">f4", false, "(3, 4, 5)", &big));
    fixture.write("f.npy", &npy("<f4", true, "(3, 4, 5)", &bytes(&turned)));
    fixture.write("raw.f32", &bytes(&values));
    for name in ["c", "big", "f"] {
        let line = format!("compress {name}.npy --preset bits --verify --json");
        let report = fixture.run(&line).json();
        assert_eq!(report["dims"], serde_json::json!([5, 4, 3]), "{name}");
        assert_eq!(report["output"], format!("{name}.npy.fzm"), "{name}");
        // Without -o, the restored file has the name and the format of the original.
        fs::remove_file(fixture.path(&format!("{name}.npy"))).unwrap();
        fixture.run(&format!("decompress {name}.npy.fzm")).ok();
        assert_eq!(fs::read(fixture.path(&format!("{name}.npy"))).unwrap(), plain, "{name}");
    }
    for dims in ["--dims 5x4x3", "--shape 3,4,5"] {
        fixture.run(&format!("compress raw.f32 -o raw.fzm --force --dtype f32 {dims} --preset bits")).ok();
        assert_eq!(fs::read(fixture.path("raw.fzm")).unwrap(), fs::read(fixture.path("c.npy.fzm")).unwrap());
    }
    fixture.run("decompress c.npy.fzm -o c.f32").ok();
    assert_eq!(fs::read(fixture.path("c.f32")).unwrap(), bytes(&values));
    // A slab file restores the same array.
    fixture.run("compress c.npy -o c.fzs --preset bits --slab 100").ok();
    fixture.run("decompress c.fzs -o slabs.npy").ok();
    assert_eq!(fs::read(fixture.path("slabs.npy")).unwrap(), plain);
    // A comparison accepts all formats.
    for b in ["c.npy", "c.npy.fzm", "c.fzs", "c.f32", "f.npy"] {
        let m = fixture.run(&format!("compare c.npy {b} --json")).json();
        assert_eq!((m["elements"].as_u64(), m["max_abs_error"].as_f64()), (Some(60), Some(0.0)), "{b}");
    }
    assert_eq!(fixture.run("compare c.f32 c.npy.fzm --json").json()["worst_error_over_bound"], 0.0);
    assert_eq!(fixture.run("bench c.npy --preset bits --runs 1 --threads 1 --json").json()["dims"][0], 5);
}

#[test]
fn more_than_three_dimensions_are_kept() {
    let fixture = Fixture::new();
    let plain = npy("<f4", false, "(1, 3, 2, 2, 5)", &bytes(&cube()));
    fixture.write("c.npy", &plain);
    fixture.run("compress c.npy -o c.fzm --preset fast --mode abs --eb 0.25").ok();
    let dims = serde_json::json!([5, 2, 2, 3, 1]);
    assert_eq!(fixture.run("info c.fzm --json").json()["dims"], dims);
    fixture.run("decompress c.fzm -o d.npy").ok();
    let restored = fs::read(fixture.path("d.npy")).unwrap();
    assert_eq!(restored[..restored.len() - 240], plain[..plain.len() - 240]);
    assert_eq!(fixture.run("compare c.npy c.fzm").code, Some(0));
    for flag in ["--dims 5x2x2x3x1", "--shape 1,3,2,2,5"] {
        fixture.write("c.f32", &bytes(&cube()));
        fixture
            .run(&format!(
                "compress c.f32 -o raw --force --dtype f32 {flag} --preset fast --mode abs --eb 0.25"
            ))
            .ok();
        assert_eq!(fs::read(fixture.path("raw")).unwrap(), fs::read(fixture.path("c.fzm")).unwrap());
    }
    let report = fixture.run("decompress c.fzm -o part --json --region 1:4,0:2,1:2,0:3,0:1").json();
    assert_eq!(report["dims"], serde_json::json!([3, 2, 1, 3, 1]));
    let value = |at: usize| &restored[restored.len() - 240 + 4 * at..][..4];
    let want: Vec<u8> = (0..3)
        .flat_map(|w| (0..2).flat_map(move |y| (1..4).map(move |x| 20 * w + 10 + 5 * y + x)))
        .flat_map(|at| value(at).to_vec())
        .collect();
    assert_eq!(fs::read(fixture.path("part")).unwrap(), want);
    fixture.fails(
        "decompress c.fzm -o x --region 0:5,0:2,0:2,0:4,0:1",
        2,
        &["0:4 for dimension 3", "within 0:3"],
    );
}

#[test]
fn containers_are_compared_by_their_own_bound() {
    let fixture = Fixture::new();
    fixture.run("compress egm96.f32 --dtype f32 --eb 1e-3 --verify").ok();
    let m = fixture.run("compare egm96.f32 egm96.f32.fzm --json").json();
    assert_eq!(
        (m["mode"].as_str(), m["eb"].as_f64(), m["kept"].as_bool()),
        (Some("noa"), Some(1e-3), Some(true))
    );
    assert!(m["ratio"].as_f64().unwrap() > 1.0);
    // The bound does not hold for another array.
    let mut other = fs::read(fixture.path("egm96.f32")).unwrap();
    other[..4].copy_from_slice(&500f32.to_le_bytes());
    fixture.write("other.f32", &other);
    assert_eq!(fixture.run("compare other.f32 egm96.f32.fzm").code, Some(1));
    // A given base determines the bound.
    fixture.run("compress egm96.f32 -o wide.fzm --dtype f32 --eb 1e-3 --value-base 2000").ok();
    fixture.run("compare egm96.f32 wide.fzm").ok();
    fixture.fails("compare egm96.f32 wide.fzm --dtype f64", 2, &["wide.fzm contains f32", "--dtype"]);
    fixture.write("odd", &[0; 8]);
    fixture.fails("compare odd egm96.f32.fzm", 2, &["8 bytes", "same type and shape"]);
}

#[test]
fn other_formats_are_rejected_by_name() {
    let fixture = Fixture::new();
    let container = fixture.compressed();
    for (magic, name) in [
        (&b"\x89HDF\r\n\x1a\n"[..], "HDF5"),
        (b"CDF\x01", "netCDF"),
        (b"PK\x03\x04", "zip"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (&container[..16], "container of fzgm"),
        (b"FZS1", "slab file"),
    ] {
        let mut file = magic.to_vec();
        file.resize(64, 0);
        fixture.write("x", &file);
        fixture.fails("compress x -o y --dtype f32 --preset bits", 2, &["x is ", name, "--raw"]);
        fixture.run("compress x -o y --dtype f32 --preset bits --raw").ok();
        fs::remove_file(fixture.path("y")).unwrap();
    }
    fixture.write("h.nc", b"\x89HDF\r\n\x1a\n and more");
    fixture.fails(
        "decompress h.nc -o y",
        4,
        &["h.nc is an HDF5 or netCDF-4 file, not a container; pass a container"],
    );
    fixture.write("a.npy", &npy("<f4", false, "(3,)", &[0; 12]));
    fixture.fails("compress a.npy -o y --dtype f32 --preset bits", 2, &["NumPy", "remove --dtype"]);
    fixture.fails("compress egm96.f32 -o y --preset bits", 2, &["raw array", "add --dtype"]);
    for (descr, shape, data, says) in [
        ("<f2", "(3,)", 6, "float16"),
        ("<c8", "(3,)", 24, "complex"),
        ("|b1", "(3,)", 3, "uint8"),
        ("<f4", "(2, 2, 1, 1, 1, 1, 1, 1, 1)", 16, "--shape 4,1,1,1,1,1,1,1"),
        ("<f4", "(3,)", 8, "8 bytes after its header"),
        ("<f4", "(3,)", 16, "more bytes after its header"),
        ("<f4", "(99999999999, 99999999999)", 16, "more than 2^64 - 1 elements"),
    ] {
        fixture.write("b.npy", &npy(descr, false, shape, &vec![0; data]));
        fixture.fails("compress b.npy -o y --preset bits", 2, &["b.npy is a NumPy file", says]);
    }
    fixture.write("b.npy", &npy("<f4", false, "(2, 2, 2, 2)", &[1; 64]));
    fixture.run("compress b.npy -o y --preset bits --shape 4,2,2").ok();
    fixture.fails("compress b.npy -o z --preset bits --slab 1K", 2, &["4", "slab file", "join"]);
    fixture.fails("compress b.npy -o z --preset bits --shape 4,2,3", 2, &["16 elements", "24"]);
    for cut in [6, 9, 30] {
        fixture.write("b.npy", &npy("<f4", false, "(3,)", &[0; 12])[..cut]);
        fixture.fails("compress b.npy -o z --preset bits", 2, &["ends within its header"]);
    }
    fixture.write("b.npy", &npy(">f4", false, "(3,)", &[0; 12]));
    fixture.fails("compress b.npy -o z --preset bits --slab 4", 2, &["big-endian", "--slab"]);
}

#[test]
fn several_files_in_one_command() {
    let fixture = Fixture::new();
    let field = fs::read(fixture.path("egm96.f32")).unwrap();
    fixture.write("a.f32", &field[..4000]);
    fixture.write("b.f32", &field[4000..8000]);
    fs::create_dir(fixture.path("out")).unwrap();
    let run = fixture.run("compress a.f32 b.f32 -o out --dtype f32 --eb 1e-3 --json").ok();
    let reports: Vec<Value> = run.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!([&reports[0]["output"], &reports[1]["output"]], ["out/a.f32.fzm", "out/b.f32.fzm"]);
    fixture.run("compress a.f32 b.f32 --dtype f32 --eb 1e-3").ok();
    assert_eq!(fixture.run("info a.f32.fzm b.f32.fzm --json").ok().lines().count(), 2);
    assert!(fixture.run("info a.f32.fzm b.f32.fzm").ok().contains("\nb.f32.fzm:\n"));
    fixture.run("decompress out/a.f32.fzm out/b.f32.fzm").ok();
    fixture.run("compare b.f32 out/b.f32 --dtype f32 --mode noa --eb 1e-3").ok();
    // Compact frames and slab files have other extensions.
    fixture.run("compress a.f32 --dtype f32 --eb 1e-3 --container compact").ok();
    fixture.run("compress a.f32 --dtype f32 --eb 1e-3 --slab 1K").ok();
    let names = fixture.names();
    assert!(names.contains(&"a.f32.fzc".into()) && names.contains(&"a.f32.fzs".into()), "{names:?}");

    // A file that fails does not stop the others.
    fs::remove_file(fixture.path("b.f32.fzm")).unwrap();
    let run = fixture.run("compress a.f32 b.f32 --dtype f32 --eb 1e-3");
    assert_eq!((run.code, run.err.contains("a.f32.fzm exists")), (Some(3), true), "{}", run.err);
    assert!(fixture.path("b.f32.fzm").exists());
    for (line, code, says) in [
        ("compress a.f32 b.f32 -o x --dtype f32 --eb 1e-3", 2, "pass an existing directory"),
        ("compress a.f32 b.f32 -o - --dtype f32 --eb 1e-3", 2, "pass an existing directory"),
        ("compress - --dtype f32 --eb 1e-3", 2, "add -o"),
        (
            "compress a.f32 ./a.f32 -o out --force --dtype f32 --eb 1e-3",
            2,
            "two input files have the output out/a.f32.fzm",
        ),
        ("decompress a.f32", 2, ".fzm"),
        ("info a.f32.fzm b.f32.fzm --toml", 2, "2 files are given; pass one file"),
        // Invalid arguments are reported before an existing OUT.
        ("compress a.f32 --dtype f32 --eb 1e-3 --dims 7", 2, "28"),
        ("compress a.f32 --dtype f32 --eb 1e-3 --mode exact", 2, "exact"),
        ("compress a.f32 --dtype i32 --eb 1e-3", 5, "--lossless"),
    ] {
        fixture.fails(line, code, &[says]);
    }
}

#[test]
fn help_is_short_and_long() {
    let fixture = Fixture::new();
    for command in ["compress", "decompress", "compare"] {
        let (short, long) =
            (fixture.run(&format!("{command} -h")).ok(), fixture.run(&format!("{command} --help")).ok());
        assert!(long.contains("Examples:\n") && !short.contains("Examples:"), "{command}");
        assert!(long.lines().count() > short.lines().count(), "{command}");
    }
    fixture.run("generate g").code.unwrap();
    let page = fs::read_to_string(fixture.path("g/share/man/man1/fzgm-compress.1")).unwrap();
    assert!(page.contains(".SH NOTES\nExamples:") && !page.contains("EXTRA"));
    let bash = fs::read_to_string(fixture.path("g/share/bash-completion/completions/fzgm")).unwrap();
    for values in ["auto cpu cuda cuda:0", "noa abs prel rel", "f64 f32", "fast"] {
        assert!(bash.contains(values), "{values}");
    }
}
