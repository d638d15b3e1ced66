//! Every bit is restored, and the choices of the encoder pay.

use super::{ALL, With, array, pipeline};
use crate::common::agreement::{bare, holds};
use crate::common::corpus::{Case, chain};
use crate::common::rng::Rng;
use crate::common::run::both_containers;
use crate::common::samples::Sample;
use crate::reference_reader::read_by_reference;
use fzgm::{Container, DType, Status, compress, info};

/// Shapes around the ends of steps, batches, tasks, and axes.
const SHAPES: [&[u64]; 14] = [
    &[1],
    &[2],
    &[31],
    &[33],
    &[256],
    &[257],
    &[8193],
    &[20000],
    &[1, 700],
    &[70, 1, 9],
    &[2, 2, 2],
    &[16, 33, 9],
    &[300, 3],
    &[5, 4, 40, 3],
];

#[test]
fn every_bit_is_restored() {
    let mut rng = Rng(27);
    for dtype in DType::ALL {
        for dims in SHAPES {
            for with in ALL {
                let sample = array(dtype, dims, with, &mut rng);
                for container in both_containers() {
                    let (_, restored) = holds(&pipeline(), &sample, &bare(container));
                    assert!(restored == sample.bytes, "{}", sample.name);
                }
            }
        }
    }
}

#[test]
fn edges_with_other_lengths_than_the_array_are_rows() {
    let sample = array(DType::I16, &[90, 31], With::Background, &mut Rng(6));
    for kind in ["auto", "i8", "u8"] {
        let p = chain(&[("bitshuffle", &[]), ("exact", &[("input_type", kind)])]);
        for container in both_containers() {
            let (_, restored) = holds(&p, &sample, &bare(container));
            assert!(restored == sample.bytes, "{kind} {container:?}");
        }
    }
    for (first, kind) in [("bitshuffle", "u16"), ("rze", "auto")] {
        let p = chain(&[(first, &[]), ("exact", &[("input_type", kind)])]);
        let e = compress(&p, &sample.array, &bare(Container::Compact), &sample.bytes).unwrap_err();
        assert_eq!(e.status(), Status::TypeMismatch, "{e}");
        assert!(e.to_string().contains("exact"), "{e}");
    }
}

/// The first word of the stream, and the bytes of the stream.
fn stream(sample: &Sample) -> (u16, usize) {
    let (bytes, restored) = holds(&pipeline(), sample, &bare(Container::Compact));
    assert!(restored == sample.bytes, "{}", sample.name);
    let start = info(&bytes).unwrap().header_bytes as usize;
    (u16::from_le_bytes([bytes[start], bytes[start + 1]]), bytes.len() - start)
}

#[test]
fn choices_are_used() {
    let mut rng = Rng(4);
    let mut word = |dtype, dims: &[u64], with| stream(&array(dtype, dims, with, &mut rng)).0;
    // Order 1 of a walk, as long as it stays between two powers of two.
    assert_eq!(word(DType::I32, &[9000], With::Walk) & 0x803f, 0x8001);
    // Fields that change their sign have a gap.
    assert_eq!(word(DType::F32, &[9000], With::Waves) & 0x8040, 0x8040);
    assert_eq!(word(DType::I32, &[9000], With::Waves) & 0x8040, 0x8000);
    for dtype in [DType::F32, DType::F64, DType::I32] {
        assert_eq!(word(dtype, &[9000], With::Background) & 0x8010, 0x8010, "{dtype}");
    }
    for dtype in [DType::F32, DType::F64] {
        assert_eq!(word(dtype, &[9000], With::Levels) & 0x8020, 0x8020, "{dtype}");
    }
    // Integers at equal distances need no table.
    assert_eq!(word(DType::I32, &[9000], With::Levels) & 0x8220, 0x8200);
    // Plain differences, a center, and a factor.
    for dtype in [DType::I64, DType::U32, DType::F64] {
        assert_eq!(word(dtype, &[9000], With::Sorted) & 0x8103, 0x8101, "{dtype}");
        assert_eq!(word(dtype, &[3000], With::Clock) & 0x8080, 0x8080, "{dtype}");
        assert_eq!(word(dtype, &[9000], With::Coarse) & 0x8200, 0x8200, "{dtype}");
    }
    assert_eq!(word(DType::F32, &[50, 60], With::Noise), 0, "noise is stored");
    // Rows that are alike, up to a difference that changes from row to row.
    let rows = (0..100 * 90u64).map(|i| ((i % 100) * 0x9e37 % 1009 + (i / 100) * (i / 100)) as u32);
    let rows = Sample::new(DType::U32, &[100, 90], rows.flat_map(u32::to_le_bytes).collect());
    assert_eq!(stream(&rows).0 & 0x8004, 0x8004);
    let planes = (0..40 * 30 * 20u64).map(|i| ((i % 1200) * 0x9e37 % 1009 + i / 1200) as u32);
    let planes = Sample::new(DType::U32, &[40, 30, 20], planes.flat_map(u32::to_le_bytes).collect());
    assert_eq!(stream(&planes).0 & 0x800c, 0x8008);
}

