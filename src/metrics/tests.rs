use super::*;
use num_rational::BigRational;
use num_traits::Signed;
use proptest::prelude::*;

fn of<T: Pod>(dtype: DType, a: &[T], b: &[T], bound: Option<Bound>, threshold: f64) -> Metrics {
    compare(dtype, bytemuck::cast_slice(a), bytemuck::cast_slice(b), bound, threshold).unwrap()
}

fn f32s(a: &[f32], b: &[f32], bound: Bound) -> Metrics {
    of(DType::F32, a, b, Some(bound), f64::INFINITY)
}

#[test]
fn figures_by_hand() {
    // Errors 0, 1, 0, 2 on a range of 10: mse 5/4.
    let m = f32s(&[0.0, 4.0, 5.0, 10.0], &[0.0, 5.0, 5.0, 8.0], Bound::Noa(0.25));
    assert_eq!((m.elements, m.bounded, m.min, m.max, m.range), (4, 4, 0.0, 10.0, 10.0));
    assert_eq!((m.max_abs_error, m.max_rel_error, m.allowed), (2.0, 0.25, Some(2.5)));
    assert_eq!((m.worst, m.violations, m.kept()), (Some(0.8), 0, true));
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    near(m.rmse, 1.25_f64.sqrt());
    near(m.nrmse, 1.25_f64.sqrt() / 10.0);
    near(m.psnr, 20.0 - 10.0 * 1.25_f64.log10());
}

#[test]
fn each_mode_has_its_bound() {
    let (a, b) = ([-8.0_f32, 0.0, 2.0], [-7.0_f32, 0.0, 2.0]);
    assert_eq!(f32s(&a, &b, Bound::Abs(1.0)).allowed, Some(1.0));
    assert_eq!(f32s(&a, &b, Bound::Noa(0.5)).allowed, Some(5.0));
    assert_eq!(f32s(&a, &b, Bound::Prel(0.5)).allowed, Some(4.0));
    let rel = f32s(&a, &b, Bound::Rel(0.125));
    assert_eq!((rel.allowed, rel.worst, rel.violations), (None, Some(1.0), 0));
    assert_eq!(f32s(&[0.0], &[f32::from_bits(1)], Bound::Rel(1.0)).worst, Some(f64::INFINITY));
}

#[test]
fn the_last_bit_decides() {
    // 1 - 2^-60 and 1 + 2^-60 both round to 1.
    let tiny = 2f64.powi(-60);
    let below = of(DType::F64, &[1.0], &[tiny], Some(Bound::Abs(1.0)), f64::INFINITY);
    assert_eq!((below.violations, below.worst), (0, Some(1.0)));
    let above = of(DType::F64, &[1.0], &[-tiny], Some(Bound::Abs(1.0)), f64::INFINITY);
    assert_eq!((above.violations, above.max_abs_error), (1, 1.0));
    assert!(above.worst.unwrap() > 1.0);
}

#[test]
fn perfect_and_hopeless() {
    let m = f32s(&[1.0, 2.0], &[1.0, 2.0], Bound::Abs(0.0));
    assert_eq!((m.psnr, m.nrmse, m.worst, m.kept()), (f64::INFINITY, 0.0, Some(0.0), true));
    let m = f32s(&[3.0, 3.0], &[3.0, 3.0], Bound::Noa(1e-3));
    assert_eq!((m.psnr, m.nrmse, m.worst, m.kept()), (f64::INFINITY, 0.0, Some(0.0), true));
    // A constant has no range: no error is allowed at all.
    let m = f32s(&[3.0, 3.0], &[3.0, 4.0], Bound::Noa(1e-3));
    assert_eq!((m.psnr, m.nrmse, m.worst), (f64::NEG_INFINITY, f64::INFINITY, Some(f64::INFINITY)));
    assert_eq!((m.rmse, m.violations), (0.5_f64.sqrt(), 1));
    let m = f32s(&[], &[], Bound::Noa(1e-3));
    assert_eq!((m.elements, m.max_abs_error, m.psnr, m.kept()), (0, 0.0, f64::INFINITY, true));
}

#[test]
fn nothing_hides_behind_nan() {
    let nan = f32::NAN;
    let m = f32s(&[1.0, 2.0], &[1.0, nan], Bound::Abs(1.0));
    assert_eq!((m.violations, m.non_finite_mismatches, m.exact_mismatches), (1, 1, 0));
    assert_eq!((m.max_abs_error, m.psnr, m.kept()), (f64::INFINITY, f64::NEG_INFINITY, false));
    assert!(!of(DType::F32, &[1.0], &[nan], None, f64::INFINITY).kept());

    let other = f32::from_bits(nan.to_bits() ^ 1);
    let m = f32s(&[nan, nan, f32::INFINITY, 1.0], &[nan, other, f32::NEG_INFINITY, 1.0], Bound::Abs(1.0));
    assert_eq!((m.bounded, m.violations), (1, 0));
    assert_eq!((m.exact_mismatches, m.non_finite_mismatches, m.kept()), (2, 2, false));
    assert_eq!((m.range, m.max_abs_error), (0.0, 0.0));
}

