//! Batches of small volumes, for which preset fast has device functions of their own.

use super::batches::{Fixture, plan};
use crate::common::fixture::options;
use crate::common::gpu::{Block, cuda};
use crate::common::rng::Rng;
use crate::cuda::need_gpu;
use fzgm::{DType, Encoder};
use std::sync::Arc;

/// Whole patches, parts of one, one chunk or two, and shapes for the general functions.
const SHAPES: [[u64; 3]; 11] = [
    [16, 16, 16],
    [8, 8, 8],
    [16, 16, 9],
    [12, 10, 5],
    [4, 16, 16],
    [16, 7, 8],
    [8, 13, 15],
    [4, 2, 2],
    [16, 4, 11],
    [10, 16, 16],
    [20, 16, 16],
];

/// Values by place, with some noise.
const FIELDS: usize = 15;
fn field(which: usize, dims: [u64; 3], rng: &mut Rng) -> Vec<u8> {
    let [nx, ny, nz] = dims;
    let places = (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| (x, y, z))));
    let value = |(x, y, z): (u64, u64, u64)| {
        let smooth = (0.3 * x as f64).sin() * (0.2 * y as f64 + 0.1 * z as f64).cos();
        let noise = rng.unit() - 0.5;
        let ramp = (x + y + z) as f64 / (nx + ny + nz - 3) as f64;
        let either = |first: bool, a: f64, b: f64| if first { a } else { b };
        match which {
            0 => smooth,
            1 => smooth + 0.02 * noise,
            // Modes INTRA and OFFSETS.
            2 => noise,
            3 => 100.0 + smooth + 0.2 * noise,
            4 => either(noise > 0.45, 1.0, 0.0),
            5 => either(noise > 0.49, 1.0, 0.0),
            // Units and chunks of one code, equal or not to those before.
            6 => (z / 3) as f64,
            7 => either(z < 8, 2.5, smooth),
            8 => either(z < 8, noise, -1.0),
            // Codes out of reach of the others, and exact values.
            9 => either(x == 3, 300.0, smooth),
            10 => either((x, y, z) == (1, 1, 1), f64::NAN, smooth),
            11 => either(noise > 0.49, f64::INFINITY, 1e30 * noise),
            12 => 1e6 * (x + y) as f64 + noise,
            // Codes around the largest one, for a step of twice the bound and for a smaller one.
            13 => 4193.802 + ramp,
            _ => 4095.5 + ramp,
        }
    };
    places.map(value).flat_map(|v| (v as f32).to_le_bytes()).collect()
}

fn fill(fixture: &Fixture, seed: usize) -> Vec<Vec<u8>> {
    let mut rng = Rng(seed as u64);
    let one = |(i, (plan, block)): (usize, (&Arc<Encoder>, &Block))| {
        let mut dims = [1; 3];
        dims[..plan.array().dims().len()].copy_from_slice(plan.array().dims());
        let bytes = field((i + seed) % FIELDS, dims, &mut rng);
        block.put(0, &bytes);
        bytes
    };
    fixture.encoders.plans().iter().zip(&fixture.src).enumerate().map(one).collect()
}

fn fixture() -> Fixture {
    let plans: Vec<_> = SHAPES.iter().map(|dims| plan("fast", DType::F32, dims, &options())).collect();
    Fixture::new(plans.iter().cycle().take(2 * plans.len()).cloned().collect())
}

#[test]
fn small_volumes_have_the_bytes_of_a_single_call() {
    need_gpu!();
    let mut fixture = fixture();
    for seed in 0..FIELDS {
        let arrays = fill(&fixture, seed);
        fixture.both();
        arrays.iter().enumerate().for_each(|(i, array)| fixture.check(i, array));
    }
}

/// Streams that no encoder writes have the statuses and the values of single calls.
#[test]
fn damaged_streams_of_small_volumes_end_as_in_single_calls() {
    need_gpu!();
    let mut fixture = fixture();
    fill(&fixture, 1);
    fixture.compress();
    fixture.stream.wait();
    let good: Vec<Vec<u8>> = fixture.containers.iter().map(Block::get).collect();
    let lengths: Vec<usize> = fixture.results(0).iter().map(|r| r.bytes as usize).collect();
    let rounds = if cuda().is_real() { 60 } else { 12 };
    let (mut rng, mut failures) = (Rng(11), 0);
    for _ in 0..rounds {
        for (i, block) in fixture.containers.iter().enumerate() {
            let mut container = good[i].clone();
            // The table and the headers of units are behind the header of the container.
            let at = (100 + rng.word() as usize % 400).min(lengths[i] - 1);
            match rng.word() % 3 {
                0 => container[at] ^= 1 << (rng.word() % 8),
                1 => container[at] = rng.word() as u8,
                _ => {}
            }
            block.put(0, &container);
        }
        fixture.decompress();
        fixture.stream.wait();
        let results = fixture.results(1);
        for (i, decoder) in fixture.decoders.plans().iter().enumerate() {
            let (dst, result) = (Block::new(fixture.restored[i].bytes), Block::new(24));
            let (from, to) = (&fixture.containers[i], result.slice(0, 24).address);
            let (from, into) = (from.slice(0, from.bytes), dst.slice(0, dst.bytes));
            let mut ws = decoder.workspace().unwrap();
            unsafe { decoder.decompress_async(&mut ws, from, into, to, fixture.stream.raw()) }.unwrap();
            fixture.stream.wait();
            let single = result.result();
            assert_eq!((results[i].status, results[i].bytes), (single.status, single.bytes), "array {i}");
            assert!(single.status != 0 || fixture.restored[i].get() == dst.get(), "array {i}");
            failures += u32::from(single.status != 0);
        }
    }
    assert!(failures > 10, "{failures} containers fail");
}
