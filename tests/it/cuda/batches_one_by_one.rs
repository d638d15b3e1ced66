//! Batches of plans whose device functions have no batched version: the arrays are coded one after the other, by the
//! functions for one array.

use super::batches::{
    Fixture, damaged_as_in_single_calls, equal_bytes, failures_stay_apart, launched_again, plan, set,
};
use crate::common::fixture::options;
use crate::common::gpu::{Block, TestStream, cuda};
use crate::cuda::need_gpu;
use fzgm::stages::STAGES;
use fzgm::{Array, Batch, BatchAddresses, DType, Encoder, Options, PRESETS, Pipeline, Status, preset};
use std::sync::Arc;

/// Every preset with another set of device functions than its batched ones, and between them plans whose arrays share
/// launches. The arrays of no plan are consecutive.
fn presets(options: &Options) -> Vec<Arc<Encoder>> {
    let plans = [
        plan("high", DType::F32, &[20, 12, 9], options),
        plan("fast", DType::F32, &[16, 16, 16], options),
        plan("exact", DType::F64, &[40, 41], options),
        plan("fz", DType::F32, &[33, 17, 9], options),
        plan("cusz", DType::F32, &[70, 30], options),
        plan("cusz_ans", DType::F64, &[3000], options),
        plan("lc_cr", DType::F32, &[5001], options),
        plan("pfpl", DType::F64, &[9, 8, 70], options),
        plan("pfpl", DType::F32, &[32, 32], options),
        plan("high", DType::F64, &[40, 41], options),
        plan("lc_speed", DType::F32, &[31, 32, 5], options),
        plan("exact", DType::F32, &[9000], options),
        plan("cusz_hi_cr", DType::F32, &[20, 21, 22], options),
    ];
    (0..2 * plans.len()).map(|i| plans[i % plans.len()].clone()).collect()
}

/// Preset fast with fill values, which has functions of its own for large volumes.
fn masked(options: &Options) -> Arc<Encoder> {
    let mut pipeline = preset("fast", DType::F32).unwrap();
    pipeline.set_everywhere("outlier_threshold", |args| args.set_real("outlier_threshold", 1e20)).unwrap();
    Arc::new(Encoder::new(&pipeline, &Array::new(DType::F32, &[129, 130, 131]).unwrap(), options).unwrap())
}

#[test]
fn every_array_has_the_bytes_of_a_single_call() {
    need_gpu!();
    equal_bytes(presets);
}

#[test]
fn a_graph_is_launched_again_on_other_arrays() {
    need_gpu!();
    launched_again(presets(&options()));
}

/// Nine arrays fail; in both calls together, one of each plan.
#[test]
fn an_array_that_fails_does_not_affect_the_others() {
    need_gpu!();
    for first in [0, 6] {
        let mut plans = presets(&options());
        plans.rotate_left(first);
        failures_stay_apart(plans);
    }
}

#[test]
fn damaged_containers_end_as_in_single_calls() {
    need_gpu!();
    damaged_as_in_single_calls(presets(&Options { checksum_async: true, ..options() }));
}

/// Arrays of more than 256 chunks, which have other functions than patches.
#[test]
fn large_arrays_of_preset_fast() {
    need_gpu!();
    let mut plans = vec![plan("fast", DType::F32, &[132, 130, 130], &options())];
    // The emulator takes a minute for each of them.
    if cuda().is_real() {
        plans.push(plan("fast", DType::F64, &[2_100_000], &options()));
        plans.push(plan("pfpl", DType::F32, &[2_200_000], &options()));
        plans.push(masked(&options()));
    }
    let mut fixture = Fixture::new([plans.clone(), plans].concat());
    let arrays = fixture.fill(8);
    fixture.both();
    arrays.iter().enumerate().for_each(|(i, array)| fixture.check(i, array));
}

/// Two arrays for every stage alone and every preset, as far as they accept the type.
fn all(dtype: DType, dims: &[u64]) -> Vec<Arc<Encoder>> {
    let alone = STAGES.iter().map(|stage| {
        let mut pipeline = Pipeline::new();
        pipeline.add(stage.spec().name).unwrap();
        pipeline
    });
    let array = Array::new(dtype, dims).unwrap();
    let pipelines = alone.chain(PRESETS.iter().filter_map(|p| preset(p.name, dtype).ok()));
    let plan = |pipeline: Pipeline| Encoder::new(&pipeline, &array, &options()).ok().map(Arc::new);
    pipelines
        .filter_map(plan)
        .filter(|plan| plan.device_plan().is_ok())
        .flat_map(|plan| [plan.clone(), plan])
        .collect()
}