#[test]
fn fill_values_are_exact_and_outside_of_the_range() {
    let (a, b) = ([0.0_f32, 1.0, 1e20, -1e20], [0.1_f32, 1.0, 1e20, -1e20]);
    let m = of(DType::F32, &a, &b, Some(Bound::Noa(0.2)), 1e20);
    assert_eq!((m.bounded, m.range, m.kept()), (2, 1.0, true));
    let b = [0.1_f32, 1.0, 1e20, -9e19];
    let m = of(DType::F32, &a, &b, Some(Bound::Noa(0.2)), 1e20);
    assert_eq!((m.violations, m.exact_mismatches, m.non_finite_mismatches), (0, 1, 0));
}

#[test]
fn huge_and_tiny_do_not_overflow() {
    let m = of(DType::F64, &[0.0, 1e300], &[1e297, 1e300], Some(Bound::Noa(1e-2)), f64::INFINITY);
    assert!((m.psnr - (60.0 + 10.0 * 2f64.log10())).abs() < 1e-9, "{}", m.psnr);
    let m =
        of(DType::F64, &[-f64::MAX, f64::MAX], &[f64::MAX, f64::MAX], Some(Bound::Noa(1.0)), f64::INFINITY);
    assert_eq!((m.range, m.max_abs_error, m.violations), (f64::MAX, f64::INFINITY, 1));
}

#[test]
fn integers_are_compared_as_integers() {
    let m = of(DType::U64, &[0, u64::MAX], &[0, u64::MAX - 1], Some(Bound::Abs(0.5)), f64::INFINITY);
    assert_eq!((m.max_abs_error, m.worst, m.violations), (1.0, Some(2.0), 1));
    let m = of(DType::I8, &[-128_i8], &[127], None, f64::INFINITY);
    assert_eq!((m.max_abs_error, m.worst), (255.0, None));
}

#[test]
fn arguments_are_checked() {
    let (four, eight) = ([0u8; 4], [0u8; 8]);
    for (dtype, a, b, threshold) in [
        (DType::F32, &four[..], &eight[..], 1.0),
        (DType::F64, &four[..], &four[..], 1.0),
        (DType::F32, &four[..], &four[..], 0.0),
        (DType::F32, &four[..], &four[..], f64::NAN),
    ] {
        assert!(matches!(compare(dtype, a, b, None, threshold), Err(Error::InvalidArgument { .. })));
    }
    assert!(Bound::from_name("abs", -1.0).is_err() && Bound::from_name("abs", f64::NAN).is_err());
    assert!(Bound::from_name("psnr", 1.0).is_err());
}

fn rational(x: f64) -> BigRational {
    BigRational::from_float(x).unwrap()
}

proptest! {
    /// The judgment agrees with exact arithmetic, on pairs made to lie close to the bound.
    #[test]
    fn abs_agrees_with_rationals(x in any::<f64>(), eb in 1e-300..1e300_f64, nudge in -4..5_i64, down: bool) {
        prop_assume!(x.is_finite());
        let y = if down { x - eb } else { x + eb };
        let y = f64::from_bits(y.to_bits().wrapping_add_signed(nudge));
        prop_assume!(y.is_finite());
        let m = of(DType::F64, &[x], &[y], Some(Bound::Abs(eb)), f64::INFINITY);
        let beyond = (rational(x) - rational(y)).abs() > rational(eb);
        prop_assert_eq!(m.violations == 1, beyond);
        prop_assert_eq!(m.worst.unwrap() > 1.0, beyond);
    }

    /// The resolved bounds are never above the promised ones, and hardly below them.
    #[test]
    fn bounds_are_not_rounded_up(a in any::<f32>(), b in any::<f32>(), eb in 1e-9..1.0_f64) {
        prop_assume!(a.is_finite() && b.is_finite());
        let range = (rational(a.into()) - rational(b.into())).abs();
        let peak = rational(a.abs().max(b.abs()).into());
        for (bound, base) in [(Bound::Noa(eb), range), (Bound::Prel(eb), peak)] {
            let allowed = rational(f32s(&[a, b], &[a, b], bound).allowed.unwrap());
            let promised = rational(eb) * base;
            prop_assert!(allowed <= promised);
            prop_assert!(&promised - &allowed <= promised * rational(2f64.powi(-50)));
        }
    }
}

