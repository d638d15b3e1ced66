//! The keys of a stage in a TOML file: its parameters by our names, and the reference's names for some of
//! them.

use super::reference::{self, Only};
use super::{always_said, shown, unknown};
use crate::base::dtype::DType;
use crate::base::error::{Error, Result};
use crate::base::param::{Args, Kind, Setting};
use toml::Spanned;
use toml::de::DeValue;

/// A value of a TOML file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'t> {
    Text(&'t str),
    Int(i64),
    Real(f64),
    Flag(bool),
    /// Texts, one would hope.
    Names(&'t [Spanned<DeValue<'t>>]),
    /// A value that no key accepts, with the name of its type.
    Other(&'static str),
}

impl std::fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Text(v) => write!(f, "\"{}\"", shown(v)),
            Value::Int(v) => write!(f, "{v}"),
            Value::Real(v) => write!(f, "{v:?}"),
            Value::Flag(v) => write!(f, "{v}"),
            Value::Names(_) => f.write_str("an array"),
            Value::Other(kind) => f.write_str(kind),
        }
    }
}

/// The mode under the reference's name, which has a meaning of its own for `REL`.
pub(super) const MODE: &str = "error_bound_mode";
/// The output type of stages that change the type; it determines how differences are written.
pub(super) const OUTPUT: &str = "output_type";
pub(super) const FUSION: &str = "fusion_mode";
/// The element type of stages that keep it.
pub(super) const DATA: &str = "data_type";

/// The sign of codes: `false` where LorenzoQuant has no such key.
const ZIGZAG: &str = "zigzag_codes";

/// The reference's keys with the meaning of one of our parameters.
pub(super) fn aliases(stage: &str) -> &'static [&'static str] {
    match stage {
        "quantizer" | "lorenzo_quant" | "ginterp" | "fast" | "multilevel" => &[MODE],
        "difference" => &[OUTPUT, FUSION],
        "zigzag" | "negabinary" => &[OUTPUT],
        "lorenzo" | "rle" => &[DATA],
        _ => &[],
    }
}

