//! Damaged containers of every preset: an asynchronous call on device memory must return a status, and a
//! blocking call on host memory must return the verdict of the CPU. The emulator's sanitizers or
//! compute-sanitizer detect invalid accesses.

use crate::common::corpus::Case;
use crate::common::damage::{damage, garble};
use crate::common::fixture::{Fixture, lossy, options};
use crate::common::gpu::{Block, mine};
use crate::common::rng::Rng;
use crate::common::samples::Content;
use crate::cuda::need_gpu;
use fzgm::{Array, Container, DType, Device, Encoder, Options, PRESETS, Preset, Status};
use std::collections::BTreeMap;
use std::io::Write;

/// Mutants per preset.
fn count() -> usize {
    let set = std::env::var("FZGM_MUTATIONS").ok().and_then(|n| n.parse().ok());
    set.unwrap_or(16)
}

/// Types, shapes, and containers of a preset. Mutant k uses number k modulo 4.
fn kinds(preset: &Preset) -> [(DType, &'static [u64], Container); 4] {
    let [narrow, wide] = if preset.lossless { [DType::U16, DType::U64] } else { [DType::F32, DType::F64] };
    [
        (narrow, &[6_001], Container::Fzm),
        (wide, &[67, 61], Container::Compact),
        (narrow, &[30, 31, 7], Container::Compact),
        (wide, &[6_001], Container::Fzm),
    ]
}

#[test]
fn mutants_of_every_preset_have_the_verdict_of_the_cpu() {
    need_gpu!();
    let (mut seen, mut counts) = (BTreeMap::<Status, usize>::new(), BTreeMap::<&str, usize>::new());
    for preset in PRESETS {
        for (which, (dtype, dims, container)) in kinds(preset).into_iter().enumerate() {
            let chosen: Vec<usize> = (which..count()).step_by(4).filter(|k| mine(k + k / 4)).collect();
            if chosen.is_empty() {
                continue;
            }
            let array = Array::new(dtype, dims).unwrap();
            let options = Options { container, ..options() };
            let mut judge = Judge::new(preset.name, &array, &options);
            *counts.entry(preset.name).or_insert(0) += chosen.len();
            for k in chosen {
                for status in judge.mutant(&format!("{} {dtype} {container:?}", preset.name), k as u64) {
                    *seen.entry(status).or_default() += 1;
                }
            }
            judge.is_none_the_worse();
        }
    }
    let _ = writeln!(std::io::stderr(), "NOTE mutants {counts:?}, verdicts of both calls {seen:?}");
    assert!(seen.contains_key(&Status::Corrupt), "{seen:?}");
}

/// A decoder on the device, its counterpart on the CPU, and valid containers.
struct Judge {
    fixture: Fixture,
    on_cpu: Encoder,
    cases: Vec<Case>,
    sound: Vec<u8>,
}

impl Judge {
    fn new(name: &str, array: &Array, options: &Options) -> Judge {
        let pipeline = lossy(name, array.dtype());
        let fixture = Fixture::new(&pipeline, array, options);
        let on_cpu =
            Encoder::new(&pipeline, array, &Options { device: Device::Cpu, ..options.clone() }).unwrap();
        let contents = [Content::Walk, Content::Sparse, Content::Specials, Content::Constant];
        let cases = contents.into_iter().map(|content| {
            let (bytes, restored) = fixture.expected(&fixture.data(content, 5));
            Case {
                name: format!("{content:?}"),
                segments: fzgm::info(&bytes).unwrap().segments.len(),
                bytes,
                restored,
                made_of: None,
                compact: options.container == Container::Compact,
                loose: false,
                width: array.dtype().bytes(),
            }
        });
        let (cases, sound) = (cases.collect(), fixture.data(Content::Walk, 6));
        Judge { fixture, on_cpu, cases, sound }
    }

    /// Both verdicts on a mutant.
    fn mutant(&mut self, name: &str, seed: u64) -> [Status; 2] {
        let mut rng = Rng(seed);
        let (case, donor) = (rng.pick(&self.cases), rng.pick(&self.cases));
        let way = if rng.below(2) == 0 { damage } else { garble };
        let (bytes, what) = way(case, donor, &mut rng);
        let what = format!("{name}, {}, {what}, mutant {seed}", case.name);

        // An allocation of exact size, so that reads beyond the end are detected.
        let room = Block::of(&bytes);
        let restored = self.fixture.restored.bytes;
        let (from, to) = (room.slice(0, bytes.len()), self.fixture.restored.slice(0, restored));
        let place = self.fixture.results[1].slice(0, 24).address;
        let stream = self.fixture.stream.raw();
        unsafe { self.fixture.decoder.decompress_async(&mut self.fixture.decoding, from, to, place, stream) }
            .unwrap();
        self.fixture.stream.wait();
        let said = self.fixture.results[1].result();
        let there = Status::ALL.iter().find(|s| **s as i32 == said.status);
        let there = *there.unwrap_or_else(|| panic!("{what}: {said:?}"));
        assert_eq!(said.bytes, if there == Status::Ok { restored as u64 } else { 0 }, "{what}: {said:?}");

        let (mut on_gpu, mut on_cpu) = (vec![0; restored], vec![0; restored]);
        let decoder = self.on_cpu.decoder().unwrap();
        let cpu = decoder.decompress(&mut decoder.workspace().unwrap(), &bytes, &mut on_cpu);
        let gpu = self.fixture.decoder.decompress(&mut self.fixture.decoding, &bytes, &mut on_gpu);
        let [cpu, gpu] = [cpu, gpu].map(|v| v.map_or_else(|e| e.status(), |_| Status::Ok));
        assert_eq!(gpu, cpu, "{what}: blocking");
        if cpu == Status::Ok {
            assert!(on_gpu == on_cpu, "{what}: other values");
            // The device reads only headers in the form that this library writes.
            assert!(
                matches!(there, Status::Ok | Status::PlanMismatch),
                "{what}: {there:?}, but the CPU restores it"
            );
            assert!(
                there != Status::Ok || self.fixture.restored.get() == on_cpu,
                "{what}: other values on a stream"
            );
        }
        [there, gpu]
    }

    /// The workspaces still restore a valid container.
    fn is_none_the_worse(&mut self) {
        self.fixture.src.put(0, &self.sound);
        self.fixture.both();
        self.fixture.check(&self.sound);
    }
}
