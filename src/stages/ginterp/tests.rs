//! Sums of errors, compared with those that the original has recorded.

use super::code::{Coding, Literal, Numbers};
use super::grid::TileGrid;
use super::params::{GinterpMetadata, GinterpParams};
use super::predict::LevelFlags;
use super::steps::{HalfStep, set_steps};
use super::tune::{Sample, Scale, Tally, count_pairs};
use bytemuck::Zeroable;
use serde_json::Value;

fn golden() -> (Vec<Value>, Vec<u8>) {
    let path = |name: &str| format!("{}/tests/golden/ginterp/{name}", env!("CARGO_MANIFEST_DIR"));
    let cases: Value = serde_json::from_slice(&std::fs::read(path("cases.json")).unwrap()).unwrap();
    (cases.as_array().unwrap().clone(), std::fs::read(path("vectors.bin")).unwrap())
}

/// A probe of a case.
fn probe(case: &Value, name: &str) -> Option<Vec<f64>> {
    Some(case["probe"][name].as_array()?.iter().map(|v| v.as_f64().unwrap()).collect())
}

#[test]
fn sums_and_counts_are_those_of_the_original() {
    let (cases, vectors) = golden();
    let mut compared = 0;
    for case in cases.iter().filter(|c| c["probe"].is_object() && c["input"]["offset"].is_u64()) {
        let dims: Vec<u32> =
            case["dims"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap() as u32).collect();
        let start = case["input"]["offset"].as_u64().unwrap() as usize;
        let src = &vectors[start..start + 4 * dims.iter().product::<u32>() as usize];
        let mut p = GinterpParams::zeroed();
        (p.dims, p.value, p.code) = ([dims[0], dims[1], dims[2]], 4, 2);
        let grid = TileGrid::new(&p);
        let bound = case["abs_eb"].as_f64().unwrap() as f32;
        let mut metadata = GinterpMetadata::zeroed();
        (metadata.alpha, metadata.beta) = (1.75, 4.0);
        metadata.radius = case["radius"].as_u64().unwrap() as u32;
        set_steps(&mut metadata, HalfStep::new(bound), grid.levels);
        let coding = Literal::new(Numbers::<f32>::new(&p, &metadata));
        let scale = Scale::new(bound.into());
        let sample = Sample { src, grid: &grid, coding: &coding, scale };
        let unit = 2f64.powi(20) / 2f64.powi(bound.log2().floor() as i32);
        let near = |sum: u64, want: f64, what: &str| {
            let sum = sum as f64 / unit;
            assert!((sum - want).abs() <= 1e-4 * want + 1e-3, "{} {what}: {sum} for {want}", case["id"]);
        };
        if let Some(want) = probe(case, "m1") {
            let sums = sample.lines().sums;
            (0..2).for_each(|i| near(sums[i], want[i], "line"));
        }
        if let Some(want) = probe(case, "m2").filter(|_| dims[2] > 1) {
            let sums = sample.splines().sums;
            // The original has overwritten z by y, and y by x.
            (0..6).for_each(|i| near(sums[[2, 3, 4, 5, 4, 5][i]], want[i], "spline"));
        }
        if let Some(want) = probe(case, "m3") {
            let sums = sample.candidates().sums;
            let flat = dims[2] == 1;
            for level in 0..4 {
                let first = match (flat, level) {
                    (false, 3) => 0,
                    (false, 2) => 3,
                    (false, level) => 12 - 6 * level,
                    (true, 3) => 6,
                    (true, level) => 21 - 6 * level,
                };
                for i in 0..if level == 3 || (!flat && level == 2) { 3 } else { 6 } {
                    // Of level 1 of planes the original measures one spline twice.
                    let ours = if flat && level == 1 { i % 3 } else { i };
                    near(sums[6 * level + ours], want[first + i], &format!("level {level}, candidate {i}"));
                }
            }
            compared += 1;
        }
        if let Some(want) = probe(case, "m4") {
            let level = |key: &str| case[key][0].as_u64().unwrap() != 0;
            let flags =
                LevelFlags { md: level("use_md"), natural: level("use_natural"), reverse: level("reverse") };
            let mut tally = Tally::zero();
            count_pairs(&p, &sample, &metadata, &[flags; 4], HalfStep::new(bound), &mut tally);
            let counts: Vec<f64> = tally.counts.iter().map(|&c| c as f64).collect();
            assert_eq!(counts, want, "{}", case["id"]);
        }
    }
    assert!(compared > 5, "{compared} cases with sums of candidates");
}
