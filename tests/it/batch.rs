//! Batches against calls for single arrays: the same bytes for any number of threads, and a failure of one array
//! that does not affect the others.

use crate::common::rng::Rng;
use crate::common::samples::{self, Content};
use fzgm::{Array, Batch, DType, Decoder, Encoder, Error, Options, preset};
use std::sync::Arc;

/// An encoder of a preset, and contents of its array.
fn case(name: &str, dtype: DType, dims: &[u64], options: &Options) -> (Arc<Encoder>, Array) {
    let mut pipeline = preset(name, dtype).unwrap();
    let _ = pipeline.set_everywhere("mode", |args| args.set_text("mode", "noa"));
    let _ = pipeline.set_everywhere("error_bound", |args| args.set_real("error_bound", 1e-3));
    let array = Array::new(dtype, dims).unwrap();
    (Arc::new(Encoder::new(&pipeline, &array, options).unwrap()), array)
}

/// Arrays of several presets, types, and shapes, in an order without a system.
struct Arrays {
    plans: Vec<Arc<Encoder>>,
    arrays: Vec<Vec<u8>>,
}

impl Arrays {
    fn new(options: &Options) -> Arrays {
        let cases = [
            case("fast", DType::F32, &[32, 32, 32], options),
            case("pfpl", DType::F32, &[16, 16, 16], options),
            case("fast", DType::F64, &[33, 17], options),
            case("bits", DType::U16, &[5000], options),
            case("exact", DType::I32, &[50, 60], options),
            case("high", DType::F32, &[20, 21, 9], options),
            case("fz", DType::F32, &[40, 31], options),
            case("pfpl", DType::F64, &[0], options),
        ];
        let contents = [Content::Walk, Content::Specials, Content::Random, Content::Constant, Content::Fills];
        let (mut plans, mut arrays) = (vec![], vec![]);
        for i in 0..40 {
            let (encoder, array) = &cases[i * i % 11 % cases.len()];
            plans.push(encoder.clone());
            arrays.push(samples::make(array.dtype(), array.dims(), contents[i % 5], i as u64).bytes);
        }
        Arrays { plans, arrays }
    }

    /// The containers of single calls.
    fn containers(&self) -> Vec<Vec<u8>> {
        let single = |(encoder, array): (&Arc<Encoder>, &Vec<u8>)| {
            fzgm::compress(encoder.pipeline(), encoder.array(), encoder.options(), array).unwrap()
        };
        self.plans.iter().zip(&self.arrays).map(single).collect()
    }

    fn rooms(&self) -> Vec<Vec<u8>> {
        self.plans.iter().map(|encoder| vec![0xee; encoder.max_compressed_bytes() as usize]).collect()
    }
}

fn slices(of: &[Vec<u8>]) -> Vec<&[u8]> {
    of.iter().map(|bytes| &bytes[..]).collect()
}

fn slices_mut(of: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    of.iter_mut().map(|bytes| &mut bytes[..]).collect()
}

#[test]
fn every_container_has_the_bytes_of_a_single_call() {
    let options = [
        Options::default(),
        Options { container: fzgm::Container::Compact, checksum: false, ..Options::default() },
    ];
    for options in options {
        let all = Arrays::new(&options);
        let single = all.containers();
        for threads in [1, 2, 3, 0] {
            let batch = Batch::new(all.plans.clone(), threads).unwrap();
            let mut ws = batch.workspace().unwrap();
            let back = batch.decoders().unwrap();
            let mut back_ws = back.workspace().unwrap();
            // The second round uses memory with the contents of the first round.
            for _ in 0..2 {
                let mut rooms = all.rooms();
                let done =
                    batch.compress(&mut ws, &slices(&all.arrays), &mut slices_mut(&mut rooms)).unwrap();
                for (i, ((done, room), single)) in done.iter().zip(&rooms).zip(&single).enumerate() {
                    assert_eq!(done.as_ref().ok(), Some(&single.len()), "array {i}");
                    assert!(room.starts_with(single), "array {i}, {threads} threads: other bytes");
                }
                let mut restored: Vec<Vec<u8>> = all.arrays.iter().map(|a| vec![0; a.len()]).collect();
                let done =
                    back.decompress(&mut back_ws, &slices(&single), &mut slices_mut(&mut restored)).unwrap();
                for (i, (done, restored)) in done.iter().zip(&restored).enumerate() {
                    assert_eq!(done.as_ref().ok(), Some(&restored.len()), "array {i}");
                    let (_, want) = fzgm::decompress(&single[i], &options).unwrap();
                    assert!(*restored == want, "array {i}, {threads} threads: another array");
                }
            }
        }
    }
}

