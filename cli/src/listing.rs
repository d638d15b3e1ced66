//! Parameters of stages in the listings, as text and as JSON.

use crate::report::{number, setting};
use fzgm::{Kind, Param};
use serde_json::{Value, json};

pub(crate) fn param_text(p: &Param) -> String {
    let unit = if p.unit.is_empty() { String::new() } else { format!(", in {}", p.unit) };
    format!("    {} = {}\n        {} {}{unit}\n", p.name, p.default, p.doc, sentence(&p.kind.to_string()))
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

pub(crate) fn param_json(p: &Param) -> Value {
    let mut value = match p.kind {
        Kind::Real { low, open, high } => {
            json!({ "kind": "real", "low": number(low), "low_excluded": open, "high": number(high) })
        }
        Kind::Int { low, high } => json!({ "kind": "int", "low": low, "high": high }),
        Kind::IntOf(numbers) => json!({ "kind": "int", "choices": numbers }),
        Kind::Flag => json!({ "kind": "flag" }),
        Kind::Choice(words) => json!({ "kind": "choice", "choices": words }),
        Kind::Names { most } => json!({ "kind": "names", "most": most }),
    };
    value["name"] = p.name.into();
    value["default"] = setting(&p.default.to_string());
    value["unit"] = p.unit.into();
    value["doc"] = p.doc.into();
    value
}
