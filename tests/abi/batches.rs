//! Arguments of the functions for batches, and calls in which arrays fail.

use crate::fixture::{Fixture, Is, Word, last_error, ok};
use fzgm::capi::*;
use std::ffi::c_void;
use std::ptr;

/// Arrays of a batch.
const COUNT: usize = 3;
const ROOM: usize = 30_000;

/// A batch of encoders and one of decoders, with everything that arguments point to.
#[derive(Default)]
pub(crate) struct Batches {
    pub(crate) plans: Vec<*mut fz_batch_plan>,
    pub(crate) spaces: Vec<*mut fz_batch_workspace>,
    encoders: Vec<*const fz_plan>,
    arrays: Vec<*const c_void>,
    array_bytes: Vec<u64>,
    containers: Vec<*const c_void>,
    container_bytes: Vec<u64>,
    memory: Vec<Vec<u8>>,
    sinks: Vec<*mut c_void>,
    capacities: Vec<u64>,
    results: Vec<fz_result>,
}

fn plan(plans: &[*const fz_plan]) -> *mut fz_batch_plan {
    let mut batch = ptr::null_mut();
    ok(unsafe { fz_batch_plan_new(plans.as_ptr(), plans.len() as u64, 2, &mut batch) });
    batch
}

impl Batches {
    pub(crate) fn new(
        encoder: *const fz_plan,
        decoder: *const fz_plan,
        array: &[f32],
        container: &[u8],
    ) -> Batches {
        let mut memory = vec![vec![0; ROOM]; COUNT];
        let sinks = memory.iter_mut().map(|sink| sink.as_mut_ptr().cast()).collect();
        let mut batches = Batches {
            plans: [encoder, decoder].map(|p| plan(&[p; COUNT])).into(),
            encoders: vec![encoder; COUNT],
            arrays: vec![array.as_ptr().cast(); COUNT],
            array_bytes: vec![size_of_val(array) as u64; COUNT],
            containers: vec![container.as_ptr().cast(); COUNT],
            container_bytes: vec![container.len() as u64; COUNT],
            memory,
            sinks,
            capacities: vec![ROOM as u64; COUNT],
            results: vec![fz_result { bytes: 0, needed: 0, status: -1, stage: 0 }; COUNT],
            ..Batches::default()
        };
        batches.spaces = batches.plans.iter().map(|&p| batches.space(p)).collect();
        batches
    }

    pub(crate) fn plan(&self) -> *mut fz_batch_plan {
        plan(&self.encoders)
    }

    pub(crate) fn space(&self, batch: *const fz_batch_plan) -> *mut fz_batch_workspace {
        let mut space = ptr::null_mut();
        ok(unsafe { fz_batch_workspace_new(batch, &mut space) });
        space
    }

    pub(crate) fn good(&mut self, is: Is) -> Word {
        match is {
            Is::Encoders => self.encoders.as_ptr().into(),
            Is::ArrayCount => Word(COUNT as u64),
            Is::FreshBatch => self.plan().cast_const().into(),
            Is::FreshBatchSpace => self.space(self.plans[0]).cast_const().into(),
            Is::EncoderBatch => self.plans[0].cast_const().into(),
            Is::DecoderBatch => self.plans[1].cast_const().into(),
            Is::EncoderBatchSpace => self.spaces[0].cast_const().into(),
            Is::DecoderBatchSpace => self.spaces[1].cast_const().into(),
            Is::Arrays => self.arrays.as_ptr().into(),
            Is::ArraysBytes => self.array_bytes.as_ptr().into(),
            Is::Containers => self.containers.as_ptr().into(),
            Is::ContainersBytes => self.container_bytes.as_ptr().into(),
            Is::Sinks => self.sinks.as_ptr().into(),
            Is::SinksBytes => self.capacities.as_ptr().into(),
            Is::Results => self.results.as_ptr().into(),
            other => panic!("{other:?} is no argument of a batch"),
        }
    }

    pub(crate) fn free(&self) {
        unsafe {
            self.spaces.iter().for_each(|space| fz_batch_workspace_free(*space));
            self.plans.iter().for_each(|batch| fz_batch_plan_free(*batch));
        }
    }

    fn compress(&mut self) -> i32 {
        let (src, bytes) = (self.arrays.as_ptr(), self.array_bytes.as_ptr());
        let (dst, room) = (self.sinks.as_ptr(), self.capacities.as_ptr());
        let results = self.results.as_mut_ptr();
        unsafe { fz_compress_batch(self.plans[0], self.spaces[0], src, bytes, dst, room, results) }
    }

    fn decompress(&mut self) -> i32 {
        let (src, bytes) = (self.containers.as_ptr(), self.container_bytes.as_ptr());
        let (dst, room) = (self.sinks.as_ptr(), self.capacities.as_ptr());
        let results = self.results.as_mut_ptr();
        unsafe { fz_decompress_batch(self.plans[1], self.spaces[1], src, bytes, dst, room, results) }
    }

    fn statuses(&self) -> Vec<i32> {
        self.results.iter().map(|r| r.status).collect()
    }
}

const NULL: i32 = fz_status::FZ_NULL_POINTER as i32;
const ARGUMENT: i32 = fz_status::FZ_INVALID_ARGUMENT as i32;
const SMALL: i32 = fz_status::FZ_DST_TOO_SMALL as i32;
const NO_CONTAINER: i32 = fz_status::FZ_NOT_A_CONTAINER as i32;

