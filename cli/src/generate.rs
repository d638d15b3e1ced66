//! `fzgm generate`: writes manual pages and completions from the texts of the help. The installation runs it.

use crate::failure::Failure;
use clap_complete::Shell;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Prefix below which share/man/man1 and the completion directories of the shells are written
    #[arg(value_name = "DIR", value_parser = crate::input::path())]
    dir: PathBuf,
}

/// Each shell with the directory and the file name in which it looks for completions.
const SHELLS: [(Shell, &str, &str); 3] = [
    (Shell::Bash, "share/bash-completion/completions", "fzgm"),
    (Shell::Zsh, "share/zsh/site-functions", "_fzgm"),
    (Shell::Fish, "share/fish/vendor_completions.d", "fzgm.fish"),
];

pub(crate) fn run(args: &Args, mut command: clap::Command) -> Result<(), Failure> {
    let written = |e: std::io::Error| Failure::io("write", &args.dir, &e);
    // A copy, because the generator of completions adds subcommands to its command.
    let mut manual = command.clone().disable_help_subcommand(true);
    for (shell, place, name) in SHELLS {
        let mut text = vec![];
        clap_complete::generate(shell, &mut command, "fzgm", &mut text);
        write(&args.dir.join(place), name, &text).map_err(written)?;
    }
    let man = args.dir.join("share/man/man1");
    manual.build();
    fs::create_dir_all(&man).and_then(|()| page(&manual, &man)).map_err(written)
}

/// Writes the manual pages of a command and of its subcommands.
fn page(command: &clap::Command, man: &Path) -> std::io::Result<()> {
    for subcommand in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        page(subcommand, man)?;
    }
    let renderer = clap_mangen::Man::new(command.clone());
    let mut text = vec![];
    renderer.render(&mut text)?;
    let text = String::from_utf8_lossy(&text).replace(".SH EXTRA\n", ".SH NOTES\n");
    fs::write(man.join(renderer.get_filename()), with_usage(&text, command))
}

/// Replaces the synopsis of a page by the usage of the help. The synopsis of the renderer lists all options without their values.
fn with_usage(page: &str, command: &clap::Command) -> String {
    const HEADING: &str = ".SH SYNOPSIS\n";
    let Some((before, after)) = page.split_once(HEADING) else { return page.into() };
    let after = after.find(".SH ").map_or("", |end| &after[end..]);
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let usage = command.clone().render_usage().to_string().replace('-', "\\-");
    let lines: Vec<String> = usage
        .trim_start_matches("Usage: ")
        .lines()
        .map(|line| {
            line.trim().strip_prefix(name).map_or(line.trim().into(), |rest| format!("\\fB{name}\\fR{rest}"))
        })
        .collect();
    format!("{before}{HEADING}{}\n{after}", lines.join("\n.br\n"))
}

fn write(dir: &Path, name: &str, text: &[u8]) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join(name), text)
}
