//! Series of steps in the commands.

use crate::failure::Failure;
use crate::field::shape;
use crate::input;
use crate::report::{number, ratio, short};
use fzgm::series::{MAGIC, Series, SeriesWriter, Step};
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Opens a series; `None` if the file is something else.
pub(crate) fn open(path: &Path) -> Result<Option<Series>, Failure> {
    if input::length(path)?.is_none() {
        return Ok(None);
    }
    let refused = |e| Failure::io("read", path, &e);
    let mut first = vec![];
    File::open(path).map_err(refused)?.take(MAGIC.len() as u64).read_to_end(&mut first).map_err(refused)?;
    if first != MAGIC {
        return Ok(None);
    }
    Series::open(path).map(Some).map_err(|e| Failure::reading(path, &e))
}

/// Opens a series to append a step, or creates it.
pub(crate) fn writer(path: &Path) -> Result<SeriesWriter, Failure> {
    if input::is_stream(path) {
        return Err(Failure::usage("--append writes a file, not standard output; pass a file name with -o"));
    }
    SeriesWriter::open(path).map_err(|e| Failure::reading(path, &e))
}

/// The position of the step that `--step` names: a number, or a name.
pub(crate) fn position(path: &Path, series: &Series, step: Option<&str>) -> Result<u64, Failure> {
    let steps = series.steps().len();
    let found = match step {
        Some(text) => match text.parse() {
            Ok(number) => series.step(number).map(|_| number),
            Err(_) => series.find(text),
        },
        None if steps == 1 => Ok(0),
        None => {
            let what = format!("{} is a series of {steps} steps", path.display());
            return Err(Failure::usage(format!("{what}; choose one with --step and a number or a name")));
        }
    };
    found.map_err(|e| Failure::from_error(&e).about(&path.display().to_string()))
}

/// Rejects `--step` for a file that is no series.
pub(crate) fn expected(path: &Path, step: Option<&str>) -> Result<(), Failure> {
    match step {
        None => Ok(()),
        Some(_) => Err(Failure::usage(format!(
            "--step is given, but {} is not a series; remove --step",
            path.display()
        ))),
    }
}

fn array_bytes(series: &Series) -> u64 {
    series.steps().iter().fold(0, |sum, step| sum.saturating_add(step.array().bytes()))
}

/// The steps as a table.
pub(crate) fn text(series: &Series) -> String {
    let (bytes, steps) = (series.bytes(), series.steps());
    let mut text = format!(
        "series     {} steps, {bytes} bytes, ratio {}\n",
        steps.len(),
        short(ratio(array_bytes(series), bytes))
    );
    if !series.is_indexed() {
        let lost = series.lost_bytes();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "index      missing or damaged; {lost} bytes belong to no complete step");
    }
    for (i, step) in steps.iter().enumerate() {
        let array = step.array();
        let name = if step.name().is_empty() { String::new() } else { format!("{}, ", step.name()) };
        let slabs = if step.slabs() == 1 { String::new() } else { format!(" in {} slabs", step.slabs()) };
        let _ = writeln!(
            text,
            "step {i:<5} {name}{} of {}, {} bytes{slabs}, ratio {}",
            shape(array),
            array.dtype(),
            array.bytes(),
            short(ratio(array.bytes(), step.bytes()))
        );
    }
    text
}

/// The same as JSON.
pub(crate) fn json(series: &Series) -> Value {
    let step = |(i, step): (usize, &Step)| {
        let array = step.array();
        json!({
            "step": i,
            "name": step.name(),
            "dtype": array.dtype().name(),
            "dims": array.dims(),
            "array_bytes": array.bytes(),
            "stored_bytes": step.bytes(),
            "slabs": step.slabs(),
            "slab_rows": step.slab_rows(),
            "ratio": number(ratio(array.bytes(), step.bytes())),
        })
    };
    json!({
        "steps": series.steps().iter().enumerate().map(step).collect::<Vec<_>>(),
        "file_bytes": series.bytes(),
        "indexed": series.is_indexed(),
        "lost_bytes": series.lost_bytes(),
    })
}