/// The keys of one stage, as they are read.
pub(super) struct Keys<'a> {
    stage: &'static str,
    args: &'a mut Args,
    given: Vec<&'static str>,
    output: Option<&'a str>,
    fusion: Option<&'a str>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(stage: &'static str, args: &'a mut Args) -> Self {
        Keys { stage, args, given: vec![], output: None, fusion: None }
    }

    /// Takes one key.
    pub(super) fn set(&mut self, key: &str, value: Value<'a>) -> Result<()> {
        if let Some(alias) = aliases(self.stage).iter().find(|a| **a == key) {
            let Value::Text(word) = value else {
                return Err(self.refuse(key, value, "a word in quotes"));
            };
            self.given.push(alias);
            match *alias {
                OUTPUT => self.output = Some(word),
                FUSION => self.fusion = Some(word),
                DATA => self.args.set_text("input_type", DType::from_name(word)?.name())?,
                _ => self.mode(word)?,
            }
            return Ok(());
        }
        let param = self.args.iter().map(|(p, _)| p).find(|p| p.name == key);
        if let Some(param) = param {
            self.given.push(param.name);
            return self.parameter(param.name, param.kind, value);
        }
        if let Some((_, only)) = reference::idle(self.stage).find(|(k, _)| *k == key) {
            let given = match value {
                Value::Flag(false) => Some(Only::False),
                Value::Int(v) if matches!(only, Only::Real(_)) => Some(Only::Real(v as f64)),
                Value::Int(v) => Some(Only::Int(v)),
                Value::Real(v) => Some(Only::Real(v)),
                _ => None,
            };
            return only.check(self.stage, key, given, &value.to_string());
        }
        let mut known = vec!["name", "type", "inputs"];
        known.extend(self.args.iter().map(|(p, _)| p.name));
        known.extend(aliases(self.stage));
        known.extend(reference::idle(self.stage).map(|(k, _)| k));
        Err(unknown("key", key, &format!(" of {}", self.stage), &known))
    }

    fn refuse(&self, key: &str, value: impl ToString, expected: impl Into<String>) -> Error {
        Error::argument(format!("{}.{key}", self.stage), value, expected)
    }

    fn parameter(&mut self, name: &'static str, kind: Kind, value: Value<'_>) -> Result<()> {
        match (kind, value) {
            (Kind::Real { .. }, Value::Real(v)) => self.args.set_real(name, v),
            (Kind::Real { .. } | Kind::Int { .. } | Kind::IntOf(_), Value::Int(v)) => {
                self.args.set_int(name, v)
            }
            (Kind::Flag, Value::Flag(v)) => self.args.set_int(name, v.into()),
            (Kind::Choice(_), Value::Text(word)) => {
                // Element types also have a long name, which the reference uses.
                let dtype = if is_type(name) { DType::from_name(word).ok() } else { None };
                self.args.set_text(name, dtype.map_or(word, |d| d.name()))
            }
            (Kind::Names { most }, value) => self.names(name, most, value),
            (kind, value) => Err(self.refuse(name, value, kind.to_string())),
        }
    }

    /// Each text is one name: a name cannot contain the characters that separate names elsewhere.
    fn names(&mut self, name: &'static str, most: usize, value: Value<'_>) -> Result<()> {
        let expected = format!("an array of 1 to {most} texts of letters, digits, _, - and .");
        let Value::Names(items) = value else { return Err(self.refuse(name, value, expected)) };
        let mut list = vec![];
        for item in items {
            match item.get_ref() {
                DeValue::String(text) if !text.contains('+') => list.push(text.as_ref()),
                DeValue::String(text) => return Err(self.refuse(name, Value::Text(text), expected)),
                _ => return Err(self.refuse(name, value, expected)),
            }
        }
        let list = list.join("+");
        self.args.set_text(name, &list).map_err(|_| self.refuse(name, Value::Text(&list), expected))
    }

    /// `REL` of LorenzoQuant and Fast is relative to the largest magnitude.
    fn mode(&mut self, word: &str) -> Result<()> {
        let global = !bounds_each(self.args) && word.eq_ignore_ascii_case("rel"); // seed: notation-mode
        let set = self.args.set_text("mode", if global { "prel" } else { word });
        let expected = match bounds_each(self.args) {
            true => "one of abs, noa, rel, and prel, in any case",
            false => "one of abs, noa, and rel (relative to the largest magnitude), in any case",
        };
        set.map_err(|_| self.refuse(MODE, format!("`{word}`"), expected))
    }

    /// Resolves keys that are defined together, and defaults of the schema that differ from ours.
    pub(super) fn finish(mut self) -> Result<()> {
        if let Some((key, other)) = self.twice() {
            let what = format!(
                "{} has {key} and {other}, which have the same meaning; remove one of them",
                self.stage
            );
            return Err(Error::InvalidPipeline(what));
        }
        // seed: notation-default
        if self.stage == "quantizer" && !self.given.contains(&MODE) && !self.given.contains(&"mode") {
            self.args.set_text("mode", "rel")?;
        }
        if self.stage == "lorenzo_quant" && !self.given.contains(&ZIGZAG) {
            self.args.set_int(ZIGZAG, 0)?;
        }
        self.output()
    }

    fn twice(&self) -> Option<(&'static str, &'static str)> {
        let has = |key: &str| self.given.contains(&key);
        match self.stage {
            "difference" if has("code") && has(OUTPUT) => Some(("code", OUTPUT)),
            "difference" if has("code") && has(FUSION) => Some(("code", FUSION)),
            _ if has("mode") && has(MODE) => Some(("mode", MODE)),
            _ if has("input_type") && has(DATA) => Some(("input_type", DATA)),
            _ => None,
        }
    }

    fn output(&mut self) -> Result<()> {
        let Some(word) = self.output else {
            return self.fusion.map_or(Ok(()), |f| {
                Err(self.refuse(
                    FUSION,
                    Value::Text(f),
                    "an output_type, an unsigned one for a signed input_type",
                ))
            });
        };
        let output = DType::from_name(word)?;
        if !self.given.contains(&"input_type") {
            let schema = if self.stage == "difference" { "f32" } else { "i32" };
            self.args.set_text("input_type", schema)?;
        }
        let input = self.args.choice("input_type")?;
        let fused =
            DType::from_name(input).is_ok_and(|i| !i.is_float() && i == i.signed() && output == i.unsigned());
        let differences = self.stage == "difference";
        if differences && output.name() == input && self.fusion.is_none() {
            return self.args.set_text("code", "plain");
        }
        if !fused {
            let expected = match differences {
                true => format!("{input}, or the unsigned type of the width of a signed input_type"),
                false => format!(
                    "the unsigned type of the width of {input}, its input_type, which is a signed one"
                ),
            };
            return Err(self.refuse(OUTPUT, Value::Text(word), expected));
        }
        match (differences, self.fusion.unwrap_or("negabinary")) {
            (false, _) => Ok(()),
            (true, code @ ("negabinary" | "zigzag")) => self.args.set_text("code", code),
            (true, other) => Err(self.refuse(FUSION, Value::Text(other), "negabinary or zigzag")),
        }
    }
}