#[test]
fn an_array_that_fails_does_not_affect_the_others() {
    let all = Arrays::new(&Options::default());
    let single = all.containers();
    let batch = Batch::new(all.plans.clone(), 2).unwrap();
    let (mut rooms, mut arrays) = (all.rooms(), all.arrays.clone());
    let room = single[4].len() - 1;
    rooms[4].truncate(room);
    arrays[9].pop();
    let mut ws = batch.workspace().unwrap();
    let done = batch.compress(&mut ws, &slices(&arrays), &mut slices_mut(&mut rooms)).unwrap();
    for (i, done) in done.iter().enumerate() {
        match i {
            4 => assert_eq!(*done, Err(Error::DstTooSmall { need: room as u64 + 1, have: room as u64 })),
            9 => assert!(matches!(done, Err(Error::PlanMismatch(_))), "{done:?}"),
            _ => assert!(*done == Ok(single[i].len()) && rooms[i].starts_with(&single[i]), "array {i}"),
        }
    }
    assert!(rooms[4].iter().all(|&b| b == 0xee), "a destination that is too small is written");

    let back = batch.decoders().unwrap();
    let mut containers = single.clone();
    containers[0].truncate(7);
    let middle = containers[1].len() / 2;
    containers[1][middle] ^= 1;
    containers[2] = single[0].clone();
    let mut restored: Vec<Vec<u8>> = all.arrays.iter().map(|a| vec![0; a.len()]).collect();
    restored[3].pop();
    let mut ws = back.workspace().unwrap();
    let done = back.decompress(&mut ws, &slices(&containers), &mut slices_mut(&mut restored)).unwrap();
    for (i, done) in done.iter().enumerate() {
        match (i, done) {
            (0, Err(e)) => {
                assert_eq!(Some(e), fzgm::decompress(&containers[0], &Options::default()).err().as_ref())
            }
            (1, Err(e)) => assert!(matches!(e, Error::Checksum { .. }), "{e:?}"),
            (2, Err(e)) => assert!(matches!(e, Error::PlanMismatch(_)), "{e:?}"),
            (3, Err(e)) => assert!(matches!(e, Error::DstTooSmall { .. }), "{e:?}"),
            (4.., Ok(bytes)) => assert_eq!(*bytes, restored[i].len(), "array {i}"),
            _ => panic!("array {i}: {done:?}"),
        }
    }
}

/// Damaged containers without checksums have the results and the arrays of single calls, with one workspace for all rounds.
#[test]
fn damaged_containers_end_as_in_single_calls() {
    let all = Arrays::new(&Options { checksum: false, ..Options::default() });
    let good = all.containers();
    let batch = Batch::new(all.plans.clone(), 2).unwrap();
    let back = batch.decoders().unwrap();
    let mut ws = back.workspace().unwrap();
    let rooms = || -> Vec<Vec<u8>> { all.arrays.iter().map(|a| vec![0; a.len()]).collect() };
    let (mut rng, mut failures, mut altered) = (Rng(31), 0, 0);
    for _ in 0..if cfg!(debug_assertions) { 25 } else { 500 } {
        let mut containers = good.clone();
        for container in &mut containers {
            let at = rng.below(container.len());
            match rng.below(5) {
                0 => container.truncate(at),
                1 => container[at.min(100)] ^= 1 << rng.below(8),
                2 => container[at] = rng.word() as u8,
                3 => container[at..].fill(0xff),
                // A good one between damaged ones.
                _ => {}
            }
        }
        let (mut restored, mut single) = (rooms(), rooms());
        let done = back.decompress(&mut ws, &slices(&containers), &mut slices_mut(&mut restored)).unwrap();
        for (i, (decoder, done)) in back.plans().iter().zip(&done).enumerate() {
            let mut own = decoder.workspace().unwrap();
            assert_eq!(*done, decoder.decompress(&mut own, &containers[i], &mut single[i]), "array {i}");
            assert!(done.is_err() || restored[i] == single[i], "array {i}: other values");
            failures += u32::from(done.is_err());
            altered += u32::from(done.is_ok() && containers[i] != good[i]);
        }
    }
    assert!(failures > 50 && altered > 50, "{failures} fail, {altered} are restored from damaged containers");
}

