//! Streams of the original kernels: codes, anchors, and outliers are equal to the bit, and so are their
//! values.
//!
//! Flags that the original has resolved are given as parameters, since it decides some ties by the order of
//! threads; the choice of tuning here is compared with it where sums of errors differ.

use crate::common::agreement::{agrees, bare, stage};
use crate::common::samples::Sample;
use fzgm::{Array, Container, DType, Options, info};
use serde_json::Value;

struct Vectors {
    cases: Vec<Value>,
    bytes: Vec<u8>,
}

impl Vectors {
    fn read() -> Vectors {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
        let folder = std::env::var("FZGM_GOLDEN").unwrap_or(here.into());
        let path = |name: &str| format!("{folder}/ginterp/{name}");
        let cases: Value = serde_json::from_slice(&std::fs::read(path("cases.json")).unwrap()).unwrap();
        let cases = cases.as_array().unwrap().clone();
        Vectors { cases, bytes: std::fs::read(path("vectors.bin")).unwrap() }
    }

    /// An array of a case; none where only its checksum is recorded.
    fn array(&self, case: &Value, name: &str) -> Option<Vec<u8>> {
        let entry = &case[name];
        let width = DType::from_name(entry["dtype"].as_str().unwrap()).unwrap().bytes() as usize;
        let start = entry["offset"].as_u64()? as usize;
        Some(self.bytes[start..start + width * entry["count"].as_u64().unwrap() as usize].to_vec())
    }

    fn input(&self, case: &Value) -> Vec<u8> {
        self.array(case, "input").unwrap_or_else(|| formula(case["type"].as_str().unwrap(), dims(case)))
    }
}

/// Inputs that are a formula, exact in f32.
pub(super) fn formula(dtype: &str, [nx, ny, nz]: [u64; 3]) -> Vec<u8> {
    let mut bytes = vec![];
    for i in 0..nx * ny * nz {
        let [x, y, z] = [i % nx, i / nx % ny, i / (nx * ny)].map(|v| v as f64);
        let noise = (i as u32).wrapping_mul(2_654_435_761) >> 28;
        let mut v = 0.125 * (3.0 * x * x + 5.0 * y * y - 2.0 * z * z + x * y) + 0.0625 * f64::from(noise);
        v += if i % 97 == 5 { 4096.0 } else { 0.0 };
        match dtype {
            "f32" => bytes.extend((v as f32).to_le_bytes()),
            _ => bytes.extend(v.to_le_bytes()),
        }
    }
    bytes
}

/// For the codes of a volume, tile by tile, the places level by level. Written from the page, by sorting and not by formulas.
pub(super) fn level_places(dims: [u64; 3]) -> Vec<usize> {
    let [nx, ny, nz] = dims;
    let points: Vec<[u64; 3]> =
        (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z]))).collect();
    let spacing = |p: &[u64; 3]| p.iter().map(|c| c.trailing_zeros().min(4)).min().unwrap();
    let mut by_levels: Vec<usize> = (0..points.len()).collect();
    by_levels.sort_by_key(|&i| 4 - spacing(&points[i]));
    let mut level_place = vec![0; points.len()];
    by_levels.into_iter().enumerate().for_each(|(place, i)| level_place[i] = place);
    let order = |p: &[u64; 3]| {
        let [x, y, z] = p.map(|c| c % 16);
        let level = spacing(p).min(2);
        let parity =
            if level == 2 { 0 } else { (x >> level & 1) + 2 * (y >> level & 1) + 4 * (z >> level & 1) };
        (p.map(|c| c / 16), 2 - level, parity, [z, y, x])
    };
    let mut by_tiles: Vec<usize> = (0..points.len()).collect();
    by_tiles.sort_by_key(|&i| {
        let ([x, y, z], level, parity, at) = order(&points[i]);
        ([z, y, x], level, parity, at)
    });
    by_tiles.into_iter().map(|i| level_place[i]).collect()
}

