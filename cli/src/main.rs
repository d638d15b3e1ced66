//! The command line: files in, files out, figures about both. What it can do is in `docs/cli.md`.

mod bench;
mod compare;
mod compress;
mod decompress;
mod devices;
mod drawing;
mod failure;
mod field;
mod fill;
mod generate;
mod hdf5;
mod info;
mod input;
mod listing;
mod memory;
mod named;
mod output;
mod presets;
mod progress;
mod report;
mod request;
mod slabs;
mod source;
mod stages;

use clap::{CommandFactory, Parser, Subcommand};
use failure::Failure;
use std::io::Write;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: fzgm::ReserveAllocator = fzgm::ReserveAllocator;

/// Error-bounded compression of arrays.
#[derive(Parser)]
#[command(name = "fzgm", version, after_help = failure::EXIT_CODES, arg_required_else_help = false)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compress arrays, raw or of NumPy, into containers
    #[command(after_long_help = compress::EXAMPLES)]
    Compress(compress::Args),
    /// Restore the arrays of containers
    #[command(after_long_help = decompress::EXAMPLES)]
    Decompress(decompress::Args),
    /// Say what containers hold
    Info(info::Args),
    /// Compare an array with what came back, and judge it by a bound
    #[command(after_long_help = format!("{}\n\n{}", compare::EXACTNESS, compare::EXAMPLES))]
    Compare(compare::Args),
    /// Measure ratio, speed and error in memory
    Bench(bench::Args),
    /// List the GPUs that --device takes, or say why there is none
    Devices(devices::Args),
    /// List the stages with their ports and parameters
    Stages(stages::Args),
    /// List the presets with their stages
    Presets(presets::Args),
    /// Print or explain the numbers of the HDF5 filter
    Hdf5(hdf5::Args),
    /// Write manual pages and completions of shells, as they are installed
    #[command(hide = true)]
    Generate(generate::Args),
}

fn main() -> ExitCode {
    let result = match Cli::try_parse() {
        Ok(cli) => run(&cli.command),
        Err(e) => unparsed(&e),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // With stderr gone too, the exit code is all that can be said.
            let _ = writeln!(std::io::stderr(), "fzgm: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}

fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Compress(args) => compress::run(args),
        Command::Decompress(args) => decompress::run(args),
        Command::Info(args) => info::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Devices(args) => devices::run(args),
        Command::Stages(args) => stages::run(args),
        Command::Presets(args) => presets::run(args),
        Command::Hdf5(args) => hdf5::run(args),
        Command::Generate(args) => generate::run(args, Cli::command()),
    }
}

/// Help and version, which were asked for, or arguments that cannot be understood.
fn unparsed(e: &clap::Error) -> Result<(), Failure> {
    if !e.use_stderr() {
        return report::print(&e.render().to_string());
    }
    let text = e.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    Err(Failure::usage(text.trim_end()))
}
