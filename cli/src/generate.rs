//! `fzgm generate`: manual pages and completions, from the same source as the help, when the program is installed.

use crate::failure::Failure;
use clap_complete::Shell;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory to write below, in the layout of a prefix: share/man/man1 and the directories of the shells
    #[arg(value_name = "DIR", value_parser = crate::input::path())]
    dir: PathBuf,
}

/// Where the shells look.
const SHELLS: [(Shell, &str, &str); 3] = [
    (Shell::Bash, "share/bash-completion/completions", "fzgm"),
    (Shell::Zsh, "share/zsh/site-functions", "_fzgm"),
    (Shell::Fish, "share/fish/vendor_completions.d", "fzgm.fish"),
];

pub(crate) fn run(args: &Args, mut command: clap::Command) -> Result<(), Failure> {
    let written = |e: std::io::Error| Failure::io("write", &args.dir, &e);
    // Completions leave the command with more in it than it has.
    let manual = command.clone().disable_help_subcommand(true);
    for (shell, place, name) in SHELLS {
        let mut text = vec![];
        clap_complete::generate(shell, &mut command, "fzgm", &mut text);
        write(&args.dir.join(place), name, &text).map_err(written)?;
    }
    let man = args.dir.join("share/man/man1");
    let pages = |man: &Path| {
        fs::create_dir_all(man)?;
        let names: Vec<String> = [String::new()]
            .into_iter()
            .chain(manual.get_subcommands().map(|c| format!("-{}", c.get_name())))
            .collect();
        clap_mangen::generate_to(manual, man)?;
        // What stands behind the options has a heading that says nothing.
        for path in names.iter().map(|name| man.join(format!("fzgm{name}.1"))).filter(|path| path.is_file()) {
            let page = fs::read_to_string(&path)?.replace(".SH EXTRA\n", ".SH NOTES\n");
            fs::write(&path, page)?;
        }
        Ok(())
    };
    pages(&man).map_err(written)
}

fn write(dir: &Path, name: &str, text: &[u8]) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join(name), text)
}
