//! Mode rel: powers and logarithms to the bit, and containers of another bound.

use crate::common::fixture::{Fixture, options};
use crate::common::rng::Rng;
use crate::common::run::{both_containers, every_way, options as cpu};
use crate::common::samples::{Content, Sample, make};
use crate::cuda::need_gpu;
use fzgm::{Array, DType, Options, Pipeline, Status};

fn quantizer(eb: f64, code: &str) -> Pipeline {
    let mut p = Pipeline::new();
    let q = p.add("quantizer").unwrap();
    let args = p.args_mut(q).unwrap();
    args.set_text("mode", "rel").unwrap();
    args.set_real("error_bound", eb).unwrap();
    args.set_text("code_type", code).unwrap();
    args.set_int("quant_radius", 0).unwrap();
    args.set_real("outlier_capacity", 1.0).unwrap();
    p
}

/// Arguments of the vectors, and what the powers among them are near to.
fn arguments() -> Vec<f64> {
    let bits = |word: &str| f64::from_bits(u64::from_str_radix(word, 16).unwrap());
    let lines = include_str!("../../golden/power.txt").lines().filter(|l| !l.starts_with('#'));
    let all: Vec<f64> = lines.flat_map(|l| l.split(' ').skip(1).map(bits).collect::<Vec<_>>()).collect();
    assert_eq!(all.len(), 3000);
    all
}

fn sample(dtype: DType, values: &[f64]) -> Sample {
    let bytes = match dtype {
        DType::F32 => values.iter().flat_map(|&v| (v as f32).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    };
    Sample { name: format!("{dtype}"), array: Array::new(dtype, &[values.len() as u64]).unwrap(), bytes }
}

/// With every width of a step the codes of the arguments are other digits of their logarithms, and their values are
/// powers of other exponents.
#[test]
fn logarithms_and_powers_are_those_of_the_cpu() {
    need_gpu!();
    let mut rng = Rng(0x3c6e_f372);
    let mut values = arguments();
    // To both sides of where mantissas start anew, in every binade, and anything at all.
    for k in 0..255 {
        values.extend((-1..3).map(|d| f64::from(f32::from_bits(((k << 23) + 0x0035_04f3_i32 + d) as u32))));
    }
    values.extend((0..3000).map(|_| f64::from(f32::from_bits(rng.word() as u32))));
    for (dtype, code) in [(DType::F32, "u32"), (DType::F64, "u64"), (DType::F64, "u16")] {
        let sample = sample(dtype, &values);
        for strict in [true, false] {
            for eb in [2f64.powi(-20), 1.2e-5, 1e-3, 0.3, 7.0] {
                for container in both_containers() {
                    every_way(&quantizer(eb, code), &sample, &cpu(container, strict)).unwrap();
                }
            }
        }
    }
}

/// Bounds below the spacing of floats: everything is exact under strict, and steps are zero otherwise.
#[test]
fn bounds_that_are_no_step() {
    need_gpu!();
    for content in [Content::Specials, Content::Random] {
        let sample = make(DType::F32, &[9_000], content, 3);
        for (eb, strict) in [(1e-9, true), (1e-9, false), (1e-300, true), (1e300, true), (1e300, false)] {
            for container in both_containers() {
                every_way(&quantizer(eb, "u32"), &sample, &cpu(container, strict)).unwrap();
            }
        }
    }
}

/// The bound is a field of the header, and the step that follows from it is a parameter of the plan.
#[test]
fn a_container_of_another_bound_is_refused() {
    need_gpu!();
    for container in both_containers() {
        let options = Options { container, ..options() };
        let array = Array::new(DType::F32, &[5_000]).unwrap();
        let mut fixture = Fixture::new(&quantizer(1e-3, "u16"), &array, &options);
        let other = Fixture::new(&quantizer(1e-2, "u16"), &array, &options);
        let src = fixture.data(Content::Walk, 1);
        let (foreign, _) = other.expected(&src);
        assert!(foreign.len() < src.len(), "a stored array has no bound");
        assert_eq!(fixture.verdict(&foreign).status, Status::PlanMismatch as i32, "{container:?}");
        fixture.src.put(0, &src);
        fixture.both();
        fixture.check(&src);
    }
}
