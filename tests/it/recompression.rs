//! Arrays that are restored, changed in part, and compressed again, as chunks of files are: unchanged values
//! must not move.

use crate::common::rng::Rng;
use crate::common::run::every_way;
use crate::common::samples::Sample;
use fzgm::{Array, DType, Options, Pipeline, compress, decompress, preset};

fn pipeline(name: &str, dtype: DType, mode: &str, eb: f64, fixed: bool) -> Pipeline {
    let mut p = preset(name, dtype).unwrap();
    p.set_everywhere("mode", |a| a.set_text("mode", mode)).unwrap();
    p.set_everywhere("error_bound", |a| a.set_real("error_bound", eb)).unwrap();
    p.set_everywhere("fixed_step", |a| a.set_int("fixed_step", i64::from(fixed))).unwrap();
    p
}

/// A value of any magnitude from 2^-6 to 2^26 bounds, so that bins are met whose products round.
fn value(rng: &mut Rng, eb: f64) -> f64 {
    let magnitude = 2f64.powi(rng.below(33) as i32 - 6);
    let x = rng.unit();
    (x * 2.0 - 1.0) * magnitude * eb
}

fn bytes(dtype: DType, x: f64) -> Vec<u8> {
    if dtype == DType::F32 { (x as f32).to_le_bytes().to_vec() } else { x.to_le_bytes().to_vec() }
}

/// How many values move in 20 rounds in which another tenth of the array is new each time.
fn moved(p: &Pipeline, dtype: DType, eb: f64, seed: u64) -> usize {
    let (n, width) = (20_000usize, dtype.bytes() as usize);
    let mut rng = Rng(seed * 2 + 1);
    let array = Array::new(dtype, &[100, 50, 4]).unwrap();
    let options = Options::default();
    let once = |src: &[u8]| decompress(&compress(p, &array, &options, src).unwrap(), &options).unwrap().1;
    let src: Vec<u8> = (0..n).flat_map(|_| bytes(dtype, value(&mut rng, eb))).collect();
    let mut held = once(&src);
    let mut moved = 0;
    for round in 0..20 {
        let fresh = |i: usize| i % 10 == round % 10;
        for i in (0..n).filter(|i| fresh(*i)) {
            held[i * width..(i + 1) * width].copy_from_slice(&bytes(dtype, value(&mut rng, eb) * 3.0));
        }
        let next = once(&held);
        let same = |i: &usize| held[i * width..(i + 1) * width] == next[i * width..(i + 1) * width];
        moved += (0..n).filter(|i| !fresh(*i) && !same(i)).count();
        held = next;
    }
    moved
}

#[test]
fn restored_arrays_are_coded_without_change() {
    for dtype in [DType::F32, DType::F64] {
        for name in ["pfpl", "fz"] {
            for (seed, eb) in [1e-3f32, 0.7, 3e-7, 1234.567].into_iter().map(f64::from).enumerate() {
                let p = pipeline(name, dtype, "abs", eb, true);
                assert_eq!(moved(&p, dtype, eb, seed as u64), 0, "{name} {dtype} {eb}");
            }
        }
    }
}

#[test]
fn under_rel_as_well() {
    for dtype in [DType::F32, DType::F64] {
        for eb in [1.0 / 131_072.0, 1e-3, 0.25] {
            let p = pipeline("pfpl", dtype, "rel", eb, false);
            assert_eq!(moved(&p, dtype, 1e6, 7), 0, "{dtype} {eb}");
        }
    }
}

/// Otherwise the tests above would show nothing.
#[test]
fn a_step_that_is_chosen_moves_values() {
    let eb = f64::from(1e-3f32);
    assert!(moved(&pipeline("pfpl", DType::F32, "abs", eb, false), DType::F32, eb, 1) > 0);
}

/// On a GPU, if there is one, as on the CPU; a sample of the same values has another step.
#[test]
fn every_way_takes_the_step_of_the_bound() {
    let eb = f64::from(1e-3f32);
    let mut rng = Rng(5);
    let values = (0..60_000).flat_map(|_| bytes(DType::F32, value(&mut rng, eb)));
    let array = Array::new(DType::F32, &[100, 60, 10]).unwrap();
    let sample = Sample { name: "all magnitudes".into(), array, bytes: values.collect() };
    for name in ["pfpl", "fz"] {
        let of = |fixed| {
            let p = pipeline(name, DType::F32, "abs", eb, fixed);
            every_way(&p, &sample, &Options::default()).unwrap().1
        };
        // The multiples of lorenzo_quant end before values are as sparse as this.
        assert!(of(true) != of(false) || name == "fz");
    }
}
