//! Interrupted appends: at every byte, with every order of the writes that the disk may choose, and with a full disk.

use super::storage::{Change, Memory, apply};
use super::{Given, read, some, written};
use fzgm::series::{Series, SeriesWriter};
use fzgm::{DType, Error};

/// The file that is found after a crash has the first steps, at least `least` of them, and another step can be appended.
fn has(file: &[u8], steps: &[Given], least: usize, what: &str) {
    let series = Series::new(file, "series").unwrap_or_else(|e| panic!("{what}: {e}"));
    let found = series.steps().len();
    assert!((least..=steps.len()).contains(&found), "{what}: {found} steps");
    (0..found).for_each(|index| steps[index].check(&series, index));
    let memory = Memory::of(file);
    let mut writer = SeriesWriter::new(memory.clone(), "series").unwrap();
    let next = Given::new("next", DType::U16, &[5, 3], 2);
    assert_eq!(next.append(&mut writer), Ok(found as u64), "{what}");
    drop(writer);
    let file = memory.take();
    let series = Series::new(&file[..], "series").unwrap();
    assert!(series.is_indexed() && series.steps().len() == found + 1, "{what}");
    (0..found).for_each(|index| steps[index].check(&series, index));
    next.check(&series, found);
    assert!(
        file == written(&[&steps[..found], &[next]].concat()),
        "{what}: another file than without a crash"
    );
}

/// Offsets where the steps of this file end.
fn ends(steps: &[Given]) -> Vec<usize> {
    let file = written(steps);
    let series = Series::new(&file[..], "series").unwrap();
    let mut at = 16;
    let ends = series.steps().iter().map(|step| {
        at += step.bytes() as usize;
        at
    });
    ends.collect()
}

#[test]
fn a_file_cut_at_any_byte_has_its_complete_steps() {
    let steps = some();
    let (file, ends) = (written(&steps), ends(&steps));
    for cut in 0..=file.len() {
        if cut < 4 {
            let none = Series::new(&file[..cut], "series").map(drop);
            assert!(matches!(none, Err(Error::NotAContainer(_))), "{cut} bytes: {none:?}");
            continue;
        }
        let complete = ends.iter().filter(|end| **end <= cut).count();
        let series = Series::new(&file[..cut], "series").unwrap_or_else(|e| panic!("{cut} bytes: {e}"));
        assert_eq!(series.steps().len(), complete, "{cut} bytes");
        assert_eq!(series.is_indexed(), cut == file.len(), "{cut} bytes");
        if cut < file.len() {
            // A part of the header is lost too.
            let end = ends[..complete].last().copied().unwrap_or(if cut < 16 { 0 } else { 16 });
            assert_eq!(series.lost_bytes(), (cut - end) as u64, "{cut} bytes");
        }
        // Each byte near a border of a record, and every 13th otherwise.
        if cut % 13 == 0 || ends.iter().any(|end| end.abs_diff(cut) < 40) {
            has(&file[..cut], &steps[..complete], complete, &format!("{cut} bytes"));
        }
    }
}

/// Bytes of a longer file that was there before remain behind the cut.
#[test]
fn zeros_after_the_complete_steps_are_no_step() {
    let steps = some();
    let (file, ends) = (written(&steps), ends(&steps));
    for cut in (16..file.len()).step_by(7) {
        let complete = ends.iter().filter(|end| **end <= cut).count();
        let mut torn = file[..cut].to_vec();
        torn.resize(file.len() + 100, 0);
        // The cut may be in zeros.
        let more = ends.iter().filter(|end| file[cut.min(**end)..**end].iter().all(|b| *b == 0)).count();
        has(&torn, &steps[..more.max(complete)], complete, &format!("zeros from byte {cut} on"));
    }
}

