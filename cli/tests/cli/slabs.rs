//! Slab files and standard streams.

use crate::fixture::{Fixture, PROGRAM, Run};
use serde_json::json;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// Runs `fzgm <line>` with `input` on standard input. Returns the exit code and the contents of both output streams.
fn piped(fixture: &Fixture, line: &str, input: &[u8]) -> (Option<i32>, Vec<u8>, String) {
    let mut child = Command::new(PROGRAM)
        .args(line.split(' '))
        .current_dir(&fixture.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    // A program that rejects its arguments does not read its input, so the write may fail.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    (output.status.code(), output.stdout, String::from_utf8(output.stderr).unwrap())
}

const SLABS: &str = "compress egm96.f32 -o a.fzs --dtype f32 --dims 1440x721 --eb 1e-3 --slab 1M";

#[test]
fn slab_files_restore_the_array() {
    let fixture = Fixture::new();
    let report = fixture.run(&format!("{SLABS} --json")).json();
    // A slab of 1 MiB contains 182 rows of 5760 bytes, so 721 rows require four slabs.
    assert_eq!((&report["slabs"], &report["dims"]), (&json!(4), &json!([1440, 721])));
    let bytes = fs::read(fixture.path("a.fzs")).unwrap();
    assert_eq!((&bytes[..4], &report["container_bytes"]), (&b"FZS1"[..], &json!(bytes.len())));
    let info = fixture.run("info a.fzs --json --plan").json();
    assert_eq!(info["slab_file"]["dims"], json!([1440, 721]));
    assert_eq!((&info["slab_file"]["rows"], &info["dims"]), (&json!(182), &json!([1440, 182])));
    assert_eq!(info["slab_file"]["file_bytes"], bytes.len());
    assert!(fixture.run("info a.fzs").ok().contains("4 slabs of 182 rows"));

    let report = fixture.run("decompress a.fzs -o b.f32 --json").json();
    assert_eq!((&report["slabs"], &report["array_bytes"]), (&json!(4), &json!(4_152_960)));
    // The bound is relative to the range of the whole array. A smaller bound does not hold, so the codes are not finer than required.
    assert_eq!(fixture.run("compare egm96.f32 b.f32 --dtype f32 --mode noa --eb 1e-3").code, Some(0));
    assert_eq!(fixture.run("compare egm96.f32 b.f32 --dtype f32 --mode noa --eb 9e-4").code, Some(1));
    for threads in [1, 2] {
        fixture.run(&format!("{SLABS} --force --threads {threads}")).ok();
        assert_eq!(fs::read(fixture.path("a.fzs")).unwrap(), bytes, "{threads} threads");
    }
}

/// Slabs of one row, of several rows, and of the whole array, and streams of unknown length.
#[test]
fn slabs_of_all_sizes() {
    let fixture = Fixture::new();
    let field = fs::read(fixture.path("egm96.f32")).unwrap();
    for (slab, dims, mode, slabs) in [
        ("1K", "--dims 1440x721 ", "prel", 721),
        ("1G", "--dims 1440x721 ", "noa", 1),
        ("3M", "--dims 721x40x36 ", "abs", 2),
        ("1000000", "", "rel", 5),
    ] {
        let line = format!(
            "compress egm96.f32 -o c --force --dtype f32 {dims}--mode {mode} --eb 1e-2 --slab {slab} --json"
        );
        assert_eq!(fixture.run(&line).json()["slabs"], slabs, "{line}");
        fixture.run("decompress c -o d --force").ok();
        let judged = fixture.run(&format!("compare egm96.f32 d --dtype f32 --mode {mode} --eb 1e-2"));
        assert_eq!(judged.code, Some(0), "{line}: {}", judged.err);
    }
    let stream = "compress - -o e --force --dtype f32 --eb 1e-3 --slab 1M";
    assert_eq!(piped(&fixture, stream, &field).0, Some(0));
    assert_eq!(fixture.run("info e --json").json()["slab_file"]["dims"], json!([1_038_240]));
    fixture.run("decompress e -o f").ok();
    assert_eq!(fixture.run("compare egm96.f32 f --dtype f32 --mode noa --eb 1e-3").code, Some(0));
    // An empty stream is an empty array.
    assert_eq!(piped(&fixture, stream, b"").0, Some(0));
    assert_eq!(fixture.run("info e --json").json()["slab_file"]["slabs"], 0);
    fixture.run("decompress e -o g").ok();
    assert_eq!(fs::read(fixture.path("g")).unwrap(), b"");

    for (input, line, says) in [
        (&field[..6], stream.to_string(), "ends within a row of 4 bytes"),
        (
            &field[..5760],
            stream.replace("--dtype f32", "--dtype f32 --dims 1440x2"),
            "has 5760 bytes, but --dims require 11520",
        ),
        (
            &field,
            stream.replace("--eb", "--no-strict --generation 2026-05 --eb"),
            "containers without their shape",
        ),
        (&field, stream.replace("1M", "1.5M"), "not a number of bytes"),
        (&[], stream.replace("--dtype f32", "--dtype f32 --dims 0x5"), "rows without elements"),
    ] {
        let (code, out, err) = piped(&fixture, &line, input);
        assert_eq!((code, out.len()), (Some(2), 0), "{line}: {err}");
        assert!(err.contains(says), "{line}: {err}");
    }
}

/// The program may use 200 MB of memory and processes an array of 300 MB.
#[cfg(target_os = "linux")]
#[test]
fn an_array_larger_than_memory() {
    let fixture = Fixture::new();
    let fzgm = |line: &str| format!("ulimit -v 200000; {PROGRAM} {line} --threads 1");
    let compress = fzgm("compress - -o a --dtype f32 --dims 1000x75000 --mode abs --eb 1e-3 --slab 8M");
    for line in
        [format!("head -c 300000000 /dev/zero | ({compress})"), fzgm("decompress a -o -") + " | wc -c"]
    {
        let output = Command::new("sh").args(["-c", &line]).current_dir(&fixture.0).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{line}: {err}");
        assert!(!line.contains("wc") || out.trim() == "300000000", "{line}: {out} {err}");
    }
    // Without slabs, the same array exceeds the memory limit, which shows that the limit has an effect.
    let whole = compress.replace(" --slab 8M", "").replace("-o a", "-o b");
    let line = format!("head -c 300000000 /dev/zero | ({whole})");
    let output = Command::new("sh").args(["-c", &line]).current_dir(&fixture.0).output().unwrap();
    assert!(!output.status.success() && !fixture.path("b").exists());
}

#[test]
fn streams_in_and_out() {
    let fixture = Fixture::new();
    let field = fs::read(fixture.path("egm96.f32")).unwrap();
    let file = fixture.compressed();
    for (slab, whole) in [("", true), (" --slab 2M", false)] {
        let compress = format!("compress - -o - --dtype f32 --dims 1440x721 --eb 1e-3{slab}");
        let (code, container, report) = piped(&fixture, &compress, &field);
        assert_eq!(code, Some(0), "{report}");
        assert_eq!(container == file, whole);
        assert!(report.contains("ratio"), "{report}");
        let (code, restored, report) = piped(&fixture, "decompress - -o - --json", &container);
        assert_eq!((code, restored.len()), (Some(0), field.len()), "{report}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&report).unwrap()["command"], "decompress");
        let (code, info, err) = piped(&fixture, "info -", &container);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert!(String::from_utf8(info).unwrap().contains("stage 0"));
    }
    let (code, out, err) = piped(&fixture, "decompress - -o -", b"no container");
    assert_eq!((code, out.len()), (Some(4), 0), "{err}");
    // A failure to write standard output is an error, and no file remains.
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(PROGRAM)
        .args(["decompress", "a.fzm", "-o", "-"])
        .current_dir(&fixture.0)
        .stdout(full)
        .output()
        .unwrap();
    let run = Run::new("decompress to a full device", output);
    assert_eq!(run.code, Some(3), "{}", run.err);
    assert!(run.err.contains("cannot write standard output"), "{}", run.err);
    assert_eq!(fixture.names(), ["a.fzm", "egm96.f32"]);
}

/// A damaged slab file is rejected, and no output is written.
#[test]
fn damaged_slab_files_are_exit_4() {
    let fixture = Fixture::new();
    fixture.run(SLABS).ok();
    let good = fs::read(fixture.path("a.fzs")).unwrap();
    let first = u64::from_le_bytes(good[48..56].try_into().unwrap()) as usize;
    let broken = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let end = good.len();
    // Files with a slab missing, and with a slab twice.
    let without = [&good[..48], &good[56 + first..]].concat();
    let twice = [&good[..56 + first], &good[48..]].concat();
    for (file, says) in [
        (broken(4, &[2]), "checksum"),
        (broken(32, &[0; 8]), "checksum"),
        (broken(48, &u64::MAX.to_le_bytes()), "its header states"),
        (broken(48, &(1u64 << 40).to_le_bytes()), "its header states"),
        (broken(48, &(first as u64 - 1).to_le_bytes()), "slab 0"),
        (broken(48, &[0; 8]), "checksum"),
        (broken(56 + first / 2, &[0x41, 0x42, 0x43]), "slab 0"),
        (broken(end - 20, &[9]), "trailer whose checksum"),
        (good[..end - 1].to_vec(), "ends early"),
        (good[..30].to_vec(), "ends early"),
        (good[..48].to_vec(), "ends early"),
        ([&good[..], b"x"].concat(), "continues after its trailer"),
        (without, "has 3 slabs, but its trailer states 4"),
        (twice, "has 5 slabs, but its trailer states 4"),
    ] {
        fixture.write("bad.fzs", &file);
        fixture.fails("decompress bad.fzs -o x", 4, &["bad.fzs", says]);
    }
    fixture.fails("decompress a.fzs -o x --max-memory 1000", 5, &["slab 0", "--max-memory"]);
}

/// Each part of the file is complete and has a correct checksum, but the parts contradict each other.
#[test]
fn contradictions_in_slab_files_are_exit_4() {
    let fixture = Fixture::new();
    fixture.run(SLABS).ok();
    let good = fs::read(fixture.path("a.fzs")).unwrap();
    let word = |at: usize| u64::from_le_bytes(good[at..at + 8].try_into().unwrap());
    // Offsets of the slabs and of the trailer, which begins with a length of 0.
    let mut begin = vec![48];
    while word(begin[begin.len() - 1]) != 0 {
        let last = begin[begin.len() - 1];
        begin.push(last + 8 + word(last) as usize);
    }
    let slabs: Vec<&[u8]> = begin.windows(2).map(|w| &good[w[0]..w[1]]).collect();
    let all = slabs.concat();
    let sealed = |bytes: &[u8], set: &[(usize, u64, usize)]| {
        let mut bytes = bytes[..bytes.len() - 4].to_vec();
        set.iter().for_each(|&(at, value, n)| bytes[at..at + n].copy_from_slice(&value.to_le_bytes()[..n]));
        let sum = crc32fast::hash(&bytes);
        [bytes, sum.to_le_bytes().to_vec()].concat()
    };
    let header = |set: &[(usize, u64, usize)]| sealed(&good[..48], set);
    let trailer = |set: &[(usize, u64, usize)]| sealed(&good[good.len() - 32..], set);
    let (usual, unknown) = (trailer(&[]), header(&[(16, 0, 8)]));
    assert_eq!([header(&[]), all.clone(), usual.clone()].concat(), good);
    let middle = [slabs[0], slabs[3], slabs[1]].concat();
    for (file, says) in [
        ([header(&[(24, 5, 8)]), all.clone(), usual.clone()].concat(), "header whose reserved bytes"),
        ([header(&[(40, 1, 4)]), all.clone(), usual.clone()].concat(), "header whose reserved bytes"),
        ([header(&[]), all.clone(), trailer(&[(24, 1, 4)])].concat(), "its trailer states 721"),
        ([unknown.clone(), all.clone(), trailer(&[(16, 1 << 50, 8)])].concat(), "its trailer states"),
        ([unknown.clone(), all.clone(), trailer(&[(16, 546, 8)])].concat(), "its trailer states 546"),
        ([header(&[(32, 181, 8)]), all.clone(), usual.clone()].concat(), "slab"),
        ([header(&[(6, 9, 1)]), all.clone(), usual.clone()].concat(), "slab 0 is f32"),
        ([header(&[(8, 1441, 8)]), all, usual].concat(), "slab 0 is f32"),
        ([unknown, middle, trailer(&[(8, 3, 8), (16, 539, 8)])].concat(), "slab 2 is f32"),
        // A file without slabs whose array would be larger than the limit.
        (
            [header(&[(7, 3, 1), (8, 1 << 60, 8), (16, 1 << 60, 8)]), trailer(&[(8, 0, 8), (16, 0, 8)])]
                .concat(),
            "at most 2^56 bytes",
        ),
    ] {
        fixture.write("bad.fzs", &file);
        // Both commands check the headers of all slabs.
        fixture.fails("decompress bad.fzs -o x", 4, &["bad.fzs", says]);
        fixture.fails("info bad.fzs", 4, &["bad.fzs", says]);
    }
}
