//! Standard output, links and devices.

use crate::desk::{Desk, PROGRAM, Run};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

#[test]
fn a_reader_that_leaves_is_no_failure() {
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
}

/// The file behind a link is replaced, and a device never.
#[test]
fn links_stay_links() {
    let desk = Desk::new();
    let compress = |out: &str| format!("compress egm96.f32 -o {out} --dtype f32 --eb 1e-3");
    desk.write("file", b"old");
    symlink("file", desk.path("link")).unwrap();
    desk.fails(&compress("link"), 3, &["link exists", "--force"]);
    desk.run(&compress("link --force")).ok();
    assert!(fs::symlink_metadata(desk.path("link")).unwrap().is_symlink());
    assert!(fs::read(desk.path("file")).unwrap().starts_with(b"2ZMF"));
    desk.fails(&compress("/dev/null --force"), 3, &["no regular file"]);

    // One to nothing, by way of another link and a directory.
    fs::create_dir(desk.path("dir")).unwrap();
    symlink("../made", desk.path("dir/inner")).unwrap();
    symlink("dir/inner", desk.path("dangling")).unwrap();
    desk.fails(&compress("dangling"), 3, &["dangling is a link to a file that does not exist", "--force"]);
    desk.run(&compress("dangling --force")).ok();
    for link in ["dangling", "dir/inner"] {
        assert!(fs::symlink_metadata(desk.path(link)).unwrap().is_symlink(), "{link}");
    }
    assert!(!fs::symlink_metadata(desk.path("made")).unwrap().is_symlink());
    assert!(fs::read(desk.path("made")).unwrap().starts_with(b"2ZMF"));
    assert_eq!(desk.names(), ["dangling", "dir", "egm96.f32", "file", "link", "made"]);

    symlink("round", desk.path("round")).unwrap();
    symlink("none/file", desk.path("lost")).unwrap();
    for out in ["round", "round --force", "lost", "lost --force"] {
        desk.fails(&compress(out), 3, &[]);
    }
}

#[test]
fn a_file_that_is_replaced_keeps_its_permissions() {
    let desk = Desk::new();
    for mode in [0o600, 0o640, 0o666, 0o400] {
        desk.write("out", b"old");
        fs::set_permissions(desk.path("out"), fs::Permissions::from_mode(mode)).unwrap();
        desk.run("compress egm96.f32 -o out --force --dtype f32 --eb 1e-3").ok();
        let found = fs::metadata(desk.path("out")).unwrap();
        assert!(found.len() > 3);
        assert_eq!(found.permissions().mode() & 0o7777, mode, "{mode:o}");
        fs::remove_file(desk.path("out")).unwrap();
    }
    // A new file is like any other.
    desk.write("other", b"");
    desk.run("compress egm96.f32 -o out --force --dtype f32 --eb 1e-3").ok();
    let mode = |name| fs::metadata(desk.path(name)).unwrap().permissions();
    assert_eq!(mode("out"), mode("other"));
}

#[test]
fn names_may_be_as_long_as_the_file_system_takes() {
    let desk = Desk::new();
    let name = "n".repeat(255);
    for force in ["", " --force"] {
        desk.run(&format!("compress egm96.f32 -o {name}{force} --dtype f32 --eb 1e-3")).ok();
        assert_eq!(desk.names(), ["egm96.f32", &name]);
    }
}

/// What has no end: refused where its beginning says that it is no container, and else where the memory ends.
#[test]
fn endless_input_ends() {
    let desk = Desk::new();
    desk.compressed();
    for (line, code, says) in [
        ("@ decompress /dev/zero -o x", 4, "not a container"),
        ("@ decompress - -o x </dev/zero", 4, "not a container"),
        ("@ decompress --box 0:1 /dev/zero -o x", 4, "not a container"),
        ("@ info /dev/zero", 4, "not a container"),
        ("cat a.fzm /dev/zero | @ decompress --box 0:1,0:1 - -o x", 5, "no 2"),
        ("@ compress /dev/zero -o x --dtype f32 --eb 1", 5, "no 2"),
        ("@ compress - -o x --dtype f32 --eb 1 </dev/zero", 5, "no 2"),
    ] {
        let script = format!("ulimit -v 300000; {}", line.replace('@', PROGRAM));
        let output = Command::new("sh").args(["-c", &script]).current_dir(&desk.0).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {err}");
        assert!(err.contains(says) && !desk.path("x").exists(), "{line}: {err}");
    }
}
