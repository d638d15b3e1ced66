//! Arrays with strides and ghost cells, against element by element.

use crate::common::rng::Rng;
use fzgm::{Array, DType, Error, pack, unpack};

/// The places of all elements in memory order of the packed array, from the definition.
fn places(dims: &[u64], strides: &[i64], origin: usize) -> Vec<usize> {
    let count: u64 = dims.iter().product();
    let place = |mut index: u64| {
        let offset = dims.iter().zip(strides).map(|(d, s)| {
            let i = index % d;
            index /= d;
            i as i64 * s
        });
        (origin as i64 + offset.sum::<i64>()) as usize
    };
    (0..count).map(place).collect()
}

fn bytes(width: usize, elements: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng(seed);
    (0..width * elements).map(|_| rng.word() as u8).collect()
}

/// Packs and distributes, and compares with single elements.
fn check(dtype: DType, dims: &[u64], strides: &[i64], origin: usize, elements: usize, apart: bool) {
    let array = Array::new(dtype, dims).unwrap();
    let width = dtype.bytes() as usize;
    let src = bytes(width, elements, 1);
    let places = places(dims, strides, origin);
    let want: Vec<u8> = places.iter().flat_map(|p| src[p * width..][..width].to_vec()).collect();
    let mut packed = vec![0xee; want.len()];
    let what = format!("{dtype} of {dims:?} with strides {strides:?}");
    pack(&array, &src, origin, strides, &mut packed).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(packed == want, "{what} is packed in another way");
    let before = bytes(width, elements, 2);
    let mut dst = before.clone();
    let done = unpack(&array, &packed, &mut dst, origin, strides);
    if !apart {
        assert!(matches!(done, Err(Error::InvalidArgument { .. })) && dst == before, "{what}: {done:?}");
        return;
    }
    done.unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut want = before;
    for (k, place) in places.iter().enumerate() {
        want[place * width..][..width].copy_from_slice(&packed[k * width..][..width]);
    }
    assert!(dst == want, "{what}: other bytes than the elements are written, or others are not");
}

#[test]
fn ghost_cells_are_neither_read_nor_written() {
    for dtype in DType::ALL {
        // 5 x 4 x 3 elements within 2 ghost cells on each side.
        check(dtype, &[5, 4, 3], &[1, 9, 72], 2 + 18 + 144, 9 * 8 * 7, true);
        // A plane of a volume, a column of a plane, every second element.
        check(dtype, &[9, 7], &[1, 72], 27, 9 * 8 * 7, true);
        check(dtype, &[8], &[9], 3, 72, true);
        check(dtype, &[36, 7], &[2, 72], 1, 9 * 8 * 7, true);
        // In Fortran order, back to front, and upside down.
        check(dtype, &[70, 40], &[40, 1], 0, 2800, true);
        check(dtype, &[70, 40, 3], &[3, 210, 1], 0, 8400, true);
        check(dtype, &[40, 70], &[-1, -40], 2799, 2800, true);
        check(dtype, &[40, 70], &[1, -40], 2760, 2800, true);
        // Without gaps, without elements, with one.
        check(dtype, &[40, 70], &[1, 40], 0, 2800, true);
        check(dtype, &[40, 0, 2], &[7, 0, -9], 0, 10, true);
        check(dtype, &[1, 1], &[i64::MAX / 8, i64::MIN / 8], 3, 10, true);
    }
}

/// Elements that share places can be read, for example a row in the place of all rows, and not written.
#[test]
fn shared_places_are_read_and_not_written() {
    for dtype in [DType::U8, DType::F64] {
        check(dtype, &[5, 4], &[1, 0], 2, 10, false);
        check(dtype, &[5, 4], &[0, 1], 2, 10, false);
        check(dtype, &[5, 4], &[1, 1], 0, 10, false);
        check(dtype, &[5, 4], &[1, 4], 0, 20, false);
        check(dtype, &[5, 4], &[-1, 4], 5, 20, false);
        // They interleave without sharing a place.
        check(dtype, &[2, 2], &[2, 3], 0, 10, true);
        check(dtype, &[3, 2], &[2, 3], 0, 10, false);
    }
}

#[test]
fn random_strides() {
    let mut rng = Rng(3);
    for _ in 0..2000 {
        let ndim = 1 + rng.below(8);
        let dims: Vec<u64> = (0..ndim).map(|_| 1 + rng.below(if ndim < 4 { 40 } else { 4 }) as u64).collect();
        // A permutation of the dimensions, each with a gap and a sign.
        let mut order: Vec<usize> = (0..ndim).collect();
        (0..ndim).for_each(|k| order.swap(k, k + rng.below(ndim - k)));
        let (mut strides, mut reach, mut origin) = (vec![0; ndim], 1i64, 0);
        for d in order {
            let stride = reach + rng.below(3) as i64;
            let back = rng.below(3) == 0;
            strides[d] = if back { -stride } else { stride };
            origin += if back { stride * (dims[d] as i64 - 1) } else { 0 };
            reach += stride * (dims[d] as i64 - 1);
        }
        if reach > 200_000 {
            continue;
        }
        let dtype = *rng.pick(&DType::ALL);
        let shift = rng.below(5);
        check(dtype, &dims, &strides, origin as usize + shift, reach as usize + shift + rng.below(5), true);
    }
}

#[test]
fn strides_that_do_not_fit_are_rejected() {
    let array = Array::new(DType::F32, &[5, 4]).unwrap();
    let (mut memory, mut packed) = (vec![0; 4 * 20], vec![0; 4 * 20]);
    for (origin, strides) in [
        (0, &[1][..]),
        (0, &[1, 5, 20]),
        (0, &[]),
        (1, &[1, 5]),
        (0, &[1, 6]),
        (0, &[-1, 5]),
        (0, &[1, -5]),
        (usize::MAX, &[1, 5]),
        (0, &[i64::MAX, 5]),
        (0, &[i64::MIN, 5]),
        (0, &[1, i64::MAX / 4]),
        (0, &[1 << 60, 5]),
    ] {
        let refused = pack(&array, &memory, origin, strides, &mut packed);
        assert!(matches!(refused, Err(Error::InvalidArgument { .. })), "{origin} {strides:?}: {refused:?}");
        let refused = unpack(&array, &packed, &mut memory, origin, strides);
        assert!(matches!(refused, Err(Error::InvalidArgument { .. })), "{origin} {strides:?}: {refused:?}");
    }
    let small = pack(&array, &memory, 0, &[1, 5], &mut [0; 79]);
    assert_eq!(small, Err(Error::DstTooSmall { need: 80, have: 79 }));
    let other = unpack(&array, &[0; 79], &mut memory, 0, &[1, 5]);
    assert!(matches!(other, Err(Error::PlanMismatch(_))), "{other:?}");
}