fn dims(case: &Value) -> [u64; 3] {
    let all = case["dims"].as_array().unwrap();
    std::array::from_fn(|d| all[d].as_u64().unwrap())
}

fn real(case: &Value, key: &str) -> String {
    format!("{:?}", case[key].as_f64().unwrap())
}

fn mask(case: &Value, key: &str) -> String {
    let levels = case[key].as_array().unwrap();
    levels.iter().enumerate().map(|(i, v)| u64::from(v.as_u64() != Some(0)) << i).sum::<u64>().to_string()
}

fn sample(vectors: &Vectors, case: &Value) -> Sample {
    let shape = dims(case);
    let shape = if shape[2] > 1 { &shape[..] } else { &shape[..2] };
    let dtype = DType::from_name(case["type"].as_str().unwrap()).unwrap();
    let array = Array::new(dtype, shape).unwrap();
    Sample { name: case["id"].as_str().unwrap().into(), array, bytes: vectors.input(case) }
}

/// Parameters of a case, without its tuning.
fn parameters(case: &Value) -> Vec<(&'static str, String)> {
    let mode = match case["eb_mode"].as_str().unwrap() {
        "ABS" => "abs",
        "NOA" => "noa",
        _ => "prel",
    };
    vec![
        ("mode", mode.into()),
        ("code_type", case["code"].as_str().unwrap().into()),
        ("error_bound", real(case, "user_eb")),
        ("value_base", real(case, "value_base")),
        ("quant_radius", case["radius_user"].to_string()),
        ("outlier_capacity", "1".into()),
    ]
}

fn literal() -> Options {
    Options { strict: false, ..bare(Container::Fzm) }
}

/// Ports of a container of this stage alone.
fn ports(container: &[u8]) -> Vec<Vec<u8>> {
    let info = info(container).unwrap();
    let mut at = info.header_bytes as usize;
    let each = info.segments.iter().map(|segment| {
        at += segment.bytes as usize;
        container[at - segment.bytes as usize..at].to_vec()
    });
    each.collect()
}

/// Outliers in ascending order, as they are recorded.
fn sorted(values: &[u8], indices: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let width = values.len() / (indices.len() / 4).max(1);
    let mut all: Vec<(u32, &[u8])> = indices
        .chunks_exact(4)
        .map(|i| u32::from_le_bytes(i.try_into().unwrap()))
        .zip(values.chunks_exact(width.max(1)))
        .collect();
    all.sort_by_key(|entry| entry.0);
    (all.iter().flat_map(|e| e.1.to_vec()).collect(), all.iter().flat_map(|e| e.0.to_le_bytes()).collect())
}

#[test]
fn streams_of_the_original_come_out_to_the_bit() {
    let vectors = Vectors::read();
    assert_eq!(vectors.cases.len(), 69);
    for case in &vectors.cases {
        let sample = sample(&vectors, case);
        let mut sets = parameters(case);
        sets.extend([
            ("auto_tuning", "5".into()),
            ("manual_alpha", real(case, "alpha")),
            ("manual_beta", real(case, "beta")),
            ("md_levels", mask(case, "use_md")),
            ("natural_levels", mask(case, "use_natural")),
            ("reverse_levels", mask(case, "reverse")),
        ]);
        let sets: Vec<(&str, &str)> = sets.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let (container, restored) = agrees(&stage("ginterp", &sets), &sample, &literal(), [0, 0]);
        let name = &sample.name;
        let ports = ports(&container);
        assert!(ports[0] == vectors.array(case, "codes").unwrap(), "{name}: codes");
        assert!(ports[1] == vectors.array(case, "anchor").unwrap(), "{name}: anchors");
        let outliers = sorted(&ports[2], &ports[3]);
        assert!(outliers.1 == vectors.array(case, "outlier_idxs").unwrap(), "{name}: indices");
        assert!(outliers.0 == vectors.array(case, "outlier_vals").unwrap(), "{name}: outliers");
        let crc = format!("{:08x}", crc32fast::hash(&restored));
        assert_eq!(case["recon"]["crc32"].as_str().unwrap(), crc, "{name}: values");
    }
}