/// The call returns the status of the first array that fails, and completes the others.
#[test]
fn an_array_that_fails_has_its_own_status() {
    let mut fixture = Fixture::new();
    let b = &mut fixture.batches;
    ok(b.compress());
    let bytes = b.results[0].bytes;
    assert!(b.statuses() == [0; COUNT] && bytes > 0);
    assert!(b.results.iter().all(|r| r.bytes == bytes && r.needed == 0));
    let container = b.memory[0][..bytes as usize].to_vec();
    b.memory.iter_mut().for_each(|sink| sink.fill(0xee));
    b.capacities[1] = bytes - 1;
    assert_eq!(b.compress(), SMALL);
    assert!(last_error().starts_with("array 1: "), "{}", last_error());
    assert_eq!(b.statuses(), [0, SMALL, 0]);
    assert_eq!((b.results[1].bytes, b.results[1].needed), (0, bytes));
    assert!(b.memory[1].iter().all(|&x| x == 0xee), "a destination that is too small is written");
    assert!([0, 2].iter().all(|&i| b.memory[i].starts_with(&container)));
    b.capacities[1] = ROOM as u64;
    for (at, of) in [(0, &mut b.arrays), (2, &mut b.containers)] {
        of[at] = ptr::null();
    }
    assert_eq!(b.compress(), NULL);
    assert_eq!(b.statuses(), [NULL, 0, 0]);
    assert!(last_error().starts_with("array 0: "), "{}", last_error());
    b.container_bytes[1] = 3;
    assert_eq!(b.decompress(), NO_CONTAINER);
    assert_eq!(b.statuses(), [0, NO_CONTAINER, NULL]);
    b.arrays[0] = b.arrays[1];
    b.array_bytes[2] -= 4;
    assert_eq!(b.compress(), fz_status::FZ_PLAN_MISMATCH as i32);
    assert_eq!(b.statuses(), [0, 0, fz_status::FZ_PLAN_MISMATCH as i32]);
}

#[test]
fn memory_of_two_arrays_must_not_overlap() {
    let mut fixture = Fixture::new();
    let b = &mut fixture.batches;
    let (sinks, arrays) = (b.sinks.clone(), b.arrays.clone());
    b.results.iter_mut().for_each(|r| r.status = -1);
    // No further memory lies in so few bytes.
    b.capacities[2] = 16;
    b.sinks[2] = sinks[0].wrapping_byte_add(ROOM - 1);
    assert_eq!(b.compress(), ARGUMENT);
    assert!(last_error().contains("dst[0] and dst[2] overlap"), "{}", last_error());
    b.sinks[2] = arrays[0].cast_mut();
    assert_eq!(b.compress(), ARGUMENT);
    assert!(last_error().contains("src[0] and dst[2] overlap"), "{}", last_error());
    b.sinks[2] = b.results.as_mut_ptr().cast();
    assert_eq!(b.compress(), ARGUMENT);
    assert!(["results", "dst[2]", "overlap"].iter().all(|part| last_error().contains(part)));
    b.sinks[2] = sinks[2];
    b.capacities[2] = u64::MAX;
    assert_eq!(b.decompress(), ARGUMENT);
    assert!(last_error().contains("dst[2] extends beyond the address space"), "{}", last_error());
    assert_eq!(b.statuses(), [-1; COUNT]);
}

#[test]
fn plans_of_a_batch_have_one_kind_and_may_be_freed() {
    let fixture = Fixture::new();
    let mixed = [fixture.encoder.cast_const(), fixture.decoder];
    let mut batch = ptr::null_mut();
    assert_eq!(unsafe { fz_batch_plan_new(mixed.as_ptr(), 2, 1, &mut batch) }, ARGUMENT);
    assert!(last_error().contains("1 encoders and 1 decoders"), "{}", last_error());
    let holes = [fixture.encoder.cast_const(), ptr::null()];
    assert_eq!(unsafe { fz_batch_plan_new(holes.as_ptr(), 2, 1, &mut batch) }, NULL);
    assert!(last_error().contains("plans[1] is NULL"), "{}", last_error());
    let mut own = ptr::null_mut();
    ok(unsafe { fz_plan_decoder(fixture.encoder, &mut own) });
    let alone = plan(&[own]);
    unsafe { fz_plan_free(own) };
    let space = fixture.batches.space(alone);
    let b = &fixture.batches;
    let (src, bytes, dst, room) =
        (b.containers.as_ptr(), b.container_bytes.as_ptr(), b.sinks.as_ptr(), b.capacities.as_ptr());
    let mut result = b.results[0];
    ok(unsafe { fz_decompress_batch(alone, space, src, bytes, dst, room, &mut result) });
    assert_eq!((result.status, result.bytes), (0, 20_000));
    unsafe { fz_batch_workspace_free(space) };
    unsafe { fz_batch_plan_free(alone) };
}

#[test]
fn a_batch_without_arrays_does_nothing() {
    let fixture = Fixture::new();
    let none = plan(&[]);
    let space = fixture.batches.space(none);
    let (mut bytes, mut result) = (0, fz_result { status: -1, ..fixture.batches.results[0] });
    ok(unsafe { fz_batch_workspace_bytes(none, &mut bytes) });
    let (none_of, no_bytes) = (ptr::null(), ptr::null());
    ok(unsafe { fz_compress_batch(none, space, none_of, no_bytes, ptr::null(), no_bytes, &mut result) });
    ok(unsafe {
        fz_decompress_batch(none, space, none_of, no_bytes, ptr::null(), no_bytes, ptr::null_mut())
    });
    assert_eq!(result.status, -1);
    unsafe { fz_batch_workspace_free(space) };
    unsafe { fz_batch_plan_free(none) };
}
