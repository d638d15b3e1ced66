//! Lists of exact values: of every length, in any order, and numbers of them that are wrong.

use super::*;
use crate::common::agreement::{bare, verdict};
use crate::common::rng::Rng;
use crate::common::samples::{self, FLOATS};
use fzgm::{Array, info};

fn described(container: &[u8], what: &str) -> String {
    let info = info(container).unwrap();
    info.stages[0].params.iter().find(|(name, _)| *name == what).unwrap().1.clone()
}

/// Exact values are as many as the header states; a number beyond the lists is damage.
#[test]
fn numbers_of_exact_values_are_checked() {
    let mut values: Vec<f64> = (0..1000).map(f64::from).collect();
    values[10] = f64::NAN;
    values[500] = f64::INFINITY;
    let sample = Sample::of(DType::F32, &[1000], values);
    let p = Setup::new("abs", 0.1).pipeline();
    let options = bare(Container::Fzm);
    let file = compress(&p, &sample.array, &options, &sample.bytes).unwrap();
    assert_eq!((described(&file, "exact_values"), described(&file, "outliers")), ("2".into(), "0".into()));
    for (pairs, ok) in [(2u64, true), (1, true), (3, false), (1 << 40, false), (u64::MAX, false)] {
        let mut other = file.clone();
        other[80 + 232..80 + 240].copy_from_slice(&pairs.to_le_bytes());
        let what = format!("{pairs} pairs");
        assert_eq!(verdict(&other, &options, true, &what).is_ok(), ok, "{what}");
    }
    // The last index of the file.
    let at = file.len() - 4;
    for (index, ok) in [(999u32, true), (1000, false), (u32::MAX, false)] {
        let mut other = file.clone();
        other[at..].copy_from_slice(&index.to_le_bytes());
        let what = format!("index {index}");
        assert_eq!(verdict(&other, &options, true, &what).is_ok(), ok, "{what}");
    }
    // A stage that has none cannot have any.
    let mut p = Pipeline::new();
    p.add("stored").unwrap();
    let mut stored = compress(&p, &sample.array, &options, &sample.bytes).unwrap();
    stored[80 + 232] = 1;
    let refusal = decompress(&stored, &options).unwrap_err().to_string();
    assert!(refusal.contains("stored") && refusal.contains("exact values"), "{refusal}");
}

/// Readers may take any order, writers promise one: each of the two runs ascends, also where units of work cross each other.
#[test]
fn both_runs_of_the_lists_ascend() {
    for (dtype, dims) in
        FLOATS.iter().flat_map(|&d| [&[9000][..], &[90, 130], &[40, 70, 17], &[1100, 9, 9]].map(|s| (d, s)))
    {
        let n = dims.iter().product::<u64>() as usize;
        let mut rng = Rng(0x243f_6a88);
        let mut values: Vec<f64> = (0..n).map(|_| rng.unit() * 100.0).collect();
        let descents = |values: &[f64]| {
            let p = Setup { code: "u16", radius: 2, ..Setup::new("abs", 0.5) }.pipeline();
            let sample = Sample::of(dtype, dims, values.iter().copied());
            let one = compress(&p, &sample.array, &options(Container::Compact, true), &sample.bytes).unwrap();
            let list = info(&one).unwrap().segments.last().map(|s| (s.port, s.bytes as usize)).unwrap();
            assert_eq!(list.0, "outlier_indices");
            let index = |b: &[u8]| u32::from_le_bytes(b.try_into().unwrap());
            let indices: Vec<u32> = one[one.len() - list.1..].chunks(4).map(index).collect();
            assert!(indices.len() > n / 2, "{dtype} {dims:?}: {} outliers", indices.len());
            indices.windows(2).filter(|pair| pair[0] >= pair[1]).count()
        };
        assert_eq!(descents(&values), 0, "{dtype} {dims:?}");
        for (i, v) in values.iter_mut().enumerate() {
            *v = if i % 37 == 0 { f64::NAN } else { *v };
        }
        assert_eq!(descents(&values), 1, "{dtype} {dims:?}");
    }
}

