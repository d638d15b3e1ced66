//! Arguments that are one of some names: what the shells complete, while the library says what is wrong with another one.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};
use std::ffi::OsStr;

/// A parser with the names that a shell offers.
#[derive(Clone)]
pub(crate) struct Named<T> {
    pub(crate) parse: fn(&str) -> Result<T, String>,
    pub(crate) names: fn() -> Vec<&'static str>,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Named<T> {
    type Value = T;

    fn parse_ref(&self, cmd: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        // The parser of functions makes the message that all other arguments have.
        let parse = self.parse;
        (move |text: &str| parse(text)).parse_ref(cmd, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}

/// A name that the library judges later, with the pipeline.
pub(crate) fn text(names: fn() -> Vec<&'static str>) -> Named<String> {
    Named { parse: |text| Ok(text.into()), names }
}

/// The presets to choose from.
pub(crate) fn presets() -> Vec<&'static str> {
    fzgm::Preset::listed().map(|p| p.name).collect()
}

/// The modes of an error bound.
pub(crate) fn modes() -> Vec<&'static str> {
    vec!["noa", "abs", "prel", "rel"]
}

/// What --device accepts, and the first GPU for those with more.
pub(crate) fn devices() -> Vec<&'static str> {
    vec!["auto", "cpu", "cuda", "cuda:0"]
}

/// The stages.
pub(crate) fn stages() -> Vec<&'static str> {
    fzgm::stages::STAGES.iter().map(|s| s.spec().name).collect()
}