fn bits(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn suspects(values: &[f64], threshold: f64) -> Vec<f64> {
    suspected_fills(DType::F64, &bits(values), threshold).iter().map(|s| s.value).collect()
}

#[test]
fn fill_values_are_suspected() {
    let wave: Vec<f64> = (0..1000).map(|i| f64::from(i).sin()).collect();
    let with = |more: &[f64]| [&wave[..], more].concat();
    let none: [f64; 0] = [];
    for (more, want) in [
        (&[][..], &none[..]),
        (&[1e20], &[1e20]),
        (&[-1e20, 1e30, 1e30], &[1e30, -1e20]),
        (&[f64::NAN, f64::INFINITY], &none),
        (&[-9999.0], &none),
        (&[-9999.0; 2], &[-9999.0]),
        (&[9.969209968386869e36; 5000], &[9.969209968386869e36]),
        (&[f64::from(1e20f32); 3], &[f64::from(1e20f32)]),
        // Not common, and the gap is too small, or the magnitude.
        (&[1000.0; 2], &none),
        (&[30_000.0; 2], &none),
        (&[123_456.0], &[123_456.0]),
        // Alone in its binade it is not.
        (&[-9999.0, -9999.0, -9000.0], &none),
        (&[-1.0; 2], &none),
    ] {
        assert_eq!(suspects(&with(more), f64::INFINITY), want, "{more:?}");
    }
    assert_eq!(suspects(&with(&[1e20]), 1e20), none);
    let found = suspected_fills(DType::F64, &bits(&with(&[1e20, 0.5e20, 0.3e20])), f64::INFINITY);
    assert_eq!((found[0].threshold, found[0].above, found[0].count), (0.3e20, 3, 1));
    assert!(found[0].others.0 > -1.0 && found[0].others.1 < 1.0);
    // Nothing is lost of a constant, or of nothing.
    for values in [&[0.0, 0.0, 1e20][..], &[5.0, 5.0, 1e20], &[1e20; 4], &[]] {
        assert_eq!(suspects(values, f64::INFINITY), none);
    }
    let tiny: Vec<f64> = (0..1000).map(|i| 1e-9 * f64::from(i)).collect();
    assert_eq!(suspects(&[&tiny[..], &[-1.0, -1.0]].concat(), f64::INFINITY), [-1.0]);
}

/// A sample and the range have the result of reading all values.
#[test]
fn a_sample_decides_as_all_values_do() {
    let field = |kind: i32, i: i32| match kind {
        0 => f64::from(i).sin(),
        1 => 280.0 + 30.0 * (f64::from(i) / 40.0).sin(),
        2 => f64::from(i % 97).powi(4),
        3 => 1e-9 * f64::from(i % 1000),
        4 => 2f64.powi(i * 7919 % 60 - 30),
        _ => {
            if i % 100 == 0 {
                7.0 * f64::from(i % 300)
            } else {
                0.0
            }
        }
    };
    let (mut found, mut plain) = (0, 0);
    for n in [1, 5, 4096, 20_000] {
        for (kind, fill) in
            (0..6).flat_map(|k| [0.0, -9999.0, 9.96921e36, -1e20, 123_456.0, -1.0].map(|f| (k, f)))
        {
            for share in [n, 100, 3, 2] {
                let with = |i: i32| if fill != 0.0 && i % share == share - 1 { fill } else { field(kind, i) };
                let values: Vec<f64> = (0..n).map(with).collect();
                let narrow: Vec<f32> = values.iter().map(|&v| v as f32).collect();
                for (dtype, bytes) in
                    [(DType::F64, bits(&values)), (DType::F32, bytemuck::cast_slice(&narrow).to_vec())]
                {
                    let all = suspected_fills(dtype, &bytes, f64::INFINITY);
                    let mut scan = ValueScan::new(dtype, f64::INFINITY);
                    scan.add(&bytes);
                    let range = scan.range().map_or(0.0, |r| r.1 - r.0);
                    assert_eq!(
                        suspected_fills_in_range(dtype, &bytes, f64::INFINITY, range),
                        all,
                        "{kind} {fill} {share} {n}"
                    );
                    *if all.is_empty() { &mut plain } else { &mut found } += 1;
                }
            }
        }
    }
    assert!(found > 100 && plain > 100, "{found} {plain}");
}

/// Rows of 512 that begin near 0: a sample of one column would be far narrower than the range.
#[test]
fn a_sample_has_values_of_all_columns() {
    let values: Vec<f64> = (0..1 << 21).map(|i| f64::from(i % 512) + f64::from(i / 512 % 7) / 8.0).collect();
    assert!(fills::is_plain(&fills::sample::<f64>(&bits(&values), f64::INFINITY), 511.75));
}

#[test]
fn a_scan_in_pieces_is_that_of_the_whole() {
    let values: Vec<f64> =
        (0..1000).map(|i| (f64::from(i) * 0.7).sin() * 2f64.powi(i % 40)).chain([1e20]).collect();
    let mut scan = ValueScan::new(DType::F64, f64::INFINITY);
    values.rchunks(7).for_each(|piece| scan.add(&bits(piece)));
    assert_eq!(scan.suspects(), suspected_fills(DType::F64, &bits(&values), f64::INFINITY));
    let m = compare(DType::F64, &bits(&values), &bits(&values), None, f64::INFINITY).unwrap();
    assert_eq!(scan.range(), Some((m.min, m.max)));
    // A threshold that f32 does not hold is no lower there.
    let mut scan = ValueScan::new(DType::F32, 0.1);
    scan.add(&[0.1f32.to_le_bytes(), 0.09f32.to_le_bytes()].concat());
    assert_eq!(scan.range(), Some((f64::from(0.09f32), f64::from(0.09f32))));
    assert!(suspected_fills(DType::I32, &[1; 8], f64::INFINITY).is_empty());
}
