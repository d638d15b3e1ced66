//! Real fields: the bound kept for every value by every preset at its bounds and in its modes, and what strict costs in bytes.
//!
//! `FZGM_FIELDS=dir[:dir]` adds directories of `*.f32` and `*.f64` files with a `fields.json` of their shapes.
#![allow(clippy::unwrap_used, clippy::panic)]

#[allow(dead_code, unreachable_pub)]
mod common;

use common::oracle::{Bound, judge};
use fzgm::{Array, DType, Options, compress, decompress, preset};
use serde_json::Value;
use std::path::{Path, PathBuf};

struct Field {
    name: String,
    array: Array,
    bytes: Vec<u8>,
}

fn read(path: &Path, dims: &[u64]) -> Field {
    let dtype = if path.extension().is_some_and(|e| e == "f64") { DType::F64 } else { DType::F32 };
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let array = Array::new(dtype, dims).unwrap();
    assert_eq!(array.bytes(), bytes.len() as u64, "{}: {dims:?}", path.display());
    Field { name: path.file_name().unwrap().to_string_lossy().into_owned(), array, bytes }
}

/// `{"name.f32": {"dims": [..]}}` or `{"name": [..]}`.
fn shape(list: &Value, path: &Path) -> Option<Vec<u64>> {
    let [name, stem] = [path.file_name()?.to_str()?, path.file_stem()?.to_str()?];
    let entry = list.get(name).or_else(|| list.get(stem))?;
    let dims = entry.get("dims").unwrap_or(entry).as_array()?;
    dims.iter().map(Value::as_u64).collect()
}

fn directory(dir: &Path) -> Vec<Field> {
    let list = std::fs::read(dir.join("fields.json")).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let list: Value = serde_json::from_slice(&list).unwrap();
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let is_field = |p: &&PathBuf| p.extension().is_some_and(|e| e == "f32" || e == "f64");
    let fields: Vec<Field> = paths
        .iter()
        .filter(is_field)
        .map(|p| read(p, &shape(&list, p).unwrap_or_else(|| panic!("fields.json has no {}", p.display()))))
        .collect();
    assert!(!fields.is_empty(), "no fields in {}", dir.display());
    fields
}

/// Prints ratio, worst error over bound and what strict adds; returns what breaks a promise.
fn row(field: &Field, name: &str, mode: &str, eb: f64) -> Option<String> {
    let (preset_name, Field { name, array, bytes }) = (name, field);
    let mut pipeline = preset(preset_name, array.dtype()).unwrap();
    pipeline.set_everywhere("mode", |a| a.set_text("mode", mode)).unwrap();
    pipeline.set_everywhere("error_bound", |a| a.set_real("error_bound", eb)).unwrap();
    let threshold = if has_fills(field) { FILLS } else { f64::INFINITY };
    pipeline.set_everywhere("outlier_threshold", |a| a.set_real("outlier_threshold", threshold)).unwrap();
    let make = |strict: bool| {
        let options = Options { strict, threads: 0, ..Options::default() };
        compress(&pipeline, array, &options, bytes).unwrap()
    };
    let (strict, loose) = (make(true), make(false));
    let (shape, restored) = decompress(&strict, &Options::default()).unwrap();
    assert_eq!(shape, *array);
    let bound = Bound::of(mode, eb);
    let verdict = match judge(array.dtype(), bytes, &restored, bound, threshold) {
        Ok(verdict) => verdict,
        Err(e) => return Some(format!("{name} {preset_name} {mode} {eb:?}: {e}")),
    };
    let overhead = (strict.len() as f64 / loose.len() as f64 - 1.0) * 100.0;
    let (ratio, worst) = (bytes.len() as f64 / strict.len() as f64, verdict.worst);
    println!("| {name} | {preset_name} | {mode} | {eb:.0e} | {ratio:.3} | {worst:.9} | {overhead:+.4} % |");
    // Asked of given fields, where the spacing of floats is small beside the bound: where it is not, what strict off
    // saves is the bound itself.
    let asked = std::env::var("FZGM_FIELDS").is_ok()
        && !has_fills(field)
        && largest_multiple(field, mode, eb) < 2f64.powi(18);
    let most = if preset_name == "fz" { MOST_OVERHEAD_OF_FZ } else { MOST_OVERHEAD };
    let limit = if asked { most } else { f64::INFINITY };
    (overhead > limit).then(|| format!("{name} {preset_name} {mode} {eb:?}: strict costs {overhead:.3} %"))
}

