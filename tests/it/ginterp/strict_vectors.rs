//! Vectors of the arithmetic with a bound, recorded from an independent model: codes level by level, and values. Predictions are not
//! clamped there, as under mode abs, whose range is not measured.

use super::golden::{formula, level_places};
use crate::common::agreement::{agrees, bare, stage};
use crate::common::samples::Sample;
use fzgm::{Array, Container, DType, info};

struct Case {
    dims: [u64; 3],
    eb: f32,
    radius: &'static str,
    /// Masks of levels.
    md: &'static str,
    natural: &'static str,
    reverse: &'static str,
    codes: u32,
    values: u32,
}

const CASES: [Case; 3] = [
    Case {
        dims: [20, 18, 35],
        eb: 0.1,
        radius: "512",
        md: "3",
        natural: "0",
        reverse: "0",
        codes: 0xbd07_4c30,
        values: 0xec3b_fc84,
    },
    Case {
        dims: [20, 18, 35],
        eb: 0.1,
        radius: "512",
        md: "8",
        natural: "2",
        reverse: "5",
        codes: 0xcc19_ab91,
        values: 0xeb1e_3b1b,
    },
    Case {
        dims: [33, 17, 16],
        eb: 0.05,
        radius: "128",
        md: "15",
        natural: "1",
        reverse: "0",
        codes: 0x6106_2d2c,
        values: 0xa0d8_560a,
    },
];

#[test]
fn codes_and_values_are_those_of_the_model() {
    for case in &CASES {
        let bytes = formula("f32", case.dims);
        let array = Array::new(DType::F32, &case.dims).unwrap();
        let sample = Sample { name: format!("{:?}", case.dims), array, bytes };
        let sets = [
            ("mode", "abs"),
            ("error_bound", &format!("{:?}", f64::from(case.eb))),
            ("quant_radius", case.radius),
            ("outlier_capacity", "1"),
            ("md_levels", case.md),
            ("natural_levels", case.natural),
            ("reverse_levels", case.reverse),
        ];
        let (container, restored) = agrees(&stage("ginterp", &sets), &sample, &bare(Container::Fzm), [0, 0]);
        let start = info(&container).unwrap().header_bytes as usize;
        let codes = &container[start..];
        let mut by_levels = vec![0; 2 * sample.array.elements() as usize];
        for (place, level_place) in level_places(case.dims).into_iter().enumerate() {
            by_levels[2 * level_place..2 * level_place + 2].copy_from_slice(&codes[2 * place..2 * place + 2]);
        }
        assert_eq!(crc32fast::hash(&by_levels), case.codes, "codes of {:?}", case.dims);
        assert_eq!(crc32fast::hash(&restored), case.values, "values of {:?}", case.dims);
    }
}
