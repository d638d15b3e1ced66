//! A directory for one test, in which the test runs the program.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_fzgm");
pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A temporary directory with the example field. It is removed on drop.
pub(crate) struct Fixture(pub(crate) TempDir);

impl Fixture {
    pub(crate) fn new() -> Fixture {
        let fixture = Fixture(tempfile::tempdir().unwrap());
        fs::copy(Path::new(ROOT).join("examples/data/egm96.f32"), fixture.path("egm96.f32")).unwrap();
        fixture
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn run(&self, line: &str) -> Run {
        let output = Command::new(PROGRAM).args(line.split(' ')).current_dir(&self.0).output().unwrap();
        Run::new(line, output)
    }

    pub(crate) fn compressed(&self) -> Vec<u8> {
        self.run("compress egm96.f32 -o a.fzm --dtype f32 --dims 1440x721 --eb 1e-3").ok();
        fs::read(self.path("a.fzm")).unwrap()
    }

    /// Runs a command that must fail with this exit code and with all texts of `says`, and must not change the directory.
    pub(crate) fn fails(&self, line: &str, code: i32, says: &[&str]) {
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

pub(crate) struct Run {
    pub(crate) line: String,
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn new(line: &str, output: Output) -> Run {
        Run {
            line: line.into(),
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns standard output. Fails unless the run succeeded and wrote nothing to standard error.
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.line);
        assert!(!self.out.is_empty(), "{}", self.line);
        self.out
    }

    pub(crate) fn json(self) -> Value {
        let line = self.line.clone();
        let out = self.ok();
        assert_eq!(out.lines().count(), 1, "{line}");
        serde_json::from_str(&out).unwrap()
    }
}