/// Values from here on are fills.
const FILLS: f64 = 1e19;

fn values(field: &Field) -> Vec<f64> {
    match field.array.dtype() {
        DType::F32 => {
            field.bytes.chunks(4).map(|w| f32::from_le_bytes(w.try_into().unwrap()).into()).collect()
        }
        _ => field.bytes.chunks(8).map(|w| f64::from_le_bytes(w.try_into().unwrap())).collect(),
    }
}

fn has_fills(field: &Field) -> bool {
    values(field).iter().any(|x| x.abs() >= FILLS)
}

/// The largest magnitude in steps of twice the bound.
fn largest_multiple(field: &Field, mode: &str, eb: f64) -> f64 {
    let (low, high) = values(field).iter().fold((f64::MAX, f64::MIN), |(l, h), &x| (x.min(l), x.max(h)));
    let largest = high.max(-low);
    let base = match mode {
        "abs" => 1.0,
        "noa" => high - low,
        _ => largest,
    };
    largest / (2.0 * eb * base)
}

/// Per cent of the bytes that keeping the bound for every value may cost.
const MOST_OVERHEAD: f64 = 0.2;
/// On the smoothest fields the stand-ins of exact values cost their neighbours a little.
const MOST_OVERHEAD_OF_FZ: f64 = 0.25;

fn table(fields: &[Field]) {
    println!("| field | preset | mode | bound | ratio | worst error / bound | strict adds |");
    let mut broken = vec![];
    for field in fields {
        for mode in ["abs", "noa", "rel", "prel"] {
            broken.extend([1e-2, 1e-3, 1e-4].iter().filter_map(|&eb| row(field, "pfpl", mode, eb)));
        }
        for mode in ["abs", "noa", "prel"] {
            broken.extend([1e-2, 1e-3, 1e-4, 1e-5, 1e-6].iter().filter_map(|&eb| row(field, "fz", mode, eb)));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_shipped_field_keeps_its_bounds() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/data/egm96.f32");
    table(&[read(&path, &[1440, 721])]);
}

#[test]
fn all_given_fields_keep_their_bounds() {
    let Ok(list) = std::env::var("FZGM_FIELDS") else {
        eprintln!("FZGM_FIELDS is not set: only the shipped field is tested");
        return;
    };
    table(&list.split(':').flat_map(|dir| directory(Path::new(dir))).collect::<Vec<_>>());
}

/// Values that are not carried come back bit for bit and do not harm the field around them.
#[test]
fn fills_and_specials_in_a_real_field() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/data/egm96.f32");
    let mut field = read(&path, &[1440, 721]);
    let specials =
        [1e20f32.to_bits(), f32::NAN.to_bits() | 0x8000_0123, f32::INFINITY.to_bits(), 0x8000_0000, 1];
    for (i, word) in field.bytes.chunks_exact_mut(4).enumerate().filter(|(i, _)| i % 37 == 0) {
        word.copy_from_slice(&specials[i / 37 % specials.len()].to_le_bytes());
    }
    for (name, mode) in [("pfpl", "noa"), ("fz", "noa"), ("fz", "abs"), ("fz", "prel")] {
        let mut pipeline = preset(name, DType::F32).unwrap();
        pipeline.set_everywhere("mode", |a| a.set_text("mode", mode)).unwrap();
        pipeline.set_everywhere("outlier_threshold", |a| a.set_real("outlier_threshold", 1e20)).unwrap();
        let container = compress(&pipeline, &field.array, &Options::default(), &field.bytes).unwrap();
        let (_, restored) = decompress(&container, &Options::default()).unwrap();
        let bound = Bound::of(mode, 1e-3);
        let verdict = judge(DType::F32, &field.bytes, &restored, bound, 1e20).unwrap();
        assert!(verdict.carried > 1_000_000 && verdict.worst > 0.9, "{name} {mode}: {verdict:?}");
    }
}