/// Where sums of a level are among those that the original has recorded, the finest level first.
fn slots(flat: bool, level: usize) -> std::ops::Range<usize> {
    let (coarse, fine) = if flat { (6, 9) } else { (0, 6) };
    match (flat, level) {
        (_, 3) => coarse..coarse + 3,
        (false, 2) => 3..6,
        (false, level) => fine + 6 * (1 - level)..fine + 6 * (2 - level),
        (true, level) => fine + 6 * (2 - level)..fine + 6 * (3 - level),
    }
}

/// True if no other sum is close to the smallest one.
fn is_decided(sums: &[f64]) -> bool {
    let mut sorted = sums.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[1] > sorted[0] * (1.0 + 1e-4)
}

#[test]
fn tuning_decides_as_the_original_where_it_is_decided() {
    let vectors = Vectors::read();
    let (mut cases, mut levels) = (0, 0);
    for case in vectors.cases.iter().filter(|case| case["auto_tuning"].as_u64().unwrap() > 0) {
        let sample = sample(&vectors, case);
        let mut sets = parameters(case);
        sets.extend([
            ("auto_tuning", case["auto_tuning"].to_string()),
            ("manual_alpha", real(case, "manual_alpha")),
            ("manual_beta", real(case, "manual_beta")),
        ]);
        let sets: Vec<(&str, &str)> = sets.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let (container, _) = agrees(&stage("ginterp", &sets), &sample, &literal(), [0, 0]);
        let params = info(&container).unwrap().stages[0].params.clone();
        let said = |name: &str| params.iter().find(|(known, _)| *known == name).unwrap().1.clone();
        let name = &sample.name;
        let flags = |name: &str| said(name).parse::<u64>().unwrap();
        let probe = |name: &str| -> Option<Vec<f64>> {
            let sums = case["probe"][name].as_array()?;
            Some(sums.iter().map(|v| v.as_f64().unwrap()).collect())
        };
        let flat = dims(case)[2] == 1;
        let mut all_decided = true;
        for level in 0..4 {
            let has = |key: &str| case[key][level].as_u64() != Some(0);
            let ours = |key: &str| flags(key) >> level & 1 == 1;
            if let Some(sums) = probe("m3") {
                let sums = &sums[slots(flat, level)];
                // In planes, splines of levels 1 and 2 are equal, and the original takes either.
                let (alike, compared) =
                    (flat && (level == 1 || level == 2), flat && level == 0 || !flat && level < 2);
                if !is_decided(if alike { &sums[..3] } else { sums }) {
                    all_decided = false;
                    continue;
                }
                assert_eq!(ours("md_levels"), has("use_md"), "{name}: md of level {level}");
                if compared {
                    assert_eq!(ours("natural_levels"), has("use_natural"), "{name}: spline of level {level}");
                }
            } else {
                assert_eq!(ours("md_levels"), has("use_md"), "{name}: md of level {level}");
                assert_eq!(ours("natural_levels"), has("use_natural"), "{name}: spline of level {level}");
            }
            if !has("use_md") || probe("m3").is_none() {
                assert_eq!(ours("reverse_levels"), has("reverse"), "{name}: order of level {level}");
            }
            levels += 1;
        }
        // Counts of pairs are those of the flags.
        if all_decided || probe("m4").is_none() {
            for key in ["alpha", "beta"] {
                // Decimal digits of the vectors are read to the last bit but one.
                let (ours, theirs) = (said(key).parse::<f64>().unwrap(), case[key].as_f64().unwrap());
                assert!((ours - theirs).abs() <= 1e-12, "{name}: {key} is {ours}, not {theirs}");
            }
        }
        assert_eq!(said("quant_radius"), case["radius"].to_string(), "{name}");
        cases += 1;
    }
    assert!(cases > 15 && levels > 40, "{cases} cases with {levels} levels");
}
