//! Series in the file system: readers beside a writer, locks, and recorded bytes.

use super::{Given, some, written};
use fzgm::series::{Series, SeriesWriter};
use fzgm::{DType, Error};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Each reader finds the steps that were complete when it opened the file, and restores them while the writer continues.
#[test]
fn readers_beside_a_writer_find_the_complete_steps() {
    const STEPS: usize = 150;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.fzs");
    let step = |index: usize| {
        Given::new(&format!("t{index}"), DType::F32, &[10 + index as u64 % 7, 6], 1 + index as u64 % 3)
    };
    let complete = AtomicUsize::new(0);
    let mut writer = SeriesWriter::open(&path).unwrap();
    writer.set_sync(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut opened = 0;
                while complete.load(Ordering::Acquire) < STEPS {
                    let least = complete.load(Ordering::Acquire);
                    let series = Series::open(&path).unwrap_or_else(|e| panic!("after {least} steps: {e}"));
                    let most = complete.load(Ordering::Acquire) + 1;
                    let found = series.steps().len();
                    assert!(
                        (least..=most).contains(&found),
                        "{found} steps, but {least} to {most} are complete"
                    );
                    for index in (0..found).rev().take(3) {
                        step(index).check(&series, index);
                    }
                    opened += 1;
                }
                assert!(opened > 0);
            });
        }
        for index in 0..STEPS {
            assert_eq!(step(index).append(&mut writer), Ok(index as u64));
            complete.store(index + 1, Ordering::Release);
        }
    });
    drop(writer);
    let series = Series::open(&path).unwrap();
    assert!(series.is_indexed() && series.steps().len() == STEPS);
}

#[cfg(unix)]
#[test]
fn a_second_writer_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.fzs");
    let mut first = SeriesWriter::open(&path).unwrap();
    let second = SeriesWriter::open(&path).map(drop);
    assert!(matches!(&second, Err(Error::File { why, .. }) if why.contains("another writer")), "{second:?}");
    some()[0].append(&mut first).unwrap();
    drop(first);
    assert_eq!(SeriesWriter::open(&path).unwrap().steps().len(), 1);
}

#[test]
fn paths_that_are_no_series_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other");
    fs::write(&path, "anything else, which must stay").unwrap();
    let refused = SeriesWriter::open(&path).map(drop);
    assert!(matches!(refused, Err(Error::NotAContainer(_))), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), b"anything else, which must stay");
    for path in [folder.path().to_path_buf(), folder.path().join("no/folder")] {
        for refused in [SeriesWriter::open(&path).map(drop), Series::open(&path).map(drop)] {
            let said = refused.unwrap_err();
            assert!(
                matches!(said, Error::File { .. }) && said.to_string().contains(path.to_str().unwrap()),
                "{said}"
            );
        }
    }
    let none = Series::open(folder.path().join("none")).map(drop);
    assert!(matches!(none, Err(Error::File { .. })), "{none:?}");
    // An empty file, as a shell makes it.
    let empty = folder.path().join("empty");
    fs::write(&empty, "").unwrap();
    assert!(SeriesWriter::open(&empty).unwrap().steps().is_empty());
    assert!(Series::open(&empty).unwrap().steps().is_empty());
}

/// The recorded file is read, and written again byte for byte. `FZGM_BLESS=1` writes it.
#[test]
fn the_recorded_series_is_read_and_written() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/series.fzs");
    let steps = some();
    let file = written(&steps);
    if std::env::var_os("FZGM_BLESS").is_some() {
        fs::write(&path, &file).unwrap();
    }
    let recorded = fs::read(&path).unwrap();
    let series = Series::new(&recorded[..], "series").unwrap();
    assert!(series.is_indexed());
    steps.iter().enumerate().for_each(|(index, step)| step.check(&series, index));
    assert!(recorded == file, "the series is written with other bytes than the recorded ones");
}

/// The example of the specification.
#[test]
fn the_example_of_the_page_is_the_series() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/series.md")).unwrap();
    let example =
        page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let digits = example.lines().flat_map(|line| line.split('#').next().unwrap().split_whitespace());
    let bytes: Vec<u8> = digits.map(|d| u8::from_str_radix(d, 16).expect("two digits")).collect();
    let memory = super::storage::Memory::default();
    let mut writer = SeriesWriter::new(memory.clone(), "series").unwrap();
    let array = fzgm::Array::new(DType::U8, &[3]).unwrap();
    let options = fzgm::Options { container: fzgm::Container::Compact, ..fzgm::Options::default() };
    let mut pipeline = fzgm::Pipeline::new();
    pipeline.add("stored").unwrap();
    let container = fzgm::compress(&pipeline, &array, &options, b"abc").unwrap();
    writer.append_container("t0", &container).unwrap();
    drop(writer);
    let made = memory.take();
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x} ")).collect::<String>();
    assert_eq!(hex(&bytes), hex(&made), "the example of docs/series.md");
}
