//! Real fields from files, and their requirements.

use fzgm::{Array, DType, Pipeline, preset};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub struct Field {
    pub name: String,
    pub array: Array,
    pub bytes: Vec<u8>,
    /// Lowest and highest value below [`FILLS`], and whether there are any from there on.
    extremes: (f64, f64),
    pub has_fills: bool,
}

/// Values from here on are fills.
const FILLS: f64 = 1e19;

impl Field {
    pub fn new(name: &str, array: Array, bytes: Vec<u8>) -> Field {
        let value = |word: &[u8]| match array.dtype() {
            DType::F32 => f64::from(f32::from_le_bytes(word.try_into().unwrap())),
            _ => f64::from_le_bytes(word.try_into().unwrap()),
        };
        let (mut extremes, mut has_fills) = ((f64::MAX, f64::MIN), false);
        for x in bytes.chunks_exact(array.dtype().bytes() as usize).map(value) {
            let fill = x.abs() >= FILLS;
            has_fills |= fill;
            if !fill {
                extremes = (x.min(extremes.0), x.max(extremes.1));
            }
        }
        Field { name: name.into(), array, bytes, extremes, has_fills }
    }

    pub fn read(path: &Path, dims: &[u64]) -> Field {
        let dtype = if path.extension().is_some_and(|e| e == "f64") { DType::F64 } else { DType::F32 };
        let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let array = Array::new(dtype, dims).unwrap();
        assert_eq!(array.bytes(), bytes.len() as u64, "{}: {dims:?}", path.display());
        Field::new(&path.file_name().unwrap().to_string_lossy(), array, bytes)
    }

    /// The field that is in the repository.
    pub fn shipped() -> Field {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/data/egm96.f32");
        Field::read(&path, &[1440, 721])
    }

    /// The first rows and columns of a field of two dimensions.
    pub fn corner(&self, columns: u64, rows: u64) -> Field {
        let width = self.array.dtype().bytes() as usize;
        let row = self.array.dims()[0] as usize * width;
        let cut = self.bytes.chunks(row).take(rows as usize).flat_map(|r| &r[..columns as usize * width]);
        let array = Array::new(self.array.dtype(), &[columns, rows]).unwrap();
        Field::new(&format!("corner of {}", self.name), array, cut.copied().collect())
    }

    /// Values from here on are exact and count for no range.
    pub fn threshold(&self) -> f64 {
        if self.has_fills { FILLS } else { f64::INFINITY }
    }

    /// A preset, in a mode and with a bound if it has one, and with the threshold of this field.
    pub fn pipeline(&self, name: &str, mode: &str, eb: f64) -> Pipeline {
        let mut pipeline = preset(name, self.array.dtype()).unwrap();
        if ["bits", "exact"].contains(&name) {
            return pipeline;
        }
        pipeline.set_everywhere("mode", |a| a.set_text("mode", mode)).unwrap();
        pipeline.set_everywhere("error_bound", |a| a.set_real("error_bound", eb)).unwrap();
        let threshold = self.threshold();
        pipeline.set_everywhere("outlier_threshold", |a| a.set_real("outlier_threshold", threshold)).unwrap();
        pipeline
    }

    /// The largest magnitude in steps of twice the bound.
    pub fn largest_multiple(&self, mode: &str, eb: f64) -> f64 {
        let (low, high) = self.extremes;
        let largest = high.max(-low);
        let base = match mode {
            "abs" => 1.0,
            "noa" => high - low,
            _ => largest,
        };
        largest / (2.0 * eb * base)
    }
}

/// `{"name.f32": {"dims": [..]}}` or `{"name": [..]}`.
fn shape(list: &Value, path: &Path) -> Option<Vec<u64>> {
    let [name, stem] = [path.file_name()?.to_str()?, path.file_stem()?.to_str()?];
    let entry = list.get(name).or_else(|| list.get(stem))?;
    let dims = entry.get("dims").unwrap_or(entry).as_array()?;
    dims.iter().map(Value::as_u64).collect()
}

/// The fields of a directory, `*.f32` and `*.f64` with a `fields.json` of their shapes. One is read when it is its turn.
pub fn directory(dir: &Path) -> impl Iterator<Item = Field> {
    let list = std::fs::read(dir.join("fields.json")).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let list: Value = serde_json::from_slice(&list).unwrap();
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "f32" || e == "f64"));
    paths.sort();
    assert!(!paths.is_empty(), "no fields in {}", dir.display());
    paths.into_iter().map(move |p| {
        let dims = shape(&list, &p).unwrap_or_else(|| panic!("fields.json has no {}", p.display()));
        Field::read(&p, &dims)
    })
}