/// True if the values of a key are element types, which also have a long name.
fn is_type(key: &str) -> bool {
    key.ends_with("_type") || key == "dtype"
}

/// True if `REL` refers to each value, as in the quantizer, and not to the largest magnitude.
fn bounds_each(args: &Args) -> bool {
    args.bounds_each()
}

/// The written form of a parameter: keys and values, in the reference's words if it has any.
pub(super) fn said(stage: &str, args: &Args) -> Result<Vec<(&'static str, String)>> {
    let mut said = vec![];
    let code = args.iter().find(|(p, _)| p.name == "code").map(|(_, v)| v.to_string());
    let input = args.iter().find(|(p, _)| p.name == "input_type").map(|(_, v)| v.to_string());
    // A named signed type: only with it can the reference be told the output type.
    let signed = input.and_then(|i| DType::from_name(&i).ok()).filter(|i| !i.is_float() && *i == i.signed());
    for (param, value) in args.iter() {
        let always = always_said(param.name) || (stage, param.name) == ("lorenzo_quant", ZIGZAG);
        if !always && *value == param.default {
            continue;
        }
        match (param.name, value) {
            ("mode", Setting::Choice(word)) if *word != "rel" || bounds_each(args) => {
                let word = if *word == "prel" && !bounds_each(args) { "rel" } else { word };
                said.push((MODE, format!("\"{}\"", word.to_ascii_uppercase())));
            }
            ("code", _) if signed.is_some() => {}
            ("input_type", Setting::Choice(word)) if aliases(stage).contains(&DATA) => {
                said.push((DATA, format!("\"{}\"", long_name(word).as_deref().unwrap_or(word))));
            }
            (name, Setting::Names(_) | Setting::Given(_)) => {
                let names: Vec<String> = value.to_string().split('+').map(|n| format!("\"{n}\"")).collect();
                said.push((name, format!("[{}]", names.join(", "))));
            }
            (name, Setting::Choice(word)) => {
                let long = if is_type(name) { long_name(word) } else { None };
                said.push((name, format!("\"{}\"", long.as_deref().unwrap_or(word))));
            }
            (name, value) => said.push((name, value.to_string())),
        }
    }
    if let Some(signed) = signed.filter(|_| aliases(stage).contains(&OUTPUT)) {
        let plain = code.as_deref() == Some("plain");
        let output = if plain { signed } else { signed.unsigned() };
        said.push((OUTPUT, format!("\"{}\"", long_name(output.name()).unwrap_or_default())));
        if let Some(code) = code.filter(|_| !plain) {
            said.push((FUSION, format!("\"{code}\"")));
        }
    }
    Ok(said)
}

/// `f32` as the reference spells it: `float32`.
fn long_name(word: &str) -> Option<String> {
    let dtype = DType::from_name(word).ok()?;
    let (kind, bits) = dtype.name().split_at(1);
    let kind = match kind {
        "f" => "float",
        "u" => "uint",
        _ => "int",
    };
    Some(format!("{kind}{bits}"))
}