/// Exact values one beside the other, through tiles and over their borders.
#[test]
fn runs_of_exact_values() {
    for dtype in [DType::F32, DType::F64] {
        for dims in [&[6000][..], &[70, 40], &[20, 18, 10]] {
            for (first, every, run) in
                [(0, 1, 1), (1, 2, 1), (5, 3, 1), (40, 700, 1), (2000, 1, 1), (40, 40, 520)]
            {
                let mut sample = samples::make(dtype, dims, Content::Walk, 3);
                let width = dtype.bytes() as usize;
                // Runs that grow if they are short, with `every` good values between them. Long ones fill the
                // part of a tile that a warp has.
                let (mut at, mut run) = (first, run);
                while at < sample.bytes.len() / width {
                    let end = (at + run).min(sample.bytes.len() / width);
                    sample.bytes[at * width..end * width].fill(0xff);
                    at = end + every;
                    run += if run < 500 { 1 + run / 2 } else { 0 };
                }
                let p = quantizer(&[("mode", "noa"), ("outlier_capacity", "1")]);
                forms().iter().for_each(|form| all_ways(&p, &sample, form));
                if dims.len() == 1 {
                    let p = quantizer(&[("mode", "noa"), ("outlier_capacity", "1"), ("centering", "true")]);
                    forms_with_means().for_each(|form| all_ways(&p, &sample, &form));
                }
            }
        }
    }
}

/// Lists that go through another stage: in the exact form of the reference, with all of their room.
#[test]
fn lists_that_feed_a_stage() {
    for dtype in [DType::F32, DType::F64] {
        let sample = samples::make(dtype, &[50, 40], Content::Specials, 4);
        let mut p = quantizer(&[
            ("mode", "abs"),
            ("error_bound", "1e-2"),
            ("quant_radius", "20"),
            ("outlier_capacity", "1"),
        ]);
        for port in ["codes", "outlier_errors", "outlier_indices"] {
            let rze = p.add("rze").unwrap();
            p.connect(0, port, rze).unwrap();
        }
        forms().iter().for_each(|form| all_ways(&p, &sample, form));
    }
}

/// Entries in any order, several with one index, and at places that have codes: the result of the CPU.
#[test]
fn lists_of_other_writers() {
    let mut rng = Rng(0x5be0_cd19);
    for (dims, dtype, centering) in [
        (&[3000u64][..], DType::F32, "false"),
        (&[3000], DType::F32, "true"),
        (&[3000], DType::F64, "true"),
        (&[60, 50], DType::F32, "false"),
        (&[15, 20, 10], DType::F64, "false"),
        (&[15, 20, 10], DType::F32, "false"),
    ] {
        let Sample { array, bytes, name } = samples::make(dtype, dims, Content::Specials, 5);
        let sets = [("error_bound", "1e-2"), ("quant_radius", "4"), ("outlier_capacity", "1")];
        let p = quantizer(&[&sets[..], &[("centering", centering)]].concat());
        for strict in [true, false] {
            let form = Options { strict, ..bare(Container::Compact) };
            let frame = compress(&p, &array, &form, &bytes).unwrap();
            let lengths = |i: usize| fzgm::info(&frame).unwrap().segments[i].bytes as usize;
            let width = dtype.bytes() as usize;
            let entries = lengths(2) / 4;
            let end = frame.len() - if centering == "true" { lengths(3) } else { 0 };
            let (errors, indices) = (end - entries * (4 + width), end - entries * 4);
            assert!(entries > 100, "{name}: {entries} entries");
            for round in 0..8 {
                let mut other = frame.clone();
                for _ in 0..[2, 40, entries, 4 * entries][round % 4] {
                    let (i, j) = (rng.below(entries), rng.below(entries));
                    for k in 0..width {
                        other.swap(errors + i * width + k, errors + j * width + k);
                    }
                    for k in 0..4 {
                        other.swap(indices + i * 4 + k, indices + j * 4 + k);
                    }
                    if round >= 4 {
                        other.copy_within(indices + i * 4..indices + i * 4 + 4, indices + j * 4);
                        // A code beside an entry.
                        let code = errors - lengths(0) + rng.below(lengths(0));
                        other[code] ^= 1;
                    }
                }
                let what = format!("{name} strict {strict} round {round}");
                assert!(verdict(&other, &form, true, &what).is_ok(), "{what}");
            }
            // An index behind the array.
            let mut other = frame.clone();
            other[indices..indices + 4].copy_from_slice(&(Array::elements(&array) as u32).to_le_bytes());
            assert!(verdict(&other, &form, true, &name).is_err(), "{name}: an index behind the array");
        }
    }
}
