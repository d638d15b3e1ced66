//! The command line, which `docs/cli.md` describes.

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
mod series;
mod slabs;
mod source;
mod stages;

use clap::{CommandFactory, Parser, Subcommand};
use failure::Failure;
use std::io::Write;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: fzgm::ReserveAllocator = fzgm::ReserveAllocator;

/// Error-bounded compression of floating-point and integer arrays
#[derive(Parser)]
#[command(name = "fzgm", version, after_help = failure::EXIT_CODES, arg_required_else_help = false)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compress raw arrays and .npy files into containers
    #[command(after_long_help = compress::EXAMPLES)]
    Compress(compress::Args),
    /// Restore arrays from containers
    #[command(after_long_help = decompress::EXAMPLES)]
    Decompress(decompress::Args),
    /// Show the array, bound, and stages of containers
    Info(info::Args),
    /// Compare two arrays, and check them against an error bound
    #[command(after_long_help = format!("{}\n\n{}", compare::EXACTNESS, compare::EXAMPLES))]
    Compare(compare::Args),
    /// Measure ratio, speed, and error of presets and pipelines in memory
    Bench(bench::Args),
    /// List the GPUs for --device, or state why there are none
    Devices(devices::Args),
    /// List stages with their ports and parameters
    Stages(stages::Args),
    /// List presets with their stages
    Presets(presets::Args),
    /// Print or describe the cd_values of the HDF5 filter
    Hdf5(hdf5::Args),
    /// Write manual pages and shell completions
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
            // If standard error cannot be written, the exit code remains as the only report.
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

/// Prints help or version, or returns the error of invalid arguments. The parser reports all of them as errors.
fn unparsed(e: &clap::Error) -> Result<(), Failure> {
    if !e.use_stderr() {
        return report::print(&e.render().to_string());
    }
    let text = e.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    Err(Failure::usage(text.trim_end()))
}
