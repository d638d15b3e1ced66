//! Batches of small volumes, for which preset fast has device functions of their own.

use super::batches::{Fixture, plan, set};
use crate::common::fixture::options;
use crate::common::gpu::{Block, cuda};
use crate::common::rng::Rng;
use crate::cuda::need_gpu;
use fzgm::{DType, Encoder, Status};
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
const FIELDS: usize = 14;
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
            // Codes around the largest one, 2^21 - 1, of values that are multiples of the step.
            _ => f64::from((2_096_850 + (500.0 * ramp) as i32) as f32 * 0.001_999_999_9),
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

/// Containers of an array in each field, and their lengths.
fn compressed(fixture: &mut Fixture, seed: usize) -> Vec<Vec<u8>> {
    fill(fixture, seed);
    fixture.compress();
    fixture.stream.wait();
    let results = fixture.results(0);
    fixture.containers.iter().zip(results).map(|(block, r)| block.first(r.bytes as usize)).collect()
}

/// Streams that no encoder writes have the statuses and the values of single calls.
#[test]
fn damaged_streams_of_small_volumes_end_as_in_single_calls() {
    need_gpu!();
    let mut fixture = fixture();
    let good = compressed(&mut fixture, 1);
    let rounds = if cuda().is_real() { 60 } else { 12 };
    let (mut rng, mut failures) = (Rng(11), 0);
    for _ in 0..rounds {
        for (good, block) in good.iter().zip(&fixture.containers) {
            let mut container = good.clone();
            // The table and the headers of units are behind the header of the container.
            let at = (100 + rng.word() as usize % 400).min(good.len() - 1);
            match rng.word() % 3 {
                0 => container[at] ^= 1 << (rng.word() % 8),
                1 => container[at] = rng.word() as u8,
                _ => {}
            }
            block.put(0, &container);
        }
        failures += fixture.compare_with_single_calls();
    }
    assert!(failures > 10, "{failures} containers fail");
}

/// The words of the stream in a container of two chunks: its length is that of table and words.
fn stream_of(container: &[u8]) -> Option<usize> {
    let entry = |at: usize| u64::from_le_bytes(container[at..at + 8].try_into().unwrap());
    let words = |at: usize| (entry(at) >> 44 & 0xffff) as usize;
    let fits = |at: &usize| {
        entry(*at) & 0xf000_0fff_ffff_ffff == 0
            && at + 16 + 4 * (words(*at) + words(at + 8)) == container.len()
    };
    (0..container.len().saturating_sub(16)).find(fits)
}

/// Words behind the last unit of a chunk, and widths of parts outside the array, which change no length.
#[test]
fn streams_of_other_encoders_end_as_in_single_calls() {
    need_gpu!();
    let mut fixture = fixture();
    let (mut longer, mut moved) = (0, 0);
    for seed in 0..FIELDS {
        let good = compressed(&mut fixture, seed);
        for change in 0..2 {
            for (good, block) in good.iter().zip(&fixture.containers) {
                let mut container = good.clone();
                let Some(at) = stream_of(good) else { continue };
                // Four words of descriptors, and the base of the first unit.
                let (descriptor, plane) = (at + 16, at + 16 + 20);
                let word =
                    |at: usize| good.get(at..at + 4).map_or(0, |w| u32::from_le_bytes(w.try_into().unwrap()));
                let size = u64::from_le_bytes(good[at..at + 8].try_into().unwrap()) + (1 << 44);
                let bits = word(plane) & 0x0f0f;
                if change == 0 {
                    container[at..at + 8].copy_from_slice(&size.to_le_bytes());
                    longer += 1;
                } else if word(descriptor) >> 8 & 7 != 0 && bits != 0 {
                    let other = (word(plane) & !(bits & bits.wrapping_neg())) | 1 << 31;
                    container[plane..plane + 4].copy_from_slice(&other.to_le_bytes());
                    moved += 1;
                }
                block.put(0, &container);
            }
            fixture.compare_with_single_calls();
        }
    }
    assert!(longer > 10 && moved > 10, "{longer} and {moved} changes");
}

/// Nothing is written behind the capacity of a container.
#[test]
fn containers_of_small_volumes_without_room() {
    need_gpu!();
    let mut fixture = fixture();
    let lengths: Vec<usize> = compressed(&mut fixture, 2).iter().map(Vec::len).collect();
    fixture.containers.iter().for_each(|block| block.put(0, &vec![0xee; block.bytes]));
    lengths.iter().enumerate().for_each(|(i, length)| set(&fixture.tables.rooms, i, *length as u64 - 1));
    fixture.compress();
    fixture.stream.wait();
    for (i, result) in fixture.results(0).iter().enumerate() {
        assert_eq!(
            (result.status, result.needed),
            (Status::DstTooSmall as i32, lengths[i] as u64),
            "array {i}"
        );
        let behind = &fixture.containers[i].get()[lengths[i] - 1..];
        assert!(behind.iter().all(|&b| b == 0xee), "array {i}: behind the capacity");
    }
}
