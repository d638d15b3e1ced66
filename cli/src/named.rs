//! Arguments whose values are names. The shells complete the names; the library rejects unknown ones with its own message.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};
use std::ffi::OsStr;

/// A parser with the names that the shells complete.
#[derive(Clone)]
pub(crate) struct Named<T> {
    pub(crate) parse: fn(&str) -> Result<T, String>,
    pub(crate) names: fn() -> Vec<&'static str>,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Named<T> {
    type Value = T;

    fn parse_ref(&self, cmd: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        // The parser for functions builds the error message, so that all arguments have the same form.
        let parse = self.parse;
        (move |text: &str| parse(text)).parse_ref(cmd, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}

/// A parser that accepts any text. The library checks it later, together with the pipeline.
pub(crate) fn text(names: fn() -> Vec<&'static str>) -> Named<String> {
    Named { parse: |text| Ok(text.into()), names }
}

/// The names of all presets, except those for comparisons.
pub(crate) fn presets() -> Vec<&'static str> {
    fzgm::Preset::listed().map(|p| p.name).collect()
}

/// The modes of an error bound.
pub(crate) fn modes() -> Vec<&'static str> {
    vec!["noa", "abs", "prel", "rel"]
}

/// The names that --device accepts, with the first GPU as an example of a number.
pub(crate) fn devices() -> Vec<&'static str> {
    vec!["auto", "cpu", "cuda", "cuda:0"]
}

/// The names of all stages.
pub(crate) fn stages() -> Vec<&'static str> {
    fzgm::stages::STAGES.iter().map(|s| s.spec().name).collect()
}
