//! Standard streams, links, devices, and pipes.

use crate::fixture::{Fixture, PROGRAM, Run};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

#[test]
fn a_closed_standard_output_is_not_a_failure() {
    let mut child =
        Command::new(PROGRAM).arg("stages").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let run = Run::new("stages", child.wait_with_output().unwrap());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));

    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(PROGRAM).arg("stages").stdout(full).output().unwrap();
    let run = Run::new("stages", output);
    assert_eq!(run.code, Some(3));
    assert!(run.err.starts_with("fzgm: cannot write standard output"), "{}", run.err);
}

/// The file that a link refers to is replaced. A device is never replaced.
#[test]
fn links_remain_links() {
    let fixture = Fixture::new();
    let compress = |out: &str| format!("compress egm96.f32 -o {out} --dtype f32 --eb 1e-3");
    fixture.write("file", b"old");
    symlink("file", fixture.path("link")).unwrap();
    fixture.fails(&compress("link"), 3, &["link exists", "--force"]);
    fixture.run(&compress("link --force")).ok();
    assert!(fs::symlink_metadata(fixture.path("link")).unwrap().is_symlink());
    assert!(fs::read(fixture.path("file")).unwrap().starts_with(b"2ZMF"));
    fixture.fails(&compress("/dev/null --force"), 3, &["not a regular file"]);

    // A link to a missing file, through another link in a directory.
    fs::create_dir(fixture.path("dir")).unwrap();
    symlink("../made", fixture.path("dir/inner")).unwrap();
    symlink("dir/inner", fixture.path("dangling")).unwrap();
    fixture.fails(&compress("dangling"), 3, &["dangling is a link to a file that does not exist", "--force"]);
    fixture.run(&compress("dangling --force")).ok();
    for link in ["dangling", "dir/inner"] {
        assert!(fs::symlink_metadata(fixture.path(link)).unwrap().is_symlink(), "{link}");
    }
    assert!(!fs::symlink_metadata(fixture.path("made")).unwrap().is_symlink());
    assert!(fs::read(fixture.path("made")).unwrap().starts_with(b"2ZMF"));
    assert_eq!(fixture.names(), ["dangling", "dir", "egm96.f32", "file", "link", "made"]);

    symlink("round", fixture.path("round")).unwrap();
    symlink("none/file", fixture.path("lost")).unwrap();
    for out in ["round", "round --force", "lost", "lost --force"] {
        fixture.fails(&compress(out), 3, &[]);
    }
}

#[test]
fn replaced_files_keep_their_permissions() {
    let fixture = Fixture::new();
    for mode in [0o600, 0o640, 0o666, 0o400] {
        fixture.write("out", b"old");
        fs::set_permissions(fixture.path("out"), fs::Permissions::from_mode(mode)).unwrap();
        fixture.run("compress egm96.f32 -o out --force --dtype f32 --eb 1e-3").ok();
        let found = fs::metadata(fixture.path("out")).unwrap();
        assert!(found.len() > 3);
        assert_eq!(found.permissions().mode() & 0o7777, mode, "{mode:o}");
        fs::remove_file(fixture.path("out")).unwrap();
    }
    // A new file has the default permissions.
    fixture.write("other", b"");
    fixture.run("compress egm96.f32 -o out --force --dtype f32 --eb 1e-3").ok();
    let mode = |name| fs::metadata(fixture.path(name)).unwrap().permissions();
    assert_eq!(mode("out"), mode("other"));
}

#[test]
fn names_may_have_the_maximum_length() {
    let fixture = Fixture::new();
    let name = "n".repeat(255);
    for force in ["", " --force"] {
        fixture.run(&format!("compress egm96.f32 -o {name}{force} --dtype f32 --eb 1e-3")).ok();
        assert_eq!(fixture.names(), ["egm96.f32", &name]);
    }
}

