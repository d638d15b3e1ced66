//! `fzgm hdf5`: converts a bound to cd_values of the HDF5 filter, and describes cd_values. The program does not contain HDF5 and
//! cannot read HDF5 files.

// Links to the sources of the filter, which an archive of the crate contains as files.
#[allow(dead_code, reason = "only the plugin uses the other functions")]
mod element;
mod presets;
#[allow(dead_code, reason = "only the plugin uses the other functions")]
mod words;

use crate::failure::Failure;
use crate::report;
use clap::Subcommand;
use presets::Preset;
use serde_json::{Value, json};
use words::{ID, Mode, Stored, User};

/// The result type of the sources that the plugin shares; the error is a sentence.
type Answer<T> = Result<T, String>;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the cd_values for a bound, as arguments of h5repack and nccopy
    Words(WordsArgs),
    /// Describe cd_values, for example from the output of h5dump -pH
    Describe(DescribeArgs),
}

#[derive(clap::Args)]
struct WordsArgs {
    /// Mode of the bound: abs, noa, rel, or lossless; noa requires --range and is stored as abs
    #[arg(long, value_name = "MODE", default_value = "abs")]
    mode: String,
    /// Error bound
    #[arg(long, value_name = "BOUND", allow_hyphen_values = true, value_parser = crate::input::real)]
    eb: Option<f64>,
    /// Smallest and largest value of the whole dataset, for --mode noa
    #[arg(long, value_names = ["MIN", "MAX"], num_args = 2, allow_hyphen_values = true, value_parser = crate::input::real)]
    range: Option<Vec<f64>>,
    /// Preset [default: fast; pfpl with --mode rel]
    #[arg(long, value_name = "PRESET")]
    preset: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct DescribeArgs {
    /// cd_values, separated by spaces or commas; without any, mode lossless
    #[arg(value_name = "WORD", allow_negative_numbers = true)]
    words: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Words(args) => print_words(args),
        Command::Describe(args) => describe(args),
    }
}

fn print_words(args: &WordsArgs) -> Result<(), Failure> {
    let user = user(args)?;
    let cd = user.words();
    let alone = user.mode == Mode::Lossless && user.preset == Preset::Auto;
    let cd = if alone { &cd[..1] } else { &cd[..] };
    let list = cd.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    if args.json {
        let value =
            json!({ "command": "hdf5 words", "filter": ID, "cd_values": cd, "meaning": meaning(user) });
        return report::print_json(&value);
    }
    report::print(&format!(
        "{}\nh5repack -f UD={ID},0,{},{list}\nnccopy -F \"VARIABLE,{ID},{list}\"\n",
        meaning(user),
        cd.len()
    ))
}

fn user(args: &WordsArgs) -> Result<User, Failure> {
    let bound = match (args.mode.as_str(), args.eb) {
        ("lossless", None) => 0.0,
        ("lossless", Some(_)) => {
            return Err(Failure::usage("--eb is given, but mode lossless has no bound; remove --eb"));
        }
        (_, None) => return Err(Failure::usage("--eb is missing; add a bound, for example --eb 1e-3")),
        (_, Some(bound)) => bound,
    };
    let (mode, bound) = match (args.mode.as_str(), args.range.as_deref()) {
        ("noa", Some(&[low, high])) => (1, product_down(bound, low, high)?),
        ("noa", _) => {
            return Err(Failure::usage(
                "--range is missing: mode noa requires the value range of the whole dataset, because the filter only sees chunks; \
                 add --range MIN MAX",
            ));
        }
        (_, Some(_)) => {
            return Err(Failure::usage(format!(
                "--range is given, but --mode is {}; remove --range, or pass --mode noa",
                args.mode
            )));
        }
        ("abs", None) => (1, bound),
        ("rel", None) => (2, bound),
        ("lossless", None) => (0, bound),
        (mode, None) => {
            return Err(Failure::usage(format!("--mode is {mode}; expected abs, noa, rel, or lossless")));
        }
    };
    let preset = match (args.preset.as_deref(), mode) {
        (Some(name), _) => number(name)?,
        (None, 1) => Preset::Fast as u32,
        (None, 2) => Preset::Pfpl as u32,
        (None, _) => Preset::Auto as u32,
    };
    let bits = bound.to_bits();
    User::read(&[mode, bits as u32, (bits >> 32) as u32, preset]).map_err(Failure::usage)
}

