//! Standard output, links and devices.

use crate::desk::{Desk, PROGRAM, Run};
use std::fs;
use std::process::{Command, Stdio};

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let desk = Desk::new();
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
    desk.write("file", b"old");
    std::os::unix::fs::symlink("file", desk.path("link")).unwrap();
    desk.run("compress egm96.f32 -o link --force --dtype f32 --eb 1e-3").ok();
    assert!(fs::symlink_metadata(desk.path("link")).unwrap().is_symlink());
    assert!(fs::read(desk.path("file")).unwrap().starts_with(b"2ZMF"));
    desk.fails("compress egm96.f32 -o /dev/null --force --dtype f32 --eb 1e-3", 3, &["no regular file"]);
}
