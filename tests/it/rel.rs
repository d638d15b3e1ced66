//! Mode rel on the CPU and on devices: powers and logarithms to the bit.

use crate::common::agreement::{keeps_its_promise, stage};
use crate::common::rng::Rng;
use crate::common::run::{both_containers, every_way, options};
use crate::common::samples::{Content, Sample, make};
use fzgm::{DType, Pipeline};

pub(crate) fn quantizer(eb: f64, code: &str) -> Pipeline {
    let sets = [
        ("mode", "rel"),
        ("error_bound", &format!("{eb:?}")[..]),
        ("code_type", code),
        ("quant_radius", "0"),
        ("outlier_capacity", "1"),
    ];
    stage("quantizer", &sets)
}

fn keeps(eb: f64, code: &str, sample: &Sample, strict: bool) {
    for container in both_containers() {
        let p = quantizer(eb, code);
        let (made, restored) = every_way(&p, sample, &options(container, strict)).unwrap();
        let kept = keeps_its_promise(&p, sample, &made, &restored, strict);
        assert_eq!(kept, Ok(strict), "{} {eb:?} {container:?}", sample.name);
    }
}

/// Arguments of the vectors, and the numbers that the powers among them are near to.
fn arguments() -> Vec<f64> {
    let bits = |word: &str| f64::from_bits(u64::from_str_radix(word, 16).unwrap());
    let lines = include_str!("../golden/power.txt").lines().filter(|l| !l.starts_with('#'));
    let all: Vec<f64> = lines.flat_map(|l| l.split(' ').skip(1).map(bits).collect::<Vec<_>>()).collect();
    assert_eq!(all.len(), 3000);
    all
}

/// With every width of a step the codes of the arguments are other digits of their logarithms, and their values are
/// powers of other exponents.
#[test]
fn logarithms_and_powers_of_every_width() {
    let mut rng = Rng(0x3c6e_f372);
    let mut values = arguments();
    // Values on both sides of the start of mantissas in every binade, and arbitrary values.
    for k in 0..255 {
        values.extend((-1..3).map(|d| f64::from(f32::from_bits(((k << 23) + 0x0035_04f3_i32 + d) as u32))));
    }
    values.extend((0..3000).map(|_| f64::from(f32::from_bits(rng.word() as u32))));
    for (dtype, code) in [(DType::F32, "u32"), (DType::F64, "u64"), (DType::F64, "u16")] {
        let sample = Sample::of(dtype, &[values.len() as u64], values.iter().copied());
        for strict in [true, false] {
            for eb in [2f64.powi(-20), 1.2e-5, 1e-3, 0.3, 7.0] {
                keeps(eb, code, &sample, strict);
            }
        }
    }
}

/// Bounds below the spacing of floats: everything is exact under strict, and steps are zero otherwise.
#[test]
fn bounds_that_are_no_step() {
    for content in [Content::Specials, Content::Random] {
        let sample = make(DType::F32, &[9_000], content, 3);
        for (eb, strict) in [(1e-9, true), (1e-9, false), (1e-300, true), (1e300, true), (1e300, false)] {
            keeps(eb, "u32", &sample, strict);
        }
    }
}