/// Endless input is read up to the length of the array or the container, and one byte more. If the length is unknown, the run fails
/// when the memory is exhausted.
#[test]
fn endless_input_is_rejected() {
    let fixture = Fixture::new();
    let bytes = fixture.compressed().len();
    fixture.run("compress egm96.f32 -o a.fzc --dtype f32 --dims 1440x721 --eb 1e-3 --container compact").ok();
    fixture.run("compress egm96.f32 -o a.fzs --dtype f32 --dims 1440x721 --eb 1e-3 --slab 1M").ok();
    // The length of the first slab, after the header of 48 bytes, is too large.
    let mut slabs = fs::read(fixture.path("a.fzs")).unwrap();
    slabs[48..56].copy_from_slice(&(1_u64 << 60).to_le_bytes());
    fixture.write("b.fzs", &slabs);
    let before = fixture.names();
    let has = &format!("- has more than {bytes} bytes, but its header states {bytes}");
    let array = "has more than 4000 bytes, but 1000 of f32 requires 4000; correct --dims";
    for (line, code, says) in [
        ("@ decompress /dev/zero -o x", 4, "not a container"),
        ("@ decompress - -o x </dev/zero", 4, "not a container"),
        ("@ decompress --region 0:1 /dev/zero -o x", 4, "not a container"),
        ("@ info /dev/zero", 4, "not a container"),
        ("cat a.fzm /dev/zero | @ info -", 4, has),
        ("cat a.fzm /dev/zero | @ info - --json", 4, has),
        ("cat a.fzm /dev/zero | @ decompress - -o x", 4, has),
        ("cat a.fzm /dev/zero | @ decompress --region 0:1,0:1 - -o x", 4, has),
        ("cat a.fzc /dev/zero | @ decompress - -o x", 4, "its header states"),
        ("mkfifo p; cat a.fzm /dev/zero >p & @ decompress p -o x", 4, "p has more than"),
        ("cat a.fzs /dev/zero | @ decompress - -o x", 4, "continues after its trailer"),
        (
            "cat b.fzs /dev/zero | @ decompress - -o x",
            4,
            "slab 0 has 1152921504606846976 bytes, but its header states",
        ),
        ("cat b.fzs /dev/zero | @ info -", 4, "slab 0 has 1152921504606846976 bytes, but its header states"),
        ("@ compress - -o x --dtype f32 --eb 1 --dims 1000 </dev/zero", 2, array),
        ("@ compress /dev/zero -o x --dtype f32 --eb 1 --dims 1000", 2, array),
        ("mkfifo p; cat /dev/zero >p & @ compress p -o x --dtype f32 --preset bits --dims 1000", 2, array),
        ("@ compress - -o x --dtype f32 --eb 1 --dims 1000 --slab 4K </dev/zero", 2, "more than 4000 bytes"),
        ("@ compress - -o x --dtype f32 --eb 1 --dims 1000 --slab 1K </dev/zero", 2, "more than 4000 bytes"),
        ("@ bench /dev/zero --dtype f32 --eb 1 --dims 1000", 2, array),
        ("@ compare /dev/zero egm96.f32 --dtype f32", 2, "/dev/zero has more than 4152960 bytes"),
        ("@ compare egm96.f32 /dev/zero --dtype f32", 2, "/dev/zero has more than 4152960"),
        ("@ compare /dev/zero /dev/zero --dtype f32 --dims 1000", 2, array),
        ("@ compress egm96.f32 -o x --dtype f32 --config /dev/zero", 2, "more than 65536 bytes"),
        ("@ compress /dev/zero -o x --dtype f32 --eb 1", 5, "no 2"),
        ("@ compress - -o x --dtype f32 --eb 1 </dev/zero", 5, "no 2"),
    ] {
        let script = format!("ulimit -v 300000; {}", line.replace('@', PROGRAM));
        let output = Command::new("sh").args(["-c", &script]).current_dir(&fixture.0).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {err}");
        assert!(err.contains(says), "{line}: {err}");
        let _ = fs::remove_file(fixture.path("p"));
        assert_eq!(fixture.names(), before, "{line}");
    }
}

/// The stacks of the threads exceed the address space.
#[test]
fn threads_that_cannot_be_started_are_exit_5() {
    let fixture = Fixture::new();
    fixture.compressed();
    for line in
        ["compress egm96.f32 -o x --dtype f32 --eb 1e-3 --threads 2", "decompress a.fzm -o x --threads 2"]
    {
        let mut command = Command::new(PROGRAM);
        command
            .args(line.split(' '))
            .env("RUST_MIN_STACK", (1_u64 << 47).to_string())
            .current_dir(&fixture.0);
        let run = Run::new(line, command.output().unwrap());
        assert_eq!(run.code, Some(5), "{line}: {}", run.err);
        assert!(run.err.contains("cannot start 2 threads: "), "{line}: {}", run.err);
        assert!(run.err.ends_with("raise the limit of processes (ulimit -u)\n"), "{line}: {}", run.err);
        assert!(!fixture.path("x").exists(), "{line}");
    }
}

/// A stream and a file with the same bytes give the same exit code and the same output.
#[test]
fn streams_and_files_give_the_same_result() {
    let fixture = Fixture::new();
    let container = fixture.compressed();
    let (array, mut cases) = (fs::read(fixture.path("egm96.f32")).unwrap(), vec![]);
    for (kind, bytes) in [("fzm", &container), ("f32", &array)] {
        for part in [0, 3, 4, 5, 40, 300, bytes.len() - 1, bytes.len()] {
            cases.push((kind, bytes[..part].to_vec()));
        }
        cases.extend([1, 100_000].map(|more| (kind, [&bytes[..], &vec![7; more]].concat())));
    }
    for (kind, bytes) in cases {
        fixture.write("in", &bytes);
        let lines: &[&str] = match kind {
            "fzm" => &["info @", "decompress @ -o -", "decompress @ -o - --region 0:1,0:1"],
            _ => &[
                "compress @ -o - --dtype f32 --eb 1 --mode abs --dims 1440x721",
                "compress @ -o - --dtype f32 --eb 1 --mode abs --dims 1440x721 --slab 1M",
                "compress @ -o - --dtype f32 --eb 1 --mode abs",
            ],
        };
        for line in lines {
            let run = |name: &str| {
                let mut child = Command::new(PROGRAM);
                child.args(line.replace('@', name).split(' ')).current_dir(&fixture.0);
                child.stdin(fs::File::open(fixture.path("in")).unwrap()).output().unwrap()
            };
            let (stream, file) = (run("-"), run("in"));
            assert_eq!(stream.status, file.status, "{line}, {} bytes", bytes.len());
            // After a failure, a stream may already have received the first slabs.
            let same = stream.stdout == file.stdout || !file.status.success();
            assert!(same, "{line}, {} bytes", bytes.len());
        }
    }
}
