//! Pipelines as users write them: TOML in the schema of FZGPUModules, and chains of stages as text. Both are
//! read into the same [`Pipeline`] that calls build, and a written pipeline is read back as an equal one.
//! `docs/pipelines.md` is their page.

mod keys;
mod nesting;
mod reader;
mod reference;
mod text;
mod writer;

use crate::base::environment::in_default_environment;
use crate::base::error::{Error, Result};
use crate::base::nearest::nearest;
use crate::pipeline::Pipeline;

impl Pipeline {
    /// Reads a pipeline from TOML.
    ///
    /// # Errors
    /// [`Error::InvalidPipeline`] for text that is no TOML or has no stages, [`Error::UnknownName`] for unknown
    /// keys, stages, and ports, with the nearest known name, [`Error::InvalidArgument`] for values,
    /// [`Error::Unsupported`] for features of the reference that this version does not have. Errors
    /// contain the line, if there is one. The graph is checked when it is bound to an array.
    pub fn from_toml(text: &str) -> Result<Pipeline> {
        in_default_environment(|| reader::read(text))
    }

    /// Writes the pipeline as TOML that the reference can read too, if it supports the stages and parameters.
    ///
    /// # Errors
    /// [`Error::InvalidPipeline`] if the pipeline has no stage.
    pub fn to_toml(&self) -> Result<String> {
        in_default_environment(|| writer::write(self))
    }

    /// Reads a chain of stages: `lorenzo_quant(eb=1e-3,mode=noa) > bitshuffle(width=2) > rze`.
    ///
    /// # Errors
    /// As [`Pipeline::from_toml`]; all errors contain the column.
    pub fn from_text(text: &str) -> Result<Pipeline> {
        in_default_environment(|| text::read(text))
    }

    /// Writes a chain with the parameters that are not at their defaults.
    ///
    /// # Errors
    /// [`Error::InvalidPipeline`] if the pipeline is no chain, or requires more than stages; TOML has a form
    /// for it.
    pub fn to_text(&self) -> Result<String> {
        in_default_environment(|| text::write(self))
    }
}

/// Parameters that determine the loss are written even at their defaults.
fn always_said(parameter: &str) -> bool {
    matches!(parameter, "error_bound" | "mode")
}

/// An error with the place where it came up: in a text, or in a pipeline.
pub(super) fn at(place: &str, error: Error) -> Error {
    match error {
        Error::InvalidArgument { what, got, expected } => {
            Error::InvalidArgument { what: format!("{place}: {what}"), got: shown(&got), expected }
        }
        Error::UnknownName { kind, name, place: of, known } => {
            Error::UnknownName { kind, name: shown(&name), place: format!("{of} ({place})"), known }
        }
        Error::TypeMismatch { stage, port, got, accepts } => {
            Error::TypeMismatch { stage: format!("{place}: {stage}"), port, got, accepts }
        }
        Error::InvalidPipeline(what) => Error::InvalidPipeline(format!("{place}: {what}")),
        Error::Unsupported { stage, what } => Error::Unsupported { stage, what: format!("{what} ({place})") },
        other => other,
    }
}

/// Keys of other file formats that users write by mistake, and the key that has their meaning here. Chains
/// have short names; files do not.
const MISTAKEN: [(&str, &str); 1] = [("input_port", "inputs")];

/// The known name that was most likely meant.
fn meant<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let mut mistaken = MISTAKEN.iter().chain(&text::SHORT);
    let said = mistaken.find(|(mistaken, meant)| *mistaken == name && known.contains(meant));
    said.map_or_else(|| nearest(name, known), |(_, meant)| Some(meant))
}

/// A name that nothing answers to, with the one that was most likely meant.
fn unknown(kind: &'static str, name: &str, of: &str, known: &[&str]) -> Error {
    let meant = meant(name, known).map_or(String::new(), |n| format!(", the nearest is `{n}`"));
    Error::UnknownName { kind, name: shown(name), place: format!("{of}{meant}"), known: known.join(", ") }
}

/// As much of a user's text as fits into a message, with nothing in it that a terminal would obey.
fn shown(text: &str) -> String {
    const MOST: usize = 64;
    let plain = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let mut shown: String = text.chars().take(MOST).map(plain).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_other_file_formats_are_understood() {
        let known = ["error_bound", "mode", "quant_radius", "inputs"];
        assert_eq!(meant("input_port", &known), Some("inputs"));
        assert_eq!((meant("eb", &known), meant("eb", &["mode"])), (Some("error_bound"), None));
        assert_eq!(meant("width", &["word_size", "element_width"]), Some("element_width"));
        assert_eq!(meant("eror_bound", &known), Some("error_bound"));
    }
}
