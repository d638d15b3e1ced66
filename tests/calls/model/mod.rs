//! A model of the C interface: a string of bytes becomes calls, legal and illegal, on a few pipelines, plans,
//! workspaces, and containers, and the model has the required result of each call.
//!
//! After every call: the header allows the status for these arguments, a failure leaves a text and writes no
//! result, a success leaves the text unchanged, no byte outside the passed memory is written, and restored
//! values keep their bound. Calls that the header leaves undefined are not made: no handle is used after it
//! was freed, no handle has another kind, and there is one thread. `tests/calls` runs the model on random
//! strings, the fuzz target `calls` on strings that reach new code.

mod about;
mod choose;
mod codec;
mod data;
mod describe;
mod files;
mod judge;
#[path = "../../common/oracle.rs"]
#[allow(dead_code)]
mod oracle;
mod pipelines;
mod plans;
mod series;
mod simple;
mod source;
mod spaces;
mod views;

pub use judge::Tally;

use data::{Container, Promise, Shape};
use fzgm::DType;
use fzgm::capi::*;
use judge::Judge;
use oracle::Bound;
use source::Source;

/// The properties of a preset with only the common parameters set.
#[derive(Clone)]
struct Known {
    preset: &'static str,
    dtype: DType,
    mode: &'static str,
    bound: f64,
    threshold: f64,
}

impl Known {
    fn promise(&self) -> Promise {
        match self.preset {
            "bits" => Promise::Exact,
            _ => Promise::Within(Bound::of(self.mode, self.bound), self.threshold),
        }
    }

    /// True if outliers have lists, whose room may be too small.
    fn lists(&self) -> bool {
        !matches!((self.preset, self.mode), ("bits" | "fast", _) | ("pfpl", "abs" | "noa" | "prel"))
    }
}

struct Pipeline {
    handle: *mut fz_pipeline,
    known: Option<Known>,
    stages: u32,
}

struct Plan {
    handle: *mut fz_plan,
    id: u64,
    /// The encoder whose containers it is for.
    family: u64,
    encoder: bool,
    /// It serves every container of the family, not only some.
    every: bool,
    /// None if a damaged container states the shape.
    shape: Option<Shape>,
    known: Option<Known>,
    /// The bound is kept.
    strict: bool,
    /// The form that contains neither shape nor length.
    padded: bool,
}

struct Space {
    handle: *mut fz_workspace,
    plan: u64,
    /// Memory of ours, if it lies there.
    memory: Option<judge::Bytes>,
}

/// All objects of the model.
pub struct World {
    judge: Judge,
    pipelines: Vec<Pipeline>,
    plans: Vec<Plan>,
    spaces: Vec<Space>,
    containers: Vec<Container>,
    /// Identities given.
    count: u64,
    /// Calls on files that were made: they take longest.
    files: u32,
    /// Series that were written.
    series: u32,
}

/// The largest number of objects of each kind; the next one replaces the oldest.
const MOST: usize = 5;
/// The largest workspace that a damaged container may require.
const MOST_BYTES: u64 = 16 << 20;
/// Calls of one string.
const MOST_CALLS: usize = 200;

type Call = fn(&mut World, &mut Source);

/// Each call is as frequent as it is listed here.
const CALLS: &[Call] = &[
    World::compress,
    World::compress,
    World::compress,
    World::compress_again,
    World::decompress,
    World::decompress,
    World::decompress,
    World::decompress,
    World::decompress_region,
    World::decompress_preview,
    World::views,
    World::finalize,
    World::finalize,
    World::plan_decoder,
    World::plan_open,
    World::lengths,
    World::free_plan,
    World::workspace_new,
    World::workspace_new,
    World::workspace_from_buffer,
    World::workspace_from_buffer,
    World::free_workspace,
    World::pipeline_from_preset,
    World::add_stage,
    World::connect,
    World::set,
    World::set,
    World::notation,
    World::free_pipeline,
    World::compress_simple,
    World::find_fill_value,
    World::choose,
    World::container_info,
    World::container_shape,
    World::info_partial,
    World::pipeline_from_container,
    World::damage,
    World::describe,
    World::describe_pipeline,
    World::files,
    World::files,
    World::series,
    World::devices,
    World::about,
];

/// Makes the calls of a string; returns how often each function succeeded and failed. Panics if a result is
/// not the required one.
pub fn run(bytes: &[u8]) -> Tally {
    let mut source = Source::new(bytes);
    let mut world = World {
        judge: Judge::new(),
        pipelines: vec![],
        plans: vec![],
        spaces: vec![],
        containers: vec![],
        count: 0,
        files: 0,
        series: 0,
    };
    world.begin(&mut source);
    for _ in 0..MOST_CALLS {
        if source.ended() {
            break;
        }
        let call = *source.pick(CALLS);
        call(&mut world, &mut source);
    }
    std::mem::take(&mut world.judge.tally)
}

impl World {
    /// Something to work with: else most strings would call nothing that can succeed.
    fn begin(&mut self, source: &mut Source) {
        self.pipeline_from_preset(source);
        self.finalize(source);
        self.plan_decoder(source);
        self.compress(source);
    }

    fn identity(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Makes a damaged copy of a container.
    fn damage(&mut self, source: &mut Source) {
        if let Some(c) = one(&self.containers, source) {
            let damaged = self.containers[c].damage(source);
            self.keep(damaged);
        }
    }

    fn keep(&mut self, container: Container) {
        self.containers.push(container);
        if self.containers.len() > MOST {
            self.containers.remove(0);
        }
    }
}

/// The place of one of a list, if there are any: the newest more often than others.
fn one<T>(list: &[T], source: &mut Source) -> Option<usize> {
    match (list.len(), source.below(16)) {
        (0, _) => None,
        (n, 0..8) => Some(n - 1),
        (n, k) => Some(k % n),
    }
}

impl Drop for World {
    fn drop(&mut self) {
        unsafe {
            self.spaces.iter().for_each(|s| fz_workspace_free(s.handle));
            self.plans.iter().for_each(|p| fz_plan_free(p.handle));
            self.pipelines.iter().for_each(|p| fz_pipeline_free(p.handle));
        }
    }
}
