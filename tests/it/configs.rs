//! The config of a stage has one length and few values: any other length is refused, any other byte is refused or
//! means something, and nothing panics. In frames, whose lengths of configs are bytes of their own.

use crate::common::corpus::{Case, build};
use crate::common::damage::{frame_stages, seal};
use crate::common::samples::Content;
use fzgm::{Options, Status, decompress, info};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Every stage of every frame of the corpus, each config once.
fn every_config(mut f: impl FnMut(&Case, std::ops::Range<usize>)) {
    let mut seen = BTreeSet::new();
    for case in build(600, Content::Specials).iter().filter(|c| c.compact) {
        let (configs, _) = frame_stages(&case.bytes).unwrap();
        assert_eq!(configs.len(), info(&case.bytes).unwrap().stages.len(), "{}", case.name);
        for at in configs {
            let (id, config) = (&case.bytes[at.start - 3..at.start - 1], &case.bytes[at.clone()]);
            // The flags of a file may decide if a config is lawful, so they are part of it.
            if seen.insert((case.bytes[5], id.to_vec(), config.to_vec())) {
                f(case, at);
            }
        }
    }
    assert!(seen.len() > 50, "{} configs", seen.len());
}

/// The status of a frame with other bytes; `what` is for the message.
fn status(case: &Case, mut bytes: Vec<u8>, what: &str) -> Status {
    seal(&mut bytes, case);
    let run = || {
        let _ = info(&bytes);
        decompress(&bytes, &Options::default())
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(_)) => Status::Ok,
        Ok(Err(e)) => {
            let damage = [Status::Corrupt, Status::Unsupported, Status::MemoryLimit];
            assert!(damage.contains(&e.status()), "{}, {what}: {e}", case.name);
            e.status()
        }
        Err(_) => panic!("{}, {what}: panics", case.name),
    }
}

/// Stages whose config has two lengths, with the longer one: its last byte is 1 and selects one code of two,
/// where the types before and after, its first bytes, differ.
const MARKED: [(u16, usize); 2] = [(2, 7), (15, 3)];

#[test]
fn configs_of_another_length_are_refused() {
    let mut marks = 0;
    every_config(|case, at| {
        let id = u16::from_le_bytes([case.bytes[at.start - 3], case.bytes[at.start - 2]]);
        // Behind streams of bytes zigzag has words with its mark alone: without it the config is refused for the pipeline's sake.
        if id == 15 && case.name.starts_with("lc_") {
            return;
        }
        let mut check = |bytes: Vec<u8>, config: &[u8], what: &str| {
            // With or without its mark, such a config is another one, with its own meaning.
            let (_, marked) = *MARKED.iter().find(|m| m.0 == id).unwrap_or(&(id, usize::MAX));
            let longer = &case.bytes[at.clone()];
            let longer = if config.len() > longer.len() { config } else { longer };
            let lawful = longer.len() == marked && longer.last() == Some(&1) && longer[0] != longer[1];
            marks += usize::from(lawful);
            let found = status(case, bytes, what);
            assert_eq!(found == Status::Ok, lawful, "{}: {what}", case.name);
        };
        for more in [0, 1, 0xff] {
            let mut bytes = case.bytes.clone();
            bytes[at.start - 1] += 1;
            bytes.insert(at.end, more);
            let config = bytes[at.start..=at.end].to_vec();
            check(bytes, &config, &format!("{more:#x} behind the config at {at:?}"));
        }
        if !at.is_empty() {
            let mut bytes = case.bytes.clone();
            bytes[at.start - 1] -= 1;
            bytes.remove(at.end - 1);
            let config = bytes[at.start..at.end - 1].to_vec();
            check(bytes, &config, &format!("the config at {at:?} without its last byte"));
        }
    });
    assert!(marks > 0);
}

#[test]
fn any_byte_of_a_config_may_be_anything() {
    let (mut tried, mut refused) = (0, 0);
    every_config(|case, at| {
        for k in at {
            for value in [0xff, 0] {
                if case.bytes[k] != value {
                    let mut bytes = case.bytes.clone();
                    bytes[k] = value;
                    tried += 1;
                    refused +=
                        usize::from(status(case, bytes, &format!("byte {k} is {value}")) != Status::Ok);
                }
            }
        }
    });
    // Bounds and counts may be many things, but most bytes may not.
    assert!(refused > tried / 2, "{refused} of {tried} refused");
}