/// A call whose lists of outliers are too short plans again, also in a batch.
#[test]
fn outlier_lists_grow_in_a_batch() {
    let array = Array::new(DType::F32, &[9_000]).unwrap();
    let mut pipeline = preset("fz", DType::F32).unwrap();
    pipeline.set_everywhere("outlier_capacity", |args| args.set_real("outlier_capacity", 1e-3)).unwrap();
    let encoder = Arc::new(Encoder::new(&pipeline, &array, &Options::default()).unwrap());
    let src: Vec<Vec<u8>> =
        (0..6).map(|seed| samples::make(DType::F32, &[9_000], Content::Random, seed).bytes).collect();
    let batch = Batch::new(vec![encoder.clone(); 6], 2).unwrap();
    let mut rooms = vec![vec![0; encoder.max_compressed_bytes() as usize]; 6];
    let mut ws = batch.workspace().unwrap();
    let done = batch.compress(&mut ws, &slices(&src), &mut slices_mut(&mut rooms)).unwrap();
    for ((src, room), done) in src.iter().zip(&rooms).zip(done) {
        let single = fzgm::compress(&pipeline, &array, &Options::default(), src).unwrap();
        assert!(room[..done.unwrap()] == single[..]);
    }
}

#[test]
fn wrong_calls_are_rejected_as_a_whole() {
    let (encoder, _) = case("fast", DType::F32, &[100], &Options::default());
    let e = Batch::new(vec![encoder.clone()], 1025).err().unwrap();
    assert_eq!(e.to_string(), "threads is 1025; expected 0 (all cores) to 1024");
    let batch = Batch::new(vec![encoder; 2], 1).unwrap();
    let (array, mut room) = (vec![0; 400], vec![0; 1000]);
    let mut ws = batch.workspace().unwrap();
    let e = batch.compress(&mut ws, &[&array], &mut [&mut room]).unwrap_err();
    assert_eq!(e.to_string(), "the length of src is 1; expected 2, one slice for each array of the batch");
    let e = batch.compress(&mut ws, &[&array, &array], &mut [&mut room]).unwrap_err();
    assert!(e.to_string().starts_with("the length of dst is 1; expected 2"), "{e}");
}

#[test]
fn an_empty_batch_does_nothing() {
    let batch = Batch::<Encoder>::new(vec![], 2).unwrap();
    assert!(batch.is_empty() && batch.plans().is_empty());
    let mut ws = batch.workspace().unwrap();
    assert_eq!(batch.compress(&mut ws, &[], &mut []).unwrap(), []);
    let back = Batch::<Decoder>::new(vec![], 1).unwrap();
    assert_eq!(back.decompress(&mut back.workspace().unwrap(), &[], &mut []).unwrap(), []);
}

/// The memory of a workspace is that of the largest plan, once for each thread.
#[test]
fn memory_depends_on_the_threads_and_not_on_the_arrays() {
    let large = case("pfpl", DType::F32, &[64, 64, 64], &Options::default()).0;
    let small = case("pfpl", DType::F32, &[100], &Options::default()).0;
    let bytes =
        |plans: Vec<Arc<Encoder>>, threads| Batch::new(plans, threads).unwrap().workspace_bytes().unwrap();
    let one = bytes(vec![large.clone()], 1);
    assert!(one >= large.workspace_bytes() && one < large.workspace_bytes() + 4096);
    assert_eq!(bytes(vec![large.clone(); 50], 1), one);
    let three = bytes(vec![small.clone(), large.clone(), small], 3);
    assert!((3 * one..3 * one + 1024).contains(&three), "{one} and {three}");
}
