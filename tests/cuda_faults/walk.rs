//! The walk over every driver call of an entry point.

use crate::common::gpu::{Block, PinnedBytes, TestStream};
use crate::common::samples::{self, Content};
use crate::emulator::{self, OwnContext, alive, quietly};
use fzgm::{Array, DType, Device, Error, Options, Pipeline, Result, Status, Stream, preset};
use std::collections::BTreeMap;
use std::io::Write;

/// An array, and the CPU's results for it.
pub struct World {
    pub pipeline: Pipeline,
    pub array: Array,
    pub src: Vec<u8>,
    /// The container with checksums (blocking calls), and without (asynchronous calls).
    pub summed: Vec<u8>,
    pub plain: Vec<u8>,
    pub restored: Vec<u8>,
}

impl World {
    pub fn of(name: &str) -> World {
        let dtype = if name == "bits" { DType::U16 } else { DType::F32 };
        let mut pipeline = preset(name, dtype).unwrap();
        let _ = pipeline.set_everywhere("mode", |args| args.set_text("mode", "noa"));
        let _ = pipeline.set_everywhere("error_bound", |args| args.set_real("error_bound", 1e-3));
        let _ = pipeline.set_everywhere("outlier_capacity", |args| args.set_real("outlier_capacity", 1.0));
        World::new(pipeline, samples::make(dtype, &[1_001], Content::Walk, 1))
    }

    pub fn new(pipeline: Pipeline, sample: samples::Sample) -> World {
        let options = Options { device: Device::Cpu, ..Options::default() };
        let made = |checksum| {
            let options = Options { checksum, ..options.clone() };
            fzgm::compress(&pipeline, &sample.array, &options, &sample.bytes).unwrap()
        };
        let (summed, plain) = (made(true), made(false));
        let restored = fzgm::decompress(&summed, &options).unwrap().1;
        World { array: sample.array, src: sample.bytes, summed, plain, restored, pipeline }
    }

    pub fn on_gpu(&self) -> Options {
        Options { device: Device::Cuda(0), ..Options::default() }
    }
}

/// The current context of the calling thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Home {
    /// A fresh one.
    Own,
    /// None: calls use the primary context or the context of the stream, and must pop it.
    None,
}

impl Home {
    pub const ALL: &'static [Home] = &[Home::Own, Home::None];
}

/// One run of an entry point with one injected failure.
pub struct Trial<'w> {
    pub world: &'w World,
    /// A stream of a fresh context.
    stream: usize,
    gone: bool,
    home: usize,
    pub error: Option<Error>,
}

impl Trial<'_> {
    pub fn stream(&self) -> Stream {
        Stream::from_raw(self.stream)
    }

    /// Waits for the stream.
    pub fn wait(&self) {
        quietly(|| {
            let stream = TestStream(self.stream);
            stream.wait();
            std::mem::forget(stream);
        });
    }

    /// Device memory of the test.
    pub fn block(&self, bytes: &[u8]) -> Held {
        Held(Some(quietly(|| Block::of(bytes))))
    }

    /// Pinned memory of the test.
    pub fn pinned(&self, bytes: &[u8]) -> Held<PinnedBytes> {
        Held(Some(quietly(|| PinnedBytes::of(bytes))))
    }

    /// Makes a call of the library. A failure must have a device status, and a second try must succeed. `None`: the device is lost.
    /// `waits`: no operation may be pending after a failure.
    pub fn call<T>(&mut self, waits: bool, mut f: impl FnMut() -> Result<T>) -> Option<T> {
        let said = match f() {
            Ok(done) => return Some(done),
            Err(e) => e,
        };
        let known = [Status::Device, Status::OutOfMemory, Status::NoDevice];
        assert!(known.contains(&said.status()), "{said}");
        assert!(!said.to_string().is_empty());
        if !self.gone {
            quietly(|| {
                assert!(!waits || emulator::pending() == 0, "{said}: operations are on their way");
                assert_eq!(emulator::capture_mode(), 0, "{said}: the thread captures otherwise than before");
            });
            assert_eq!(quietly(emulator::current), self.home, "{said}: another context");
            assert!(self.error.is_none(), "fails twice: {said}");
        }
        self.error = Some(said);
        if self.gone { None } else { Some(f().unwrap_or_else(|e| panic!("again: {e}"))) }
    }
}

/// Device or pinned memory whose release never fails.
pub struct Held<T = Block>(Option<T>);

