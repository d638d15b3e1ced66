//! Containers that no encoder writes: data or a status, the same for 1 and 3 threads.

use super::{ALL, array, pipeline};
use crate::common::agreement::{bare, holds, verdict};
use crate::common::damage::frame_stages;
use crate::common::rng::Rng;
use fzgm::{Container, DType, Options, Status, decompress, info};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Far above the time of any of the arrays here, and below that of a loop that a header started.
const SLOW: Duration = Duration::from_secs(10);

/// A container, and where its config and its stream begin.
struct Victim {
    name: String,
    bytes: Vec<u8>,
    width: usize,
    config: usize,
    start: usize,
}

fn victims() -> Vec<Victim> {
    let mut rng = Rng(3);
    let mut all = vec![];
    for (dtype, dims) in [
        (DType::F32, &[40, 30, 9][..]),
        (DType::F64, &[5000]),
        (DType::U8, &[70, 60]),
        (DType::I16, &[9000]),
        (DType::U64, &[300, 7]),
    ] {
        for with in ALL {
            let sample = array(dtype, dims, with, &mut rng);
            let bytes = holds(&pipeline(), &sample, &bare(Container::Compact)).0;
            let config = frame_stages(&bytes).unwrap().0[0].clone();
            assert_eq!(config.len(), 40);
            let start = info(&bytes).unwrap().header_bytes as usize;
            let width = dtype.bytes() as usize;
            all.push(Victim { name: sample.name, bytes, width, config: config.start, start });
        }
    }
    all
}

impl Victim {
    fn verdict(&self, bad: &[u8], what: &str) -> Status {
        let begun = Instant::now();
        let run = |threads| {
            decompress(bad, &Options { threads, ..bare(Container::Compact) })
                .map_or_else(|e| Err(e.status()), |(_, bytes)| Ok(bytes))
        };
        let said = catch_unwind(AssertUnwindSafe(|| [run(1), run(3)]));
        let [one, three] = said.unwrap_or_else(|_| panic!("{}: {what}", self.name));
        assert!(one == three, "{}: {what}: 1 and 3 threads differ", self.name);
        assert!(begun.elapsed() < SLOW, "{}: {what}: {:?}", self.name, begun.elapsed());
        let name = format!("{}: {what}", self.name);
        assert!(one == verdict(bad, &bare(Container::Compact), true, &name), "{name}");
        let status = one.map_or_else(|status| status, |_| Status::Ok);
        assert!(!matches!(status, Status::Internal), "{}: {what}", self.name);
        status
    }
}

#[test]
fn damage_is_rejected_or_restores_something() {
    let mut rng = Rng(11);
    let all = victims();
    let cases = if std::env::var_os("FZGM_LONG").is_some() { 20_000 } else { 2_000 };
    let mut rejected = 0;
    for _ in 0..cases {
        let victim = rng.pick(&all);
        let mut bad = victim.bytes.clone();
        let body = bad.len() - victim.start;
        for _ in 0..1 + rng.below(2) {
            // The numbers in front as often as the rest.
            let within = if rng.below(2) > 0 { body.min(64) } else { body };
            let at = victim.start + rng.below(within);
            bad[at] = match rng.below(4) {
                0 => bad[at] ^ 1 << rng.below(8),
                1 => 0,
                2 => 0xff,
                _ => rng.word() as u8,
            };
        }
        rejected += u32::from(victim.verdict(&bad, &format!("{bad:x?}")[..40]) != Status::Ok);
    }
    assert!(rejected > cases as u32 / 4, "{rejected} of {cases} are rejected");
}

#[test]
fn every_field_of_the_config_is_checked() {
    for victim in victims() {
        for (at, width) in [(0, 1), (1, 1), (2, 2), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8)] {
            let at = victim.config + at;
            for value in [0u64, 1, 7, 0xff, 1 << 20, 1 << 41, u64::MAX] {
                let mut bad = victim.bytes.clone();
                bad[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                if bad != victim.bytes {
                    victim.verdict(&bad, &format!("{value:#x} at {at}"));
                }
            }
        }
    }
}

#[test]
fn streams_of_the_page_are_rejected() {
    let all = victims();
    let long = |v: &&Victim| v.bytes.len() - v.start > 200 && v.bytes[v.start + 1] & 0x80 != 0;
    for victim in all.iter().filter(long) {
        let corrupt = |what: &str, change: &dyn Fn(&mut Vec<u8>)| {
            let mut bad = victim.bytes.clone();
            change(&mut bad);
            assert_eq!(victim.verdict(&bad, what), Status::Corrupt, "{}: {what}", victim.name);
        };
        let (start, first) = (victim.start, victim.bytes[victim.start]);
        corrupt("an unknown bit", &|b| b[start + 1] |= 8);
        corrupt("another unknown bit", &|b| b[start + 1] |= 0x40);
        corrupt("no bit 15", &|b| b[start + 1] = 0x7f);
        corrupt("elements bit for bit", &|b| b[start..start + 2].fill(0));
        corrupt("holes with order 2", &|b| b[start] = first & !3 | 0x12);
        let at = start + 2;
        if first & 0x20 != 0 {
            corrupt("an empty table", &|b| b[at..at + 4].fill(0));
            corrupt("a long table", &|b| b[at + 3] = 1);
        }
        if first & 0x20 == 0 {
            corrupt("an order of no table", &|b| b[start + 1] |= 4);
        }
        if victim.bytes[start + 1] & 2 != 0 {
            let bytes = victim.width.next_multiple_of(2);
            let at = at + if first & 0x20 != 0 { 4 } else { 0 } + if first & 0x40 != 0 { bytes } else { 0 };
            corrupt("a factor of 0", &|b| b[at..at + bytes].fill(0));
            corrupt("a factor of 1", &|b| b[at..at + bytes].copy_from_slice(&1u64.to_le_bytes()[..bytes]));
        }
    }
}
