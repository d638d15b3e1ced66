//! The keys of the JSON reports and the types of their values, which later versions keep (docs/stability.md).
//!
//! `cli/tests/keys.txt` has a line for each key of a report: the command, the path of the key, and the types of its values. A key that
//! is gone or has another type fails the test. A new key fails it too, so that the file stays complete; `FZGM_UPDATE_KEYS=1` writes the
//! file.

use crate::fixture::{Fixture, ROOT};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Each command with the forms of its report. The files are those of earlier lines, and an array of multiples of 0.125.
const COMMANDS: &[&str] = &[
    "compress egm96.f32 -o a.fzm --dtype f32 --dims 1440x721 --eb 1e-3 --verify",
    "compress egm96.f32 -o b.fzs --dtype f32 --dims 1440x721 --eb 1e-3 --slab 1M",
    "compress egm96.f32 -o c.fzs --append --name a --dtype f32 --dims 1440x721 --eb 1e-3",
    "compress egm96.f32 -o d.fzc --dtype f32 --dims 1440x721 --preset high --mode abs --eb 0.1 --container compact",
    "compress egm96.f32 -o e.fzm --dtype f32 --lossless",
    "compress egm96.f32 -o f.fzm --dtype f32 --pipeline bitshuffle>rze",
    "compress egm96.f32 -o g.fzm --dtype f32 --dims 1440x721 --target-ratio 20",
    "compress lattice.f32 -o h.fzm --dtype f32 --dims 60x50x40 --lossless",
    "compress lattice.f32 -o i.fzm --dtype f32 --dims 60x50x40 --preset high --mode abs --eb 1e-3",
    "decompress a.fzm -o a.f32",
    "decompress a.fzm -o r.f32 --region 0:10,0:10",
    "decompress b.fzs -o b.f32",
    "info a.fzm --plan",
    "info b.fzs",
    "info c.fzs",
    "info c.fzs --step a",
    "info d.fzc",
    "info e.fzm",
    "info f.fzm",
    "info i.fzm",
    "compare egm96.f32 a.f32 --dtype f32 --mode noa --eb 1e-3",
    "compare egm96.f32 egm96.f32 --dtype f32",
    "bench egm96.f32 --dtype f32 --dims 1440x721 --preset fast --eb 1e-3 --threads 1 --runs 1",
    "stages",
    "presets",
    "hdf5 words --mode noa --eb 1e-3 --range 180 320",
    "hdf5 describe 1 515396074 1069673349 3",
    "devices",
];

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Adds the type of a value at this path, and those of the values in it. The keys of `params` are parameters of stages.
fn note(path: &str, value: &Value, keys: &mut BTreeMap<String, BTreeSet<&'static str>>) {
    keys.entry(path.to_owned()).or_default().insert(kind(value));
    match value {
        Value::Object(members) if !path.ends_with(".params") => {
            members.iter().for_each(|(name, value)| note(&format!("{path}.{name}"), value, keys));
        }
        Value::Array(items) => items.iter().for_each(|item| note(&format!("{path}[]"), item, keys)),
        _ => {}
    }
}

#[test]
fn the_keys_of_reports_are_the_recorded_ones() {
    let fixture = Fixture::new();
    let multiples = (0..60 * 50 * 40u64).map(|i| (i * i / 97 % 3001) as f32 * 0.125);
    fixture.write("lattice.f32", &multiples.flat_map(f32::to_le_bytes).collect::<Vec<u8>>());
    let mut keys = BTreeMap::new();
    for line in COMMANDS {
        let report = fixture.run(&format!("{line} --json")).json();
        let command = report["command"].as_str().unwrap().to_owned();
        let Value::Object(mut members) = report else { panic!("{line}: no object") };
        // They depend on the machine.
        members.retain(|key, _| command != "devices" || !["devices", "why_none"].contains(&&**key));
        note(&command, &Value::Object(members), &mut keys);
    }
    let lines = keys.iter().map(|(path, kinds)| {
        let kinds: Vec<_> = kinds.iter().copied().collect();
        format!("{path}: {}\n", kinds.join(" or "))
    });
    let have: String = lines.collect();
    let path = Path::new(ROOT).join("cli/tests/keys.txt");
    if std::env::var_os("FZGM_UPDATE_KEYS").is_some() {
        fs::write(&path, &have).unwrap();
    }
    let recorded = fs::read_to_string(path).unwrap();
    let (recorded, have): (BTreeSet<_>, BTreeSet<_>) = (recorded.lines().collect(), have.lines().collect());
    let gone: Vec<_> = recorded.difference(&have).collect();
    assert!(gone.is_empty(), "keys that are gone, or have other types: {gone:#?}");
    let new: Vec<_> = have.difference(&recorded).collect();
    assert!(new.is_empty(), "keys that cli/tests/keys.txt lacks: {new:#?}");
}
