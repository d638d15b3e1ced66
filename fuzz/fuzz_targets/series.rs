//! Any bytes as a series. The checksums of records and of the footer are set right, because otherwise few files would pass them.
#![no_main]

use fzgm::Options;
use fzgm::series::{MAGIC, Series, SeriesWriter};
use libfuzzer_sys::fuzz_target;

/// The largest restored step.
const MOST: u64 = 1 << 20;

fn seal(bytes: &mut [u8]) {
    let end = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
}

fn seal_all(file: &mut [u8]) {
    if file.len() >= 16 {
        file[..4].copy_from_slice(&MAGIC);
        file[4..12].copy_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
        seal(&mut file[..16]);
    }
    for at in 16..file.len().saturating_sub(31) {
        if ![b"STEP", b"SLAB", b"LIST"].iter().any(|kind| file[at..].starts_with(*kind)) {
            continue;
        }
        file[at + 8..at + 16].copy_from_slice(&(at as u64).to_le_bytes());
        let bytes = u64::from_le_bytes(file[at + 16..at + 24].try_into().expect("8 bytes"));
        let end = (at as u64 + 32).checked_add(bytes).filter(|end| *end <= file.len() as u64);
        if let Some(end) = end {
            let sum = crc32fast::hash(&file[at + 32..end as usize]);
            file[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
        }
        seal(&mut file[at..at + 32]);
    }
    if file.len() >= 48 {
        let end = file.len() - 32;
        seal(&mut file[end..]);
    }
}

fuzz_target!(|data: &[u8]| {
    let mut file = data.to_vec();
    seal_all(&mut file);
    let Ok(series) = Series::new(&file[..], "series") else { return };
    let options = Options { max_memory_bytes: 32 << 20, ..Options::default() };
    for (index, step) in series.steps().iter().enumerate() {
        if step.array().bytes() > MOST {
            continue;
        }
        let mut dst = vec![0; step.array().bytes() as usize];
        let _ = series.read(index as u64, &options, &mut dst);
        let extent: Vec<u64> = step.array().dims().iter().map(|d| (d + 1) / 2).collect();
        let _ = series.read_region(index as u64, &vec![0; extent.len()], &extent, &mut dst);
    }
    // A writer keeps the steps.
    let found = series.steps().len();
    let writer = SeriesWriter::new(file.clone(), "series").expect("what is read can be appended to");
    assert_eq!(writer.steps().len(), found);
});
