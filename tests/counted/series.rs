//! Damaged series: a status, in little memory and time, for every kind of damage.

use crate::alloc::peak_of;
use crate::alone;
use crate::common::rng::Rng;
use fzgm::series::{Series, SeriesWriter};
use fzgm::{Array, DType, Options, Result, Status, compress, preset};
use std::time::{Duration, Instant};

/// Bytes of a step.
const STEP: usize = 40 * 30 * 8;

/// A series of four steps, two of them in slabs.
fn series() -> Vec<u8> {
    let mut file = vec![];
    let whole = Array::new(DType::F64, &[40, 30]).unwrap();
    for (step, rows) in [30, 8, 30, 11].into_iter().enumerate() {
        let memory = std::mem::take(&mut file);
        let shared = std::rc::Rc::new(std::cell::RefCell::new(memory));
        let mut writer = SeriesWriter::new(Shared(shared.clone()), "series").unwrap();
        writer.begin(&format!("step {step}"), &whole, rows).unwrap();
        for first in (0..30).step_by(rows as usize) {
            let slab = Array::new(DType::F64, &[40, rows.min(30 - first)]).unwrap();
            let values =
                (0..slab.elements()).flat_map(|i| (i as f64 * 0.1 + first as f64).sin().to_le_bytes());
            let pipeline = preset("bits", DType::F64).unwrap();
            let values: Vec<u8> = values.collect();
            writer.slab(&compress(&pipeline, &slab, &Options::default(), &values).unwrap()).unwrap();
        }
        writer.end().unwrap();
        drop(writer);
        file = shared.take();
    }
    file
}

/// A series of one step, which is this container.
pub(crate) fn of_container(container: &[u8]) -> Vec<u8> {
    let shared = Shared(std::rc::Rc::default());
    let file = shared.0.clone();
    let mut writer = SeriesWriter::new(shared, "series").unwrap();
    writer.append_container("step", container).unwrap();
    drop(writer);
    file.take()
}

/// Memory that remains after its writer is gone.
struct Shared(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);

impl fzgm::series::Storage for Shared {
    fn bytes(&self) -> std::io::Result<u64> {
        self.0.borrow().bytes()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> std::io::Result<()> {
        self.0.borrow().read_at(at, into)
    }
}

impl fzgm::series::StorageMut for Shared {
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> std::io::Result<()> {
        self.0.borrow_mut().write_at(at, bytes)
    }

    fn truncate(&mut self, bytes: u64) -> std::io::Result<()> {
        fzgm::series::StorageMut::truncate(&mut *self.0.borrow_mut(), bytes)
    }

    fn sync(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Makes the checksums of all records and of the footer right, as far as they lie where they were.
fn seal(file: &mut [u8], good: &[u8]) {
    let records =
        good.windows(4).enumerate().filter(|(_, w)| [b"STEP", b"SLAB", b"LIST"].iter().any(|k| w == *k));
    for (at, _) in records {
        if file.len() < at + 32 {
            return;
        }
        let bytes = u64::from_le_bytes(file[at + 16..at + 24].try_into().unwrap());
        let end = (at as u64 + 32).checked_add(bytes).filter(|end| *end <= file.len() as u64);
        if let Some(end) = end {
            let sum = crc32fast::hash(&file[at + 32..end as usize]);
            file[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
        }
        let sum = crc32fast::hash(&file[at..at + 28]);
        file[at + 28..at + 32].copy_from_slice(&sum.to_le_bytes());
    }
    if file.len() == good.len() {
        let end = file.len();
        let sum = crc32fast::hash(&file[end - 32..end - 4]);
        file[end - 4..].copy_from_slice(&sum.to_le_bytes());
    }
}

fn damage(good: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut file = good.to_vec();
    for _ in 0..1 + rng.below(3) {
        let at = rng.below(file.len().max(1));
        match rng.below(8) {
            0 => file.truncate(at),
            1 => file.insert(at.min(file.len()), rng.word() as u8),
            2 if !file.is_empty() => drop(file.remove(at)),
            // A number, at a place where numbers are.
            3..=5 if file.len() >= 8 => {
                let at = at.min(file.len() - 8);
                let word = *rng.pick(&[0, 1, 7, 1 << 16, 1 << 33, 1 << 50, u64::MAX]);
                file[at..at + 8].copy_from_slice(&word.to_le_bytes());
            }
            _ if file.is_empty() => {}
            _ => file[at] ^= 1 << rng.below(8),
        }
    }
    if rng.below(2) == 0 {
        seal(&mut file, good);
    }
    file
}

fn read(file: &[u8]) -> Result<usize> {
    let series = Series::new(file, "series")?;
    let mut dst = vec![0; STEP];
    for index in 0..series.steps().len() as u64 {
        let _ = series.read(index, &Options::default(), &mut dst);
        let dims = series.step(index)?.array().dims().to_vec();
        let extent: Vec<u64> = dims.iter().map(|d| (d / 2).min(20)).collect();
        let _ = series.read_region(index, &vec![0; dims.len()], &extent, &mut dst);
    }
    Ok(series.steps().len())
}

#[test]
fn damaged_series_cost_little() {
    let _alone = alone();
    let good = series();
    let rounds = if std::env::var_os("FZGM_LONG").is_some() { 50_000 } else { 4_000 };
    let (mut opened, mut seen) = (0, std::collections::BTreeMap::<Status, usize>::new());
    for seed in 0..rounds {
        let file = damage(&good, &mut Rng(seed));
        let started = Instant::now();
        let (done, peak) = peak_of(|| read(&file));
        assert!(started.elapsed() < Duration::from_secs(2), "seed {seed} takes {:?}", started.elapsed());
        assert!(peak <= 8 * STEP + (64 << 20), "seed {seed} takes {peak} bytes of memory");
        match done {
            Ok(steps) => opened += steps,
            Err(e) => *seen.entry(e.status()).or_default() += 1,
        }
    }
    println!("{rounds} series: {opened} steps; {seen:?}");
    assert!(opened > 2 * rounds as usize, "{opened} steps of {rounds} damaged series are found");
    assert!(!seen.contains_key(&Status::Internal), "{seen:?}");
}
