//! Combinations of parameters that depend on each other: `cases.toml` beside a stage, where single values and pairs of them
//! do not reach everything.
//!
//! ```toml
//! # A cross product. A key names parameters, its values have one word for each of them.
//! [[cases]]
//! mode = ["abs", "noa"]
//! "code_type quant_radius" = ["u16 300", "u32 5"]
//! ```
//!
//! `[[main_forms]]` have the same form. They run over every sample, the others over a few.

use std::path::{Path, PathBuf};
use toml::Table;

/// A parameter and its value as text.
pub type Given = (String, String);

/// The combinations of a stage.
pub fn of(stage: &str) -> Vec<Vec<Given>> {
    read(stage, "cases")
}

/// The most used forms of a stage.
pub fn main_forms(stage: &str) -> Vec<Vec<Given>> {
    read(stage, "main_forms")
}

/// The folders of the stages: `src/stages`, or `FZGM_STAGES` if there are no sources.
fn folder() -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/stages");
    let folder = std::env::var_os("FZGM_STAGES").map_or(sources, Into::into);
    assert!(folder.is_dir(), "{} has the cases of the stages; set FZGM_STAGES", folder.display());
    folder
}

fn read(stage: &str, kind: &str) -> Vec<Vec<Given>> {
    let path = folder().join(stage).join("cases.toml");
    let Ok(text) = std::fs::read_to_string(&path) else { return vec![] };
    let file: Table = text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let unknown = file.keys().find(|key| !["cases", "main_forms"].contains(&key.as_str()));
    assert_eq!(unknown, None, "{}", path.display());
    let Some(products) = file.get(kind) else { return vec![] };
    let products = products.as_array().unwrap_or_else(|| panic!("{}: [[{kind}]]", path.display()));
    products.iter().flat_map(|product| cross(product.as_table().unwrap())).collect()
}

fn cross(product: &Table) -> Vec<Vec<Given>> {
    let mut all = vec![vec![]];
    for (names, values) in product {
        let names: Vec<&str> = names.split_whitespace().collect();
        let values = values.as_array().unwrap_or_else(|| panic!("{names:?} has no list of values"));
        let one = |value: &toml::Value| -> Vec<Given> {
            let words: Vec<&str> = value.as_str().unwrap().split_whitespace().collect();
            assert_eq!(words.len(), names.len(), "{value:?} for {names:?}");
            names.iter().zip(words).map(|(name, word)| (name.to_string(), word.to_string())).collect()
        };
        all = all
            .iter()
            .flat_map(|set: &Vec<Given>| values.iter().map(|v| [&set[..], &one(v)].concat()))
            .collect();
    }
    all
}