#[test]
fn frequent_values_are_in_front() {
    let mut rng = Rng(5);
    let n = 50_000;
    for dtype in DType::ALL {
        let (word, bytes) = stream(&array(dtype, &[n], With::Frequent, &mut rng));
        assert_eq!(word & 0x8420, 0x8420, "{dtype}");
        // The values have an entropy of 3.92 bits.
        assert!(bytes as u64 * 8 < n * 41 / 10, "{dtype}: {bytes} bytes");
    }
    // All values are equally frequent.
    assert_eq!(stream(&array(DType::F32, &[n], With::Levels, &mut rng)).0 & 0x8400, 0x8000);
}

#[test]
fn streams_are_short() {
    let mut rng = Rng(9);
    let n = 50_000;
    // 9 levels have 3.2 bits, and their differences, which the sample may prefer, 4.
    for dtype in [DType::U16, DType::F32, DType::F64] {
        let levels = stream(&array(dtype, &[n], With::Levels, &mut rng)).1;
        assert!(levels as u64 * 8 < n * 4, "{dtype}: {levels} bytes");
        let constant = stream(&array(dtype, &[n], With::Constant, &mut rng)).1;
        assert!(constant < 200, "{dtype}: {constant} bytes");
    }
    // The differences have 16.6 bits, and those of the clock 6.6.
    let sorted = stream(&array(DType::I64, &[n], With::Sorted, &mut rng)).1;
    assert!(sorted as u64 * 8 < n * 17, "{sorted} bytes");
    let clock = stream(&array(DType::I64, &[n], With::Clock, &mut rng)).1;
    assert!(clock as u64 * 8 < n * 8, "{clock} bytes");
    // The factor of integers, or the bits that floats did not have, cost nothing.
    let coarse = stream(&array(DType::I64, &[n], With::Coarse, &mut rng)).1;
    assert!(coarse as u64 * 8 < n * 7, "{coarse} bytes");
    // A bit for the sign and less than seven for the magnitude.
    let walk = stream(&array(DType::I64, &[n], With::Walk, &mut rng)).1;
    assert!(walk as u64 * 8 < n * 7, "{walk} bytes");
}

#[test]
fn the_independent_reader_agrees() {
    let (mut rng, mut cases) = (Rng(8), vec![]);
    for dtype in DType::ALL {
        for (dims, with) in
            [&[3000][..], &[30, 20, 4], &[50, 7], &[9]].iter().flat_map(|d| ALL.map(|w| (*d, w)))
        {
            let sample = array(dtype, dims, with, &mut rng);
            let bytes =
                compress(&pipeline(), &sample.array, &bare(Container::Compact), &sample.bytes).unwrap();
            cases.push(Case {
                name: sample.name.clone(),
                bytes,
                restored: sample.bytes.clone(),
                made_of: None,
                compact: true,
                loose: false,
                width: dtype.bytes(),
                segments: 1,
            });
        }
    }
    read_by_reference(&cases, "exact");
}

#[test]
fn nothing_is_longer_than_the_elements_and_a_word() {
    let mut rng = Rng(1);
    for dtype in DType::ALL {
        for n in [1, 5, 100, 5000] {
            let sample = array(dtype, &[n], With::Noise, &mut rng);
            let bytes =
                compress(&pipeline(), &sample.array, &bare(Container::Compact), &sample.bytes).unwrap();
            let header = info(&bytes).unwrap().header_bytes as usize;
            assert!(bytes.len() - header <= 2 + sample.bytes.len(), "{}", sample.name);
        }
    }
}