/// A crash of the process leaves the first changes; a power failure leaves, of the changes since the last synchronization, any.
#[test]
fn any_order_of_the_disk_keeps_the_complete_steps() {
    let mut steps = some();
    steps.truncate(2);
    steps.push(Given::new("halves", DType::I16, &[3, 8], 4));
    let memory = Memory::default();
    let (mut durable, mut done) = (vec![], 0);
    for (index, step) in steps.iter().enumerate() {
        let mut writer = SeriesWriter::new(memory.clone(), "series").unwrap();
        step.append(&mut writer).unwrap();
        drop(writer);
        let mut epoch: Vec<Change> = vec![];
        for change in memory.changes() {
            if let Change::Sync = change {
                epoch.iter().for_each(|change| apply(&mut durable, change).unwrap());
                epoch.clear();
                continue;
            }
            epoch.push(change);
            assert!(epoch.len() <= 10, "{} changes without a synchronization", epoch.len());
            for kept in 0..1u32 << epoch.len() {
                let mut file = durable.clone();
                let chosen = epoch.iter().enumerate().filter(|(k, _)| kept >> k & 1 == 1);
                chosen.for_each(|(_, change)| apply(&mut file, change).unwrap());
                // Before the header is durable there is no step to lose.
                if index == 0 && Series::new(&file[..], "series").is_err() {
                    continue;
                }
                has(&file, &steps[..index + 1], index, &format!("step {index}, changes {kept:b}"));
            }
            done += 1;
        }
        assert!(epoch.is_empty(), "an append ends without a synchronization");
        has(&durable, &steps[..index + 1], index + 1, "after the append");
    }
    assert!(done > 15, "{done} changes");
}

#[test]
fn a_full_disk_leaves_the_earlier_steps() {
    let steps = some();
    let file = written(&steps[..2]);
    for changes in 0.. {
        let memory = Memory::of(&file);
        let mut writer = SeriesWriter::new(memory.clone(), "series").unwrap();
        memory.fail_after(Some(changes));
        let done = steps[2].append(&mut writer);
        if done.is_ok() {
            assert!(changes > 8, "{changes} changes are enough");
            break;
        }
        assert!(matches!(done, Err(Error::File { doing: "write", .. })), "{done:?}");
        has(&memory.copy(), &steps[..3], 2, &format!("{changes} changes"));
        // A step cannot follow as long as the index is missing.
        memory.fail_after(None);
        let again = steps[2].append(&mut writer);
        assert!(matches!(again, Err(Error::File { .. })), "{again:?}");
        drop(writer);
        has(&memory.copy(), &steps[..3], 2, &format!("{changes} changes, then room"));
    }
}

/// If only one write fails, the step is removed, the index is there again, and the writer continues.
#[test]
fn a_failed_write_removes_the_step_alone() {
    let steps = some();
    let file = written(&steps[..2]);
    for changes in 0.. {
        let memory = Memory::of(&file);
        let mut writer = SeriesWriter::new(memory.clone(), "series").unwrap();
        memory.fail_once_after(changes);
        let done = steps[2].append(&mut writer);
        if done.is_ok() {
            assert!(changes > 8, "{changes} changes are enough");
            break;
        }
        assert!(matches!(done, Err(Error::File { doing: "write", .. })), "{done:?}");
        assert!(memory.copy() == file, "{changes} changes: another file than before");
        assert!(matches!(writer.slab(&steps[2].containers()[0]), Err(Error::PlanMismatch(_))));
        assert_eq!(steps[2].append(&mut writer), Ok(2), "{changes} changes");
        assert!(memory.copy() == written(&steps[..3]), "{changes} changes, then another append");
    }
}

#[test]
fn without_synchronization_the_same_bytes_are_written() {
    let steps = some();
    let memory = Memory::default();
    let mut writer = SeriesWriter::new(memory.clone(), "series").unwrap();
    memory.changes();
    writer.set_sync(false);
    for step in &steps {
        step.append(&mut writer).unwrap();
    }
    drop(writer);
    assert!(!memory.changes().iter().any(|change| matches!(change, Change::Sync)));
    let file = memory.take();
    assert!(file == written(&steps));
    assert!(read(&Series::new(&file[..], "series").unwrap(), 2).is_ok());
}