/// Arrays without an address, and between them arrays with one.
#[test]
fn no_stage_reads_or_writes_memory_that_is_missing() {
    need_gpu!();
    let mut tried = 0;
    for (dims, dtype) in [(&[20, 12, 6][..], DType::F32), (&[700], DType::F64), (&[40, 30], DType::U16)] {
        let plans = all(dtype, dims);
        tried += plans.len();
        let mut fixture = Fixture::new(plans);
        for odd in [0, 1] {
            let arrays = fixture.fill(odd as u64);
            let missing = |i: usize| i % 2 == odd;
            let put = |table: &Block, blocks: &[Block], without: bool| {
                for (i, block) in blocks.iter().enumerate() {
                    let address = if without && missing(i) { 0 } else { block.slice(0, 0).address };
                    set(table, i, address);
                }
            };
            // Without sources, without destinations, and with both.
            for direction in [0, 1] {
                for (from, to) in [(true, false), (false, true), (false, false)] {
                    let (f, t) = (&fixture, &fixture.tables);
                    put(&t.containers, &f.containers, if direction == 0 { to } else { from });
                    match direction {
                        0 => put(&t.src, &f.src, from),
                        _ => put(&t.restored, &f.restored, to),
                    }
                    if direction == 0 {
                        fixture.compress()
                    } else {
                        fixture.decompress()
                    }
                    fixture.stream.wait();
                    let results = fixture.results(direction);
                    let skipped = results.iter().enumerate().filter(|(i, _)| (from || to) && missing(*i));
                    for (i, r) in skipped {
                        assert_eq!((r.status, r.bytes), (Status::NullPointer as i32, 0), "array {i}");
                    }
                }
            }
            // Lists of some pipelines are too short for some arrays.
            let coded = fixture.results(0).into_iter().map(|r| r.status == 0);
            let good = coded.zip(&arrays).enumerate().filter(|(_, (coded, _))| *coded);
            good.for_each(|(i, (_, array))| fixture.check(i, array));
        }
    }
    assert!(tried > 60, "{tried}");
}

/// One workspace for the arrays of a plan, and one arena for all plans.
#[test]
fn memory_does_not_depend_on_the_number_of_arrays() {
    need_gpu!();
    let plan = |dims: &[u64]| plan("high", DType::F32, dims, &options());
    let (large, small) = (plan(&[64, 60, 50]), plan(&[20, 20, 20]));
    let bytes = |plans: Vec<Arc<Encoder>>| {
        let encoders = Batch::new(plans, 1).unwrap();
        [encoders.device_bytes().unwrap(), encoders.decoders().unwrap().device_bytes().unwrap()]
    };
    let [one, many] = [1, 1000].map(|n| bytes(vec![large.clone(); n]));
    let [alone, both] = [bytes(vec![small.clone()]), bytes(vec![large.clone(), small])];
    for direction in 0..2 {
        let numbers = many[direction] - one[direction];
        assert!((3744..4256).contains(&numbers), "{numbers} bytes for the numbers of the arrays");
        let more = both[direction] - one[direction];
        assert!(more < alone[direction] / 2, "{more} bytes for a plan of {} bytes", alone[direction]);
    }
}

#[test]
fn plans_without_device_code_are_rejected() {
    need_gpu!();
    let device = Options { device: fzgm::Device::Auto, ..options() };
    // Stage multilevel has no device code for this number of elements.
    let plans =
        vec![plan("fast", DType::F32, &[100], &device), plan("high", DType::F32, &[1 << 31], &device)];
    let batch = Batch::new(plans, 1).unwrap();
    let none = Batch::<Encoder>::new(vec![], 1).unwrap();
    let (mut ws, stream) = (none.workspace().unwrap(), TestStream::new());
    let e = batch.preload(&mut ws, stream.raw()).unwrap_err();
    assert_eq!(e.status(), Status::Unsupported, "{e}");
    assert!(e.to_string().contains("has no device code for these parameters"), "{e}");
    assert_eq!(batch.device_bytes().unwrap_err().status(), Status::Unsupported);
    unsafe { none.compress_async(&mut ws, BatchAddresses::default(), stream.raw()) }.unwrap();
}
