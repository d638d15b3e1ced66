//! The judge of the bound is judged: an error of one unit in the last place above the bound must not pass.

use crate::common::oracle::{Bound, Verdict, judge};
use fzgm::DType;
use num_rational::BigRational;
use proptest::prelude::*;

fn f32s(x: &[f32]) -> Vec<u8> {
    x.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn f64s(x: &[f64]) -> Vec<u8> {
    x.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn passes(dtype: DType, a: &[u8], b: &[u8], bound: Bound, threshold: f64) -> bool {
    judge(dtype, a, b, bound, threshold).is_ok()
}

#[test]
fn one_ulp_above_an_absolute_bound_is_caught() {
    let x = f32s(&[0.0, 1.0]);
    for (y, ok) in
        [(0.125f32, true), (0.125f32.next_up(), false), (-0.125, true), ((-0.125f32).next_down(), false)]
    {
        let got = passes(DType::F32, &x, &f32s(&[y, 1.0]), Bound::Abs(0.125), f64::INFINITY);
        assert_eq!(got, ok, "{y:?}");
    }
    let x = f64s(&[0.0]);
    for (y, ok) in [(0.1f64, true), (0.1f64.next_up(), false), (0.1f64.next_down(), true)] {
        assert_eq!(passes(DType::F64, &x, &f64s(&[y]), Bound::Abs(0.1), f64::INFINITY), ok, "{y:?}");
    }
}

#[test]
fn errors_that_float_arithmetic_would_round_away_are_caught() {
    // The difference is 2^-30 + 2^-100, which no f64 holds.
    let (x, y) = (f64s(&[2f64.powi(-30)]), f64s(&[-2f64.powi(-100)]));
    assert!(!passes(DType::F64, &x, &y, Bound::Abs(2f64.powi(-30)), f64::INFINITY));
    assert!(passes(DType::F64, &x, &y, Bound::Abs(2f64.powi(-30).next_up()), f64::INFINITY));
    // The f64 0.1 times 3 lies between the f64 0.3 and the product of floats, which is rounded up.
    let x = f64s(&[0.0, 3.0, 1.0]);
    let exact = |y: f64| passes(DType::F64, &x, &f64s(&[y, 3.0, 1.0]), Bound::Noa(0.1), f64::INFINITY);
    assert!(exact(0.3) && !exact(0.1 * 3.0));
}

#[test]
fn values_that_are_not_bounded_must_keep_their_bits() {
    let nan = f32::from_bits(0xffa0_1234);
    let x = f32s(&[nan, f32::INFINITY, 1e20, 5.0]);
    let same = |i: usize, y: f32| {
        let mut values = [nan, f32::INFINITY, 1e20, 5.0];
        values[i] = y;
        passes(DType::F32, &x, &f32s(&values), Bound::Abs(1.0), 1e20)
    };
    assert!(same(0, nan) && !same(0, f32::from_bits(0xffa0_1235)) && !same(0, f32::NAN));
    assert!(!same(1, f32::NEG_INFINITY) && !same(1, f32::MAX));
    assert!(!same(2, 1e20f32.next_up()) && same(3, 5.5) && !same(3, f32::NAN) && !same(3, f32::INFINITY));
}

#[test]
fn the_range_is_that_of_the_bounded_values() {
    let x = f32s(&[0.0, 10.0, 1e20, f32::NAN]);
    let y = f32s(&[1.0, 10.0, 1e20, f32::NAN]);
    assert!(passes(DType::F32, &x, &y, Bound::Noa(0.125), 1e20));
    assert!(!passes(DType::F32, &x, &y, Bound::Noa(0.0999), 1e20));
    assert!(passes(DType::F32, &x, &y, Bound::Noa(0.0999), f64::INFINITY), "the fill is bounded");
    assert!(!passes(DType::F32, &f32s(&[2.0, 2.0]), &f32s(&[2.0, 2f32.next_up()]), Bound::Noa(0.5), 1e20));
    // 1e20 as f32 is 100000002004087734272: the threshold is that, and the value is at it.
    assert!(!passes(DType::F32, &f32s(&[1e20]), &f32s(&[1e20f32.next_down()]), Bound::Abs(1e30), 1e20));
}

#[test]
fn point_wise_bounds_follow_the_value() {
    // 0.1 as f64 is above a tenth and 0.1f32 even more: exactly 3 x 0.1 lies between two floats.
    let tiny = -(2f64.powi(-1000));
    let x = f64s(&[3.0, tiny, 0.0]);
    let rel = |values: [f64; 3], eb| passes(DType::F64, &x, &f64s(&values), Bound::Rel(eb), f64::INFINITY);
    assert!(rel([3.0 + 0.3, tiny, 0.0], 0.1 + 1e-16) && !rel([3.0 + 0.3000000000000003, tiny, 0.0], 0.1));
    assert!(rel([3.0, 1.5 * tiny, 0.0], 0.5) && !rel([3.0, (1.5 * tiny).next_down(), 0.0], 0.5));
    assert!(rel([3.0, tiny, -0.0], 0.5) && !rel([3.0, tiny, 5e-324], 0.5), "0 allows no error");
    assert!(rel([6.0, 2.0 * tiny, 0.0], 1.0) && !rel([6.0f64.next_up(), tiny, 0.0], 1.0));
    let prel = |eb| passes(DType::F64, &x, &f64s(&[3.0, 1.5, 0.0]), Bound::Prel(eb), f64::INFINITY);
    assert!(prel(0.500000001) && prel(0.5f64.next_up()) && !prel(0.5f64.next_down()));
}

#[test]
fn lengths_and_counts() {
    assert_eq!(judge(DType::F32, &[], &[], Bound::Noa(1.0), 1.0), Ok(Verdict::default()));
    assert!(judge(DType::F32, &[0; 8], &[0; 4], Bound::Abs(1.0), 1.0).is_err());
    let v =
        judge(DType::F32, &f32s(&[1.0, 2.0, 9.0]), &f32s(&[1.5, 2.0, 9.0]), Bound::Abs(1.0), 5.0).unwrap();
    assert!(v.bounded == 2 && (v.worst - 0.5).abs() < 1e-9);
}

proptest! {
    /// The float that decides clear cases never decides otherwise than rational numbers do.
    #[test]
    fn agrees_with_rational_numbers(bits in proptest::array::uniform3(any::<u64>()), eb in 1u64..0x7fef_ffff_ffff_ffff, near in -3i64..4) {
        let (a, b) = (f64::from_bits(bits[0]), f64::from_bits(bits[1]));
        let eb = f64::from_bits(eb);
        // Most often a value that lies next to the bound.
        let y = match bits[2] % 4 {
            0 => b,
            1 => a + eb,
            2 => a - eb,
            _ => f64::from_bits((a + eb).to_bits().wrapping_add_signed(near)),
        };
        prop_assume!(a.is_finite());
        let rational = |x| BigRational::from_float(x);
        let want = match (rational(a), rational(y), rational(eb)) {
            (Some(x), Some(y), Some(eb)) => { let d = x - y; d <= eb.clone() && -d <= eb }
            _ => false,
        };
        prop_assert_eq!(passes(DType::F64, &f64s(&[a]), &f64s(&[y]), Bound::Abs(eb), f64::INFINITY), want);
    }

    /// The same for a bound that is a share of the value.
    #[test]
    fn agrees_with_rational_numbers_on_shares(bits in proptest::array::uniform2(any::<u64>()), eb in 0x3c00_0000_0000_0000u64..0x4010_0000_0000_0000, near in -3i64..4) {
        let (x, eb) = (f64::from_bits(bits[0]), f64::from_bits(eb));
        prop_assume!(x.is_finite());
        let y = if bits[1] % 2 == 0 { x + eb * x } else { x - eb * x };
        let y = f64::from_bits(y.to_bits().wrapping_add_signed(near));
        let rational = |x| BigRational::from_float(x);
        let want = match (rational(x), rational(y), rational(eb), rational(x.abs())) {
            (Some(x), Some(y), Some(eb), Some(size)) => { let d = x - y; let w = eb * size; d <= w.clone() && -d <= w }
            _ => false,
        };
        prop_assert_eq!(passes(DType::F64, &f64s(&[x]), &f64s(&[y]), Bound::Rel(eb), f64::INFINITY), want);
    }
}