fn number(name: &str) -> Result<u32, Failure> {
    let found = Preset::ALL.into_iter().find(|p| p.name() == name);
    found.map(|p| p as u32).ok_or_else(|| {
        let known = Preset::ALL.map(Preset::name).join(", ");
        Failure::usage(format!("--preset is {name}; expected one of {known}"))
    })
}

/// `bound * (high - low)`, rounded down for a positive bound: a step down follows each operation, because it may round up.
fn product_down(bound: f64, low: f64, high: f64) -> Result<f64, Failure> {
    if !(low.is_finite() && high.is_finite() && low < high) {
        return Err(Failure::usage(format!(
            "--range is {low} {high}; expected finite numbers, the smaller one first"
        )));
    }
    let down = |x: f64| f64::from_bits(x.to_bits().saturating_sub(1));
    Ok(down(bound * down(high - low)))
}

fn describe(args: &DescribeArgs) -> Result<(), Failure> {
    let parts = args.words.iter().flat_map(|w| w.split([',', ' ', '\n'])).filter(|w| !w.is_empty());
    let cd = parts.map(word).collect::<Result<Vec<u32>, Failure>>()?;
    let user = User::read(&cd).map_err(Failure::usage)?;
    // At most four words are the filter options of a user. A dataset stores more.
    let stored = if cd.len() > 4 { Some(Stored::read(&cd).map_err(Failure::usage)?) } else { None };
    if args.json {
        let value = json!({
            "command": "hdf5 describe",
            "meaning": meaning(user),
            "stored": stored.as_ref().map_or(Value::Null, stored_json),
        });
        return report::print_json(&value);
    }
    let details = stored.as_ref().map_or(String::new(), stored_text);
    report::print(&format!("{}\n{details}", meaning(user)))
}

/// Parses a cd_value of 32 bits. h5dump prints large ones as negative numbers.
fn word(text: &str) -> Result<u32, Failure> {
    text.parse::<u32>().or_else(|_| text.parse::<i32>().map(|w| w as u32)).map_err(|_| {
        Failure::usage(format!(
            "`{text}` is not a cd_value; expected an integer below 2^32, as h5dump -pH prints it \
             (for an HDF5 file use python3 -m fzgm_hdf5 describe)"
        ))
    })
}

/// Describes bound and preset.
fn meaning(user: User) -> String {
    match user.mode {
        Mode::Lossless if user.preset == Preset::Auto => "lossless".into(),
        Mode::Lossless => format!("lossless, preset {}", user.preset.name()),
        Mode::Abs(bound) => format!("abs {bound:?}, preset {}", user.preset.name()),
        Mode::Rel(bound) => format!("rel {bound:?}, preset {}", user.preset.name()),
    }
}

fn stored_text(stored: &Stored) -> String {
    let Stored { element, bound, threshold, fill, dims, .. } = stored;
    let opaque =
        if element.opaque { format!(" as words of {}", element.dtype) } else { element.dtype.to_string() };
    let order = if element.swapped { ", big-endian" } else { "" };
    let dims = dims.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
    let mut text =
        format!("elements of {} bytes, {}{order}; chunks of {dims}\n", element.bytes, opaque.trim());
    text += &match (bound, threshold.is_finite(), fill) {
        (0.0, ..) => "lossless\n".to_string(),
        (_, _, Some(fill)) => format!("values within {bound:?}; the fill value {fill:?} is exact\n"),
        (_, true, _) => format!("values within {bound:?}; magnitudes of {threshold:?} and above are exact\n"),
        _ => format!("values within {bound:?}\n"),
    };
    text
}

fn stored_json(stored: &Stored) -> Value {
    json!({
        "element_bytes": stored.element.bytes,
        "type": stored.element.dtype.name(),
        "opaque": stored.element.opaque,
        "big_endian": stored.element.swapped,
        "chunk": stored.dims,
        "bound": report::number(stored.bound),
        "outlier_threshold": report::number(stored.threshold),
        "fill_value": report::optional(stored.fill),
    })
}
