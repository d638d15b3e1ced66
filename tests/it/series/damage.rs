//! Damaged series: a status, never other values, and no memory from numbers.

use super::{Given, read, some, written};
use fzgm::series::Series;
use fzgm::{DType, Error, Options, Status};

const DAMAGE: [Status; 5] =
    [Status::Corrupt, Status::Checksum, Status::NotAContainer, Status::Unsupported, Status::MemoryLimit];

/// Each step is restored as it was, or its damage is found. Without `steps`, only the statuses are judged.
fn survives(file: &[u8], steps: &[Given], what: &str) -> (usize, usize) {
    let series = match Series::new(file, "series") {
        Ok(series) => series,
        Err(e) => {
            assert!(DAMAGE.contains(&e.status()), "{what}: {e}");
            return (0, 0);
        }
    };
    let mut good = 0;
    for (index, step) in series.steps().iter().enumerate() {
        if step.array().bytes() > 1 << 20 {
            let small = series.read(index as u64, &Options::default(), &mut [0; 8]);
            assert!(matches!(small, Err(Error::DstTooSmall { have: 8, .. })), "{what}: {small:?}");
            continue;
        }
        let same = steps.iter().find(|s| (&*s.name, &s.array) == (step.name(), step.array()));
        let whole = read(&series, index);
        match (&whole, same) {
            (Ok(values), Some(step)) => {
                assert!(*values == step.values, "{what}: step {index} has other values");
                good += 1;
            }
            (Ok(_), None) if steps.is_empty() => {}
            (Ok(_), None) => panic!("{what}: step {index} was never written"),
            (Err(e), _) => {
                assert!(DAMAGE.contains(&e.status()), "{what}: {e}");
                assert!(e.to_string().starts_with(&format!("step {index}: ")), "{what}: {e}");
            }
        }
        // A region is not compared with checksums, but has a defined result.
        let (origin, extent) = (vec![0; step.array().dims().len()], step.array().dims());
        let mut region = vec![0; step.array().bytes() as usize];
        if let Err(e) = series.read_region(index as u64, &origin, extent, &mut region) {
            assert!(DAMAGE.contains(&e.status()), "{what}: {e}");
        }
    }
    (series.steps().len(), good)
}

#[test]
fn a_flipped_bit_harms_at_most_one_step() {
    let steps = &some()[1..4];
    let mut file = written(steps);
    let mut least = usize::MAX;
    for at in 0..file.len() {
        let bit = at * 5 % 8;
        file[at] ^= 1 << bit;
        let (_, good) = survives(&file, steps, &format!("bit {bit} of byte {at}"));
        assert!(at < 16 || good + 1 >= steps.len(), "byte {at}: {good} steps are left");
        least = least.min(if at < 16 { usize::MAX } else { good });
        file[at] ^= 1 << bit;
    }
    assert_eq!(least, steps.len() - 1);
}

#[test]
fn a_step_after_damage_is_found_without_an_index() {
    let steps = some();
    let mut file = written(&steps);
    let last = file.len() - 1;
    file[last] ^= 1;
    let (found, good) = survives(&file, &steps, "no index");
    assert_eq!((found, good), (steps.len(), steps.len()));
    let series = Series::new(&file[..], "series").unwrap();
    assert!(!series.is_indexed() && series.lost_bytes() > 0);
    let first = series.steps()[0].bytes() as usize;
    for at in 16..16 + first + 32 {
        file[at] ^= 0x10;
        let (found, good) = survives(&file, &steps, &format!("byte {at} and no index"));
        assert!(good + 1 >= steps.len() && found >= good, "byte {at}: {found} steps, {good} of them good");
        file[at] ^= 0x10;
    }
}

