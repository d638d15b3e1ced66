//! The commands of the pages, which must run, and the texts of the help.

use crate::fixture::{Fixture, PROGRAM, ROOT, Run};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn help_is_printed_on_standard_output() {
    let fixture = Fixture::new();
    assert!(fixture.run("--help").ok().contains("Exit codes:"));
    assert!(fixture.run("compress --help").ok().contains("--outlier-threshold"));
    assert!(fixture.run("compare --help").ok().contains("exactly"));
    assert!(fixture.run("--version").ok().starts_with("fzgm "));
}

/// Every command of these pages runs unchanged.
#[cfg(unix)]
#[test]
fn commands_of_other_pages_run() {
    for page in ["bounds", "choosing", "fill-values", "other-compressors", "series", "tuning"] {
        let page = format!("docs/{page}.md");
        run_all(&Fixture::new(), &fs::read_to_string(Path::new(ROOT).join(page)).unwrap());
    }
}

/// Runs the commands of a page and returns them.
#[cfg(unix)]
fn run_all<'a>(fixture: &Fixture, page: &'a str) -> Vec<&'a str> {
    let path =
        format!("{}:{}", Path::new(PROGRAM).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert!(!lines.is_empty());
    for line in &lines {
        assert!(line.starts_with("fzgm "), "{line}");
        let want = line.split("# exit ").nth(1).map_or(0, |code| code.trim().parse().unwrap());
        let shell = Command::new("sh").args(["-c", line]).env("PATH", &path).current_dir(&fixture.0).output();
        let run = Run::new(line, shell.unwrap());
        assert_eq!(run.code, Some(want), "{line}: {}", run.err);
        if line.contains("--json") {
            serde_json::from_str::<Value>(&run.out).unwrap();
        }
    }
    lines
}

/// Every command of docs/cli.md runs unchanged, and the page has an example of every subcommand.
#[cfg(unix)]
#[test]
fn commands_of_the_page_run() {
    let fixture = Fixture::new();
    let page = fs::read_to_string(Path::new(ROOT).join("docs/cli.md")).unwrap();
    let lines = run_all(&fixture, &page);
    assert!(lines.len() > 20);
    let help = fixture.run("--help").ok();
    for command in ["compress", "decompress", "info", "compare", "bench", "devices", "stages", "presets"] {
        assert!(help.contains(command) && lines.iter().any(|l| l.starts_with(&format!("fzgm {command}"))));
    }
    for code in
        help.lines().filter_map(|l| l.trim().split_once("  ")).filter(|(n, _)| n.parse::<u8>().is_ok())
    {
        let row = format!("| {} |", code.0);
        assert!(page.contains(&row), "{row}");
    }
}
