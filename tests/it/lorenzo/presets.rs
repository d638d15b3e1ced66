//! lorenzo_quant in presets fz and cusz, whose decoder and encoder do several stages in one launch of a device.

use super::*;
use crate::common::agreement::{agrees, bare};
use crate::common::rare::{Rare, field};
use crate::common::rng::Rng;
use crate::common::run::both_containers;
use crate::common::samples::elements;

/// Preset fz, whose decoder takes banded fields of f32 in one launch.
#[test]
fn fields_in_preset_fz() {
    let mut rng = Rng(0x7137_4491);
    for dims in BANDED.iter().chain(&WIDE).chain(&RAGGED) {
        for (k, which) in [Rare::No, Rare::Edges, Rare::Many, Rare::All].into_iter().enumerate() {
            if elements(dims) > 100_000 && k % 2 == 1 {
                continue;
            }
            let zigzag = *rng.pick(&["true", "false"]);
            let sets = [
                ("mode", "abs"),
                ("error_bound", "0.3"),
                ("zigzag_codes", zigzag),
                ("outlier_capacity", "1"),
            ];
            let sample = field(DType::F32, dims, (step_of(DType::F32, 0.3), 32768.0), which, rng.word());
            let form = Options {
                strict: k % 2 == 0 || rng.below(2) == 0,
                generation: *rng.pick(&[Generation::G2026_05, Generation::G2026_08, Generation::G2026_08]),
                ..bare(Container::Fzm)
            };
            agrees(&stage("fz", &sets), &sample, &form, SHIFTS[k]);
        }
    }
}

/// Tiles that are all zeros, that RZE stores raw, and everything between, in one field.
#[test]
fn tiles_of_every_kind_of_payload() {
    let mut rng = Rng(0xb5c0_fbcf);
    for dims in [[16, 512, 9], [64, 256, 10], [512, 16, 11], [512, 272, 9]] {
        let value = |i| match i / 8192 % 5 {
            0 | 3 => 0.0,
            // A difference is the sum of eight such, and below 2^15.
            1 => rng.below(4096) as f64,
            2 => rng.below(4) as f64,
            _ => (i % 600) as f64,
        };
        let sample = Sample::of(DType::F32, &dims, (0..elements(&dims)).map(value));
        for zigzag in ["true", "false"] {
            let p = stage("fz", &[("mode", "abs"), ("error_bound", "0.5"), ("zigzag_codes", zigzag)]);
            for container in both_containers() {
                let form = Options { store_incompressible: true, ..bare(container) };
                agrees(&p, &sample, &form, [4, 0]);
            }
        }
    }
}

#[test]
fn fields_in_preset_cusz() {
    let mut rng = Rng(0x510e_527f);
    // Rows that are no whole pieces, a brick that is nearly empty, and more than one brick for a warp.
    let ragged = [[7, 5, 3], [33, 9, 10], [130, 17, 9], [132, 8, 20], [1, 1, 100]];
    for dims in BANDED.iter().chain(&ragged) {
        for which in [Rare::No, Rare::Edges, Rare::Many] {
            if elements(dims) > 60_000 && rng.below(2) == 0 {
                continue;
            }
            let radius = *rng.pick(&["512", "100"]);
            let sets = [
                ("mode", "abs"),
                ("error_bound", "0.3"),
                ("quant_radius", radius),
                ("outlier_capacity", "1"),
            ];
            let reach = radius.parse().unwrap();
            let sample = field(DType::F32, dims, (step_of(DType::F32, 0.3), reach), which, rng.word());
            let form = Options {
                strict: rng.below(3) != 0,
                generation: *rng.pick(&[Generation::G2026_05, Generation::G2026_08]),
                ..bare(Container::Fzm)
            };
            agrees(&stage("cusz", &sets), &sample, &form, [0, 0]);
        }
    }
}

/// Codes that turn out not to be plain after some planes of a brick, which are counted by then.
#[test]
fn bricks_that_end_in_something_rare_are_counted_once() {
    let sets = [("mode", "abs"), ("error_bound", "0.3"), ("outlier_capacity", "1")];
    for plane in 0..8 {
        for rare in [f64::NAN, 1e4] {
            let mut values: Vec<f64> = (0..256 * 16 * 8).map(|i| ((i * i) % 61) as f64).collect();
            values[plane * 256 * 16 + 3 * 256 + 70] = rare;
            let sample = Sample::of(DType::F32, &[256, 16, 8], values);
            agrees(&stage("cusz", &sets), &sample, &bare(Container::Fzm), [0, 0]);
        }
    }
}

/// More bricks than encoders code plane by plane (`PLANE_BRICKS` in src/stages/lorenzo_quant/device.rs), and as many; hardly any
/// elements in each. The last array has more tiles than `FEW_GROUPS`.
#[test]
fn many_bricks() {
    let mut rng = Rng(0x9b05_688c);
    for dims in [[20, 1, 8211], [20, 1, 8192], [3, 2064, 26], [132, 2, 520]] {
        for (k, which) in [Rare::No, Rare::Edges].into_iter().enumerate() {
            for (name, radius, reach) in [("fz", "0", 32768.0), ("cusz", "512", 512.0)] {
                let sets = [
                    ("mode", "abs"),
                    ("error_bound", "0.3"),
                    ("quant_radius", radius),
                    ("outlier_capacity", "1"),
                ];
                let sample = field(DType::F32, &dims, (step_of(DType::F32, 0.3), reach), which, rng.word());
                agrees(&stage(name, &sets), &sample, &bare(Container::Fzm), SHIFTS[k]);
            }
        }
    }
}

/// Codes that turn out not to be plain after some planes of a brick, in an array of many bricks.
#[test]
fn many_bricks_that_end_in_something_rare() {
    let sets = [("mode", "abs"), ("error_bound", "0.3"), ("outlier_capacity", "1")];
    for (plane, rare) in [(0, f64::NAN), (3, 1e4), (7, f64::NAN)] {
        let mut values: Vec<f64> = (0..20 * 8211_i64).map(|i| ((i * i) % 61) as f64).collect();
        values[(2048 + plane) * 20 + 17] = rare;
        let sample = Sample::of(DType::F32, &[20, 1, 8211], values);
        agrees(&stage("cusz", &sets), &sample, &bare(Container::Fzm), [0, 0]);
    }
}