/// A container of a series is data: it cannot be taken for a step.
#[test]
fn a_series_within_a_step_adds_no_steps() {
    let inner = written(&some());
    let array = fzgm::Array::new(DType::U8, &[inner.len() as u64]).unwrap();
    let mut stored = fzgm::Pipeline::new();
    stored.add("stored").unwrap();
    let container = fzgm::compress(&stored, &array, &Options::default(), &inner).unwrap();
    let memory = super::storage::Memory::default();
    let mut writer = fzgm::series::SeriesWriter::new(memory.clone(), "series").unwrap();
    writer.append_container("files", &container).unwrap();
    drop(writer);
    let mut file = memory.take();
    assert!(
        file.windows(4).filter(|w| w == b"STEP").count() > some().len(),
        "the container stores its values"
    );
    let end = file.len();
    file[end - 1] ^= 1;
    file[16] ^= 1;
    let series = Series::new(&file[..], "series").unwrap();
    assert!(series.steps().is_empty(), "{:?}", series.steps());
}

/// Sets the checksums of a record, so that its numbers are believed.
fn seal(file: &mut [u8], at: usize) {
    let bytes = u64::from_le_bytes(file[at + 16..at + 24].try_into().unwrap()) as usize;
    if let Some(payload) = file.get(at + 32..).and_then(|rest| rest.get(..bytes)) {
        let sum = crc32fast::hash(payload);
        file[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
    }
    let sum = crc32fast::hash(&file[at..at + 28]);
    file[at + 28..at + 32].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn believed_numbers_do_no_harm() {
    let steps = [Given::new("a", DType::F32, &[20, 9], 4), Given::new("b", DType::F32, &[20, 9], 0)];
    let file = written(&steps);
    let index = file.len() - 32 - 2 * (16 + 16 + 16 + 1) - 32;
    assert_eq!(&file[index..index + 4], b"LIST");
    let words = [0, 1, 3, 1 << 20, 1 << 40, 1 << 62, u64::MAX];
    // Numbers of the first step, of its first slab, of the index, and of its first entry.
    let description = 16 + 32;
    let slab = description + 16 + 16 + 1;
    assert_eq!(&file[slab..slab + 4], b"SLAB");
    let places = [(16, 16 + 16), (16, description + 8), (16, description + 16), (16, description + 24)];
    let places = places.into_iter().chain([(slab, slab + 16), (slab, slab + 8), (index, index + 16)]);
    let places = places.chain([(index, index + 32), (index, index + 40), (index, index + 48 + 8)]);
    for (record, at) in places.chain([(index, index + 48 + 16), (index, index + 48 + 24)]) {
        for word in words {
            for indexed in [true, false] {
                let mut file = file.clone();
                file[at..at + 8].copy_from_slice(&word.to_le_bytes());
                seal(&mut file, record);
                if !indexed {
                    let last = file.len() - 1;
                    file[last] ^= 1;
                }
                survives(&file, &[], &format!("{word} at byte {at}"));
            }
        }
    }
}

#[test]
fn a_limit_of_memory_is_held() {
    let step = Given::new("a", DType::F32, &[200, 90], 0);
    let file = written(std::slice::from_ref(&step));
    let series = Series::new(&file[..], "series").unwrap();
    let mut dst = vec![0; step.values.len()];
    let options = Options { max_memory_bytes: 1000, ..Options::default() };
    let refused = series.read(0, &options, &mut dst).unwrap_err();
    assert_eq!(refused.status(), Status::MemoryLimit, "{refused}");
}

#[test]
fn other_files_are_told_apart() {
    let slabs = b"FZS1\x01\x00 and more than a header";
    let container = Given::new("a", DType::F32, &[20], 0).containers().remove(0);
    for other in [&slabs[..], &container, b"", b"FZS", b"HDF5 or anything"] {
        assert!(matches!(Series::new(other, "x").map(drop), Err(Error::NotAContainer(_))), "{other:?}");
    }
    let said = fzgm::info(&written(&[])).unwrap_err().to_string();
    assert!(said.contains("it is a series") && said.contains("fz_series_open()"), "{said}");
    let mut newer = written(&[]);
    newer[4] = 2;
    let sum = crc32fast::hash(&newer[..12]);
    newer[12..16].copy_from_slice(&sum.to_le_bytes());
    let said = Series::new(&newer[..], "x").map(drop).unwrap_err();
    assert!(said.status() == Status::Unsupported && said.to_string().contains("version 2"), "{said}");
}