impl<T> std::ops::Deref for Held<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0.as_ref().unwrap()
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        let memory = self.0.take();
        quietly(|| drop(memory));
    }
}

/// Calls an entry point and checks its results. `None`: the device is lost.
pub type Entry = fn(&mut Trial<'_>) -> Option<()>;

/// The subject of a walk.
struct Walked<'w> {
    name: &'w str,
    world: &'w World,
    home: Home,
    gone: bool,
    entry: Entry,
}

/// Statistics of a walk.
#[derive(Debug, Default)]
pub struct Tally {
    pub entries: usize,
    pub injected: usize,
    pub calls: BTreeMap<String, usize>,
    pub statuses: BTreeMap<Status, usize>,
    /// Failures without a status: releases, and calls that the library repeats.
    pub silent: BTreeMap<String, usize>,
}

impl Tally {
    /// Fails driver call 1, then call 1 + `share`, and so on, until the entry point makes fewer calls.
    /// With `events`, a walk with gaps also fails each call of an event, because a gap could hide the few of them.
    pub fn walk(
        &mut self,
        name: &str,
        world: &World,
        home: Home,
        gone: bool,
        entry: Entry,
        (share, events): (usize, bool),
    ) {
        let row = Walked { name, world, home, gone, entry };
        self.entries += 1;
        let mut nth = 1;
        while self.fails(&row, None, nth) {
            nth += share;
        }
        assert!(nth > 1, "{name}: no driver call");
        if share > 1 && events {
            for call in ["cuEventCreate", "cuEventDestroy_v2"] {
                for nth in 1.. {
                    if !self.fails(&row, Some(call), nth) {
                        break;
                    }
                }
            }
        }
    }

    /// Runs the entry point with one failed call: the nth of that name, or of any name. `false`: it makes fewer calls.
    fn fails(&mut self, row: &Walked<'_>, call: Option<&str>, nth: usize) -> bool {
        const LOST: [i32; 4] = [700, 46, 214, 719];
        let Walked { name, world, home, gone, entry } = *row;
        let code = if gone { LOST[nth % LOST.len()] } else { 0 };
        let before = quietly(alive);
        let context = quietly(OwnContext::new);
        let stream = quietly(|| context.stream());
        let home = if home == Home::Own { context.0 } else { 0 };
        emulator::set_current(home);
        let mut trial = Trial { world, stream, gone, home, error: None };
        emulator::fail(call, nth, code, gone);
        let done = entry(&mut trial);
        let failed = emulator::failed();
        let error = trial.error;
        assert!(done.is_some() || gone && error.is_some(), "{name}, call {nth}: {failed:?} {error:?}");
        quietly(|| drop(TestStream(stream)));
        if !gone {
            self.nothing_is_left(name, failed.as_deref(), before, home);
        }
        quietly(|| drop(context));
        let Some(call) = failed else {
            assert!(error.is_none(), "{name}: {error:?} without a failure");
            return false;
        };
        self.injected += 1;
        match error {
            Some(e) => *self.statuses.entry(e.status()).or_default() += 1,
            None => *self.silent.entry(call.clone()).or_default() += 1,
        }
        *self.calls.entry(call).or_default() += 1;
        true
    }

    /// Only an object whose own release failed may remain.
    fn nothing_is_left(&self, name: &str, failed: Option<&str>, before: emulator::Alive, home: usize) {
        let mut wanted = before;
        match failed {
            Some("cuMemFree_v2" | "cuMemFreeHost") => wanted.memory += 1,
            Some("cuStreamDestroy_v2") => wanted.streams += 1,
            Some("cuEventDestroy_v2") => wanted.events += 1,
            _ => {}
        }
        quietly(|| {
            assert_eq!(alive(), wanted, "{name}: what is left behind {failed:?}");
            assert_eq!(emulator::pending(), 0, "{name}: behind {failed:?}");
            assert_eq!(emulator::capture_mode(), 0, "{name}: behind {failed:?}");
        });
        assert_eq!(quietly(emulator::current), home, "{name}: another context behind {failed:?}");
    }

    pub fn say(&self, how: &str) {
        let text = format!(
            "NOTE {how}: {} entry points, {} failures in {} calls of the driver; {:?}; without a status {:?}; {:?}\n",
            self.entries,
            self.injected,
            self.calls.len(),
            self.statuses,
            self.silent,
            self.calls
        );
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}
