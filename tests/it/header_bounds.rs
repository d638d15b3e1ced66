//! Bounds in headers that no encoder of ours writes: an invalid bound is damage, on the CPU and on devices.

use crate::common::agreement::stage;
use crate::common::decoders::Decoders;
use crate::common::fixture::lossy;
use crate::common::run::both_containers;
use crate::common::samples::{Content, make};
use fzgm::{DType, Options, Pipeline, Status, info};

const DIMS: [u64; 2] = [130, 70];

/// The stage alone.
fn quantizer(mode: &str, bound: &str, code: &str, in_place: &str) -> Pipeline {
    let sets = [
        ("mode", mode),
        ("error_bound", bound),
        ("code_type", code),
        ("inplace_outliers", in_place),
        ("outlier_capacity", "1"),
    ];
    stage("quantizer", &sets)
}

/// The places of the bound in a header, as an f32 or, if the header contains it, as an f64.
fn places(container: &[u8]) -> Vec<(usize, usize)> {
    let info = info(container).unwrap();
    let said = info.stages[0].params.iter().find(|p| p.0 == "resolved_bound").unwrap();
    let bound: f64 = said.1.parse().unwrap();
    let header = container.len() - info.segments.iter().map(|s| s.bytes as usize).sum::<usize>();
    let find = |field: &[u8]| {
        let at = container[..header].windows(field.len()).position(|w| w == field);
        at.map(|at| (at, field.len()))
    };
    [find(&(bound as f32).to_le_bytes()), find(&bound.to_le_bytes())].into_iter().flatten().collect()
}

#[test]
fn invalid_bounds_are_corrupt() {
    let mut seen = [0; 2];
    for container in both_containers() {
        for fuse in [true, false] {
            let options = Options { container, fuse, ..Options::default() };
            let cases = [
                ("pfpl", lossy("pfpl", DType::F32), DType::F32),
                ("pfpl", lossy("pfpl", DType::F64), DType::F64),
                ("pfpl abs", stage("pfpl", &[("mode", "abs"), ("error_bound", "0.3")]), DType::F32),
                ("fz", lossy("fz", DType::F32), DType::F32),
                ("fz", lossy("fz", DType::F64), DType::F64),
                ("abs", quantizer("abs", "0.3", "u32", "true"), DType::F32),
                ("abs listed", quantizer("abs", "0.3", "u16", "false"), DType::F32),
                ("noa listed", quantizer("noa", "1e-3", "u16", "false"), DType::F64),
                ("noa", quantizer("noa", "1e-3", "u64", "true"), DType::F64),
                ("prel listed", quantizer("prel", "1e-3", "u32", "false"), DType::F32),
                ("rel", quantizer("rel", "1e-3", "u16", "false"), DType::F32),
                ("rel", quantizer("rel", "1e-3", "u32", "false"), DType::F64),
                // Too small for a normal f32, so that the header has an f64 too.
                ("small", quantizer("abs", "1e-40", "u64", "true"), DType::F64),
                ("small listed", quantizer("abs", "1e-40", "u32", "false"), DType::F64),
            ];
            for (name, p, dtype) in cases {
                let sample = make(dtype, &DIMS, Content::Walk, 3);
                let mut case = Decoders::new(&p, &sample, &options, true);
                let whole = case.bytes.clone();
                assert_eq!(case.restore(&whole, "as written"), Status::Ok, "{name}");
                let places = places(&whole);
                assert_eq!(places.len(), 1 + usize::from(name.starts_with("small")), "{name}");
                for (at, width) in places {
                    let wrong = [f64::NAN, -f64::NAN, -0.5, f64::NEG_INFINITY, -f64::from(f32::MIN_POSITIVE)];
                    // Another f64 belongs to another plan: the host reports it, and the device restores with
                    // it.
                    let other =
                        if width == 4 { &[f64::INFINITY, 0.7, f64::MAX][..] } else { &[f64::INFINITY] };
                    for &bound in wrong.iter().chain(other) {
                        let mut b = whole.clone();
                        match width {
                            4 => b[at..at + 4].copy_from_slice(&(bound as f32).to_le_bytes()),
                            _ => b[at..at + 8].copy_from_slice(&bound.to_le_bytes()),
                        }
                        let status = case.restore(&b, &format!("{width} bytes of {bound}"));
                        seen[usize::from(status == Status::Corrupt)] += 1;
                        let possible = bound >= 0.0;
                        assert!(possible || status == Status::Corrupt, "{name} {bound}: {status:?}");
                    }
                    // The original bound.
                    assert_eq!(case.restore(&whole, "as written again"), Status::Ok);
                }
            }
        }
    }
    assert!(seen.iter().all(|&n| n > 100), "{seen:?}");
}
